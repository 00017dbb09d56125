// The contract of a search technique: initialise, next, report.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/cost_estimate.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Outcome of one evaluation: a cost (smaller is better, finite), or nullopt for a failed one.
using Cost = std::optional<double>;

// What is known of costs without an evaluation.
struct SearchBound {
  std::shared_ptr<const CostBound> bound = nullptr;        // nullptr: nothing
  double gap = 0;                                          // SearchOptions::gap
  Cost incumbent = std::nullopt;                           // a cost that is known from elsewhere
  std::shared_ptr<const CostEstimate> estimate = nullptr;  // nullptr: nothing is expected
};

// Not thread-safe. Everything random comes from the seed: same seed and same sequence of calls,
// same configurations. Techniques may propose the same configuration again; Search (search.h)
// answers from what it knows, so that nothing is evaluated twice.
class SearchTechnique {
 public:
  virtual ~SearchTechnique() = default;
  // Before Initialize, and again, without the bound, if that turns out to be wrong: then everything
  // is worth a trial. Techniques need not know it.
  virtual void SetBound(SearchBound /*bound*/) {}
  virtual void Initialize(const SearchSpace& space, uint64_t seed) = 0;
  // The next configuration; nullopt if results of earlier ones are needed first. Never nullopt
  // while all results were reported, unless the technique has nothing more to try.
  virtual std::optional<Configuration> Next() = 0;
  // Results of Next(), in the order of its calls; some of them may be outstanding while Next() is
  // called again.
  virtual void Report(const Configuration& configuration, Cost cost) = 0;
  // Instead of a result, in the same order: it is not evaluated, as its bound shows that it is no
  // better than what is known. It costs so much at least, and mostly much more: who learns from
  // costs should not from this one.
  virtual void Skip(const Configuration& configuration, double at_least) {
    Report(configuration, at_least);
  }
  // A result that the technique did not ask for: start configurations, those of other techniques.
  virtual void Inform(const Configuration& configuration, Cost cost) = 0;
  // What is proven by all that was reported: all that was not proposed costs as much at least
  // (nullopt: nothing is); so many configurations that were not proposed are not worth a trial; and
  // whether these are all.
  virtual std::optional<double> ProvenBound() const { return std::nullopt; }
  virtual Count ProvenWorse() const { return 0; }
  virtual bool HasProvenAll() const { return false; }
};

// By name (SearchTechniqueNames). Errors: NotFound, naming those that exist.
Result<std::unique_ptr<SearchTechnique>> SearchTechniqueNamed(std::string_view name);
const std::vector<std::string>& SearchTechniqueNames();

}  // namespace mdh
