// Limits of C files that are checked before clang reads them: it is recursive, and ends the process
// where its stack ends.
#pragma once

#include "core/base/source.h"
#include "core/base/status.h"

namespace mdh {

inline constexpr int kMaxStatementTokens = 2000;  // without those of other statements inside of it
inline constexpr int kMaxElse = 1000;             // in a file

// Errors: InvalidArgument with position.
Status CheckTextLimits(const Source& source);

}  // namespace mdh
