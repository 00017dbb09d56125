// The executor itself: everything here may be disturbed by kernels, and end with them.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/measure/executor/device_buffer.h"
#include "tuner/measure/executor/device_comparison.h"
#include "tuner/measure/executor/executor.h"
#include "tuner/measure/executor/executor_progress.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/measure/results/stopping_rule.h"
#include "tuner/measure/trial/buffer_sets.h"
#include "tuner/measure/trial/disturbance.h"
#include "tuner/measure/trial/run_control.h"
#include "tuner/process/clock.h"
#include "tuner/process/message_stream.h"

namespace mdh {
namespace {

// First calls that take longer count.
constexpr double kLongCall = 20e6;
// Larger inputs are compared by the host only after promising candidates.
constexpr int64_t kSmallBytes = int64_t{16} << 20;
constexpr int64_t kLeastFlushBytes = int64_t{64} << 20;

using Buffers = std::vector<DeviceBuffer>;

// The device with everything that stays between kernels.
struct OpenedDevice {
  std::unique_ptr<ComputeDevice> device;
  Buffers inputs;
  Buffers outputs;
  std::unique_ptr<DeviceComparison> comparison;
  // Of inputs and outputs that are compared on the device.
  std::map<size_t, KnownContents> known_inputs, known_outputs;
  // Of cold calls: what they use in turns, or, if there is no room for that, what goes through the
  // caches between them.
  std::optional<BufferSets> sets;
  std::unique_ptr<DeviceMemory> flush;
};

int64_t BytesOf(const ExecutorSetup& setup) {
  int64_t bytes = 0;
  for (const InputBuffer& input : setup.inputs) bytes += input.size_bytes;
  for (const OutputBuffer& output : setup.outputs) bytes += output.size_bytes;
  return bytes;
}

// Whether candidates have room enough beside second copies of everything.
bool HasRoomForCopies(const ExecutorSetup& setup, const DeviceDescription& device) {
  return BytesOf(setup) <= device.blocks.memory_bytes / 8;
}

// What is large, and known, is compared on the device from now on.
Status KeepCopies(const ExecutorSetup& setup, OpenedDevice& opened) {
  if (!setup.equality || !HasRoomForCopies(setup, opened.device->description())) {
    return absl::OkStatus();
  }
  MDH_ASSIGN_OR_RETURN(opened.comparison, DeviceComparison::Load(*opened.device, *setup.equality));
  const auto keep = [&](DeviceBuffer& buffer, absl::Span<const std::byte> contents, size_t number,
                        std::map<size_t, KnownContents>* all) -> Status {
    MDH_ASSIGN_OR_RETURN(
        KnownContents known,
        KnownContents::Create(*opened.device, *opened.comparison, buffer, contents));
    all->emplace(number, std::move(known));
    return absl::OkStatus();
  };
  for (size_t b = 0; b < setup.inputs.size(); ++b) {
    const InputBuffer& input = setup.inputs[b];
    const auto size = static_cast<size_t>(input.size_bytes);
    if (input.size_bytes < kLeastComparedBytes) continue;
    MDH_RETURN_IF_ERROR(keep(opened.inputs[b], {input.data, size}, b, &opened.known_inputs));
  }
  for (size_t b = 0; b < setup.right_outputs.size(); ++b) {
    const absl::Span<const std::byte> right = setup.right_outputs[b];
    if (static_cast<int64_t>(right.size()) < kLeastComparedBytes) continue;
    MDH_RETURN_IF_ERROR(opened.outputs[b].Write(right));
    MDH_RETURN_IF_ERROR(keep(opened.outputs[b], right, b, &opened.known_outputs));
  }
  return absl::OkStatus();
}

Status SetUp(const ExecutorSetup& setup, OpenedDevice& opened) {
  MDH_ASSIGN_OR_RETURN(opened.device, OpenAttachedDevice(setup.selector, setup.drivers));
  for (const InputBuffer& input : setup.inputs) {
    MDH_ASSIGN_OR_RETURN(
        DeviceBuffer buffer,
        DeviceBuffer::Create(*opened.device, "input " + input.name, input.size_bytes));
    MDH_RETURN_IF_ERROR(buffer.Write({input.data, static_cast<size_t>(input.size_bytes)}));
    opened.inputs.push_back(std::move(buffer));
  }
  for (const OutputBuffer& output : setup.outputs) {
    MDH_ASSIGN_OR_RETURN(
        DeviceBuffer buffer,
        DeviceBuffer::Create(*opened.device, "output " + output.name, output.size_bytes));
    opened.outputs.push_back(std::move(buffer));
  }
  // Without copies everything is as right, only slower.
  if (!KeepCopies(setup, opened).ok()) {
    opened.known_inputs.clear();
    opened.known_outputs.clear();
  }
  return absl::OkStatus();
}

// One kernel and the record of its calls.
class Performance {
 public:
  Performance(const ExecutorSetup& setup, ExecutorMemory& memory, OpenedDevice& opened,
              const v1::ExecutorRequest& request)
      : setup_(setup),
        memory_(memory),
        progress_(*reinterpret_cast<ExecutorProgress*>(memory.progress.data())),
        opened_(opened),
        request_(request),
        options_(FromMessage(request.options())),
        rule_(options_) {}

  v1::ExecutorResponse Perform() {
    Status status = Prepare();
    SharedCoresWatch cores;
    StolenTimeWatch stolen;
    if (computes_on_host()) {
      cores.Begin();
      stolen.Begin();
    }
    if (status.ok()) status = Call();
    progress_.done_calling_ns = NowNs();
    const bool were_cores_shared = cores.WereShared() || stolen.WasStolen();
    if (status.ok()) status = Check();
    if (!status.ok() && response_.outcome() == 0) Blame(status);
    if (response_.outcome() == 0) response_.set_outcome(static_cast<int>(TrialOutcome::kOk));
    response_.mutable_times_ns()->Add(rule_.times_ns().begin(), rule_.times_ns().end());
    response_.set_calls_per_time(batch_);
    response_.set_is_disturbed(were_cores_shared || rule_.is_disturbed() ||
                               opened_.device->IsHeldBack());
    return std::move(response_);
  }

 private:
  // Loads the kernel and makes its scratch memory and the sets of its arguments.
  Status Prepare() {
    const Kernel kernel = FromMessage(request_.kernel());
    if (kernel.launches.empty()) return Internal("the kernel has no launches");
    MDH_ASSIGN_OR_RETURN(program_, opened_.device->LoadBinary(kernel, request_.binary()));
    const KernelResources resources = program_->resources();
    response_.set_registers_per_thread(resources.registers_per_thread);
    response_.set_local_bytes_per_thread(resources.local_bytes_per_thread);
    response_.set_shared_bytes_per_block(resources.shared_bytes_per_block);
    DeviceArguments& own = sets_.emplace_back();
    for (const Buffers* buffers : {&opened_.inputs, &opened_.outputs}) {
      for (const DeviceBuffer& buffer : *buffers) own.push_back(buffer.memory());
    }
    if (is_cold()) MDH_RETURN_IF_ERROR(MakeCold());
    if (kernel.scratch_bytes > 0) {
      MDH_ASSIGN_OR_RETURN(
          scratch_, DeviceBuffer::Create(*opened_.device, "scratch memory", kernel.scratch_bytes));
      MDH_RETURN_IF_ERROR(scratch_->Fill(std::byte{0xFF}));
      for (DeviceArguments& set : sets_) set.push_back(scratch_->memory());
    }
    return absl::OkStatus();
  }

  bool is_cold() const { return options_.cache == CacheState::kCold; }

  // More sets of buffers than the caches hold or, if there is no room for them, what is written
  // between two calls.
  Status MakeCold() {
    const int64_t count = SetsBeyondCaches(BytesOf(setup_), opened_.device->description());
    if (!opened_.sets && opened_.flush == nullptr && count > 1) {
      Result<BufferSets> sets =
          BufferSets::Create(*opened_.device, setup_.inputs, setup_.outputs, count);
      if (!sets.ok() && !absl::IsResourceExhausted(sets.status())) return sets.status();
      if (sets.ok()) opened_.sets = *std::move(sets);
    }
    if (!opened_.sets) return MakeFlush();
    sets_.insert(sets_.end(), opened_.sets->others().begin(), opened_.sets->others().end());
    return absl::OkStatus();
  }

  Status MakeFlush() {
    if (opened_.flush != nullptr) return absl::OkStatus();
    const DeviceDescription& device = opened_.device->description();
    const int64_t bytes = std::max({kLeastFlushBytes, 2 * device.l2_bytes, 2 * device.l3_bytes});
    MDH_ASSIGN_OR_RETURN(opened_.flush, opened_.device->Allocate(bytes, 0));
    return absl::OkStatus();
  }

  // Nanoseconds of one call on the problem's own buffers, which are checked.
  Result<double> TimeChecked() { return TimeOn({&sets_[0], 1}, 1); }

  // Nanoseconds of one call, of `calls` that are timed together: on all sets in turn or, if there
  // are more of them than calls, on the next ones, which the caches have lost since their last
  // call.
  Result<double> Time(int64_t calls) {
    if (calls >= std::ssize(sets_)) return TimeOn(sets_, calls);
    std::vector<DeviceArguments> next;
    for (int64_t n = 0; n < calls; ++n) {
      next_set_ = (next_set_ + 1) % sets_.size();
      next.push_back(sets_[next_set_]);
    }
    return TimeOn(next, calls);
  }

  Result<double> TimeOn(absl::Span<const DeviceArguments> sets, int64_t calls) {
    if (opened_.flush != nullptr && is_cold()) {
      MDH_RETURN_IF_ERROR(opened_.flush->Fill(static_cast<std::byte>(++flushes_)));
    }
    const bool is_first = longest_ns_ == 0;  // which may take long
    if (computes_on_host()) watch_.Begin(std::llround(is_first ? kLongCall : longest_ns_));
    MDH_ASSIGN_OR_RETURN(const double all_ns, program_->Time(sets, calls));
    was_disturbed_ = computes_on_host() && watch_.WasDisturbed(std::llround(all_ns));
    // No clock is exact enough for nothing at all.
    return std::max(all_ns / static_cast<double>(calls), 1.0);
  }

  // Whether the threads of this process are the device.
  bool computes_on_host() const { return RunsOnHost(opened_.device->description()); }

  // Of the latest calls.
  void Record(double time_ns, int64_t calls) {
    rule_.Record(std::llround(time_ns), std::llround(time_ns * static_cast<double>(calls)),
                 was_disturbed_);
    longest_ns_ = std::max(longest_ns_, time_ns * static_cast<double>(calls));
  }

  Status Poison(std::byte poison) {
    for (size_t b = 0; b < opened_.outputs.size(); ++b) {
      MDH_RETURN_IF_ERROR(opened_.outputs[b].Fill(PoisonFor(setup_.outputs[b].type, poison)));
    }
    return absl::OkStatus();
  }

  // Copies all outputs but those that are right, whose numbers are added to `right`.
  template <typename Numbers>
  Status Save(std::vector<GuardedMemory>& copies, Numbers* right) {
    for (size_t b = 0; b < opened_.outputs.size(); ++b) {
      MDH_ASSIGN_OR_RETURN(const bool is_right, IsRight(b));
      if (is_right) {
        right->Add(static_cast<int>(b));
        continue;
      }
      MDH_RETURN_IF_ERROR(
          opened_.outputs[b].Read({copies[b].data(), static_cast<size_t>(copies[b].size())}));
    }
    return absl::OkStatus();
  }

  // Whether an output is known to be right, with its zones; false if only the parent can say.
  Result<bool> IsRight(size_t output) const {
    const auto known = opened_.known_outputs.find(output);
    if (known == opened_.known_outputs.end()) return false;
    const DeviceBuffer& buffer = opened_.outputs[output];
    MDH_ASSIGN_OR_RETURN(const std::optional<std::string> damage, buffer.DamageOfZones());
    if (damage) return false;
    return known->second.AreIn(buffer);
  }

  Status Call() {
    MDH_RETURN_IF_ERROR(Poison(kFirstPoison));
    start_ns_ = NowNs();
    progress_.calling_since_ns = start_ns_;
    MDH_ASSIGN_OR_RETURN(const double first_ns, TimeChecked());
    response_.set_first_ns(std::llround(first_ns));
    MDH_RETURN_IF_ERROR(Save(memory_.first, response_.mutable_right_at_first()));
    longest_ns_ = first_ns;
    is_long_ = first_ns > kLongCall;
    if (is_long_) Record(first_ns, 1);
    MDH_ASSIGN_OR_RETURN(const bool is_hopeless, IsHopeless(first_ns));
    if (!is_hopeless) MDH_RETURN_IF_ERROR(CallRepeatedly());
    if (is_hopeless && options_.best_so_far_ns > 0) is_promising_ = false;
    if (rule_.times_ns().empty()) Record(first_ns, 1);
    return absl::OkStatus();
  }

  // Whether the kernel is far slower than the best. May call it again to find out; sets the size
  // of batches.
  Result<bool> IsHopeless(double first_ns) {
    bool were_disturbed = was_disturbed_;  // all calls so far
    const auto outlook = [&](double call_ns, int64_t batch) {
      return OutlookAfterFirstCalls(options_, call_ns, batch, were_disturbed);
    };
    if (is_long_) return outlook(first_ns, 1) == Outlook::kHopeless;
    if (options_.max_repeats <= 0) return true;
    MDH_ASSIGN_OR_RETURN(const double second_ns, Time(1));
    were_disturbed = were_disturbed && was_disturbed_;
    const int64_t batch = CallsOfBatch(second_ns);
    const Outlook after_two = outlook(std::min(first_ns, second_ns), batch);
    if (after_two == Outlook::kHopeless) {
      Record(second_ns, 1);
      return true;
    }
    batch_ = batch;
    if (after_two == Outlook::kOpen) return false;
    MDH_ASSIGN_OR_RETURN(const double time_ns, Time(batch_));
    Record(time_ns, batch_);
    were_disturbed = was_disturbed_;
    return outlook(time_ns, 1) == Outlook::kHopeless;
  }

  // Calls that are timed together.
  int64_t CallsOfBatch(double call_ns) const {
    if (is_cold() && opened_.flush != nullptr) return 1;
    return CallsTimedTogether(call_ns, std::ssize(sets_), computes_on_host());
  }

  // Two more batches, one of them the final call, fit into the limit.
  bool HaveTime() const {
    const double passed_ns = static_cast<double>(NowNs() - start_ns_);
    return passed_ns + 3 * longest_ns_ < static_cast<double>(options_.run_limit_ns);
  }

  Status CallRepeatedly() {
    // Of a long kernel the final call is one of those that count.
    const bool counts_final = request_.final_call() && is_long_;
    while (!rule_.IsEnough(counts_final ? 1 : 0) && HaveTime()) {
      MDH_ASSIGN_OR_RETURN(const double time_ns, Time(batch_));
      Record(time_ns, batch_);
    }
    is_promising_ = rule_.IsPromising();
    if (!request_.final_call() || !HaveTime() || !is_promising_) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(Poison(kLastPoison));
    MDH_ASSIGN_OR_RETURN(const double last_ns, TimeChecked());
    MDH_RETURN_IF_ERROR(Save(memory_.last, response_.mutable_right_at_last()));
    progress_.have_last = true;
    if (counts_final && static_cast<int>(rule_.times_ns().size()) < options_.max_repeats) {
      Record(last_ns, 1);
    }
    return absl::OkStatus();
  }

  // What the parent cannot see: scratch memory and inputs. A kernel that writes there may have
  // written anywhere, and leaves nothing to rely on.
  Status Check() {
    std::vector<const DeviceBuffer*> guarded;
    if (scratch_) guarded.push_back(&*scratch_);
    for (const DeviceBuffer& input : opened_.inputs) guarded.push_back(&input);
    for (const DeviceBuffer* buffer : guarded) {
      MDH_ASSIGN_OR_RETURN(std::optional<std::string> damage, buffer->DamageOfZones());
      if (damage) return OutOfBounds(*damage);
    }
    for (size_t b = 0; b < opened_.inputs.size(); ++b) {
      const InputBuffer& input = setup_.inputs[b];
      const auto known = opened_.known_inputs.find(b);
      if (known != opened_.known_inputs.end()) {
        MDH_ASSIGN_OR_RETURN(const bool is_unchanged, known->second.AreIn(opened_.inputs[b]));
        if (is_unchanged) continue;
      } else if (!is_promising_ && input.size_bytes > kSmallBytes) {
        continue;
      }
      MDH_ASSIGN_OR_RETURN(
          const std::optional<std::string> difference,
          opened_.inputs[b].DifferenceFrom({input.data, static_cast<size_t>(input.size_bytes)}));
      if (difference) return OutOfBounds(*difference);
    }
    for (const DeviceBuffer& output : opened_.outputs) {
      MDH_ASSIGN_OR_RETURN(const std::optional<std::string> damage, output.DamageOfZones());
      if (damage) return OutOfBounds(*damage);
    }
    return absl::OkStatus();
  }

  Status OutOfBounds(const std::string& reason) {
    response_.set_outcome(static_cast<int>(TrialOutcome::kOutOfBounds));
    response_.set_reason(reason);
    response_.set_is_lost(true);
    return absl::OkStatus();
  }

  void Blame(const Status& status) {
    const bool is_called = progress_.calling_since_ns != 0;
    TrialOutcome outcome = is_called ? TrialOutcome::kCrash : TrialOutcome::kLaunchError;
    if (absl::IsResourceExhausted(status)) outcome = TrialOutcome::kOutOfResources;
    response_.set_outcome(static_cast<int>(outcome));
    response_.set_reason(std::string(status.message()));
    // Errors of kernels stick to the context, so that nothing works any more.
    response_.set_is_lost(outcome == TrialOutcome::kCrash);
  }

  const ExecutorSetup& setup_;
  ExecutorMemory& memory_;
  ExecutorProgress& progress_;
  OpenedDevice& opened_;
  const v1::ExecutorRequest& request_;
  const MeasureOptions options_;
  StoppingRule rule_;
  v1::ExecutorResponse response_;
  std::optional<DeviceBuffer> scratch_;
  std::unique_ptr<DeviceProgram> program_;
  std::vector<DeviceArguments> sets_;  // the first one: the problem's own buffers
  size_t next_set_ = 0;
  int64_t batch_ = 1;
  int64_t start_ns_ = 0;
  double longest_ns_ = 0;
  DisturbanceWatch watch_{BetweenCalls::kSleep};
  bool was_disturbed_ = false;  // the latest calls
  bool is_long_ = false;
  bool is_promising_ = true;
  int flushes_ = 0;
};

}  // namespace

int ServeExecutions(const ExecutorSetup& setup, ExecutorMemory& memory) {
  OpenedDevice opened;
  const Status status = SetUp(setup, opened);
  v1::ExecutorResponse ready;
  const TrialOutcome failure = absl::IsResourceExhausted(status) ? TrialOutcome::kOutOfResources
                                                                 : TrialOutcome::kLaunchError;
  ready.set_outcome(static_cast<int>(status.ok() ? TrialOutcome::kOk : failure));
  ready.set_reason(std::string(status.message()));
  bool is_lost = !status.ok();
  if (!SendMessage(kChildSocket, ready).ok()) return 1;
  v1::ExecutorRequest request;
  while (!is_lost && ReceiveMessage(kChildSocket, request).ok()) {
    const v1::ExecutorResponse response = Performance(setup, memory, opened, request).Perform();
    is_lost = response.is_lost();
    if (!SendMessage(kChildSocket, response).ok()) return 1;
  }
  // Without the drivers' own clean-up, which may hang or fail after what kernels did.
  _exit(0);
}

}  // namespace mdh
