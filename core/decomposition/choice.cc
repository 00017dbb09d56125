// What one row of the table of choices (choices.cc) says of values and configurations.
#include <algorithm>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

const TuningParameters& Defaults() {
  static const auto* const defaults = new TuningParameters();
  return *defaults;
}

// Of a row: the one lowering, or those that it is for.
absl::string_view NameOfLowerings(uint8_t lowerings) {
  constexpr uint8_t kTiles = static_cast<uint8_t>(LoweringTarget::kRegisterTiles);
  constexpr uint8_t kBlocks = static_cast<uint8_t>(LoweringTarget::kBlocks);
  constexpr uint8_t kCaches = kTiles | static_cast<uint8_t>(LoweringTarget::kCacheLevels);
  return lowerings == kTiles    ? "register tiles"
         : lowerings == kBlocks ? "devices with blocks of threads"
         : lowerings == kCaches ? "targets with caches"
                                : "configurations level by level";
}

}  // namespace

ChoiceValue Choice::DefaultFor(const TuningParameters& parameters) const {
  return usual == nullptr ? get(Defaults()) : usual(parameters);
}

std::string Choice::Text(absl::Span<const int64_t> value) const {
  if (has_words()) return std::string(words[value[0] - first_word]);
  return absl::StrJoin(value, absl::string_view(&separator, 1));
}

std::string Choice::About(const TuningParameters& p) const {
  return form.empty() ? absl::StrCat(key, "=", Text(get(p))) : std::string(key);
}

Result<ChoiceValue> Choice::Parse(absl::string_view text) const {
  if (has_words()) {
    std::string expected;
    for (size_t n = 0; n < words.size() && !words[n].empty(); ++n) {
      if (text == words[n]) return ChoiceValue{first_word + static_cast<int64_t>(n)};
      const bool is_last = n + 1 == words.size() || words[n + 1].empty();
      absl::StrAppend(&expected, n == 0 ? "" : is_last ? " or " : ", ", "'", words[n], "'");
    }
    return InvalidParameters(key, " is '", text, "', expected ", expected);
  }
  ChoiceValue value;
  const std::vector<absl::string_view> items = !has_several() ? std::vector<absl::string_view>{text}
                                               : text.empty() ? std::vector<absl::string_view>()
                                                              : absl::StrSplit(text, separator);
  if (!form.empty() && std::ssize(items) != std::ranges::count(form, separator) + 1) {
    return InvalidParameters(key, " '", text, "' is not ", form);
  }
  for (const absl::string_view item : items) {
    int number;
    if (!absl::SimpleAtoi(item, &number)) {
      return InvalidParameters(key, ": '", item, "' is no integer",
                               is_number() ? absl::StrCat(", expected one in ", Limits()) : "");
    }
    value.push_back(number);
  }
  return value;
}

std::string Choice::Limits() const {
  return absl::StrCat(low, "..", high == INT_MAX ? "" : absl::StrCat(high));
}

std::string Choice::Obstacle(const ChoiceTarget& target, const TuningParameters& parameters) const {
  const ChoiceValue value = get(parameters);
  if (is_number() && (value[0] < low || value[0] > high)) {
    return absl::StrCat(key, ": ", value[0], " is not in ", Limits());
  }
  if (value == DefaultFor(parameters)) return "";
  if ((lowerings & static_cast<uint8_t>(target.lowering)) == 0) {
    if (is_ignored_elsewhere) return "";
    return absl::StrCat(About(parameters), " is for ", NameOfLowerings(lowerings));
  }
  std::string why;
  if (needs_fused_phases && !HasFusedPhases(parameters)) why = "phases are set apart";
  if (why.empty() && lack != nullptr) why = lack(target.device, value);
  if (why.empty() && own_obstacle != nullptr) why = own_obstacle(target, parameters);
  return why.empty() ? "" : absl::StrCat(About(parameters), ": ", why);
}

std::vector<ChoiceValue> Choice::Offers(const ChoiceTarget& target, NumericsPolicy numerics) const {
  std::vector<ChoiceValue> possible;
  if ((lowerings & static_cast<uint8_t>(target.lowering)) == 0) return possible;
  TuningParameters p;
  p.numerics = numerics;
  std::vector<ChoiceValue> values;
  for (const int64_t value : offered) values.push_back({value});
  if (offered_for != nullptr) values = offered_for(target);
  const bool pays = may_pay == nullptr || may_pay(target);
  for (ChoiceValue& value : values) {
    set(value, &p);
    if (!pays && !is_default(p)) continue;
    if (Obstacle(target, p).empty()) possible.push_back(std::move(value));
  }
  return possible;
}

}  // namespace mdh
