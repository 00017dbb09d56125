#include "core/device/warp_accesses.h"

#include <algorithm>

namespace mdh {
namespace {

// The most different words of threads [first, first + count) that are in one of `kBanks / kWords`
// banks, each of so many words.
template <int kWords>
int MostInBank(const int64_t* at, int count) {
  constexpr int kGroup = kBanks / kWords;
  // Of each bank the last thread that comes to it, and of each thread the one before it there.
  std::array<int, kGroup> latest;
  std::array<int, kWarp> earlier;
  std::array<int, kGroup> load = {};
  latest.fill(-1);
  int most = 0;
  for (int lane = 0; lane < count; ++lane) {
    if (lane > 0 && at[lane] == at[lane - 1]) continue;
    const auto bank = static_cast<size_t>(static_cast<uint64_t>(at[lane]) / kWords % kGroup);
    int same = latest[bank];
    while (same >= 0 && at[same] != at[lane]) same = earlier[same];
    if (same >= 0) continue;
    earlier[lane] = latest[bank];
    latest[bank] = lane;
    most = std::max(most, ++load[bank]);
  }
  return most;
}

// Different values of the first `count`.
double Distinct(std::array<int64_t, kWarp> values, int count) {
  int distinct = 1;
  bool ascends = true;
  for (int n = 1; n < count; ++n) {
    distinct += values[n] != values[n - 1] ? 1 : 0;
    ascends &= values[n] >= values[n - 1];
  }
  if (ascends) return distinct;
  std::sort(values.begin(), values.begin() + count);
  return static_cast<double>(std::unique(values.begin(), values.begin() + count) - values.begin());
}

}  // namespace

// Leaves the first threads if they are a box: all along some axes, some along one, and one along
// the others. With `alike`, only if so are the next ones, as far apart from each other as these.
bool WarpThreads::KeepFirst(int threads, bool alike) {
  int64_t inner = 1;
  for (Axis& axis : *this) {
    if (inner * axis.threads > threads) {
      if (threads % inner != 0) return false;
      const int64_t most = threads / inner;
      if (alike && axis.threads % most != 0) return false;
      axis.threads = most;
    }
    inner *= axis.threads;
  }
  count_ = static_cast<int>(inner);
  return true;
}

// Leaves threads at all of the places of a box, each at least once.
void WarpThreads::DropStill() {
  size_t moving = 0;
  count_ = 1;
  for (const Axis& axis : *this) {
    if (axis.step == 0 || axis.threads == 1) continue;
    count_ *= static_cast<int>(axis.threads);
    axes_[moving++] = axis;
  }
  size_ = moving;
}

// By insertion: there are very few.
void WarpThreads::SortBySteps() {
  const auto is_less = [](const Axis& a, const Axis& b) { return a.step < b.step; };
  for (Axis* axis = begin(); axis != end(); ++axis) {
    std::rotate(std::upper_bound(begin(), axis, *axis, is_less), axis, axis + 1);
  }
}

WarpThreads::Places WarpThreads::AllPlaces() const {
  Places places;
  places[0] = 0;
  int filled = 1;  // by the axes so far
  for (const auto& [step, threads] : *this) {
    const int inner = filled;
    for (int64_t thread = 1; thread < threads && filled < count_; ++thread) {
      const int end = std::min(filled + inner, count_);
      for (int n = 0; filled < end; ++n, ++filled) places[filled] = places[n] + thread * step;
    }
  }
  return places;
}

template <int kLineBytes>
double WarpThreads::TouchedLines(int64_t last) const {
  const auto line = [](int64_t at) {
    return static_cast<int64_t>(static_cast<uint64_t>(at) / kLineBytes);
  };
  WarpThreads box = *this;
  if (box.KeepFirst(kWarp, /*alike=*/false)) {
    box.DropStill();
    box.SortBySteps();
    // Lines along the first axis, all different or one after the other; along each of the others
    // as many again, if those are whole lines further than all so far.
    int64_t lines = 1, farthest = 0;
    const Axis* axis = box.begin();
    if (axis != box.end()) {
      farthest = line((axis->threads - 1) * axis->step + last);
      lines = axis->step >= kLineBytes ? axis->threads : farthest + 1;
      ++axis;
    }
    while (axis != box.end() && axis->step % kLineBytes == 0 && line(axis->step) > farthest) {
      farthest += (axis->threads - 1) * line(axis->step);
      lines *= axis->threads;
      ++axis;
    }
    if (axis == box.end()) return static_cast<double>(lines);
  }
  Places places = box.AllPlaces();
  for (int n = 0; n < box.count_; ++n) places[n] = line(places[n] + last);
  return Distinct(places, box.count_);
}

template double WarpThreads::TouchedLines<32>(int64_t) const;
template double WarpThreads::TouchedLines<128>(int64_t) const;

template <int kWords>
double WarpThreads::BankCyclesOf() const {
  constexpr int kGroup = kBanks / kWords;  // threads that are served at once
  const int groups = (count_ + kGroup - 1) / kGroup;
  const bool are_full = groups == 1 || count_ % kGroup == 0;
  // Banks are others if all places move by whole accesses, but as many threads meet in one.
  const bool moves_banks = groups > 1 && std::all_of(begin(), end(), [](const Axis& axis) {
                             return axis.step % kWords == 0;
                           });
  WarpThreads first = *this;
  if (are_full && (groups == 1 || moves_banks) && first.KeepFirst(kGroup, groups > 1)) {
    first.DropStill();
    return static_cast<double>(groups) * MostInBank<kWords>(first.AllPlaces().data(), first.count_);
  }
  const Places places = AllPlaces();
  double cycles = 0;
  for (int n = 0; n < count_; n += kGroup) {
    cycles += MostInBank<kWords>(places.data() + n, std::min(kGroup, count_ - n));
  }
  return cycles;
}

// Number by number: dividing by what the compiler does not know takes most of the time.
double WarpThreads::BankCycles(int words) const {
  switch (std::clamp(words, 1, 4)) {
    case 1:
      return BankCyclesOf<1>();
    case 2:
      return BankCyclesOf<2>();
    case 3:
      return BankCyclesOf<3>();
    default:
      return BankCyclesOf<4>();
  }
}

}  // namespace mdh
