// Combine operators (paper, Definition 2): how results are combined in one dimension.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/scalar_function.h"
#include "core/scalar_value.h"
#include "core/status.h"

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
};

// cc (Example 1) or pw(f) (Example 2). Immutable; thread-safe.
//
// For md_hom with R results, f takes 2R parameters (R of the left, then R of the right operand) and
// gives R results: combine operators work on the tuple T^OUT. A named operation works
// component-wise.
class CombineOperator {
 public:
  static CombineOperator Concat();
  // `types`: the types of md_hom's results.
  // Errors: InvalidArgument if the operation does not exist for a type (&& on fp32, ...).
  static Result<CombineOperator> PointWise(PointWiseKind kind, absl::Span<const ScalarType> types);
  // A user's function; it must be associative and commutative. `identity`: neutral elements, one
  // per result, if there are any. Errors: InvalidArgument if f is not of type T x T -> T, or, for
  // single results, if a sample shows that it is not associative, commutative or neutral.
  static Result<CombineOperator> PointWise(ScalarFunction f,
                                           std::optional<std::vector<ScalarValue>> identity);

  bool is_concat() const { return !function_.has_value(); }
  // The following only if !is_concat().
  PointWiseKind kind() const { return kind_; }
  const ScalarFunction& function() const { return *function_; }
  // Neutral elements, one per result; nullopt if none is known.
  const std::optional<std::vector<ScalarValue>>& identity() const { return identity_; }

  // As in the text form: "++", "+", "min", or the function's name.
  std::string ToString() const;

  bool EquivalentTo(const CombineOperator& other) const;

 private:
  CombineOperator() = default;
  PointWiseKind kind_ = PointWiseKind::kCustom;
  std::optional<ScalarFunction> function_;
  std::optional<std::vector<ScalarValue>> identity_;
};

}  // namespace mdh
