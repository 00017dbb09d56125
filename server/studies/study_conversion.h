// Trials of studies between the messages, the journal and the search.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "server/store/study_store.h"
#include "tuner/study/study.h"

namespace mdh {

// Longer texts of failures are cut.
inline constexpr int kMaxFailureBytes = 4096;

// Errors: InvalidArgument for trials with neither a cost nor a failure, or with both.
Result<std::vector<ToldOutcome>> OutcomesOf(const v1::TellTrialsRequest& request);

// The first `max_bytes` bytes of a text in UTF-8, or a little less, so that no character is cut.
std::string CutText(const std::string& text, int max_bytes);

JournalTrial ToJournal(const LeasedTrial& trial, absl::Span<const TuningParameter> parameters);
// `failure`: what the client says; ignored if there is a cost.
JournalTrial ToJournal(const ToldTrial& trial, const std::string& failure,
                       absl::Span<const TuningParameter> parameters);
// Errors: FailedPrecondition for configurations that the parameters do not have.
Result<StudyJournal> FromJournal(const v1::Study& study, const std::vector<JournalTrial>& trials,
                                 absl::Span<const TuningParameter> parameters);

// Brings what changes of a study up to date.
void Summarize(const Study& study, v1::Study& summary);

}  // namespace mdh
