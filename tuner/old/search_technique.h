// The contract of a search technique: initialise, propose, report.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "tuner/old/search_space.h"

namespace mdh::old {

// Outcome of one evaluation: a cost (smaller is better), or nullopt for a failed one.
using Cost = std::optional<double>;

// Not thread-safe. Everything random comes from the seed: same seed and same reports, same
// proposals.
class SearchTechnique {
 public:
  virtual ~SearchTechnique() = default;
  // `space` must outlive the technique. `start`: known good configurations, proposed first.
  virtual void Initialize(const SearchSpace& space, std::vector<Configuration> start,
                          uint64_t seed) = 0;
  // Up to `count` configurations to evaluate; none if the technique has nothing more to try. Those
  // proposed before need not have been reported yet.
  virtual std::vector<Configuration> Propose(int count) = 0;
  // In any order; failed evaluations too.
  virtual void Report(const Configuration& configuration, Cost cost) = 0;
};

std::unique_ptr<SearchTechnique> MakeRandomSearch();
std::unique_ptr<SearchTechnique> MakeSimulatedAnnealing();

// "random", "annealing". Errors: NotFound, naming those that exist.
Result<std::unique_ptr<SearchTechnique>> SearchTechniqueNamed(std::string_view name);

}  // namespace mdh::old

// Until everything uses tuner/space and tuner/search.
namespace mdh {
using namespace old;
}
