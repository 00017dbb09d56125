// Combine operators: named operations with their neutral elements, and custom functions.
#include "core/combine_operator.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/combine_laws.h"
#include "core/identifier.h"

namespace mdh {
namespace {

ScalarOp OpOf(PointWiseKind kind) {
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
    default:
      return ScalarOp::kBitXor;
  }
}

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

ScalarValue Number(ScalarType type, int64_t value) {
  return IsFloatingPoint(type) ? ScalarValue::Real(type, static_cast<double>(value))
                               : ScalarValue::Integer(type, value);
}

ScalarValue Identity(PointWiseKind kind, ScalarType type) {
  switch (kind) {
    case PointWiseKind::kMul:
      return Number(type, 1);
    case PointWiseKind::kMin:
      return Extreme(type, true);
    case PointWiseKind::kMax:
      return Extreme(type, false);
    case PointWiseKind::kAnd:
      return ScalarValue::Bool(true);
    case PointWiseKind::kOr:
      return ScalarValue::Bool(false);
    case PointWiseKind::kBitAnd:
      return ScalarValue::Integer(type, -1);
    default:
      return Number(type, 0);  // +, |, ^
  }
}

// (a1..aR, b1..bR) -> (c1..cR), component by component.
Result<ScalarFunction> ComponentWise(ScalarOp op, absl::Span<const ScalarType> types) {
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
    instructions.push_back({op, types[r], {r, arity + r}});
    results.push_back({arity == 1 ? "c" : absl::StrCat("c", r + 1), types[r]});
  }
  return ScalarFunction::Create(std::string(Info(op).name), std::move(parameters),
                                std::move(results), std::move(instructions),
                                std::move(result_instructions));
}

Status CheckSignature(const ScalarFunction& f) {
  const size_t arity = f.results().size();
  if (!IsIdentifier(f.name())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", f.name(), "' is no name for a combine operator"));
  }
  if (f.parameters().size() != 2 * arity) {
    return absl::InvalidArgumentError(absl::StrCat("combine operator '", f.name(), "' with ", arity,
                                                   " results must have ", 2 * arity,
                                                   " parameters, not ", f.parameters().size()));
  }
  for (size_t p = 0; p < 2 * arity; ++p) {
    if (f.parameters()[p].type != f.results()[p % arity].type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "combine operator '", f.name(), "': parameter '", f.parameters()[p].name, "' has type ",
          Name(f.parameters()[p].type), ", but the result '", f.results()[p % arity].name,
          "' has type ", Name(f.results()[p % arity].type)));
    }
  }
  return absl::OkStatus();
}

Status CheckIdentity(const ScalarFunction& f, absl::Span<const ScalarValue> identity) {
  if (identity.size() != f.results().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("combine operator '", f.name(), "' has ", f.results().size(),
                     " results but an identity of ", identity.size(), " values"));
  }
  for (size_t r = 0; r < identity.size(); ++r) {
    if (identity[r].type() != f.results()[r].type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "combine operator '", f.name(), "': the identity of result '", f.results()[r].name,
          "' has type ", Name(identity[r].type()), ", not ", Name(f.results()[r].type)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

CombineOperator CombineOperator::Concat() { return CombineOperator(); }

Result<CombineOperator> CombineOperator::PointWise(PointWiseKind kind,
                                                   absl::Span<const ScalarType> types) {
  if (kind == PointWiseKind::kCustom) {
    return absl::InvalidArgumentError("a custom combine operator needs a function");
  }
  for (ScalarType type : types) {
    MDH_RETURN_IF_ERROR(ResultType(OpOf(kind), {type, type}).status());
  }
  CombineOperator result;
  result.kind_ = kind;
  MDH_ASSIGN_OR_RETURN(result.function_, ComponentWise(OpOf(kind), types));
  std::vector<ScalarValue> identity;
  for (ScalarType type : types) identity.push_back(Identity(kind, type));
  result.identity_ = std::move(identity);
  return result;
}

Result<CombineOperator> CombineOperator::PointWise(
    ScalarFunction f, std::optional<std::vector<ScalarValue>> identity) {
  MDH_RETURN_IF_ERROR(CheckSignature(f));
  if (identity.has_value()) MDH_RETURN_IF_ERROR(CheckIdentity(f, *identity));
  // Of tuples, often only some can occur: samples would refuse operators that are fine on those.
  if (f.results().size() == 1) {
    MDH_RETURN_IF_ERROR(
        CheckCombineLaws(f, identity.has_value() ? std::optional((*identity)[0]) : std::nullopt));
  }
  CombineOperator result;
  result.function_ = std::move(f);
  result.identity_ = std::move(identity);
  return result;
}

std::string CombineOperator::ToString() const {
  if (is_concat()) return "++";
  return function_->name();
}

bool CombineOperator::EquivalentTo(const CombineOperator& other) const {
  if (is_concat() || other.is_concat()) return is_concat() == other.is_concat();
  return identity_ == other.identity_ && function_->EquivalentTo(*other.function_);
}

}  // namespace mdh
