// mdh top: jobs and devices, live on a terminal, once elsewhere.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/admin_client.h"
#include "client/commands/call/command.h"
#include "client/commands/format/top_format.h"
#include "client/text/terminal.h"

namespace mdh {
namespace {

constexpr int kMostJobs = 200;

// Asks a daemon again and again; a daemon that is away for a while is asked on.
class DaemonObserver {
 public:
  explicit DaemonObserver(const GlobalOptions& options) : options_(options) {}

  // Errors: Unavailable if it cannot be reached, and what it answers.
  Result<DaemonState> Ask() {
    if (client_ == nullptr) {
      MDH_ASSIGN_OR_RETURN(client_, Client::Connect(options_.server, options_.client));
      MDH_ASSIGN_OR_RETURN(admin_, AdminClient::Connect(options_.server, options_.client));
    }
    DaemonState state{.server = options_.server,
                      .error = "",
                      .statistics = {},
                      .lookups_per_s = -1,
                      .devices = {},
                      .jobs = {}};
    MDH_ASSIGN_OR_RETURN(state.statistics, admin_->GetStatistics());
    MDH_ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client_->ListDevices());
    state.devices.assign(devices.devices().begin(), devices.devices().end());
    state.nodes.assign(devices.nodes().begin(), devices.nodes().end());
    for (const v1::TuningJobState of :
         {v1::TUNING_JOB_STATE_RUNNING, v1::TUNING_JOB_STATE_QUEUED, v1::TUNING_JOB_STATE_PAUSED}) {
      v1::ListTuningJobsRequest request;
      request.set_page_size(kMostJobs);
      request.add_states(of);
      MDH_ASSIGN_OR_RETURN(const v1::ListTuningJobsResponse jobs, client_->ListJobs(request));
      state.jobs.insert(state.jobs.end(), jobs.jobs().begin(), jobs.jobs().end());
    }
    CountLookups(state);
    return state;
  }

 private:
  void CountLookups(DaemonState& state) {
    const int64_t lookups = state.statistics.lookup_hits() + state.statistics.lookup_misses();
    const absl::Time now = absl::Now();
    // Fewer than before: the daemon was started anew.
    if (lookups_ >= 0 && lookups >= lookups_ && now > asked_) {
      state.lookups_per_s =
          static_cast<double>(lookups - lookups_) / absl::ToDoubleSeconds(now - asked_);
    }
    lookups_ = lookups;
    asked_ = now;
  }

  const GlobalOptions& options_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<AdminClient> admin_;
  int64_t lookups_ = -1;  // when asked last
  absl::Time asked_;
};

void PrintLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
}

void PrintStateJson(const DaemonState& state) {
  v1::GetStatisticsResponse statistics;
  *statistics.mutable_statistics() = state.statistics;
  v1::ListDevicesResponse devices;
  for (const v1::Device& device : state.devices) *devices.add_devices() = device;
  for (const v1::Node& node : state.nodes) *devices.add_nodes() = node;
  v1::ListTuningJobsResponse jobs;
  for (const v1::TuningJob& job : state.jobs) *jobs.add_jobs() = job;
  nlohmann::ordered_json all;
  all.update(nlohmann::ordered_json::parse(ToJson(statistics)));
  all.update({{"devices", nlohmann::ordered_json::parse(ToJson(devices))["devices"]},
              {"jobs", nlohmann::ordered_json::parse(ToJson(jobs))["jobs"]}});
  if (!state.nodes.empty()) all["nodes"] = nlohmann::ordered_json::parse(ToJson(devices))["nodes"];
  std::printf("%s\n", all.dump(1).c_str());
}

Status ShowOnce(const GlobalOptions& options) {
  DaemonObserver observer(options);
  const Result<DaemonState> state = observer.Ask();
  if (!state.ok()) {
    return absl::IsUnavailable(state.status())
               ? WithExitCode(ExitCode::kCannotConnect, state.status())
               : state.status();
  }
  if (options.json) {
    PrintStateJson(*state);
  } else {
    PrintLines(FormatTop(*state, {.columns = ColumnsOfOutput(STDOUT_FILENO), .rows = 1'000'000},
                         Styling::kPlain));
  }
  return absl::OkStatus();
}

// Until a key says to stop.
Status ShowLive(const GlobalOptions& options, double interval_s) {
  DaemonObserver observer(options);
  const FullScreen screen;
  while (true) {
    Result<DaemonState> state = observer.Ask();
    if (!state.ok()) {
      state = DaemonState{.server = options.server,
                          .error = std::string(state.status().message()),
                          .statistics = {},
                          .lookups_per_s = -1,
                          .devices = {},
                          .jobs = {}};
    }
    TerminalSize size = SizeOfTerminal(STDOUT_FILENO);
    --size.rows;  // for the last line
    std::string frame = "\033[H";
    for (const std::string& line : FormatTop(*state, size, Styling::kAnsi)) {
      absl::StrAppend(&frame, line, "\033[K\n");
    }
    absl::StrAppend(&frame, "\033[J\033[", size.rows + 1, ";1H\033[2mq quits\033[0m");
    std::fputs(frame.c_str(), stdout);
    std::fflush(stdout);
    const std::optional<char> key = screen.ReadKey(static_cast<int>(interval_s * 1000));
    if (key == 'q' || key == 'Q' || key == '\x03' || key == '\x04') return absl::OkStatus();
  }
}

}  // namespace

void AddTopCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto interval_s = std::make_shared<double>(1);
  auto once = std::make_shared<bool>(false);
  CLI::App* top = app.add_subcommand(
      "top", "show devices and jobs, live until q is pressed; once if there is no terminal");
  top->add_option("--interval", *interval_s, "seconds from one look to the next")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  top->add_flag("--once", *once, "print once, also on a terminal");
  Select(top, selected, [&options, interval_s, once] {
    const bool is_live =
        !*once && !options.json && isatty(STDIN_FILENO) != 0 && CanRewriteLines(STDOUT_FILENO);
    return is_live ? ShowLive(options, *interval_s) : ShowOnce(options);
  });
}

}  // namespace mdh
