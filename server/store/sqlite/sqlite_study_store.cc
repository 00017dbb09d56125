#include "server/store/sqlite/sqlite_study_store.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_connection.h"

namespace mdh {
namespace {

Status NoStudy(int64_t number) { return NotFound("there is no study ", number); }

class SqliteStudyStore : public StudyStore {
 public:
  SqliteStudyStore(SqliteWriter& writer, std::unique_ptr<SqliteDatabase> reader)
      : writer_(writer), reader_(std::move(reader)) {}

  Result<int64_t> InsertStudy(const v1::Study& study) override;
  Result<StoredStudy> GetStudy(int64_t number) override;
  Result<int64_t> GetVersion(int64_t number) override;
  Result<std::optional<v1::Study>> FindStudyByRequest(std::string_view request_id) override;
  Result<std::vector<v1::Study>> ListStudies(int64_t before, int limit, int64_t max_bytes) override;
  Result<int64_t> CountActiveStudies() override;
  Result<StudyTotals> Totals() override;
  Status DeleteStudy(int64_t number) override;
  Result<int64_t> PutTrials(int64_t number, int64_t version, const v1::Study& study,
                            absl::Span<const JournalTrial> trials) override;
  Result<std::vector<JournalTrial>> AllTrials(int64_t number, int64_t version) override;
  Result<std::vector<v1::StudyTrial>> ToldTrials(int64_t number, int64_t after, int limit,
                                                 int64_t max_bytes) override;

 private:
  SqliteWriter& writer_;
  absl::Mutex mutex_;
  std::unique_ptr<SqliteDatabase> reader_ ABSL_GUARDED_BY(mutex_);
};

// What ReadBrief and ReadStudy read.
#define MDH_STUDY_COLUMNS "studies.number, study, studies.crc32 = crc32(study)"
#define MDH_SPEC_COLUMNS "spec, study_specs.crc32 = crc32(spec)"

// From the first of the columns above.
Result<v1::Study> ReadBrief(const SqliteStatement& row) {
  MDH_ASSIGN_OR_RETURN(v1::Study study, ParseChecked<v1::Study>(row, 1, "study"));
  study.set_name(StudyName(row.Integer(0)));
  return study;
}

// From both.
Result<v1::Study> ReadStudy(const SqliteStatement& row) {
  MDH_ASSIGN_OR_RETURN(v1::Study study, ReadBrief(row));
  MDH_ASSIGN_OR_RETURN(*study.mutable_spec(),
                       ParseChecked<v1::StudySpec>(row, 3, "specification of a study"));
  return study;
}

// As it is stored beside its specification.
SqliteBytes BriefBytes(v1::Study study) {
  study.clear_name();
  *study.mutable_spec() = BriefSpec(study.spec());
  return BytesOf(study);
}

Result<int64_t> SqliteStudyStore::InsertStudy(const v1::Study& study) {
  int64_t number = 0;
  MDH_RETURN_IF_ERROR(writer_.Run([&](SqliteDatabase& database) -> Status {
    MDH_ASSIGN_OR_RETURN(number,
                         NumberFromSql(database,
                                       "INSERT INTO studies (request_id, is_active, study, crc32)"
                                       " VALUES (?1, ?2, ?3, crc32(?3)) RETURNING number",
                                       SqliteTextOrNull{study.request_id()},
                                       study.state() == v1::STUDY_STATE_ACTIVE, BriefBytes(study)));
    return RunSql(database, "INSERT INTO study_specs VALUES (?1, ?2, crc32(?2))", number,
                  BytesOf(study.spec()));
  }));
  return number;
}

Result<StoredStudy> SqliteStudyStore::GetStudy(int64_t number) {
  const auto read = [](const SqliteStatement& row) -> Result<StoredStudy> {
    MDH_ASSIGN_OR_RETURN(v1::Study study, ReadStudy(row));
    return StoredStudy{std::move(study), row.Integer(5)};
  };
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(std::optional<StoredStudy> study,
                       FirstRow(*reader_, read,
                                "SELECT " MDH_STUDY_COLUMNS ", " MDH_SPEC_COLUMNS
                                ", version FROM studies JOIN study_specs USING (number)"
                                " WHERE number = ?1",
                                number));
  if (!study.has_value()) return NoStudy(number);
  return *std::move(study);
}

Result<std::optional<v1::Study>> SqliteStudyStore::FindStudyByRequest(std::string_view request_id) {
  absl::MutexLock lock(&mutex_);
  return FirstRow(*reader_, ReadStudy,
                  "SELECT " MDH_STUDY_COLUMNS ", " MDH_SPEC_COLUMNS
                  " FROM studies JOIN study_specs USING (number)"
                  " WHERE request_id = ?1",
                  request_id);
}

// What `read` makes of the rows, up to so many bytes of messages.
template <typename Message>
Result<std::vector<Message>> ReadPage(SqliteStatement& rows, int64_t max_bytes,
                                      Result<Message> (*read)(const SqliteStatement&)) {
  std::vector<Message> page;
  for (int64_t bytes = 0; bytes < max_bytes;) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, rows.Step());
    if (!has_row) break;
    MDH_ASSIGN_OR_RETURN(page.emplace_back(), read(rows));
    bytes += static_cast<int64_t>(page.back().ByteSizeLong());
  }
  return page;
}

Result<std::vector<v1::Study>> SqliteStudyStore::ListStudies(int64_t before, int limit,
                                                             int64_t max_bytes) {
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(SqliteUse list, SqliteUse::Of(*reader_,
                                                     "SELECT " MDH_STUDY_COLUMNS
                                                     " FROM studies WHERE ?1 = 0 OR number < ?1"
                                                     " ORDER BY number DESC LIMIT ?2",
                                                     before, limit));
  return ReadPage<v1::Study>(*list, max_bytes, ReadBrief);
}

Result<int64_t> SqliteStudyStore::CountActiveStudies() {
  absl::MutexLock lock(&mutex_);
  return NumberFromSql(*reader_, "SELECT count(*) FROM studies WHERE is_active = 1");
}

Result<StudyTotals> SqliteStudyStore::Totals() {
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(SqliteUse totals,
                       SqliteUse::Of(*reader_, "SELECT studies, bytes FROM study_totals"));
  MDH_RETURN_IF_ERROR(totals->Step().status());
  return StudyTotals{.studies = totals->Integer(0), .bytes = totals->Integer(1)};
}

Status SqliteStudyStore::DeleteStudy(int64_t number) {
  return writer_.Run([&](SqliteDatabase& database) -> Status {
    MDH_RETURN_IF_ERROR(RunSql(database, "DELETE FROM studies WHERE number = ?1", number));
    if (database.Changes() == 0) return NoStudy(number);
    MDH_RETURN_IF_ERROR(RunSql(database, "DELETE FROM study_specs WHERE number = ?1", number));
    return RunSql(database, "DELETE FROM study_trials WHERE study = ?1", number);
  });
}

Status PutTrial(SqliteDatabase& database, int64_t number, const JournalTrial& trial) {
  return RunSql(database,
                // Not REPLACE, whose deletions start no trigger.
                "INSERT INTO study_trials VALUES (?1, ?2, ?3, ?4, ?5, ?6, crc32(?6))"
                " ON CONFLICT DO UPDATE SET asked_ns = excluded.asked_ns,"
                " told_ns = excluded.told_ns, told_order = excluded.told_order,"
                " trial = excluded.trial, crc32 = excluded.crc32",
                number, trial.trial.number(), trial.asked_ns, trial.told_ns, trial.order,
                BytesOf(trial.trial));
}

Result<int64_t> ReadVersion(SqliteDatabase& database, int64_t number) {
  const Result<int64_t> stored =
      NumberFromSql(database, "SELECT version FROM studies WHERE number = ?1", number);
  return absl::IsNotFound(stored.status()) ? NoStudy(number) : stored;
}

// Whether the study has that version. Errors: NotFound; Aborted.
Status CheckVersion(SqliteDatabase& database, int64_t number, int64_t version) {
  MDH_ASSIGN_OR_RETURN(const int64_t stored, ReadVersion(database, number));
  if (stored == version) return absl::OkStatus();
  return Aborted(StudyName(number), " was written by another");
}

Result<int64_t> SqliteStudyStore::GetVersion(int64_t number) {
  absl::MutexLock lock(&mutex_);
  return ReadVersion(*reader_, number);
}

Result<int64_t> SqliteStudyStore::PutTrials(int64_t number, int64_t version, const v1::Study& study,
                                            absl::Span<const JournalTrial> trials) {
  MDH_RETURN_IF_ERROR(writer_.Run([&](SqliteDatabase& database) -> Status {
    MDH_RETURN_IF_ERROR(CheckVersion(database, number, version));
    MDH_RETURN_IF_ERROR(RunSql(database,
                               "UPDATE studies SET is_active = ?2, study = ?3, crc32 = crc32(?3),"
                               " version = version + 1 WHERE number = ?1",
                               number, study.state() == v1::STUDY_STATE_ACTIVE, BriefBytes(study)));
    for (const JournalTrial& trial : trials) MDH_RETURN_IF_ERROR(PutTrial(database, number, trial));
    return absl::OkStatus();
  }));
  return version + 1;
}

Result<JournalTrial> ReadJournalTrial(const SqliteStatement& row) {
  JournalTrial trial;
  trial.asked_ns = row.Integer(0);
  trial.told_ns = row.Integer(1);
  trial.order = row.Integer(2);
  MDH_ASSIGN_OR_RETURN(trial.trial, ParseChecked<v1::StudyTrial>(row, 3, "trial"));
  return trial;
}

Result<std::vector<JournalTrial>> SqliteStudyStore::AllTrials(int64_t number, int64_t version) {
  absl::MutexLock lock(&mutex_);
  // Versions and trials as of one moment.
  MDH_ASSIGN_OR_RETURN(const auto moment, SqliteTransaction::BeginToRead(*reader_));
  MDH_RETURN_IF_ERROR(CheckVersion(*reader_, number, version));
  return AllRows(*reader_, ReadJournalTrial,
                 "SELECT asked_ns, told_ns, told_order, trial, crc32 = crc32(trial)"
                 " FROM study_trials WHERE study = ?1 ORDER BY number",
                 number);
}

Result<std::vector<v1::StudyTrial>> SqliteStudyStore::ToldTrials(int64_t number, int64_t after,
                                                                 int limit, int64_t max_bytes) {
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(
      SqliteUse told,
      SqliteUse::Of(
          *reader_,
          "SELECT trial, crc32 = crc32(trial) FROM study_trials WHERE study = ?1 AND number > ?2"
          " AND told_order > 0 ORDER BY number LIMIT ?3",
          number, after, limit));
  return ReadPage<v1::StudyTrial>(*told, max_bytes, [](const SqliteStatement& row) {
    return ParseChecked<v1::StudyTrial>(row, 0, "trial");
  });
}

}  // namespace

std::unique_ptr<StudyStore> MakeSqliteStudyStore(SqliteWriter& writer,
                                                 std::unique_ptr<SqliteDatabase> reader) {
  return std::make_unique<SqliteStudyStore>(writer, std::move(reader));
}

}  // namespace mdh
