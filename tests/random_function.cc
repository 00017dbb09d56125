// Random scalar functions.
#include "tests/random_function.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/random_type.h"

namespace mdh {
namespace {

constexpr double kUnbounded = 1e300;

const std::vector<ScalarOp>& ExactOps() {
  static const std::vector<ScalarOp> ops = {
      ScalarOp::kSelect, ScalarOp::kCast, ScalarOp::kNeg,   ScalarOp::kNot,   ScalarOp::kAbs,
      ScalarOp::kAdd,    ScalarOp::kAdd,  ScalarOp::kSub,   ScalarOp::kMul,   ScalarOp::kMul,
      ScalarOp::kDiv,    ScalarOp::kRem,  ScalarOp::kMin,   ScalarOp::kMax,   ScalarOp::kBitAnd,
      ScalarOp::kFloor,  ScalarOp::kCeil, ScalarOp::kRound, ScalarOp::kTrunc, ScalarOp::kBitOr,
      ScalarOp::kBitXor, ScalarOp::kAnd,  ScalarOp::kOr,    ScalarOp::kEq,    ScalarOp::kNe,
      ScalarOp::kLt,     ScalarOp::kLe,   ScalarOp::kGt,    ScalarOp::kGe,    ScalarOp::kFmin,
      ScalarOp::kFmax};
  return ops;
}

const std::vector<ScalarOp>& RoundingOps() {
  static const std::vector<ScalarOp> ops = {ScalarOp::kSqrt, ScalarOp::kRsqrt, ScalarOp::kExp,
                                            ScalarOp::kLog,  ScalarOp::kLog2,  ScalarOp::kTanh,
                                            ScalarOp::kErf,  ScalarOp::kExp2,  ScalarOp::kSin,
                                            ScalarOp::kCos,  ScalarOp::kPow};
  return ops;
}

double LargestOf(ScalarType type) {
  if (type == ScalarType::kBool) return 1;
  return std::ldexp(1.0, 8 * SizeBytes(type));
}

// Of values inside of f, which leaves room for a product.
double IntermediateBound(ScalarType type) {
  return IsStorageOnly(type) ? LargestExact(type) / 2 : LargestExact(type) / 16;
}

// Appends instructions and knows how large the values of each can be.
class Builder {
 public:
  Builder(Rng& rng, const RandomExpressionOptions& options) : rng_(rng), options_(options) {}

  int Append(ScalarInstruction instruction, double bound) {
    if (IsInteger(instruction.type) &&
        (bound > LargestOf(instruction.type) / 2 || !IsSigned(instruction.type))) {
      bound = std::max(bound, LargestOf(instruction.type));  // may wrap
    }
    bool varies = instruction.op == ScalarOp::kParameter;
    for (const int operand : instruction.operands) varies = varies || varies_[operand];
    instructions_.push_back(std::move(instruction));
    bounds_.push_back(bound);
    varies_.push_back(varies);
    return size() - 1;
  }

  int Constant(ScalarValue value) {
    return Append({ScalarOp::kConstant, value.type(), {}, -1, value}, 4);
  }

  int Parameter(const FunctionParameter& parameter, int number) {
    const ScalarType type = parameter.name.type;
    const int n = Append({ScalarOp::kParameter, type, {}, number}, parameter.bound);
    // Unsigned inputs are small, too: only operations on them wrap.
    bounds_[n] = parameter.bound;
    return n;
  }

  // A random operation on earlier values; nothing if the choice is not possible.
  void AppendRandom() {
    if (Below(rng_, 8) == 0) {
      Constant(SmallConstant(rng_, AnyOf(rng_, instructions_).type));
      return;
    }
    if (options_.tables && Below(rng_, 12) == 0) {
      AppendTable(static_cast<int>(Below(rng_, size())));
      return;
    }
    const bool rounds = !options_.exact && Below(rng_, 4) == 0;
    const ScalarOp op = AnyOf(rng_, rounds ? RoundingOps() : ExactOps());
    std::vector<int> operands;
    for (int o = 0; o < Info(op).operands; ++o) {
      operands.push_back(static_cast<int>(Below(rng_, size())));
    }
    AppendIfValid(op, std::move(operands));
  }

  // A value that takes many operations, where several comparisons say so, else another one: worth a
  // branch (codegen/passes/pass_branch_selections.h).
  void AppendLongSelection() {
    const int first = static_cast<int>(Below(rng_, size()));
    const ScalarType type = instructions_[first].type;
    if (type == ScalarType::kBool) return;
    std::vector<int> same;
    for (int n = 0; n < size(); ++n) {
      if (instructions_[n].type == type) same.push_back(n);
    }
    int value = first;
    for (int n = 0; n < 26; ++n) {
      const int other = AnyOf(rng_, same);
      value = Append({n % 2 == 0 ? ScalarOp::kMax : ScalarOp::kMin, type, {value, other}},
                     std::max(bounds_[value], bounds_[other]));
    }
    const auto compare = [&] {
      const ScalarOp op = Below(rng_, 3) == 0 ? ScalarOp::kLt : ScalarOp::kEq;
      return Append({op, ScalarType::kBool, {AnyOf(rng_, same), AnyOf(rng_, same)}}, 1);
    };
    int condition = compare();
    for (int64_t n = Below(rng_, 6); n > 0; --n) {
      const ScalarOp op = Below(rng_, 3) == 0 ? ScalarOp::kOr : ScalarOp::kAnd;
      condition = Append({op, ScalarType::kBool, {condition, compare()}}, 1);
    }
    const int other = AnyOf(rng_, same);
    std::vector<int> operands = {condition, value, other};
    if (Below(rng_, 2) == 0) std::swap(operands[1], operands[2]);
    Append({ScalarOp::kSelect, type, std::move(operands)},
           std::max(bounds_[value], bounds_[other]));
  }

  // `value` converted to the result's type, within the bound; in exact mode never -0.
  int Finish(int value, const FunctionResult& result) {
    const ScalarType type = result.name.type;
    const bool converts = instructions_[value].type != type;
    // Only small values are exact after conversion to floating point; converted integers may wrap.
    if (IsFloatingPoint(type) && (options_.exact || converts)) value = Clamp(value, result.bound);
    if (converts) value = Append({ScalarOp::kCast, type, {value}}, bounds_[value]);
    if (IsInteger(type)) value = Clamp(value, result.bound);
    if (!options_.exact || !IsFloatingPoint(type)) return value;
    return Append({ScalarOp::kAdd, type, {value, Constant(NumberOf(type, 0))}}, bounds_[value]);
  }

  // Whether instruction `n` depends on a parameter.
  bool varies(int n) const { return varies_[n]; }
  int size() const { return static_cast<int>(instructions_.size()); }
  std::vector<ScalarInstruction>& instructions() { return instructions_; }

 private:
  // To small numbers, if it can be larger than the bound.
  int Clamp(int value, double bound) {
    if (bounds_[value] <= bound) return value;
    const ScalarType type = instructions_[value].type;
    if (type == ScalarType::kBool) return value;
    const auto largest = static_cast<int64_t>(std::min(2.0, bound));
    if (IsSigned(type)) {
      const int low = Constant(NumberOf(type, -largest));
      value = Append({ScalarOp::kMax, type, {value, low}}, bounds_[value]);
    }
    const int high = Constant(NumberOf(type, largest));
    value = Append({ScalarOp::kMin, type, {value, high}}, bounds_[value]);
    bounds_[value] = static_cast<double>(largest);
    return value;
  }

  void AppendTable(int index) {
    if (!IsInteger(instructions_[index].type)) return;
    ScalarInstruction table{ScalarOp::kTable, AnyOf(rng_, instructions_).type, {index}};
    const int64_t values = 1 + Below(rng_, 6);
    for (int64_t n = 0; n < values; ++n) table.table.push_back(SmallConstant(rng_, table.type));
    Append(std::move(table), 4);
    bounds_.back() = 4;
  }

  void AppendIfValid(ScalarOp op, std::vector<int> operands) {
    if (op == ScalarOp::kCast) {
      const ScalarType type = AnyOf(rng_, instructions_).type;
      if (IsFloatingPoint(type) && bounds_[operands[0]] > IntermediateBound(type)) return;
      const bool may_saturate = options_.special_values && IsInteger(type) &&
                                IsFloatingPoint(instructions_[operands[0]].type);
      Append({op, type, operands}, may_saturate ? LargestOf(type) : bounds_[operands[0]]);
      return;
    }
    std::vector<ScalarType> types;
    for (int operand : operands) types.push_back(instructions_[operand].type);
    const Result<ScalarType> type = ResultType(op, types);
    if (!type.ok()) return;
    // Whether a remainder is near 0 or near the divisor is decided by the last bit of an operand.
    if (op == ScalarOp::kRem && IsFloatingPoint(*type)) return;
    const double bound = *type == ScalarType::kBool ? 1 : Bound(op, operands);
    if (options_.exact && IsFloatingPoint(*type) &&
        (op == ScalarOp::kDiv || bound > IntermediateBound(*type))) {
      return;
    }
    Append({op, *type, std::move(operands)}, bound);
  }

  double Bound(ScalarOp op, const std::vector<int>& operands) const {
    const double a = bounds_[operands[0]];
    const double b = operands.size() > 1 ? bounds_[operands[1]] : 0;
    switch (op) {
      case ScalarOp::kAdd:
      case ScalarOp::kSub:
        return a + b;
      case ScalarOp::kMul:
        return a * b;
      case ScalarOp::kSelect:
        return std::max(b, bounds_[operands[2]]);
      case ScalarOp::kBitAnd:
      case ScalarOp::kBitOr:
      case ScalarOp::kBitXor:
        return 2 * std::max(a, b);
      case ScalarOp::kExp:
      case ScalarOp::kExp2:
      case ScalarOp::kPow:
      case ScalarOp::kRsqrt:
        return kUnbounded;
      default:
        return std::max(a, b);
    }
  }

  Rng& rng_;
  const RandomExpressionOptions& options_;
  std::vector<ScalarInstruction> instructions_;
  std::vector<double> bounds_;
  std::vector<bool> varies_;
};

}  // namespace

ScalarFunction RandomFunction(Rng& rng, const RandomExpressionOptions& options,
                              const std::vector<FunctionParameter>& parameters,
                              const std::vector<FunctionResult>& results) {
  Builder builder(rng, options);
  std::vector<TypedName> parameter_names, result_names;
  for (const FunctionParameter& parameter : parameters) {
    builder.Parameter(parameter, static_cast<int>(parameter_names.size()));
    parameter_names.push_back(parameter.name);
  }
  for (const FunctionResult& result : results) {
    builder.Constant(SmallConstant(rng, result.name.type));
    result_names.push_back(result.name);
  }
  const int operations = 1 + static_cast<int>(Below(rng, options.max_operations));
  for (int tries = 0; tries < 6 * operations; ++tries) builder.AppendRandom();
  if (Below(rng, 8) == 0) builder.AppendLongSelection();
  const int values = builder.size();
  std::vector<int> result_instructions;
  for (const FunctionResult& result : results) {
    // Of the type that is asked for, rarely a constant; else a conversion of whatever there is.
    const bool may_be_constant = Below(rng, 20) == 0;
    std::vector<int> candidates, others;
    for (int n = 0; n < values; ++n) {
      if (!builder.varies(n) && !may_be_constant) continue;
      const bool fits = builder.instructions()[n].type == result.name.type;
      (fits ? candidates : others).push_back(n);
    }
    if (candidates.empty()) candidates = std::move(others);
    if (candidates.empty()) candidates.push_back(static_cast<int>(Below(rng, values)));
    // The last values depend on most others.
    const int chosen = Below(rng, 2) == 0 ? candidates.back() : AnyOf(rng, candidates);
    result_instructions.push_back(builder.Finish(chosen, result));
  }
  return *ScalarFunction::Create("f", std::move(parameter_names), std::move(result_names),
                                 std::move(builder.instructions()), std::move(result_instructions));
}

}  // namespace mdh
