// Which positions of a level are left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tuner/space/levels/level_plan.h"

namespace mdh {

// A set of positions below a size, as runs: ranges may have 2^32 values, and few of them are ever
// told apart. Immutable, cheap to copy.
class Domain {
 public:
  // All of so many.
  explicit Domain(uint32_t size) : Domain(size, PositionRun{0, size - 1}) {}
  // One run of them.
  Domain(uint32_t size, PositionRun run)
      : size_(size), count_(run.last - run.first + 1), span_(run) {}
  // These, in any order; expects positions below `size`.
  Domain(uint32_t size, std::vector<uint32_t> positions);

  Domain Intersected(const Domain& other) const;
  // Those of its size that are not in it.
  Domain Complement() const;

  uint32_t size() const { return size_; }
  bool empty() const { return count_ == 0; }
  bool is_all() const { return count_ == size_; }
  // Whether all positions between two of it are in it, and it is not empty.
  bool is_run() const { return runs_ == nullptr && !empty(); }
  // How many there are.
  uint64_t count() const { return count_; }
  // From the first position to the last one; expects that it is not empty.
  PositionRun span() const { return span_; }

  bool Contains(uint32_t position) const { return CountIn(position, position) == 1; }
  // How many there are of first..last.
  uint64_t CountIn(uint32_t first, uint32_t last) const {
    return is_all() ? uint64_t{last} - first + 1
                    : CountBelow(uint64_t{last} + 1) - CountBelow(first);
  }
  // The n-th of those from `first` on; expects that there are more than n.
  uint32_t At(uint32_t first, uint64_t n) const;
  // Of first..last the one nearest to `wanted`, the smaller one of two; expects that there is one.
  uint32_t Nearest(uint32_t first, uint32_t last, uint32_t wanted) const;
  // `run` without the positions that are not left, behind `runs`.
  void AppendPartOf(PositionRun run, std::vector<PositionRun>& runs) const;

  // What copies of it share.
  size_t shared_bytes() const;

  friend bool operator==(const Domain& a, const Domain& b);

 private:
  struct Run {
    PositionRun positions;
    uint32_t before;  // positions in runs before it
  };

  Domain(uint32_t size, const std::vector<PositionRun>& runs);
  // Ascending, with something between two of them.
  std::vector<PositionRun> Runs() const;
  // How many there are below a position.
  uint64_t CountBelow(uint64_t position) const;
  // The first of several runs that does not end before a position.
  size_t RunFrom(uint64_t position) const;

  uint32_t size_;
  uint32_t count_;
  PositionRun span_;
  std::shared_ptr<const std::vector<Run>> runs_;  // nullptr: no more than one
};

// Sets by level, most of which are one run: that takes 8 bytes a level. Cheap to make one of
// another that differs at some levels.
class Domains {
 public:
  Domains() = default;
  // All positions of levels with so many.
  explicit Domains(std::vector<uint32_t> sizes);

  size_t size() const { return spans_.size(); }
  Domain operator[](size_t level) const;
  void Set(size_t level, Domain domain);
  // What it takes, less the sizes, which all have in common that were made of the same ones.
  size_t bytes() const;

  friend bool operator==(const Domains& a, const Domains& b);

 private:
  using Other = std::pair<size_t, Domain>;  // of a level
  std::vector<Other>::const_iterator FindOther(size_t level) const;

  std::shared_ptr<const std::vector<uint32_t>> sizes_;
  std::vector<PositionRun> spans_;  // from the first position to the last
  std::vector<Other> others_;       // those that are no run, by level
};

}  // namespace mdh
