// Combine operators: named operations with their neutral elements, and custom functions.
#include "core/expression/combine_operator.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/identifier.h"

namespace mdh {

ScalarOp OperationOf(PointWiseKind kind) {
  switch (kind) {
    case PointWiseKind::kAdd:
      return ScalarOp::kAdd;
    case PointWiseKind::kMul:
      return ScalarOp::kMul;
    case PointWiseKind::kMin:
      return ScalarOp::kMin;
    case PointWiseKind::kMax:
      return ScalarOp::kMax;
    case PointWiseKind::kAnd:
      return ScalarOp::kAnd;
    case PointWiseKind::kOr:
      return ScalarOp::kOr;
    case PointWiseKind::kBitAnd:
      return ScalarOp::kBitAnd;
    case PointWiseKind::kBitOr:
      return ScalarOp::kBitOr;
    case PointWiseKind::kFmin:
      return ScalarOp::kFmin;
    case PointWiseKind::kFmax:
      return ScalarOp::kFmax;
    case PointWiseKind::kBitXor:
      return ScalarOp::kBitXor;
    case PointWiseKind::kCustom:
      break;
  }
  std::abort();  // the caller's fault: its function is the user's
}

namespace {

// The largest or smallest value of a type; infinite for floating-point types.
ScalarValue Extreme(ScalarType type, bool largest) {
  if (IsFloatingPoint(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return ScalarValue::Real(type, largest ? infinity : -infinity);
  }
  if (!IsSigned(type)) return ScalarValue::Integer(type, largest ? -1 : 0);
  const int64_t max = static_cast<int64_t>((uint64_t{1} << (8 * SizeBytes(type) - 1)) - 1);
  return ScalarValue::Integer(type, largest ? max : -max - 1);
}

ScalarValue WholeNumber(ScalarType type, int64_t value) {
  return IsFloatingPoint(type) ? ScalarValue::Real(type, static_cast<double>(value))
                               : ScalarValue::Integer(type, value);
}

ScalarValue Identity(PointWiseKind kind, ScalarType type) {
  switch (kind) {
    case PointWiseKind::kMul:
      return WholeNumber(type, 1);
    case PointWiseKind::kMin:
      return Extreme(type, true);
    case PointWiseKind::kMax:
      return Extreme(type, false);
    case PointWiseKind::kFmin:
    case PointWiseKind::kFmax:
      // Not an infinity: values that all are nan give nan.
      return ScalarValue::Real(type, std::numeric_limits<double>::quiet_NaN());
    case PointWiseKind::kAnd:
      return ScalarValue::Bool(true);
    case PointWiseKind::kOr:
      return ScalarValue::Bool(false);
    case PointWiseKind::kBitAnd:
      return ScalarValue::Integer(type, -1);
    case PointWiseKind::kAdd:
    case PointWiseKind::kBitOr:
    case PointWiseKind::kBitXor:
      return WholeNumber(type, 0);
    case PointWiseKind::kCustom:
      break;
  }
  std::abort();  // as in OperationOf
}

// (a1..aR, b1..bR) -> (c1..cR), component by component.
Result<ScalarFunction> ComponentWise(absl::Span<const PointWiseKind> kinds,
                                     absl::Span<const ScalarType> types, std::string name) {
  const int arity = static_cast<int>(types.size());
  std::vector<TypedName> parameters, results;
  std::vector<ScalarInstruction> instructions;
  std::vector<int> result_instructions;
  for (absl::string_view side : {"a", "b"}) {
    for (int r = 0; r < arity; ++r) {
      instructions.push_back(
          {ScalarOp::kParameter, types[r], {}, static_cast<int>(parameters.size())});
      parameters.push_back({arity == 1 ? std::string(side) : absl::StrCat(side, r + 1), types[r]});
    }
  }
  for (int r = 0; r < arity; ++r) {
    result_instructions.push_back(static_cast<int>(instructions.size()));
    instructions.push_back({OperationOf(kinds[r]), types[r], {r, arity + r}});
    results.push_back({arity == 1 ? "c" : absl::StrCat("c", r + 1), types[r]});
  }
  return ScalarFunction::Create(std::move(name), std::move(parameters), std::move(results),
                                std::move(instructions), std::move(result_instructions));
}

std::string NameOf(absl::Span<const PointWiseKind> kinds) {
  const auto name = [](PointWiseKind kind) { return std::string(Info(OperationOf(kind)).name); };
  if (std::ranges::adjacent_find(kinds, std::not_equal_to<>()) == kinds.end()) {
    return name(kinds[0]);
  }
  return absl::StrCat("(",
                      absl::StrJoin(kinds, ", ",
                                    [&](std::string* out, PointWiseKind kind) {
                                      absl::StrAppend(out, name(kind));
                                    }),
                      ")");
}

Status CheckSignature(const ScalarFunction& f) {
  const size_t arity = f.results().size();
  if (!IsIdentifier(f.name())) {
    return InvalidArgument("'", f.name(), "' is no name for a combine operator");
  }
  if (f.parameters().size() != 2 * arity) {
    return InvalidArgument("combine operator '", f.name(), "' with ", arity, " results must have ",
                           2 * arity, " parameters, not ", f.parameters().size());
  }
  for (size_t p = 0; p < 2 * arity; ++p) {
    if (f.parameters()[p].type != f.results()[p % arity].type) {
      return InvalidArgument("combine operator '", f.name(), "': parameter '",
                             f.parameters()[p].name, "' has type ", Name(f.parameters()[p].type),
                             ", but the result '", f.results()[p % arity].name, "' has type ",
                             Name(f.results()[p % arity].type));
    }
  }
  return absl::OkStatus();
}

Status CheckIdentity(const ScalarFunction& f, absl::Span<const ScalarValue> identity) {
  if (identity.size() != f.results().size()) {
    return InvalidArgument("combine operator '", f.name(), "' has ", f.results().size(),
                           " results but an identity of ", identity.size(), " values");
  }
  for (size_t r = 0; r < identity.size(); ++r) {
    if (identity[r].type() != f.results()[r].type) {
      return InvalidArgument("combine operator '", f.name(), "': the identity of result '",
                             f.results()[r].name, "' has type ", Name(identity[r].type()), ", not ",
                             Name(f.results()[r].type));
    }
  }
  return absl::OkStatus();
}

}  // namespace

CombineOperator CombineOperator::Concat() { return CombineOperator(); }

Result<CombineOperator> CombineOperator::PointWise(PointWiseKind kind,
                                                   absl::Span<const ScalarType> types) {
  return PointWise(std::vector<PointWiseKind>(types.size(), kind), types);
}

Result<CombineOperator> CombineOperator::PointWise(absl::Span<const PointWiseKind> kinds,
                                                   absl::Span<const ScalarType> types) {
  if (kinds.size() != types.size() || kinds.empty()) {
    return InvalidArgument("a combine operator of ", kinds.size(), " operations for ", types.size(),
                           " results");
  }
  CombineOperator result;
  std::vector<ScalarValue> identity;
  for (size_t r = 0; r < kinds.size(); ++r) {
    if (kinds[r] == PointWiseKind::kCustom) {
      return InvalidArgument("a custom combine operator needs a function");
    }
    MDH_RETURN_IF_ERROR(ResultType(OperationOf(kinds[r]), {types[r], types[r]}).status());
    identity.push_back(Identity(kinds[r], types[r]));
  }
  MDH_ASSIGN_OR_RETURN(result.function_, ComponentWise(kinds, types, NameOf(kinds)));
  result.kinds_.assign(kinds.begin(), kinds.end());
  result.identity_ = std::move(identity);
  return result;
}

Result<CombineOperator> CombineOperator::PointWise(
    ScalarFunction f, std::optional<std::vector<ScalarValue>> identity) {
  MDH_RETURN_IF_ERROR(CheckSignature(f));
  if (identity.has_value()) MDH_RETURN_IF_ERROR(CheckIdentity(f, *identity));
  CombineOperator result;
  result.kinds_.assign(f.results().size(), PointWiseKind::kCustom);
  result.function_ = std::move(f);
  result.identity_ = std::move(identity);
  return result;
}

CombineOperator CombineOperator::AsPrefixSum() const {
  CombineOperator result = *this;
  result.is_prefix_sum_ = !is_concat();
  return result;
}

PointWiseKind CombineOperator::kind() const {
  for (const PointWiseKind kind : kinds_) {
    if (kind != kinds_[0]) return PointWiseKind::kCustom;
  }
  return kinds_[0];
}

std::string CombineOperator::ToString() const {
  if (is_concat()) return "++";
  return is_prefix_sum_ ? absl::StrCat("ps(", function_->name(), ")") : function_->name();
}

bool CombineOperator::HasSameFunction(const CombineOperator& other) const {
  return identity_ == other.identity_ && function_->EquivalentTo(*other.function_);
}

}  // namespace mdh
