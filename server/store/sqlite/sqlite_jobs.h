// Rows of jobs and of the trials in their journals. Errors are those of Store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/tuning.pb.h"
#include "server/store/sqlite/sqlite_database.h"
#include "server/store/store.h"

namespace mdh {

Result<InsertedJob> InsertJobRow(SqliteDatabase& database, const v1::TuningJob& job,
                                 const JobLease& lease, std::string_view twin_id);
Status UpdateJobRow(SqliteDatabase& database, const JobClaim& claim, const v1::TuningJob& job,
                    JobWish heard, std::string_view twin_id);
Result<v1::TuningJob> ReadJob(SqliteDatabase& database, int64_t number);
Result<std::optional<v1::TuningJob>> ReadJobByRequest(SqliteDatabase& database,
                                                      std::string_view request_id);
Result<std::vector<v1::TuningJob>> ReadJobs(SqliteDatabase& database, int64_t before, int limit,
                                            const JobFilter& filter);
Result<std::vector<v1::TuningJob>> ReadUnfinishedJobs(SqliteDatabase& database);
Result<std::vector<ClaimedJob>> ClaimJobRows(SqliteDatabase& database, const JobLease& lease,
                                             const ClaimRequest& request);
Result<std::vector<HeldJob>> RenewLeaseRows(SqliteDatabase& database, const JobLease& lease);
// That have not ended.
Result<int64_t> CountHeldJobs(SqliteDatabase& database, const std::string& owner);
Result<v1::TuningJob> WishOfJobRow(SqliteDatabase& database, int64_t number, JobWish wish);
Result<v1::TuningJob> WishMoreOfJobRow(SqliteDatabase& database, int64_t number,
                                       const Store::ChangeOfMore& change);
Status HeardMoreRow(SqliteDatabase& database, const JobClaim& claim, std::string_view more);

Status PutTrialRows(SqliteDatabase& database, const JobClaim& claim,
                    absl::Span<const v1::TuningTrial> trials);
Result<std::vector<v1::TuningTrial>> ReadTrials(SqliteDatabase& database, int64_t job,
                                                int64_t after, int limit);

// Numbers of the jobs that the retention gives up.
Result<std::vector<int64_t>> ReadForgettableJobs(SqliteDatabase& database,
                                                 const Retention& retention);
// Gives how many trials there were.
Result<int64_t> DeleteJobRows(SqliteDatabase& database, int64_t job);
Result<int64_t> CountTrials(SqliteDatabase& database, int64_t job);

}  // namespace mdh
