// The cases of the benchmark of daemons that share a PostgreSQL server, which is started for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tests/benchmarks/service/record_generator.h"
#include "tests/benchmarks/service/service_cases.h"
#include "tests/benchmarks/service/service_figure.h"
#include "tests/server/store/postgres_server.h"

namespace mdh {

struct FleetCaseOptions {
  ServiceCaseOptions service;
  PostgresServer* server = nullptr;
  int puts = 300;
  int cancels = 20;
  int starts = 3;  // with many records, of each
  int claimed_jobs = 4'000;
  double renewing_s = 3;
  double model_window_s = 10;  // of each of the model's costs
};

// The address of a new database with so many records.
Result<std::string> FilledDatabase(const FleetCaseOptions& options, const RecordGenerator& records,
                                   int64_t count);

// Lookups of a daemon on the server beside those of one with a file, in turns.
Result<std::vector<ServiceFigure>> MeasureLookupsOfBoth(const FleetCaseOptions& options,
                                                        const RecordGenerator& records);
// From before one daemon is given a record until another one shows it.
Result<std::vector<ServiceFigure>> MeasureVisibility(const FleetCaseOptions& options,
                                                     const RecordGenerator& records);
// Starts with many records, in turns with one with a file.
Result<std::vector<ServiceFigure>> MeasureStartsOfBoth(const FleetCaseOptions& options,
                                                       const RecordGenerator& records);
// Jobs that 16 daemons take one by one, and leases that they renew.
Result<std::vector<ServiceFigure>> MeasureClaims(const FleetCaseOptions& options,
                                                 const RecordGenerator& records);
// From before a job is cancelled at a daemon that does not have it until it has ended.
Result<std::vector<ServiceFigure>> MeasureCancels(const FleetCaseOptions& options,
                                                  const RecordGenerator& records);

}  // namespace mdh
