#include "server/store/postgres/postgres_trial_board.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/postgres/board_watch.h"
#include "server/store/store.h"

namespace mdh {
namespace {

// Notifications go to whom they are for: all daemons would be woken by each trial.
std::string JobChannel(int64_t number) { return absl::StrCat("mdhd_job_", number); }
std::string SeatChannel(int64_t seat) { return absl::StrCat("mdhd_seat_", seat); }

Status NoSeat(int64_t seat) {
  return absl::AbortedError(absl::StrCat("seat ", seat, " of a helper is gone"));
}

Status NotHeld(int64_t number) {
  return absl::AbortedError(
      absl::StrCat("job ", number, " was taken over by another, or has ended"));
}

int64_t Micros(absl::Duration duration) { return absl::ToInt64Microseconds(duration); }

// An array of numbers as its text.
PgValue Numbers(absl::Span<const int64_t> numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(absl::StrCat(number));
  return PgValue::Texts(texts);
}

// The owner of $1 in epoch $2 still has it; a row of jobs.
#define MDH_IS_HELD "number = $1 AND epoch = $2 AND NOT is_finished"
// The same of a row h of helped_jobs, whose owner is also not given up.
#define MDH_HAS_OWNER                                                              \
  "EXISTS (SELECT 1 FROM mdhd.jobs j WHERE j.number = h.job AND j.epoch = h.epoch" \
  " AND NOT j.is_finished AND j.lease_until > clock_timestamp())"

class PostgresTrialBoard final : public TrialBoard {
 public:
  explicit PostgresTrialBoard(PostgresPool& pool) : pool_(pool) {}

  Status Announce(const HelpedJob& job) override;
  Result<News> Trade(const JobClaim& claim, absl::Span<const OfferedTrial> offers,
                     absl::Span<const MeasuredTrial> settled) override;
  Status End(const JobClaim& claim) override;
  Result<std::unique_ptr<BoardWatch>> WatchJob(int64_t number) override {
    return WatchChannel(pool_, JobChannel(number));
  }
  Result<std::vector<HelpedJob>> Find(const std::string& environment) override;
  Result<int64_t> Join(const HelpedJob& job, const std::string& name,
                       absl::Duration lease) override;
  Result<std::vector<OfferedTrial>> Exchange(int64_t seat, absl::Duration lease,
                                             absl::Span<const MeasuredTrial> measured,
                                             absl::Span<const int64_t> in_work, int room) override;
  Status Leave(int64_t seat) override;
  Result<std::unique_ptr<BoardWatch>> WatchSeat(int64_t seat) override {
    return WatchChannel(pool_, SeatChannel(seat));
  }

 private:
  // What statements, sent together as one transaction, gave. All of them may be repeated.
  Result<std::vector<PgRows>> RunTogether(const std::vector<PgStatement>& statements) {
    return pool_.Run(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
      return connection.RunTogether(statements);
    });
  }

  PostgresPool& pool_;
};

PgStatement Notify(std::string channel) {
  return {"SELECT pg_notify($1, '')", {std::move(channel)}};
}

Status PostgresTrialBoard::Announce(const HelpedJob& job) {
  const auto announce = [&](PostgresConnection& connection) -> Status {
    MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::Begin(connection));
    MDH_ASSIGN_OR_RETURN(const PgRows held,
                         connection.Run("SELECT 1 FROM mdhd.jobs WHERE " MDH_IS_HELD " FOR SHARE",
                                        job.number, job.epoch));
    if (held.empty()) return NotHeld(job.number);
    const PgValue ends_in = job.time_left > absl::ZeroDuration() ? PgValue(Micros(job.time_left))
                                                                 : PgValue(std::nullopt);
    return transaction->Commit(
        {{"DELETE FROM mdhd.helped_jobs WHERE job = $1", {job.number}},
         {"DELETE FROM mdhd.helpers WHERE job = $1", {job.number}},
         {"DELETE FROM mdhd.offered_trials WHERE job = $1", {job.number}},
         // What owners have left behind who died.
         {"DELETE FROM mdhd.helped_jobs h WHERE NOT EXISTS (SELECT 1 FROM mdhd.jobs j"
          " WHERE j.number = h.job AND j.epoch = h.epoch AND NOT j.is_finished)"},
         {"DELETE FROM mdhd.helpers h WHERE NOT EXISTS"
          " (SELECT 1 FROM mdhd.helped_jobs j WHERE j.job = h.job)"},
         {"DELETE FROM mdhd.offered_trials t WHERE NOT EXISTS"
          " (SELECT 1 FROM mdhd.helped_jobs j WHERE j.job = t.job)"},
         {"INSERT INTO mdhd.helped_jobs VALUES ($1, $2, $3, $4, $5,"
          " clock_timestamp() + $6::bigint * interval '1 microsecond')",
          {job.number, job.epoch, job.owner, job.environment, PgValue::Bytes(job.problem),
           ends_in}},
         Notify(SeatChannel(0))});
  };
  return pool_.Run(PgRepeat::kMayRepeat, announce);
}

Result<TrialBoard::News> PostgresTrialBoard::Trade(const JobClaim& claim,
                                                   absl::Span<const OfferedTrial> offers,
                                                   absl::Span<const MeasuredTrial> settled) {
  std::vector<int64_t> seats, numbers;
  for (const MeasuredTrial& trial : settled) {
    seats.push_back(trial.seat);
    numbers.push_back(trial.number);
  }
  std::vector<PgStatement> statements = {
      {"SELECT EXISTS (SELECT 1 FROM mdhd.jobs WHERE " MDH_IS_HELD "),"
       " EXISTS (SELECT 1 FROM mdhd.helped_jobs WHERE job = $1 AND epoch = $2)",
       {claim.number, claim.epoch}},
      {"DELETE FROM mdhd.offered_trials t USING unnest($2::bigint[], $3::bigint[]) AS s (seat,"
       " number) WHERE t.job = $1 AND t.seat = s.seat AND t.number = s.number",
       {claim.number, Numbers(seats), Numbers(numbers)}},
      {"DELETE FROM mdhd.helpers WHERE job = $1 AND lease_until <= clock_timestamp()",
       {claim.number}},
      {"DELETE FROM mdhd.offered_trials t WHERE job = $1 AND NOT EXISTS"
       " (SELECT 1 FROM mdhd.helpers h WHERE h.seat = t.seat)",
       {claim.number}}};
  std::set<int64_t> told;
  for (const OfferedTrial& offer : offers) {
    // Seats of an announcement before this one are gone: what a former owner offers goes nowhere.
    statements.push_back(
        {"INSERT INTO mdhd.offered_trials SELECT $1, $2, $3, $4, $5, $6 WHERE EXISTS"
         " (SELECT 1 FROM mdhd.helpers WHERE seat = $2 AND job = $1) ON CONFLICT DO NOTHING",
         {claim.number, offer.seat, offer.number, offer.parameters, offer.kernel_digest,
          PgValue::Bytes(offer.options)}});
    told.insert(offer.seat);
  }
  for (const int64_t seat : told) statements.push_back(Notify(SeatChannel(seat)));
  statements.push_back(
      {"SELECT seat, number, measured FROM mdhd.offered_trials WHERE job = $1"
       " AND measured IS NOT NULL ORDER BY number",
       {claim.number}});
  statements.push_back(
      {"SELECT seat, name FROM mdhd.helpers WHERE job = $1 ORDER BY name, seat", {claim.number}});
  MDH_ASSIGN_OR_RETURN(const std::vector<PgRows> rows, RunTogether(statements));
  if (rows[0][0].Integer(0) == 0) return NotHeld(claim.number);
  if (rows[0][0].Integer(1) == 0) {
    return absl::NotFoundError(absl::StrCat("job ", claim.number, " asks for no help"));
  }
  News news;
  const PgRows& measured = rows[rows.size() - 2];
  for (int n = 0; n < measured.size(); ++n) {
    const PgRow row = measured[n];
    news.measured.push_back({row.Integer(0), row.Integer(1), row.Bytes(2)});
  }
  const PgRows& helpers = rows.back();
  for (int n = 0; n < helpers.size(); ++n) {
    news.helpers.push_back({helpers[n].Integer(0), helpers[n].Bytes(1)});
  }
  return news;
}

Status PostgresTrialBoard::End(const JobClaim& claim) {
  constexpr const char* kSeats =
      "SELECT pg_notify('mdhd_seat_' || seat, '') FROM mdhd.helpers p WHERE job = $1 AND EXISTS"
      " (SELECT 1 FROM mdhd.helped_jobs WHERE job = $1 AND epoch = $2)";
  constexpr const char* kOffers =
      "DELETE FROM mdhd.offered_trials WHERE job = $1 AND EXISTS"
      " (SELECT 1 FROM mdhd.helped_jobs WHERE job = $1 AND epoch = $2)";
  constexpr const char* kHelpers =
      "DELETE FROM mdhd.helpers WHERE job = $1 AND EXISTS"
      " (SELECT 1 FROM mdhd.helped_jobs WHERE job = $1 AND epoch = $2)";
  const std::vector<PgValue> values = {claim.number, claim.epoch};
  return RunTogether({{kSeats, values},
                      {kOffers, values},
                      {kHelpers, values},
                      {"DELETE FROM mdhd.helped_jobs WHERE job = $1 AND epoch = $2", values}})
      .status();
}

Result<std::vector<HelpedJob>> PostgresTrialBoard::Find(const std::string& environment) {
  MDH_ASSIGN_OR_RETURN(
      const std::vector<PgRows> rows,
      RunTogether({{"SELECT job, epoch, owner, problem, CASE WHEN ends_at IS NULL THEN 0 ELSE"
                    " greatest(1, (extract(epoch FROM ends_at - clock_timestamp()) * 1000000)"
                    "::bigint) END FROM mdhd.helped_jobs h WHERE environment = $1"
                    " AND " MDH_HAS_OWNER " ORDER BY job",
                    {environment}}}));
  std::vector<HelpedJob> jobs;
  for (int n = 0; n < rows[0].size(); ++n) {
    const PgRow row = rows[0][n];
    jobs.push_back({row.Integer(0), row.Integer(1), row.Bytes(2), environment, row.Bytes(3),
                    absl::Microseconds(row.Integer(4))});
  }
  return jobs;
}

Result<int64_t> PostgresTrialBoard::Join(const HelpedJob& job, const std::string& name,
                                         absl::Duration lease) {
  const int64_t seat = NewSeat();
  MDH_ASSIGN_OR_RETURN(
      const std::vector<PgRows> rows,
      RunTogether({{"INSERT INTO mdhd.helpers SELECT $1, h.job, $3, clock_timestamp()"
                    " + $4::bigint * interval '1 microsecond' FROM mdhd.helped_jobs h"
                    " WHERE h.job = $2 AND h.epoch = $5 AND " MDH_HAS_OWNER
                    " ON CONFLICT (seat) DO UPDATE SET lease_until = excluded.lease_until"
                    " RETURNING 1",
                    {seat, job.number, name, Micros(lease), job.epoch}},
                   Notify(JobChannel(job.number))}));
  if (!rows[0].empty()) return seat;
  return absl::AbortedError(absl::StrCat("job ", job.number, " asks for no help any more"));
}

Result<std::vector<OfferedTrial>> PostgresTrialBoard::Exchange(
    int64_t seat, absl::Duration lease, absl::Span<const MeasuredTrial> measured,
    absl::Span<const int64_t> in_work, int room) {
  std::vector<PgStatement> statements = {
      {"UPDATE mdhd.helpers p SET lease_until = clock_timestamp()"
       " + $2::bigint * interval '1 microsecond' FROM mdhd.helped_jobs h WHERE p.seat = $1"
       " AND p.lease_until > clock_timestamp() AND h.job = p.job AND " MDH_HAS_OWNER " RETURNING 1",
       {seat, Micros(lease)}}};
  for (const MeasuredTrial& trial : measured) {
    statements.push_back(
        {"UPDATE mdhd.offered_trials t SET measured = $3 FROM mdhd.helpers p"
         " WHERE p.seat = $1 AND p.lease_until > clock_timestamp() AND t.job = p.job"
         " AND t.seat = p.seat AND t.number = $2",
         {seat, trial.number, PgValue::Bytes(trial.measured)}});
  }
  if (!measured.empty()) {
    statements.push_back(
        {"SELECT pg_notify('mdhd_job_' || job, '') FROM mdhd.helpers WHERE seat = $1", {seat}});
  }
  statements.push_back(
      {"SELECT t.number, t.parameters, t.kernel_digest, t.options FROM mdhd.helpers p"
       " JOIN mdhd.offered_trials t USING (job, seat) WHERE seat = $1 AND t.measured IS NULL"
       " AND t.number <> ALL ($2::bigint[]) ORDER BY t.number LIMIT $3",
       {seat, Numbers(in_work), room}});
  MDH_ASSIGN_OR_RETURN(const std::vector<PgRows> rows, RunTogether(statements));
  if (rows[0].empty()) return NoSeat(seat);
  std::vector<OfferedTrial> offers;
  const PgRows& offered = rows.back();
  for (int n = 0; n < offered.size(); ++n) {
    const PgRow row = offered[n];
    offers.push_back({seat, row.Integer(0), row.Bytes(1), row.Bytes(2), row.Bytes(3)});
  }
  return offers;
}

Status PostgresTrialBoard::Leave(int64_t seat) {
  return RunTogether({{"SELECT pg_notify('mdhd_job_' || job, '') FROM mdhd.helpers WHERE seat = $1",
                       {seat}},
                      {"DELETE FROM mdhd.offered_trials t USING mdhd.helpers p WHERE p.seat = $1"
                       " AND t.job = p.job AND t.seat = p.seat",
                       {seat}},
                      {"DELETE FROM mdhd.helpers WHERE seat = $1", {seat}}})
      .status();
}

}  // namespace

std::unique_ptr<TrialBoard> MakePostgresTrialBoard(PostgresPool& pool) {
  return std::make_unique<PostgresTrialBoard>(pool);
}

}  // namespace mdh
