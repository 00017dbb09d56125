// Files that commands leave for other programs.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

// Puts a new file, which is whole and on the disk, in the place of what is at `path`: programs may
// have an old one mapped, and a crash of the machine leaves the one or the other. What is there and
// no regular file, as a pipe, is written to. Errors: ResourceExhausted if the disk is full, else
// FailedPrecondition; both name the file and the cause, with ExitCode::kCannotWrite.
Status WriteOutputFile(const std::string& path, const std::string& bytes);

}  // namespace mdh
