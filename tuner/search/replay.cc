#include "tuner/search/replay.h"

#include <utility>

namespace mdh {

Result<std::vector<Cost>> Replay(const RecordedCosts& table, SearchOptions options,
                                 int64_t evaluations, double enough) {
  MDH_ASSIGN_OR_RETURN(Search search, Search::Create(table.space(), std::move(options)));
  std::vector<Cost> best;
  while (static_cast<int64_t>(best.size()) < evaluations) {
    const std::vector<Proposal> proposals = search.Ask(1);
    if (proposals.empty()) break;
    const Proposal& proposal = proposals.front();
    MDH_RETURN_IF_ERROR(search.Tell(proposal.number, table.CostOf(proposal.configuration)));
    best.push_back(search.best() ? search.best()->cost : std::nullopt);
    if (best.back() && *best.back() <= enough) break;
  }
  return best;
}

}  // namespace mdh
