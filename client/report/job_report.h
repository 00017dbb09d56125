// What the page of a job shows, from what the daemon says of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mdh/v1/candidate.pb.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

// A job and its journal.
struct JobRun {
  v1::TuningJob job;
  std::vector<v1::TuningTrial> trials;
};

struct JobReport {
  // At least one. More than one are searches for the same key, whose quartiles are shown; all else
  // on the page is about the first.
  std::vector<JobRun> runs;
  std::optional<v1::TuningRecord> record;  // of the first job
  std::optional<v1::Kernel> kernel;        // of the record
  std::optional<v1::Device> device;        // that the first job runs on
  // Of what the first job searches, beside the time of its best.
  std::optional<v1::BoundHistogram> bounds;
};

// The configurations that a job searches, on the first of its devices.
v1::Candidate SearchedBy(const v1::TuningJob& job);

// The time of the best, in nanoseconds; 0: there is none.
int64_t BestTimeNs(const JobReport& report);

// Fields as the scripts of this folder read them. Trials that have not ended are only counted. What
// a message lacks, or has in a form that cannot be read, is missing on the page, which says so.
nlohmann::json JobReportData(const JobReport& report);

// The whole page.
std::string JobReportPage(const JobReport& report);

}  // namespace mdh
