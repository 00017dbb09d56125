#include "codegen/lower/scan/scan_cut.h"

#include <algorithm>

#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kLanes = 32;        // that a warp has
constexpr int64_t kLinesBeside = 32;  // whose elements make whole transactions

// Lines that are beside each other: their neighbours go to neighbouring threads.
ScanCut CutBeside(const ScanLines& lines, const ScanParameters& scan) {
  ScanCut cut = {.lines = std::min(kLinesBeside, RoundUpToPowerOfTwo(lines.count)),
                 .groups = 1,
                 .lanes = 1,
                 .rounds = 1,
                 .run = int64_t{scan.rounds} * scan.run,
                 .tiles = 1};
  cut.groups = scan.threads / cut.lines;
  // A tile of one element is its own sum: sums of such tiles would never become fewer.
  while (cut.tile() == 1 && lines.size > 1) {
    cut.groups *= 2;
    cut.lines /= 2;
  }
  while (cut.groups > 1 && cut.tile() / 2 >= lines.size) {
    cut.groups /= 2;
    cut.lines *= 2;
  }
  return cut;
}

ScanCut CutAlong(const ScanLines& lines, const ScanParameters& scan, bool moves_runs) {
  const int64_t run = moves_runs ? scan.run : 1;
  ScanCut cut = {.lines = 1,
                 .groups = std::max<int64_t>(1, scan.threads / kLanes),
                 .lanes = std::min<int64_t>(scan.threads, kLanes),
                 .rounds = int64_t{scan.rounds} * scan.run / run,
                 .run = run,
                 .tiles = 1};
  const auto is_large = [&] { return cut.tile() / 2 >= lines.size; };
  while (cut.rounds > 1 && is_large()) cut.rounds /= 2;
  for (int64_t* threads : {&cut.groups, &cut.lanes}) {
    while (*threads > 1 && is_large()) {
      *threads /= 2;
      cut.lines *= 2;
    }
  }
  return cut;
}

}  // namespace

ScanCut CutLines(const ScanLines& lines, const ScanParameters& scan, bool moves_runs) {
  ScanCut cut = lines.are_beside ? CutBeside(lines, scan) : CutAlong(lines, scan, moves_runs);
  while (cut.run > 1 && cut.tile() / 2 >= lines.size) cut.run /= 2;
  cut.tiles = CeilDivide(lines.size, cut.tile());
  return cut;
}

}  // namespace mdh
