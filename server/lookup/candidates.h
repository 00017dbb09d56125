// What remains of search spaces under restrictions, and configurations of that: the answers of
// mdh.v1.CandidateService. Requests have all that they are about; spaces and what was last decided
// in them are kept, as clients take one step after the other.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "mdh/v1/candidate.pb.h"
#include "proto/expression_conversion.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/candidate_request.h"
#include "server/records/lookup_table.h"
#include "tuner/decompositions/candidate_space.h"
#include "tuner/decompositions/mdh_bound.h"

namespace mdh {

// Thread-safe.
class Candidates {
 public:
  // All must outlive this.
  Candidates(const LookupTable& lookup_table, const DeviceCatalogue& catalogue,
             ExpressionLimits limits)
      : lookup_table_(lookup_table), catalogue_(catalogue), limits_(limits) {}

  // Errors: see CandidateService.
  Result<v1::DescribeCandidateResponse> Describe(const v1::DescribeCandidateRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Result<v1::FinishCandidateResponse> Finish(const v1::FinishCandidateRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Space = std::shared_ptr<const CandidateSpace>;
  // A request, read.
  struct Opened {
    AskedSpace asked;
    Space space;
    PartialConfiguration partial;
  };
  // What was decided in a space.
  struct Kept {
    std::string key;  // all of a candidate but its restrictions
    Space space;
    std::string restrictions;
    PartialConfiguration partial;
  };

  Result<Opened> Open(const v1::Candidate& candidate) ABSL_LOCKS_EXCLUDED(mutex_);
  Result<Space> SpaceOf(const AskedSpace& asked, const std::string& key)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(Kept kept) ABSL_LOCKS_EXCLUDED(mutex_);
  // The histogram of bounds that is asked for. Errors: see DescribeCandidate.
  Result<v1::BoundHistogram> Compare(const Opened& opened, const BoundFacts& facts,
                                     const v1::BoundComparison& comparison) const;
  Result<FinishedCandidate> NearRecord(const Opened& opened, std::string& made_from) const;

  const LookupTable& lookup_table_;
  const DeviceCatalogue& catalogue_;
  const ExpressionLimits limits_;
  absl::Mutex mutex_;
  std::list<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // the last one that was asked for first
};

}  // namespace mdh
