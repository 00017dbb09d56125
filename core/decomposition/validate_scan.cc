// Validate: how blocks of threads compute prefix sums (ScanParameters).
#include <algorithm>
#include <bit>

#include "core/decomposition/validate.h"
#include "core/expression/numerics.h"

namespace mdh {
namespace {

constexpr int kFewestThreads = 32;           // whole warps
constexpr int kMostPoints = 64;              // of a thread
constexpr int64_t kMostPrivateWords = 4096;  // of a thread, where registers are not limited

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

Status Limit(const char* name, int64_t value, int64_t limit) {
  if (value <= limit) return absl::OkStatus();
  return InvalidParameters("scan: ", name, ": ", value, " > ", limit);
}

}  // namespace

Status ValidateScan(const Expression& e, const SystemModel& model, const DeviceDescription& device,
                    const TuningParameters& p) {
  const ScanParameters& s = p.scan;
  if (model.memory != MemoryKind::kExplicit) {
    return InvalidParameters("scan is for devices with blocks of threads");
  }
  if (!e.has_prefix_sum()) return InvalidParameters("scan: there are no prefix sums");
  if (p.numerics != NumericsPolicy::kReassociate) {
    return InvalidParameters(
        "scan combines values in another order than numerics=", Name(p.numerics), " says");
  }
  for (const int count : {s.threads, s.rounds, s.run}) {
    if (!IsPowerOfTwo(count)) {
      return InvalidParameters("scan: threads, rounds and run are powers of two, not ", count);
    }
  }
  if (s.threads < kFewestThreads) {
    return InvalidParameters("scan: ", s.threads, " threads are fewer than ", kFewestThreads);
  }
  const BlockLimits& limits = device.blocks;
  MDH_RETURN_IF_ERROR(Limit("threads of a block", s.threads,
                            std::min<int64_t>(limits.max_threads_per_block, limits.max_block[0])));
  const int64_t points = int64_t{s.rounds} * s.run;
  MDH_RETURN_IF_ERROR(Limit("points of a thread", points, kMostPoints));
  // Each value, and what it is combined with.
  const int64_t words = 2 * points * TupleBytes(e) / 4;
  const bool has_registers = limits.registers_per_thread > 0;
  MDH_RETURN_IF_ERROR(Limit("registers of a thread, in words of 32 bits", words,
                            has_registers ? limits.registers_per_thread : kMostPrivateWords));
  if (limits.registers_per_block > 0) {
    MDH_RETURN_IF_ERROR(Limit("registers of a block, in words of 32 bits", words * s.threads,
                              limits.registers_per_block));
  }
  return Limit("bytes of shared memory of a block", SharedBytes(e, device, s),
               limits.shared_bytes_per_block);
}

}  // namespace mdh
