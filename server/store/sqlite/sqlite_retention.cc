#include "server/store/sqlite/sqlite_retention.h"

#include <cstdint>
#include <string>
#include <utility>

#include "server/store/sqlite/sqlite_jobs.h"

namespace mdh {

Result<v1::CollectGarbageResponse> ForgetRows(SqliteDatabase& database, const Retention& retention,
                                              std::vector<ChangedRecord>& changes) {
  v1::CollectGarbageResponse forgotten;
  MDH_ASSIGN_OR_RETURN(const std::vector<int64_t> jobs, ReadForgettableJobs(database, retention));
  int64_t trials = 0;
  for (const int64_t job : jobs) {
    MDH_ASSIGN_OR_RETURN(const int64_t own, retention.only_count ? CountTrials(database, job)
                                                                 : DeleteJobRows(database, job));
    trials += own;
  }
  MDH_ASSIGN_OR_RETURN(const std::vector<std::string> records,
                       ReadReplacedResults(database, retention.generator_version));
  for (const std::string& id : records) {
    if (retention.only_count) continue;
    MDH_ASSIGN_OR_RETURN(ChangedRecord changed, RemoveResultRows(database, id));
    changes.push_back(std::move(changed));
  }
  forgotten.set_jobs(static_cast<int64_t>(jobs.size()));
  forgotten.set_trials(trials);
  forgotten.set_records(static_cast<int64_t>(records.size()));
  return forgotten;
}

}  // namespace mdh
