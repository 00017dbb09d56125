#include "server/operate/log_context.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr size_t kMaxIdBytes = 64;

std::vector<std::pair<std::string, std::string>>& MyFields() {
  static thread_local std::vector<std::pair<std::string, std::string>> fields;
  return fields;
}

}  // namespace

LogContext::LogContext(std::string key, std::string value) {
  MyFields().emplace_back(std::move(key), std::move(value));
}

LogContext::~LogContext() { MyFields().pop_back(); }

const std::vector<std::pair<std::string, std::string>>& LogContext::Fields() { return MyFields(); }

std::string NextRequestId() {
  static std::atomic<int64_t> latest = 0;
  return absl::StrCat("r", ++latest);
}

std::string RequestIdFrom(const std::string& given) {
  const bool is_good =
      !given.empty() && given.size() <= kMaxIdBytes &&
      std::ranges::all_of(given, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  return is_good ? given : NextRequestId();
}

}  // namespace mdh
