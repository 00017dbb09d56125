// What of an API has changed so that clients of the older one may break.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

namespace mdh {

// One sentence for every message, field, value, service or method of `released` that is not in
// `current` as it was. Additions are no changes.
std::vector<std::string> IncompatibleChanges(const google::protobuf::FileDescriptorSet& released,
                                             const google::protobuf::FileDescriptorSet& current);

}  // namespace mdh
