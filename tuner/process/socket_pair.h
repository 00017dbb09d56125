// A connection between this process and a child of it.
#pragma once

#include "core/base/status.h"
#include "tuner/process/file_descriptor.h"

namespace mdh {

// Neither end is passed on to other programs.
struct SocketPair {
  FileDescriptor ours;
  FileDescriptor theirs;

  // Errors: ResourceExhausted.
  static Result<SocketPair> Make();
};

}  // namespace mdh
