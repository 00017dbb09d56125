// Spelling of operations; edit distance of names.
#include "tuner/space/formula/formula_names.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr size_t kMaxNameLength = 128;
constexpr size_t kMaxQuotedLength = 120;

// In units of half a change: letters that differ in case only cost 1; other replacements,
// additions, omissions and swaps of neighbours 2.
size_t EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> costs((a.size() + 1) * width);
  for (size_t j = 0; j <= b.size(); ++j) costs[j] = 2 * j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t* row = &costs[i * width];
    const size_t* above = row - width;
    row[0] = 2 * i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same_letter = absl::ascii_tolower(a[i - 1]) == absl::ascii_tolower(b[j - 1]);
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : same_letter ? 1 : 2);
      row[j] = std::min({replaced, above[j] + 2, row[j - 1] + 2});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], (above - width)[j - 2] + 2);
      }
    }
  }
  return costs.back();
}

}  // namespace

std::string_view Spelling(FormulaOp op) {
  // In the order of FormulaOp.
  constexpr std::array<std::string_view, 27> kSpellings = {
      "constant", "parameter", "+",   "-",   "*",        "/",       "//", "%",        "**",
      "-",        "abs",       "min", "max", "ceil_div", "divides", "==", "!=",       "<",
      "<=",       ">",         ">=",  "and", "or",       "not",     "if", "position", "predicate"};
  return kSpellings[static_cast<size_t>(op)];
}

const std::vector<std::string>& FormulaFunctions() {
  static const std::vector<std::string> kFunctions = {"abs", "ceil_div", "divides",
                                                      "max", "min",      "position"};
  return kFunctions;
}

std::string Suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kMaxNameLength) return "";
  const std::string* nearest = nullptr;
  // One change for every three characters, and at least one.
  size_t smallest = 2 * std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxNameLength) continue;
    // Another case is a likely mistake however long the name is.
    const size_t distance =
        absl::EqualsIgnoreCase(std::string(name), candidate) ? 1 : EditDistance(name, candidate);
    if (distance >= smallest) continue;
    smallest = distance;
    nearest = &candidate;
  }
  return nearest == nullptr ? "" : absl::StrCat("; did you mean '", *nearest, "'?");
}

std::string QuotedFormula(const Formula& formula) {
  std::string text = formula.ToText();
  if (text.size() > kMaxQuotedLength) {
    // Not in the middle of a character of several bytes.
    size_t end = kMaxQuotedLength;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  return absl::StrCat("'", text, "'");
}

}  // namespace mdh
