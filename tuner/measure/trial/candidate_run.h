// Runs one compiled kernel in a process of its own and records what it did. Judges nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/element_type.h"
#include "tuner/measure/results/measure_options.h"
#include "tuner/measure/results/measurement.h"
#include "tuner/measure/trial/output_copies.h"
#include "tuner/measure/trial/quiet_spell.h"
#include "tuner/process/child_process.h"

namespace mdh {

struct OutputBuffer {
  std::string name;
  ElementType type;
  int64_t size_bytes;
};

struct InputBuffer {
  std::string name;
  const std::byte* data;  // read-only memory that the child inherits
  int64_t size_bytes;
};

struct CandidateRun {
  std::string library;  // compiled from a source with CallSource (core/kernel/kernel_call.h)
                        // at its end
  std::string entry;
  std::string suffix = "";  // of all names of the source in the library
  int threads = 1;
  std::vector<int> cores = {};  // that it runs on; empty: all
  // Hardware threads in the order in which its threads take them; empty: any order is as good.
  std::vector<int> placement = {};
  std::vector<InputBuffer> inputs;
  std::vector<OutputBuffer> outputs;
  MeasureOptions options;
  // One more call on freshly poisoned outputs after the timed ones.
  bool final_call = true;
};

// Outputs after one call: for each buffer the bytes of zone, data, zone.
struct Snapshot {
  std::byte poison;  // what the outputs were filled with before the call, see PoisonFor
  std::vector<absl::Span<const std::byte>> accessible;
  // Buffers that were found right where they were: their bytes here mean nothing.
  std::vector<int> found_right = {};
};

// What one run left behind. The snapshots live as long as `keep_alive`.
struct RunRecord {
  enum class Phase : uint8_t { kLoading = 1, kCalling = 2, kDone = 3 };
  Phase phase = Phase::kLoading;  // kDone only if the child came to its regular end
  bool timed_out = false;
  bool interrupted = false;
  ChildEnd end;
  std::string message;            // why it could not be called or what it returned; else empty
  std::string fault;              // where the first bad access happened, for people; else empty
  int64_t first_ns = 0;           // duration of the first call
  std::vector<int64_t> times_ns;  // of those that count
  bool is_disturbed = false;      // as of Measurement
  int64_t calls_per_time = 1;     // that each of them is the mean of
  std::optional<Snapshot> first;
  std::optional<Snapshot> last;
  std::vector<int64_t> data_offsets;  // of each output in its accessible bytes
  int64_t scratch_bytes = 0;
  std::optional<int64_t> scratch_damage;  // as FirstDamage
  std::shared_ptr<const void> keep_alive;
};

// Errors: ResourceExhausted if memory or processes for it are missing. Whatever the kernel does is
// in the record. Its snapshots lie in `kept`'s memory, which no other run gets while the record
// lives.
Result<RunRecord> RunCandidate(const CandidateRun& run, Supervisor& supervisor,
                               const OtherWork& other_work, KeptCopies& kept);
Result<RunRecord> RunCandidate(const CandidateRun& run, Supervisor& supervisor);

}  // namespace mdh
