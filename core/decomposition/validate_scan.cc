// Validate: how blocks of threads compute prefix sums (ScanParameters), and what they do where
// parameters do not say it.
#include <algorithm>
#include <bit>

#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/expression/numerics.h"

namespace mdh {
namespace {

constexpr int kFewestThreads = 32;  // whole warps
constexpr int kMostPoints = 64;     // of a thread

// What suits a device, with runs of elements of at most 4 bytes. Threads of narrow warps are those
// of a CPU, where few in a block exchange the least.
constexpr int kLeastWarp = 16;
constexpr ScanParameters kInWarps = {256, 4, 4}, kInNarrowWarps = {32, 1, 4};

bool IsPowerOfTwo(int n) { return n > 0 && std::has_single_bit(static_cast<unsigned>(n)); }

// Of a tuple of results in registers.
int64_t TupleBytes(const Expression& e) {
  int64_t bytes = 0;
  for (const TypedName& result : e.function().results()) {
    bytes += std::max(4, SizeBytes(result.type));
  }
  return bytes;
}

// Enough for what codegen/lower/scan/scan_in_registers.h keeps there: sums of warps, and of their
// rounds; without shuffles those of all threads, too.
int64_t SharedBytes(const Expression& e, const DeviceDescription& device, const ScanParameters& s) {
  const int64_t points = int64_t{s.rounds} * s.run;
  const int64_t exchanging = device.features.shuffles_up ? s.threads / 32 : s.threads;
  return TupleBytes(e) * (s.threads + exchanging * points + s.threads / 32 * points);
}

}  // namespace

std::string ScanObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  const Expression& e = target.expression;
  const ScanParameters& s = p.scan;
  if (!e.has_prefix_sum()) return "there are no prefix sums";
  if (!Reassociates(p.numerics)) {
    return absl::StrCat("numerics=", Name(p.numerics), " fixes the order in which values combine");
  }
  for (const int count : {s.threads, s.rounds, s.run}) {
    if (!IsPowerOfTwo(count)) {
      return absl::StrCat("threads, rounds and run are powers of two, not ", count);
    }
  }
  if (s.threads < kFewestThreads) {
    return absl::StrCat(s.threads, " threads are fewer than ", kFewestThreads);
  }
  const BlockLimits& limits = target.device.blocks;
  const int64_t points = int64_t{s.rounds} * s.run;
  const std::string why =
      FirstExceeded({{"threads of a block", s.threads,
                      std::min<int64_t>(limits.max_threads_per_block, limits.max_block[0])},
                     {"points of a thread", points, kMostPoints}});
  if (!why.empty()) return why;
  // Each value, and what it is combined with.
  const int64_t words = 2 * points * TupleBytes(e) / 4;
  const bool has_registers = limits.registers_per_block > 0;
  return FirstExceeded(
      {{"registers of a thread, in words of 32 bits", words, MostPrivateWords(limits)},
       {"registers of a block, in words of 32 bits", has_registers ? words * s.threads : 0,
        limits.registers_per_block},
       {"bytes of shared memory of a block", SharedBytes(e, target.device, s),
        limits.shared_bytes_per_block}});
}

ScanParameters ScanOf(const ChoiceTarget& target, const TuningParameters& parameters) {
  if (parameters.scan.threads > 0) return parameters.scan;
  const Expression& e = target.expression;
  const BlockLimits& limits = target.device.blocks;
  TuningParameters p = parameters;
  p.scan = limits.warp_size < kLeastWarp ? kInNarrowWarps : kInWarps;
  int bytes = 4;
  for (const TypedName& result : e.function().results()) {
    bytes = std::max(bytes, SizeBytes(result.type));
  }
  p.scan.run = std::max(1, p.scan.run * 4 / bytes);
  // As many elements as keep the memory busy, but fewer where there are not enough for all
  // multiprocessors.
  double elements = 1;
  for (int d = 0; d < e.rank(); ++d) {
    if (!e.is_reduction(d)) elements *= static_cast<double>(e.dimensions()[d].size);
  }
  const auto blocks = [&] { return elements / (p.scan.threads * p.scan.rounds * p.scan.run); };
  while (p.scan.rounds > 1 && blocks() < limits.multiprocessors) p.scan.rounds /= 2;
  const auto fits = [&] { return ScanObstacle(target, p).empty(); };
  for (int* count : {&p.scan.rounds, &p.scan.run, &p.scan.threads}) {
    while (!fits() && *count > 1) *count /= 2;
  }
  return fits() ? p.scan : ScanParameters();
}

}  // namespace mdh
