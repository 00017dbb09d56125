// What an access of a warp costs: the lines of memory that its threads touch, and how long they
// wait for each other at banks of shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mdh {

inline constexpr int kWarp = 32;
inline constexpr int kBanks = 32;  // of shared memory, of a word each

// Where the threads of a warp are: thread number n = n_0 + threads_0 * (n_1 + threads_1 * ...) of
// the block is at the sum of step_k * n_k. Steps are not negative.
class WarpThreads {
 public:
  // `count`: threads of the warp, at most kWarp and no more than the axes have together.
  explicit WarpThreads(int count) : count_(count) {}

  // The next axis k. Only those are kept along which the warp may have several threads.
  void Add(int64_t step, int64_t threads) {
    if (threads == 1 || threads_ >= kWarp) return;
    axes_[size_++] = {step, threads};
    threads_ *= threads;
  }

  // Lines of kLineBytes of which some byte from a thread's place to `last` further is accessed;
  // places are bytes, `last` is less than a line.
  template <int kLineBytes>
  double TouchedLines(int64_t last) const;

  // Cycles that an access of `words` neighbouring words per thread takes; places are words. Of the
  // threads that are served at once, those with different words in one bank wait for each other.
  double BankCycles(int words) const;

 private:
  struct Axis {
    int64_t step, threads;
  };
  using Places = std::array<int64_t, kWarp>;
  static constexpr size_t kMostAxes = 5;  // of at least two threads each

  Axis* begin() { return axes_.data(); }
  Axis* end() { return axes_.data() + size_; }
  const Axis* begin() const { return axes_.data(); }
  const Axis* end() const { return axes_.data() + size_; }

  bool KeepFirst(int threads, bool alike);
  void DropStill();
  void SortBySteps();
  Places AllPlaces() const;
  template <int kWords>
  double BankCyclesOf() const;

  int count_;
  int64_t threads_ = 1;  // of all axes together
  size_t size_ = 0;
  std::array<Axis, kMostAxes> axes_;  // the first `size_`
};

// Of a row of `row` elements that becomes a column of a copy in shared memory, how many
// neighbouring threads take before they go on to the same ones of the next row; `rows`: of all of
// the copy. Usually all of them. As many as memory moves at least, a sector, where the row has
// several: threads of a warp then write to rows and columns of the copy that are in different
// banks, and read no more sectors. Not where threads would have to find the places of each of their
// elements anew.
inline int64_t TransposedRun(int64_t row, int64_t rows, int64_t element_bytes, int64_t threads) {
  constexpr int64_t kSectorBytes = 32;
  const int64_t run = kSectorBytes / element_bytes;
  if (run < 2 || row <= run || row % run != 0) return row;
  const int64_t items = run * rows;  // before the next run of the same row
  return threads % run == 0 && (items % threads == 0 || threads % items == 0) ? run : row;
}

}  // namespace mdh
