#include "server/operate/log_format.h"

#include <spdlog/pattern_formatter.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/operate/log_context.h"

namespace mdh {
namespace {

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e %l %v";
constexpr const char* kTimePattern = "%Y-%m-%dT%H:%M:%S.%fZ";

void AppendText(const std::string& text, spdlog::memory_buf_t& line) {
  line.append(text.data(), text.data() + text.size());
}

// What the pattern gives, and the context, but for fields that the message has already.
class TextFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    pattern_.format(message, line);
    const std::string text(message.payload.data(), message.payload.size());
    for (const auto& [key, value] : LogContext::Fields()) {
      if (text.find(key + "=") == std::string::npos) {
        AppendText(absl::StrCat(" ", key, "=", value), line);
      }
    }
    AppendText("\n", line);
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<TextFormatter>(); }

 private:
  spdlog::pattern_formatter pattern_{kTextPattern, spdlog::pattern_time_type::local, ""};
};

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const auto level = spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json object = {
        {"time", std::string(time.data(), time.size())},
        {"level", std::string(level.data(), level.size())},
        {"message", std::string(message.payload.data(), message.payload.size())}};
    for (const auto& [key, value] : LogContext::Fields()) object[key] = value;
    AppendText(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", line);
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<JsonFormatter>(); }

 private:
  spdlog::pattern_formatter time_{kTimePattern, spdlog::pattern_time_type::utc, ""};
};

}  // namespace

Result<LogFormat> ParseLogFormat(const std::string& name) {
  if (name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return InvalidArgument("there is no format '", name, "' of logs; there are text and json");
}

std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<TextFormatter>();
}

}  // namespace mdh
