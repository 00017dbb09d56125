#include "client/commands/progress_display.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/commands/formatting.h"

namespace mdh {
namespace {

constexpr int kBarCharacters = 24;
constexpr int64_t kTerminalIntervalNs = 100'000'000;
constexpr int64_t kLineIntervalNs = 5'000'000'000;

}  // namespace

std::string FormatProgress(const v1::TuningProgress& progress) {
  if (progress.state() == v1::TUNING_JOB_STATE_QUEUED) {
    return progress.latest_reason().empty() ? "waiting for the device" : progress.latest_reason();
  }
  const auto elapsed = static_cast<double>(progress.elapsed_ns());
  const double whole = elapsed + static_cast<double>(progress.remaining_ns());
  const double share = whole > 0 ? std::min(1.0, elapsed / whole) : 0;
  const int filled = static_cast<int>(std::lround(share * kBarCharacters));
  const std::string best = progress.best_time_ns() > 0
                               ? absl::StrCat("best ", FormatTime(progress.best_time_ns()))
                               : "no result yet";
  return absl::StrFormat("[%s%s] %3.0f %%  %d trials (%d failed)  %s  %.0f s left",
                         std::string(filled, '#'), std::string(kBarCharacters - filled, '.'),
                         share * 100, progress.trials(), progress.failed_trials(), best,
                         static_cast<double>(progress.remaining_ns()) / 1e9);
}

void ProgressDisplay::Show(const v1::TuningProgress& progress) {
  ShowAt(progress.elapsed_ns(), FormatProgress(progress));
}

void ProgressDisplay::ShowLine(const std::string& line) {
  ShowAt(absl::GetCurrentTimeNanos(), line);
}

void ProgressDisplay::ShowAt(int64_t time_ns, const std::string& line) {
  const int64_t interval = is_terminal_ ? kTerminalIntervalNs : kLineIntervalNs;
  const bool is_due = shown_at_ns_ < 0 || time_ns - shown_at_ns_ >= interval;
  if (!is_due) return;
  shown_at_ns_ = time_ns;
  if (is_terminal_) {
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    line_is_open_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
}

void ProgressDisplay::Finish() {
  if (line_is_open_) std::fprintf(stderr, "\r\033[K");
  line_is_open_ = false;
}

}  // namespace mdh
