#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/resource_names.h"
#include "server/sqlite_connection.h"
#include "server/study_store.h"

namespace mdh {
namespace {

Status NoStudy(int64_t number) {
  return absl::NotFoundError(absl::StrCat("there is no study ", number));
}

class SqliteStudyStore : public StudyStore {
 public:
  explicit SqliteStudyStore(std::unique_ptr<SqliteDatabase> database)
      : database_(std::move(database)) {}

  Status Prepare();

  Result<int64_t> InsertStudy(const v1::Study& study) override;
  Result<v1::Study> GetStudy(int64_t number) override;
  Result<std::optional<v1::Study>> FindStudyByRequest(std::string_view request_id) override;
  Result<std::vector<v1::Study>> ListStudies(int64_t before, int limit, int64_t max_bytes) override;
  Result<int64_t> CountActiveStudies() override;
  Status DeleteStudy(int64_t number) override;
  Status PutTrials(int64_t number, const v1::Study& study,
                   absl::Span<const JournalTrial> trials) override;
  Result<std::vector<JournalTrial>> AllTrials(int64_t number) override;
  Result<std::vector<v1::StudyTrial>> ToldTrials(int64_t number, int64_t after, int limit,
                                                 int64_t max_bytes) override;

 private:
  // From a row (number, study).
  static Result<v1::Study> ReadBrief(const SqliteStatement& row);
  // From a row (number, study, spec).
  static Result<v1::Study> ReadStudy(const SqliteStatement& row);
  Status PutTrial(int64_t number, const JournalTrial& trial) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::unique_ptr<SqliteDatabase> database_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement insert_study_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement insert_spec_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement update_study_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement get_study_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement find_study_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement list_studies_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement count_active_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement delete_study_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement delete_spec_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement delete_trials_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement put_trial_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement all_trials_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement told_trials_ ABSL_GUARDED_BY(mutex_);
};

Status SqliteStudyStore::Prepare() {
  absl::MutexLock lock(&mutex_);
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&insert_study_,
       "INSERT INTO studies (request_id, is_active, study) VALUES (?1, ?2, ?3) RETURNING number"},
      {&insert_spec_, "INSERT INTO study_specs VALUES (?1, ?2)"},
      {&update_study_, "UPDATE studies SET is_active = ?2, study = ?3 WHERE number = ?1"},
      {&get_study_,
       "SELECT number, study, spec FROM studies JOIN study_specs USING (number)"
       " WHERE number = ?1"},
      {&find_study_,
       "SELECT number, study, spec FROM studies JOIN study_specs USING (number)"
       " WHERE request_id = ?1"},
      {&list_studies_,
       "SELECT number, study FROM studies WHERE ?1 = 0 OR number < ?1"
       " ORDER BY number DESC LIMIT ?2"},
      {&count_active_, "SELECT count(*) FROM studies WHERE is_active = 1"},
      {&delete_study_, "DELETE FROM studies WHERE number = ?1"},
      {&delete_spec_, "DELETE FROM study_specs WHERE number = ?1"},
      {&delete_trials_, "DELETE FROM study_trials WHERE study = ?1"},
      {&put_trial_, "INSERT OR REPLACE INTO study_trials VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
      {&all_trials_,
       "SELECT asked_ns, told_ns, told_order, trial FROM study_trials WHERE study = ?1"
       " ORDER BY number"},
      {&told_trials_,
       "SELECT trial FROM study_trials WHERE study = ?1 AND number > ?2 AND told_order > 0"
       " ORDER BY number LIMIT ?3"},
  };
  for (const auto& [statement, sql] : statements) {
    MDH_ASSIGN_OR_RETURN(*statement, database_->Prepare(sql));
  }
  return absl::OkStatus();
}

Result<v1::Study> SqliteStudyStore::ReadBrief(const SqliteStatement& row) {
  MDH_ASSIGN_OR_RETURN(v1::Study study, ParseStored<v1::Study>(row.Bytes(1), "study"));
  study.set_name(StudyName(row.Integer(0)));
  return study;
}

Result<v1::Study> SqliteStudyStore::ReadStudy(const SqliteStatement& row) {
  MDH_ASSIGN_OR_RETURN(v1::Study study, ReadBrief(row));
  MDH_ASSIGN_OR_RETURN(*study.mutable_spec(),
                       ParseStored<v1::StudySpec>(row.Bytes(2), "specification of a study"));
  return study;
}

// As it is stored beside its specification.
std::string BriefBytes(v1::Study study) {
  study.clear_name();
  *study.mutable_spec() = BriefSpec(study.spec());
  return study.SerializeAsString();
}

Result<int64_t> SqliteStudyStore::InsertStudy(const v1::Study& study) {
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(const auto transaction, SqliteTransaction::Begin(*database_));
  int64_t number = 0;
  {
    SqliteReset reset(insert_study_);
    if (study.request_id().empty()) {
      insert_study_.BindNull(1);
    } else {
      insert_study_.BindText(1, study.request_id());
    }
    insert_study_.Bind(2, study.state() == v1::STUDY_STATE_ACTIVE).BindBytes(3, BriefBytes(study));
    MDH_RETURN_IF_ERROR(insert_study_.Step().status());
    number = insert_study_.Integer(0);
    MDH_RETURN_IF_ERROR(insert_study_.Step().status());
  }
  MDH_RETURN_IF_ERROR(
      insert_spec_.Bind(1, number).BindBytes(2, study.spec().SerializeAsString()).Run());
  MDH_RETURN_IF_ERROR(transaction->Commit());
  return number;
}

Result<v1::Study> SqliteStudyStore::GetStudy(int64_t number) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(get_study_);
  MDH_ASSIGN_OR_RETURN(const bool has_row, get_study_.Bind(1, number).Step());
  if (!has_row) return NoStudy(number);
  return ReadStudy(get_study_);
}

Result<std::optional<v1::Study>> SqliteStudyStore::FindStudyByRequest(std::string_view request_id) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(find_study_);
  MDH_ASSIGN_OR_RETURN(const bool has_row, find_study_.BindText(1, request_id).Step());
  if (!has_row) return std::nullopt;
  return ReadStudy(find_study_);
}

Result<std::vector<v1::Study>> SqliteStudyStore::ListStudies(int64_t before, int limit,
                                                             int64_t max_bytes) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(list_studies_);
  list_studies_.Bind(1, before).Bind(2, limit);
  std::vector<v1::Study> studies;
  for (int64_t bytes = 0; bytes < max_bytes;) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, list_studies_.Step());
    if (!has_row) break;
    MDH_ASSIGN_OR_RETURN(v1::Study study, ReadBrief(list_studies_));
    bytes += static_cast<int64_t>(study.ByteSizeLong());
    studies.push_back(std::move(study));
  }
  return studies;
}

Result<int64_t> SqliteStudyStore::CountActiveStudies() {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(count_active_);
  MDH_RETURN_IF_ERROR(count_active_.Step().status());
  return count_active_.Integer(0);
}

Status SqliteStudyStore::DeleteStudy(int64_t number) {
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(const auto transaction, SqliteTransaction::Begin(*database_));
  MDH_RETURN_IF_ERROR(delete_study_.Bind(1, number).Run());
  if (database_->Changes() == 0) return NoStudy(number);
  MDH_RETURN_IF_ERROR(delete_spec_.Bind(1, number).Run());
  MDH_RETURN_IF_ERROR(delete_trials_.Bind(1, number).Run());
  return transaction->Commit();
}

Status SqliteStudyStore::PutTrial(int64_t number, const JournalTrial& trial) {
  return put_trial_.Bind(1, number)
      .Bind(2, trial.trial.number())
      .Bind(3, trial.asked_ns)
      .Bind(4, trial.told_ns)
      .Bind(5, trial.order)
      .BindBytes(6, trial.trial.SerializeAsString())
      .Run();
}

Status SqliteStudyStore::PutTrials(int64_t number, const v1::Study& study,
                                   absl::Span<const JournalTrial> trials) {
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(const auto transaction, SqliteTransaction::Begin(*database_));
  MDH_RETURN_IF_ERROR(update_study_.Bind(1, number)
                          .Bind(2, study.state() == v1::STUDY_STATE_ACTIVE)
                          .BindBytes(3, BriefBytes(study))
                          .Run());
  if (database_->Changes() == 0) return NoStudy(number);
  for (const JournalTrial& trial : trials) MDH_RETURN_IF_ERROR(PutTrial(number, trial));
  return transaction->Commit();
}

Result<std::vector<JournalTrial>> SqliteStudyStore::AllTrials(int64_t number) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(all_trials_);
  all_trials_.Bind(1, number);
  std::vector<JournalTrial> trials;
  while (true) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, all_trials_.Step());
    if (!has_row) return trials;
    JournalTrial trial;
    trial.asked_ns = all_trials_.Integer(0);
    trial.told_ns = all_trials_.Integer(1);
    trial.order = all_trials_.Integer(2);
    MDH_ASSIGN_OR_RETURN(trial.trial, ParseStored<v1::StudyTrial>(all_trials_.Bytes(3), "trial"));
    trials.push_back(std::move(trial));
  }
}

Result<std::vector<v1::StudyTrial>> SqliteStudyStore::ToldTrials(int64_t number, int64_t after,
                                                                 int limit, int64_t max_bytes) {
  absl::MutexLock lock(&mutex_);
  SqliteReset reset(told_trials_);
  told_trials_.Bind(1, number).Bind(2, after).Bind(3, limit);
  std::vector<v1::StudyTrial> trials;
  for (int64_t bytes = 0; bytes < max_bytes;) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, told_trials_.Step());
    if (!has_row) break;
    MDH_ASSIGN_OR_RETURN(v1::StudyTrial trial,
                         ParseStored<v1::StudyTrial>(told_trials_.Bytes(0), "trial"));
    bytes += static_cast<int64_t>(trial.ByteSizeLong());
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace

v1::StudySpec BriefSpec(const v1::StudySpec& spec) {
  v1::StudySpec brief;
  brief.set_display_name(spec.display_name());
  brief.set_technique(spec.technique());
  brief.set_seed(spec.seed());
  brief.set_lookahead(spec.lookahead());
  brief.set_abort(spec.abort());
  return brief;
}

Result<std::unique_ptr<StudyStore>> OpenSqliteStudyStore(const SqliteStoreOptions& options) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, OpenConnection(options));
  auto store = std::make_unique<SqliteStudyStore>(std::move(database));
  MDH_RETURN_IF_ERROR(store->Prepare());
  return std::unique_ptr<StudyStore>(std::move(store));
}

}  // namespace mdh
