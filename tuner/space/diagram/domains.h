// Which positions of a level are left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tuner/space/levels/level_plan.h"

namespace mdh {

// A set of positions below a size, as runs: ranges may have 2^32 values, and few of them are ever
// told apart. Immutable, cheap to copy.
class Domain {
 public:
  // All of so many.
  explicit Domain(uint32_t size);
  // These, in any order; expects positions below `size`.
  Domain(uint32_t size, std::vector<uint32_t> positions);

  Domain Intersected(const Domain& other) const;
  // Those of its size that are not in it.
  Domain Complement() const;

  uint32_t size() const { return data_->size; }
  bool empty() const { return runs().empty(); }
  bool is_all() const { return count() == size(); }
  // How many there are.
  uint64_t count() const { return data_->before.back(); }
  // Ascending, with something between two of them.
  const std::vector<PositionRun>& runs() const { return data_->runs; }

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

  // What it takes beside the copies of it.
  size_t bytes() const;

  friend bool operator==(const Domain& a, const Domain& b);

 private:
  struct Data {
    uint32_t size;
    std::vector<PositionRun> runs;
    std::vector<uint64_t> before;  // positions before each run; and all
  };

  Domain(uint32_t size, std::vector<PositionRun> runs);
  // How many there are below a position.
  uint64_t CountBelow(uint64_t position) const;
  // The first run that does not end before a position.
  size_t RunFrom(uint64_t position) const;

  std::shared_ptr<const Data> data_;
};

// By level.
using Domains = std::vector<Domain>;

}  // namespace mdh
