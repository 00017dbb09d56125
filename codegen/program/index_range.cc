#include "codegen/program/index_range.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace mdh {
namespace {

std::optional<IndexRange> RangeOfFactor(const Index& factor, const IndexRanges& ranges) {
  if (factor.IsVariable()) {
    const auto found = ranges.find(factor.name());
    if (found == ranges.end()) return std::nullopt;
    return found->second;
  }
  const auto left = RangeOf(factor.left(), ranges);
  if (factor.kind() == Index::Kind::kMin) {
    const auto right = RangeOf(factor.right(), ranges);
    if (!left.has_value() || !right.has_value()) return std::nullopt;
    return IndexRange{std::min(left->low, right->low), std::min(left->high, right->high)};
  }
  if (factor.kind() == Index::Kind::kXor) {
    const auto right = RangeOf(factor.right(), ranges);
    if (!left.has_value() || !right.has_value()) return std::nullopt;
    const auto bits = std::bit_width(static_cast<uint64_t>(std::max(left->high, right->high)));
    return IndexRange{0, (int64_t{1} << bits) - 1};
  }
  // Quotients and remainders of non-negative values.
  const int64_t divisor = factor.right().constant();
  if (factor.kind() == Index::Kind::kMod) {
    if (!left.has_value() || left->high >= divisor) return IndexRange{0, divisor - 1};
    return IndexRange{std::max<int64_t>(left->low, 0), left->high};
  }
  if (!left.has_value()) return std::nullopt;
  return IndexRange{std::max<int64_t>(left->low, 0) / divisor, left->high / divisor};
}

// low and high += coefficient * range; false if that overflows.
bool Accumulate(IndexRange range, int64_t coefficient, IndexRange& sum) {
  if (coefficient < 0) std::swap(range.low, range.high);
  int64_t low, high;
  return !__builtin_mul_overflow(range.low, coefficient, &low) &&
         !__builtin_mul_overflow(range.high, coefficient, &high) &&
         !__builtin_add_overflow(sum.low, low, &sum.low) &&
         !__builtin_add_overflow(sum.high, high, &sum.high);
}

std::optional<IndexRange> RangeOfSum(const IndexSum& sum, const IndexRanges& ranges) {
  IndexRange result{sum.constant, sum.constant};
  for (const IndexTerm& term : sum.terms) {
    const auto range = RangeOfFactor(term.factor, ranges);
    if (!range.has_value() || !Accumulate(*range, term.coefficient, result)) return std::nullopt;
  }
  return result;
}

// index = divisor * quotient + rest, with the multiples of the divisor in `quotient`.
struct Division {
  IndexSum quotient;
  IndexSum rest;
};

Division Divide(const IndexSum& sum, int64_t divisor) {
  Division division;
  for (const IndexTerm& term : sum.terms) {
    if (term.coefficient % divisor == 0) {
      division.quotient.terms.push_back({term.factor, term.coefficient / divisor});
    } else {
      division.rest.terms.push_back(term);
    }
  }
  // The constant of the rest is never negative.
  division.rest.constant = (sum.constant % divisor + divisor) % divisor;
  division.quotient.constant = (sum.constant - division.rest.constant) / divisor;
  return division;
}

Index SimplifiedQuotient(const Index& dividend, int64_t divisor, const IndexRanges& ranges) {
  const Division division = Divide(dividend.Sum(), divisor);
  const auto rest = RangeOfSum(division.rest, ranges);
  if (!rest.has_value() || rest->low < 0) return dividend / divisor;
  if (rest->high < divisor) return division.quotient.ToIndex();
  if (division.quotient.terms.empty()) return dividend / divisor;
  return division.quotient.ToIndex() + division.rest.ToIndex() / divisor;
}

Index SimplifiedRemainder(const Index& dividend, int64_t divisor, const IndexRanges& ranges) {
  const Division division = Divide(dividend.Sum(), divisor);
  const auto rest = RangeOfSum(division.rest, ranges);
  if (!rest.has_value() || rest->low < 0) return dividend % divisor;
  const bool all = division.quotient.terms.empty() && division.quotient.constant == 0;
  const Index remaining = all ? dividend : division.rest.ToIndex();
  return rest->high < divisor ? remaining : remaining % divisor;
}

}  // namespace

std::optional<IndexRange> RangeOf(const Index& index, const IndexRanges& ranges) {
  return RangeOfSum(index.Sum(), ranges);
}

Index Simplified(const Index& index, const IndexRanges& ranges) {
  if (index.is_constant()) return index;
  if (index.IsVariable()) {
    const auto found = ranges.find(index.name());
    const bool is_fixed = found != ranges.end() && found->second.low == found->second.high;
    return is_fixed ? Index(found->second.low) : index;
  }
  if (index.IsLeaf()) return index;
  const Index left = Simplified(index.left(), ranges);
  const Index right = Simplified(index.right(), ranges);
  const bool is_same = left.IsSame(index.left()) && right.IsSame(index.right());
  switch (index.kind()) {
    case Index::Kind::kAdd:
      return is_same ? index : left + right;
    case Index::Kind::kSub:
      return is_same ? index : left - right;
    case Index::Kind::kMul:
      return is_same ? index : left * right.constant();
    case Index::Kind::kDiv:
      return SimplifiedQuotient(left, right.constant(), ranges);
    case Index::Kind::kMod:
      return SimplifiedRemainder(left, right.constant(), ranges);
    case Index::Kind::kXor:
      return is_same ? index : left ^ right;
    default:
      break;
  }
  const auto difference = RangeOf(left - right, ranges);
  if (difference.has_value() && difference->high <= 0) return left;
  if (difference.has_value() && difference->low >= 0) return right;
  return is_same ? index : Min(left, right);
}

Index WithoutRest(const Index& index, int64_t bound, const IndexRanges& ranges) {
  const IndexSum sum = index.Sum();
  int64_t largest = 1;
  Index whole = index;
  for (const IndexTerm& candidate : sum.terms) {
    const int64_t divisor = std::gcd(candidate.coefficient, bound);
    if (divisor <= largest) continue;
    const Division division = Divide(sum, divisor);
    const auto rest = RangeOfSum(division.rest, ranges);
    const bool is_rest = rest.has_value() && rest->low >= 0 && rest->high < divisor;
    if (!is_rest || division.rest.terms.empty()) continue;
    largest = divisor;
    whole = division.quotient.ToIndex() * divisor;
  }
  return whole;
}

}  // namespace mdh
