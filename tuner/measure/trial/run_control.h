// What the process that runs a kernel and the one that waits for it share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "tuner/measure/trial/candidate_run.h"
#include "tuner/measure/trial/guarded_memory.h"
#include "tuner/measure/trial/output_copies.h"

namespace mdh {

inline constexpr int kMostArguments = 64;
// Loading, filling and copying buffers: generous, only there so that nothing lasts for ever.
inline constexpr int64_t kAsideLimit = 120'000'000'000;

// Lies in shared memory between inaccessible pages; written by the child only.
struct RunControl {
  std::atomic<int64_t> calling_since_ns;  // 0: not there yet
  std::atomic<int64_t> done_calling_ns;   // 0: not there yet
  // The parent's token at the regular end: a kernel that ends the process cannot look like that.
  std::atomic<uint64_t> done_token;
  int64_t first_ns;
  int64_t timed_calls;     // times there are
  int64_t calls_per_time;  // of every one of them, the first call apart
  bool is_disturbed;       // as of Measurement
  bool have_last;
  int64_t scratch_bytes;
  int64_t scratch_damage;
  bool scratch_damaged;
  // Addresses of the writable buffers in the child: outputs, then scratch.
  uintptr_t data[kMostArguments + 1];
  uintptr_t fault_address;
  int fault_signal;
  bool fault_is_write;
  char message[256];
};

// Poison of outputs before the first and before the last call.
inline constexpr std::byte kFirstPoison{0xA5};
inline constexpr std::byte kLastPoison{0x5A};

// Floating-point buffers (and records with a floating-point field) are poisoned with NaN (all bits
// set), so that adding to them shows.
inline std::byte PoisonFor(const ElementType& type, std::byte poison) {
  for (const ElementType::Field& field : type.fields()) {
    if (IsFloatingPoint(field.type)) return std::byte{0xFF};
  }
  return poison;
}

// Everything shared of one run.
struct SharedRun {
  GuardedMemory control_memory;
  GuardedMemory times_memory;
  std::shared_ptr<const OutputCopies> copies;
  uint64_t token = 0;

  RunControl& control() const { return *reinterpret_cast<RunControl*>(control_memory.data()); }
  int64_t* times() const { return reinterpret_cast<int64_t*>(times_memory.data()); }
};

// The child's part: loads the library, calls the kernel when it is quiet, records. Returns the exit
// status.
int RunInChild(const CandidateRun& run, SharedRun& shared, std::vector<GuardedMemory>& outputs);

}  // namespace mdh
