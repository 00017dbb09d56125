// Daemons that share a PostgreSQL server, which is started for this:
//   fleet_benchmark --programs FOLDER --expressions FOLDER [OPTION...]
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/benchmarks/service/fleet_cases.h"
#include "tests/benchmarks/service/fleet_model.h"
#include "tests/benchmarks/service/host_device.h"

namespace mdh {
namespace {

struct FleetBenchmarkOptions {
  FleetCaseOptions cases;
  std::string pattern = "lookups,visibility,starts,claims,cancels,model";
  std::string json;
  std::vector<std::string> facts;
  bool is_quick = false;
};

// As somebody has it who means it: what is acknowledged is on the disk.
constexpr const char* kSettings =
    "fsync = on\nshared_buffers = 256MB\nautovacuum = on\nmax_wal_size = 4GB\n";

Status RunFleetCases(FleetBenchmarkOptions& options) {
  const std::pair<const char*, decltype(&MeasureClaims)> cases[] = {
      {"lookups", &MeasureLookupsOfBoth}, {"visibility", &MeasureVisibility},
      {"starts", &MeasureStartsOfBoth},   {"claims", &MeasureClaims},
      {"cancels", &MeasureCancels},       {"model", &MeasureModel}};
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresServer> server,
                       PostgresServer::Start({.settings = kSettings}));
  options.cases.server = server.get();
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device, HostDevice(options.cases.service));
  MDH_ASSIGN_OR_RETURN(const RecordGenerator records,
                       RecordGenerator::Create(options.cases.service.expressions, device));
  const std::vector<std::string> wanted = absl::StrSplit(options.pattern, ',');
  std::vector<ServiceFigure> figures;
  for (const auto& [name, measure] : cases) {
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    MDH_ASSIGN_OR_RETURN(const std::vector<ServiceFigure> measured,
                         measure(options.cases, records));
    figures.insert(figures.end(), measured.begin(), measured.end());
  }
  std::fputs(ServiceTable(figures).c_str(), stdout);
  if (options.json.empty()) return absl::OkStatus();
  std::map<std::string, std::string> facts;
  for (const std::string& fact : options.facts) {
    facts.insert(absl::StrSplit(fact, absl::MaxSplits('=', 1)));
  }
  return WriteServiceResults({"Several daemons on one PostgreSQL server",
                              "The server and all daemons share this machine; it waits for its "
                              "disk (fsync). Ratios are medians over the rounds."},
                             figures, facts, options.json);
}

int Main(int argc, char** argv) {
  FleetBenchmarkOptions options;
  ServiceCaseOptions& service = options.cases.service;
  CLI::App app{"Several daemons on one PostgreSQL server.", "fleet_benchmark"};
  app.add_option("--programs", service.programs, "folder of mdhd and mdh-runner");
  app.add_option("--expressions", service.expressions, "folder of the shipped expressions");
  app.add_option("--directory", service.directory,
                 "folder for databases in files, which are kept; else a temporary one");
  app.add_option("--cases", options.pattern,
                 "which of lookups,visibility,starts,claims,cancels,model");
  app.add_option("--records", service.many_records, "records of the large stores")
      ->capture_default_str()
      ->check(CLI::Range(1'000, 1'600'000));
  app.add_option("--rounds", service.rounds, "rounds of lookups")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
  app.add_option("--json", options.json, "also writes the figures, and a page beside them");
  app.add_option("--fact", options.facts, "NAME=VALUE for the page; may be given several times");
  app.add_flag("--quick", options.is_quick, "a few seconds: whether it works, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (options.is_quick) {
    service.rounds = 1;
    service.window_s = 0.1;
    service.many_records = 1'000;
    options.cases.puts = 5;
    options.cases.cancels = 1;
    options.cases.starts = 1;
    options.cases.claimed_jobs = 50;
    options.cases.renewing_s = 0.1;
    options.cases.model_window_s = 0.1;
  }
  std::string own_folder;
  if (service.directory.empty()) {
    own_folder = (std::filesystem::temp_directory_path() / "mdh-fleet-XXXXXX").string();
    if (mkdtemp(own_folder.data()) == nullptr) return 1;
    service.directory = own_folder;
  }
  std::filesystem::create_directories(service.directory);
  const Status status = RunFleetCases(options);
  std::error_code ignored;
  if (!own_folder.empty()) std::filesystem::remove_all(own_folder, ignored);
  if (status.ok()) return 0;
  std::fprintf(stderr, "fleet_benchmark: error: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Main(argc, argv); }
