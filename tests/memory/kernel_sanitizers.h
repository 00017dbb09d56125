// Generated C under gcc's sanitizers of addresses and of undefined behaviour. Their library must be
// loaded before all others, as LD_PRELOAD does: then the allocator of the whole process is theirs,
// and kernels that are compiled for them can be loaded into it.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

// Whether this process has gcc's sanitizers: its kernels are compiled for them.
bool HasKernelSanitizers();

// For gcc, behind a kernel's own options. With more optimisation, with accesses checked in place,
// or with all of -fsanitize=undefined kernels of many tiles take minutes to compile; of the latter
// are left out what the address sanitizer finds, too (null pointers, sizes of objects) and overflow
// of pointers. Kernels are compiled with -fwrapv: overflow of integers is reported only where that
// is taken back, and then of values, too. Line numbers are those of the kernel's source.
inline constexpr char kSanitizerOptions[] =
    "-O1 -g1 -fno-omit-frame-pointer --param asan-instrumentation-with-call-threshold=0 "
    "-fsanitize=address,alignment,bounds-strict,integer-divide-by-zero,shift "
    "-fsanitize=signed-integer-overflow "
    "-fno-sanitize-recover=all";

// The path of the library. Errors: FailedPrecondition if gcc does not compile programs for the
// sanitizers, or they do not run.
Result<std::string> FindKernelSanitizers();

// Replaces this process by the same program with the same arguments and the sanitizers; returns Ok
// in the process that has them. To be called first in main, which passes its `argv`. Errors: as
// FindKernelSanitizers.
Status EnterKernelSanitizers(char** argv);

}  // namespace mdh
