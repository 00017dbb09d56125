#include "core/c_loops/iteration_range.h"

namespace mdh {
namespace {

bool AddProduct(int64_t a, int64_t b, int64_t* sum) {
  int64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

int64_t FloorOf(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The last point of loop `d` (or the first one) as a function of the points of the outer loops.
std::optional<AffineIndex> PointAtEnd(const std::vector<Loop>& loops, size_t d, bool is_last) {
  const Loop& loop = loops[d];
  for (const AffineIndex& guard : loop.guards) {
    const int64_t own = guard.coefficients[d];
    if ((own < 0) != is_last) continue;
    // rest + own * n >= 0
    AffineIndex end{guard.coefficients, 0};
    end.coefficients[d] = 0;
    for (int64_t& coefficient : end.coefficients) {
      if (coefficient % loop.step != 0) return std::nullopt;
      coefficient /= is_last ? loop.step : -loop.step;
    }
    end.constant =
        is_last ? FloorOf(guard.constant, loop.step) : -FloorOf(guard.constant, loop.step);
    return end;
  }
  return AffineIndex{std::vector<int64_t>(loops.size(), 0), is_last ? loop.size - 1 : 0};
}

// The innermost loop first: its variable is replaced by the end that makes the value extreme.
std::optional<int64_t> Extreme(AffineIndex index, const std::vector<Loop>& loops, bool is_largest) {
  for (size_t d = loops.size(); d-- > 0;) {
    const int64_t factor = index.coefficients[d];
    if (factor == 0) continue;
    const std::optional<AffineIndex> end = PointAtEnd(loops, d, (factor > 0) == is_largest);
    if (!end.has_value()) return std::nullopt;
    index.coefficients[d] = 0;
    bool fits = AddProduct(factor, end->constant, &index.constant);
    for (size_t outer = 0; outer < d && outer < end->coefficients.size(); ++outer) {
      fits = fits && AddProduct(factor, end->coefficients[outer], &index.coefficients[outer]);
    }
    if (!fits) return std::nullopt;
  }
  return index.constant;
}

}  // namespace

std::optional<std::pair<int64_t, int64_t>> IterationRange(const AffineIndex& index,
                                                          const std::vector<Loop>& loops) {
  const std::optional<int64_t> least = Extreme(index, loops, /*is_largest=*/false);
  const std::optional<int64_t> largest = Extreme(index, loops, /*is_largest=*/true);
  if (!least.has_value() || !largest.has_value()) return std::nullopt;
  return std::pair(*least, *largest);
}

std::optional<std::pair<int64_t, int64_t>> BoxRange(const AffineIndex& index,
                                                    const std::vector<Loop>& loops) {
  std::vector<Loop> box = loops;
  for (Loop& loop : box) loop.guards.clear();
  return IterationRange(index, box);
}

}  // namespace mdh
