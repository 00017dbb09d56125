#include "server/jobs/remeasurer.h"

#include <spdlog/spdlog.h>

#include <fstream>
#include <utility>

#include "core/base/start_thread.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/schedule_key.h"
#include "core/text/computation_text.h"
#include "server/jobs/job_request.h"
#include "server/jobs/tuning_request.h"
#include "server/operate/steady_time.h"
#include "server/records/kernel_key.h"
#include "server/records/wire_reader.h"

namespace mdh {
namespace {

constexpr char kSource[] = "mdhd";
// Enough for the default, the record and what is near it, once more and with patience.
constexpr int64_t kBudget = 5'000'000'000;
constexpr int64_t kTrials = 6;

// The schedule of a key, as options have it.
Result<std::string> ScheduleWithNames(const std::string& of_key, const Computation& computation,
                                      const DeviceDescription& device) {
  const SystemModel model = TuningModel(device.kind);
  if (const auto* const pipeline = std::get_if<Pipeline>(&computation)) {
    MDH_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                         PipelineSchedule::OfKey(of_key, *pipeline, model));
    return schedule.CanonicalText();
  }
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       ScheduleOfKey(of_key, std::get<Expression>(computation), model));
  return schedule.CanonicalText();
}

}  // namespace

std::optional<HostTicks> ReadHostTicks() {
  std::ifstream stat("/proc/stat");
  std::string name;
  // The order of proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
  int64_t field[8] = {};
  stat >> name;
  for (int64_t& ticks : field) stat >> ticks;
  if (!stat || name != "cpu") return std::nullopt;
  HostTicks ticks;
  for (const int64_t t : field) ticks.all += t;
  ticks.busy = ticks.all - field[3] - field[4];
  return ticks;
}

bool IsMarkedAsDisturbed(std::string_view record) {
  bool is_marked = false;
  for (WireReader reader(record); reader.Next();) {
    if (reader.number() == v1::TuningRecord::kIsDisturbedFieldNumber) {
      is_marked = reader.is_varint() && reader.varint() != 0;
    }
  }
  return is_marked;
}

Remeasurer::Remeasurer(LookupTable& lookup_table, DeviceCatalogue& catalogue, JobQueue& jobs,
                       RemeasurerOptions options)
    : lookup_table_(lookup_table),
      catalogue_(catalogue),
      jobs_(jobs),
      options_(std::move(options)) {}

Result<std::unique_ptr<Remeasurer>> Remeasurer::Start(LookupTable& lookup_table,
                                                      DeviceCatalogue& catalogue, JobQueue& jobs,
                                                      RemeasurerOptions options) {
  std::unique_ptr<Remeasurer> remeasurer(
      new Remeasurer(lookup_table, catalogue, jobs, std::move(options)));
  MDH_ASSIGN_OR_RETURN(remeasurer->thread_,
                       StartThread([remeasurer = remeasurer.get()] { remeasurer->Work(); }));
  return remeasurer;
}

Remeasurer::~Remeasurer() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Remeasurer::Note(const v1::TuningRecord& record, bool is_there) {
  absl::MutexLock lock(&mutex_);
  if (!is_there || !record.is_disturbed() || record.is_provisional() || record.is_pinned()) {
    pending_.erase(record.name());
    return;
  }
  const auto [found, is_new] = pending_.try_emplace(record.name());
  if (!is_new) return;
  found->second.key = record.key();
  found->second.retry = options_.first_retry;
}

size_t Remeasurer::pending() const {
  absl::MutexLock lock(&mutex_);
  return pending_.size();
}

void Remeasurer::Work() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), options_.period);
      if (is_stopping_) return;
    }
    if (IsQuiet() && !MeasurePeaks()) MeasureOneRecord();
  }
}

bool Remeasurer::IsQuiet() {
  const std::optional<HostTicks> now = options_.ticks();
  const std::optional<HostTicks> before = std::exchange(last_ticks_, now);
  if (!now || !before || now->all <= before->all) return false;
  return static_cast<double>(now->busy - before->busy) <=
         options_.most_busy * static_cast<double>(now->all - before->all);
}

bool Remeasurer::MeasurePeaks() {
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    const std::optional<v1::MachinePeaks> known = catalogue_.MeasuredPeaks(device->fingerprint());
    if (!known || !known->is_disturbed() || !device->TryHold("")) continue;
    const Result<v1::MachinePeaks> peaks = catalogue_.MeasurePeaksAgain(*device);
    device->Release();
    if (peaks.ok()) {
      spdlog::info("device={} peaks measured again: {}", device->name(),
                   peaks->is_disturbed() ? "still disturbed" : "undisturbed");
    } else {
      spdlog::warn("device={} peaks: {}", device->name(), std::string(peaks.status().message()));
    }
    return true;
  }
  return false;
}

void Remeasurer::MeasureOneRecord() {
  const std::optional<v1::KernelKey> key = TakeDue();
  if (!key) return;
  const Result<v1::TuningRecord> record = lookup_table_.FindRecord(*key);
  TuningDevice* const device = FreeDeviceFor(*key);
  if (!record.ok() || device == nullptr) return;
  Result<Computation> computation = ParsePrinted(record->expression_text());
  v1::TuningOptions options;
  options.set_budget_ns(kBudget);
  options.set_max_trials(kTrials);
  options.set_numerics_policy(key->numerics_policy());
  options.set_cache_state(record->cache_state());
  Result<v1::TuningOptions> checked = CheckTuningOptions(options);
  if (!computation.ok() || !checked.ok()) return;
  if (!key->schedule().empty()) {
    const Result<std::string> schedule =
        ScheduleWithNames(key->schedule(), *computation, device->description());
    if (!schedule.ok()) return;
    checked->set_schedule(*schedule);
  }
  const Result<v1::CreateTuningJobResponse> created =
      jobs_.Create({.computation = *std::move(computation),
                    .options = *std::move(checked),
                    .key_schedule = key->schedule(),
                    .force = true,
                    .devices = {device},
                    .source = kSource,
                    .priority = -kMaxPriority});
  if (created.ok()) {
    spdlog::info("record={} was disturbed and is measured again: job={}", record->name(),
                 created->job().name());
  }
}

std::optional<v1::KernelKey> Remeasurer::TakeDue() {
  const JobQueue::Counts jobs = jobs_.CountJobs();
  if (jobs.queued + jobs.running > 0) return std::nullopt;
  const absl::Time now = SteadyTime();
  absl::MutexLock lock(&mutex_);
  for (auto& [name, pending] : pending_) {
    if (pending.next > now || FreeDeviceFor(pending.key) == nullptr) continue;
    pending.next = now + pending.retry;
    pending.retry *= 2;
    return pending.key;
  }
  return std::nullopt;
}

TuningDevice* Remeasurer::FreeDeviceFor(const v1::KernelKey& key) const {
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    const KeyEnvironment& here = device->environment();
    const bool is_of_key = here.device_fingerprint == key.device_fingerprint() &&
                           here.compiler == key.compiler() &&
                           key.generator_version() == kGeneratorVersion;
    if (is_of_key && device->CanTune().ok() && device->IsFree()) return device.get();
  }
  return nullptr;
}

}  // namespace mdh
