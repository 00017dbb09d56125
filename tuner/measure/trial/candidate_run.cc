// The part of a run that happens in the parent: memory, waiting, limits, reading what was recorded.
#include "tuner/measure/trial/candidate_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/measure/trial/guarded_memory.h"
#include "tuner/measure/trial/run_control.h"
#include "tuner/process/clock.h"
#include "tuner/process/socket_pair.h"

namespace mdh {
namespace {

// What libraries, stacks and heaps of the threads may reserve.
constexpr int64_t kBaseMemory = int64_t{4} << 30;
constexpr int64_t kMemoryPerThread = int64_t{192} << 20;

int64_t VirtualSize() {
  std::ifstream stream("/proc/self/statm");
  int64_t pages = 0;
  stream >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

Result<SharedRun> MakeShared(const CandidateRun& run, absl::Span<const GuardedMemory> outputs,
                             KeptCopies& kept) {
  using Zones = GuardedMemory::Zones;
  using Sharing = GuardedMemory::Sharing;
  SharedRun shared;
  MDH_ASSIGN_OR_RETURN(shared.control_memory,
                       GuardedMemory::Create(sizeof(RunControl), Zones::kNone, Sharing::kShared));
  new (shared.control_memory.data()) RunControl();
  const int64_t most_times = std::max(run.options.max_repeats, 1) + 2;
  MDH_ASSIGN_OR_RETURN(
      shared.times_memory,
      GuardedMemory::Create(most_times * int64_t{sizeof(int64_t)}, Zones::kNone, Sharing::kShared));
  std::vector<int64_t> sizes;
  for (const GuardedMemory& output : outputs) {
    sizes.push_back(static_cast<int64_t>(output.accessible().size()));
  }
  MDH_ASSIGN_OR_RETURN(shared.copies, kept.Get(sizes));
  std::random_device random;
  shared.token = (uint64_t{random()} << 32 | random()) | 1;
  return shared;
}

// When the child must have ended, as far as one can say now.
int64_t Deadline(const RunControl& control, int64_t forked_ns, int64_t run_limit_ns) {
  if (const int64_t done = control.done_calling_ns.load(); done != 0) return done + kAsideLimit;
  if (const int64_t since = control.calling_since_ns.load(); since != 0)
    return since + run_limit_ns;
  return forked_ns + kAsideLimit;
}

void Await(ChildProcess& child, const CandidateRun& run, const RunControl& control,
           FileDescriptor socket, const OtherWork& other_work, Supervisor& supervisor,
           RunRecord& record) {
  QuietSpell spell(std::move(socket), other_work);
  const int64_t forked_ns = NowNs();
  std::optional<ChildEnd> end;
  while (!(end = child.Poll())) {
    spell.Hear();
    other_work.advance();
    const int64_t left = Deadline(control, forked_ns, run.options.run_limit_ns) - NowNs();
    record.timed_out = left <= 0;
    record.interrupted = supervisor.interrupted();
    if (record.timed_out || record.interrupted) {
      child.Kill();
      continue;
    }
    supervisor.WaitFor(spell.sockets(), std::min<int64_t>(left, 50'000'000));
  }
  record.end = *end;
}

// A buffer of the child and how far a bad access was from it.
struct Neighbour {
  std::string name;
  int64_t offset;  // of the access from the buffer's start
  int64_t size;

  int64_t distance() const { return offset < 0 ? -offset : offset >= size ? offset - size + 1 : 0; }
};

std::vector<Neighbour> NeighboursOf(int64_t address, const CandidateRun& run,
                                    const RunControl& control) {
  std::vector<Neighbour> neighbours;
  for (const InputBuffer& input : run.inputs) {
    const auto base = static_cast<int64_t>(reinterpret_cast<intptr_t>(input.data));
    neighbours.push_back({"input " + input.name, address - base, input.size_bytes});
  }
  const auto add = [&](std::string name, uintptr_t base, int64_t size) {
    if (base != 0)
      neighbours.push_back({std::move(name), address - static_cast<int64_t>(base), size});
  };
  for (size_t b = 0; b < run.outputs.size(); ++b) {
    add("output " + run.outputs[b].name, control.data[b], run.outputs[b].size_bytes);
  }
  add("scratch memory", control.data[run.outputs.size()], control.scratch_bytes);
  return neighbours;
}

// "write to input M at byte 12". Empty if there was no bad access.
std::string DescribeFault(const CandidateRun& run, const RunControl& control) {
  if (control.fault_signal == 0) return "";
  constexpr int64_t kNear = 1 << 16;
  const std::string access = control.fault_is_write ? "write to " : "read of ";
  const std::vector<Neighbour> neighbours =
      NeighboursOf(static_cast<int64_t>(control.fault_address), run, control);
  const auto nearest = std::ranges::min_element(neighbours, {}, &Neighbour::distance);
  if (nearest == neighbours.end() || nearest->distance() > kNear) {
    return absl::StrCat(access, "address 0x", absl::Hex(control.fault_address));
  }
  const std::string buffer = access + nearest->name;
  if (nearest->offset < 0) {
    return absl::StrCat(buffer, ", ", -nearest->offset, " bytes in front of it");
  }
  if (nearest->offset < nearest->size) return absl::StrCat(buffer, " at byte ", nearest->offset);
  return absl::StrCat(buffer, ", ", nearest->offset - nearest->size, " bytes behind its end");
}

// clang's OpenMP library announces itself in shared memory under this name, and does not take it
// back if its process ends in any but the regular way.
void RemoveOpenMpRegistration(pid_t pid) {
  shm_unlink(absl::StrCat("/__KMP_REGISTERED_LIB_", pid, "_", getuid()).c_str());
}

Snapshot SnapshotOf(absl::Span<const GuardedMemory> copies, std::byte poison) {
  Snapshot snapshot = {.poison = poison, .accessible = {}};
  for (const GuardedMemory& copy : copies) {
    snapshot.accessible.emplace_back(copy.data(), static_cast<size_t>(copy.size()));
  }
  return snapshot;
}

void ReadShared(const CandidateRun& run, const std::shared_ptr<SharedRun>& shared,
                RunRecord& record) {
  const RunControl& control = shared->control();
  if (control.done_token.load() == shared->token && record.end.signal == 0 &&
      record.end.exit_code == 0) {
    record.phase = RunRecord::Phase::kDone;
  } else if (control.calling_since_ns.load() != 0) {
    record.phase = RunRecord::Phase::kCalling;
  }
  record.message.assign(control.message, strnlen(control.message, sizeof(control.message)));
  record.fault = DescribeFault(run, control);
  if (record.phase != RunRecord::Phase::kDone) return;
  record.first_ns = control.first_ns;
  const int64_t most = shared->times_memory.size() / int64_t{sizeof(int64_t)};
  const int64_t timed = std::min(control.timed_calls, most);
  record.times_ns.assign(shared->times(), shared->times() + timed);
  record.is_disturbed = control.is_disturbed;
  record.calls_per_time = std::max<int64_t>(control.calls_per_time, 1);
  record.first = SnapshotOf(shared->copies->first, kFirstPoison);
  if (control.have_last) record.last = SnapshotOf(shared->copies->last, kLastPoison);
  record.scratch_bytes = control.scratch_bytes;
  if (control.scratch_damaged) record.scratch_damage = control.scratch_damage;
  record.keep_alive = shared;
}

}  // namespace

Result<RunRecord> RunCandidate(const CandidateRun& run, Supervisor& supervisor) {
  KeptCopies none;
  return RunCandidate(run, supervisor, {}, none);
}

Result<RunRecord> RunCandidate(const CandidateRun& run, Supervisor& supervisor,
                               const OtherWork& other_work, KeptCopies& kept) {
  if (run.outputs.size() > kMostArguments) {
    return InvalidArgument("a kernel with ", run.outputs.size(), " outputs cannot be run; at most ",
                           kMostArguments, " are possible");
  }
  // Private as a caller's buffers are (pages of shared memory are slower); made here so that their
  // addresses are known if the child ends early.
  std::vector<GuardedMemory> outputs;
  for (const OutputBuffer& buffer : run.outputs) {
    MDH_ASSIGN_OR_RETURN(GuardedMemory output,
                         GuardedMemory::Create(buffer.size_bytes, GuardedMemory::Zones::kBothSides,
                                               GuardedMemory::Sharing::kPrivate));
    outputs.push_back(std::move(output));
  }
  MDH_ASSIGN_OR_RETURN(SharedRun made, MakeShared(run, outputs, kept));
  const auto shared = std::make_shared<SharedRun>(std::move(made));
  MDH_ASSIGN_OR_RETURN(SocketPair sockets, SocketPair::Make());
  const int64_t physical = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  ChildLimits limits;
  limits.cpu_s = (run.options.run_limit_ns / 1'000'000'000 + 1) * (run.threads + 1) +
                 kAsideLimit / 1'000'000'000;
  limits.cores = run.cores;
  limits.name = "mdh-candidate";
  limits.socket = sockets.theirs.get();
  limits.address_space_bytes =
      VirtualSize() + physical + kBaseMemory + kMemoryPerThread * run.threads;
  MDH_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Fork(limits, [&] {
                         return RunInChild(run, *shared, outputs);
                       }));
  sockets.theirs.Close();
  RunRecord record;
  const pid_t pid = child.pid();
  Await(child, run, shared->control(), std::move(sockets.ours), other_work, supervisor, record);
  RemoveOpenMpRegistration(pid);
  for (const GuardedMemory& output : outputs) record.data_offsets.push_back(output.data_offset());
  ReadShared(run, shared, record);
  return record;
}

}  // namespace mdh
