#include "server/store/postgres/postgres_care.h"

#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/study.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "server/records/resource_names.h"
#include "server/store/compressed_message.h"
#include "server/store/crc32.h"
#include "server/store/postgres/record_changes.h"
#include "server/store/postgres/stored_messages.h"
#include "server/store/stored_record.h"

namespace mdh::postgres {
namespace {

constexpr size_t kMostProblems = 100;
// Of the lock that a daemon has while it forgets.
constexpr int64_t kForgetLock = 0x4d444865;
// Tables of fewer rows are counted.
constexpr int64_t kMostCounted = 10'000;

#define MDH_FORGETTABLE_JOBS                                                                      \
  "SELECT number FROM mdhd.jobs WHERE is_finished AND (ended_ns < $1 OR number <= (SELECT number" \
  " FROM mdhd.jobs WHERE is_finished ORDER BY number DESC OFFSET $2 LIMIT 1))"

Status CountJobs(PostgresConnection& connection, const Retention& retention,
                 v1::CollectGarbageResponse& counts) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("WITH gone AS (" MDH_FORGETTABLE_JOBS ") SELECT (SELECT count(*) FROM gone),"
                     " (SELECT count(*) FROM mdhd.job_trials WHERE job IN (TABLE gone))",
                     absl::ToUnixNanos(retention.jobs_ended_before), retention.most_ended_jobs));
  counts.set_jobs(rows[0].Integer(0));
  counts.set_trials(rows[0].Integer(1));
  return absl::OkStatus();
}

Status ForgetJobs(PostgresConnection& connection, const Retention& retention,
                  v1::CollectGarbageResponse& counts) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("WITH gone AS (" MDH_FORGETTABLE_JOBS "), jobs AS (DELETE FROM mdhd.jobs"
                     " WHERE number IN (TABLE gone) RETURNING 1), trials AS (DELETE FROM"
                     " mdhd.job_trials WHERE job IN (TABLE gone) RETURNING 1)"
                     " SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM trials)",
                     absl::ToUnixNanos(retention.jobs_ended_before), retention.most_ended_jobs));
  counts.set_jobs(rows[0].Integer(0));
  counts.set_trials(rows[0].Integer(1));
  return absl::OkStatus();
}

// Ids of results of older generators that one of this version stands in for.
Result<std::vector<std::string>> ReplacedResults(PostgresConnection& connection,
                                                 int generator_version) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run(
          "SELECT id FROM mdhd.records old WHERE generator_version < $1 AND NOT is_pinned"
          " AND EXISTS (SELECT 1 FROM mdhd.records new WHERE new.family = old.family"
          " AND new.generator_version = $1 AND NOT new.is_provisional) ORDER BY id",
          generator_version));
  std::vector<std::string> ids;
  for (int n = 0; n < rows.size(); ++n) ids.push_back(rows[n].Bytes(0));
  return ids;
}

Result<int64_t> RemoveReplaced(PostgresConnection& connection, const std::vector<std::string>& ids,
                               int64_t remembered_changes) {
  MDH_ASSIGN_OR_RETURN(RecordChanges changes, RecordChanges::Begin(connection, ids));
  for (const std::string& id : ids) {
    const std::optional<v1::TuningRecord> record = changes.Find(id);
    if (record.has_value() && !record->is_pinned()) changes.Remove(id);
  }
  return changes.Commit(remembered_changes);
}

// A table with messages of a kind and their checksums.
struct CheckedTable {
  const char* cursor;
  const char* rows;  // name, bytes, crc32
  const char* what;
  const char* changed;  // what a row is whose checksum is wrong
  std::function<bool(std::string_view)> is_message;
  std::string (*name)(std::string_view id);  // which the message is to have; null: any
};

template <typename Message>
bool IsMessage(std::string_view bytes) {
  return Message().ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

const std::vector<CheckedTable>& CheckedTables() {
  static const auto* tables = new std::vector<CheckedTable>{
      {"check_records", "SELECT id, record, crc32 FROM mdhd.records ORDER BY id", "record",
       "is a record whose bytes have changed", IsMessage<v1::TuningRecord>, RecordName},
      {"check_kernels", "SELECT id, kernel, crc32 FROM mdhd.kernels ORDER BY id", "kernel",
       "is a kernel whose bytes have changed", IsMessage<v1::Kernel>, KernelName},
      {"check_jobs", "SELECT number::text, job, crc32 FROM mdhd.jobs ORDER BY number", "job",
       "is a job whose bytes have changed", IsMessage<v1::TuningJob>, nullptr},
      {"check_trials",
       "SELECT job || '/' || number, trial, crc32 FROM mdhd.job_trials ORDER BY job, number",
       "trial", "is a trial of a job whose bytes have changed", IsMessage<v1::TuningTrial>,
       nullptr},
      {"check_studies", "SELECT number::text, study, crc32 FROM mdhd.studies ORDER BY number",
       "study", "is a study whose bytes have changed", IsMessage<v1::Study>, nullptr},
      {"check_specs", "SELECT number::text, spec, crc32 FROM mdhd.study_specs ORDER BY number",
       "specification", "is a study whose specification's bytes have changed",
       IsMessage<v1::StudySpec>, nullptr},
      {"check_study_trials",
       "SELECT study || '/' || number, trial, crc32 FROM mdhd.study_trials ORDER BY study, number",
       "trial", "is a trial of a study whose bytes have changed", IsMessage<v1::StudyTrial>,
       nullptr},
  };
  return *tables;
}

// Rows that are wrong, by their names.
constexpr std::pair<const char*, const char*> kWrongRows[] = {
    {"is a record without a kernel",
     "SELECT id FROM mdhd.records r WHERE NOT EXISTS (SELECT 1 FROM mdhd.kernels WHERE id = r.id)"
     " LIMIT 100"},
    {"is a kernel without a record",
     "SELECT id FROM mdhd.kernels k WHERE NOT EXISTS (SELECT 1 FROM mdhd.records WHERE id = k.id)"
     " LIMIT 100"},
    {"is a job whose trials are there but not the job itself",
     "SELECT DISTINCT job::text FROM mdhd.job_trials t WHERE NOT EXISTS"
     " (SELECT 1 FROM mdhd.jobs WHERE number = t.job) LIMIT 100"},
    {"is the number of a change that is missing",
     "SELECT (number + 1)::text FROM mdhd.changes c WHERE number < (SELECT last_change FROM"
     " mdhd.store) AND NOT EXISTS (SELECT 1 FROM mdhd.changes WHERE number = c.number + 1)"
     " LIMIT 100"},
};

// What is wrong with one row.
std::vector<std::string> ProblemsOf(const CheckedTable& table, const PgRow& row) {
  const std::string name = row.Bytes(0);
  std::string room;
  const std::optional<std::string_view> bytes = Decompressed(row.View(1), room);
  std::vector<std::string> problems;
  if (!bytes.has_value() || !table.is_message(*bytes)) {
    problems.push_back(absl::StrCat(table.what, " ", name, " cannot be read"));
  }
  if (Crc32Of(row.View(1)) != row.Integer(2)) {
    problems.push_back(absl::StrCat(name, " ", table.changed));
  } else if (bytes.has_value() && table.name != nullptr && NameIn(*bytes) != table.name(name)) {
    problems.push_back(
        absl::StrCat(table.what, " ", name, " is stored as '", std::string(NameIn(*bytes)), "'"));
  }
  return problems;
}

Status CheckTable(PostgresConnection& connection, const CheckedTable& table,
                  std::vector<std::string>& problems) {
  MDH_RETURN_IF_ERROR(
      connection.RunScript(absl::StrCat("DECLARE ", table.cursor, " CURSOR FOR ", table.rows)));
  const std::string fetch = absl::StrCat("FETCH 200 FROM ", table.cursor);
  while (problems.size() < kMostProblems) {
    MDH_ASSIGN_OR_RETURN(const PgRows rows, connection.Run(fetch.c_str()));
    if (rows.empty()) break;
    for (int n = 0; n < rows.size(); ++n) {
      for (std::string& problem : ProblemsOf(table, rows[n])) {
        problems.push_back(std::move(problem));
      }
    }
  }
  return connection.RunScript(absl::StrCat("CLOSE ", table.cursor));
}

}  // namespace

Result<Forgotten> Forget(PostgresConnection& connection, const Retention& retention,
                         int64_t remembered_changes) {
  Forgotten forgotten;
  if (retention.only_count) {
    MDH_RETURN_IF_ERROR(CountJobs(connection, retention, forgotten.counts));
    MDH_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                         ReplacedResults(connection, retention.generator_version));
    forgotten.counts.set_records(static_cast<int64_t>(ids.size()));
    return forgotten;
  }
  MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::Begin(connection));
  MDH_ASSIGN_OR_RETURN(const PgRows lock,
                       connection.Run("SELECT pg_try_advisory_xact_lock($1::bigint)", kForgetLock));
  if (lock[0].Integer(0) == 0) return forgotten;
  MDH_RETURN_IF_ERROR(ForgetJobs(connection, retention, forgotten.counts));
  MDH_RETURN_IF_ERROR(transaction->Commit());
  MDH_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                       ReplacedResults(connection, retention.generator_version));
  if (ids.empty()) return forgotten;
  MDH_ASSIGN_OR_RETURN(forgotten.change, RemoveReplaced(connection, ids, remembered_changes));
  forgotten.counts.set_records(static_cast<int64_t>(ids.size()));
  return forgotten;
}

Result<std::vector<std::string>> CheckIntegrity(PostgresConnection& connection) {
  std::vector<std::string> problems;
  MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::BeginToRead(connection));
  for (const CheckedTable& table : CheckedTables()) {
    MDH_RETURN_IF_ERROR(CheckTable(connection, table, problems));
  }
  for (const auto& [problem, sql] : kWrongRows) {
    MDH_ASSIGN_OR_RETURN(const PgRows rows, connection.Run(sql));
    for (int n = 0; n < rows.size(); ++n) {
      problems.push_back(absl::StrCat(rows[n].Bytes(0), " ", problem));
    }
  }
  if (problems.size() > kMostProblems) problems.resize(kMostProblems);
  return problems;
}

Status Count(PostgresConnection& connection, v1::Statistics& statistics) {
  using Set = void (v1::Statistics::*)(int64_t);
  const std::pair<const char*, Set> tables[] = {
      {"records", &v1::Statistics::set_records},
      {"quarantine", &v1::Statistics::set_quarantined_records},
      {"jobs", &v1::Statistics::set_jobs},
      {"job_trials", &v1::Statistics::set_trials},
  };
  for (const auto& [table, set] : tables) {
    const std::string sql =
        absl::StrCat("SELECT greatest((SELECT count(*) FROM (SELECT 1 FROM mdhd.", table, " LIMIT ",
                     kMostCounted, ") counted), (SELECT CASE WHEN reltuples >= ", kMostCounted,
                     " THEN reltuples::bigint ELSE 0 END FROM pg_class WHERE oid = 'mdhd.", table,
                     "'::regclass))");
    MDH_ASSIGN_OR_RETURN(const PgRows rows, connection.Run(sql.c_str()));
    (statistics.*set)(rows[0].Integer(0));
  }
  MDH_ASSIGN_OR_RETURN(const PgRows rows,
                       connection.Run("SELECT (SELECT count(*) FROM mdhd.records WHERE is_pinned),"
                                      " pg_database_size(current_database())"));
  statistics.set_pinned_records(rows[0].Integer(0));
  statistics.set_database_bytes(rows[0].Integer(1));
  return absl::OkStatus();
}

}  // namespace mdh::postgres
