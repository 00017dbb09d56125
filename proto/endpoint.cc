#include "proto/endpoint.h"

#include "absl/strings/str_cat.h"

namespace mdh {

std::string DefaultEndpoint(std::string_view runtime_directory, unsigned user_id) {
  if (runtime_directory.empty()) return absl::StrCat("unix:/tmp/mdhd-", user_id, ".sock");
  return absl::StrCat("unix:", std::string(runtime_directory), "/mdhd.sock");
}

}  // namespace mdh
