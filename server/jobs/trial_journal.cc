#include "server/jobs/trial_journal.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/expression/canonical.h"
#include "server/jobs/job.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"
#include "tuner/run/trial_history.h"

namespace mdh {
namespace {

constexpr size_t kDigestDigits = 32;
// Reasons of failures are whole outputs of compilers; longer ones are cut.
constexpr size_t kMaxReasonBytes = 1'000;
constexpr int kMostEarlierJobs = 20;

bool IsOk(const v1::TuningTrial& trial) { return trial.outcome() == Name(TrialOutcome::kOk); }

// nullopt for outcomes that depended on the moment: a time-out, a device that died.
std::optional<Measurement> ToldAgain(const v1::TuningTrial& trial) {
  Measurement measurement;
  measurement.reason = trial.reason();
  if (IsOk(trial)) {
    measurement.times_ns = {trial.time_ns()};
    return measurement;
  }
  for (const TrialOutcome outcome : {TrialOutcome::kCompileError, TrialOutcome::kWrongResult}) {
    if (trial.outcome() != Name(outcome)) continue;
    measurement.outcome = outcome;
    return measurement;
  }
  return std::nullopt;
}

}  // namespace

JournalSummary SummarizeTrials(const std::vector<v1::TuningTrial>& trials) {
  JournalSummary summary;
  v1::TuningProgress& progress = summary.progress;
  for (const v1::TuningTrial& trial : trials) {
    summary.latest_number = std::max(summary.latest_number, trial.number());
    // One that was running when the daemon ended has shown nothing.
    if (trial.outcome().empty()) continue;
    progress.set_trials(progress.trials() + 1);
    progress.set_elapsed_ns(std::max(progress.elapsed_ns(), trial.elapsed_ns()));
    progress.set_device_time_ns(std::max(progress.device_time_ns(), trial.device_time_ns()));
    if (!IsOk(trial)) {
      progress.set_failed_trials(progress.failed_trials() + 1);
    } else if (progress.best_time_ns() == 0 || trial.time_ns() < progress.best_time_ns()) {
      progress.set_best_time_ns(trial.time_ns());
      progress.set_best_parameters(trial.parameters());
    }
    std::optional<Measurement> known = ToldAgain(trial);
    if (known && !trial.kernel_digest().empty()) {
      summary.known[trial.kernel_digest()] = *std::move(known);
    }
  }
  return summary;
}

Status AddEarlierJobs(Store& store, int64_t job, const v1::KernelKey& key,
                      JournalSummary& summary) {
  const std::string key_id = KernelId(key);
  MDH_ASSIGN_OR_RETURN(
      const std::vector<v1::TuningJob> earlier,
      store.ListJobs(job, kMostEarlierJobs, {.expression = key.expression_digest()}));
  for (const v1::TuningJob& other : earlier) {
    if (KernelId(other.key()) != key_id) continue;
    MDH_ASSIGN_OR_RETURN(const int64_t number, ParseJobName(other.name()));
    MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningTrial> trials, store.ListTrials(number, 0, 0));
    // What was measured later stays.
    summary.known.merge(SummarizeTrials(trials).known);
  }
  return absl::OkStatus();
}

std::string TrialJournal::Digest(const std::string& identity) const {
  return Sha256Hex(absl::StrCat(key_id_, "\n", identity)).substr(0, kDigestDigits);
}

void TrialJournal::Begin(const TuningParameters& parameters, const std::string& identity) {
  v1::TuningTrial trial;
  trial.set_number(++summary_.latest_number);
  trial.set_parameters(ToText(parameters));
  trial.set_kernel_digest(Digest(identity));
  *trial.mutable_start_time() = ToProto(now_());
  Write(trial);
  running_[trial.kernel_digest()] = std::move(trial);
}

void TrialJournal::End(const Trial& trial, const v1::TuningProgress& progress,
                       const std::string& device) {
  v1::TuningTrial ended;
  const std::string digest = trial.identity.empty() ? "" : Digest(trial.identity);
  const auto begun = running_.find(digest);
  if (begun != running_.end()) {
    ended = std::move(begun->second);
    running_.erase(begun);
  } else {
    // Nothing had to run for it: no code, or the code of another configuration.
    ended.set_number(++summary_.latest_number);
    ended.set_kernel_digest(digest);
    *ended.mutable_start_time() = ToProto(now_());
  }
  ended.set_parameters(ToText(trial.parameters));
  ended.set_device(device);
  ended.set_outcome(std::string(Name(trial.measurement.outcome)));
  ended.set_reason(trial.measurement.reason.substr(0, kMaxReasonBytes));
  ended.set_time_ns(SearchTime(trial.measurement));
  ended.set_elapsed_ns(progress.elapsed_ns());
  ended.set_device_time_ns(progress.device_time_ns());
  *ended.mutable_end_time() = ToProto(now_());
  Write(ended);
}

const Measurement* TrialJournal::Known(const std::string& identity) const {
  if (summary_.known.empty()) return nullptr;
  const auto known = summary_.known.find(Digest(identity));
  return known == summary_.known.end() ? nullptr : &known->second;
}

void TrialJournal::Write(const v1::TuningTrial& trial) {
  unwritten_.push_back(trial);
  const Status written = store_.PutTrials(job_, unwritten_);
  if (written.ok()) {
    unwritten_.clear();
  } else if (unwritten_.size() == 1) {
    spdlog::error("job={} trial={} {}; it is stored later", job_.number, trial.number(),
                  std::string(written.message()));
  }
}

}  // namespace mdh
