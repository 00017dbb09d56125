// Random combine operators.
#include "tests/random_combine.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/random_type.h"

namespace mdh {
namespace {

using Results = std::vector<CombinedResult>;

// Parameters a1..aR, b1..bR, to which `combine` appends a result per component.
template <typename Combine>
Result<CombineOperator> CustomOperator(const Results& types,
                                       std::optional<std::vector<ScalarValue>> identity,
                                       Combine combine) {
  const int arity = static_cast<int>(types.size());
  std::vector<TypedName> parameters, results;
  std::vector<ScalarInstruction> instructions;
  for (const char* side : {"a", "b"}) {
    for (int r = 0; r < arity; ++r) {
      instructions.push_back(
          {ScalarOp::kParameter, types[r].type, {}, static_cast<int>(parameters.size())});
      parameters.push_back({absl::StrCat(side, r + 1), types[r].type});
    }
  }
  std::vector<int> result_instructions;
  for (int r = 0; r < arity; ++r) {
    results.push_back({absl::StrCat("c", r + 1), types[r].type});
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

// Named operators that exist for a result and keep its limit.
std::vector<PointWiseKind> KindsFor(const CombinedResult& result) {
  std::vector<PointWiseKind> kinds;
  for (int number = static_cast<int>(PointWiseKind::kAdd);
       number <= static_cast<int>(PointWiseKind::kFmax); ++number) {
    const auto kind = static_cast<PointWiseKind>(number);
    if (kind == PointWiseKind::kMul && std::isfinite(result.limit)) continue;
    if (kind == PointWiseKind::kAdd && !result.may_add_up) continue;
    if (CombineOperator::PointWise(kind, {result.type}).ok()) kinds.push_back(kind);
  }
  return kinds;
}

// The same named operator for all results, if there is one.
std::optional<CombineOperator> NamedOperator(Rng& rng, const Results& results) {
  std::vector<PointWiseKind> common = KindsFor(results[0]);
  for (const CombinedResult& result : results) {
    const std::vector<PointWiseKind> kinds = KindsFor(result);
    std::erase_if(common, [&](PointWiseKind kind) {
      return std::find(kinds.begin(), kinds.end(), kind) == kinds.end();
    });
  }
  if (common.empty()) return std::nullopt;
  std::vector<ScalarType> types;
  for (const CombinedResult& result : results) types.push_back(result.type);
  return *CombineOperator::PointWise(AnyOf(rng, common), types);
}

CombineOperator NamedOperators(Rng& rng, const Results& results) {
  std::vector<PointWiseKind> kinds;
  std::vector<ScalarType> types;
  for (const CombinedResult& result : results) {
    kinds.push_back(AnyOf(rng, KindsFor(result)));
    types.push_back(result.type);
  }
  return *CombineOperator::PointWise(kinds, types);
}

// A function with another operation for every component, like (sum, max).
CombineOperator MixedFunction(Rng& rng, const Results& results) {
  std::vector<ScalarOp> ops;
  for (const CombinedResult& result : results) {
    std::vector<ScalarOp> choice = {ScalarOp::kMin, ScalarOp::kMax};
    if (result.may_add_up) choice.push_back(ScalarOp::kAdd);
    if (IsInteger(result.type) && !std::isfinite(result.limit)) choice.push_back(ScalarOp::kMul);
    if (result.type == ScalarType::kBool) {
      choice = {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kNe};
    }
    ops.push_back(AnyOf(rng, choice));
  }
  return *CustomOperator(results, std::nullopt, [&](auto* instructions, int a, int b) {
    return AppendTo(instructions, ops[a], results[a].type, {a, b});
  });
}

// a + b + 1 with the identity -1, on numbers that may add up.
CombineOperator ShiftedSum(Rng& rng, const Results& results) {
  std::vector<ScalarValue> identity;
  for (const CombinedResult& result : results) identity.push_back(NumberOf(result.type, -1));
  const bool knows_identity = Below(rng, 2) == 0;
  return *CustomOperator(
      results, knows_identity ? std::optional(identity) : std::nullopt,
      [&](auto* instructions, int a, int b) {
        const ScalarType type = results[a].type;
        const int sum = AppendTo(instructions, ScalarOp::kAdd, type, {a, b});
        instructions->push_back({ScalarOp::kConstant, type, {}, -1, NumberOf(type, 1)});
        return AppendTo(instructions, ScalarOp::kAdd, type, {sum, sum + 1});
      });
}

// The lexicographically larger tuple: all components depend on all others.
CombineOperator LargerTuple(const Results& types) {
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
    return AppendTo(instructions, ScalarOp::kSelect, types[a].type, {takes_left, a, b});
  });
}

// Whether component `n` is not zero.
int IsSet(std::vector<ScalarInstruction>* instructions, ScalarType type, int n) {
  if (type == ScalarType::kBool) return n;
  instructions->push_back({ScalarOp::kConstant, type, {}, -1, NumberOf(type, 0)});
  const int zero = static_cast<int>(instructions->size()) - 1;
  return AppendTo(instructions, ScalarOp::kNe, ScalarType::kBool, {n, zero});
}

// The last tuple whose first component is not zero, or the first tuple.
CombineOperator LastThatIsSet(const Results& results) {
  const int arity = static_cast<int>(results.size());
  int is_set = -1;
  return *CustomOperator(results, std::nullopt, [&](auto* instructions, int a, int b) {
    if (is_set < 0) is_set = IsSet(instructions, results[0].type, arity);
    return AppendTo(instructions, ScalarOp::kSelect, results[a].type, {is_set, b, a});
  });
}

// Sums that start again wherever the first component is not zero (a segmented scan); min instead of
// sums where they may not add up. The first component says whether there was a start.
CombineOperator SegmentedSums(const Results& results) {
  const int arity = static_cast<int>(results.size());
  int is_set = -1;
  return *CustomOperator(results, std::nullopt, [&](auto* instructions, int a, int b) {
    const ScalarType type = results[a].type;
    if (is_set < 0) is_set = IsSet(instructions, results[0].type, arity);
    int both = a;
    if (a > 0 && type == ScalarType::kBool) {
      both = AppendTo(instructions, ScalarOp::kNe, type, {a, b});
    } else if (a > 0) {
      const ScalarOp op = results[a].may_add_up ? ScalarOp::kAdd : ScalarOp::kMin;
      both = AppendTo(instructions, op, type, {a, b});
    }
    return AppendTo(instructions, ScalarOp::kSelect, type, {is_set, b, both});
  });
}

// The last of all tuples.
CombineOperator LastTuple(const Results& results) {
  return *CustomOperator(results, std::nullopt, [](auto*, int, int b) { return b; });
}

// x -> a x + b composed from left to right, on two results of an integer type: a linear recurrence.
CombineOperator LinearRecurrence(const Results& results) {
  const ScalarType type = results[0].type;
  return *CustomOperator(
      results, std::vector<ScalarValue>{NumberOf(type, 1), NumberOf(type, 0)},
      [&](auto* instructions, int left, int right) {
        if (left == 0) return AppendTo(instructions, ScalarOp::kMul, type, {left, right});
        const int product = AppendTo(instructions, ScalarOp::kMul, type, {2, left});
        return AppendTo(instructions, ScalarOp::kAdd, type, {product, right});
      });
}

}  // namespace

CombineOperator RandomReduction(Rng& rng, const RandomExpressionOptions& options,
                                const std::vector<CombinedResult>& results) {
  const bool may_shift = std::all_of(results.begin(), results.end(), [](const auto& result) {
    return result.type != ScalarType::kBool && result.may_add_up;
  });
  // Nothing is larger than nan, and nan is larger than nothing: then which tuple is the largest
  // depends on the order, and the operator is not associative.
  const bool compares_nan = std::any_of(results.begin(), results.end(), [](const auto& result) {
    return IsFloatingPoint(result.type);
  });
  switch (Below(rng, 7)) {
    case 0:
      return MixedFunction(rng, results);
    case 1:
      if (may_shift) return ShiftedSum(rng, results);
      break;
    case 2:
      if (options.special_values && compares_nan) break;
      return LargerTuple(results);
    case 3:
      if (options.mixed_operators) return NamedOperators(rng, results);
      break;
    default:
      break;
  }
  const std::optional<CombineOperator> named = NamedOperator(rng, results);
  return named.has_value() ? *named : MixedFunction(rng, results);
}

CombineOperator RandomScan(Rng& rng, const std::vector<CombinedResult>& results) {
  const auto is_free = [&](const CombinedResult& result) {
    return IsInteger(result.type) && result.type == results[0].type && !std::isfinite(result.limit);
  };
  if (results.size() == 2 && std::all_of(results.begin(), results.end(), is_free)) {
    return LinearRecurrence(results);
  }
  switch (Below(rng, 4)) {
    case 0:
      return LastTuple(results);
    case 1:
      return LastThatIsSet(results);
    default:
      return SegmentedSums(results);
  }
}

}  // namespace mdh
