// Random scalar functions and combine operators.
#include "tests/random_function.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr double kInputBound = 8;
constexpr double kUnbounded = 1e300;

const std::vector<ScalarOp>& ExactOps() {
  static const std::vector<ScalarOp> ops = {
      ScalarOp::kSelect, ScalarOp::kCast,   ScalarOp::kNeg, ScalarOp::kNot, ScalarOp::kAbs,
      ScalarOp::kAdd,    ScalarOp::kAdd,    ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kMul,
      ScalarOp::kDiv,    ScalarOp::kRem,    ScalarOp::kMin, ScalarOp::kMax, ScalarOp::kBitAnd,
      ScalarOp::kBitOr,  ScalarOp::kBitXor, ScalarOp::kAnd, ScalarOp::kOr,  ScalarOp::kEq,
      ScalarOp::kNe,     ScalarOp::kLt,     ScalarOp::kLe,  ScalarOp::kGt,  ScalarOp::kGe};
  return ops;
}

const std::vector<ScalarOp>& RoundingOps() {
  static const std::vector<ScalarOp> ops = {ScalarOp::kSqrt,  ScalarOp::kRsqrt, ScalarOp::kExp,
                                            ScalarOp::kLog,   ScalarOp::kLog2,  ScalarOp::kTanh,
                                            ScalarOp::kFloor, ScalarOp::kCeil,  ScalarOp::kSin,
                                            ScalarOp::kCos,   ScalarOp::kPow};
  return ops;
}

double LargestOf(ScalarType type) {
  if (type == ScalarType::kBool) return 1;
  return std::ldexp(1.0, 8 * SizeBytes(type));
}

ScalarValue SmallConstant(Rng& rng, ScalarType type) {
  const int64_t value = Below(rng, 5);
  if (type == ScalarType::kBool) return ScalarValue::Bool(value % 2 == 0);
  if (IsFloatingPoint(type)) return ScalarValue::Real(type, static_cast<double>(value - 2));
  return ScalarValue::Integer(type, IsSigned(type) ? value - 2 : value);
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
    instructions_.push_back(std::move(instruction));
    bounds_.push_back(bound);
    return size() - 1;
  }

  int Constant(ScalarValue value) {
    return Append({ScalarOp::kConstant, value.type(), {}, -1, value}, 4);
  }

  int Parameter(const TypedName& name, int number) {
    // Unsigned inputs are small, too: only operations on them wrap.
    const int n = Append({ScalarOp::kParameter, name.type, {}, number}, kInputBound);
    bounds_[n] = kInputBound;
    return n;
  }

  // A random operation on earlier values; nothing if the choice is not possible.
  void AppendRandom() {
    if (Below(rng_, 8) == 0) {
      Constant(SmallConstant(rng_, AnyOf(rng_, instructions_).type));
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

  // `value` converted to `type`, and in exact mode within the bound and never -0.
  int Finish(int value, ScalarType type, double bound) {
    if (instructions_[value].type != type) {
      // The values of wide integers have no exact floating-point counterpart.
      if (IsFloatingPoint(type) && bounds_[value] > bound)
        value = Constant(SmallConstant(rng_, type));
      else
        value = Append({ScalarOp::kCast, type, {value}}, bounds_[value]);
    }
    if (!options_.exact || !IsFloatingPoint(type)) return value;
    if (bounds_[value] > bound) {
      const int low = Constant(ScalarValue::Real(type, -2));
      const int high = Constant(ScalarValue::Real(type, 2));
      value = Append({ScalarOp::kMax, type, {value, low}}, bounds_[value]);
      value = Append({ScalarOp::kMin, type, {value, high}}, 2);
    }
    return Append({ScalarOp::kAdd, type, {value, Constant(ScalarValue::Real(type, 0))}},
                  bounds_[value]);
  }

  int size() const { return static_cast<int>(instructions_.size()); }
  std::vector<ScalarInstruction>& instructions() { return instructions_; }

 private:
  void AppendIfValid(ScalarOp op, std::vector<int> operands) {
    if (op == ScalarOp::kCast) {
      const ScalarType type = AnyOf(rng_, instructions_).type;
      if (IsFloatingPoint(type) && bounds_[operands[0]] > 1 << 20) return;
      Append({op, type, operands}, bounds_[operands[0]]);
      return;
    }
    std::vector<ScalarType> types;
    for (int operand : operands) types.push_back(instructions_[operand].type);
    const Result<ScalarType> type = ResultType(op, types);
    if (!type.ok()) return;
    const double bound = *type == ScalarType::kBool ? 1 : Bound(op, operands);
    if (options_.exact && IsFloatingPoint(*type) && (op == ScalarOp::kDiv || bound > 1 << 20)) {
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
};

// Parameters a1..aR, b1..bR, to which `combine` appends a result per component.
template <typename Combine>
Result<CombineOperator> CustomOperator(const std::vector<ScalarType>& types,
                                       std::optional<std::vector<ScalarValue>> identity,
                                       Combine combine) {
  const int arity = static_cast<int>(types.size());
  std::vector<TypedName> parameters, results;
  std::vector<ScalarInstruction> instructions;
  for (const char* side : {"a", "b"}) {
    for (int r = 0; r < arity; ++r) {
      instructions.push_back(
          {ScalarOp::kParameter, types[r], {}, static_cast<int>(parameters.size())});
      parameters.push_back({absl::StrCat(side, r + 1), types[r]});
    }
  }
  std::vector<int> result_instructions;
  for (int r = 0; r < arity; ++r) {
    results.push_back({absl::StrCat("c", r + 1), types[r]});
    result_instructions.push_back(combine(&instructions, r, arity + r));
  }
  MDH_ASSIGN_OR_RETURN(
      ScalarFunction function,
      ScalarFunction::Create("g", std::move(parameters), std::move(results),
                             std::move(instructions), std::move(result_instructions)));
  return CombineOperator::PointWise(std::move(function), std::move(identity));
}

int AppendTo(std::vector<ScalarInstruction>* instructions, ScalarOp op, ScalarType type,
             std::vector<int> operands) {
  instructions->push_back({op, type, std::move(operands)});
  return static_cast<int>(instructions->size()) - 1;
}

// Another operation for every component, like (sum, max).
CombineOperator MixedOperator(Rng& rng, const std::vector<ScalarType>& types) {
  std::vector<ScalarOp> ops;
  for (ScalarType type : types) {
    if (type == ScalarType::kBool) {
      ops.push_back(AnyOf<ScalarOp>(rng, {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kNe}));
    } else if (IsFloatingPoint(type)) {
      ops.push_back(AnyOf<ScalarOp>(rng, {ScalarOp::kAdd, ScalarOp::kMin, ScalarOp::kMax}));
    } else {
      ops.push_back(AnyOf<ScalarOp>(rng, {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMax}));
    }
  }
  return *CustomOperator(types, std::nullopt, [&](auto* instructions, int a, int b) {
    return AppendTo(instructions, ops[a], types[a], {a, b});
  });
}

// a + b + 1 with the identity -1, on numbers.
CombineOperator ShiftedSum(Rng& rng, const std::vector<ScalarType>& types) {
  std::vector<ScalarValue> identity, ones;
  for (ScalarType type : types) {
    const bool is_real = IsFloatingPoint(type);
    ones.push_back(is_real ? ScalarValue::Real(type, 1) : ScalarValue::Integer(type, 1));
    identity.push_back(is_real ? ScalarValue::Real(type, -1) : ScalarValue::Integer(type, -1));
  }
  const bool knows_identity = Below(rng, 2) == 0;
  return *CustomOperator(
      types, knows_identity ? std::optional(identity) : std::nullopt,
      [&](auto* instructions, int a, int b) {
        const int sum = AppendTo(instructions, ScalarOp::kAdd, types[a], {a, b});
        instructions->push_back({ScalarOp::kConstant, types[a], {}, -1, ones[a]});
        return AppendTo(instructions, ScalarOp::kAdd, types[a], {sum, sum + 1});
      });
}

// The lexicographically larger tuple: all components depend on all others.
CombineOperator LargerTuple(const std::vector<ScalarType>& types) {
  const int arity = static_cast<int>(types.size());
  int takes_left = -1;
  return *CustomOperator(types, std::nullopt, [&](auto* instructions, int a, int b) {
    if (takes_left < 0) {
      for (int r = arity; r-- > 0;) {
        const int greater =
            AppendTo(instructions, ScalarOp::kGt, ScalarType::kBool, {r, arity + r});
        if (takes_left < 0) {
          takes_left = greater;
          continue;
        }
        const int equal = AppendTo(instructions, ScalarOp::kEq, ScalarType::kBool, {r, arity + r});
        const int tie =
            AppendTo(instructions, ScalarOp::kAnd, ScalarType::kBool, {equal, takes_left});
        takes_left = AppendTo(instructions, ScalarOp::kOr, ScalarType::kBool, {greater, tie});
      }
    }
    return AppendTo(instructions, ScalarOp::kSelect, types[a], {takes_left, a, b});
  });
}

}  // namespace

ScalarFunction RandomFunction(Rng& rng, const RandomExpressionOptions& options,
                              const std::vector<TypedName>& parameters,
                              const std::vector<TypedName>& results, double result_bound) {
  Builder builder(rng, options);
  for (size_t p = 0; p < parameters.size(); ++p) {
    builder.Parameter(parameters[p], static_cast<int>(p));
  }
  for (const TypedName& result : results) builder.Constant(SmallConstant(rng, result.type));
  const int operations = 1 + static_cast<int>(Below(rng, options.max_operations));
  for (int tries = 0; tries < 6 * operations; ++tries) builder.AppendRandom();
  const int values = builder.size();
  std::vector<int> result_instructions;
  for (const TypedName& result : results) {
    // Of the type that is asked for, rarely a constant; else a conversion of whatever there is.
    std::vector<int> candidates;
    for (int n = 0; n < values; ++n) {
      const ScalarInstruction& instruction = builder.instructions()[n];
      const bool is_constant = instruction.op == ScalarOp::kConstant;
      if (instruction.type == result.type && (!is_constant || Below(rng, 20) == 0)) {
        candidates.push_back(n);
      }
    }
    if (candidates.empty()) candidates.push_back(static_cast<int>(Below(rng, values)));
    // The last values depend on most others.
    const int chosen = Below(rng, 2) == 0 ? candidates.back() : AnyOf(rng, candidates);
    result_instructions.push_back(builder.Finish(chosen, result.type, result_bound));
  }
  return *ScalarFunction::Create("f", parameters, results, std::move(builder.instructions()),
                                 std::move(result_instructions));
}

CombineOperator RandomReduction(Rng& rng, const RandomExpressionOptions& options,
                                const std::vector<ScalarType>& types) {
  const bool has_bool = std::count(types.begin(), types.end(), ScalarType::kBool) > 0;
  const bool has_real = std::any_of(types.begin(), types.end(), IsFloatingPoint);
  switch (Below(rng, 6)) {
    case 0:
      return MixedOperator(rng, types);
    case 1:
      if (!has_bool) return ShiftedSum(rng, types);
      break;
    case 2:
      return LargerTuple(types);
    default:
      break;
  }
  std::vector<CombineOperator> named;
  for (int kind = static_cast<int>(PointWiseKind::kAdd);
       kind <= static_cast<int>(PointWiseKind::kBitXor); ++kind) {
    const PointWiseKind name = static_cast<PointWiseKind>(kind);
    if (options.exact && has_real && name == PointWiseKind::kMul) continue;
    Result<CombineOperator> combine = CombineOperator::PointWise(name, types);
    if (combine.ok()) named.push_back(*std::move(combine));
  }
  return named.empty() ? MixedOperator(rng, types) : AnyOf(rng, named);
}

}  // namespace mdh
