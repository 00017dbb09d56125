#include "server/store/sqlite/sqlite_integrity.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/study.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "server/records/resource_names.h"
#include "server/store/stored_record.h"

namespace mdh {
namespace {

constexpr size_t kMostProblems = 100;

// Rows (name) whose bytes are not those that were stored.
constexpr std::pair<const char*, const char*> kChecksums[] = {
    {"is a record whose bytes have changed", "SELECT id FROM records WHERE crc32 <> crc32(record)"},
    {"is a kernel whose bytes have changed", "SELECT id FROM kernels WHERE crc32 <> crc32(kernel)"},
    {"is a job whose bytes have changed", "SELECT number FROM jobs WHERE crc32 <> crc32(job)"},
    {"is a trial of a job whose bytes have changed",
     "SELECT job || '/' || number FROM job_trials WHERE crc32 <> crc32(trial)"},
    {"is a study whose bytes have changed",
     "SELECT number FROM studies WHERE crc32 <> crc32(study)"},
    {"is a study whose specification's bytes have changed",
     "SELECT number FROM study_specs WHERE crc32 <> crc32(spec)"},
    {"is a trial of a study whose bytes have changed",
     "SELECT study || '/' || number FROM study_trials WHERE crc32 <> crc32(trial)"},
};

class IntegritySearch {
 public:
  explicit IntegritySearch(SqliteDatabase& database) : database_(database) {}

  Status LookAtPages() {
    return Look("PRAGMA integrity_check(100)", [&](const SqliteStatement& row) {
      if (row.Bytes(0) != "ok") Add(row.Bytes(0));
    });
  }
  // Rows (name, bytes) whose bytes are to be a message.
  template <typename Message>
  Status LookAtMessages(const char* what, const char* sql) {
    return Look(sql, [&](const SqliteStatement& row) {
      if (Message().ParseFromString(row.Bytes(1))) return;
      Add(absl::StrCat(what, " ", row.Bytes(0), " cannot be read"));
    });
  }
  // Rows (name) that are wrong.
  Status LookAtNames(const char* problem, const char* sql) {
    return Look(sql,
                [&](const SqliteStatement& row) { Add(absl::StrCat(row.Bytes(0), " ", problem)); });
  }
  // Rows (id, message) whose messages are to have the name `prefix` + id: the index of a damaged
  // database may lead to others.
  Status LookAtOwnNames(const char* what, const std::string& prefix, const char* sql) {
    return Look(sql, [&](const SqliteStatement& row) {
      const std::string name(NameIn(row.View(1)));
      if (name == prefix + row.Bytes(0)) return;
      Add(absl::StrCat(what, " ", row.Bytes(0), " is stored as '", name, "'"));
    });
  }
  std::vector<std::string> Take() { return std::move(problems_); }

 private:
  template <typename See>
  Status Look(const char* sql, const See& see) {
    MDH_ASSIGN_OR_RETURN(SqliteStatement rows, database_.Prepare(sql));
    return ForEachRow(rows, [&](const SqliteStatement& row) {
      see(row);
      return absl::OkStatus();
    });
  }
  void Add(std::string problem) {
    if (problems_.size() < kMostProblems) problems_.push_back(std::move(problem));
  }

  SqliteDatabase& database_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<std::string>> FindProblems(SqliteDatabase& database) {
  IntegritySearch search(database);
  MDH_RETURN_IF_ERROR(search.LookAtPages());
  MDH_RETURN_IF_ERROR(
      search.LookAtMessages<v1::TuningRecord>("record", "SELECT id, record FROM records"));
  MDH_RETURN_IF_ERROR(
      search.LookAtMessages<v1::Kernel>("kernel", "SELECT id, kernel FROM kernels"));
  MDH_RETURN_IF_ERROR(search.LookAtMessages<v1::TuningJob>("job", "SELECT number, job FROM jobs"));
  MDH_RETURN_IF_ERROR(search.LookAtMessages<v1::TuningTrial>(
      "trial", "SELECT job || '/' || number, trial FROM job_trials"));
  MDH_RETURN_IF_ERROR(
      search.LookAtMessages<v1::Study>("study", "SELECT number, study FROM studies"));
  for (const auto& [problem, sql] : kChecksums) {
    MDH_RETURN_IF_ERROR(search.LookAtNames(problem, sql));
  }
  MDH_RETURN_IF_ERROR(search.LookAtOwnNames(
      "record", RecordName(""), "SELECT id, record FROM records WHERE crc32 = crc32(record)"));
  MDH_RETURN_IF_ERROR(search.LookAtOwnNames(
      "kernel", KernelName(""), "SELECT id, kernel FROM kernels WHERE crc32 = crc32(kernel)"));
  MDH_RETURN_IF_ERROR(
      search.LookAtNames("is a record without a kernel",
                         "SELECT id FROM records WHERE id NOT IN (SELECT id FROM kernels)"));
  MDH_RETURN_IF_ERROR(
      search.LookAtNames("is a kernel without a record",
                         "SELECT id FROM kernels WHERE id NOT IN (SELECT id FROM records)"));
  MDH_RETURN_IF_ERROR(search.LookAtNames(
      "is a job whose trials are there but not the job itself",
      "SELECT DISTINCT job FROM job_trials WHERE job NOT IN (SELECT number FROM jobs)"));
  return search.Take();
}

Status CountRows(SqliteDatabase& database, v1::Statistics& statistics) {
  using Set = void (v1::Statistics::*)(int64_t);
  const std::pair<const char*, Set> figures[] = {
      {"SELECT count(*) FROM records", &v1::Statistics::set_records},
      {"SELECT count(*) FROM pins", &v1::Statistics::set_pinned_records},
      {"SELECT count(*) FROM quarantine", &v1::Statistics::set_quarantined_records},
      {"SELECT count(*) FROM jobs", &v1::Statistics::set_jobs},
      {"SELECT count(*) FROM job_trials", &v1::Statistics::set_trials},
      {"SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
       &v1::Statistics::set_database_bytes},
      {"SELECT freelist_count * page_size FROM pragma_freelist_count(), pragma_page_size()",
       &v1::Statistics::set_free_bytes},
  };
  for (const auto& [sql, set] : figures) {
    MDH_ASSIGN_OR_RETURN(const int64_t figure, database.QueryInteger(sql));
    (statistics.*set)(figure);
  }
  return absl::OkStatus();
}

}  // namespace mdh
