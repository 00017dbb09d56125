#include "tuner/decompositions/mdh_space_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {

// ---- Parameters and constraints ----

int SpaceBuilder::Add(std::string name, std::vector<int64_t> values) {
  Result<Range> range = Range::Integers(std::move(values));
  parameters_.push_back({std::move(name), *std::move(range)});
  return static_cast<int>(parameters_.size()) - 1;
}

Formula SpaceBuilder::At(int parameter) const {
  return Formula::Parameter(parameters_[parameter].name);
}

void SpaceBuilder::Require(std::string name, Formula holds) {
  constraints_.emplace_back(std::move(name), std::move(holds));
}

int64_t SpaceBuilder::Largest(int parameter) const {
  const Range& range = parameters_[parameter].range;
  int64_t largest = range.CodeAt(0);
  for (uint32_t n = 1; n < range.size(); ++n) largest = std::max(largest, range.CodeAt(n));
  return largest;
}

// ---- Logarithms ----

namespace {

struct LogStep {
  int64_t at_most;  // values up to this
  int64_t exponent;
};

std::vector<LogStep> LogSteps(int64_t largest, int steps) {
  std::vector<LogStep> table;
  for (int64_t e = 0;; ++e) {
    const double power = std::exp2(static_cast<double>(e) / steps);
    const auto at_most = static_cast<int64_t>(std::floor(power + 1e-9));
    if (!table.empty() && table.back().at_most == at_most) continue;
    table.push_back({at_most, e});
    if (at_most >= largest) return table;
  }
}

Formula Bisect(const Formula& value, absl::Span<const LogStep> table) {
  if (table.size() == 1) return table[0].exponent;
  const size_t half = table.size() / 2;
  return If(value <= Formula(table[half - 1].at_most), Bisect(value, table.first(half)),
            Bisect(value, table.subspan(half)));
}

}  // namespace

Formula CeilLog(const Formula& value, int64_t largest, int steps) {
  return Bisect(value, LogSteps(largest, steps));
}

Formula Lookup(const Formula& index, absl::Span<const int64_t> values) {
  std::vector<LogStep> table;
  for (size_t n = 0; n < values.size(); ++n) {
    if (!table.empty() && table.back().exponent == values[n]) table.pop_back();
    table.push_back({static_cast<int64_t>(n), values[n]});
  }
  return Bisect(index, table);
}

int64_t FloorLog(double limit, int steps) {
  if (limit < 1) return -1;
  return static_cast<int64_t>(std::floor(std::log2(limit) * steps + 1e-9));
}

void ProductLimit::Multiply(const Formula& term, int64_t largest) {
  if (largest <= 1) return;
  largest_ *= static_cast<double>(largest);
  terms_.push_back(steps_ == 0 ? term : CeilLog(term, largest, steps_));
}

Formula ProductLimit::total() const { return steps_ == 0 ? Product(terms_) : Sum(terms_); }

Formula ProductLimit::IsAtMost(double limit) const {
  if (steps_ != 0) return total() <= Formula(FloorLog(limit, steps_));
  return total() <= Formula(static_cast<int64_t>(std::min(std::floor(limit), 9e18)));
}

void ProductLimit::Require(SpaceBuilder& builder) const {
  // Where rounding up could exceed the limit, it is a constraint, too.
  const double rounding = steps_ == 0 ? 0 : static_cast<double>(terms_.size()) / steps_;
  if (largest_ * std::exp2(rounding) <= limit_) return;
  builder.Require(name_, IsAtMost(limit_));
}

// ---- Parts of a dimension ----

DimensionParts::DimensionParts(int64_t size, Formula unit, std::vector<int64_t> pinned)
    : size_(size), pinned_(std::move(pinned)) {
  const bool is_one = unit.op() == FormulaOp::kConstant;
  left_.push_back(is_one ? Formula(size - 1) : FloorDivide(Formula(size - 1), unit));
  parts_.push_back(left_.back() + 1);
  most_.push_back(size);
  outer_.push_back(unit);
  span_.push_back(unit);
}

void DimensionParts::RequireFewExtents(SpaceBuilder& builder, const std::string& name,
                                       const Formula& code, const std::vector<int64_t>& codes) {
  std::vector<LogStep> kinds;  // 1: neither a power of two nor pinned
  for (const int64_t value : codes) {
    const int64_t count = std::abs(value);
    const bool is_pinned = std::ranges::find(pinned_, count) != pinned_.end();
    const int64_t kind = !is_pinned && (value < 0 || (value & (value - 1)) != 0) ? 1 : 0;
    if (!kinds.empty() && kinds.back().exponent == kind) kinds.pop_back();
    kinds.push_back({value, kind});
  }
  if (kinds.size() == 1) return;
  const Formula others = others_ + Bisect(code, kinds);
  builder.Require(absl::StrCat("extents of ", name), others <= 1);
  others_ = others;
}

void DimensionParts::AddLevel(SpaceBuilder& builder, std::string name,
                              const std::vector<int64_t>& counts, bool may_be_rest,
                              const std::vector<int64_t>& alone) {
  constexpr int64_t kShort = 16;  // with any extents
  const int64_t most = size_ - 1;
  std::set<int64_t> codes = {1};
  if (may_be_rest && most > 0) codes.insert(kRest);
  for (const int64_t count : counts) {
    if (count > 1 && count <= most) codes.insert(count);
  }
  const int64_t largest = *codes.rbegin();
  for (const int64_t count : alone) {
    if (count > 1 && count <= most && codes.count(count) == 0) codes.insert(-count);
  }
  const std::vector<int64_t> values(codes.begin(), codes.end());
  const bool has_alone = values.front() < 0;
  const int parameter = builder.Add(name, values);
  const Formula code = builder.At(parameter), left = left_.back();
  const Formula count = has_alone ? Absolute(code) : code;
  if (has_alone) {
    builder.Require(absl::StrCat("nothing inside of ", name, " is cut"),
                    code >= 0 || left == left_.front());
  }
  if (size_ > kShort) RequireFewExtents(builder, name, code, values);
  if (most > 0) {
    // What is whole is one part; else a part must remain for the levels outside.
    builder.Require(absl::StrCat("parts of ", name, " fit"),
                    If(left == 0, code == 1, count <= left));
  }
  parameters_.push_back(parameter);
  const bool rests = may_be_rest && most > 0;
  parts_.back() = rests ? If(code == kRest, left + 1, count) : count;
  most_.back() = may_be_rest ? most + 1 : std::max(largest, -values.front());
  outer_.push_back(rests ? If(code == kRest, Formula(size_), outer_.back() * count)
                         : outer_.back() * count);
  span_.push_back(span_.back() * parts_.back());
  left_.push_back(rests ? If(code == kRest, Formula(0), FloorDivide(left, Max({count, Formula(1)})))
                        : FloorDivide(left, count));
  parts_.push_back(left_.back() + 1);
  most_.push_back(most + 1);
  ranges_.push_back(values);
}

Formula DimensionParts::outer(int level) const {
  return level == levels() ? Formula(size_) : outer_[level + 1];
}

std::vector<int64_t> DimensionParts::Extents(absl::Span<const int64_t> configuration,
                                             int64_t unit) const {
  std::vector<int64_t> extents;
  int64_t extent = std::min(unit, size_);
  for (const int parameter : parameters_) {
    const int64_t count = std::abs(configuration[parameter]);
    extent = count == kRest ? size_ : std::min(size_, extent * count);
    extents.push_back(extent);
  }
  extents.push_back(size_);
  return extents;
}

ExtentRange DimensionParts::OuterRange(OpenCodes open, ExtentRange unit, int level) const {
  ExtentRange extent = {std::min(unit.low, size_), std::min(unit.high, size_)};
  for (int n = 0; n <= std::min(level, levels() - 1); ++n) {
    int64_t fewest = size_, most = 1;  // parts
    for (const int64_t code : open[parameters_[n]]) {
      const int64_t count = code == kRest ? size_ : std::abs(code);
      fewest = std::min(fewest, count);
      most = std::max(most, count);
    }
    extent = {std::min(size_, extent.low * fewest), std::min(size_, extent.high * most)};
  }
  return level < levels() ? extent : ExtentRange{size_, size_};
}

void DimensionParts::Read(const std::vector<int64_t>& extents, int64_t unit,
                          Configuration& configuration) const {
  int64_t inner = unit;
  for (int n = 0; n < levels(); ++n) {
    const int64_t extent = std::min(extents[n], size_);
    if (inner >= size_) {
      configuration[parameters_[n]] = 1;
    } else if (extent == size_) {
      configuration[parameters_[n]] = kRest;
      inner = size_;
    } else {
      const int64_t count =
          std::max<int64_t>(1, (extent + inner - 1) / std::max<int64_t>(inner, 1));
      const bool is_alone = inner == unit && std::ranges::binary_search(ranges_[n], -count);
      configuration[parameters_[n]] = is_alone ? -count : count;
      inner *= count;
    }
  }
}

// ---- Orders ----

void OrderDigits::Add(SpaceBuilder& builder, std::string name, int dimension,
                      const Formula& has_parts, bool is_fixed) {
  const auto earlier = static_cast<int64_t>(dimensions_.size());
  dimensions_.push_back(dimension);
  has_parts_.push_back(has_parts);
  if (is_fixed || earlier == 0) {
    parameters_.push_back(-1);
    return;
  }
  std::vector<int64_t> places(earlier + 1);
  std::iota(places.begin(), places.end(), 0);
  const int parameter = builder.Add(name, std::move(places));
  parameters_.push_back(parameter);
  builder.Require(absl::StrCat(name, " has an effect"), has_parts || builder.At(parameter) == 0);
}

std::vector<int> OrderDigits::Order(absl::Span<const int64_t> configuration,
                                    const std::vector<bool>& has_parts, int rank) const {
  std::vector<int> order;
  for (size_t n = 0; n < dimensions_.size(); ++n) {
    if (!has_parts[dimensions_[n]]) continue;
    const int64_t digit = parameters_[n] < 0 ? 0 : configuration[parameters_[n]];
    const auto inside = std::min<std::ptrdiff_t>(digit, std::ssize(order));
    order.insert(order.end() - inside, dimensions_[n]);
  }
  for (int d = 0; d < rank; ++d) {
    if (has_parts[d]) continue;
    order.insert(std::ranges::find_if(order, [&](int other) { return other > d; }), d);
  }
  return order;
}

void OrderDigits::Read(const std::vector<int>& order, const std::vector<bool>& has_parts,
                       Configuration& configuration) const {
  const auto place = [&](int d) { return std::ranges::find(order, d) - order.begin(); };
  for (size_t n = 0; n < dimensions_.size(); ++n) {
    if (parameters_[n] < 0) continue;
    int64_t digit = 0;
    for (size_t m = 0; m < n; ++m) {
      const bool is_inside =
          has_parts[dimensions_[m]] && place(dimensions_[m]) > place(dimensions_[n]);
      digit += is_inside ? 1 : 0;
    }
    configuration[parameters_[n]] = has_parts[dimensions_[n]] ? digit : 0;
  }
}

// The place of the earlier one of the two, counted from the inside, moves outwards with all that
// are inserted inside of it.
Formula OrderDigits::IsOutside(const SpaceBuilder& builder, int dimension, int other) const {
  const auto number = [&](int d) {
    return static_cast<size_t>(std::ranges::find(dimensions_, d) - dimensions_.begin());
  };
  const size_t first = number(dimension), second = number(other);
  if (first == dimensions_.size() || second == dimensions_.size()) return dimension < other;
  if (first > second) return !IsOutside(builder, other, dimension);
  const auto digit = [&](size_t n) {
    return parameters_[n] < 0 ? Formula(0) : builder.At(parameters_[n]);
  };
  std::vector<Formula> earlier;
  for (size_t n = 0; n < first; ++n) earlier.push_back(If(has_parts_[n], 1, 0));
  Formula place = earlier.empty() ? Formula(0) : Min({digit(first), Sum(earlier)});
  for (size_t n = first + 1; n < second; ++n) {
    place = place + If(has_parts_[n] && digit(n) <= place, 1, 0);
  }
  return digit(second) <= place;
}

void PermutationDigits::Add(SpaceBuilder& builder, const std::string& name, int items,
                            const Formula& matters) {
  items_ = items;
  for (int n = 0; n + 1 < items; ++n) {
    std::vector<int64_t> digits(items - n);
    std::iota(digits.begin(), digits.end(), 0);
    const std::string digit = absl::StrCat(name, "_", n);
    const int parameter = builder.Add(digit, std::move(digits));
    parameters_.push_back(parameter);
    if (matters.op() == FormulaOp::kConstant) continue;
    builder.Require(absl::StrCat(digit, " has an effect"), matters || builder.At(parameter) == 0);
  }
}

// Of the items that are left, which are in ascending order, it is the last one until it is taken.
Formula PermutationDigits::KeepsLast(const SpaceBuilder& builder) const {
  Formula keeps = true;
  for (int n = 0; n + 1 < items_; ++n) {
    keeps = keeps && builder.At(parameters_[n]) != items_ - 1 - n;
  }
  return keeps;
}

Formula PermutationDigits::Is(const SpaceBuilder& builder,
                              absl::Span<const int64_t> permutation) const {
  std::vector<int64_t> left(items_);
  std::iota(left.begin(), left.end(), 0);
  Formula is = true;
  for (size_t n = 0; n < parameters_.size(); ++n) {
    const auto at = std::ranges::find(left, permutation[n]);
    is = is && builder.At(parameters_[n]) == static_cast<int64_t>(at - left.begin());
    left.erase(at);
  }
  return is;
}

std::vector<int> PermutationDigits::Permutation(absl::Span<const int64_t> configuration) const {
  std::vector<int> left(items_), permutation;
  std::iota(left.begin(), left.end(), 0);
  for (int n = 0; n < items_; ++n) {
    const auto digit = n < std::ssize(parameters_) ? configuration[parameters_[n]] : 0;
    permutation.push_back(left[digit]);
    left.erase(left.begin() + digit);
  }
  return permutation;
}

int PermutationDigits::Last(OpenCodes open) const {
  std::vector<int> left(items_);
  std::iota(left.begin(), left.end(), 0);
  for (const int parameter : parameters_) {
    if (open[parameter].size() != 1) return -1;
    left.erase(left.begin() + open[parameter].front());
  }
  return left.empty() ? -1 : left.front();
}

void PermutationDigits::Read(const std::vector<int>& permutation,
                             Configuration& configuration) const {
  std::vector<int> left(items_);
  std::iota(left.begin(), left.end(), 0);
  if (std::ssize(permutation) != items_) return;
  for (size_t n = 0; n < parameters_.size(); ++n) {
    const auto at = std::ranges::find(left, permutation[n]);
    if (at == left.end()) return;
    configuration[parameters_[n]] = at - left.begin();
    left.erase(at);
  }
}

std::vector<int64_t> PartCounts(int64_t size, int64_t dense, int64_t largest) {
  const bool is_thin = dense <= 4;
  const int64_t quotients = is_thin ? 4 : 16;
  std::set<int64_t> counts;
  for (int64_t n = 1; n <= std::min(dense, largest); ++n) counts.insert(n);
  for (const int64_t factor : {1, 3, 5, 7}) {
    if (is_thin && factor > 3) continue;
    for (int64_t n = factor; n <= largest; n *= 2) counts.insert(n);
  }
  for (int64_t n = 1; n * n <= size; ++n) {
    if (size % n != 0) continue;
    counts.insert(n);
    counts.insert(size / n);
  }
  for (int64_t n = 1; n <= quotients; ++n) counts.insert((size + n - 1) / n);
  counts.erase(counts.upper_bound(largest), counts.end());
  return {counts.begin(), counts.end()};
}

}  // namespace mdh
