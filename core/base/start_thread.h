// Threads that may not be there: a system out of threads is an error like others.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "core/base/status.h"

namespace mdh {

// Lets a new thread do `work`. Errors: ResourceExhausted if the system gives none; then `work` is
// not done.
template <typename Work>
Result<std::thread> StartThread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    return ResourceExhausted("no thread can be started: ", error.what());
  }
}

}  // namespace mdh
