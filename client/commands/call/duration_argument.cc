#include "client/commands/call/duration_argument.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"

namespace mdh {

std::string ParseDurationArgument(const std::string& text, int64_t& nanoseconds) {
  absl::Duration duration;
  const bool is_number =
      !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  const std::string units = absl::StrReplaceAll(text, {{"min", "m"}});  // as in abort conditions
  if (!absl::ParseDuration(is_number ? text + "s" : units, &duration) ||
      duration <= absl::ZeroDuration() || duration > absl::Hours(24)) {
    return absl::StrCat("'", text, "' is no duration between 0 and 24 hours, such as 60s or 2m");
  }
  nanoseconds = absl::ToInt64Nanoseconds(duration);
  return "";
}

}  // namespace mdh
