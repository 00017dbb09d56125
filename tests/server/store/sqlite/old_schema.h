// Takes databases back to what older daemons wrote.
#pragma once

namespace mdh {

// From version 9 of the schema to 8: nothing of other daemons.
inline constexpr const char* kToVersion8 = R"sql(
    ALTER TABLE jobs DROP COLUMN wanted_more;
    DROP TABLE nodes;
    UPDATE store SET schema_version = 8;
    PRAGMA user_version = 8;
    )sql";

// From version 9 to 7: nothing of owners, twins and versions, either.
inline constexpr const char* kToVersion7 = R"sql(
    ALTER TABLE jobs DROP COLUMN wanted_more;
    DROP TABLE nodes;
    DROP INDEX open_twins;
    ALTER TABLE jobs DROP COLUMN epoch;
    ALTER TABLE jobs DROP COLUMN wanted;
    ALTER TABLE jobs DROP COLUMN twin_id;
    ALTER TABLE studies DROP COLUMN version;
    DROP TABLE store;
    CREATE TABLE old_trials (
      job INTEGER NOT NULL,
      number INTEGER NOT NULL,
      trial BLOB NOT NULL,
      crc32 INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (job, number)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO old_trials SELECT job, number, trial, crc32 FROM job_trials;
    DROP TABLE job_trials;
    ALTER TABLE old_trials RENAME TO job_trials;
    PRAGMA user_version = 7;
    )sql";

}  // namespace mdh
