// Affine arithmetic.
#include <algorithm>
#include <utility>

#include "core/c_loops/loop_nest.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;

// False if the result does not fit.
bool Combine(const std::string& op, int64_t a, int64_t b, int64_t* result) {
  if (op == "+") return !__builtin_add_overflow(a, b, result);
  if (op == "-") return !__builtin_sub_overflow(a, b, result);
  return !__builtin_mul_overflow(a, b, result);
}

}  // namespace

std::optional<int> IntegerEvaluator::LoopOf(const std::string& declaration) const {
  for (size_t d = 0; d < loops_.size(); ++d) {
    if (loops_[d].declaration == declaration) return static_cast<int>(d);
  }
  return std::nullopt;
}

std::optional<int64_t> IntegerEvaluator::BoundValue(const std::string& declaration) const {
  const auto value = bound_.find(declaration);
  return value == bound_.end() ? std::nullopt : std::optional<int64_t>(value->second);
}

void IntegerEvaluator::Declare(const std::string& declaration, const CNode& value) {
  Forget(declaration);
  if (!value.type.is_scalar() || !IsInteger(value.type.scalar)) return;
  const Result<AffineIndex> index = Affine(value);
  if (index.ok()) locals_[declaration] = *index;
}

std::optional<int64_t> IntegerEvaluator::Integer(const CNode& node) const {
  if (node.constant.has_value()) return node.constant;
  if (!node.type.is_scalar() || IsFloatingPoint(node.type.scalar)) return std::nullopt;
  switch (node.kind) {
    case Kind::kReference:
      return BoundValue(node.declaration);
    case Kind::kConvert:
      return Integer(node.children[0]);
    case Kind::kUnary: {
      const std::optional<int64_t> value = Integer(node.children[0]);
      int64_t negative = 0;
      if (node.text == "+") return value;
      if (node.text != "-" || !value.has_value() || !Combine("-", 0, *value, &negative)) break;
      return negative;
    }
    case Kind::kBinary: {
      const std::optional<int64_t> a = Integer(node.children[0]), b = Integer(node.children[1]);
      if (!a.has_value() || !b.has_value()) break;
      const bool divides = node.text == "/" || node.text == "%";
      if (divides && (*b == 0 || *b == -1)) break;
      if (divides) return node.text == "/" ? *a / *b : *a % *b;
      int64_t result = 0;
      if (node.text != "+" && node.text != "-" && node.text != "*") break;
      if (Combine(node.text, *a, *b, &result)) return result;
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

AffineIndex IntegerEvaluator::Constant(int64_t value) const {
  return {std::vector<int64_t>(loops_.size(), 0), value};
}

Status IntegerEvaluator::NotAffine(const CNode& node) const {
  return source_.ErrorAt(
      node.begin,
      "this index is not affine: only sums of multiples of loop variables and of constants "
      "are");
}

Status IntegerEvaluator::TooLarge(const CNode& node) const {
  return source_.ErrorAt(node.begin, "a coefficient of this index does not fit in 63 bits");
}

Result<AffineIndex> IntegerEvaluator::Affine(const CNode& node) const {
  if (const std::optional<int64_t> value = Integer(node); value.has_value()) {
    return Constant(*value);
  }
  if (!node.type.is_scalar() || !IsInteger(node.type.scalar)) return NotAffine(node);
  switch (node.kind) {
    case Kind::kReference:
      return AffineReference(node);
    case Kind::kConvert:
      return Affine(node.children[0]);
    case Kind::kBinary:
      return AffineBinary(node);
    case Kind::kUnary: {
      if (node.text != "-" && node.text != "+") return NotAffine(node);
      MDH_ASSIGN_OR_RETURN(AffineIndex index, Affine(node.children[0]));
      if (node.text == "+") return index;
      for (int64_t& coefficient : index.coefficients) {
        if (!Combine("*", coefficient, -1, &coefficient)) return TooLarge(node);
      }
      if (!Combine("*", index.constant, -1, &index.constant)) return TooLarge(node);
      return index;
    }
    default:
      return NotAffine(node);
  }
}

Status IntegerEvaluator::CheckNotEnded(const CNode& node, int loop) const {
  if (!first_ended_.has_value() || loop < static_cast<int>(*first_ended_)) return absl::OkStatus();
  const std::string& name = loops_[loop].name;
  return source_.ErrorAt(node.begin, "the loop over '", name,
                         "' ends before this statement: there is one result for all '", name,
                         "', and what depends on '", name, "' belongs in that loop");
}

Result<AffineIndex> IntegerEvaluator::AffineReference(const CNode& node) const {
  if (const std::optional<int> loop = LoopOf(node.declaration); loop.has_value()) {
    MDH_RETURN_IF_ERROR(CheckNotEnded(node, *loop));
    AffineIndex index = Constant(loops_[*loop].start);
    index.coefficients[*loop] = loops_[*loop].step;
    return index;
  }
  if (const auto local = locals_.find(node.declaration); local != locals_.end()) {
    return local->second;
  }
  return source_.ErrorAt(node.begin, "'", node.text,
                         "' in an index is neither a loop variable nor a "
                         "constant, nor an affine function of them");
}

Result<AffineIndex> IntegerEvaluator::AffineBinary(const CNode& node) const {
  const std::string& op = node.text;
  if (op != "+" && op != "-" && op != "*") return NotAffine(node);
  MDH_ASSIGN_OR_RETURN(AffineIndex a, Affine(node.children[0]));
  MDH_ASSIGN_OR_RETURN(AffineIndex b, Affine(node.children[1]));
  if (op == "*") {
    // One side must be a number.
    const auto number = [](const AffineIndex& index) {
      return std::ranges::all_of(index.coefficients,
                                 [&](int64_t coefficient) { return coefficient == 0; });
    };
    if (!number(b)) std::swap(a, b);
    if (!number(b)) return NotAffine(node);
    for (int64_t& coefficient : a.coefficients) {
      if (!Combine("*", coefficient, b.constant, &coefficient)) return TooLarge(node);
    }
    if (!Combine("*", a.constant, b.constant, &a.constant)) return TooLarge(node);
    return a;
  }
  for (size_t d = 0; d < loops_.size(); ++d) {
    if (!Combine(op, a.coefficients[d], b.coefficients[d], &a.coefficients[d])) {
      return TooLarge(node);
    }
  }
  if (!Combine(op, a.constant, b.constant, &a.constant)) return TooLarge(node);
  return a;
}

}  // namespace mdh
