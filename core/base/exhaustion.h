// A system without memory, threads or room: what needed them fails, and nothing else.
#pragma once

#include <new>
#include <system_error>

#include "core/base/status.h"

namespace mdh {

// Whether it says that the machine, or its disk, lacks something at the moment, which may pass.
inline bool IsLack(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

inline Status OutOfMemory() { return ResourceExhausted("there is not enough memory"); }

// What `work` gives, a Status or a Result. Errors: its own; ResourceExhausted if memory, or what
// else the system has, is used up.
template <typename Work>
auto OrExhausted(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::system_error& error) {
    return ResourceExhausted("the system refused: ", error.what());
  }
}

}  // namespace mdh
