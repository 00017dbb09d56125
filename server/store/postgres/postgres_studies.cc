#include "server/store/postgres/postgres_studies.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/records/resource_names.h"
#include "server/store/postgres/stored_messages.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// The sum over all studies is asked for before every telling: it may be so old.
constexpr int64_t kTotalsAgeNs = 10'000'000'000;
// Rows of a page that are read at once.
constexpr int kRows = 100;

Status NoStudy(int64_t number) {
  return absl::NotFoundError(absl::StrCat("there is no study ", number));
}

class PostgresStudyStore : public StudyStore {
 public:
  explicit PostgresStudyStore(PostgresPool& pool) : pool_(pool) {}

  Result<StoredStudy> GetStudy(int64_t number) override;
  Result<int64_t> GetVersion(int64_t number) override;
  Result<std::optional<v1::Study>> FindStudyByRequest(std::string_view request_id) override;
  Result<std::vector<JournalTrial>> AllTrials(int64_t number, int64_t version) override;
  Result<std::vector<v1::StudyTrial>> ToldTrials(int64_t number, int64_t after, int limit,
                                                 int64_t max_bytes) override;
  Result<std::vector<v1::Study>> ListStudies(int64_t before, int limit, int64_t max_bytes) override;
  Result<StudyTotals> Totals() override;
  Result<int64_t> CountActiveStudies() override;
  Result<int64_t> InsertStudy(const v1::Study& study) override;
  Result<int64_t> PutTrials(int64_t number, int64_t version, const v1::Study& study,
                            absl::Span<const JournalTrial> trials) override;
  Status DeleteStudy(int64_t number) override;

 private:
  // What this daemon has written since the totals were read.
  void AddToTotals(int64_t studies, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  PostgresPool& pool_;
  absl::Mutex mutex_;
  StudyTotals totals_ ABSL_GUARDED_BY(mutex_);
  int64_t totals_ns_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::min();
};

// A study without its specification from the first columns of a row: number, study, crc32.
Result<v1::Study> ReadBrief(const PgRow& row) {
  MDH_ASSIGN_OR_RETURN(v1::Study study, ParseChecked<v1::Study>(row, 1, "study"));
  study.set_name(StudyName(row.Integer(0)));
  return study;
}

// What ReadStudy reads.
#define MDH_WHOLE_STUDY                                                                     \
  "SELECT s.number, s.study, s.crc32, spec.spec, spec.crc32, s.version FROM mdhd.studies s" \
  " JOIN mdhd.study_specs spec USING (number)"

Result<std::optional<StoredStudy>> ReadStudy(const PgRows& rows) {
  if (rows.empty()) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(v1::Study study, ReadBrief(rows[0]));
  MDH_ASSIGN_OR_RETURN(*study.mutable_spec(),
                       ParseChecked<v1::StudySpec>(rows[0], 3, "specification of a study"));
  return StoredStudy{std::move(study), rows[0].Integer(5)};
}

// As it is stored beside its specification.
PgChecked BriefOf(v1::Study study) {
  study.clear_name();
  *study.mutable_spec() = BriefSpec(study.spec());
  return PgChecked(study);
}

Result<int64_t> PostgresStudyStore::InsertStudy(const v1::Study& study) {
  const PgChecked brief = BriefOf(study);
  const PgChecked spec(study.spec());
  MDH_ASSIGN_OR_RETURN(
      const int64_t number,
      pool_.Run(PgRepeat::kOnce, [&](PostgresConnection& connection) -> Result<int64_t> {
        MDH_ASSIGN_OR_RETURN(
            const PgRows earlier,
            connection.Run("SELECT 1 FROM mdhd.studies WHERE request_id = $1", study.request_id()));
        if (!earlier.empty()) {
          return absl::AlreadyExistsError(
              absl::StrCat("there is a study for the request '", study.request_id(), "'"));
        }
        MDH_ASSIGN_OR_RETURN(
            const PgRows rows,
            connection.Run("WITH s AS (INSERT INTO mdhd.studies (request_id, is_active, study,"
                           " crc32) VALUES ($1, $2, $3, $4) RETURNING number)"
                           " INSERT INTO mdhd.study_specs SELECT number, $5::bytea, $6::bigint"
                           " FROM s RETURNING number",
                           PgValue::TextOrNull(study.request_id()),
                           study.state() == v1::STUDY_STATE_ACTIVE, PgValue::Bytes(brief.bytes),
                           brief.crc32, PgValue::Bytes(spec.bytes), spec.crc32));
        return rows[0].Integer(0);
      }));
  AddToTotals(1, static_cast<int64_t>(brief.bytes.size() + spec.bytes.size()));
  return number;
}

Result<StoredStudy> PostgresStudyStore::GetStudy(int64_t number) {
  return pool_.Run(
      PgRepeat::kMayRepeat, [&](PostgresConnection& connection) -> Result<StoredStudy> {
        MDH_ASSIGN_OR_RETURN(const PgRows rows,
                             connection.Run(MDH_WHOLE_STUDY " WHERE s.number = $1", number));
        MDH_ASSIGN_OR_RETURN(std::optional<StoredStudy> study, ReadStudy(rows));
        if (!study.has_value()) return NoStudy(number);
        return *std::move(study);
      });
}

Result<int64_t> PostgresStudyStore::GetVersion(int64_t number) {
  return pool_.Run(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) -> Result<int64_t> {
    MDH_ASSIGN_OR_RETURN(
        const PgRows rows,
        connection.Run("SELECT version FROM mdhd.studies WHERE number = $1", number));
    if (rows.empty()) return NoStudy(number);
    return rows[0].Integer(0);
  });
}

Result<std::optional<v1::Study>> PostgresStudyStore::FindStudyByRequest(
    std::string_view request_id) {
  return pool_.Run(PgRepeat::kMayRepeat,
                   [&](PostgresConnection& connection) -> Result<std::optional<v1::Study>> {
                     MDH_ASSIGN_OR_RETURN(
                         const PgRows rows,
                         connection.Run(MDH_WHOLE_STUDY " WHERE s.request_id = $1", request_id));
                     MDH_ASSIGN_OR_RETURN(std::optional<StoredStudy> study, ReadStudy(rows));
                     if (!study.has_value()) return std::nullopt;
                     return std::move(study->study);
                   });
}

Result<std::vector<v1::Study>> PostgresStudyStore::ListStudies(int64_t before, int limit,
                                                               int64_t max_bytes) {
  if (before == 0) before = std::numeric_limits<int64_t>::max();
  const auto list = [&](PostgresConnection& connection) -> Result<std::vector<v1::Study>> {
    std::vector<v1::Study> studies;
    for (int64_t next = before, bytes = 0; true;) {
      const int count = std::min<int>(kRows, limit - static_cast<int>(studies.size()));
      if (count <= 0) return studies;
      MDH_ASSIGN_OR_RETURN(const PgRows rows,
                           connection.Run("SELECT number, study, crc32 FROM mdhd.studies"
                                          " WHERE number < $1 ORDER BY number DESC LIMIT $2",
                                          next, count));
      for (int n = 0; n < rows.size(); ++n) {
        if (bytes >= max_bytes) return studies;
        MDH_ASSIGN_OR_RETURN(studies.emplace_back(), ReadBrief(rows[n]));
        bytes += static_cast<int64_t>(studies.back().ByteSizeLong());
        next = rows[n].Integer(0);
      }
      if (rows.size() < count) return studies;
    }
  };
  return pool_.Run(PgRepeat::kMayRepeat, list);
}

Result<int64_t> PostgresStudyStore::CountActiveStudies() {
  return pool_.Run(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) -> Result<int64_t> {
    MDH_ASSIGN_OR_RETURN(const PgRows rows, connection.Run("SELECT count(*) FROM mdhd.studies"
                                                           " WHERE is_active"));
    return rows[0].Integer(0);
  });
}

Result<StudyTotals> PostgresStudyStore::Totals() {
  {
    absl::MutexLock lock(&mutex_);
    if (totals_ns_ > NowNs() - kTotalsAgeNs) return totals_;
  }
  MDH_ASSIGN_OR_RETURN(
      const StudyTotals totals,
      pool_.Run(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) -> Result<StudyTotals> {
        MDH_ASSIGN_OR_RETURN(
            const PgRows rows,
            connection.Run(
                "SELECT count(*), coalesce(sum(octet_length(s.study) + octet_length(spec.spec)"
                " + s.trial_bytes), 0)::bigint FROM mdhd.studies s"
                " JOIN mdhd.study_specs spec USING (number)"));
        return StudyTotals{.studies = rows[0].Integer(0), .bytes = rows[0].Integer(1)};
      }));
  absl::MutexLock lock(&mutex_);
  totals_ = totals;
  totals_ns_ = NowNs();
  return totals;
}

void PostgresStudyStore::AddToTotals(int64_t studies, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  totals_.studies += studies;
  totals_.bytes += bytes;
}

Status PostgresStudyStore::DeleteStudy(int64_t number) {
  const auto remove = [&](PostgresConnection& connection) -> Status {
    MDH_ASSIGN_OR_RETURN(
        const std::vector<PgRows> rows,
        connection.RunTogether({{"DELETE FROM mdhd.studies WHERE number = $1", {number}},
                                {"DELETE FROM mdhd.study_specs WHERE number = $1", {number}},
                                {"DELETE FROM mdhd.study_trials WHERE study = $1", {number}}}));
    return rows[0].changed() == 0 ? NoStudy(number) : absl::OkStatus();
  };
  // Not twice: the second time there would be none.
  MDH_RETURN_IF_ERROR(pool_.Run(PgRepeat::kOnce, remove));
  absl::MutexLock lock(&mutex_);
  totals_ns_ = std::numeric_limits<int64_t>::min();
  return absl::OkStatus();
}

// The bytes of a study beside its specification and its trials, if it has that version; `sql` gives
// version and bytes. Errors: NotFound; Aborted.
Result<int64_t> CheckVersion(PostgresConnection& connection, const char* sql, int64_t number,
                             int64_t version) {
  MDH_ASSIGN_OR_RETURN(const PgRows found, connection.Run(sql, number));
  if (found.empty()) return NoStudy(number);
  if (found[0].Integer(0) == version) return found[0].Integer(1);
  return absl::AbortedError(absl::StrCat(StudyName(number), " was written by another"));
}

PgStatement PutTrial(int64_t number, const JournalTrial& trial) {
  const PgChecked stored(trial.trial);
  return {
      "INSERT INTO mdhd.study_trials VALUES ($1, $2, $3, $4, $5, $6, $7)"
      " ON CONFLICT (study, number) DO UPDATE SET asked_ns = excluded.asked_ns,"
      " told_ns = excluded.told_ns, told_order = excluded.told_order, trial = excluded.trial,"
      " crc32 = excluded.crc32",
      {number, trial.trial.number(), trial.asked_ns, trial.told_ns, trial.order,
       PgValue::Bytes(stored.bytes), stored.crc32}};
}

// How many bytes the trials have in the database.
Result<int64_t> BytesOfTrials(PostgresConnection& connection, int64_t number,
                              absl::Span<const JournalTrial> trials) {
  std::vector<std::string> numbers;
  for (const JournalTrial& trial : trials) numbers.push_back(absl::StrCat(trial.trial.number()));
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("SELECT coalesce(sum(octet_length(trial)), 0)::bigint FROM mdhd.study_trials"
                     " WHERE study = $1 AND number = ANY ($2::bigint[])",
                     number, PgValue::Texts(numbers)));
  return rows[0].Integer(0);
}

Result<int64_t> PostgresStudyStore::PutTrials(int64_t number, int64_t version,
                                              const v1::Study& study,
                                              absl::Span<const JournalTrial> trials) {
  const PgChecked brief = BriefOf(study);
  std::vector<PgStatement> puts;
  int64_t bytes = 0;
  for (const JournalTrial& trial : trials) {
    puts.push_back(PutTrial(number, trial));
    bytes += static_cast<int64_t>(trial.trial.ByteSizeLong());
  }
  int64_t added = 0;
  const auto put = [&](PostgresConnection& connection) -> Status {
    MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::Begin(connection));
    MDH_ASSIGN_OR_RETURN(const int64_t brief_bytes,
                         CheckVersion(connection,
                                      "SELECT version, octet_length(study) FROM mdhd.studies"
                                      " WHERE number = $1 FOR UPDATE",
                                      number, version));
    MDH_ASSIGN_OR_RETURN(const int64_t before, BytesOfTrials(connection, number, trials));
    puts.push_back(
        {"UPDATE mdhd.studies SET is_active = $2, study = $3, crc32 = $4,"
         " trial_bytes = trial_bytes + $5, version = version + 1 WHERE number = $1",
         {number, study.state() == v1::STUDY_STATE_ACTIVE, PgValue::Bytes(brief.bytes), brief.crc32,
          bytes - before}});
    added = bytes - before + static_cast<int64_t>(brief.bytes.size()) - brief_bytes;
    return transaction->Commit(std::move(puts));
  };
  // Not twice: its own version would be another one by then.
  MDH_RETURN_IF_ERROR(pool_.Run(PgRepeat::kOnce, put));
  AddToTotals(0, added);
  return version + 1;
}

Result<std::vector<JournalTrial>> PostgresStudyStore::AllTrials(int64_t number, int64_t version) {
  const auto read = [&](PostgresConnection& connection) -> Result<std::vector<JournalTrial>> {
    // Version and trials as of one moment.
    MDH_ASSIGN_OR_RETURN(const auto transaction, PostgresTransaction::BeginToRead(connection));
    MDH_RETURN_IF_ERROR(CheckVersion(connection,
                                     "SELECT version, 0 FROM mdhd.studies WHERE number = $1",
                                     number, version)
                            .status());
    MDH_ASSIGN_OR_RETURN(const PgRows rows,
                         connection.Run("SELECT asked_ns, told_ns, told_order, trial, crc32"
                                        " FROM mdhd.study_trials WHERE study = $1 ORDER BY number",
                                        number));
    std::vector<JournalTrial> trials;
    for (int n = 0; n < rows.size(); ++n) {
      JournalTrial& trial = trials.emplace_back();
      trial.asked_ns = rows[n].Integer(0);
      trial.told_ns = rows[n].Integer(1);
      trial.order = rows[n].Integer(2);
      MDH_ASSIGN_OR_RETURN(trial.trial, ParseChecked<v1::StudyTrial>(rows[n], 3, "trial"));
    }
    return trials;
  };
  return pool_.Run(PgRepeat::kMayRepeat, read);
}

Result<std::vector<v1::StudyTrial>> PostgresStudyStore::ToldTrials(int64_t number, int64_t after,
                                                                   int limit, int64_t max_bytes) {
  const auto read = [&](PostgresConnection& connection) -> Result<std::vector<v1::StudyTrial>> {
    std::vector<v1::StudyTrial> trials;
    for (int64_t next = after, bytes = 0; true;) {
      const int count = std::min<int>(kRows, limit - static_cast<int>(trials.size()));
      if (count <= 0) return trials;
      MDH_ASSIGN_OR_RETURN(
          const PgRows rows,
          connection.Run("SELECT trial, crc32, number FROM mdhd.study_trials WHERE study = $1"
                         " AND number > $2 AND told_order > 0 ORDER BY number LIMIT $3",
                         number, next, count));
      for (int n = 0; n < rows.size(); ++n) {
        if (bytes >= max_bytes) return trials;
        MDH_ASSIGN_OR_RETURN(trials.emplace_back(),
                             ParseChecked<v1::StudyTrial>(rows[n], 0, "trial"));
        bytes += static_cast<int64_t>(trials.back().ByteSizeLong());
        next = rows[n].Integer(2);
      }
      if (rows.size() < count) return trials;
    }
  };
  return pool_.Run(PgRepeat::kMayRepeat, read);
}

}  // namespace

std::unique_ptr<StudyStore> MakePostgresStudyStore(PostgresPool& pool) {
  return std::make_unique<PostgresStudyStore>(pool);
}

}  // namespace mdh
