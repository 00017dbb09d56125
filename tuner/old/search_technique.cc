// Search techniques by name.
#include "tuner/old/search_technique.h"

#include "absl/strings/str_cat.h"

namespace mdh::old {

Result<std::unique_ptr<SearchTechnique>> SearchTechniqueNamed(std::string_view name) {
  if (name == "random") return MakeRandomSearch();
  if (name == "annealing") return MakeSimulatedAnnealing();
  return absl::NotFoundError(absl::StrCat("there is no search technique \"", std::string(name),
                                          "\"; there are: annealing, random"));
}

}  // namespace mdh::old
