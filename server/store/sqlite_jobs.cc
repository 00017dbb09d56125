#include "server/store/sqlite_jobs.h"

#include <google/protobuf/util/time_util.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite_connection.h"

namespace mdh {
namespace {

Status NoJob(int64_t number) {
  return absl::NotFoundError(absl::StrCat("there is no job ", number));
}

bool IsFinished(v1::TuningJobState state) {
  return state == v1::TUNING_JOB_STATE_SUCCEEDED || state == v1::TUNING_JOB_STATE_FAILED ||
         state == v1::TUNING_JOB_STATE_CANCELLED;
}

int64_t EndedNs(const v1::TuningJob& job) {
  return google::protobuf::util::TimeUtil::TimestampToNanoseconds(job.end_time());
}

// What ParseJob reads.
#define MDH_JOB_COLUMNS "number, job, crc32 = crc32(job)"

// A job from the columns above, which are the first of a row.
Result<v1::TuningJob> ParseJob(const SqliteStatement& row) {
  Result<v1::TuningJob> parsed = ParseChecked<v1::TuningJob>(row, 1, "job");
  if (!parsed.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        JobName(row.Integer(0)), " cannot be read: ", std::string(parsed.status().message())));
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

}  // namespace

bool JobFilter::Fits(const v1::TuningJob& job) const {
  const bool fits_state =
      states.empty() || std::find(states.begin(), states.end(), job.state()) != states.end();
  const bool fits_expression = expression.empty() || expression == job.expression_name() ||
                               expression == job.key().expression_digest();
  const bool fits_device = device.empty() || std::find(job.devices().begin(), job.devices().end(),
                                                       device) != job.devices().end();
  return fits_state && fits_expression && fits_device && (source.empty() || source == job.source());
}

Result<int64_t> InsertJobRow(SqliteDatabase& database, const v1::TuningJob& job,
                             const JobClaim& claim) {
  return NumberFromSql(database,
                       "INSERT INTO jobs (request_id, is_finished, job, ended_ns, owner, lease_ns,"
                       " crc32) VALUES (?1, ?2, ?3, ?4, ?5, ?6, crc32(?3)) RETURNING number",
                       SqliteTextOrNull{job.request_id()}, IsFinished(job.state()), BytesOf(job),
                       EndedNs(job), claim.owner, absl::ToUnixNanos(claim.until));
}

Status UpdateJobRow(SqliteDatabase& database, int64_t number, const v1::TuningJob& job) {
  MDH_RETURN_IF_ERROR(
      RunSql(database,
             "UPDATE jobs SET is_finished = ?2, job = ?3, ended_ns = ?4, crc32 = crc32(?3)"
             " WHERE number = ?1",
             number, IsFinished(job.state()), BytesOf(job), EndedNs(job)));
  return database.Changes() == 0 ? NoJob(number) : absl::OkStatus();
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

Result<std::vector<v1::TuningJob>> ReadUnfinishedJobs(SqliteDatabase& database,
                                                      const std::string& owner) {
  MDH_ASSIGN_OR_RETURN(SqliteUse list,
                       SqliteUse::Of(database,
                                     "SELECT " MDH_JOB_COLUMNS " FROM jobs WHERE is_finished = 0"
                                     " AND (?1 = '' OR owner = ?1) ORDER BY number",
                                     owner));
  return ParseJobs(*list, 0, {});
}

namespace {

// Numbers of the jobs that nobody owns at that time and that name one of the devices.
Result<std::vector<int64_t>> UnownedJobs(SqliteDatabase& database, const std::string& owner,
                                         absl::Time now, const std::vector<std::string>& devices) {
  MDH_ASSIGN_OR_RETURN(
      SqliteUse list,
      SqliteUse::Of(database,
                    "SELECT " MDH_JOB_COLUMNS " FROM jobs WHERE is_finished = 0 AND owner <> ?1"
                    " AND (owner = '' OR lease_ns < ?2) ORDER BY number",
                    owner, absl::ToUnixNanos(now)));
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningJob> jobs, ParseJobs(*list, 0, {}));
  std::vector<int64_t> numbers;
  for (const v1::TuningJob& job : jobs) {
    const bool has_device =
        std::find_first_of(job.devices().begin(), job.devices().end(), devices.begin(),
                           devices.end()) != job.devices().end();
    if (!has_device) continue;
    MDH_ASSIGN_OR_RETURN(numbers.emplace_back(), ParseJobName(job.name()));
  }
  return numbers;
}

}  // namespace

Result<int64_t> ClaimJobRows(SqliteDatabase& database, const JobClaim& claim, absl::Time now,
                             const std::vector<std::string>& devices) {
  MDH_ASSIGN_OR_RETURN(const std::vector<int64_t> unowned,
                       UnownedJobs(database, claim.owner, now, devices));
  for (const int64_t number : unowned) {
    MDH_RETURN_IF_ERROR(
        RunSql(database, "UPDATE jobs SET owner = ?2 WHERE number = ?1", number, claim.owner));
  }
  MDH_RETURN_IF_ERROR(RunSql(database,
                             "UPDATE jobs SET lease_ns = ?2 WHERE is_finished = 0 AND owner = ?1",
                             claim.owner, absl::ToUnixNanos(claim.until)));
  return database.Changes();
}

Status PutTrialRows(SqliteDatabase& database, int64_t job,
                    absl::Span<const v1::TuningTrial> trials) {
  for (const v1::TuningTrial& trial : trials) {
    MDH_RETURN_IF_ERROR(RunSql(database,
                               "INSERT OR REPLACE INTO job_trials VALUES (?1, ?2, ?3, crc32(?3))",
                               job, trial.number(), BytesOf(trial)));
  }
  return absl::OkStatus();
}

Result<std::vector<v1::TuningTrial>> ReadTrials(SqliteDatabase& database, int64_t job,
                                                int64_t after, int limit) {
  MDH_ASSIGN_OR_RETURN(SqliteUse read,
                       SqliteUse::Of(database,
                                     "SELECT trial FROM job_trials WHERE job = ?1 AND number > ?2"
                                     " AND crc32 = crc32(trial) ORDER BY number LIMIT ?3",
                                     job, after, limit == 0 ? -1 : limit));
  std::vector<v1::TuningTrial> trials;
  MDH_RETURN_IF_ERROR(ForEachRow(*read, [&](const SqliteStatement& row) {
    Result<v1::TuningTrial> trial = ParseStored<v1::TuningTrial>(row.Bytes(0), "trial");
    if (trial.ok()) trials.push_back(*std::move(trial));
    return absl::OkStatus();
  }));
  return trials;
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
