// How lines of elements are cut for prefix sums that stay in registers
// (codegen/lower/scan/scan_in_registers.h).
#pragma once

#include <cstdint>

#include "core/decomposition/tuning_parameters.h"

namespace mdh {

// Lines to scan: elements of one line are neighbours in memory, or else those of neighbouring
// lines.
struct ScanLines {
  int64_t count, size;
  bool are_beside;  // neighbouring lines have neighbouring elements
};

// A block scans one tile of each of `lines` lines. Along a line it has `groups` groups of `lanes`
// threads, which pass values on to each other; a thread has `rounds` runs of `run` neighbours. A
// group's elements come round by round, those of a round thread by thread:
//   element = ((group * rounds + round) * lanes + lane) * run + number in the run
struct ScanCut {
  int64_t lines, groups, lanes, rounds, run;
  int64_t tiles;  // of a line

  int64_t strip() const { return lanes * run; }  // of a group in one round
  int64_t tile() const { return groups * rounds * strip(); }
  int64_t points() const { return rounds * run; }  // of a thread
  int64_t line_threads() const { return groups * lanes; }
};

// Blocks have scan.threads threads, whatever the lines. `moves_runs`: runs of scan.run elements are
// vectors in memory; else threads that are neighbours have single elements that are, which takes
// more rounds. Tiles have more than one element, unless lines have only one.
ScanCut CutLines(const ScanLines& lines, const ScanParameters& scan, bool moves_runs);

}  // namespace mdh
