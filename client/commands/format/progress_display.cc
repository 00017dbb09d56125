#include "client/commands/format/progress_display.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/commands/format/job_format.h"
#include "client/text/formatting.h"
#include "client/text/terminal.h"

namespace mdh {
namespace {

constexpr int64_t kTerminalIntervalNs = 100'000'000;
constexpr int64_t kLineIntervalNs = 5'000'000'000;
constexpr int kColumnsOfFile = 1'000;
// Less is no second.
constexpr int64_t kShownAsLeftNs = 500'000'000;

// Before there are trials, and after the last, what it does says more than how long that takes.
std::string FormatTimeLeft(const v1::TuningProgress& progress) {
  const bool is_searching = progress.phase() == v1::TUNING_PHASE_UNSPECIFIED ||
                            progress.phase() == v1::TUNING_PHASE_MEASURING;
  std::string text = is_searching ? "" : absl::StrCat("  ", JobPhaseName(progress.phase()));
  if (progress.remaining_ns() >= kShownAsLeftNs) {
    absl::StrAppendFormat(&text, "%s%.0f s left", is_searching ? "  " : ", ",
                          static_cast<double>(progress.remaining_ns()) / 1e9);
  } else if (is_searching) {
    text = "  ending";
  }
  return text;
}

}  // namespace

std::string FormatProgress(const v1::TuningProgress& progress, int columns) {
  const auto width = static_cast<size_t>(std::max(columns, 0));
  if (progress.state() == v1::TUNING_JOB_STATE_QUEUED) {
    const std::string& reason = progress.latest_reason();
    return (reason.empty() ? std::string("waiting for the device") : reason).substr(0, width);
  }
  const auto elapsed = static_cast<double>(progress.elapsed_ns());
  const double whole = elapsed + static_cast<double>(progress.remaining_ns());
  const double share = whole > 0 ? std::min(1.0, elapsed / whole) : 0;
  const std::string bar = FormatBar(share) + " ";
  const std::string percent = absl::StrFormat("%3.0f %%", share * 100);
  const std::string trials = absl::StrFormat("  %d trials", progress.trials());
  const std::string failed = absl::StrFormat(" (%d failed)", progress.failed_trials());
  const std::string best = progress.best_time_ns() > 0
                               ? absl::StrCat("  best ", FormatTime(progress.best_time_ns()))
                               : "  no result yet";
  const std::string left = FormatTimeLeft(progress);
  std::string line;
  for (const std::string& candidate :
       {absl::StrCat(bar, percent, trials, failed, best, left),
        absl::StrCat(bar, percent, trials, best, left), absl::StrCat(percent, trials, best, left),
        absl::StrCat(percent, best)}) {
    line = candidate;
    if (line.size() <= width) return line;
  }
  return line.substr(0, width);
}

void ProgressDisplay::Show(const v1::TuningProgress& progress) {
  ShowAt(progress.elapsed_ns(), FormatProgress(progress, columns()));
}

void ProgressDisplay::ShowLine(const std::string& line) {
  ShowAt(absl::GetCurrentTimeNanos(), line);
}

// One less than there are: a full line would wrap on some terminals.
int ProgressDisplay::columns() const {
  return is_terminal_ ? SizeOfTerminal(STDERR_FILENO).columns - 1 : kColumnsOfFile;
}

void ProgressDisplay::ShowAt(int64_t time_ns, const std::string& line) {
  const int64_t interval = is_terminal_ ? kTerminalIntervalNs : kLineIntervalNs;
  const bool is_due = shown_at_ns_ < 0 || time_ns - shown_at_ns_ >= interval;
  if (!is_due) return;
  shown_at_ns_ = time_ns;
  if (is_terminal_) {
    std::fprintf(stderr, "\r\033[K%s", line.substr(0, static_cast<size_t>(columns())).c_str());
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
