#include "core/teml/iterator_index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mdh {

IteratorIndex Sum(const IteratorIndex& a, const IteratorIndex& b) {
  IteratorIndex sum = a;
  sum.constant += b.constant;
  for (const IteratorTerm& term : b.terms) {
    const auto same = std::ranges::find(sum.terms, term.iterator, &IteratorTerm::iterator);
    if (same == sum.terms.end()) {
      sum.terms.push_back(term);
    } else if ((same->coefficient += term.coefficient) == 0) {
      sum.terms.erase(same);
    }
  }
  return sum;
}

IteratorIndex Scaled(const IteratorIndex& index, int64_t factor) {
  if (factor == 0) return {};
  IteratorIndex scaled = index;
  scaled.constant *= factor;
  for (IteratorTerm& term : scaled.terms) term.coefficient *= factor;
  return scaled;
}

IteratorIndex Substituted(const IteratorIndex& index, const IteratorSubstitution& values) {
  IteratorIndex result = IteratorIndex::Constant(index.constant);
  for (const IteratorTerm& term : index.terms) {
    const auto value = values.find(term.iterator);
    result =
        Sum(result, Scaled(value == values.end() ? IteratorIndex::Of(term.iterator) : value->second,
                           term.coefficient));
  }
  return result;
}

IteratorList Substituted(const IteratorList& list, const IteratorSubstitution& values) {
  IteratorList result;
  for (const IteratorIndex& index : list) result.push_back(Substituted(index, values));
  return result;
}

std::string ToText(const IteratorIndex& index) {
  std::string text;
  for (const IteratorTerm& term : index.terms) {
    const int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    const char* const sign = term.coefficient < 0 ? "-" : "+";
    if (!text.empty()) {
      absl::StrAppend(&text, " ", sign, " ");
    } else if (term.coefficient < 0) {
      text = "-";
    }
    absl::StrAppend(&text, size == 1 ? "" : absl::StrCat(size, "*"), term.iterator);
  }
  if (text.empty()) return absl::StrCat(index.constant);
  if (index.constant == 0) return text;
  return absl::StrCat(text, index.constant < 0 ? " - " : " + ",
                      index.constant < 0 ? -index.constant : index.constant);
}

std::string ToSubscripts(const IteratorList& list) {
  std::string text;
  for (const IteratorIndex& index : list) absl::StrAppend(&text, "[", ToText(index), "]");
  return text;
}

}  // namespace mdh
