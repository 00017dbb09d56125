// What a call takes of its caller's share while it lasts.
#pragma once

#include <cstdint>

namespace mdh {

enum class CallKind : uint8_t {
  kCall,   // ends soon
  kWatch,  // a stream that lasts as long as the client likes
};

}  // namespace mdh
