// What the page of a daemon's store shows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mdh/v1/admin.pb.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

struct CacheReport {
  std::vector<v1::TuningRecord> records;
  v1::Statistics statistics;
  std::string server;  // "mdhd 0.1.0 at unix:/..."
  std::string made;    // when, RFC 3339
};

// Fields as cache_page.js reads them.
nlohmann::json CacheReportData(const CacheReport& report);

// The whole page.
std::string CacheReportPage(const CacheReport& report);

}  // namespace mdh
