// Jobs and stores as a daemon could describe them, for the pages of `mdh report`.
#pragma once

#include <string>

#include "client/report/cache_report.h"
#include "client/report/job_report.h"

namespace mdh {

// A job that tuned matmul on a CPU, with so many trials, one in ten of which failed, and a record.
JobReport SampleJob(int trials);
// Five searches of it with different seeds.
JobReport SampleRuns(int trials);
// The same on a GPU: explicit memory, three layers of threads.
JobReport SampleGpuJob(int trials);
// Names, errors, parameters and a kernel that try to leave their places in the page.
JobReport HostileJob();
// A job that waits: no trials, no record, no device.
JobReport EmptyJob();

CacheReport SampleCache(int records);

// What a hostile text does where it is not escaped: it sets window.hacked.
extern const char* const kHostileText;

}  // namespace mdh
