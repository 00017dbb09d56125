// What the lines that a thread logs are about: the request that it answers, the job that it runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mdh {

// While it lives, lines of this thread have the field `key`. Nested ones are destroyed first.
class LogContext {
 public:
  LogContext(std::string key, std::string value);
  ~LogContext();
  LogContext(const LogContext&) = delete;
  LogContext& operator=(const LogContext&) = delete;

  // Of this thread, the outermost first.
  static const std::vector<std::pair<std::string, std::string>>& Fields();
};

// An id for a request that brings none: "r1", "r2", ... Thread-safe.
std::string NextRequestId();
// The id that a client gave: at most 64 printable characters without blanks; else NextRequestId().
std::string RequestIdFrom(const std::string& given);

}  // namespace mdh
