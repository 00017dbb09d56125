// Certificates: what no kernel of a computation can be faster than, as records have it.
#pragma once

#include <cstdint>

#include "codegen/bounds/problem_bound.h"
#include "core/base/status.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

// Of a record's time: "memory: 30.1 of 32.4 us". Empty without floors, or without a time.
std::string BindingFloorText(const ProblemBound& bound, int64_t time_ns);

v1::Certificate ToCertificate(const ProblemBound& bound, const DeviceRates& rates, int64_t time_ns);

// `device`: with the limits of its specification. Of calls that follow each other, in the state of
// the caches that the record was timed in.
v1::Certificate CertificateOf(ComputationView computation, const DeviceDescription& device,
                              const DeviceRates& rates, const v1::TuningRecord& record);

// The same from the record alone: its text, and the device with its limits. Errors: those of
// parsing.
Result<v1::Certificate> CertificateOfRecord(const v1::TuningRecord& record,
                                            const MachinePeaks& peaks);

}  // namespace mdh
