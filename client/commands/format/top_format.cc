#include "client/commands/format/top_format.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/commands/format/job_format.h"
#include "client/text/formatting.h"
#include "client/text/text_table.h"
#include "core/base/wrap_lines.h"

namespace mdh {
namespace {

class Screen {
 public:
  Screen(TerminalSize size, Styling styling) : size_(size), styling_(styling) {}

  void Add(const std::string& line) { lines_.push_back(ElideEnd(Printable(line), size_.columns)); }
  void AddMarked(const char* code, const std::string& line) {
    Add(line);
    if (styling_ == Styling::kAnsi) lines_.back() = absl::StrCat(code, lines_.back(), "\033[0m");
  }
  void AddHeading(const std::string& line) { AddMarked("\033[1m", line); }
  void AddProblem(const std::string& line) { AddMarked("\033[31m", line); }

  // Items of one sentence, "; " between them, on as few lines as they need.
  void AddItems(const std::vector<std::string>& items) {
    std::string line;
    for (const std::string& item : items) {
      if (!line.empty() && CharactersIn(line) + 2 + CharactersIn(item) > size_.columns) {
        Add(line);
        line.clear();
      }
      absl::StrAppend(&line, line.empty() ? "" : "; ", item);
    }
    Add(line);
  }

  int columns() const { return size_.columns; }
  int left() const { return size_.rows - static_cast<int>(lines_.size()); }
  std::vector<std::string> Take() && {
    if (left() < 0) lines_.resize(static_cast<size_t>(std::max(size_.rows, 0)));
    return std::move(lines_);
  }

 private:
  const TerminalSize size_;
  const Styling styling_;
  std::vector<std::string> lines_;
};

// Of several daemons the jobs of all of them, which are listed.
std::string JobsText(const DaemonState& state) {
  const v1::Statistics& statistics = state.statistics;
  const auto count = [&](v1::TuningJobState of_state, int64_t of_daemon) {
    if (state.nodes.empty()) return of_daemon;
    return static_cast<int64_t>(std::ranges::count_if(
        state.jobs, [&](const v1::TuningJob& job) { return job.state() == of_state; }));
  };
  return absl::StrCat(count(v1::TUNING_JOB_STATE_RUNNING, statistics.running_jobs()), " running, ",
                      count(v1::TUNING_JOB_STATE_QUEUED, statistics.queued_jobs()), " queued, ",
                      count(v1::TUNING_JOB_STATE_PAUSED, statistics.paused_jobs()), " paused");
}

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

std::string DeviceActivity(const v1::Device& device) {
  if (device.health() == v1::DEVICE_HEALTH_UNHEALTHY) {
    return absl::StrCat("unhealthy: ", device.health_reason());
  }
  std::string does = device.load().running_job();
  if (does.empty()) {
    does = device.can_tune() ? "idle" : absl::StrCat("no tuning: ", device.cannot_tune_reason());
  }
  if (device.load().queued_jobs() > 0) {
    absl::StrAppend(&does, ", ", device.load().queued_jobs(), " waiting");
  }
  return does;
}

void AddDevices(const std::vector<v1::Device>& devices, Screen& screen) {
  static const auto* table =
      new std::vector<TextColumn>{{.heading = "DEVICE", .least = 6, .usual = 8},
                                  {.heading = "MODEL", .least = 8, .dispensable = 1},
                                  {.heading = "DOES", .least = 20}};
  std::vector<std::vector<std::string>> rows;
  for (const v1::Device& device : devices) {
    rows.push_back({std::string(absl::StripPrefix(device.name(), "devices/")),
                    device.description().model(), DeviceActivity(device)});
  }
  const std::vector<std::string> lines = LayOutTable(*table, rows, screen.columns());
  screen.AddHeading(lines[0]);
  for (size_t n = 0; n < devices.size(); ++n) {
    if (devices[n].health() == v1::DEVICE_HEALTH_UNHEALTHY) {
      screen.AddProblem(lines[n + 1]);
    } else {
      screen.Add(lines[n + 1]);
    }
  }
}

// Of several daemons: how many there are, and who is gone.
void AddNodes(const std::vector<v1::Node>& nodes, Screen& screen) {
  if (nodes.size() < 2) return;
  std::vector<std::string> items = {absl::StrCat(nodes.size(), " daemons on the database")};
  for (const v1::Node& node : nodes) {
    if (node.is_gone()) items.push_back(absl::StrCat(NodeLabel(node.name()), " is gone"));
  }
  screen.AddItems(items);
}

// "########----" of so many characters.
std::string Bar(const v1::TuningProgress& progress, int characters) {
  const auto elapsed = static_cast<double>(progress.elapsed_ns());
  const double whole = elapsed + static_cast<double>(progress.remaining_ns());
  const double share = whole > 0 ? std::min(1.0, elapsed / whole) : 0;
  const int filled = static_cast<int>(share * characters + 0.5);
  return std::string(filled, '#') + std::string(characters - filled, '.');
}

// `has_nodes`: several daemons have jobs, and the cells say whose this one is.
std::vector<std::string> JobCells(const v1::TuningJob& job, bool has_nodes) {
  const v1::TuningProgress& progress = job.progress();
  const bool runs = job.state() == v1::TUNING_JOB_STATE_RUNNING;
  std::vector<std::string> cells = {
      JobNumber(job),
      JobActivity(job),
      absl::StrCat("[", Bar(progress, 10), "]"),
      absl::StrCat(progress.trials()),
      absl::StrCat(progress.failed_trials()),
      progress.best_time_ns() > 0 ? FormatTime(progress.best_time_ns()) : "-",
      runs ? absl::StrFormat("%.0f s",
                             std::max(1.0, static_cast<double>(progress.remaining_ns()) / 1e9))
           : "-",
      JobDeviceNames(job),
      job.expression_name()};
  if (has_nodes) cells.insert(cells.end() - 2, job.node().empty() ? "-" : NodeLabel(job.node()));
  return cells;
}

void AddJobs(const std::vector<v1::TuningJob>& jobs, bool has_nodes, Screen& screen) {
  std::vector<TextColumn> table = {
      {.heading = "JOB", .is_number = true},
      {.heading = "STATE", .usual = 9},
      {.heading = "PROGRESS", .dispensable = 3},
      {.heading = "TRIALS", .is_number = true, .dispensable = 2},
      {.heading = "FAILED", .is_number = true, .dispensable = 5},
      {.heading = "BEST", .is_number = true, .usual = 7},
      {.heading = "LEFT", .is_number = true, .dispensable = 4, .usual = 5},
      {.heading = "DEVICE", .least = 6, .dispensable = 1},
      {.heading = "EXPRESSION", .least = 16}};
  if (has_nodes) table.insert(table.end() - 2, {.heading = "NODE", .least = 4, .dispensable = 2});
  std::vector<std::vector<std::string>> rows;
  for (const v1::TuningJob& job : jobs) rows.push_back(JobCells(job, has_nodes));
  const std::vector<std::string> lines = LayOutTable(table, rows, screen.columns());
  screen.AddHeading(lines[0]);
  if (jobs.empty()) screen.Add("no jobs run or wait");
  for (size_t n = 0; n < jobs.size(); ++n) {
    if (screen.left() == 1 && n + 1 < jobs.size()) {
      screen.Add(absl::StrCat("... and ", jobs.size() - n, " more"));
      return;
    }
    screen.Add(lines[n + 1]);
  }
}

}  // namespace

std::vector<std::string> FormatTop(const DaemonState& state, TerminalSize size, Styling styling) {
  Screen screen(size, styling);
  constexpr absl::string_view kWhere = "mdhd at ";
  screen.AddHeading(absl::StrCat(
      kWhere,
      ElideMiddle(state.server, std::max(0, size.columns - static_cast<int>(kWhere.size())))));
  if (!state.error.empty()) {
    screen.AddProblem(state.error);
    return std::move(screen).Take();
  }
  const v1::Statistics& statistics = state.statistics;
  screen.AddItems(
      {JobsText(state),
       absl::StrCat(statistics.records(), " records, ", FormatBytes(statistics.database_bytes())),
       LookupsText(state)});
  if (!statistics.storage_problem().empty()) {
    screen.AddProblem(absl::StrCat("storage: ", statistics.storage_problem()));
  }
  AddNodes(state.nodes, screen);
  screen.Add("");
  AddDevices(state.devices, screen);
  screen.Add("");
  AddJobs(state.jobs, !state.nodes.empty(), screen);
  return std::move(screen).Take();
}

}  // namespace mdh
