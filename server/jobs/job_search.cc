#include "server/jobs/job_search.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/schedule/schedule.h"
#include "proto/device_conversion.h"
#include "server/jobs/bound_audit.h"
#include "server/jobs/job.h"
#include "server/jobs/tuning_request.h"
#include "server/records/cache_state.h"
#include "server/records/certificate.h"
#include "server/records/kernel_key.h"
#include "server/records/kernel_prediction.h"
#include "server/records/resource_names.h"
#include "server/records/similar_records.h"
#include "server/records/timestamp.h"
#include "server/records/tuning_result_conversion.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/process/clock.h"
#include "tuner/run/trial_history.h"
#include "tuner/study/restrictions.h"

namespace mdh {
namespace {

// Records that a search starts from.
constexpr size_t kStartRecords = 3;
// What goes before a search takes longer than this only if peaks are measured.
constexpr int64_t kShortWhile = 300'000'000;

std::vector<StartPoint> StartPoints(const JobSearch& search, const DeviceDescription& device,
                                    const LookupTable& lookup_table) {
  std::vector<StartPoint> points;
  if (Result<TuningParameters> own = ParseTuningParameters(search.resume_from); own.ok()) {
    points.push_back({*std::move(own)});
  }
  for (const v1::TuningRecord& known :
       lookup_table.FindSimilar(search.key, kStartRecords, ToProto(device))) {
    // What an earlier run of this job has published is where it goes on from anyway.
    if (!points.empty() && known.is_provisional()) continue;
    Result<TuningParameters> start = ParametersFor(device, known);
    const std::optional<ExpressionShape> shape = ExpressionShape::Of(known.key().canonical_form());
    if (start.ok() && shape) points.push_back({*std::move(start), shape->sizes});
  }
  return points;
}

// The environment of one search.
class RunningSearch {
 public:
  RunningSearch(const JobSearch& search, const SearchTools& tools)
      : search_(search),
        tools_(tools),
        device_(search.leases().front()->held()),
        description_(device_.description()),
        audit_(search.expression, device_,
               static_cast<NumericsPolicy>(search.key.numerics_policy()),
               search.options.cache_state(), {tools.catalogue, tools.store, tools.metrics}) {}

  Result<v1::TuningRecord> Run() {
    if (const Result<v1::MachinePeaks> measured = tools_.catalogue.Peaks(device_); measured.ok()) {
      peaks_ = *measured;
    } else {
      spdlog::warn("device={} peaks are unknown: {}", device_.name(),
                   std::string(measured.status().message()));
    }
    const int64_t before_ns = NowNs() - start_ns_;
    if (before_ns > kShortWhile) before_search_ns_ = before_ns;
    const std::vector<DeviceLease*> leases = search_.leases();
    const std::vector<Runner*> runners(leases.begin(), leases.end());
    const auto on_trial = [this](const TuningProgress& progress) {
      trials_ = progress.trials;
      search_.on_trial(progress);
      peaks_ = audit_.Check(progress.trial->measurement, peaks_);
      PublishIfBest(progress);
    };
    MDH_ASSIGN_OR_RETURN(const TuningOptions options, Options());
    MDH_ASSIGN_OR_RETURN(
        const TuningResult result,
        tools_.tune(search_.expression, runners, options, on_trial, search_.cancelled));
    for (const DeviceLease* lease : search_.leases()) {
      const Result<v1::MachinePeaks> reached = tools_.catalogue.ReachedPeaks(lease->held());
      if (reached.ok()) peaks_ = *reached;
    }
    MDH_RETURN_IF_ERROR(CheckCompilers());
    v1::TuningRecord record = MakeRecord(search_.expression, search_.key, description_, result);
    record.set_search_end(search_.cancelled ? v1::SEARCH_END_CANCELLED : v1::SEARCH_END_BUDGET);
    const bool is_incomplete = !result.incomplete.ok() && !search_.cancelled;
    const bool goes_on = is_incomplete && !search_.is_last_run;
    record.set_is_provisional(search_.is_interrupted() || goes_on);
    // So that it is measured again when the machine has what it lacked.
    if (is_incomplete && !goes_on) record.set_is_disturbed(true);
    AddEffort(result, record);
    AddProof(result, record);
    record = Put(std::move(record), MakeKernel(search_.key, result.kernel, description_));
    // Whatever it was, there is more to be had from another run.
    if (goes_on) return absl::UnavailableError(result.incomplete.message());
    return record;
  }

 private:
  // What is left of the budget: the search is not the first that needs time.
  AbortCondition AbortOf(v1::TuningOptions options) const {
    options.set_budget_ns(std::max<int64_t>(1, options.budget_ns() - before_search_ns_));
    return FromProto(options).abort;
  }

  // Of all searches for the key before this one; a new one also stands behind what it may replace.
  int64_t TimeBefore() const {
    if (search_.made_before.time_ns > 0) return search_.made_before.time_ns;
    const Result<v1::TuningRecord> known = tools_.lookup_table.FindRecord(search_.key);
    const bool is_same = known.ok() && !known->is_provisional() &&
                         IsCold(known->cache_state()) == IsCold(search_.options.cache_state());
    return is_same ? EffortBehind(*known).time_ns : 0;
  }

  // Of this search and what was there before. One that was ended by its budget has used it up.
  void AddEffort(const TuningResult& result, v1::TuningRecord& record) const {
    const bool is_used_up = !search_.cancelled && !result.is_exhausted &&
                            (limits_.max_trials() == 0 || trials_ < limits_.max_trials());
    const int64_t own_ns = before_search_ns_ + result.elapsed_ns;
    const int64_t used_ns = is_used_up ? std::max(own_ns, limits_.budget_ns()) : own_ns;
    record.set_total_search_time_ns(TimeBefore() + used_ns);
    record.set_trials(std::max(result.trials, search_.made_before.trials + trials_));
    record.set_is_exhausted(result.is_exhausted);
    record.set_result_check(static_cast<v1::ResultCheck>(result.measurement.check));
  }

  // What the search has proven of its space.
  void AddProof(const TuningResult& result, v1::TuningRecord& record) {
    if (result.cut.is_contradicted) audit_.CountViolation();
    if (result.cut.space_count > 0) {
      record.mutable_certificate()->set_space_count(result.cut.space_count.get_str());
    }
    if (result.cut.space_bound <= 0) return;
    record.mutable_certificate()->set_proven_worse_count(result.cut.proven_worse.get_str());
    record.mutable_certificate()->set_is_whole(result.cut.is_whole);
    record.mutable_certificate()->set_gap(search_.options.gap());
    record.mutable_certificate()->set_space_bound_ns(result.cut.space_bound);
  }

  Result<TuningOptions> Options() {
    TuningOptions options = FromProto(search_.options);
    if (!search_.options.schedule().empty()) {
      MDH_ASSIGN_OR_RETURN(options.schedule,
                           Schedule::Parse(search_.options.schedule(), search_.expression,
                                           TuningModel(description_.kind)));
    }
    MDH_ASSIGN_OR_RETURN(options.restrictions, ReadRestrictions(search_.options.restrictions()));
    if (!search_.options.without_cut()) options.bounds = audit_.FactsWith(peaks_);
    options.abort = AbortOf(search_.options);
    options.on_step = search_.on_step;
    if (search_.extension) {
      options.extension = [this]() -> std::optional<AbortCondition> {
        std::optional<v1::TuningOptions> extended = search_.extension();
        if (!extended) return std::nullopt;
        limits_ = *std::move(extended);
        return AbortOf(limits_);
      };
    }
    options.start = StartPoints(search_, description_, tools_.lookup_table);
    options.joining = search_.joining;
    if (TrialJournal* journal = search_.journal; journal != nullptr) {
      options.on_start = [journal, helped = search_.helped](const TuningParameters& parameters,
                                                            const std::string& identity) {
        journal->Begin(parameters, identity);
        if (helped != nullptr) helped->Note(parameters, identity);
      };
      options.known = [journal](const std::string& identity) { return journal->Known(identity); };
    }
    return options;
  }

  // Stores the latest trial if it is the best so far and nothing better founded is known. That it
  // is plausible its runner has found, which measures the peaks again where they may have been
  // taken on a busy machine; peaks_ are those from before the search.
  void PublishIfBest(const TuningProgress& progress) {
    const Trial& trial = *progress.trial;
    const bool is_best = trial.measurement.outcome == TrialOutcome::kOk && progress.best_ns > 0 &&
                         (published_ns_ == 0 || progress.best_ns < published_ns_) &&
                         SearchTime(trial.measurement) == progress.best_ns;
    if (!is_best) return;
    const Result<v1::TuningRecord> known = tools_.lookup_table.FindRecord(search_.key);
    if ((known.ok() && !known->is_provisional()) || !CheckCompilers().ok()) return;
    Result<PredictedKernel> made =
        KernelWithParameters(search_.expression, description_, search_.key, trial.parameters);
    if (!made.ok()) return;
    published_ns_ = progress.best_ns;
    const std::string id = KernelId(search_.key);
    made->kernel.set_name(KernelName(id));
    v1::TuningRecord& record = made->record;
    record.set_name(RecordName(id));
    record.set_time_ns(trial.measurement.time_ns());
    record.set_is_disturbed(trial.measurement.is_disturbed);
    record.set_trials(progress.trials);
    record.set_failed_trials(progress.failed_trials);
    record.set_search_time_ns(progress.elapsed_ns);
    record.set_is_provisional(true);
    record.set_result_check(static_cast<v1::ResultCheck>(trial.measurement.check));
    Put(std::move(record), made->kernel);
  }

  Status CheckCompilers() const { return mdh::CheckCompilers(search_.leases()); }

  v1::TuningRecord Put(v1::TuningRecord record, const v1::Kernel& kernel) {
    return PutFound(std::move(record), kernel,
                    {.computation = search_.expression,
                     .options = search_.options,
                     .device = audit_.device(),
                     .peaks = peaks_,
                     .leases = search_.leases(),
                     .helpers = search_.helped == nullptr ? std::set<std::string>()
                                                          : search_.helped->helpers()},
                    tools_);
  }

  const JobSearch& search_;
  const SearchTools& tools_;
  TuningDevice& device_;
  const DeviceDescription description_;
  BoundAudit audit_;
  v1::MachinePeaks peaks_;
  int64_t published_ns_ = 0;  // of the trial that was stored last
  const int64_t start_ns_ = NowNs();
  int64_t before_search_ns_ = 0;  // until Tune was called
  v1::TuningOptions limits_ = search_.options;
  int64_t trials_ = 0;  // of this run
};

// What is found in a part of what a key allows is the key's record, too, if it is faster; or, as a
// provisional one, until there is one that was searched for. The search does not stand behind it.
StoredResult AsGiven(const v1::KernelKey& key, v1::TuningRecord record, v1::Kernel kernel,
                     const SearchTools& tools) {
  *record.mutable_key() = key;
  const Result<v1::TuningRecord> known = tools.lookup_table.FindRecord(key);
  const bool is_searched = known.ok() && !known->is_provisional();
  record.set_is_provisional(!is_searched);
  record.set_is_exhausted(is_searched && known->is_exhausted());
  record.set_total_search_time_ns(is_searched ? EffortBehind(*known).time_ns : 0);
  const std::string id = KernelId(record.key());
  record.set_name(RecordName(id));
  kernel.set_name(KernelName(id));
  return {.record = std::move(record), .kernel = std::move(kernel), .is_given = true};
}

// What cannot be stored is stored later. Gives the record that there is now.
v1::TuningRecord PutOrKeep(StoredResult result, const SearchTools& tools) {
  Result<v1::TuningRecord> stored = PutInto(tools.store, result);
  if (stored.ok()) return *std::move(stored);
  spdlog::error("{} {}; it is stored later", result.record.name(),
                std::string(stored.status().message()));
  tools.unsaved.Put(result);
  return std::move(result.record);
}

}  // namespace

Status CheckCompilers(absl::Span<DeviceLease* const> leases) {
  for (const DeviceLease* lease : leases) {
    if (!lease->held().HasNewCompilers()) continue;
    return absl::UnavailableError(absl::StrCat("a compiler of ", lease->held().name(),
                                               " was replaced while kernels were measured"));
  }
  return absl::OkStatus();
}

v1::TuningRecord PutFound(v1::TuningRecord record, const v1::Kernel& kernel,
                          const FoundResult& found, const SearchTools& tools) {
  *record.mutable_peaks() = found.peaks;
  *record.mutable_device() = ToProto(found.device);
  record.set_technique(found.options.technique());
  record.set_seed(found.options.seed());
  const bool is_cold = IsCold(found.options.cache_state());
  record.set_cache_state(is_cold ? v1::CACHE_STATE_COLD : v1::CACHE_STATE_WARM);
  if (is_cold) record.set_fits_in_cache(false);
  // One that was taken back and came again has two leases.
  std::set<std::string> names;
  for (const DeviceLease* lease : found.leases) {
    if (names.insert(lease->held().name()).second) record.add_device_names(lease->held().name());
  }
  for (const std::string& helper : found.helpers) record.add_device_names(helper);
  *record.mutable_create_time() = ToProto(tools.now());
  // Beside what the search has proven, if there was one.
  record.mutable_certificate()->MergeFrom(CertificateOf(
      found.computation, found.device, RatesOf(found.device, FromMessage(found.peaks)), record));
  if (!record.key().schedule().empty() && !record.is_provisional()) {
    PutOrKeep(AsGiven(FreeKey(record.key()), record, kernel, tools), tools);
  }
  if (!found.options.restrictions().empty()) {
    return PutOrKeep(AsGiven(record.key(), record, kernel, tools), tools);
  }
  return PutOrKeep({.record = std::move(record), .kernel = kernel}, tools);
}

Result<v1::TuningRecord> SearchAndStore(const JobSearch& search, const SearchTools& tools) {
  return RunningSearch(search, tools).Run();
}

}  // namespace mdh
