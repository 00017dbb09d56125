#include "codegen/program/digits.h"

namespace mdh {

Index DigitAt(const Index& number, int64_t stride, int64_t values, int64_t count) {
  if (values == 1) return Index(0);
  return stride * values == count ? number / stride : number / stride % values;
}

// Of both ends the one that its turn leaves below `count`.
Index Folded(const Index& number, int64_t count) {
  if (count <= 2) return number;
  const Index from_begin = number / 2, is_from_end = number % 2;
  return Min(from_begin + is_from_end * count,
             Index(2 * count - 1) - from_begin - is_from_end * count);
}

std::vector<Index> DeclarePoint(const Expression& expression, const std::vector<int>& dimensions,
                                Index number, const std::vector<std::string>& names, Block* block) {
  int64_t points = 1;
  for (const int d : dimensions) points *= expression.dimensions()[d].size;
  Digits digits(std::move(number), points);
  std::vector<Index> at(expression.rank(), Index(0));
  for (size_t n = dimensions.size(); n-- > 0;) {
    const int d = dimensions[n];
    if (expression.dimensions()[d].size == 1) continue;
    block->push_back({DeclareIndex{names[d], digits.Next(expression.dimensions()[d].size)}});
    at[d] = Index::Variable(names[d]);
  }
  return at;
}

}  // namespace mdh
