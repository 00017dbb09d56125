#include "tuner/space/constraints/factors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace mdh {
namespace {

using Code = OperationCode;

// The parameter itself, also as a real.
bool IsLeaf(const OperationGraph& graph, int number, int leaf) {
  const Operation& operation = graph.operations()[number];
  return number == leaf || (operation.code == Code::kToReal && operation.operands[0] == leaf);
}

// A product with the parameter as a factor: who divides by the product divides by the parameter.
bool HasFactor(const OperationGraph& graph, int number, int leaf) {
  if (IsLeaf(graph, number, leaf)) return true;
  const Operation& operation = graph.operations()[number];
  if (operation.code == Code::kToReal) return HasFactor(graph, operation.operands[0], leaf);
  if (operation.code != Code::kMultiply || operation.of_reals) return false;
  return std::ranges::any_of(operation.operands,
                             [&](int operand) { return HasFactor(graph, operand, leaf); });
}

bool IsZero(const OperationGraph& graph, int number) {
  const Operation& operation = graph.operations()[number];
  const Bounds& bounds = graph.bounds()[number];
  if (operation.code != Code::kConstant) return false;
  return operation.kind == ValueKind::kReal ? bounds.lo.r == 0 : bounds.lo.i == 0;
}

}  // namespace

std::vector<Factor> FindFactors(const OperationGraph& graph, int condition, int leaf,
                                const std::vector<bool>& is_known) {
  std::vector<Factor> factors;
  const Operation& operation = graph.operations()[condition];
  if (operation.code == Code::kAnd) {
    for (int operand : operation.operands) {
      for (const Factor& factor : FindFactors(graph, operand, leaf, is_known)) {
        factors.push_back(factor);
      }
    }
    return factors;
  }
  int dividend = -1;
  int divisor = -1;
  if (operation.code == Code::kDivides) {
    divisor = operation.operands[0];
    dividend = operation.operands[1];
  } else if (operation.code == Code::kEqual && !operation.of_conditions) {
    const int left = operation.operands[0];
    const int right = operation.operands[1];
    const int other = IsZero(graph, left) ? right : left;
    const Operation& remainder = graph.operations()[other];
    if (!IsZero(graph, other == left ? right : left)) return factors;
    if (remainder.code != Code::kRemainder) return factors;
    dividend = remainder.operands[0];
    divisor = remainder.operands[1];
  } else {
    return factors;
  }
  if (is_known[dividend] && HasFactor(graph, divisor, leaf)) factors.push_back({dividend, true});
  if (is_known[divisor] && IsLeaf(graph, dividend, leaf)) factors.push_back({divisor, false});
  return factors;
}

const std::vector<int64_t>& FactorPositions::DivisorsOf(int64_t value) {
  std::vector<int64_t>& divisors = divisors_[value];
  if (!divisors.empty()) return divisors;
  for (int64_t low = 1; low <= value / low; ++low) {
    if (value % low != 0) continue;
    for (int64_t divisor : {low, value / low}) {
      divisors.push_back(divisor);
      divisors.push_back(-divisor);
    }
  }
  divisors.push_back(0);  // for those who have to be told that they divide by it
  std::ranges::sort(divisors);
  divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
  return divisors;
}

std::optional<std::vector<uint32_t>> FactorPositions::Of(const Factor& factor, ValueKind kind,
                                                         const Bounds& value,
                                                         const ParameterValues& values,
                                                         double positions) {
  if (value.can != kCanBeDefined) return std::nullopt;
  int64_t number = value.lo.i;
  if (kind == ValueKind::kReal) {
    constexpr double kExact = 9007199254740992.0;
    if (!(std::abs(value.lo.r) < kExact)) return std::nullopt;
    number = static_cast<int64_t>(value.lo.r);
    // Integers neither divide broken numbers nor are all of their multiples found here.
    if (static_cast<double>(number) != value.lo.r) return std::nullopt;
  }
  if (number == 0 || number < -kMaxFactor || number > kMaxFactor) return std::nullopt;
  number = std::abs(number);
  std::vector<uint32_t> result;
  const auto add = [&](int64_t candidate) {
    const uint32_t position = values.PositionNotBelow(candidate);
    if (position < values.size() && values.At(position).i == candidate) result.push_back(position);
  };
  if (factor.is_divisor) {
    if (std::sqrt(static_cast<double>(number)) > positions) return std::nullopt;
    for (int64_t divisor : DivisorsOf(number)) add(divisor);
    return result;
  }
  const int64_t first = values.At(0).i;
  const int64_t last = values.At(values.size() - 1).i;
  if (first < -kMaxFactor || last > kMaxFactor) return std::nullopt;
  if (static_cast<double>(last - first) / static_cast<double>(number) > positions / 2) {
    return std::nullopt;
  }
  const int64_t remainder = ((first % number) + number) % number;
  int64_t multiple = remainder == 0 ? first : first + number - remainder;
  for (; multiple <= last; multiple += number) add(multiple);
  return result;
}

}  // namespace mdh
