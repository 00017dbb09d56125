#include "server/access/role_limits.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

struct Setting {
  std::string_view name;
  int64_t RoleLimits::*limit;
};
constexpr Setting kSettings[] = {{"requests_per_second", &RoleLimits::requests_per_second},
                                 {"calls", &RoleLimits::calls},
                                 {"watches", &RoleLimits::watches},
                                 {"queued_jobs", &RoleLimits::queued_jobs},
                                 {"device_time_s", &RoleLimits::device_time_s}};

constexpr RoleLimits kReaderLimits = {.requests_per_second = 20'000,
                                      .calls = 64,
                                      .watches = 16,
                                      .queued_jobs = 0,
                                      .device_time_s = 0};
constexpr RoleLimits kTunerLimits = {.requests_per_second = 20'000,
                                     .calls = 64,
                                     .watches = 32,
                                     .queued_jobs = 128,
                                     .device_time_s = 3'600};
constexpr int64_t kLargestLimit = 1'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

LimitTable::LimitTable()
    : limits_{RoleLimits(), kReaderLimits, kTunerLimits, kTunerLimits, RoleLimits()} {}

Status LimitTable::Set(Role role, std::string_view setting) {
  const size_t equals = setting.find('=');
  const std::string number(equals == std::string_view::npos ? "" : setting.substr(equals + 1));
  int64_t value = 0;
  for (const Setting& known : kSettings) {
    if (known.name != setting.substr(0, equals)) continue;
    if (!absl::SimpleAtoi(number, &value) || value < 0 || value > kLargestLimit) {
      return InvalidArgument("'", std::string(setting), "' has no number from 0 to ",
                             kLargestLimit);
    }
    limits_[static_cast<size_t>(role)].*known.limit = value;
    return absl::OkStatus();
  }
  return InvalidArgument("'", std::string(setting), "' is no limit: requests_per_second=, calls=, ",
                         "watches=, queued_jobs= or device_time_s=");
}

Status LimitDeviceTime(const RoleLimits& limits, std::string_view source,
                       v1::TuningOptions& options) {
  if (limits.device_time_s == 0) return absl::OkStatus();
  const int64_t limit_ns = limits.device_time_s * kSecond;
  if (options.max_device_time_ns() > limit_ns) {
    const Status refused =
        ResourceExhausted("the job asks for ", options.max_device_time_ns() / kSecond,
                          " s of devices' time, its caller may use ", limits.device_time_s, " s");
    return WithQuota(WithReason(refused, "DEVICE_TIME_QUOTA"),
                     absl::StrCat("source:", std::string(source)));
  }
  if (options.max_device_time_ns() == 0) options.set_max_device_time_ns(limit_ns);
  return absl::OkStatus();
}

}  // namespace mdh
