#include "server/sqlite_store.h"

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/file_lock.h"
#include "server/resource_names.h"
#include "server/sqlite_connection.h"
#include "server/sqlite_database.h"

namespace mdh {
namespace {

// "MDHd"; marks a file as ours.
constexpr int64_t kApplicationId = 0x4d444864;

// Number n takes a database from user_version n to n + 1. Append only: what was released once is in
// somebody's file.
constexpr const char* kMigrations[] = {
    R"sql(
    CREATE TABLE records (
      id TEXT PRIMARY KEY,
      expression_digest TEXT NOT NULL,
      canonical_form TEXT NOT NULL,
      device_fingerprint TEXT NOT NULL,
      compiler TEXT NOT NULL,
      generator_version INTEGER NOT NULL,
      numerics_policy INTEGER NOT NULL,
      time_ns INTEGER NOT NULL,
      record BLOB NOT NULL,
      UNIQUE (expression_digest, canonical_form, device_fingerprint, compiler, generator_version,
              numerics_policy)
    ) STRICT;
    CREATE TABLE kernels (
      id TEXT PRIMARY KEY,
      kernel BLOB NOT NULL
    ) STRICT;
    CREATE TABLE jobs (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      request_id TEXT UNIQUE,
      is_finished INTEGER NOT NULL,
      job BLOB NOT NULL
    ) STRICT;
    CREATE INDEX unfinished_jobs ON jobs (number) WHERE is_finished = 0;
    CREATE TABLE devices (
      fingerprint TEXT PRIMARY KEY,
      peaks BLOB NOT NULL
    ) STRICT;
    )sql",
    R"sql(
    CREATE TABLE studies (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      request_id TEXT UNIQUE,
      is_active INTEGER NOT NULL,
      study BLOB NOT NULL
    ) STRICT;
    CREATE INDEX active_studies ON studies (number) WHERE is_active = 1;
    CREATE TABLE study_specs (
      number INTEGER PRIMARY KEY,
      spec BLOB NOT NULL
    ) STRICT;
    CREATE TABLE study_trials (
      study INTEGER NOT NULL,
      number INTEGER NOT NULL,
      asked_ns INTEGER NOT NULL,
      told_ns INTEGER NOT NULL,
      told_order INTEGER NOT NULL,
      trial BLOB NOT NULL,
      PRIMARY KEY (study, number)
    ) STRICT, WITHOUT ROWID;
    )sql",
};
constexpr int64_t kSchemaVersion = std::size(kMigrations);

bool IsFinished(v1::TuningJobState state) {
  return state != v1::TUNING_JOB_STATE_QUEUED && state != v1::TUNING_JOB_STATE_RUNNING;
}

// Refuses files of others before anything is written. A file without tables is a new one.
Status CheckOwnership(SqliteDatabase& database) {
  MDH_ASSIGN_OR_RETURN(const int64_t application, database.QueryInteger("PRAGMA application_id"));
  MDH_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  MDH_ASSIGN_OR_RETURN(const int64_t tables,
                       database.QueryInteger("SELECT count(*) FROM sqlite_schema"));
  const bool is_new = application == 0 && version == 0 && tables == 0;
  if (!is_new && application != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", database.path(), " belongs to another application"));
  }
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", database.path(), " has schema version ", version,
                     ", this mdhd knows versions up to ", kSchemaVersion, ": use a newer mdhd"));
  }
  MDH_ASSIGN_OR_RETURN(const std::string check, database.QueryText("PRAGMA quick_check(1)"));
  if (check != "ok") {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", database.path(), " is damaged: ", check));
  }
  return absl::OkStatus();
}

Status Migrate(SqliteDatabase& database) {
  MDH_RETURN_IF_ERROR(database.QueryText("PRAGMA journal_mode = WAL").status());
  MDH_ASSIGN_OR_RETURN(int64_t version, database.QueryInteger("PRAGMA user_version"));
  for (; version < kSchemaVersion; ++version) {
    MDH_ASSIGN_OR_RETURN(const auto transaction, SqliteTransaction::Begin(database));
    MDH_RETURN_IF_ERROR(database.Execute(kMigrations[version]));
    MDH_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId,
                                                      "; PRAGMA user_version = ", version + 1)));
    MDH_RETURN_IF_ERROR(transaction->Commit());
  }
  return absl::OkStatus();
}

class SqliteStore : public Store {
 public:
  SqliteStore(std::unique_ptr<FileLock> lock, std::unique_ptr<SqliteDatabase> database)
      : lock_(std::move(lock)), database_(std::move(database)) {}

  Status Prepare();

  Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                     const v1::Kernel& kernel) override;
  Result<std::vector<v1::TuningRecord>> AllRecords() override;
  Result<v1::Kernel> GetKernel(std::string_view id) override;
  Result<int64_t> InsertJob(const v1::TuningJob& job) override;
  Status UpdateJob(int64_t number, const v1::TuningJob& job) override;
  Result<v1::TuningJob> GetJob(int64_t number) override;
  Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) override;
  Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit) override;
  Result<std::vector<v1::TuningJob>> UnfinishedJobs() override;
  Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) override;
  Status PutPeaks(std::string_view fingerprint, const v1::MachinePeaks& peaks) override;

 private:
  // A job from a row (number, job).
  static Result<v1::TuningJob> ReadJob(const SqliteStatement& row);
  static Result<std::vector<v1::TuningJob>> ReadJobs(SqliteStatement& rows);
  // The record with the key of `record`, if its time is no worse.
  Result<std::optional<v1::TuningRecord>> FindBetter(const v1::TuningRecord& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::unique_ptr<FileLock> lock_;  // released after the database is closed
  absl::Mutex mutex_;
  std::unique_ptr<SqliteDatabase> database_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement find_record_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement put_record_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement put_kernel_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement all_records_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement get_kernel_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement insert_job_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement update_job_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement get_job_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement find_job_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement list_jobs_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement unfinished_jobs_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement get_peaks_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement put_peaks_ ABSL_GUARDED_BY(mutex_);
};

Status SqliteStore::Prepare() {
  absl::MutexLock lock(&mutex_);
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&find_record_,
       "SELECT record FROM records WHERE expression_digest = ?1 AND canonical_form = ?2"
       " AND device_fingerprint = ?3 AND compiler = ?4 AND generator_version = ?5"
       " AND numerics_policy = ?6 AND time_ns <= ?7"},
      {&put_record_, "INSERT OR REPLACE INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
      {&put_kernel_, "INSERT OR REPLACE INTO kernels VALUES (?1, ?2)"},
      {&all_records_, "SELECT record FROM records"},
      {&get_kernel_, "SELECT kernel FROM kernels WHERE id = ?1"},
      {&insert_job_,
       "INSERT INTO jobs (request_id, is_finished, job) VALUES (?1, ?2, ?3)"
       " RETURNING number"},
      {&update_job_, "UPDATE jobs SET is_finished = ?2, job = ?3 WHERE number = ?1"},
      {&get_job_, "SELECT number, job FROM jobs WHERE number = ?1"},
      {&find_job_, "SELECT number, job FROM jobs WHERE request_id = ?1"},
      {&list_jobs_,
       "SELECT number, job FROM jobs WHERE ?1 = 0 OR number < ?1"
       " ORDER BY number DESC LIMIT ?2"},
      {&unfinished_jobs_, "SELECT number, job FROM jobs WHERE is_finished = 0 ORDER BY number"},
      {&get_peaks_, "SELECT peaks FROM devices WHERE fingerprint = ?1"},
      {&put_peaks_, "INSERT OR REPLACE INTO devices VALUES (?1, ?2)"},
  };
  for (const auto& [statement, sql] : statements) {
    MDH_ASSIGN_OR_RETURN(*statement, database_->Prepare(sql));
  }
  return absl::OkStatus();
}

Result<std::optional<v1::TuningRecord>> SqliteStore::FindBetter(const v1::TuningRecord& record) {
  const v1::KernelKey& key = record.key();
  SqliteReset reset(find_record_);
  find_record_.BindText(1, key.expression_digest())
      .BindText(2, key.canonical_form())
      .BindText(3, key.device_fingerprint())
      .BindText(4, key.compiler())
      .Bind(5, key.generator_version())
      .Bind(6, key.numerics_policy())
      .Bind(7, record.time_ns());
  MDH_ASSIGN_OR_RETURN(const bool has_row, find_record_.Step());
  if (!has_row) return std::nullopt;
  return ParseStored<v1::TuningRecord>(find_record_.Bytes(0), "record");
}

Result<v1::TuningRecord> SqliteStore::PutResult(const v1::TuningRecord& record,
                                                const v1::Kernel& kernel) {
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(record.name()));
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(const auto transaction, SqliteTransaction::Begin(*database_));
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningRecord> better, FindBetter(record));
  if (better.has_value()) return *std::move(better);
  const v1::KernelKey& key = record.key();
  MDH_RETURN_IF_ERROR(put_record_.BindText(1, id)
                          .BindText(2, key.expression_digest())
                          .BindText(3, key.canonical_form())
                          .BindText(4, key.device_fingerprint())
                          .BindText(5, key.compiler())
                          .Bind(6, key.generator_version())
                          .Bind(7, key.numerics_policy())
                          .Bind(8, record.time_ns())
                          .BindBytes(9, record.SerializeAsString())
                          .Run());
  MDH_RETURN_IF_ERROR(put_kernel_.BindText(1, id).BindBytes(2, kernel.SerializeAsString()).Run());
  MDH_RETURN_IF_ERROR(transaction->Commit());
  return record;
}

Result<std::vector<v1::TuningRecord>> SqliteStore::AllRecords() {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(all_records_);
  std::vector<v1::TuningRecord> records;
  while (true) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, all_records_.Step());
    if (!has_row) return records;
    MDH_ASSIGN_OR_RETURN(v1::TuningRecord record,
                         ParseStored<v1::TuningRecord>(all_records_.Bytes(0), "record"));
    records.push_back(std::move(record));
  }
}

Result<v1::Kernel> SqliteStore::GetKernel(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(get_kernel_);
  MDH_ASSIGN_OR_RETURN(const bool has_row, get_kernel_.BindText(1, id).Step());
  if (!has_row) {
    return absl::NotFoundError(absl::StrCat("there is no kernel ", std::string(id)));
  }
  return ParseStored<v1::Kernel>(get_kernel_.Bytes(0), "kernel");
}

Result<int64_t> SqliteStore::InsertJob(const v1::TuningJob& job) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(insert_job_);
  if (job.request_id().empty()) {
    insert_job_.BindNull(1);
  } else {
    insert_job_.BindText(1, job.request_id());
  }
  insert_job_.Bind(2, IsFinished(job.state())).BindBytes(3, job.SerializeAsString());
  MDH_RETURN_IF_ERROR(insert_job_.Step().status());
  const int64_t number = insert_job_.Integer(0);
  // The row is committed when the statement has run to its end.
  MDH_RETURN_IF_ERROR(insert_job_.Step().status());
  return number;
}

Status SqliteStore::UpdateJob(int64_t number, const v1::TuningJob& job) {
  absl::MutexLock lock(&mutex_);
  MDH_RETURN_IF_ERROR(update_job_.Bind(1, number)
                          .Bind(2, IsFinished(job.state()))
                          .BindBytes(3, job.SerializeAsString())
                          .Run());
  if (database_->Changes() == 0) {
    return absl::NotFoundError(absl::StrCat("there is no job ", number));
  }
  return absl::OkStatus();
}

Result<v1::TuningJob> SqliteStore::ReadJob(const SqliteStatement& row) {
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ParseStored<v1::TuningJob>(row.Bytes(1), "job"));
  job.set_name(JobName(row.Integer(0)));
  return job;
}

Result<std::vector<v1::TuningJob>> SqliteStore::ReadJobs(SqliteStatement& rows) {
  std::vector<v1::TuningJob> jobs;
  while (true) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, rows.Step());
    if (!has_row) return jobs;
    MDH_ASSIGN_OR_RETURN(v1::TuningJob job, ReadJob(rows));
    jobs.push_back(std::move(job));
  }
}

Result<v1::TuningJob> SqliteStore::GetJob(int64_t number) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(get_job_);
  MDH_ASSIGN_OR_RETURN(const bool has_row, get_job_.Bind(1, number).Step());
  if (!has_row) return absl::NotFoundError(absl::StrCat("there is no job ", number));
  return ReadJob(get_job_);
}

Result<std::optional<v1::TuningJob>> SqliteStore::FindJobByRequest(std::string_view request_id) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(find_job_);
  MDH_ASSIGN_OR_RETURN(const bool has_row, find_job_.BindText(1, request_id).Step());
  if (!has_row) return std::nullopt;
  return ReadJob(find_job_);
}

Result<std::vector<v1::TuningJob>> SqliteStore::ListJobs(int64_t before, int limit) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(list_jobs_);
  list_jobs_.Bind(1, before).Bind(2, limit);
  return ReadJobs(list_jobs_);
}

Result<std::vector<v1::TuningJob>> SqliteStore::UnfinishedJobs() {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(unfinished_jobs_);
  return ReadJobs(unfinished_jobs_);
}

Result<std::optional<v1::MachinePeaks>> SqliteStore::GetPeaks(std::string_view fingerprint) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(get_peaks_);
  MDH_ASSIGN_OR_RETURN(const bool has_row, get_peaks_.BindText(1, fingerprint).Step());
  if (!has_row) return std::nullopt;
  return ParseStored<v1::MachinePeaks>(get_peaks_.Bytes(0), "device");
}

Status SqliteStore::PutPeaks(std::string_view fingerprint, const v1::MachinePeaks& peaks) {
  absl::MutexLock lock(&mutex_);
  return put_peaks_.BindText(1, fingerprint).BindBytes(2, peaks.SerializeAsString()).Run();
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteStoreOptions& options) {
  const std::filesystem::path folder = std::filesystem::path(options.path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("folder ", folder.string(), " for database ",
                                                      options.path, ": ", error.message()));
  }
  Result<std::unique_ptr<FileLock>> lock = FileLock::Acquire(options.path + ".lock");
  if (absl::IsUnavailable(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", options.path, " is in use by another mdhd"));
  }
  MDH_RETURN_IF_ERROR(lock.status());
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, OpenConnection(options));
  MDH_RETURN_IF_ERROR(CheckOwnership(*database));
  MDH_RETURN_IF_ERROR(Migrate(*database));
  auto store = std::make_unique<SqliteStore>(*std::move(lock), std::move(database));
  MDH_RETURN_IF_ERROR(store->Prepare());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace mdh
