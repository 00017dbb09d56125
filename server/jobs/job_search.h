// The search of one job: from what is known to a record that is stored.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/pipeline/computation.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "server/devices/device_catalogue.h"
#include "server/devices/device_lease.h"
#include "server/help/helped_search.h"
#include "server/jobs/job_metrics.h"
#include "server/jobs/search_effort.h"
#include "server/jobs/trial_journal.h"
#include "server/jobs/unsaved_work.h"
#include "server/records/lookup_table.h"
#include "server/store/store.h"
#include "tuner/run/pipeline_turns.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

// mdh::Tune, or what tests put in its place.
using TuneFunction = std::function<Result<TuningResult>(
    const Expression& expression, absl::Span<Runner* const> runners, const TuningOptions& options,
    const std::function<void(const TuningProgress&)>& on_trial,
    const std::atomic<bool>& cancelled)>;

// mdh::MeasureInTurns, or what tests put in its place.
using TurnsFunction = std::function<Result<PipelineTurns>(
    Runner& runner, const Pipeline& pipeline, std::vector<PipelineCandidate> candidates,
    const TuningOptions& options, const std::atomic<bool>& cancelled, MorePipelines* more)>;

struct JobSearch {
  const Expression& expression;
  const v1::TuningOptions& options;
  const v1::KernelKey& key;
  // Of the devices that it has at the moment: at least one, and none goes away before the end.
  std::function<std::vector<DeviceLease*>()> leases;
  // Of those that have come since the last call.
  std::function<std::vector<Runner*>()> joining;
  // The best parameters of an earlier run of the same job, as text; empty: none.
  std::string resume_from;
  // What earlier runs, and other jobs for the same key, have searched.
  SearchEffort made_before = {};
  // As TuningOptions of mdh::Tune: of the rest of this search.
  std::function<std::optional<v1::TuningOptions>()> extension = {};
  std::function<void(const SearchStep&)> on_step = {};
  std::function<void(const TuningProgress&)> on_trial;
  const std::atomic<bool>& cancelled;
  // Whether the search was ended for a while only: then its result is provisional.
  std::function<bool()> is_interrupted = [] { return false; };
  // Nobody tries again what this run cannot do to the end.
  bool is_last_run = false;
  TrialJournal* journal = nullptr;  // none: no journal is kept
  HelpedSearch* helped = nullptr;   // none: no other daemon helps
};

// What searches work with; all must outlive them.
struct SearchTools {
  Store& store;
  LookupTable& lookup_table;
  DeviceCatalogue& catalogue;
  UnsavedWork& unsaved;
  TuneFunction tune;
  TurnsFunction measure_in_turns;
  std::function<absl::Time()> now;
  JobMetrics* metrics = nullptr;  // null: violations of bounds are not counted
};

// What there is to say of a result beside its figures.
struct FoundResult {
  ComputationView computation;
  const v1::TuningOptions& options;
  const DeviceDescription& device;  // with the limits of its specification
  const v1::MachinePeaks& peaks;
  absl::Span<DeviceLease* const> leases;
  std::set<std::string> helpers = {};  // devices of other daemons that measured trials
};
// Stores a result with that, and with its certificate. What cannot be stored is kept in `unsaved`.
// Gives the record that there is now.
v1::TuningRecord PutFound(v1::TuningRecord record, const v1::Kernel& kernel,
                          const FoundResult& found, const SearchTools& tools);
// Errors: Unavailable if what compiled the kernels is no longer what the key names.
Status CheckCompilers(absl::Span<DeviceLease* const> leases);

// Searches, starting from similar records, and stores the result; unless there is one already, the
// best so far is stored as it is found. What cannot be stored is kept in `unsaved`, where lookups
// find it. Gives the record that there is now. Errors: what Tune says; Unavailable if the search
// could not be done to its end (TuningResult::incomplete), unless it was cancelled or is the last
// run, whose result is then marked as disturbed.
Result<v1::TuningRecord> SearchAndStore(const JobSearch& search, const SearchTools& tools);

}  // namespace mdh
