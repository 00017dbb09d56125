// Indices of TeML: affine sums of iterators, which are known by their names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mdh {

struct IteratorTerm {
  std::string iterator;
  int64_t coefficient;

  friend bool operator==(const IteratorTerm&, const IteratorTerm&) = default;
};

// sum_t coefficient_t * iterator_t + constant. Iterators are distinct, coefficients not 0.
struct IteratorIndex {
  std::vector<IteratorTerm> terms = {};  // in the order in which they are written
  int64_t constant = 0;

  static IteratorIndex Of(std::string iterator) { return {{{std::move(iterator), 1}}, 0}; }
  static IteratorIndex Constant(int64_t value) { return {{}, value}; }

  // Whether it is one iterator, as in the lists of the paper.
  bool is_plain() const { return terms.size() == 1 && constant == 0 && terms[0].coefficient == 1; }

  friend bool operator==(const IteratorIndex&, const IteratorIndex&) = default;
};

// I of a node (op, S, I): one index per dimension.
using IteratorList = std::vector<IteratorIndex>;

// What iterators stand for.
using IteratorSubstitution = std::map<std::string, IteratorIndex>;

IteratorIndex Sum(const IteratorIndex& a, const IteratorIndex& b);
IteratorIndex Scaled(const IteratorIndex& index, int64_t factor);
// Iterators that are not in `values` stay.
IteratorIndex Substituted(const IteratorIndex& index, const IteratorSubstitution& values);
IteratorList Substituted(const IteratorList& list, const IteratorSubstitution& values);

// "2*h + kh - 1"; "0" without terms.
std::string ToText(const IteratorIndex& index);
// "[i][2*j]", as in C.
std::string ToSubscripts(const IteratorList& list);

}  // namespace mdh
