// The part of a run that happens in the child: everything here may be disturbed by the kernel.
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/device/cgroup.h"
#include "core/kernel/kernel_call.h"
#include "tuner/measure/results/stopping_rule.h"
#include "tuner/measure/trial/cache_eviction.h"
#include "tuner/measure/trial/disturbance.h"
#include "tuner/measure/trial/run_control.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Calls of short kernels are timed together for so long that neither the clock nor what is done
// once for all of them matters.
constexpr int64_t kCpuBatchTime = 50'000;
constexpr int64_t kMostCpuBatched = 10'000;

using KernelEntry = int (*)(void* const*);
using ScratchBytes = int64_t (*)(int);

constexpr int64_t kMuchMemory = 64 << 20;

// For the signal handler only; set in the forked child, which runs one kernel and ends.
RunControl* g_control = nullptr;

void RecordFault(int number, siginfo_t* info, [[maybe_unused]] void* context) {
  if (g_control->fault_signal == 0) {
    g_control->fault_signal = number;
    g_control->fault_address = reinterpret_cast<uintptr_t>(info->si_addr);
#if defined(__x86_64__)
    const auto* machine = static_cast<const ucontext_t*>(context);
    g_control->fault_is_write = (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#endif
  }
  // SA_RESETHAND has restored the default: the instruction faults again and ends the process.
}

void InstallFaultHandler(RunControl& control) {
  g_control = &control;
  struct sigaction action = {};
  action.sa_sigaction = RecordFault;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
  for (const int number : {SIGSEGV, SIGBUS}) sigaction(number, &action, nullptr);
}

int Fail(RunControl& control, const std::string& message) {
  std::snprintf(control.message, sizeof(control.message), "%s", message.c_str());
  return 1;
}

// What the user of the daemon has set for other programs.
void ClearOpenMp() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    for (const std::string_view family : {"OMP_", "GOMP_", "KMP_", "LIBOMP_"}) {
      if (text.starts_with(family)) names.emplace_back(text.substr(0, text.find('=')));
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

// libgomp and libomp read these when they are loaded.
void SetUpOpenMp(int threads, const std::vector<int>& placement) {
  ClearOpenMp();
  if (!placement.empty()) {
    setenv("OMP_PLACES", absl::StrCat("{", absl::StrJoin(placement, "},{"), "}").c_str(), 1);
  }
  setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
  setenv("OMP_DYNAMIC", "false", 1);
  setenv("OMP_PROC_BIND", threads > 1 ? "true" : "false", 1);
  setenv("OMP_WAIT_POLICY", "active", 1);
}

int64_t AvailableMemory() {
  std::ifstream stream("/proc/meminfo");
  std::string key;
  int64_t kilobytes = 0;
  int64_t available = int64_t{1} << 62;
  std::string unit;
  while (stream >> key >> kilobytes && std::getline(stream, unit)) {
    if (key == "MemAvailable:") available = kilobytes << 10;
  }
  const int64_t group = ReadCgroupLimits().memory_bytes;
  return group > 0 ? std::min(group, available) : available;
}

// One kernel, its arguments and the record of its calls.
class Execution {
 public:
  Execution(const CandidateRun& run, SharedRun& shared, std::vector<GuardedMemory>& outputs)
      : run_(run),
        shared_(shared),
        control_(shared.control()),
        outputs_(outputs),
        rule_(run.options) {}

  // Loads the library and makes scratch memory. A message if that fails.
  std::string Prepare() {
    void* library = dlopen(run_.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return absl::StrCat("the kernel cannot be loaded: ", dlerror());
    const std::string call_name = "mdh_call" + run_.suffix;
    call_ = reinterpret_cast<KernelEntry>(dlsym(library, call_name.c_str()));
    const std::string scratch_name = run_.entry + "_scratch_bytes" + run_.suffix;
    const auto scratch_bytes = reinterpret_cast<ScratchBytes>(dlsym(library, scratch_name.c_str()));
    if (call_ == nullptr) return "the kernel's library has no mdh_call";
    if (const Status connected = ConnectOpenMp(library, run_.suffix); !connected.ok()) {
      return std::string(connected.message());
    }
    if (scratch_bytes == nullptr) return absl::StrCat("the kernel has no ", scratch_name);
    control_.scratch_bytes = scratch_bytes(run_.threads);
    if (const std::string message = MakeArguments(); !message.empty()) return message;
    return run_.options.cache == CacheState::kCold ? PrepareEviction() : "";
  }

  // Calls the kernel as often as the options say. A message if it reports failure.
  std::string Perform() {
    Poison(kFirstPoison);
    MakePresent(shared_.copies->first);
    if (!AwaitQuiet()) return "the kernel disturbed its measurement, or who measures has ended";
    StolenTimeWatch stolen;
    stolen.Begin();
    const bool is_done = CallAsOftenAsNeeded();
    control_.done_calling_ns.store(NowNs());
    control_.is_disturbed |= stolen.WasStolen();
    EndQuiet();
    if (!is_done) return Failure();
    if (control_.have_last) Save(shared_.copies->last);
    CheckScratch();
    return "";
  }

 private:
  // False if a call reports failure.
  bool CallAsOftenAsNeeded() {
    start_ns_ = NowNs();
    control_.calls_per_time = 1;
    control_.calling_since_ns.store(start_ns_);
    if (!TimeCalls(1, &control_.first_ns)) return false;
    Save(shared_.copies->first);
    longest_ns_ = control_.first_ns;
    if (IsLong()) Record(control_.first_ns, 1);
    if (!IsHopeless() && !CallRepeatedly()) return false;
    if (returned_ != 0) return false;
    if (rule_.times_ns().empty()) Record(control_.first_ns, 1);
    control_.timed_calls = static_cast<int64_t>(rule_.times_ns().size());
    control_.is_disturbed = rule_.is_disturbed();
    std::ranges::copy(rule_.times_ns(), shared_.times());
    return true;
  }

  std::string MakeArguments() {
    const int64_t bytes = control_.scratch_bytes;
    const auto exhausted = [&] {
      return absl::StrCat("the kernel's scratch memory of ", bytes, " bytes is not available");
    };
    if (bytes < 0) return absl::StrCat(run_.entry, "_scratch_bytes gave ", bytes);
    // Little is there, and reading how much takes as long as a short kernel.
    if (bytes > kMuchMemory && bytes > AvailableMemory() / 10 * 9) return exhausted();
    Result<GuardedMemory> scratch = GuardedMemory::Create(bytes, GuardedMemory::Zones::kBothSides,
                                                          GuardedMemory::Sharing::kPrivate);
    if (!scratch.ok()) return exhausted();
    scratch_ = *std::move(scratch);
    std::memset(scratch_.data(), 0xFF, static_cast<size_t>(bytes));
    for (const InputBuffer& input : run_.inputs) {
      arguments_.push_back(const_cast<std::byte*>(input.data));
    }
    for (size_t b = 0; b < outputs_.size(); ++b) {
      arguments_.push_back(outputs_[b].data());
      control_.data[b] = reinterpret_cast<uintptr_t>(outputs_[b].data());
    }
    arguments_.push_back(scratch_.data());
    control_.data[outputs_.size()] = reinterpret_cast<uintptr_t>(scratch_.data());
    return "";
  }

  std::string PrepareEviction() {
    std::vector<absl::Span<const std::byte>> memory;
    for (const InputBuffer& input : run_.inputs) {
      memory.emplace_back(input.data, static_cast<size_t>(input.size_bytes));
    }
    for (const GuardedMemory& output : outputs_) memory.push_back(output.accessible());
    memory.push_back(scratch_.accessible());
    Result<CacheEviction> eviction = CacheEviction::Of(std::move(memory));
    if (!eviction.ok()) return std::string(eviction.status().message());
    eviction_ = *std::move(eviction);
    return "";
  }

  void Poison(std::byte poison) {
    for (size_t b = 0; b < outputs_.size(); ++b) {
      const std::byte value = PoisonFor(run_.outputs[b].type, poison);
      std::memset(outputs_[b].data(), static_cast<int>(value),
                  static_cast<size_t>(outputs_[b].size()));
    }
  }

  // Time of one call, of `calls` that are timed together. False if one reports failure.
  bool TimeCalls(int64_t calls, int64_t* call_ns) {
    watch_.Begin(longest_ns_);
    const int64_t start = NowNs();
    for (int64_t call = 0; call < calls && returned_ == 0; ++call) {
      returned_ = call_(arguments_.data());
    }
    const int64_t all_ns = NowNs() - start;
    was_disturbed_ = watch_.WasDisturbed(all_ns);
    // No clock is exact enough for nothing at all.
    *call_ns = std::max<int64_t>((all_ns + calls / 2) / calls, 1);
    return returned_ == 0;
  }

  // Calls that are timed together. Cold ones are alone: data must go in between.
  int64_t CallsOfBatch(int64_t call_ns) const {
    if (run_.options.cache == CacheState::kCold || call_ns >= kCpuBatchTime) return 1;
    return std::min(kCpuBatchTime / call_ns + 1, kMostCpuBatched);
  }

  std::string Failure() const {
    return returned_ == 1 ? std::string("the kernel could not allocate its scratch memory")
                          : absl::StrCat("the kernel returned ", returned_);
  }

  // The first call of a fast kernel is mostly the start of threads and so tells nothing of its
  // time; that of a long one counts.
  bool IsLong() const { return control_.first_ns > 20'000'000; }

  // Whether the candidate is far slower than the best. May call it again to find out; sets the size
  // of batches.
  bool IsHopeless() {
    if (IsLong()) return IsFarSlower(control_.first_ns);
    if (run_.options.max_repeats <= 0) return true;
    int64_t second = 0;
    const bool first_is_slow = IsFarSlower(control_.first_ns);
    if (!TimeCalls(1, &second)) return true;
    control_.calls_per_time = CallsOfBatch(second);
    if (!first_is_slow || !IsFarSlower(second)) return false;
    // A short call on its own takes longer than one of a batch.
    if (control_.calls_per_time > 1 && !TimeCalls(control_.calls_per_time, &second)) return true;
    Record(second, control_.calls_per_time);
    return IsFarSlower(second);
  }

  // Whether the latest call was far slower than the best one's.
  bool IsFarSlower(int64_t call_ns) const {
    return OutlookAfterFirstCalls(run_.options, static_cast<double>(call_ns), 1, was_disturbed_) ==
           Outlook::kHopeless;
  }

  // Of the latest calls.
  void Record(int64_t call_ns, int64_t calls) {
    rule_.Record(call_ns, call_ns * calls, was_disturbed_);
    longest_ns_ = std::max(longest_ns_, call_ns * calls);
  }

  // Two more batches, one of them the final call, fit into the limit.
  bool HaveTime() const {
    return NowNs() - start_ns_ + 3 * longest_ns_ < run_.options.run_limit_ns;
  }

  // The timed calls and the final one.
  bool CallRepeatedly() {
    const MeasureOptions& options = run_.options;
    const int64_t batch = control_.calls_per_time;
    // Of a long kernel the final call is one of those that count.
    const bool count_final = run_.final_call && IsLong();
    int64_t call_ns = 0;
    while (!rule_.IsEnough(count_final ? 1 : 0) && HaveTime()) {
      const int64_t start = NowNs();
      if (options.cache == CacheState::kCold) eviction_.Evict();
      if (!TimeCalls(batch, &call_ns)) return false;
      Record(call_ns, batch);
      longest_ns_ = std::max(longest_ns_, NowNs() - start);
    }
    if (!run_.final_call || !HaveTime() || !rule_.IsPromising()) return true;
    Poison(kLastPoison);
    if (!TimeCalls(1, &call_ns)) return false;
    control_.have_last = true;
    if (count_final && static_cast<int>(rule_.times_ns().size()) < options.max_repeats) {
      Record(call_ns, 1);
    }
    return true;
  }

  // So that nothing waits for memory between calls; where the system cannot, it comes when needed.
  static void MakePresent(const std::vector<GuardedMemory>& copies) {
    for (const GuardedMemory& copy : copies) {
      madvise(copy.accessible().data(), copy.accessible().size(), MADV_POPULATE_WRITE);
    }
  }

  void Save(const std::vector<GuardedMemory>& copies) {
    for (size_t b = 0; b < outputs_.size(); ++b) {
      const absl::Span<std::byte> from = outputs_[b].accessible();
      std::memcpy(copies[b].data(), from.data(), from.size());
    }
  }

  void CheckScratch() {
    const std::optional<int64_t> damage =
        FirstDamage(scratch_.accessible(), scratch_.data_offset(), scratch_.size());
    control_.scratch_damaged = damage.has_value();
    control_.scratch_damage = damage.value_or(0);
  }

  const CandidateRun& run_;
  SharedRun& shared_;
  RunControl& control_;
  std::vector<GuardedMemory>& outputs_;
  GuardedMemory scratch_;
  KernelEntry call_ = nullptr;
  std::vector<void*> arguments_;
  int returned_ = 0;
  DisturbanceWatch watch_;
  bool was_disturbed_ = false;  // the latest call
  int64_t start_ns_ = 0;
  StoppingRule rule_;
  CacheEviction eviction_;  // of all arguments, before a cold call
  int64_t longest_ns_ = 0;  // from one batch of calls to the end of the next
};

}  // namespace

int RunInChild(const CandidateRun& run, SharedRun& shared, std::vector<GuardedMemory>& outputs) {
  RunControl& control = shared.control();
  InstallFaultHandler(control);
  SetUpOpenMp(run.threads, run.placement);
  Execution execution(run, shared, outputs);
  if (const std::string message = execution.Prepare(); !message.empty()) {
    return Fail(control, message);
  }
  if (const std::string message = execution.Perform(); !message.empty()) {
    return Fail(control, message);
  }
  control.done_token.store(shared.token);
  return 0;
}

}  // namespace mdh
