#include "core/expression/unreached_elements.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/types/span.h"

namespace mdh {
namespace {

using Level = ElementRuns::Level;
using Levels = std::vector<Level>;

constexpr size_t kMostRuns = 64;

int64_t IndexTuples(const Buffer& buffer) {
  int64_t tuples = 1;
  for (const int64_t extent : buffer.extents) tuples *= extent;
  return tuples;
}

// From the first to behind the last position that the levels have.
int64_t SpanOf(absl::Span<const Level> levels) {
  int64_t span = 1;
  for (const Level& level : levels) span += (level.count - 1) * level.step;
  return span;
}

// Positions of one access: `first` and, for every level, so many more.
struct AccessPositions {
  int64_t first;
  Levels levels;  // by falling steps; levels that continue each other are one

  int64_t end() const { return first + SpanOf(levels); }
};

AccessPositions AccessPositionsOf(const Expression& expression, const Buffer& buffer,
                                  const IndexFunction& access) {
  const std::vector<int64_t> strides = PositionStrides(buffer);
  AccessPositions result{0, {}};
  for (size_t x = 0; x < strides.size(); ++x) {
    result.first += strides[x] * access.indices[x].constant;
  }
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_reduction(d)) continue;
    Level level{expression.dimensions()[d].size, 0};
    for (size_t x = 0; x < strides.size(); ++x) {
      level.step += strides[x] * access.indices[x].coefficients[d];
    }
    if (level.step < 0) {  // the same positions the other way round
      result.first += level.step * (level.count - 1);
      level.step = -level.step;
    }
    if (level.count > 1) result.levels.push_back(level);
  }
  std::ranges::sort(result.levels, std::ranges::greater{}, &Level::step);
  Levels merged;
  for (const Level& level : result.levels) {
    if (!merged.empty() && merged.back().step == level.step * level.count) {
      merged.back() = {merged.back().count * level.count, level.step};
    } else {
      merged.push_back(level);
    }
  }
  result.levels = std::move(merged);
  return result;
}

// Lists the gaps between progressions from the outermost level to the innermost.
class GapFinder {
 public:
  // All of [0, end) but what the progressions have.
  UnreachedElements Find(std::vector<AccessPositions> progressions, int64_t end) {
    std::ranges::sort(progressions, {}, &AccessPositions::first);
    int64_t at = 0;
    for (size_t n = 0; n < progressions.size();) {
      // Those that reach into each other.
      const Levels& levels = progressions[n].levels;
      const int64_t begin = progressions[n].first;
      int64_t reach = progressions[n].end();
      bool is_alike = true;
      std::vector<int64_t> firsts;
      for (; n < progressions.size() && progressions[n].first < reach; ++n) {
        is_alike = is_alike && SameLevels(progressions[n].levels, levels);
        reach = std::max(reach, progressions[n].end());
        firsts.push_back(progressions[n].first);
      }
      Emit(at, begin - at);
      is_alike ? Within(firsts, levels) : Everything(begin, reach);
      at = reach;
    }
    Emit(at, end - at);
    if (found_.runs.size() > kMostRuns) return {{{0, {}, end}}, /*is_exact=*/false};
    return std::move(found_);
  }

 private:
  static bool SameLevels(const Levels& a, const Levels& b) {
    return std::ranges::equal(a, b, [](const Level& x, const Level& y) {
      return x.count == y.count && x.step == y.step;
    });
  }

  // Between the first and the last position of progressions that have the same levels and begin at
  // `firsts` (ascending).
  void Within(const std::vector<int64_t>& firsts, absl::Span<const Level> levels) {
    if (found_.runs.size() > kMostRuns) return;
    const int64_t spread = firsts.back() - firsts.front();
    if (!levels.empty() && spread + SpanOf(levels.subspan(1)) <= levels[0].step) {
      const int64_t period = spread + SpanOf(levels.subspan(1));
      around_.push_back({levels[0].count - 1, levels[0].step});
      Emit(firsts.front() + period, levels[0].step - period);
      around_.back().count = levels[0].count;
      Within(firsts, levels.subspan(1));
      around_.pop_back();
      return;
    }
    // Whole progressions, or groups of them, one behind the other.
    const int64_t span = SpanOf(levels);
    std::vector<std::vector<int64_t>> groups;
    for (const int64_t first : firsts) {
      if (groups.empty() || first >= groups.back().back() + span) groups.emplace_back();
      groups.back().push_back(first);
    }
    if (groups.size() == 1 && !(firsts.size() == 1 && levels.empty())) {
      return Everything(firsts.front(), firsts.back() + span);
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      if (g > 0) {
        const int64_t end = groups[g - 1].back() + span;
        Emit(end, groups[g].front() - end);
      }
      if (!levels.empty()) Within(groups[g], levels);
    }
  }

  void Everything(int64_t begin, int64_t end) {
    found_.is_exact = false;
    Emit(begin, end - begin);
  }

  void Emit(int64_t first, int64_t length) {
    if (length <= 0 || found_.runs.size() > kMostRuns) return;
    ElementRuns runs{first, {}, length};
    for (const Level& level : around_) {
      if (level.count > 1) runs.levels.push_back(level);
    }
    found_.runs.push_back(std::move(runs));
  }

  Levels around_;
  UnreachedElements found_;
};

// Calls `visit` for every tuple of indices below the extents, of which there is one at least.
template <typename Visit>
void ForEachTuple(absl::Span<const int64_t> extents, const Visit& visit) {
  std::vector<int64_t> index(extents.size(), 0);
  while (true) {
    visit(index);
    size_t x = extents.size();
    while (x > 0 && ++index[x - 1] == extents[x - 1]) index[--x] = 0;
    if (x == 0) return;
  }
}

template <typename Visit>
void ForEachStart(const ElementRuns& runs, const Visit& visit) {
  std::vector<int64_t> counts;
  for (const Level& level : runs.levels) counts.push_back(level.count);
  ForEachTuple(counts, [&](absl::Span<const int64_t> index) {
    int64_t start = runs.first;
    for (size_t l = 0; l < index.size(); ++l) start += index[l] * runs.levels[l].step;
    visit(start);
  });
}

}  // namespace

int64_t ElementRuns::runs() const {
  int64_t runs = 1;
  for (const Level& level : levels) runs *= level.count;
  return runs;
}

std::vector<int64_t> PositionStrides(const Buffer& buffer) {
  const std::vector<int64_t> strides = buffer.strides();
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Of equal strides at most one has more than one index.
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::pair(strides[a], buffer.extents[a]) < std::pair(strides[b], buffer.extents[b]);
  });
  std::vector<int64_t> positions(strides.size());
  int64_t step = 1;
  for (const size_t x : order) {
    positions[x] = step;
    step *= buffer.extents[x];
  }
  return positions;
}

int64_t UnreachedCount(const Expression& expression, int output) {
  const Buffer& buffer = expression.outputs()[output];
  return IndexTuples(buffer) -
         expression.result_points() * static_cast<int64_t>(buffer.accesses.size());
}

UnreachedElements FindUnreached(const Expression& expression, int output) {
  if (UnreachedCount(expression, output) == 0) return {};
  const Buffer& buffer = expression.outputs()[output];
  std::vector<AccessPositions> progressions;
  if (expression.result_points() > 0) {
    for (const IndexFunction& access : buffer.accesses) {
      progressions.push_back(AccessPositionsOf(expression, buffer, access));
    }
  }
  return GapFinder().Find(std::move(progressions), IndexTuples(buffer));
}

std::vector<ElementContent> ElementContents(const Expression& expression, int output) {
  const Buffer& buffer = expression.outputs()[output];
  const int64_t elements = buffer.elements();
  const int64_t results = expression.result_points() * static_cast<int64_t>(buffer.accesses.size());
  if (results == elements) return {};
  const bool has_room = elements != IndexTuples(buffer);  // between elements
  const ElementContent unreached =
      buffer.keeps_unreached ? ElementContent::kFormer : ElementContent::kZero;
  const UnreachedElements found = FindUnreached(expression, output);
  if (found.is_exact && !has_room) {
    std::vector<ElementContent> contents(static_cast<size_t>(elements), ElementContent::kResult);
    for (const ElementRuns& runs : found.runs) {
      ForEachStart(runs, [&](int64_t start) {
        std::fill_n(contents.begin() + start, runs.length, unreached);
      });
    }
    return contents;
  }
  std::vector<ElementContent> contents(static_cast<size_t>(elements),
                                       has_room ? ElementContent::kFormer : unreached);
  if (has_room) {
    const std::vector<int64_t> strides = buffer.strides();
    ForEachTuple(buffer.extents, [&](absl::Span<const int64_t> index) {
      contents[static_cast<size_t>(
          std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0}))] = unreached;
    });
  }
  if (results == 0) return contents;
  std::vector<int64_t> sizes;
  for (int d = 0; d < expression.rank(); ++d) {
    sizes.push_back(expression.is_reduction(d) ? 1 : expression.dimensions()[d].size);
  }
  for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
    const AffineIndex offset = buffer.Linearized(a);
    ForEachTuple(sizes, [&](absl::Span<const int64_t> index) {
      contents[static_cast<size_t>(offset.Evaluate(index))] = ElementContent::kResult;
    });
  }
  return contents;
}

}  // namespace mdh
