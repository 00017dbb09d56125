#include "tuner/measure/trial/timeline.h"

#include <algorithm>
#include <limits>

namespace mdh {
namespace {

// Intervals of which the best one is taken: enough to meet an undisturbed one, and not so many that
// many threads take long to look at.
constexpr int64_t kMostIntervals = 2000;

// Pieces that a thread has done until then; parts of a piece count.
double DoneUntil(const std::vector<int64_t>& stamps, int64_t time_ns) {
  const auto next = std::upper_bound(stamps.begin(), stamps.end(), time_ns);
  if (next == stamps.begin()) return 0;
  if (next == stamps.end()) return static_cast<double>(stamps.size() - 1);
  const int64_t begin = *std::prev(next);
  return static_cast<double>(std::prev(next) - stamps.begin()) +
         static_cast<double>(time_ns - begin) / static_cast<double>(*next - begin);
}

}  // namespace

Result<Timeline> Timeline::Create(absl::Span<const int64_t> stamps, int threads) {
  const size_t each = threads < 1 ? 0 : stamps.size() / static_cast<size_t>(threads);
  if (each < 2) return Internal("a timeline needs a thread and two times of it");
  std::vector<std::vector<int64_t>> by_thread;
  for (size_t t = 0; t < static_cast<size_t>(threads); ++t) {
    const absl::Span<const int64_t> own = stamps.subspan(t * each, each);
    const auto falls = [](int64_t a, int64_t b) { return b <= a; };
    if (std::ranges::adjacent_find(own, falls) != own.end()) {
      return Internal("the times of a thread do not rise");
    }
    by_thread.emplace_back(own.begin(), own.end());
  }
  return Timeline(std::move(by_thread));
}

double Timeline::SumOfFastest() const {
  double sum = 0;
  for (const std::vector<int64_t>& stamps : stamps_) {
    int64_t fastest = std::numeric_limits<int64_t>::max();
    for (size_t p = 1; p < stamps.size(); ++p) {
      fastest = std::min(fastest, stamps[p] - stamps[p - 1]);
    }
    sum += 1e9 / static_cast<double>(fastest);
  }
  return sum;
}

double Timeline::BestTogether(int64_t interval_ns) const {
  int64_t begin = std::numeric_limits<int64_t>::min(), end = std::numeric_limits<int64_t>::max();
  for (const std::vector<int64_t>& stamps : stamps_) {
    begin = std::max(begin, stamps.front());
    end = std::min(end, stamps.back());
  }
  const int64_t last = end - interval_ns;
  const int64_t step = std::max<int64_t>((last - begin) / kMostIntervals, interval_ns / 8 + 1);
  double best = 0;
  for (int64_t from = begin; from <= last; from += step) {
    double done = 0;
    for (const std::vector<int64_t>& stamps : stamps_) {
      done += DoneUntil(stamps, from + interval_ns) - DoneUntil(stamps, from);
    }
    best = std::max(best, done);
  }
  return best * 1e9 / static_cast<double>(interval_ns);
}

}  // namespace mdh
