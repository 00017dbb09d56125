// What a large fleet needs, from what its parts cost on this machine.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "tests/benchmarks/service/fleet_cases.h"
#include "tests/benchmarks/service/record_generator.h"
#include "tests/benchmarks/service/service_figure.h"

namespace mdh {

// What was measured. Times are of cores, "database" is the server with all of its processes.
struct FleetCosts {
  double lookup_s = 0;  // of a front end
  double batched_lookup_s = 0;
  double lookup_bytes = 0;  // of the request and the reply
  // Of a daemon that has nothing to do, each second.
  double idle_transactions = 0;
  double idle_database_s = 0;
  // Of one that tunes, with what it stores.
  double busy_transactions = 0;
  double busy_database_s = 0;
  double trials = 0;
  // Of one job, and of one renewal of a daemon's leases.
  double claim_database_s = 0;
  double renewal_database_s = 0;
  // One change that one daemon hears of, and how many can be written a second.
  double follow_database_s = 0;
  double follow_daemon_s = 0;
  double changes = 0;
  // Of one record when a daemon starts, and while it runs, with the record.
  double start_database_s = 0;
  double start_daemon_s = 0;
  double memory_bytes = 0;
  double record_bytes = 0;
  double stored_bytes = 0;  // of one, as the database has and sends it
};

struct FleetSize {
  double workers = 1'000;  // which all tune
  double records = 10'000'000;
  double lookups = 1'000'000;  // a second
  // A worker stores a provisional result in five seconds, and that of a job of a minute.
  double changes_of_worker = 13.0 / 60;
  // Of the database's machine.
  double cores = 32;
  double network_bytes = 1.25e9;
};

// What the fleet needs, and how many workers there can be before each thing is used up; the last
// figure names what is used up first.
std::vector<ServiceFigure> NeedsOf(const FleetSize& fleet, const FleetCosts& costs);

// Measures the costs, on daemons, and gives them with what a fleet of FleetSize needs.
Result<std::vector<ServiceFigure>> MeasureModel(const FleetCaseOptions& options,
                                                const RecordGenerator& records);

}  // namespace mdh
