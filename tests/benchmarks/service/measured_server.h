// mdhd, or the floor, in a process of its own with a client connected to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tests/benchmarks/service/load_client.h"
#include "tests/benchmarks/service/server_process.h"
#include "tests/benchmarks/service/service_cases.h"

namespace mdh {

struct MeasuredServer {
  std::string address;
  std::unique_ptr<ServerProcess> process;
  std::unique_ptr<LoadClient> client;
  double start_s = 0;  // from the start of the process until it could be connected to
};

// `name`: of the socket, the log and, with ".sqlite", the database.
Result<MeasuredServer> StartMdhd(const ServiceCaseOptions& options, const std::string& name);
// The same on another database.
Result<MeasuredServer> StartMdhdOn(const ServiceCaseOptions& options, const std::string& name,
                                   const std::string& database);
Result<MeasuredServer> StartFloor(const ServiceCaseOptions& options, size_t lookup_bytes,
                                  size_t batch_bytes);
// The database that StartMdhd uses, with so many records; one that is there is used again.
Status MakeDatabase(const ServiceCaseOptions& options, const std::string& name,
                    const RecordGenerator& records, int64_t count);

// Serialised requests for records by number: with the whole key that a client knows.
Result<std::vector<grpc::ByteBuffer>> LookupRequests(const RecordGenerator& records,
                                                     const std::vector<int64_t>& numbers);
// One request for batches of these.
Result<grpc::ByteBuffer> BatchRequest(const RecordGenerator& records,
                                      const std::vector<int64_t>& numbers);
// So many numbers below `count`, always the same, spread over all of them.
std::vector<int64_t> SpreadNumbers(int64_t count, int wanted);

}  // namespace mdh
