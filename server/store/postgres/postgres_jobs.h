// Rows of jobs and of the trials in their journals. Leases run by the server's clock. Errors are
// those of Store.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/tuning.pb.h"
#include "server/store/postgres/postgres_connection.h"
#include "server/store/store.h"

namespace mdh::postgres {

Result<InsertedJob> InsertJob(PostgresConnection& connection, const v1::TuningJob& job,
                              const JobLease& lease, std::string_view twin_id);
Status UpdateJob(PostgresConnection& connection, const JobClaim& claim, const v1::TuningJob& job,
                 JobWish heard, std::string_view twin_id);
Result<v1::TuningJob> GetJob(PostgresConnection& connection, int64_t number);
Result<std::optional<v1::TuningJob>> FindJobByRequest(PostgresConnection& connection,
                                                      std::string_view request_id);
Result<std::vector<v1::TuningJob>> ListJobs(PostgresConnection& connection, int64_t before,
                                            int limit, const JobFilter& filter);
Result<std::vector<v1::TuningJob>> UnfinishedJobs(PostgresConnection& connection);
Result<std::vector<ClaimedJob>> ClaimJobs(PostgresConnection& connection, const JobLease& lease,
                                          const ClaimRequest& request);
Result<std::vector<HeldJob>> RenewLeases(PostgresConnection& connection, const JobLease& lease);
Result<v1::TuningJob> WishOfJob(PostgresConnection& connection, int64_t number, JobWish wish);
Result<v1::TuningJob> WishMoreOfJob(PostgresConnection& connection, int64_t number,
                                    const Store::ChangeOfMore& change);
Status HeardMore(PostgresConnection& connection, const JobClaim& claim, std::string_view more);

Status PutTrials(PostgresConnection& connection, const JobClaim& claim,
                 absl::Span<const v1::TuningTrial> trials);
Result<std::vector<v1::TuningTrial>> ListTrials(PostgresConnection& connection, int64_t job,
                                                int64_t after, int limit);

}  // namespace mdh::postgres
