// Search techniques by name.
#include "tuner/search/techniques/search_technique.h"

#include "absl/strings/str_join.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<SearchTechnique> (*make)();
};

constexpr Entry kTechniques[] = {
    {"exhaustive", MakeExhaustive},
    {"random", MakeRandom},
    {"annealing", MakeAnnealing},
    {"descent", MakeDescent},
    {"bayesian", MakeBayesian},
    {"differential_evolution", MakeDifferentialEvolution},
    {"particle_swarm", MakeParticleSwarm},
    {"pattern_search", MakePatternSearch},
    {"torczon", MakeTorczon},
    {"nelder_mead", MakeNelderMead},
    {"best_first", MakeBestFirst},
    {"tag", MakeTag},
    {"uct", MakeUct},
    {"round_robin", MakeRoundRobin},
    {"auc_bandit", MakeAucBandit},
};

}  // namespace

const std::vector<std::string>& SearchTechniqueNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Entry& entry : kTechniques) names.emplace_back(entry.name);
    return names;
  }();
  return kNames;
}

Result<std::unique_ptr<SearchTechnique>> SearchTechniqueNamed(std::string_view name) {
  for (const Entry& entry : kTechniques) {
    if (entry.name == name) return entry.make();
  }
  return NotFound("there is no search technique '", std::string(name), "'; there are ",
                  absl::StrJoin(SearchTechniqueNames(), ", "));
}

}  // namespace mdh
