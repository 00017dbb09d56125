// How much search stands behind a record, and whether a request allows more.
#pragma once

#include <cstdint>
#include <string>

#include "mdh/v1/record.pb.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

struct SearchEffort {
  int64_t time_ns = 0;
  int64_t trials = 0;
  bool is_exhausted = false;  // more of it finds nothing
};

// Of a record from a bundle or a client it is what the record says: it was made for the same device
// and compiler. One that was made by hand has none.
SearchEffort EffortBehind(const v1::TuningRecord& record);

// Whether a search with these limits may do more. Expects what CheckTuningOptions gave.
bool AllowsMore(const v1::TuningOptions& options, const SearchEffort& effort);

// `options` with every limit at least as high as in `other`.
v1::TuningOptions WithLimitsOf(v1::TuningOptions options, const v1::TuningOptions& other);
bool HaveSameLimits(const v1::TuningOptions& a, const v1::TuningOptions& b);

// "a search of 1.0 s with 12 trials".
std::string ToText(const SearchEffort& effort);
// "25.0 s", "25.0 s or 100 trials".
std::string LimitsText(const v1::TuningOptions& options);

}  // namespace mdh
