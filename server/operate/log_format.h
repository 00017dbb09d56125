// How lines of the log are written.
#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string>

#include "core/base/status.h"

namespace mdh {

enum class LogFormat {
  kText,  // "2026-11-22T09:00:00.000 info message request=r7"
  kJson,  // one object a line: time (UTC), level, message, and the fields of LogContext
};

// "text" or "json". Errors: InvalidArgument.
Result<LogFormat> ParseLogFormat(const std::string& name);

std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format);

}  // namespace mdh
