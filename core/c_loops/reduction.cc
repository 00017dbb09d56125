// Recognition of reductions.
#include "core/c_loops/reduction.h"

#include <utility>
#include <vector>

namespace mdh {
namespace {

struct Part {
  std::optional<PointWiseKind> kind;  // nullopt: the former value itself
  int operand = -1;
};

std::optional<PointWiseKind> KindOf(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
      return PointWiseKind::kAdd;
    case ScalarOp::kMul:
      return PointWiseKind::kMul;
    case ScalarOp::kMin:
      return PointWiseKind::kMin;
    case ScalarOp::kMax:
      return PointWiseKind::kMax;
    case ScalarOp::kFmin:
      return PointWiseKind::kFmin;
    case ScalarOp::kFmax:
      return PointWiseKind::kFmax;
    case ScalarOp::kAnd:
      return PointWiseKind::kAnd;
    case ScalarOp::kOr:
      return PointWiseKind::kOr;
    case ScalarOp::kBitAnd:
      return PointWiseKind::kBitAnd;
    case ScalarOp::kBitOr:
      return PointWiseKind::kBitOr;
    case ScalarOp::kBitXor:
      return PointWiseKind::kBitXor;
    default:
      return std::nullopt;
  }
}

class Recognition {
 public:
  Recognition(ScalarBuilder* builder, int former)
      : builder_(*builder), former_(former), uses_(builder->instructions().size(), false) {
    for (size_t n = 0; n < uses_.size(); ++n) {
      uses_[n] = static_cast<int>(n) == former;
      for (const int operand : builder_.at(static_cast<int>(n)).operands) {
        uses_[n] = uses_[n] || uses_[operand];
      }
    }
  }

  std::optional<Part> Find(int n) {
    if (n == former_) return Part{};
    if (!Uses(n)) return std::nullopt;
    const ScalarInstruction instruction = builder_.at(n);
    switch (instruction.op) {
      case ScalarOp::kCast:
        return OfCast(instruction);
      case ScalarOp::kSelect:
        return OfSelect(instruction);
      default:
        break;
    }
    const std::optional<PointWiseKind> kind = KindOf(instruction.op);
    if (!kind.has_value()) return std::nullopt;
    const int left = instruction.operands[0], right = instruction.operands[1];
    if (instruction.op == ScalarOp::kSub) {
      if (Uses(right)) return std::nullopt;
      return Combine(*kind, ScalarOp::kAdd, left, builder_.Unary(ScalarOp::kNeg, right));
    }
    if (Uses(left) == Uses(right)) return std::nullopt;
    return Combine(*kind, instruction.op, Uses(left) ? left : right, Uses(left) ? right : left);
  }

 private:
  // Instructions that were added meanwhile do not use it.
  bool Uses(int n) const { return n < static_cast<int>(uses_.size()) && uses_[n]; }

  // `inner` combined with `operand`, which is free of the former value.
  std::optional<Part> Combine(PointWiseKind kind, ScalarOp op, int inner, int operand) {
    const std::optional<Part> part = Find(inner);
    if (!part.has_value()) return std::nullopt;
    if (!part->kind.has_value()) return Part{kind, operand};
    if (part->kind != kind) return std::nullopt;
    return Part{kind, builder_.Binary(op, part->operand, operand)};
  }

  // C computes in a wider type and converts back. A conversion that loses something on the way is
  // none of these.
  std::optional<Part> OfCast(const ScalarInstruction& cast) {
    const int inner = cast.operands[0];
    const bool widens = HoldsAllValues(cast.type, builder_.type(inner));
    if (!widens && cast.type != builder_.type(former_)) return std::nullopt;
    const std::optional<Part> part = Find(inner);
    if (!part.has_value() || !part->kind.has_value()) return part;
    return Part{part->kind, builder_.Cast(cast.type, part->operand)};
  }

  std::optional<Part> OfSelect(const ScalarInstruction& select) {
    const int condition = select.operands[0], then = select.operands[1],
              otherwise = select.operands[2];
    if (Uses(condition)) return OfExtreme(builder_.at(condition), then, otherwise);
    std::optional<Part> parts[2];
    for (const int side : {0, 1}) {
      parts[side] = Find(side == 0 ? then : otherwise);
      if (!parts[side].has_value()) return std::nullopt;
    }
    if (!parts[0]->kind.has_value() && !parts[1]->kind.has_value()) return Part{};
    const PointWiseKind kind = parts[0]->kind.has_value() ? *parts[0]->kind : *parts[1]->kind;
    for (std::optional<Part>& part : parts) {
      if (part->kind.has_value() && part->kind != kind) return std::nullopt;
      if (part->kind.has_value()) continue;
      const auto neutral = CombineOperator::PointWise(kind, {select.type});
      if (!neutral.ok()) return std::nullopt;
      part = Part{kind, builder_.Constant((*neutral->identity())[0])};
    }
    return Part{kind, builder_.Select(condition, parts[0]->operand, parts[1]->operand)};
  }

  // a < b ? a : b and its variants. Where a value is nan, most of them keep the other one, as fmin
  // and fmax do; what the rest does depends on the order.
  std::optional<Part> OfExtreme(const ScalarInstruction& test, int then, int otherwise) {
    const bool less = test.op == ScalarOp::kLt || test.op == ScalarOp::kLe;
    const bool greater = test.op == ScalarOp::kGt || test.op == ScalarOp::kGe;
    if (!less && !greater) return std::nullopt;
    int a = test.operands[0], b = test.operands[1];
    if (builder_.type(a) != builder_.type(then)) return std::nullopt;
    const bool in_order = a == then && b == otherwise;
    if (!in_order && (a != otherwise || b != then)) return std::nullopt;
    const bool is_real = IsFloatingPoint(builder_.type(then));
    const PointWiseKind kind = less == in_order
                                   ? is_real ? PointWiseKind::kFmin : PointWiseKind::kMin
                               : is_real ? PointWiseKind::kFmax
                                         : PointWiseKind::kMax;
    if (Uses(a) == Uses(b)) return std::nullopt;
    if (!Uses(a)) std::swap(a, b);
    const std::optional<Part> part = Find(a);
    if (!part.has_value()) return std::nullopt;
    if (!part->kind.has_value()) return Part{kind, b};
    if (part->kind != kind) return std::nullopt;
    return Part{kind, builder_.Binary(OperationOf(kind), part->operand, b)};
  }

  ScalarBuilder& builder_;
  int former_;
  std::vector<bool> uses_;
};

}  // namespace

bool DependsOn(const ScalarBuilder& builder, int n, int of) {
  std::vector<bool> uses(n + 1, false);
  for (int i = 0; i <= n; ++i) {
    uses[i] = i == of;
    for (const int operand : builder.at(i).operands) uses[i] = uses[i] || uses[operand];
  }
  return uses[n];
}

std::optional<DerivedReduction> DeriveReduction(ScalarBuilder* builder, int value, int former) {
  const std::optional<Part> part = Recognition(builder, former).Find(value);
  if (!part.has_value() || !part->kind.has_value()) return std::nullopt;
  return DerivedReduction{*part->kind, part->operand};
}

}  // namespace mdh
