#include "server/store/postgres/postgres_jobs.h"

#include <google/protobuf/util/time_util.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/records/resource_names.h"
#include "server/store/postgres/stored_messages.h"

namespace mdh::postgres {
namespace {

// A list reads so many rows at once, until it has as many that fit as were asked for.
constexpr int kPage = 200;

Status NoJob(int64_t number) {
  return absl::NotFoundError(absl::StrCat("there is no job ", number));
}

int64_t EndedNs(const v1::TuningJob& job) {
  return google::protobuf::util::TimeUtil::TimestampToNanoseconds(job.end_time());
}

int64_t MicrosOf(const JobLease& lease) { return absl::ToInt64Microseconds(lease.duration); }

PgValue DevicesOf(const v1::TuningJob& job) {
  return PgValue::Texts(std::vector<std::string>(job.devices().begin(), job.devices().end()));
}

// A job from the first columns of a row: number, job, crc32.
Result<v1::TuningJob> ParseJob(const PgRow& row) {
  Result<v1::TuningJob> parsed = ParseChecked<v1::TuningJob>(row, 1, "job");
  if (!parsed.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        JobName(row.Integer(0)), " cannot be read: ", std::string(parsed.status().message())));
  }
  parsed->set_name(JobName(row.Integer(0)));
  return parsed;
}

// A job from those and the owner, which say whose it is.
Result<v1::TuningJob> ParseOwnedJob(const PgRow& row) {
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ParseJob(row));
  job.set_node(NodeName(row.View(3)));
  return job;
}

// A row that cannot be read is left out: it must not hide the others.
std::optional<v1::TuningJob> ParseJobOrSaySo(const PgRow& row) {
  Result<v1::TuningJob> job = ParseJob(row);
  if (job.ok()) return *std::move(job);
  spdlog::error("{}", std::string(job.status().message()));
  return std::nullopt;
}

// The job that has not ended with that twin_id. One that cannot be read is nobody's twin any more.
Result<std::optional<InsertedJob>> FindTwin(PostgresConnection& connection,
                                            std::string_view twin_id) {
  if (twin_id.empty()) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(const PgRows twin,
                       connection.Run("SELECT number, job, crc32, epoch FROM mdhd.jobs"
                                      " WHERE twin_id = $1 AND NOT is_finished",
                                      twin_id));
  if (twin.empty()) return std::nullopt;
  const PgRow row = twin[0];
  if (ParseJobOrSaySo(row).has_value()) {
    return InsertedJob{{row.Integer(0), row.Integer(3)}, /*is_twin=*/true};
  }
  MDH_RETURN_IF_ERROR(
      connection.Run("UPDATE mdhd.jobs SET twin_id = NULL WHERE number = $1", row.Integer(0))
          .status());
  return std::nullopt;
}

// nullopt: there is a job that has not ended with that twin_id.
Result<std::optional<InsertedJob>> InsertUnlessTwin(PostgresConnection& connection,
                                                    const v1::TuningJob& job, const JobLease& lease,
                                                    std::string_view twin_id) {
  const PgChecked stored(job);
  const int64_t epoch = lease.owner.empty() ? 0 : 1;
  MDH_ASSIGN_OR_RETURN(
      const PgRows inserted,
      connection.Run(
          "WITH inserted AS (INSERT INTO mdhd.jobs (request_id, twin_id, is_finished, ended_ns, "
          "fingerprint, devices,"
          " priority, owner, epoch, lease_until, job, crc32) VALUES ($1, $2, $3, $4, $5, $6, $7,"
          " $8, $9, clock_timestamp() + $10::bigint * interval '1 microsecond', $11, $12)"
          " ON CONFLICT (twin_id) WHERE NOT is_finished DO NOTHING"
          " RETURNING number, owner) SELECT number, CASE owner WHEN '' THEN"
          " pg_notify('mdhd_jobs', '')::text END FROM inserted",
          PgValue::TextOrNull(job.request_id()), PgValue::TextOrNull(twin_id), HasEnded(job),
          EndedNs(job), job.key().device_fingerprint(), DevicesOf(job), job.priority(), lease.owner,
          epoch, MicrosOf(lease), PgValue::Bytes(stored.bytes), stored.crc32));
  if (inserted.empty()) return std::nullopt;
  return InsertedJob{{inserted[0].Integer(0), epoch}};
}

}  // namespace

Result<InsertedJob> InsertJob(PostgresConnection& connection, const v1::TuningJob& job,
                              const JobLease& lease, std::string_view twin_id) {
  if (!job.request_id().empty()) {
    MDH_ASSIGN_OR_RETURN(
        const PgRows earlier,
        connection.Run("SELECT 1 FROM mdhd.jobs WHERE request_id = $1", job.request_id()));
    if (!earlier.empty()) {
      return absl::AlreadyExistsError(
          absl::StrCat("there is a job for the request '", job.request_id(), "'"));
    }
  }
  while (true) {
    MDH_ASSIGN_OR_RETURN(const std::optional<InsertedJob> twin, FindTwin(connection, twin_id));
    if (twin.has_value()) return *twin;
    MDH_ASSIGN_OR_RETURN(const std::optional<InsertedJob> inserted,
                         InsertUnlessTwin(connection, job, lease, twin_id));
    if (inserted.has_value()) return *inserted;
    // Another daemon has just been faster.
  }
}

Status UpdateJob(PostgresConnection& connection, const JobClaim& claim, const v1::TuningJob& job,
                 JobWish heard, std::string_view twin_id) {
  const PgChecked stored(job);
  MDH_ASSIGN_OR_RETURN(
      const PgRows found,
      connection.Run(
          "WITH updated AS (UPDATE mdhd.jobs SET is_finished = $3, ended_ns = $4, fingerprint = $5,"
          " devices = $6, priority = $7, job = $8, crc32 = $9,"
          " wanted = CASE wanted WHEN $10 THEN 0 ELSE wanted END,"
          " twin_id = CASE WHEN $11::text IS NULL THEN twin_id WHEN EXISTS (SELECT 1"
          "  FROM mdhd.jobs twin WHERE twin.twin_id = $11 AND NOT twin.is_finished"
          "  AND twin.number <> $1) THEN NULL ELSE $11 END"
          " WHERE number = $1 AND epoch = $2 RETURNING 1)"
          " SELECT EXISTS (SELECT 1 FROM updated),"
          " EXISTS (SELECT 1 FROM mdhd.jobs WHERE number = $1)",
          claim.number, claim.epoch, HasEnded(job), EndedNs(job), job.key().device_fingerprint(),
          DevicesOf(job), job.priority(), PgValue::Bytes(stored.bytes), stored.crc32,
          static_cast<int>(heard), PgValue::TextOrNull(twin_id)));
  if (found[0].Integer(0) != 0) return absl::OkStatus();
  if (found[0].Integer(1) == 0) return NoJob(claim.number);
  return absl::AbortedError(absl::StrCat(JobName(claim.number), " was taken over by another"));
}

Result<v1::TuningJob> GetJob(PostgresConnection& connection, int64_t number) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows found,
      connection.Run("SELECT number, job, crc32, owner FROM mdhd.jobs WHERE number = $1", number));
  if (found.empty()) return NoJob(number);
  return ParseOwnedJob(found[0]);
}

Result<std::optional<v1::TuningJob>> FindJobByRequest(PostgresConnection& connection,
                                                      std::string_view request_id) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows found,
      connection.Run("SELECT number, job, crc32, owner FROM mdhd.jobs WHERE request_id = $1",
                     request_id));
  if (found.empty()) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ParseOwnedJob(found[0]));
  return job;
}

Result<std::vector<v1::TuningJob>> ListJobs(PostgresConnection& connection, int64_t before,
                                            int limit, const JobFilter& filter) {
  if (before == 0) before = std::numeric_limits<int64_t>::max();
  std::vector<v1::TuningJob> jobs;
  while (true) {
    MDH_ASSIGN_OR_RETURN(const PgRows page,
                         connection.Run("SELECT number, job, crc32, owner FROM mdhd.jobs"
                                        " WHERE number < $1 ORDER BY number DESC LIMIT $2",
                                        before, kPage));
    for (int n = 0; n < page.size(); ++n) {
      if (limit > 0 && std::ssize(jobs) >= limit) return jobs;
      before = page[n].Integer(0);
      std::optional<v1::TuningJob> job = ParseJobOrSaySo(page[n]);
      if (job.has_value()) job->set_node(NodeName(page[n].View(3)));
      if (job.has_value() && filter.Fits(*job)) jobs.push_back(*std::move(job));
    }
    if (page.size() < kPage) return jobs;
  }
}

Result<std::vector<v1::TuningJob>> UnfinishedJobs(PostgresConnection& connection) {
  MDH_ASSIGN_OR_RETURN(const PgRows rows, connection.Run("SELECT number, job, crc32, owner"
                                                         " FROM mdhd.jobs WHERE NOT is_finished"
                                                         " ORDER BY number"));
  std::vector<v1::TuningJob> jobs;
  for (int n = 0; n < rows.size(); ++n) {
    std::optional<v1::TuningJob> job = ParseJobOrSaySo(rows[n]);
    if (job.has_value()) job->set_node(NodeName(rows[n].View(3)));
    if (job.has_value()) jobs.push_back(*std::move(job));
  }
  return jobs;
}

namespace {

// Of `number` those that are not in `left_alone`. What others take at the same time is skipped.
constexpr const char* kClaim =
    "UPDATE mdhd.jobs j SET owner = $1, epoch = j.epoch + 1,"
    " lease_until = clock_timestamp() + $2::bigint * interval '1 microsecond'"
    " FROM (SELECT number, owner = $1 AND owner <> '' AS is_own FROM mdhd.jobs"
    "  WHERE NOT is_finished AND ($3::bigint = 0 OR number = $3) AND number <> ALL ($8::bigint[])"
    "  AND CASE WHEN owner = $1 AND owner <> '' THEN $4"
    "   ELSE owner = '' OR lease_until <= clock_timestamp() END AND (owner <> '' OR NOT $9)"
    "  AND ($3 <> 0 OR owner = $1 AND owner <> '' OR fingerprint = ANY ($5::text[])"
    "   OR devices && $6::text[])"
    "  ORDER BY is_own DESC, priority DESC, number LIMIT $7 FOR UPDATE SKIP LOCKED) c"
    " WHERE j.number = c.number RETURNING j.number, j.job, j.crc32, j.epoch, j.wanted, c.is_own,"
    " coalesce(j.wanted_more, '')";

struct Taken {
  ClaimedJob claimed;
  bool is_own = false;

  bool operator<(const Taken& other) const {
    const auto rank = [](const Taken& taken) {
      return std::tuple(!taken.is_own, -int64_t{taken.claimed.job.priority()},
                        taken.claimed.claim.number);
    };
    return rank(*this) < rank(other);
  }
};

}  // namespace

Result<std::vector<ClaimedJob>> ClaimJobs(PostgresConnection& connection, const JobLease& lease,
                                          const ClaimRequest& request) {
  std::vector<std::string> left_alone;
  while (true) {
    MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::Begin(connection));
    MDH_ASSIGN_OR_RETURN(
        const PgRows rows,
        connection.Run(kClaim, lease.owner, MicrosOf(lease), request.number, request.takes_own,
                       PgValue::Texts(request.fingerprints), PgValue::Texts(request.devices),
                       request.limit > 0 ? request.limit : std::numeric_limits<int>::max(),
                       PgValue::Texts(left_alone), request.leaves_new));
    std::vector<Taken> taken;
    const size_t readable = left_alone.size();
    for (int n = 0; n < rows.size(); ++n) {
      std::optional<v1::TuningJob> job = ParseJobOrSaySo(rows[n]);
      if (!job.has_value()) {
        left_alone.push_back(absl::StrCat(rows[n].Integer(0)));
        continue;
      }
      const HeldJob held = {{rows[n].Integer(0), rows[n].Integer(3)},
                            static_cast<JobWish>(rows[n].Integer(4)),
                            rows[n].Bytes(6)};
      taken.push_back({{held, *std::move(job)}, rows[n].Integer(5) != 0});
    }
    if (left_alone.size() > readable) continue;  // without these, which this undoes
    // Who gives jobs away tells those who may want them.
    std::vector<PgStatement> last;
    if (lease.owner.empty() && !taken.empty()) last = {{"SELECT pg_notify('mdhd_jobs', '')", {}}};
    MDH_RETURN_IF_ERROR(transaction->Commit(last));
    std::sort(taken.begin(), taken.end());
    std::vector<ClaimedJob> claimed;
    for (Taken& one : taken) claimed.push_back(std::move(one.claimed));
    return claimed;
  }
}

Result<std::vector<HeldJob>> RenewLeases(PostgresConnection& connection, const JobLease& lease) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("WITH held AS (UPDATE mdhd.jobs SET lease_until ="
                     " clock_timestamp() + $2::bigint * interval '1 microsecond'"
                     " WHERE NOT is_finished AND owner = $1 AND owner <> ''"
                     " RETURNING number, epoch, wanted, coalesce(wanted_more, '') AS more)"
                     " SELECT * FROM held ORDER BY number",
                     lease.owner, MicrosOf(lease)));
  std::vector<HeldJob> held;
  for (int n = 0; n < rows.size(); ++n) {
    held.push_back({{rows[n].Integer(0), rows[n].Integer(1)},
                    static_cast<JobWish>(rows[n].Integer(2)),
                    rows[n].Bytes(3)});
  }
  return held;
}

Result<v1::TuningJob> WishOfJob(PostgresConnection& connection, int64_t number, JobWish wish) {
  MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::Begin(connection));
  MDH_ASSIGN_OR_RETURN(
      const PgRows found,
      connection.Run("SELECT number, job, crc32, wanted FROM mdhd.jobs WHERE number = $1"
                     " FOR UPDATE",
                     number));
  if (found.empty()) return NoJob(number);
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ParseJob(found[0]));
  if (HasEnded(job)) return absl::FailedPreconditionError(absl::StrCat(job.name(), " has ended"));
  const bool is_to_be_cancelled = found[0].Integer(3) == static_cast<int>(JobWish::kCancel);
  if (is_to_be_cancelled && wish != JobWish::kCancel) {
    return absl::FailedPreconditionError(absl::StrCat(job.name(), " is being cancelled"));
  }
  MDH_RETURN_IF_ERROR(transaction->Commit(
      {{"UPDATE mdhd.jobs SET wanted = $2 WHERE number = $1", {number, static_cast<int>(wish)}},
       {"SELECT pg_notify('mdhd_wishes', owner) FROM mdhd.jobs WHERE number = $1", {number}}}));
  return job;
}

Result<v1::TuningJob> WishMoreOfJob(PostgresConnection& connection, int64_t number,
                                    const Store::ChangeOfMore& change) {
  MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::Begin(connection));
  MDH_ASSIGN_OR_RETURN(
      const PgRows found,
      connection.Run("SELECT number, job, crc32, coalesce(wanted_more, '') FROM mdhd.jobs"
                     " WHERE number = $1 FOR UPDATE",
                     number));
  if (found.empty()) return NoJob(number);
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ParseJob(found[0]));
  if (HasEnded(job)) return absl::FailedPreconditionError(absl::StrCat(job.name(), " has ended"));
  // What cannot be read is not wanted any more.
  v1::TuningJob wanted;
  if (!wanted.ParseFromString(found[0].Bytes(3))) wanted.Clear();
  MDH_RETURN_IF_ERROR(transaction->Commit(
      {{"UPDATE mdhd.jobs SET wanted_more = $2 WHERE number = $1",
        {number, PgValue::Bytes(change(wanted))}},
       {"SELECT pg_notify('mdhd_wishes', owner) FROM mdhd.jobs WHERE number = $1", {number}}}));
  return job;
}

Status HeardMore(PostgresConnection& connection, const JobClaim& claim, std::string_view more) {
  return connection
      .Run(
          "UPDATE mdhd.jobs SET wanted_more = NULL WHERE number = $1 AND epoch = $2"
          " AND wanted_more = $3",
          claim.number, claim.epoch, PgValue::Bytes(more))
      .status();
}

Status PutTrials(PostgresConnection& connection, const JobClaim& claim,
                 absl::Span<const v1::TuningTrial> trials) {
  std::vector<PgStatement> puts;
  for (const v1::TuningTrial& trial : trials) {
    const PgChecked stored(trial);
    puts.push_back(
        {"INSERT INTO mdhd.job_trials VALUES ($1, $2, $3, $4, $5) ON CONFLICT (job, number, epoch)"
         " DO UPDATE SET trial = excluded.trial, crc32 = excluded.crc32",
         {claim.number, trial.number(), claim.epoch, PgValue::Bytes(stored.bytes), stored.crc32}});
  }
  return connection.RunTogether(puts).status();
}

Result<std::vector<v1::TuningTrial>> ListTrials(PostgresConnection& connection, int64_t job,
                                                int64_t after, int limit) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run(
          "SELECT trial, crc32 FROM mdhd.job_trials WHERE job = $1 AND number > $2"
          " AND ($3::bigint = 0 OR number <= coalesce((SELECT number FROM mdhd.job_trials"
          "  WHERE job = $1 AND number > $2 ORDER BY number, epoch"
          "  OFFSET greatest($3 - 1, 0) LIMIT 1), 9223372036854775807))"
          " ORDER BY number, epoch",
          job, after, limit));
  std::vector<v1::TuningTrial> trials;
  for (int n = 0; n < rows.size(); ++n) {
    Result<v1::TuningTrial> trial = ParseChecked<v1::TuningTrial>(rows[n], 0, "trial");
    if (trial.ok()) trials.push_back(*std::move(trial));
  }
  return trials;
}

}  // namespace mdh::postgres
