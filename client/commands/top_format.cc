#include "client/commands/top_format.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/commands/formatting.h"
#include "client/commands/job_format.h"

namespace mdh {
namespace {

// Cuts to so many characters of UTF-8.
std::string Cut(const std::string& text, int columns) {
  int characters = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;
    if (++characters > columns) return text.substr(0, at);
  }
  return text;
}

// Names and messages come from users and devices: nothing in them may move the cursor.
std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

class Screen {
 public:
  Screen(TerminalSize size, Styling styling) : size_(size), styling_(styling) {}

  void Add(const std::string& line) { lines_.push_back(Cut(Printable(line), size_.columns)); }
  void AddMarked(const char* code, const std::string& line) {
    Add(line);
    if (styling_ == Styling::kAnsi) lines_.back() = absl::StrCat(code, lines_.back(), "\033[0m");
  }
  void AddHeading(const std::string& line) { AddMarked("\033[1m", line); }
  void AddProblem(const std::string& line) { AddMarked("\033[31m", line); }

  int left() const { return size_.rows - static_cast<int>(lines_.size()); }
  bool is_wide() const { return size_.columns >= 72; }
  std::vector<std::string> Take() && {
    if (left() < 0) lines_.resize(static_cast<size_t>(std::max(size_.rows, 0)));
    return std::move(lines_);
  }

 private:
  const TerminalSize size_;
  const Styling styling_;
  std::vector<std::string> lines_;
};

std::string LookupsText(const DaemonState& state) {
  const int64_t found = state.statistics.lookup_hits();
  const int64_t all = found + state.statistics.lookup_misses();
  std::string text = absl::StrCat(all, " lookups");
  if (all > 0) {
    absl::StrAppendFormat(&text, ", %.0f %% found",
                          100 * static_cast<double>(found) / static_cast<double>(all));
  }
  if (state.lookups_per_s >= 0) absl::StrAppendFormat(&text, ", %.0f/s", state.lookups_per_s);
  return text;
}

std::string DeviceLine(const v1::Device& device, bool is_wide) {
  const std::string name(absl::StripPrefix(device.name(), "devices/"));
  std::string does = device.load().running_job();
  if (device.health() == v1::DEVICE_HEALTH_UNHEALTHY) {
    does = absl::StrCat("unhealthy: ", device.health_reason());
  } else if (does.empty()) {
    does = device.can_tune() ? "idle" : absl::StrCat("no tuning: ", device.cannot_tune_reason());
  }
  if (device.load().queued_jobs() > 0) {
    absl::StrAppend(&does, ", ", device.load().queued_jobs(), " waiting");
  }
  return is_wide
             ? absl::StrFormat("%-10s %-28s %s", name, Cut(device.description().model(), 28), does)
             : absl::StrFormat("%-10s %s", name, does);
}

// "########----" of so many characters.
std::string Bar(const v1::TuningProgress& progress, int characters) {
  const auto elapsed = static_cast<double>(progress.elapsed_ns());
  const double whole = elapsed + static_cast<double>(progress.remaining_ns());
  const double share = whole > 0 ? std::min(1.0, elapsed / whole) : 0;
  const int filled = static_cast<int>(share * characters + 0.5);
  return std::string(filled, '#') + std::string(characters - filled, '.');
}

std::string JobLine(const v1::TuningJob& job, bool is_wide) {
  const v1::TuningProgress& progress = job.progress();
  const std::string number(absl::StripPrefix(job.name(), "tuningJobs/"));
  const std::string best =
      progress.best_time_ns() > 0 ? FormatTime(progress.best_time_ns()) : std::string("-");
  const std::string left =
      job.state() == v1::TUNING_JOB_STATE_RUNNING
          ? absl::StrFormat("%.0f s",
                            std::max(1.0, static_cast<double>(progress.remaining_ns()) / 1e9))
          : std::string("-");
  if (!is_wide) {
    return absl::StrFormat("%6s %-9s %7d %9s %s", number, JobActivity(job), progress.trials(), best,
                           job.expression_name());
  }
  return absl::StrFormat("%6s  %-9s [%s] %8d %8d %10s %8s  %-12s %s", number, JobActivity(job),
                         Bar(progress, 10), progress.trials(), progress.failed_trials(), best, left,
                         Cut(JobDeviceNames(job), 12), job.expression_name());
}

void AddJobs(const std::vector<v1::TuningJob>& jobs, Screen& screen) {
  screen.AddHeading(
      screen.is_wide()
          ? absl::StrFormat("%6s  %-9s %-12s %8s %8s %10s %8s  %-12s %s", "JOB", "STATE",
                            "PROGRESS", "TRIALS", "FAILED", "BEST", "LEFT", "DEVICE", "EXPRESSION")
          : absl::StrFormat("%6s %-9s %7s %9s %s", "JOB", "STATE", "TRIALS", "BEST", "EXPRESSION"));
  if (jobs.empty()) screen.Add("no jobs run or wait");
  for (size_t n = 0; n < jobs.size(); ++n) {
    if (screen.left() == 1 && n + 1 < jobs.size()) {
      screen.Add(absl::StrCat("... and ", jobs.size() - n, " more"));
      return;
    }
    screen.Add(JobLine(jobs[n], screen.is_wide()));
  }
}

}  // namespace

std::vector<std::string> FormatTop(const DaemonState& state, TerminalSize size, Styling styling) {
  Screen screen(size, styling);
  screen.AddHeading(absl::StrCat("mdhd at ", state.server));
  if (!state.error.empty()) {
    screen.AddProblem(state.error);
    return std::move(screen).Take();
  }
  const v1::Statistics& statistics = state.statistics;
  screen.Add(absl::StrCat(statistics.running_jobs(), " running, ", statistics.queued_jobs(),
                          " queued, ", statistics.paused_jobs(), " paused; ", statistics.records(),
                          " records, ", FormatBytes(statistics.database_bytes()), "; ",
                          LookupsText(state)));
  if (!statistics.storage_problem().empty()) {
    screen.AddProblem(absl::StrCat("storage: ", statistics.storage_problem()));
  }
  screen.Add("");
  screen.AddHeading(screen.is_wide() ? absl::StrFormat("%-10s %-28s %s", "DEVICE", "MODEL", "DOES")
                                     : absl::StrFormat("%-10s %s", "DEVICE", "DOES"));
  for (const v1::Device& device : state.devices) {
    const std::string line = DeviceLine(device, screen.is_wide());
    if (device.health() == v1::DEVICE_HEALTH_UNHEALTHY) {
      screen.AddProblem(line);
    } else {
      screen.Add(line);
    }
  }
  screen.Add("");
  AddJobs(state.jobs, screen);
  return std::move(screen).Take();
}

}  // namespace mdh
