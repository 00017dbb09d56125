// What the page of a study shows: a search for the best configuration of any program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mdh/v1/study.pb.h"

namespace mdh {

struct StudyReport {
  v1::Study study;                     // with its specification
  std::vector<v1::StudyTrial> trials;  // those that were told, by number
};

// Fields as study_page.js reads them.
nlohmann::json StudyReportData(const StudyReport& report);

// The whole page.
std::string StudyReportPage(const StudyReport& report);

}  // namespace mdh
