// Generated C under gcc's sanitizers of addresses and of undefined behaviour. Their library must be
// loaded before all others, as LD_PRELOAD does: then the allocator of the whole process is theirs,
// and kernels that are compiled for them can be loaded into it.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

// Whether this process has gcc's sanitizers: its kernels are compiled for them.
bool HasKernelSanitizers();

// For gcc, behind a kernel's own options; with more optimisation kernels of many tiles take minutes
// to compile. Line numbers are those of the kernel's source.
inline constexpr char kSanitizerOptions[] =
    "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,bounds-strict "
    "-fno-sanitize-recover=all";

// The path of the library. Errors: FailedPrecondition if gcc does not compile programs for the
// sanitizers, or they do not run.
Result<std::string> FindKernelSanitizers();

// Replaces this process by the same program with the same arguments and the sanitizers; returns Ok
// in the process that has them. To be called first in main, which passes its `argv`. Errors: as
// FindKernelSanitizers.
Status EnterKernelSanitizers(char** argv);

}  // namespace mdh
