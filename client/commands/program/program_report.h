// What a tuning run of a program found.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client/commands/program/trial_source.h"
#include "core/base/status.h"

namespace mdh {

struct ProgramReport {
  v1::Study study;       // with its specification
  bool is_time = false;  // costs are nanoseconds
  // Trials that failed, by kind ("compile error"), and what most of them said.
  std::map<std::string, int64_t> failures;
  std::string commonest_failure;
  int64_t commonest_count = 0;
};

// Reads the study and all its trials. Errors: those of the source.
Result<ProgramReport> MakeReport(TrialSource& trials, bool is_time);

// "1.23 ms" or "0.125".
std::string FormatCost(double cost, bool is_time);

// "ns"; or "as printed" of costs that the program says, whatever they are.
std::string CostUnit(bool is_time);

// "100 configurations".
std::string SpaceText(const v1::Study& study);

// "[####....] 50 %  120 trials (3 failed)  best 1.23 ms"; without the bar if nobody knows when the
// study ends. `study` may lack its specification; `abort`: its abort condition.
std::string FormatStudyProgress(const v1::Study& study, const std::string& abort, bool is_time);

// Several lines: best configuration, cost, trials, failures.
std::string FormatReport(const ProgramReport& report);

// Best configuration, cost, and counts.
nlohmann::ordered_json ReportJson(const ProgramReport& report);

}  // namespace mdh
