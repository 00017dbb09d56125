// What the daemon remembers of studies: their specifications, how far they are, and the journal of
// their trials.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/study.pb.h"

namespace mdh {

// A trial in the journal.
struct JournalTrial {
  v1::StudyTrial trial;  // with lease_expire_time until it is told
  int64_t asked_ns = 0;  // since the epoch; when it was given out last
  int64_t told_ns = 0;   // since the epoch; 0 until it is told
  int64_t order = 0;     // 1, 2, ... in the order of telling; 0 until it is told
};

// A study and its version, which grows with everything that is written of it.
struct StoredStudy {
  v1::Study study;
  int64_t version = 0;
};

struct StudyTotals {
  int64_t studies = 0;
  int64_t bytes = 0;  // of their specifications, states and trials
};

// Thread-safe, and safe among processes as Store is. What a call acknowledged survives the end of
// the process and of the machine; a call that fails changes nothing. Errors of every call that
// writes: ResourceExhausted if the disk is full. Errors of every call: FailedPrecondition if the
// storage is damaged, Internal. `name` of studies is not stored: those that are read have the name
// of their number.
class StudyStore {
 public:
  virtual ~StudyStore() = default;

  // Returns the number of the new study, in version 1; later ones have larger numbers, also after
  // deletions. Errors: AlreadyExists if its request_id is that of another study.
  virtual Result<int64_t> InsertStudy(const v1::Study& study) = 0;
  // Errors: NotFound.
  virtual Result<StoredStudy> GetStudy(int64_t number) = 0;
  // Of the study as it is now. Errors: NotFound.
  virtual Result<int64_t> GetVersion(int64_t number) {
    MDH_ASSIGN_OR_RETURN(const StoredStudy stored, GetStudy(number));
    return stored.version;
  }
  // nullopt if no study has that request_id.
  virtual Result<std::optional<v1::Study>> FindStudyByRequest(std::string_view request_id) = 0;
  // Up to `limit` studies, and about `max_bytes` but at least one, with numbers below `before` (0:
  // any), the newest first. Their specifications are brief (BriefSpec).
  virtual Result<std::vector<v1::Study>> ListStudies(int64_t before, int limit,
                                                     int64_t max_bytes) = 0;
  virtual Result<int64_t> CountActiveStudies() = 0;
  // Of all that are stored.
  virtual Result<StudyTotals> Totals() = 0;
  // Errors: NotFound.
  virtual Status DeleteStudy(int64_t number) = 0;

  // Replaces what is stored of the study, but for its specification, and of these trials, and gives
  // its new version. Errors: NotFound; Aborted if it has another version than that: somebody else
  // has written it, and whoever goes on from what it was reads it again.
  virtual Result<int64_t> PutTrials(int64_t number, int64_t version, const v1::Study& study,
                                    absl::Span<const JournalTrial> trials) = 0;
  // Those of a version, in the order of their numbers. Errors: NotFound; Aborted, as above.
  virtual Result<std::vector<JournalTrial>> AllTrials(int64_t number, int64_t version) = 0;
  // Up to `limit` trials that were told, and about `max_bytes` but at least one, with numbers above
  // `after`, in the order of their numbers.
  virtual Result<std::vector<v1::StudyTrial>> ToldTrials(int64_t number, int64_t after, int limit,
                                                         int64_t max_bytes) = 0;
};

// What lists show of a specification: display name, technique, seed, lookahead and abort condition.
v1::StudySpec BriefSpec(const v1::StudySpec& spec);

}  // namespace mdh
