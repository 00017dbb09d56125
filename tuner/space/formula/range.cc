// Ranges: intervals, sets of values, permutations.
#include "tuner/space/formula/range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr int64_t kMaxGenerated = int64_t{1} << 20;
// How many values of a long set are written in full.
constexpr size_t kMaxListed = 12;

std::string IntervalText(int64_t first, int64_t last, int64_t step) {
  return absl::StrCat(first, "..", last, step == 1 ? "" : absl::StrCat(" step ", step));
}

// Number of elements of the interval, which must be at most `limit`.
Result<uint32_t> IntervalSize(int64_t first, int64_t last, int64_t step, int64_t limit) {
  if (step <= 0) return InvalidArgument("the step is ", step, ", but must be positive");
  if (first > last) return InvalidArgument("the interval ", first, "..", last, " is empty");
  const uint64_t distance = static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
  const uint64_t steps = distance / static_cast<uint64_t>(step);
  if (steps >= static_cast<uint64_t>(limit)) {
    return InvalidArgument("the interval ", IntervalText(first, last, step), " has more than ",
                           limit, " values");
  }
  return static_cast<uint32_t>(steps + 1);
}

// Positions in the order of their codes; empty if codes grow with positions.
Result<std::vector<uint32_t>> SortedPositions(const std::vector<int64_t>& codes, ValueType type) {
  if (std::ranges::adjacent_find(codes, std::greater_equal<>()) == codes.end()) {
    return std::vector<uint32_t>();
  }
  std::vector<uint32_t> positions(codes.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::sort(positions, [&](uint32_t a, uint32_t b) { return codes[a] < codes[b]; });
  for (size_t i = 1; i < positions.size(); ++i) {
    const int64_t code = codes[positions[i]];
    if (code == codes[positions[i - 1]]) {
      const Value value = type == ValueType::kBool ? Value(code != 0) : Value(code);
      return InvalidArgument("the value ", mdh::ToText(value), " is given twice");
    }
  }
  return positions;
}

// first + position * step, which fits, though the product alone may not.
int64_t ElementAt(int64_t first, int64_t step, uint32_t position) {
  return static_cast<int64_t>(static_cast<uint64_t>(first) +
                              uint64_t{position} * static_cast<uint64_t>(step));
}

int64_t Factorial(size_t n) {
  int64_t product = 1;
  for (size_t i = 2; i <= n; ++i) product *= static_cast<int64_t>(i);
  return product;
}

// Values of `range`, joined; long lists are cut.
std::string ListText(const Range& range) {
  std::string text = "{";
  for (uint32_t i = 0; i < range.size(); ++i) {
    if (i > 0) text += ", ";
    if (i == kMaxListed - 1 && range.size() > kMaxListed) {
      absl::StrAppend(&text, "..., ");
      i = range.size() - 1;
    }
    text += ToText(range.ValueOf(range.CodeAt(i)));
  }
  return text + "}";
}

}  // namespace

struct Range::Data {
  ValueType type = ValueType::kInteger;
  uint32_t size = 0;
  // Codes are first + position * step if there are none below.
  int64_t first = 0;
  int64_t step = 1;
  bool is_interval = false;
  std::vector<int64_t> codes;              // bools and sets of integers
  std::vector<uint32_t> positions;         // in the order of codes, unless these grow
  std::vector<double> reals;               // by position
  std::vector<std::string> strings;        // by position; items of permutations
  std::vector<uint32_t> sorted_positions;  // of reals or strings, in the order of these
  int64_t smallest = 0;
  int64_t largest = 0;

  // Of sets and intervals whose other members are there.
  void SetBounds() {
    if (codes.empty()) {
      smallest = first;
      largest = ElementAt(first, step, size - 1);
    } else {
      const auto [low, high] = std::ranges::minmax_element(codes);
      smallest = *low;
      largest = *high;
    }
  }
};

bool IsParameterName(std::string_view name) {
  constexpr size_t kMaxLength = 128;
  constexpr std::array<std::string_view, 10> kWords = {"and", "or",   "not",   "if",   "else",
                                                       "in",  "True", "False", "true", "false"};
  if (name.empty() || name.size() > kMaxLength || absl::ascii_isdigit(name[0])) return false;
  const auto may_stand = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return std::ranges::all_of(name, may_stand) && std::ranges::find(kWords, name) == kWords.end();
}

Result<Range> Range::Interval(int64_t first, int64_t last, int64_t step) {
  MDH_ASSIGN_OR_RETURN(const uint32_t size, IntervalSize(first, last, step, kMaxSize));
  auto data = std::make_shared<Data>();
  data->size = size;
  data->first = first;
  data->step = step;
  data->is_interval = true;
  data->SetBounds();
  return Range(std::move(data));
}

Result<Range> Range::Generated(int64_t first, int64_t last, int64_t step,
                               const std::function<Result<int64_t>(int64_t)>& generator) {
  MDH_ASSIGN_OR_RETURN(const uint32_t size, IntervalSize(first, last, step, kMaxGenerated));
  std::vector<int64_t> values(size);
  std::vector<std::pair<int64_t, int64_t>> sources(size);  // value, element
  for (uint32_t i = 0; i < size; ++i) {
    const int64_t element = ElementAt(first, step, i);
    MDH_ASSIGN_OR_RETURN(values[i], generator(element));
    sources[i] = {values[i], element};
  }
  std::ranges::sort(sources);
  for (uint32_t i = 1; i < size; ++i) {
    if (sources[i].first == sources[i - 1].first) {
      return InvalidArgument("the generator gives ", sources[i].first, " for ",
                             sources[i - 1].second, " and for ", sources[i].second);
    }
  }
  return Integers(std::move(values));
}

Result<Range> Range::Integers(std::vector<int64_t> values) {
  if (values.empty()) return InvalidArgument("a range needs at least one value");
  if (values.size() > static_cast<size_t>(kMaxSize)) {
    return InvalidArgument("a range has at most ", kMaxSize, " values");
  }
  auto data = std::make_shared<Data>();
  MDH_ASSIGN_OR_RETURN(data->positions, SortedPositions(values, ValueType::kInteger));
  data->size = static_cast<uint32_t>(values.size());
  data->codes = std::move(values);
  data->SetBounds();
  return Range(std::move(data));
}

Range Range::Bool() {
  auto data = std::make_shared<Data>();
  data->type = ValueType::kBool;
  data->size = 2;
  data->codes = {0, 1};
  data->SetBounds();
  return Range(std::move(data));
}

namespace {

// Positions in the order of `values`. Errors: InvalidArgument if one is there twice.
template <typename T>
Result<std::vector<uint32_t>> SortedDistinct(const std::vector<T>& values, const char* what) {
  std::vector<uint32_t> positions(values.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::sort(positions, [&](uint32_t a, uint32_t b) { return values[a] < values[b]; });
  for (size_t i = 1; i < positions.size(); ++i) {
    if (values[positions[i]] == values[positions[i - 1]]) {
      return InvalidArgument("the ", what, " ", ToText(Value(values[positions[i]])),
                             " is given twice");
    }
  }
  return positions;
}

template <typename T>
std::vector<T> ValuesOfType(std::vector<Value> values) {
  std::vector<T> typed;
  typed.reserve(values.size());
  for (Value& value : values) typed.push_back(std::get<T>(std::move(value)));
  return typed;
}

}  // namespace

Result<Range> Range::Of(std::vector<Value> values) {
  if (values.empty()) return InvalidArgument("a range needs at least one value");
  const ValueType type = TypeOf(values[0]);
  for (const Value& value : values) {
    if (TypeOf(value) == type) continue;
    return InvalidArgument("the values ", mdh::ToText(values[0]), " (", std::string(Name(type)),
                           ") and ", mdh::ToText(value), " (", std::string(Name(TypeOf(value))),
                           ") are of different types");
  }
  if (type == ValueType::kPermutation) {
    return InvalidArgument("a set has no permutations as values; use a range of all permutations");
  }
  if (type == ValueType::kInteger) return Integers(ValuesOfType<int64_t>(std::move(values)));
  auto data = std::make_shared<Data>();
  data->type = type;
  data->size = static_cast<uint32_t>(values.size());
  if (type == ValueType::kBool) {
    for (const Value& value : values) data->codes.push_back(std::get<bool>(value) ? 1 : 0);
    MDH_ASSIGN_OR_RETURN(data->positions, SortedPositions(data->codes, type));
  } else if (type == ValueType::kReal) {
    data->reals = ValuesOfType<double>(std::move(values));
    for (const double real : data->reals) {
      if (!std::isfinite(real)) return InvalidArgument("the value ", real, " is not finite");
    }
    MDH_ASSIGN_OR_RETURN(data->sorted_positions, SortedDistinct(data->reals, "value"));
  } else {
    data->strings = ValuesOfType<std::string>(std::move(values));
    MDH_ASSIGN_OR_RETURN(data->sorted_positions, SortedDistinct(data->strings, "value"));
  }
  data->SetBounds();
  return Range(std::move(data));
}

Result<Range> Range::Permutations(std::vector<std::string> items) {
  if (items.empty()) return InvalidArgument("a permutation needs at least one item");
  if (items.size() > static_cast<size_t>(kMaxPermutationItems)) {
    return InvalidArgument("a permutation has at most ", kMaxPermutationItems, " items, but ",
                           items.size(), " are given");
  }
  MDH_RETURN_IF_ERROR(SortedDistinct(items, "item").status());
  auto data = std::make_shared<Data>();
  data->type = ValueType::kPermutation;
  data->size = static_cast<uint32_t>(Factorial(items.size()));
  data->strings = std::move(items);
  data->SetBounds();
  return Range(std::move(data));
}

ValueType Range::type() const { return data_->type; }

uint32_t Range::size() const { return data_->size; }

int64_t Range::CodeAt(uint32_t position) const {
  if (!data_->codes.empty()) return data_->codes[position];
  return ElementAt(data_->first, data_->step, position);
}

std::optional<uint32_t> Range::PositionOf(int64_t code) const {
  if (code < data_->smallest || code > data_->largest) return std::nullopt;
  if (data_->codes.empty()) {
    const uint64_t distance = static_cast<uint64_t>(code) - static_cast<uint64_t>(data_->first);
    const auto step = static_cast<uint64_t>(data_->step);
    if (distance % step != 0) return std::nullopt;
    return static_cast<uint32_t>(distance / step);
  }
  const std::vector<int64_t>& codes = data_->codes;
  const std::vector<uint32_t>& positions = data_->positions;
  if (positions.empty()) {
    const auto found = std::lower_bound(codes.begin(), codes.end(), code);
    if (found == codes.end() || *found != code) return std::nullopt;
    return static_cast<uint32_t>(found - codes.begin());
  }
  const auto found = std::ranges::lower_bound(positions, code, {},
                                              [&](uint32_t position) { return codes[position]; });
  if (found == positions.end() || codes[*found] != code) return std::nullopt;
  return *found;
}

Value Range::ValueOf(int64_t code) const {
  switch (data_->type) {
    case ValueType::kBool:
      return code != 0;
    case ValueType::kInteger:
      return code;
    case ValueType::kReal:
      return data_->reals[static_cast<size_t>(code)];
    case ValueType::kString:
      return data_->strings[static_cast<size_t>(code)];
    case ValueType::kPermutation:
      break;
  }
  std::vector<std::string> left = data_->strings;
  std::vector<std::string> permutation;
  while (!left.empty()) {
    const int64_t block = Factorial(left.size() - 1);
    const auto chosen = left.begin() + static_cast<std::ptrdiff_t>(code / block);
    permutation.push_back(*chosen);
    left.erase(chosen);
    code %= block;
  }
  return permutation;
}

std::optional<int64_t> RankOfPermutation(const std::vector<std::string>& permutation,
                                         const std::vector<std::string>& items) {
  if (permutation.size() != items.size()) return std::nullopt;
  std::vector<std::string> left = items;
  int64_t rank = 0;
  for (const std::string& item : permutation) {
    const auto found = std::ranges::find(left, item);
    if (found == left.end()) return std::nullopt;
    rank += (found - left.begin()) * Factorial(left.size() - 1);
    left.erase(found);
  }
  return rank;
}

namespace {

// Place of `value` among `values`, which `positions` sort.
template <typename T>
std::optional<int64_t> PlaceAmong(const T& value, const std::vector<T>& values,
                                  const std::vector<uint32_t>& positions) {
  const auto found =
      std::lower_bound(positions.begin(), positions.end(), value,
                       [&](uint32_t position, const T& other) { return values[position] < other; });
  if (found == positions.end() || values[*found] != value) return std::nullopt;
  return *found;
}

}  // namespace

Result<int64_t> Range::CodeOf(const Value& value) const {
  if (TypeOf(value) != data_->type) {
    return InvalidArgument(mdh::ToText(value), " is of type ", std::string(Name(TypeOf(value))),
                           ", but values are of type ", std::string(Name(data_->type)));
  }
  const auto member = [this](int64_t code) {
    return PositionOf(code).has_value() ? std::optional<int64_t>(code) : std::nullopt;
  };
  const std::optional<int64_t> code = std::visit(
      Overloaded{
          [&](bool b) { return member(b ? 1 : 0); },
          [&](int64_t integer) { return member(integer); },
          [&](double real) { return PlaceAmong(real, data_->reals, data_->sorted_positions); },
          [&](const std::string& text) {
            return PlaceAmong(text, data_->strings, data_->sorted_positions);
          },
          [&](const std::vector<std::string>& permutation) {
            return RankOfPermutation(permutation, data_->strings);
          }},
      value);
  if (!code.has_value()) {
    return InvalidArgument(mdh::ToText(value), " is not in the range ", ToText());
  }
  return *code;
}

bool Range::is_increasing() const { return data_->positions.empty(); }

int64_t Range::step() const { return data_->is_interval ? data_->step : 0; }

int64_t Range::smallest_code() const { return data_->smallest; }

const std::vector<std::string>& Range::items() const {
  static const std::vector<std::string> kNone;
  return data_->type == ValueType::kPermutation ? data_->strings : kNone;
}

std::string Range::ToText() const {
  if (data_->is_interval) return IntervalText(data_->smallest, data_->largest, data_->step);
  if (data_->type != ValueType::kPermutation) return ListText(*this);
  std::string text = "permutations of ";
  for (size_t i = 0; i < data_->strings.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", data_->strings[i]);
  }
  return text;
}

}  // namespace mdh
