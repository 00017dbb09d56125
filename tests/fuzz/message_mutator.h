// Changes messages field by field, so that a fuzzer does not have to find their encoding by chance.
#pragma once

#include <cstdint>

#include "google/protobuf/message.h"

namespace mdh {

// One random change somewhere in `message`: a value, a field set or cleared, an element of a list
// added, repeated, removed or moved, a message replaced by another of its type. The same seed makes
// the same change.
void Mutate(uint64_t seed, google::protobuf::Message* message);

}  // namespace mdh
