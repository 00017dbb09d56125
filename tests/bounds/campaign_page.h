// A page of what campaigns about bounds have found, which add up over seeds.
#pragma once

#include <string>

#include "core/base/status.h"
#include "tests/bounds/bound_check.h"

namespace mdh {

// What a campaign says of itself beside what it found.
struct CampaignOrigin {
  uint64_t seed = 1;
  int64_t points = 0;  // BoundCheckOptions::points
  std::string commit;  // of the sources; may be empty
};

// "| device | seed | ... |": a row of the page.
std::string RowOf(const BoundCheckReport& report, const CampaignOrigin& origin);

// The page with the rows that are in `page`, which may be empty, and in `rows`, the text of another
// page or of rows alone; rows that are there already count once. Errors: InvalidArgument, the line
// that is no row.
Result<std::string> CampaignPage(const std::string& page, const std::string& rows);

}  // namespace mdh
