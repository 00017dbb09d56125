#include "server/store/sqlite/sqlite_schema.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

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
    // `owner` and `lease_ns`: which daemon works on a job, and until when it may; `ended_ns`: when
    // it ended, or 0. `quarantine` has rows that cannot be read.
    R"sql(
    ALTER TABLE records ADD COLUMN is_provisional INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    ALTER TABLE jobs ADD COLUMN lease_ns INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN ended_ns INTEGER NOT NULL DEFAULT 0;
    UPDATE jobs SET ended_ns = CAST(strftime('%s', 'now') AS INTEGER) * 1000000000
      WHERE is_finished = 1;
    CREATE INDEX finished_jobs ON jobs (ended_ns) WHERE is_finished = 1;
    CREATE TABLE job_trials (
      job INTEGER NOT NULL,
      number INTEGER NOT NULL,
      trial BLOB NOT NULL,
      PRIMARY KEY (job, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pins (
      id TEXT PRIMARY KEY
    ) STRICT;
    CREATE TABLE changes (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      change BLOB NOT NULL
    ) STRICT;
    CREATE TABLE quarantine (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL,
      record BLOB,
      kernel BLOB
    ) STRICT;
    )sql",
    // Of the bytes of a record and of a kernel, since SQLite does not notice when a disk changes
    // what is inside of a value.
    R"sql(
    ALTER TABLE records ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE kernels ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0;
    UPDATE records SET crc32 = crc32(record);
    UPDATE kernels SET crc32 = crc32(kernel);
    )sql",
    // One row: how many studies there are and how large they are with their trials. Kept by
    // triggers, so that nothing that writes can forget it.
    R"sql(
    CREATE TABLE study_totals (studies INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
    INSERT INTO study_totals SELECT
      (SELECT count(*) FROM studies),
      (SELECT coalesce(sum(length(study)), 0) FROM studies)
        + (SELECT coalesce(sum(length(spec)), 0) FROM study_specs)
        + (SELECT coalesce(sum(length(trial)), 0) FROM study_trials);
    CREATE TRIGGER study_inserted AFTER INSERT ON studies BEGIN
      UPDATE study_totals SET studies = studies + 1, bytes = bytes + length(NEW.study);
    END;
    CREATE TRIGGER study_updated AFTER UPDATE OF study ON studies BEGIN
      UPDATE study_totals SET bytes = bytes + length(NEW.study) - length(OLD.study);
    END;
    CREATE TRIGGER study_deleted AFTER DELETE ON studies BEGIN
      UPDATE study_totals SET studies = studies - 1, bytes = bytes - length(OLD.study);
    END;
    CREATE TRIGGER study_spec_inserted AFTER INSERT ON study_specs BEGIN
      UPDATE study_totals SET bytes = bytes + length(NEW.spec);
    END;
    CREATE TRIGGER study_spec_deleted AFTER DELETE ON study_specs BEGIN
      UPDATE study_totals SET bytes = bytes - length(OLD.spec);
    END;
    CREATE TRIGGER study_trial_inserted AFTER INSERT ON study_trials BEGIN
      UPDATE study_totals SET bytes = bytes + length(NEW.trial);
    END;
    CREATE TRIGGER study_trial_updated AFTER UPDATE OF trial ON study_trials BEGIN
      UPDATE study_totals SET bytes = bytes + length(NEW.trial) - length(OLD.trial);
    END;
    CREATE TRIGGER study_trial_deleted AFTER DELETE ON study_trials BEGIN
      UPDATE study_totals SET bytes = bytes - length(OLD.trial);
    END;
    )sql",
    // Checksums of the rest. `commits` has one row: how many transactions there were (CommitCount).
    R"sql(
    ALTER TABLE jobs ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE job_trials ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE studies ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE study_specs ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE study_trials ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0;
    UPDATE jobs SET crc32 = crc32(job);
    UPDATE job_trials SET crc32 = crc32(trial);
    UPDATE studies SET crc32 = crc32(study);
    UPDATE study_specs SET crc32 = crc32(spec);
    UPDATE study_trials SET crc32 = crc32(trial);
    CREATE TABLE commits (number INTEGER NOT NULL) STRICT;
    INSERT INTO commits VALUES (0);
    )sql",
    // Keys have a schedule, which is empty of what was searched without one.
    R"sql(
    CREATE TABLE scheduled_records (
      id TEXT PRIMARY KEY,
      expression_digest TEXT NOT NULL,
      canonical_form TEXT NOT NULL,
      device_fingerprint TEXT NOT NULL,
      compiler TEXT NOT NULL,
      generator_version INTEGER NOT NULL,
      numerics_policy INTEGER NOT NULL,
      schedule TEXT NOT NULL DEFAULT '',
      time_ns INTEGER NOT NULL,
      record BLOB NOT NULL,
      is_provisional INTEGER NOT NULL DEFAULT 0,
      crc32 INTEGER NOT NULL DEFAULT 0,
      UNIQUE (expression_digest, canonical_form, device_fingerprint, compiler, generator_version,
              numerics_policy, schedule)
    ) STRICT;
    INSERT INTO scheduled_records (rowid, id, expression_digest, canonical_form,
        device_fingerprint, compiler, generator_version, numerics_policy, time_ns, record,
        is_provisional, crc32)
      SELECT rowid, id, expression_digest, canonical_form, device_fingerprint, compiler,
        generator_version, numerics_policy, time_ns, record, is_provisional, crc32 FROM records;
    DROP TABLE records;
    ALTER TABLE scheduled_records RENAME TO records;
    )sql",
    // `epoch`: how often a job was taken; `wanted`: a JobWish; `twin_id`: of which only one job may
    // be open. Trials of several owners may have the same numbers. `version` grows with each write
    // of a study. `store` has one row: the incarnation of the changes, and which versions of the
    // schema can be used by whom (CheckOwnership).
    R"sql(
    ALTER TABLE jobs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN wanted INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN twin_id TEXT;
    CREATE UNIQUE INDEX open_twins ON jobs (twin_id) WHERE is_finished = 0;
    CREATE TABLE trials_of_owners (
      job INTEGER NOT NULL,
      number INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      trial BLOB NOT NULL,
      crc32 INTEGER NOT NULL,
      PRIMARY KEY (job, number, epoch)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO trials_of_owners SELECT job, number, 0, trial, crc32 FROM job_trials;
    DROP TABLE job_trials;
    ALTER TABLE trials_of_owners RENAME TO job_trials;
    ALTER TABLE studies ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    CREATE TABLE store (
      incarnation TEXT NOT NULL,
      schema_version INTEGER NOT NULL,
      readable_from INTEGER NOT NULL
    ) STRICT;
    INSERT INTO store VALUES (lower(hex(randomblob(8))), 0, 0);
    )sql",
    // Daemons, as they announce themselves.
    R"sql(
    CREATE TABLE nodes (
      name TEXT PRIMARY KEY,
      node BLOB NOT NULL,
      crc32 INTEGER NOT NULL,
      seen_ns INTEGER NOT NULL,
      lease_ns INTEGER NOT NULL
    ) STRICT;
    )sql",
    // What more is wanted of a job: a message, as Store::WishMoreOfJob has it.
    R"sql(
    ALTER TABLE jobs ADD COLUMN wanted_more BLOB;
    )sql",
};
constexpr int64_t kSchemaVersion = std::size(kMigrations);
// An older mdhd that knows this version can read and write what this one writes. A migration that
// only adds leaves it as it is; one that an older mdhd would stumble over raises it to its own.
constexpr int64_t kReadableFrom = 8;

// From which version on an mdhd can use a database whose version is too new for this one.
int64_t ReadableFrom(SqliteDatabase& database, int64_t version) {
  const Result<int64_t> from = database.QueryInteger(
      absl::StrCat("SELECT readable_from FROM store WHERE schema_version = ", version).c_str());
  return from.ok() ? *from : version;
}

// Refuses files of others before anything is written. A file without tables is a new one.
Result<PagesChecked> CheckOwnership(SqliteDatabase& database, int64_t max_checked_bytes) {
  MDH_ASSIGN_OR_RETURN(const int64_t application, database.QueryInteger("PRAGMA application_id"));
  MDH_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  MDH_ASSIGN_OR_RETURN(const int64_t tables,
                       database.QueryInteger("SELECT count(*) FROM sqlite_schema"));
  const bool is_new = application == 0 && version == 0 && tables == 0;
  if (!is_new && application != kApplicationId) {
    return FailedPrecondition("database ", database.path(), " belongs to another application");
  }
  if (version > kSchemaVersion) {
    if (const int64_t from = ReadableFrom(database, version); from > kSchemaVersion) {
      return FailedPrecondition("database ", database.path(), " has schema version ", version,
                                ", which can be used from version ", from,
                                " on, and this mdhd knows versions up to ", kSchemaVersion,
                                ": use a newer mdhd");
    }
  }
  MDH_ASSIGN_OR_RETURN(const int64_t pages, database.QueryInteger("PRAGMA page_count"));
  MDH_ASSIGN_OR_RETURN(const int64_t page_bytes, database.QueryInteger("PRAGMA page_size"));
  if (pages * page_bytes > max_checked_bytes) return PagesChecked::kNone;
  MDH_ASSIGN_OR_RETURN(const std::string check, database.QuickCheck());
  if (check != "ok") {
    return FailedPrecondition("database ", database.path(), " is damaged: ", check);
  }
  return PagesChecked::kAll;
}

Status Migrate(SqliteDatabase& database) {
  MDH_RETURN_IF_ERROR(database.QueryText("PRAGMA journal_mode = WAL").status());
  MDH_ASSIGN_OR_RETURN(int64_t version, database.QueryInteger("PRAGMA user_version"));
  // A new file has nothing to lose.
  if (version > 0 && version < kSchemaVersion) {
    const Status copied = database.CopyTo(absl::StrCat(database.path(), ".schema-", version));
    // The copy of an earlier attempt is as good.
    if (!copied.ok() && !absl::IsAlreadyExists(copied)) return copied;
  }
  for (; version < kSchemaVersion; ++version) {
    MDH_ASSIGN_OR_RETURN(const auto transaction, SqliteTransaction::Begin(database));
    MDH_RETURN_IF_ERROR(database.Execute(kMigrations[version]));
    MDH_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId,
                                                      "; PRAGMA user_version = ", version + 1)));
    if (version + 1 == kSchemaVersion) {
      MDH_RETURN_IF_ERROR(
          database.Execute(absl::StrCat("UPDATE store SET schema_version = ", kSchemaVersion,
                                        ", readable_from = ", kReadableFrom)));
    }
    MDH_RETURN_IF_ERROR(transaction->Commit());
  }
  return absl::OkStatus();
}

}  // namespace

int64_t SchemaVersion() { return kSchemaVersion; }

Result<PagesChecked> PrepareSchema(SqliteDatabase& database, int64_t max_checked_bytes) {
  MDH_ASSIGN_OR_RETURN(const PagesChecked checked, CheckOwnership(database, max_checked_bytes));
  MDH_RETURN_IF_ERROR(Migrate(database));
  return checked;
}

Result<PagesChecked> CheckSchema(SqliteDatabase& database, int64_t max_checked_bytes) {
  MDH_ASSIGN_OR_RETURN(const PagesChecked checked, CheckOwnership(database, max_checked_bytes));
  MDH_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  if (version < kSchemaVersion) {
    return FailedPrecondition("database ", database.path(), " has schema version ", version,
                              " and cannot be brought up to date: it is read-only");
  }
  return checked;
}

}  // namespace mdh
