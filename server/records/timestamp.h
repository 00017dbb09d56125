// Times as messages hold them.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"

namespace mdh {

google::protobuf::Timestamp ToProto(absl::Time time);
absl::Time FromProto(const google::protobuf::Timestamp& time);

}  // namespace mdh
