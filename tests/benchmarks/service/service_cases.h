// The cases of the benchmark of the service: each starts the servers that it needs, measures them
// in turns and stops them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tests/benchmarks/service/record_generator.h"
#include "tests/benchmarks/service/service_figure.h"

namespace mdh {

struct ServiceCaseOptions {
  std::string self;         // the program that serves the floor, with --floor
  std::string programs;     // folder of mdhd and mdh-runner
  std::string expressions;  // folder of the shipped expressions
  std::string directory;    // for databases, sockets and logs
  int rounds = 15;
  double window_s = 0.5;  // of one case of one server in one round
  int64_t many_records = 1'000'000;
  double tuning_window_s = 6;
};

// Small store: one request at a time, 64 at a time, batches of 100, beside the floor.
Result<std::vector<ServiceFigure>> MeasureLookups(const ServiceCaseOptions& options,
                                                  const RecordGenerator& records);
// Quiet and while a tuning job runs, in turns.
Result<std::vector<ServiceFigure>> MeasureWhileTuning(const ServiceCaseOptions& options,
                                                      const RecordGenerator& records);
// The client's cache: hits of one thread.
Result<std::vector<ServiceFigure>> MeasureClientCache(const ServiceCaseOptions& options,
                                                      const RecordGenerator& records);
// A store with many records beside a small one.
Result<std::vector<ServiceFigure>> MeasureManyRecords(const ServiceCaseOptions& options,
                                                      const RecordGenerator& records);

}  // namespace mdh
