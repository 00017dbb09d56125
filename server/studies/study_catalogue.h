// The studies of the daemon: creating them, asking and telling, with everything journalled before
// it is acknowledged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "server/store/study_store.h"

namespace mdh {

class LoadedStudies;
struct LoadedStudy;

struct StudyCatalogueOptions {
  // Studies in memory, and their bytes; others are built again from the store when they are called.
  int max_loaded = 256;
  int64_t max_loaded_bytes = int64_t{1} << 30;
  absl::Duration keep_idle = absl::Minutes(1);  // in memory, after the last call
  int64_t max_space_bytes = int64_t{64} << 20;  // of one space; larger ones are lazy
  int max_builds = 4;                           // spaces that are built at the same time
  int64_t max_active = 10'000;                  // studies that are neither finished nor cancelled
  int64_t max_stored = 100'000;                 // studies, with those that have ended
  int64_t max_stored_bytes = int64_t{4} << 30;  // of all of them with their trials
  int64_t max_spec_bytes = int64_t{3} << 20;
  bool is_shared = false;  // other processes use the store, too
  std::function<absl::Time()> now = absl::Now;
};

// Thread-safe. Calls on different studies do not wait for each other while spaces are built. A call
// that fails has changed nothing. Several processes may share the store: of two that write a study
// at the same time one begins anew from what the other wrote.
class StudyCatalogue {
 public:
  // `store` must outlive this.
  explicit StudyCatalogue(StudyStore& store, StudyCatalogueOptions options = {});
  ~StudyCatalogue();

  // Errors: see StudyService.CreateStudy.
  // `source`: who creates it.
  Result<v1::Study> Create(const v1::StudySpec& spec, const std::string& request_id,
                           const std::string& source = "");
  // What Create would give, but for the name. Stores nothing.
  Result<v1::Study> Check(const v1::StudySpec& spec);
  // Errors: NotFound; so of all that follow. FailedPrecondition if the study was begun by a version
  // of mdhd that searched differently.
  Result<v1::AskTrialsResponse> Ask(int64_t number, int count, absl::Duration lease);
  // The study, in brief (BriefSpec). Errors: see StudyService.TellTrials.
  Result<v1::Study> Tell(int64_t number, const v1::TellTrialsRequest& request);
  // The study, in brief.
  Result<v1::Study> Cancel(int64_t number);
  Status Delete(int64_t number);

  // Drops studies from memory that were not called for long; a thread does so now and then.
  void DropIdle();
  int loaded() const;

 private:
  struct Built;

  // Waits while too many others build.
  Result<Built> Build(const v1::StudySpec& spec) ABSL_LOCKS_EXCLUDED(builds_mutex_);
  // A new study, not stored; its summary has the whole specification with defaults.
  Status Prepare(const v1::StudySpec& spec, LoadedStudy& loaded);
  // Whether there is room for more. Errors: ResourceExhausted with a QuotaFailure.
  Status CheckStoredBytes(const StudyTotals& totals) const;
  Status CheckRoomForStudy();
  // The study of an earlier request with the same id, if there is one.
  Result<std::optional<v1::Study>> FindRequest(const v1::StudySpec& spec,
                                               const std::string& request_id);
  // As LoadedStudies::With; if another process has written the study meanwhile the call is repeated
  // on what is stored then. Errors: also Aborted, if that happens again and again.
  template <typename T>
  Result<T> With(int64_t number, const std::function<Result<T>(LoadedStudy&)>& call);
  // Brings a study from the store to memory, unless it is there.
  Status Load(int64_t number, LoadedStudy& loaded);
  Status Restore(StoredStudy from, const std::vector<JournalTrial>& trials, LoadedStudy& loaded);
  // Stores the state of a study and these trials; drops what is in memory if that fails.
  Status Save(int64_t number, LoadedStudy& loaded, const std::vector<JournalTrial>& trials);

  Result<v1::AskTrialsResponse> AskLoaded(int64_t number, int count, absl::Duration lease,
                                          LoadedStudy& loaded);
  Result<v1::Study> TellLoaded(int64_t number, const v1::TellTrialsRequest& request,
                               LoadedStudy& loaded);
  Result<v1::Study> CancelLoaded(int64_t number, LoadedStudy& loaded);

  StudyStore& store_;
  const StudyCatalogueOptions options_;
  const std::unique_ptr<LoadedStudies> loaded_;
  absl::Mutex builds_mutex_;
  int builds_ ABSL_GUARDED_BY(builds_mutex_) = 0;
};

}  // namespace mdh
