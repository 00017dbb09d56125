// Which help with the trials of searches daemons that share a database ask for and give.
#pragma once

#include <string_view>

#include "core/base/status.h"

namespace mdh {

enum class TrialSharing { kBoth, kAsk, kHelp, kOff };

// "both", "ask", "help", "off". Errors: InvalidArgument.
Result<TrialSharing> ParseTrialSharing(std::string_view word);

inline bool AsksForHelp(TrialSharing sharing) {
  return sharing == TrialSharing::kBoth || sharing == TrialSharing::kAsk;
}
inline bool HelpsOthers(TrialSharing sharing) {
  return sharing == TrialSharing::kBoth || sharing == TrialSharing::kHelp;
}

}  // namespace mdh
