#include "tests/core/decomposition/low_level_mda.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace mdh {
namespace {

int64_t ProductOfSizes(const std::vector<std::vector<int64_t>>& sets, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t d = from; d < to; ++d) product *= static_cast<int64_t>(sets[d].size());
  return product;
}

// Points that dimension d strides over, and the indices that it has.
struct Along {
  int64_t stride, size;
};

Along AlongOf(const ResultMda& mda, int d) {
  return {ProductOfSizes(mda.index_sets, d + 1, mda.index_sets.size()),
          static_cast<int64_t>(mda.index_sets[d].size())};
}

}  // namespace

ResultMda Concatenate(std::vector<ResultMda> parts, int d) {
  if (parts.size() == 1) return std::move(parts[0]);
  ResultMda whole{parts[0].index_sets, {}};
  std::vector<int64_t>& set = whole.index_sets[d];
  set.clear();
  for (const ResultMda& part : parts) {
    set.insert(set.end(), part.index_sets[d].begin(), part.index_sets[d].end());
  }
  std::sort(set.begin(), set.end());
  const Along to = AlongOf(whole, d);
  whole.values.resize(
      static_cast<size_t>(ProductOfSizes(whole.index_sets, 0, whole.index_sets.size())));
  for (ResultMda& part : parts) {
    const Along from = AlongOf(part, d);
    std::vector<int64_t> number;  // in the whole, of each index of the part
    for (const int64_t index : part.index_sets[d]) {
      number.push_back(std::lower_bound(set.begin(), set.end(), index) - set.begin());
    }
    for (int64_t n = 0; n < static_cast<int64_t>(part.values.size()); ++n) {
      const int64_t inner = n % from.stride, middle = n / from.stride % from.size,
                    outer = n / from.stride / from.size;
      whole.values[(outer * to.size + number[middle]) * to.stride + inner] =
          std::move(part.values[n]);
    }
  }
  return whole;
}

ResultMda CombinePointWise(std::vector<ResultMda> parts, const CombineFunction& combine) {
  ResultMda total = std::move(parts[0]);
  for (size_t p = 1; p < parts.size(); ++p) {
    for (size_t n = 0; n < total.values.size(); ++n) {
      total.values[n] = combine(total.values[n], parts[p].values[n]);
    }
  }
  return total;
}

ResultMda CombinePrefixSums(std::vector<ResultMda> parts, int d, const CombineFunction& combine) {
  for (size_t p = 1; p < parts.size(); ++p) {
    const ResultMda& left = parts[p - 1];
    ResultMda& right = parts[p];
    const Along from = AlongOf(left, d), to = AlongOf(right, d);
    for (int64_t n = 0; n < static_cast<int64_t>(right.values.size()); ++n) {
      const int64_t inner = n % to.stride, outer = n / to.stride / to.size;
      const Results& last = left.values[(outer * from.size + from.size - 1) * from.stride + inner];
      right.values[n] = combine(last, right.values[n]);
    }
  }
  return Concatenate(std::move(parts), d);
}

void SumAlong(ResultMda* mda, int d, const CombineFunction& combine) {
  const Along along = AlongOf(*mda, d);
  for (int64_t n = 0; n < static_cast<int64_t>(mda->values.size()); ++n) {
    if (n / along.stride % along.size == 0) continue;
    mda->values[n] = combine(mda->values[n - along.stride], mda->values[n]);
  }
}

ResultMda ThroughBuffers(const Expression& expression, const ResultMda& mda,
                         const std::vector<std::vector<int>>& layouts) {
  // Results that a store function takes are in no output.
  if (expression.store() != nullptr) return mda;
  IndexBox points;
  for (const std::vector<int64_t>& set : mda.index_sets) {
    points.first.push_back(set.front());
    points.last.push_back(set.back());
  }
  const int results = static_cast<int>(expression.function().results().size());
  ResultMda again = mda;
  for (int r = 0; r < results; ++r) {
    const Expression::AccessRef ref = expression.output_access(r);
    const Buffer& buffer = expression.outputs()[ref.buffer];
    const IndexBox box = IndicesOf(buffer, points);
    std::vector<std::optional<ScalarValue>> stored(static_cast<size_t>(ElementsOf(box)));
    const auto element = [&](const std::vector<int64_t>& point) -> std::optional<ScalarValue>& {
      std::vector<int64_t> index;
      for (const AffineIndex& one : buffer.accesses[ref.access].indices) {
        index.push_back(one.Evaluate(point));
      }
      return stored[PlaceInLayout(box, layouts[ref.buffer], index)];
    };
    ForEachPoint(mda, [&](const std::vector<int64_t>& point, size_t place) {
      element(point) = mda.values[place][r];
    });
    ForEachPoint(mda, [&](const std::vector<int64_t>& point, size_t place) {
      again.values[place][r] = *element(point);
    });
  }
  return again;
}

}  // namespace mdh
