#include "server/store/postgres/postgres_schema.h"

#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Number n takes a database from version n to n + 1. Append only: what was released once is on
// somebody's server. Daemons of the version before go on while one of the next is there
// (`readable_from`), so that a migration only adds.
constexpr const char* kMigrations[] = {
    // `store` has one row; who changes records locks it before anything else, so that changes have
    // numbers without gaps and in the order of their commits. Of a change that removed a record
    // `removed` is what it was. Checksums are CRC-32s of zlib.
    R"sql(
    CREATE TABLE mdhd.store (
      one boolean PRIMARY KEY DEFAULT true CHECK (one),
      application text NOT NULL DEFAULT 'mdhd',
      schema_version int NOT NULL,
      readable_from int NOT NULL,
      incarnation uuid NOT NULL DEFAULT gen_random_uuid(),
      last_change bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 10);
    INSERT INTO mdhd.store (schema_version, readable_from) VALUES (1, 1);
    CREATE TABLE mdhd.records (
      id text PRIMARY KEY,
      place bigint NOT NULL,
      family text NOT NULL,
      generator_version int NOT NULL,
      is_provisional boolean NOT NULL,
      is_pinned boolean NOT NULL DEFAULT false,
      record bytea NOT NULL,
      crc32 bigint NOT NULL
    ) WITH (toast_tuple_target = 8160);
    ALTER TABLE mdhd.records ALTER record SET STORAGE EXTERNAL;
    CREATE INDEX records_place ON mdhd.records (place);
    CREATE INDEX records_family ON mdhd.records (family, generator_version);
    CREATE INDEX records_pinned ON mdhd.records (id) WHERE is_pinned;
    CREATE TABLE mdhd.kernels (
      id text PRIMARY KEY,
      kernel bytea NOT NULL,
      crc32 bigint NOT NULL
    );
    DO $$ BEGIN
      ALTER TABLE mdhd.kernels ALTER kernel SET COMPRESSION lz4;
    EXCEPTION WHEN feature_not_supported THEN NULL; END $$;
    CREATE TABLE mdhd.changes (
      number bigint PRIMARY KEY,
      kind int NOT NULL,
      id text NOT NULL,
      expression_digest text NOT NULL,
      removed bytea,
      at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE TABLE mdhd.quarantine (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text NOT NULL,
      record bytea,
      kernel bytea
    );
    CREATE TABLE mdhd.devices (
      fingerprint text PRIMARY KEY,
      peaks bytea NOT NULL
    );
    CREATE TABLE mdhd.jobs (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      request_id text UNIQUE,
      twin_id text,
      is_finished boolean NOT NULL,
      ended_ns bigint NOT NULL,
      fingerprint text NOT NULL,
      devices text[] NOT NULL,
      priority int NOT NULL,
      owner text NOT NULL,
      epoch bigint NOT NULL,
      lease_until timestamptz NOT NULL,
      wanted int NOT NULL DEFAULT 0,
      job bytea NOT NULL,
      crc32 bigint NOT NULL
    ) WITH (fillfactor = 70);
    CREATE UNIQUE INDEX jobs_open_twins ON mdhd.jobs (twin_id) WHERE NOT is_finished;
    CREATE INDEX jobs_unfinished ON mdhd.jobs (priority DESC, number) WHERE NOT is_finished;
    CREATE INDEX jobs_finished ON mdhd.jobs (number) WHERE is_finished;
    CREATE TABLE mdhd.job_trials (
      job bigint NOT NULL,
      number bigint NOT NULL,
      epoch bigint NOT NULL,
      trial bytea NOT NULL,
      crc32 bigint NOT NULL,
      PRIMARY KEY (job, number, epoch)
    );
    CREATE TABLE mdhd.studies (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      request_id text UNIQUE,
      is_active boolean NOT NULL,
      version bigint NOT NULL DEFAULT 1,
      trial_bytes bigint NOT NULL DEFAULT 0,
      study bytea NOT NULL,
      crc32 bigint NOT NULL
    ) WITH (fillfactor = 70);
    CREATE INDEX active_studies ON mdhd.studies (number) WHERE is_active;
    CREATE TABLE mdhd.study_specs (
      number bigint PRIMARY KEY,
      spec bytea NOT NULL,
      crc32 bigint NOT NULL
    );
    CREATE TABLE mdhd.study_trials (
      study bigint NOT NULL,
      number bigint NOT NULL,
      asked_ns bigint NOT NULL,
      told_ns bigint NOT NULL,
      told_order bigint NOT NULL,
      trial bytea NOT NULL,
      crc32 bigint NOT NULL,
      PRIMARY KEY (study, number)
    );
    )sql",
    // Daemons, as they announce themselves.
    R"sql(
    CREATE TABLE mdhd.nodes (
      name text PRIMARY KEY,
      node bytea NOT NULL,
      crc32 bigint NOT NULL,
      seen_at timestamptz NOT NULL,
      lease_until timestamptz NOT NULL
    ) WITH (fillfactor = 50);
    )sql",
    // The board of trials. Unlogged: nothing waits for the disk, and after a crash of the server,
    // or on
    // another one, they are empty. Who offered before offers again. No foreign keys: a helper may
    // be
    // forgotten at any moment, and what was offered to it is then swept up.
    R"sql(
    CREATE UNLOGGED TABLE mdhd.helped_jobs (
      job bigint PRIMARY KEY,
      epoch bigint NOT NULL,
      owner text NOT NULL,
      environment text NOT NULL,
      problem bytea NOT NULL,
      ends_at timestamptz
    );
    CREATE UNLOGGED TABLE mdhd.helpers (
      seat bigint PRIMARY KEY,
      job bigint NOT NULL,
      name text NOT NULL,
      lease_until timestamptz NOT NULL
    ) WITH (fillfactor = 50);
    CREATE INDEX helpers_job ON mdhd.helpers (job);
    CREATE UNLOGGED TABLE mdhd.offered_trials (
      job bigint NOT NULL,
      seat bigint NOT NULL,
      number bigint NOT NULL,
      parameters text NOT NULL,
      kernel_digest text NOT NULL,
      options bytea NOT NULL,
      measured bytea,
      PRIMARY KEY (job, seat, number)
    ) WITH (fillfactor = 50);
    )sql",
    // Null in rows that an earlier version wrote.
    R"sql(
    ALTER TABLE mdhd.records ADD COLUMN device_fingerprint text;
    CREATE INDEX records_device ON mdhd.records (device_fingerprint);
    )sql",
    // What more is wanted of a job: a message, as Store::WishMoreOfJob has it.
    R"sql(
    ALTER TABLE mdhd.jobs ADD COLUMN wanted_more bytea;
    )sql",
    // Records may be compressed, as kPostgresCompressedFrom says.
    R"sql(
    COMMENT ON COLUMN mdhd.records.record IS
      'A message; after a zero byte: 1, its size in 4 bytes, a block of LZ4 that is the message';
    )sql",
};
constexpr int64_t kSchemaVersion = std::size(kMigrations);

// "MDHd"; of the lock that daemons take which look after the schema.
constexpr int64_t kSchemaLock = 0x4d444864;

// Of the schema there is; nullopt: there is none. Errors: as PreparePostgresSchema.
Result<std::optional<int64_t>> ReadVersion(PostgresConnection& connection,
                                           const std::string& shown) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows found,
      connection.Run("SELECT to_regclass('mdhd.store') IS NOT NULL, EXISTS (SELECT 1 FROM pg_class"
                     " WHERE relnamespace = to_regnamespace('mdhd'))"));
  const bool has_store = found[0].Integer(0) != 0;
  if (!has_store && found[0].Integer(1) == 0) return std::nullopt;
  const Status others = absl::FailedPreconditionError(
      absl::StrCat("schema mdhd of database ", shown, " belongs to another application"));
  if (!has_store) return others;
  const Result<PgRows> store =
      connection.Run("SELECT application, schema_version, readable_from FROM mdhd.store");
  // Undefined column: what is called so is not ours.
  if (absl::IsInternal(store.status())) return others;
  MDH_RETURN_IF_ERROR(store.status());
  if (store->size() != 1 || (*store)[0].View(0) != "mdhd") return others;
  const int64_t version = (*store)[0].Integer(1);
  if ((*store)[0].Integer(2) > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat("database ", shown, " has schema version ",
                                                      version, ", this mdhd knows versions up to ",
                                                      kSchemaVersion, ": use a newer mdhd"));
  }
  if (version < 1) {
    return absl::FailedPreconditionError(absl::StrCat("database ", shown, " has schema version ",
                                                      version, ", which no mdhd has written"));
  }
  return version;
}

Status Migrate(PostgresConnection& connection, const std::string& shown) {
  MDH_ASSIGN_OR_RETURN(const std::optional<int64_t> found, ReadVersion(connection, shown));
  if (!found.has_value()) {
    MDH_ASSIGN_OR_RETURN(const PgRows schema,
                         connection.Run("SELECT to_regnamespace('mdhd') IS NOT NULL"));
    if (schema[0].Integer(0) == 0) {
      MDH_RETURN_IF_ERROR(connection.RunScript("CREATE SCHEMA mdhd"));
    }
  }
  for (int64_t version = found.value_or(0); version < kSchemaVersion; ++version) {
    MDH_RETURN_IF_ERROR(connection.RunScript(kMigrations[version]));
  }
  if (found.value_or(0) >= kSchemaVersion) return absl::OkStatus();
  // Of a new database there are no older daemons.
  return connection
      .Run("UPDATE mdhd.store SET schema_version = $1, readable_from = greatest(readable_from, $2)",
           kSchemaVersion, found.has_value() ? 1 : kPostgresCompressedFrom)
      .status();
}

}  // namespace

int64_t PostgresSchemaVersion() { return kSchemaVersion; }

Status PreparePostgresSchema(PostgresConnection& connection, const std::string& shown) {
  MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::Begin(connection));
  MDH_RETURN_IF_ERROR(
      connection.Run("SELECT pg_advisory_xact_lock($1::bigint)", kSchemaLock).status());
  MDH_RETURN_IF_ERROR(Migrate(connection, shown));
  return transaction->Commit();
}

Status CheckPostgresSchema(PostgresConnection& connection, const std::string& shown) {
  MDH_ASSIGN_OR_RETURN(const std::optional<int64_t> found, ReadVersion(connection, shown));
  if (!found.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", shown, " has no tables of mdhd and is read-only"));
  }
  return absl::OkStatus();
}

Result<PostgresIdentity> ReadIdentity(PostgresConnection& connection) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run(
          "SELECT left(encode(sha256(convert_to(incarnation::text"
          " || (SELECT ' ' || oid FROM pg_database WHERE datname = current_database())"
          " || (SELECT ' ' || system_identifier FROM pg_control_system()), 'UTF8')), 'hex'), 16),"
          " last_change FROM mdhd.store"));
  if (rows.size() != 1) return absl::FailedPreconditionError("mdhd.store has not one row");
  return PostgresIdentity{rows[0].Bytes(0), rows[0].Integer(1)};
}

}  // namespace mdh
