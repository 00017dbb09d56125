// Combine operators (paper, Definition 2): how results are combined in one dimension.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_function.h"
#include "core/scalar/scalar_value.h"

namespace mdh {

// The binary operations with a name of their own in the text form. kCustom is a user's function.
enum class PointWiseKind : uint8_t {
  kCustom = 1,
  kAdd = 2,
  kMul = 3,
  kMin = 4,
  kMax = 5,
  kAnd = 6,
  kOr = 7,
  kBitAnd = 8,
  kBitOr = 9,
  kBitXor = 10,
  kFmin = 11,
  kFmax = 12,
};

// The scalar operation of any of them but kCustom.
ScalarOp OperationOf(PointWiseKind kind);

// cc (Example 1), pw(f) (Example 2) or ps(f) (Example 15). Immutable; thread-safe.
//
// For md_hom with R results, f takes 2R parameters (R of the left, then R of the right operand) and
// gives R results: combine operators work on the tuple T^OUT. Named operations work
// component-wise, one for all results or one per result. f is associative, and commutative unless
// it is used in one prefix sum only; Expression::Create tests that on values that can occur.
class CombineOperator {
 public:
  static CombineOperator Concat();
  // `types`: the types of md_hom's results.
  // Errors: InvalidArgument if the operation does not exist for a type (&& on fp32, ...).
  static Result<CombineOperator> PointWise(PointWiseKind kind, absl::Span<const ScalarType> types);
  // One operation per result. Errors: as above, or if there are not as many kinds as types.
  static Result<CombineOperator> PointWise(absl::Span<const PointWiseKind> kinds,
                                           absl::Span<const ScalarType> types);
  // A user's function. `identity`: neutral elements, one per result, if there are any. Errors:
  // InvalidArgument if f is not of type T x T -> T.
  static Result<CombineOperator> PointWise(ScalarFunction f,
                                           std::optional<std::vector<ScalarValue>> identity);

  // The prefix sum with the function of this pointwise operator.
  CombineOperator AsPrefixSum() const;

  bool is_concat() const { return !function_.has_value(); }
  bool is_prefix_sum() const { return is_prefix_sum_; }
  bool is_point_wise() const { return !is_concat() && !is_prefix_sum_; }
  // The following only if !is_concat().
  // One per result; all kCustom for a user's function.
  const std::vector<PointWiseKind>& kinds() const { return kinds_; }
  // The operation of all results; kCustom also if they have different ones.
  PointWiseKind kind() const;
  const ScalarFunction& function() const { return *function_; }
  // Neutral elements, one per result; nullopt if none is known.
  const std::optional<std::vector<ScalarValue>>& identity() const { return identity_; }

  // Whether values are combined in the order of their points only, from the first one on, whatever
  // the numerics policy: those of an operator whose laws do not hold once a value is nan
  // (core/expression/combine_laws.h). Follows from the expression that it is an operator of.
  bool keeps_order() const { return keeps_order_; }
  void set_keeps_order(bool keeps_order) { keeps_order_ = keeps_order; }

  // As in the text form: "++", "+", "(+, max)", "ps(+)", or the function's name.
  std::string ToString() const;

  // Of two that are not cc: the same function and identity, be it in pw or ps.
  bool HasSameFunction(const CombineOperator& other) const;

 private:
  CombineOperator() = default;
  bool is_prefix_sum_ = false;
  bool keeps_order_ = false;
  std::vector<PointWiseKind> kinds_;
  std::optional<ScalarFunction> function_;
  std::optional<std::vector<ScalarValue>> identity_;
};

}  // namespace mdh
