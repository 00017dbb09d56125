#include "tuner/run/refuted.h"

namespace mdh {
namespace {

constexpr const char* kRefuted = "mdh.refuted";

}  // namespace

Status Refuted(const std::string& why) {
  Status status = FailedPrecondition(why);
  status.SetPayload(kRefuted, absl::Cord());
  return status;
}

bool IsRefuted(const Status& status) { return status.GetPayload(kRefuted).has_value(); }

}  // namespace mdh
