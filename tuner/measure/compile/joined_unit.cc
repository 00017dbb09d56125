#include "tuner/measure/compile/joined_unit.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mdh {
namespace {

// Words before a bracket that no declaration names.
constexpr absl::string_view kKeywords[] = {"alignas", "class",  "enum",          "namespace",
                                           "sizeof",  "struct", "static_assert", "union"};

bool IsOfName(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

void AddOnce(absl::string_view name, std::vector<std::string>* names) {
  if (std::ranges::find(*names, name) == names->end()) names->emplace_back(name);
}

// Goes through the tokens of a unit and keeps what matters: which names stand outside of all
// braces and parentheses, and what follows them.
class UnitScanner {
 public:
  explicit UnitScanner(absl::string_view unit) : rest_(unit) {}

  UnitNames Scan() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') {
        ReadDirective();
      } else if (absl::StartsWith(rest_, "//")) {
        Skip(rest_.find('\n'));
      } else if (absl::StartsWith(rest_, "/*")) {
        Skip(rest_.find("*/", 2), 2);
      } else if (rest_.front() == '"' || rest_.front() == '\'') {
        SkipQuoted();
      } else if (IsOfName(rest_.front())) {
        ReadName();
      } else {
        ReadSign();
      }
    }
    return std::move(found_);
  }

 private:
  void Skip(size_t end, size_t more = 0) {
    rest_.remove_prefix(std::min(end == absl::string_view::npos ? end : end + more, rest_.size()));
  }

  // Up to the end of the line, or of the last of several that backslashes join.
  void ReadDirective() {
    absl::string_view line = rest_.substr(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (absl::ConsumePrefix(&line, "define ")) {
      const auto end = std::ranges::find_if_not(line, IsOfName);
      AddOnce(line.substr(0, static_cast<size_t>(end - line.begin())), &found_.macros);
    }
    size_t end = rest_.find('\n');
    while (end != absl::string_view::npos && end > 0 && rest_[end - 1] == '\\') {
      end = rest_.find('\n', end + 1);
    }
    Skip(end);
  }

  void SkipQuoted() {
    before_ = {};
    const char quote = rest_.front();
    size_t at = 1;
    while (at < rest_.size() && rest_[at] != quote) at += rest_[at] == '\\' ? 2 : 1;
    Skip(at, 1);
  }

  void ReadName() {
    const auto end = std::ranges::find_if_not(rest_, IsOfName);
    const absl::string_view name = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
    rest_.remove_prefix(name.size());
    if (depth_ == 0 && name == "__attribute__") Declare(before_);
    before_ = name;
  }

  void ReadSign() {
    const char sign = rest_.front();
    rest_.remove_prefix(1);
    if (absl::ascii_isspace(static_cast<unsigned char>(sign))) return;
    if (depth_ == 0 && absl::StrContains("([=;{", sign)) Declare(before_);
    before_ = {};
    if (absl::StrContains("([{", sign)) ++depth_;
    if (absl::StrContains(")]}", sign)) --depth_;
  }

  // Names that begin with an underscore are the compiler's.
  void Declare(absl::string_view name) {
    if (name.empty() || name[0] == '_' ||
        absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
      return;
    }
    const auto* end = std::end(kKeywords);
    if (std::find(std::begin(kKeywords), end, name) == end) AddOnce(name, &found_.names);
  }

  absl::string_view rest_;
  absl::string_view before_;  // the name right before this place, if there is one
  int depth_ = 0;
  UnitNames found_;
};

}  // namespace

UnitNames NamesOf(absl::string_view unit) { return UnitScanner(unit).Scan(); }

std::string NameSuffix(size_t unit) { return absl::StrCat("_unit", unit); }

std::string JoinUnits(absl::Span<const std::string> units) {
  std::string joined;
  for (size_t u = 0; u < units.size(); ++u) {
    const UnitNames found = NamesOf(units[u]);
    const std::string suffix = NameSuffix(u);
    for (const std::string& name : found.names) {
      absl::StrAppend(&joined, "#define ", name, " ", name, suffix, "\n");
    }
    absl::StrAppend(&joined, units[u], "\n");
    for (const std::vector<std::string>* ended : {&found.names, &found.macros}) {
      for (const std::string& name : *ended) absl::StrAppend(&joined, "#undef ", name, "\n");
    }
  }
  return joined;
}

}  // namespace mdh
