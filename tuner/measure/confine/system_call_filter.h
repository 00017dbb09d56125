// Which system calls a process that runs candidates may not make.
#pragma once

#include <cstdint>

#include "core/base/status.h"

namespace mdh {

// Sockets of other families are refused with EAFNOSUPPORT.
enum class AllowedSockets : uint8_t {
  kUnix,            // what compilers and kernels for the CPU need
  kUnixAndNetlink,  // drivers ask the kernel for devices through netlink
};

// For this process and all that it starts from now on; cannot be undone. Refused, with EPERM, are
// calls that look into or change other processes, file systems, name spaces, keys, the kernel or
// the clock, and those by which kernels were attacked and that measuring does not need: bpf,
// io_uring, userfaultfd, perf_event_open. Calls of other architectures end the process. Errors:
// FailedPrecondition if the system has no filters.
Status FilterSystemCalls(AllowedSockets sockets);

}  // namespace mdh
