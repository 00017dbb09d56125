// Names of resources: "tuningJobs/17", "studies/17", "records/{id}", "kernels/{id}",
// "nodes/{node}".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace mdh {

// Of the id by which a request that is sent again is recognised.
inline constexpr size_t kMaxRequestIdBytes = 64;

std::string JobName(int64_t number);
// Errors: InvalidArgument.
Result<int64_t> ParseJobName(std::string_view name);
std::string StudyName(int64_t number);
// Errors: InvalidArgument.
Result<int64_t> ParseStudyName(std::string_view name);

// Of the daemon of that name, which may have any characters: "-" stands for those that names of
// resources do not have. Empty if that is empty.
std::string NodeName(std::string_view daemon);

std::string RecordName(std::string_view id);
std::string KernelName(std::string_view id);
// The id in a name of either. Errors: InvalidArgument.
Result<std::string> ParseKernelName(std::string_view name);
Result<std::string> ParseRecordName(std::string_view name);

}  // namespace mdh
