// The history of a tuning run: what its trials have shown so far.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/choose/block_design.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "tuner/measure/results/measurement.h"
#include "tuner/search/abort_condition.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {

// A configuration on its way from proposal to trial.
struct Candidate {
  TuningParameters parameters;
  int64_t proposal = 0;                        // number that the search gave it; 0: none
  std::optional<Configuration> configuration;  // nullopt: not in the space, or not known yet
  bool is_default = false;                     // the one from rules
  bool is_kept = false;  // compared with the best at the end, however slow it seemed
  std::optional<BlockDesign> design = {};  // that it came from
  bool is_of_units = false;                // it came from the search among matrix units
  int64_t submitted_ns = 0;                // on the clock of NowNs()
  Kernel kernel = {};
  Measurement measurement = {};
};

// Kernels that differ in nothing but the comment at their head are one: many configurations
// generate the same code.
std::string IdentityOf(const Kernel& kernel);

// What a search compares. Noise only ever adds to a time, so of a few calls the fastest says most;
// the figure that is reported in the end is a median of many. 0 for failures.
int64_t SearchTime(const Measurement& measurement);

// Kernels that are compiled or measured, by number from 1, each with the candidates that it is for.
class KernelsInWork {
 public:
  int64_t size() const { return static_cast<int64_t>(candidates_.size()); }  // candidates
  bool empty() const { return candidates_.empty(); }
  // The number of the kernel with that identity; nullopt if it is not in work.
  std::optional<int64_t> Number(const std::string& identity) const;
  // A kernel that is not in work yet gets the next number.
  const Candidate& Add(const std::string& identity, Candidate candidate);
  int64_t last_number() const { return last_number_; }
  // Another candidate for the kernel of that number.
  void Join(int64_t number, Candidate candidate) {
    candidates_.emplace(number, std::move(candidate));
  }
  // The kernel is not in work any more: whom it was for.
  std::vector<Candidate> Take(int64_t number);

 private:
  int64_t last_number_ = 0;
  std::multimap<int64_t, Candidate> candidates_;
  absl::flat_hash_map<std::string, int64_t> numbers_;  // by identity
};

class TrialHistory {
 public:
  // At most that many of the best are kept.
  explicit TrialHistory(size_t finalists) : finalists_(finalists) {}

  // Writes a trial down, `elapsed_ns` after the start. Gives its cost.
  Cost Record(const Candidate& candidate, int64_t elapsed_ns);
  // The cost of a configuration that was recorded before the space was there.
  void Place(const Configuration& configuration, const Cost& cost) {
    evaluated_[configuration] = cost;
  }
  // Of a configuration that was tried; nullptr if it was not.
  const Cost* CostOf(const Configuration& configuration) const;
  // Of a kernel that was measured, whatever configuration it came from; nullptr if it was not.
  const Measurement* MeasurementOf(const std::string& identity) const;

  int64_t trials() const { return trials_; }
  int64_t failed_trials() const { return failed_trials_; }
  // Distinct kernels, the best first.
  const std::vector<Candidate>& best() const { return best_; }
  int64_t best_ns() const { return best_.empty() ? 0 : SearchTime(best_.front().measurement); }
  const std::vector<SearchProgress::Improvement>& improvements() const { return improvements_; }

  // Another kernel of the best configuration, to be measured with the best at the end.
  void AddVariantOfBest(Kernel kernel) {
    Candidate variant = best_.front();
    variant.kernel = std::move(kernel);
    best_.push_back(std::move(variant));
  }

  // The configurations that are compared with the best whatever they took, to be measured with
  // these at the end.
  void AddKept();

  // What measuring the best once more gave, in their order: failures are dropped, the rest is
  // sorted by median. A measurement that was cancelled leaves what was known. If nothing is left,
  // those are kept as they were of which nothing worse is known than that they could not be
  // compiled or started again, which others were to blame for, as they had run. Errors:
  // Unavailable, then.
  Status Replace(std::vector<Measurement> finals);
  // Where the times of the best one and of the kernel with that identity are both disturbed, the
  // order of times says little, as by luck one of several is always a little faster: first comes
  // the first one in `faster`, identities of kernels that are known to be faster than that kernel;
  // without one before it, that kernel.
  void PreferIfUnsettled(const std::string& identity, const std::set<std::string>& faster);
  // OK if there is a valid trial, else FailedPrecondition with the commonest reason.
  Status CheckThatSomethingIsValid(const std::string& expression) const;

 private:
  void KeepIfGood(const Candidate& candidate, int64_t elapsed_ns);
  bool IsAmongBest(const Kernel& kernel) const;

  size_t finalists_;
  int64_t trials_ = 0;
  int64_t failed_trials_ = 0;
  std::map<std::string, int64_t> reasons_;  // of failures -> how often
  absl::flat_hash_map<Configuration, Cost> evaluated_;
  absl::flat_hash_map<std::string, Measurement> measured_;  // by identity
  std::vector<Candidate> best_;
  std::vector<Candidate> kept_;
  std::vector<SearchProgress::Improvement> improvements_;
};

// Of a measurement that ended because the caller wanted it.
bool WasCancelled(const Measurement& measurement);

}  // namespace mdh
