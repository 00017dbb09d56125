// From what a run left behind to a measurement: outcome and reason.
#pragma once

#include "absl/types/span.h"
#include "tuner/measure/results/comparison.h"
#include "tuner/measure/results/measurement.h"
#include "tuner/measure/trial/candidate_run.h"

namespace mdh {

// `references`: one per output.
Measurement Judge(const RunRecord& record, const CandidateRun& run,
                  absl::Span<const ReferenceBuffer> references);

// A measurement of a candidate that failed.
Measurement Failed(TrialOutcome outcome, std::string reason);

// What a caller who interrupts gets for candidates that were not measured.
Measurement CancelledMeasurement();

}  // namespace mdh
