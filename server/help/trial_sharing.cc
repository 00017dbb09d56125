#include "server/help/trial_sharing.h"

#include <string>
#include <utility>

namespace mdh {

Result<TrialSharing> ParseTrialSharing(std::string_view word) {
  constexpr std::pair<std::string_view, TrialSharing> kWords[] = {{"both", TrialSharing::kBoth},
                                                                  {"ask", TrialSharing::kAsk},
                                                                  {"help", TrialSharing::kHelp},
                                                                  {"off", TrialSharing::kOff}};
  for (const auto& [name, sharing] : kWords) {
    if (word == name) return sharing;
  }
  return InvalidArgument("'", std::string(word), "' is none of both, ask, help and off");
}

}  // namespace mdh
