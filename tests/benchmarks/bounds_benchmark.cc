// Prints what no kernel can be faster than beside every result that is kept. Usage:
// bounds_benchmark [--page FILE] [--draws N]
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/benchmarks/published_bounds.h"
#include "tests/source_path.h"

int main(int argc, char** argv) {
  CLI::App app("Bounds beside the results that are kept.", "bounds_benchmark");
  std::string path;
  app.add_option("--page", path, "also writes the page to this file");
  int draws = 0;
  app.add_option("--draws", draws,
                 "configurations of each space on GPUs, to see what their bounds leave of it [0]");
  CLI11_PARSE(app, argc, argv);
  const auto results = mdh::ReadPublishedBounds(mdh::SourcePath(), draws);
  if (!results.ok()) {
    std::fprintf(stderr, "bounds_benchmark: error: %s\n",
                 std::string(results.status().message()).c_str());
    return 1;
  }
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
