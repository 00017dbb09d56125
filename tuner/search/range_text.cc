#include "tuner/search/range_text.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tuner/space/formula/formula_text.h"

namespace mdh {
namespace {

constexpr absl::string_view kPermutations = "permutations of ";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

Status Malformed(absl::string_view text) {
  return InvalidArgument(
      "'", text,
      "' is no range; there are FIRST..LAST, FIRST..LAST step STEP, {VALUE, ...} and "
      "permutations of \"ITEM\", ...");
}

// Splits at commas outside of quotes.
std::vector<absl::string_view> Items(absl::string_view text) {
  std::vector<absl::string_view> items;
  size_t start = 0;
  char quote = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && quote == 0)) {
      items.push_back(absl::StripAsciiWhitespace(text.substr(start, i - start)));
      start = i + 1;
    } else if (quote != 0 && text[i] == '\\') {
      ++i;
    } else if (quote != 0 && text[i] == quote) {
      quote = 0;
    } else if (quote == 0 && (text[i] == '"' || text[i] == '\'')) {
      quote = text[i];
    }
  }
  return items;
}

Result<std::vector<Value>> Values(absl::string_view text) {
  std::vector<Value> values;
  for (const absl::string_view item : Items(text)) {
    MDH_ASSIGN_OR_RETURN(const Formula formula,
                         ParseFormula(std::string_view(item.data(), item.size())));
    if (!formula.Parameters().empty()) return Malformed(item);
    MDH_RETURN_IF_ERROR(CheckFormula(formula, {}).status());
    MDH_ASSIGN_OR_RETURN(Value value, Evaluate(formula, {}, {}));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Range> ParsePermutations(absl::string_view text) {
  MDH_ASSIGN_OR_RETURN(const std::vector<Value> values, Values(text));
  std::vector<std::string> items;
  for (const Value& value : values) {
    const auto* const item = std::get_if<std::string>(&value);
    if (item == nullptr) return Malformed(text);
    items.push_back(*item);
  }
  return Range::Permutations(std::move(items));
}

Result<Range> ParseInterval(absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits("..", 1));
  if (ends.size() != 2) return Malformed(text);
  const std::vector<absl::string_view> last = absl::StrSplit(ends[1], absl::MaxSplits(" step ", 1));
  int64_t first_value = 0;
  int64_t last_value = 0;
  int64_t step = 1;
  if (!absl::SimpleAtoi(ends[0], &first_value) || !absl::SimpleAtoi(last[0], &last_value) ||
      (last.size() == 2 && !absl::SimpleAtoi(last[1], &step))) {
    return Malformed(text);
  }
  return Range::Interval(first_value, last_value, step);
}

}  // namespace

std::string RangeToText(const Range& range) {
  if (range.type() == ValueType::kPermutation) {
    std::vector<std::string> items;
    for (const std::string& item : range.items()) items.push_back(ToText(Value(item)));
    return absl::StrCat(kPermutations, absl::StrJoin(items, ", "));
  }
  if (range.type() == ValueType::kInteger && range.step() != 0) {
    std::string text = absl::StrCat(range.CodeAt(0), "..", range.CodeAt(range.size() - 1));
    if (range.step() != 1) absl::StrAppend(&text, " step ", range.step());
    return text;
  }
  std::vector<std::string> values;
  for (uint32_t i = 0; i < range.size(); ++i) {
    values.push_back(ToText(range.ValueOf(range.CodeAt(i))));
  }
  return absl::StrCat("{", absl::StrJoin(values, ", "), "}");
}

Result<Range> ParseRange(std::string_view range) {
  const absl::string_view text = absl::StripAsciiWhitespace(View(range));
  if (absl::StartsWith(text, kPermutations)) {
    return ParsePermutations(text.substr(kPermutations.size()));
  }
  if (!absl::StartsWith(text, "{")) return ParseInterval(text);
  if (!absl::EndsWith(text, "}")) return Malformed(text);
  MDH_ASSIGN_OR_RETURN(std::vector<Value> values, Values(text.substr(1, text.size() - 2)));
  return Range::Of(std::move(values));
}

}  // namespace mdh
