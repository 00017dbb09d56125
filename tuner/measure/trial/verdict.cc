// The order of the questions: did it end, did it end well, did it stay in bounds, is it right.
#include "tuner/measure/trial/verdict.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/shortened.h"
#include "tuner/measure/trial/run_control.h"

namespace mdh {
namespace {

Measurement Ended(const RunRecord& record, const CandidateRun& run) {
  if (record.interrupted) return CancelledMeasurement();
  if (record.timed_out || record.end.signal == SIGXCPU) {
    return Failed(TrialOutcome::kTimeout,
                  absl::StrFormat("did not end within %g s", run.options.run_limit_ns * 1e-9));
  }
  if (record.end.signal != 0) {
    return Failed(TrialOutcome::kCrash,
                  absl::StrCat(SignalName(record.end.signal), record.fault.empty() ? "" : ": ",
                               record.fault));
  }
  if (!record.message.empty()) return Failed(TrialOutcome::kLaunchError, record.message);
  if (record.phase == RunRecord::Phase::kLoading) {
    return Failed(TrialOutcome::kLaunchError,
                  absl::StrCat("loading the kernel ended the process with exit status ",
                               record.end.exit_code));
  }
  return Failed(TrialOutcome::kCrash, absl::StrCat("the kernel ended its process with exit status ",
                                                   record.end.exit_code));
}

bool WasFoundRight(const Snapshot& snapshot, size_t output) {
  return absl::c_linear_search(snapshot.found_right, static_cast<int>(output));
}

std::optional<Measurement> CheckBounds(const RunRecord& record, const CandidateRun& run,
                                       const Snapshot& snapshot) {
  const auto damaged = [](const std::string& name, int64_t offset, int64_t size) {
    const std::string where = offset < 0 ? absl::StrCat(-offset, " bytes in front of its start")
                                         : absl::StrCat(offset - size, " bytes behind its end");
    return Failed(TrialOutcome::kOutOfBounds,
                  absl::StrCat(name, " was overrun: byte ", offset, ", ", where, ", was written"));
  };
  for (size_t b = 0; b < run.outputs.size(); ++b) {
    if (WasFoundRight(snapshot, b)) continue;
    const int64_t size = run.outputs[b].size_bytes;
    const std::optional<int64_t> damage =
        FirstDamage(snapshot.accessible[b], record.data_offsets[b], size);
    if (damage) return damaged(absl::StrCat("output ", run.outputs[b].name), *damage, size);
  }
  if (record.scratch_damage) {
    return damaged("scratch memory", *record.scratch_damage, record.scratch_bytes);
  }
  return std::nullopt;
}

std::optional<Measurement> CheckResult(const RunRecord& record, const Snapshot& snapshot,
                                       absl::Span<const ReferenceBuffer> references) {
  for (size_t b = 0; b < references.size(); ++b) {
    if (WasFoundRight(snapshot, b)) continue;
    const std::byte poison = PoisonFor(references[b].type, snapshot.poison);
    const std::optional<Mismatch> mismatch = FirstMismatch(
        references[b], snapshot.accessible[b].data() + record.data_offsets[b], poison);
    if (!mismatch) continue;
    return Failed(
        TrialOutcome::kWrongResult,
        absl::StrCat(references[b].name, "[", mismatch->element, "]",
                     mismatch->field.empty() ? "" : absl::StrCat(".", mismatch->field),
                     " (linear index): expected ", mismatch->expected, ", got ", mismatch->got));
  }
  return std::nullopt;
}

}  // namespace

Measurement Failed(TrialOutcome outcome, std::string reason) {
  Measurement measurement;
  measurement.outcome = outcome;
  measurement.reason = Shortened(reason);
  return measurement;
}

Measurement CancelledMeasurement() { return Failed(TrialOutcome::kTimeout, "cancelled"); }

Measurement Judge(const RunRecord& record, const CandidateRun& run,
                  absl::Span<const ReferenceBuffer> references) {
  if (record.phase != RunRecord::Phase::kDone) return Ended(record, run);
  for (const std::optional<Snapshot>& snapshot : {record.first, record.last}) {
    if (!snapshot) continue;
    if (auto failed = CheckBounds(record, run, *snapshot)) return *std::move(failed);
    if (auto failed = CheckResult(record, *snapshot, references)) return *std::move(failed);
  }
  Measurement measurement;
  measurement.times_ns = record.times_ns;
  measurement.is_disturbed = record.is_disturbed;
  measurement.calls_per_time = record.calls_per_time;
  for (const ReferenceBuffer& reference : references) {
    measurement.check = std::max(measurement.check, reference.check);
  }
  return measurement;
}

}  // namespace mdh
