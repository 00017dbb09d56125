#include "tuner/space/named_decision.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

// Of what there is, messages name so much.
constexpr size_t kMostListed = 60;
// Values of longer ranges, which are intervals, are looked up as numbers only.
constexpr uint32_t kMostCompared = 1 << 16;

std::string ListOf(std::vector<std::string> names, uint64_t count) {
  const bool is_cut = names.size() < count;
  return absl::StrCat(absl::StrJoin(names, ", "),
                      is_cut ? absl::StrCat(" and ", count - names.size(), " more") : "");
}

std::string ListOfValues(const TuningParameter& parameter, const ValueNames& names) {
  if (names.empty() && parameter.range.step() > 0) return parameter.range.ToText();
  std::vector<std::string> listed;
  for (uint32_t position = 0; position < parameter.range.size(); ++position) {
    if (listed.size() == kMostListed) break;
    listed.push_back(ValueText(parameter, parameter.range.CodeAt(position), names));
  }
  return ListOf(std::move(listed), parameter.range.size());
}

std::string ListOfParameters(const SearchSpace& space) {
  std::vector<std::string> listed;
  for (const TuningParameter& parameter : space.parameters()) {
    if (listed.size() == kMostListed) break;
    listed.push_back(parameter.name);
  }
  return ListOf(std::move(listed), space.parameters().size());
}

bool IsSpelled(const Value& value, const std::string& text) {
  const auto* const string = std::get_if<std::string>(&value);
  return ToText(value) == text || (string != nullptr && *string == text);
}

}  // namespace

Result<int64_t> CodeNamed(const TuningParameter& parameter, const std::string& text,
                          const ValueNames& names) {
  const auto named = std::ranges::find(names, text);
  if (named != names.end()) {
    return parameter.range.CodeAt(static_cast<uint32_t>(named - names.begin()));
  }
  int64_t integer;
  if (parameter.range.type() == ValueType::kInteger && absl::SimpleAtoi(text, &integer)) {
    const Result<int64_t> code = parameter.range.CodeOf(integer);
    if (code.ok()) return code;
  }
  for (uint32_t n = 0; n < std::min(parameter.range.size(), kMostCompared); ++n) {
    const int64_t code = parameter.range.CodeAt(n);
    if (IsSpelled(parameter.range.ValueOf(code), text)) return code;
  }
  return InvalidArgument("parameter '", parameter.name, "' has no value '", text, "'; it has ",
                         ListOfValues(parameter, names));
}

std::string ValueText(const TuningParameter& parameter, int64_t code, const ValueNames& names) {
  const std::optional<uint32_t> position = parameter.range.PositionOf(code);
  if (position && *position < names.size()) return names[*position];
  return ToText(parameter.range.ValueOf(code));
}

Result<std::vector<PartialConfiguration::Decision>> ReadDecisions(
    const SearchSpace& space, absl::Span<const NamedDecision> decisions,
    absl::Span<const ValueNames> names) {
  std::vector<PartialConfiguration::Decision> read;
  for (const NamedDecision& decision : decisions) {
    const int number = space.ParameterNamed(decision.parameter);
    if (number < 0) {
      return InvalidArgument("no parameter is named '", decision.parameter, "'; there are ",
                             ListOfParameters(space));
    }
    if (decision.values.empty()) {
      return InvalidArgument("the decision on '", decision.parameter, "' names no value");
    }
    PartialConfiguration::Decision& added = read.emplace_back();
    added.parameter = number;
    added.is_forbidden = decision.is_forbidden;
    for (const std::string& value : decision.values) {
      MDH_ASSIGN_OR_RETURN(const int64_t code,
                           CodeNamed(space.parameters()[number], value,
                                     names.empty() ? ValueNames() : names[number]));
      added.codes.push_back(code);
    }
  }
  return read;
}

}  // namespace mdh
