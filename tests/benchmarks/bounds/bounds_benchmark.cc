// Prints what no kernel can be faster than beside every result that is kept. Usage:
// bounds_benchmark [--page FILE] [--draws N] [--recorded GHZ] [--costs]
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/benchmarks/bounds/bound_costs.h"
#include "tests/benchmarks/bounds/published_bounds.h"
#include "tests/benchmarks/bounds/recorded_bounds.h"
#include "tests/source_path.h"

namespace {

int Fail(const mdh::Status& status) {
  std::fprintf(stderr, "bounds_benchmark: error: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Bounds beside the results that are kept.", "bounds_benchmark");
  std::string path;
  app.add_option("--page", path, "also writes the page to this file");
  int draws = 0;
  app.add_option("--draws", draws,
                 "configurations of each space on GPUs, to see what their bounds leave of it [0]");
  double recorded_ghz = 0;
  app.add_option("--recorded", recorded_ghz,
                 "only what bounds leave of recorded tables, on a processor of at most so many GHz")
      ->check(CLI::PositiveNumber);
  bool costs = false;
  app.add_flag("--costs", costs, "only what it costs to ask for bounds");
  CLI11_PARSE(app, argc, argv);
  if (costs) {
    const auto measured = mdh::MeasureBoundCosts(mdh::SourcePath());
    if (!measured.ok()) return Fail(measured.status());
    std::fputs(mdh::BoundCostsPage(*measured).c_str(), stdout);
    return 0;
  }
  if (recorded_ghz > 0) {
    for (const char* const folder : {mdh::kChosenOn, mdh::kHeldOut}) {
      const auto tables = mdh::ReadRecordedBounds(mdh::SourcePath(), folder, recorded_ghz * 1e9);
      if (!tables.ok()) return Fail(tables.status());
      std::printf("%s:\n\n%s\n", folder, mdh::RecordedBoundsPage(*tables).c_str());
    }
    return 0;
  }
  const auto results = mdh::ReadPublishedBounds(mdh::SourcePath(), draws);
  if (!results.ok()) return Fail(results.status());
  const std::string page = mdh::BoundsPage(*results);
  std::fputs(page.c_str(), stdout);
  if (path.empty()) return 0;
  std::ofstream file(path);
  file << page;
  file.close();
  if (file.good()) return 0;
  std::fprintf(stderr, "bounds_benchmark: error: %s cannot be written\n", path.c_str());
  return 1;
}
