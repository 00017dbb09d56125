// Changes what a store has behind the back of who works on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/store/store.h"
#include "server/store/study_store.h"

namespace mdh {

// As `owner`, which begins anew.
inline Status WriteJob(Store& store, int64_t number, const v1::TuningJob& job,
                       const std::string& owner = "mdhd") {
  MDH_ASSIGN_OR_RETURN(
      const std::vector<ClaimedJob> claimed,
      store.ClaimJobs({owner, absl::Minutes(10)}, {.takes_own = true, .number = number}));
  if (claimed.empty()) return absl::FailedPreconditionError("the job is another's, or has ended");
  return store.UpdateJob(claimed.front().claim, job);
}

// These two whatever the version of the study.
inline Status WriteTrials(StudyStore& store, int64_t number, const v1::Study& study,
                          absl::Span<const JournalTrial> trials) {
  MDH_ASSIGN_OR_RETURN(const StoredStudy stored, store.GetStudy(number));
  return store.PutTrials(number, stored.version, study, trials).status();
}
inline Result<std::vector<JournalTrial>> ReadTrials(StudyStore& store, int64_t number) {
  MDH_ASSIGN_OR_RETURN(const StoredStudy stored, store.GetStudy(number));
  return store.AllTrials(number, stored.version);
}

}  // namespace mdh
