// What tests of stores put into them.
#pragma once

#include <cstdint>
#include <string>

#include "server/records/resource_names.h"
#include "server/store/store.h"

namespace mdh {

// Of a key of its own.
inline v1::TuningRecord SampleRecord(const std::string& id, int64_t time_ns) {
  v1::TuningRecord record;
  record.set_name(RecordName(id));
  record.mutable_key()->set_expression_digest("digest of " + id);
  record.mutable_key()->set_canonical_form("canonical form of " + id);
  record.set_time_ns(time_ns);
  return record;
}

inline v1::Kernel KernelWithSource(const std::string& source) {
  v1::Kernel kernel;
  kernel.set_source(source);
  return kernel;
}

inline v1::TuningJob JobIn(v1::TuningJobState state, const std::string& request_id = "") {
  v1::TuningJob job;
  job.set_state(state);
  job.set_request_id(request_id);
  return job;
}

inline StoredResult SampleResult(const std::string& id, int64_t time_ns) {
  return {SampleRecord(id, time_ns), KernelWithSource("of " + std::to_string(time_ns))};
}

}  // namespace mdh
