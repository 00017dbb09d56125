#include "codegen/lower/tiles/narrow_reduction.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

constexpr int kLeastBytes = 16;  // of a vector that such instructions take

bool IsIntegral(ScalarType type) { return type == ScalarType::kBool || IsInteger(type); }
bool IsShort(ScalarType type) { return IsIntegral(type) && SizeBytes(type) <= 2; }

// Whether every value of the type is one of the other.
bool Holds(ScalarType type, ScalarType other) {
  if (!IsIntegral(other) || type == ScalarType::kBool) return type == other;
  if (IsSigned(type) == IsSigned(other)) return SizeBytes(type) >= SizeBytes(other);
  return IsSigned(type) && SizeBytes(type) > SizeBytes(other);
}

class Finder {
 public:
  explicit Finder(const Expression& e)
      : f_(e.function()),
        bytes_(SizeBytes(f_.results()[0].type)),
        instructions_(f_.instructions()) {}

  // Widening keeps the order.
  std::optional<NarrowReduction> FindExtreme(PointWiseKind kind) {
    int value = f_.result_instructions()[0];
    while (instructions_[value].op == ScalarOp::kCast &&
           instructions_[value].type == ScalarType::kFloat32) {
      value = instructions_[value].operands[0];
    }
    const ScalarInstruction& operand = instructions_[value];
    if (operand.op != ScalarOp::kParameter || !IsStorageOnly(operand.type) ||
        SizeBytes(operand.type) != 2) {
      return std::nullopt;
    }
    if (f_.results()[0].type != operand.type && f_.results()[0].type != ScalarType::kFloat32) {
      return std::nullopt;
    }
    return NarrowReduction{.kind = kind,
                           .operands = f_,
                           .parameter = operand.parameter,
                           .operand_bytes = 2,
                           .widest_bytes = 2,
                           .result = ScalarType::kFloat32,
                           .sum = ScalarType::kUint16};
  }

  std::optional<NarrowReduction> FindSum() {
    const ScalarType result = f_.results()[0].type;
    const int value = WithoutCasts(f_.result_instructions()[0], /*keeps_value=*/false);
    const ScalarType type = instructions_[value].type;
    if (IsShort(type)) return Make(result, {value}, SizeBytes(type));
    if (instructions_[value].op != ScalarOp::kMul || !IsIntegral(type)) return std::nullopt;
    // Multiplied in no fewer bits than the sum has, operands count modulo 2 to the power of these.
    const bool wraps = SizeBytes(type) >= bytes_;
    const int a = WithoutCasts(instructions_[value].operands[0], !wraps);
    const int b = WithoutCasts(instructions_[value].operands[1], !wraps);
    const ScalarType first = instructions_[a].type, second = instructions_[b].type;
    if (!IsShort(first) || !IsShort(second)) return std::nullopt;
    if (SizeBytes(first) == 1 && SizeBytes(second) == 1) return Make(result, {a, b}, 1);
    if (!Holds(ScalarType::kInt16, first) || !Holds(ScalarType::kInt16, second)) {
      return std::nullopt;
    }
    return Make(result, {AsShort(a), AsShort(b)}, 2);
  }

 private:
  // The instruction whose value, perhaps of another type, instruction n converts. Where that need
  // not keep the value, it is the same modulo 2 to the power of the sum's bits.
  int WithoutCasts(int n, bool keeps_value) const {
    while (instructions_[n].op == ScalarOp::kCast) {
      const int operand = instructions_[n].operands[0];
      const ScalarType to = instructions_[n].type, from = instructions_[operand].type;
      if (keeps_value ? !Holds(to, from) : !IsIntegral(from)) break;
      keeps_value = keeps_value || SizeBytes(from) < bytes_;
      n = operand;
    }
    return n;
  }

  int AsShort(int n) {
    if (instructions_[n].type == ScalarType::kInt16) return n;
    instructions_.push_back({ScalarOp::kCast, ScalarType::kInt16, {n}});
    return static_cast<int>(instructions_.size()) - 1;
  }

  std::optional<NarrowReduction> Make(ScalarType result, const std::vector<int>& values,
                                      int bytes) const {
    const std::string& name = f_.results()[0].name;  // of no parameter
    std::vector<TypedName> names = {{name, instructions_[values[0]].type}};
    if (values.size() == 2) names.push_back({name + ".b", instructions_[values[1]].type});
    Result<ScalarFunction> operands =
        ScalarFunction::Create(f_.name(), f_.parameters(), std::move(names), instructions_, values);
    if (!operands.ok()) return std::nullopt;
    int widest = bytes;
    for (const ScalarInstruction& instruction : operands->instructions()) {
      widest = std::max(widest, SizeBytes(RegisterType(instruction.type)));
    }
    const bool is_long = bytes == 2 && values.size() == 2;
    return NarrowReduction{.kind = PointWiseKind::kAdd,
                           .operands = *std::move(operands),
                           .operand_bytes = bytes,
                           .widest_bytes = widest,
                           .result = result,
                           .sum = SizeBytes(result) == 4 || is_long ? result : ScalarType::kInt32};
  }

  const ScalarFunction& f_;
  const int bytes_;  // of the sum
  std::vector<ScalarInstruction> instructions_;
};

}  // namespace

std::optional<NarrowReduction> NarrowReductionOf(const Expression& expression) {
  if (!expression.has_reduction() || expression.has_prefix_sum()) return std::nullopt;
  const std::vector<TypedName>& results = expression.function().results();
  if (results.size() != 1) return std::nullopt;
  const PointWiseKind kind = expression.reduction().kind();
  if (kind == PointWiseKind::kMin || kind == PointWiseKind::kMax) {
    return Finder(expression).FindExtreme(kind);
  }
  if (kind != PointWiseKind::kAdd || !IsInteger(results[0].type) ||
      SizeBytes(results[0].type) < 4) {
    return std::nullopt;
  }
  return Finder(expression).FindSum();
}

bool ReducesNarrowVectors(const std::optional<NarrowReduction>& narrow,
                          const Expression& expression, int d, int64_t lanes) {
  return narrow.has_value() && d >= 0 && expression.is_reduction(d) &&
         lanes * narrow->operand_bytes >= kLeastBytes;
}

}  // namespace mdh
