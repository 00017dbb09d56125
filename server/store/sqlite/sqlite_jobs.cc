#include "server/store/sqlite/sqlite_jobs.h"

#include <google/protobuf/util/time_util.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/clock.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_connection.h"

namespace mdh {
namespace {

Status NoJob(int64_t number) { return NotFound("there is no job ", number); }

Status TakenByAnother(const JobClaim& claim) {
  return Aborted(JobName(claim.number), " was taken over by another");
}

// On the clock of this machine, which whoever has the file open runs on.
int64_t EndOf(const JobLease& lease) { return absl::ToUnixNanos(absl::Now() + lease.duration); }

int64_t EndedNs(const v1::TuningJob& job) {
  return google::protobuf::util::TimeUtil::TimestampToNanoseconds(job.end_time());
}

// What ParseJob reads.
#define MDH_JOB_COLUMNS "number, job, crc32 = crc32(job)"

// A job from the columns above, which are the first of a row.
Result<v1::TuningJob> ParseJob(const SqliteStatement& row) {
  Result<v1::TuningJob> parsed = ParseChecked<v1::TuningJob>(row, 1, "job");
  if (!parsed.ok()) {
    return FailedPrecondition(JobName(row.Integer(0)),
                              " cannot be read: ", std::string(parsed.status().message()));
  }
  v1::TuningJob job = *std::move(parsed);
  job.set_name(JobName(row.Integer(0)));
  return job;
}

// Those that fit. A row that cannot be read is left out: it must not hide the others.
Result<std::vector<v1::TuningJob>> ParseJobs(SqliteStatement& rows, int limit,
                                             const JobFilter& filter) {
  std::vector<v1::TuningJob> jobs;
  while (limit == 0 || static_cast<int>(jobs.size()) < limit) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, rows.Step());
    if (!has_row) break;
    Result<v1::TuningJob> job = ParseJob(rows);
    if (!job.ok()) spdlog::error("{}", std::string(job.status().message()));
    if (job.ok() && filter.Fits(*job)) jobs.push_back(*std::move(job));
  }
  return jobs;
}

// The job that has not ended with that twin_id. Errors: AlreadyExists if that is not what is asked
// for: there is a job for the request.
Result<std::optional<JobClaim>> FindTwin(SqliteDatabase& database, const v1::TuningJob& job,
                                         std::string_view twin_id) {
  // Nobody can join one that cannot be read.
  MDH_RETURN_IF_ERROR(RunSql(database,
                             "UPDATE jobs SET twin_id = NULL WHERE twin_id = ?1"
                             " AND is_finished = 0 AND crc32 <> crc32(job)",
                             twin_id));
  MDH_ASSIGN_OR_RETURN(
      const std::optional<JobClaim> twin,
      FirstRow(
          database,
          [](const SqliteStatement& row) -> Result<JobClaim> {
            return JobClaim{row.Integer(0), row.Integer(1)};
          },
          "SELECT number, epoch FROM jobs WHERE twin_id = ?1 AND is_finished = 0", twin_id));
  if (!twin.has_value() || job.request_id().empty()) return twin;
  MDH_ASSIGN_OR_RETURN(
      const int64_t earlier,
      NumberFromSql(database, "SELECT count(*) FROM jobs WHERE request_id = ?1", job.request_id()));
  if (earlier == 0) return twin;
  return AlreadyExists("there is a job for the request '", job.request_id(), "'");
}

}  // namespace

Result<InsertedJob> InsertJobRow(SqliteDatabase& database, const v1::TuningJob& job,
                                 const JobLease& lease, std::string_view twin_id) {
  if (!twin_id.empty()) {
    MDH_ASSIGN_OR_RETURN(const std::optional<JobClaim> twin, FindTwin(database, job, twin_id));
    if (twin.has_value()) return InsertedJob{*twin, /*is_twin=*/true};
  }
  const int64_t epoch = lease.owner.empty() ? 0 : 1;
  MDH_ASSIGN_OR_RETURN(
      const int64_t number,
      NumberFromSql(database,
                    "INSERT INTO jobs (request_id, is_finished, job, ended_ns, owner, lease_ns,"
                    " epoch, twin_id, crc32)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, crc32(?3)) RETURNING number",
                    SqliteTextOrNull{job.request_id()}, HasEnded(job), BytesOf(job), EndedNs(job),
                    lease.owner, EndOf(lease), epoch, SqliteTextOrNull{twin_id}));
  return InsertedJob{{number, epoch}};
}

Status UpdateJobRow(SqliteDatabase& database, const JobClaim& claim, const v1::TuningJob& job,
                    JobWish heard, std::string_view twin_id) {
  MDH_RETURN_IF_ERROR(
      RunSql(database,
             "UPDATE jobs SET is_finished = ?3, job = ?4, ended_ns = ?5, crc32 = crc32(?4),"
             " wanted = CASE wanted WHEN ?6 THEN 0 ELSE wanted END,"
             " twin_id = CASE WHEN ?7 IS NULL THEN twin_id WHEN EXISTS (SELECT 1 FROM jobs twin"
             "  WHERE twin.twin_id = ?7 AND twin.is_finished = 0 AND twin.number <> ?1) THEN NULL"
             "  ELSE ?7 END"
             " WHERE number = ?1 AND epoch = ?2",
             claim.number, claim.epoch, HasEnded(job), BytesOf(job), EndedNs(job),
             static_cast<int>(heard), SqliteTextOrNull{twin_id}));
  if (database.Changes() > 0) return absl::OkStatus();
  const Result<int64_t> epoch =
      NumberFromSql(database, "SELECT epoch FROM jobs WHERE number = ?1", claim.number);
  if (absl::IsNotFound(epoch.status())) return NoJob(claim.number);
  return epoch.ok() ? TakenByAnother(claim) : epoch.status();
}

Result<v1::TuningJob> ReadJob(SqliteDatabase& database, int64_t number) {
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningJob> job,
                       FirstRow(database, ParseJob,
                                "SELECT " MDH_JOB_COLUMNS " FROM jobs WHERE number = ?1", number));
  if (!job.has_value()) return NoJob(number);
  return *std::move(job);
}

Result<std::optional<v1::TuningJob>> ReadJobByRequest(SqliteDatabase& database,
                                                      std::string_view request_id) {
  return FirstRow(database, ParseJob, "SELECT " MDH_JOB_COLUMNS " FROM jobs WHERE request_id = ?1",
                  request_id);
}

Result<std::vector<v1::TuningJob>> ReadJobs(SqliteDatabase& database, int64_t before, int limit,
                                            const JobFilter& filter) {
  MDH_ASSIGN_OR_RETURN(SqliteUse list,
                       SqliteUse::Of(database,
                                     "SELECT " MDH_JOB_COLUMNS
                                     " FROM jobs WHERE ?1 = 0 OR number < ?1 ORDER BY number DESC",
                                     before));
  return ParseJobs(*list, limit, filter);
}

Result<std::vector<v1::TuningJob>> ReadUnfinishedJobs(SqliteDatabase& database) {
  MDH_ASSIGN_OR_RETURN(SqliteUse list, SqliteUse::Of(database, "SELECT " MDH_JOB_COLUMNS
                                                               " FROM jobs WHERE is_finished = 0"
                                                               " ORDER BY number"));
  return ParseJobs(*list, 0, {});
}

namespace {

struct Candidate {
  ClaimedJob claimed;
  bool is_own = false;
};

bool IsAskedFor(const Candidate& candidate, const ClaimRequest& request) {
  return candidate.is_own || request.number != 0 || IsForOneOf(candidate.claimed.job, request);
}

// Those that may be taken now.
Result<std::vector<Candidate>> FindCandidates(SqliteDatabase& database, const JobLease& lease,
                                              const ClaimRequest& request) {
  MDH_ASSIGN_OR_RETURN(
      SqliteUse rows,
      SqliteUse::Of(database,
                    "SELECT " MDH_JOB_COLUMNS ", epoch, wanted, owner = ?1 AND ?1 <> '' AS is_own,"
                    " coalesce(wanted_more, x'') FROM jobs"
                    " WHERE is_finished = 0 AND (?4 = 0 OR number = ?4)"
                    " AND CASE is_own WHEN 1 THEN ?2 ELSE owner = '' OR lease_ns <= ?3 END"
                    " AND (owner <> '' OR ?5 = 0)"
                    " ORDER BY number",
                    lease.owner, request.takes_own, absl::ToUnixNanos(absl::Now()), request.number,
                    request.leaves_new));
  std::vector<Candidate> candidates;
  MDH_RETURN_IF_ERROR(ForEachRow(*rows, [&](const SqliteStatement& row) {
    Result<v1::TuningJob> job = ParseJob(row);
    if (!job.ok()) {
      spdlog::error("{}", std::string(job.status().message()));
      return absl::OkStatus();
    }
    Candidate candidate;
    candidate.claimed.claim = {row.Integer(0), row.Integer(3) + 1};
    candidate.claimed.wish = static_cast<JobWish>(row.Integer(4));
    candidate.claimed.more = std::string(row.Bytes(6));
    candidate.claimed.job = *std::move(job);
    candidate.is_own = row.Integer(5) != 0;
    if (IsAskedFor(candidate, request)) candidates.push_back(std::move(candidate));
    return absl::OkStatus();
  }));
  return candidates;
}

}  // namespace

Result<std::vector<ClaimedJob>> ClaimJobRows(SqliteDatabase& database, const JobLease& lease,
                                             const ClaimRequest& request) {
  MDH_ASSIGN_OR_RETURN(std::vector<Candidate> candidates, FindCandidates(database, lease, request));
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.is_own != b.is_own) return a.is_own;
    return a.claimed.job.priority() > b.claimed.job.priority();
  });
  std::vector<ClaimedJob> claimed;
  for (Candidate& candidate : candidates) {
    if (request.limit > 0 && std::ssize(claimed) == request.limit) break;
    const JobClaim& claim = candidate.claimed.claim;
    MDH_RETURN_IF_ERROR(
        RunSql(database, "UPDATE jobs SET owner = ?2, lease_ns = ?3, epoch = ?4 WHERE number = ?1",
               claim.number, lease.owner, EndOf(lease), claim.epoch));
    claimed.push_back(std::move(candidate.claimed));
  }
  return claimed;
}

Result<std::vector<HeldJob>> RenewLeaseRows(SqliteDatabase& database, const JobLease& lease) {
  const auto read = [](const SqliteStatement& row) -> Result<HeldJob> {
    return HeldJob{{row.Integer(0), row.Integer(1)},
                   static_cast<JobWish>(row.Integer(2)),
                   std::string(row.Bytes(3))};
  };
  MDH_ASSIGN_OR_RETURN(std::vector<HeldJob> held,
                       AllRows(database, read,
                               "UPDATE jobs SET lease_ns = ?2 WHERE is_finished = 0 AND owner = ?1"
                               " AND owner <> '' RETURNING number, epoch, wanted,"
                               " coalesce(wanted_more, x'')",
                               lease.owner, EndOf(lease)));
  std::ranges::sort(
      held, [](const HeldJob& a, const HeldJob& b) { return a.claim.number < b.claim.number; });
  return held;
}

Result<int64_t> CountHeldJobs(SqliteDatabase& database, const std::string& owner) {
  return NumberFromSql(database, "SELECT count(*) FROM jobs WHERE is_finished = 0 AND owner = ?1",
                       owner);
}

Result<v1::TuningJob> WishOfJobRow(SqliteDatabase& database, int64_t number, JobWish wish) {
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ReadJob(database, number));
  if (HasEnded(job)) return FailedPrecondition(job.name(), " has ended");
  MDH_RETURN_IF_ERROR(RunSql(
      database, "UPDATE jobs SET wanted = ?2 WHERE number = ?1 AND (wanted <> ?3 OR ?2 = ?3)",
      number, static_cast<int>(wish), static_cast<int>(JobWish::kCancel)));
  if (database.Changes() > 0) return job;
  return FailedPrecondition(job.name(), " is being cancelled");
}

Result<v1::TuningJob> WishMoreOfJobRow(SqliteDatabase& database, int64_t number,
                                       const Store::ChangeOfMore& change) {
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ReadJob(database, number));
  if (HasEnded(job)) return absl::FailedPreconditionError(absl::StrCat(job.name(), " has ended"));
  MDH_ASSIGN_OR_RETURN(
      const std::optional<std::string> before,
      FirstRow(
          database,
          [](const SqliteStatement& row) -> Result<std::string> {
            return std::string(row.Bytes(0));
          },
          "SELECT coalesce(wanted_more, x'') FROM jobs WHERE number = ?1", number));
  // What cannot be read is not wanted any more.
  v1::TuningJob wanted;
  if (!wanted.ParseFromString(before.value_or(""))) wanted.Clear();
  MDH_RETURN_IF_ERROR(RunSql(database, "UPDATE jobs SET wanted_more = ?2 WHERE number = ?1", number,
                             BytesOf(change(wanted))));
  return job;
}

Status HeardMoreRow(SqliteDatabase& database, const JobClaim& claim, std::string_view more) {
  return RunSql(database,
                "UPDATE jobs SET wanted_more = NULL WHERE number = ?1 AND epoch = ?2"
                " AND wanted_more = ?3",
                claim.number, claim.epoch, SqliteBytes{std::string(more)});
}

Status PutTrialRows(SqliteDatabase& database, const JobClaim& claim,
                    absl::Span<const v1::TuningTrial> trials) {
  for (const v1::TuningTrial& trial : trials) {
    MDH_RETURN_IF_ERROR(
        RunSql(database,
               "INSERT OR REPLACE INTO job_trials (job, number, epoch, trial, crc32)"
               " VALUES (?1, ?2, ?3, ?4, crc32(?4))",
               claim.number, trial.number(), claim.epoch, BytesOf(trial)));
  }
  return absl::OkStatus();
}

Result<std::vector<v1::TuningTrial>> ReadTrials(SqliteDatabase& database, int64_t job,
                                                int64_t after, int limit) {
  MDH_ASSIGN_OR_RETURN(SqliteUse read,
                       SqliteUse::Of(database,
                                     "SELECT trial FROM job_trials WHERE job = ?1 AND number > ?2"
                                     " AND crc32 = crc32(trial) ORDER BY number, epoch",
                                     job, after));
  std::vector<v1::TuningTrial> trials;
  while (true) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, read->Step());
    if (!has_row) return trials;
    Result<v1::TuningTrial> trial = ParseStored<v1::TuningTrial>(read->Bytes(0), "trial");
    if (!trial.ok()) continue;
    const bool is_full = limit > 0 && std::ssize(trials) >= limit;
    if (is_full && trial->number() != trials.back().number()) return trials;
    trials.push_back(*std::move(trial));
  }
}

Result<std::vector<int64_t>> ReadForgettableJobs(SqliteDatabase& database,
                                                 const Retention& retention) {
  return AllRows(
      database, [](const SqliteStatement& row) -> Result<int64_t> { return row.Integer(0); },
      "SELECT number FROM jobs WHERE is_finished = 1 AND (ended_ns < ?1"
      " OR number NOT IN (SELECT number FROM jobs WHERE is_finished = 1"
      "  ORDER BY number DESC LIMIT ?2))",
      absl::ToUnixNanos(retention.jobs_ended_before), retention.most_ended_jobs);
}

Result<int64_t> DeleteJobRows(SqliteDatabase& database, int64_t job) {
  MDH_RETURN_IF_ERROR(RunSql(database, "DELETE FROM job_trials WHERE job = ?1", job));
  const int64_t count = database.Changes();
  MDH_RETURN_IF_ERROR(RunSql(database, "DELETE FROM jobs WHERE number = ?1", job));
  return count;
}

Result<int64_t> CountTrials(SqliteDatabase& database, int64_t job) {
  return NumberFromSql(database, "SELECT count(*) FROM job_trials WHERE job = ?1", job);
}

}  // namespace mdh
