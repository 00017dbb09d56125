// Lookups of the service beside the least that a call over gRPC costs:
//   service_benchmark --programs FOLDER --expressions FOLDER [OPTION...]
// mdhd and the floor run as processes of their own; this one makes the load.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/benchmarks/service/floor_server.h"
#include "tests/benchmarks/service/host_device.h"
#include "tests/benchmarks/service/record_generator.h"
#include "tests/benchmarks/service/service_cases.h"
#include "tests/benchmarks/service/service_figure.h"

namespace mdh {
namespace {

struct ServiceBenchmarkOptions {
  ServiceCaseOptions cases;
  FloorOptions floor;
  std::string pattern = "lookups,tuning,cache,many";
  std::string json;
  std::vector<std::string> facts;
  bool is_quick = false;
};

Status RunCases(const ServiceBenchmarkOptions& options) {
  const std::pair<const char*, decltype(&MeasureLookups)> cases[] = {
      {"lookups", &MeasureLookups},
      {"tuning", &MeasureWhileTuning},
      {"cache", &MeasureClientCache},
      {"many", &MeasureManyRecords}};
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device, HostDevice(options.cases));
  MDH_ASSIGN_OR_RETURN(const RecordGenerator records,
                       RecordGenerator::Create(options.cases.expressions, device));
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
  return WriteServiceResults({"The service's lookups",
                              "`floor` is a bare gRPC server with raw methods on one completion "
                              "queue, in the same run, in "
                              "turns with ours. Ratios are medians over the rounds."},
                             figures, facts, options.json);
}

// In a folder of its own, unless one is given.
Status RunInFolder(ServiceBenchmarkOptions options) {
  if (!options.cases.directory.empty()) {
    std::filesystem::create_directories(options.cases.directory);
    return RunCases(options);
  }
  std::string folder = (std::filesystem::temp_directory_path() / "mdh-service-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return absl::InternalError("cannot make a folder");
  options.cases.directory = folder;
  const Status status = RunCases(options);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}

int Main(int argc, char** argv) {
  ServiceBenchmarkOptions options;
  options.cases.self = std::filesystem::read_symlink("/proc/self/exe").string();
  CLI::App app{"Lookups of the service beside a bare gRPC server.", "service_benchmark"};
  app.add_option("--programs", options.cases.programs, "folder of mdhd and mdh-runner");
  app.add_option("--expressions", options.cases.expressions, "folder of the shipped expressions");
  app.add_option("--directory", options.cases.directory,
                 "folder for databases, which are kept; else a temporary one");
  app.add_option("--cases", options.pattern, "which of lookups,tuning,cache,many")
      ->capture_default_str();
  app.add_option("--records", options.cases.many_records, "records of the large store")
      ->capture_default_str()
      ->check(CLI::Range(1'000, 1'600'000));
  app.add_option("--rounds", options.cases.rounds, "rounds of each case")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
  app.add_option("--json", options.json, "also writes the figures, and a page beside them");
  app.add_option("--fact", options.facts, "NAME=VALUE for the page; may be given several times");
  app.add_flag("--quick", options.is_quick, "a few seconds: whether it works, not how fast");
  app.add_option("--floor", options.floor.address, "serve the floor at this address");
  app.add_option("--lookup-bytes", options.floor.lookup_bytes, "with --floor: of a reply");
  app.add_option("--batch-bytes", options.floor.batch_bytes, "with --floor: of a batch's reply");
  CLI11_PARSE(app, argc, argv);
  if (options.is_quick) {
    options.cases.rounds = 1;
    options.cases.window_s = 0.1;
    options.cases.tuning_window_s = 0.5;
    options.cases.many_records = 2'000;
  }
  const Status status =
      options.floor.address.empty() ? RunInFolder(std::move(options)) : ServeFloor(options.floor);
  if (status.ok()) return 0;
  std::fprintf(stderr, "service_benchmark: error: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Main(argc, argv); }
