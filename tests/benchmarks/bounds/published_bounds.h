// The results that are kept in tests/benchmarks/results beside what no kernel can be faster than.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/bounds/problem_bound.h"
#include "core/base/status.h"
#include "tuner/search/bound_histogram.h"

namespace mdh {

struct PublishedRow {
  std::string name;  // of the case
  double time_ns = 0;
  ProblemBound bound;
  // Of the space, given that time; nullopt: nothing was drawn.
  std::optional<BoundHistogram> space = std::nullopt;

  double ratio() const { return bound.time_ns() / time_ns; }
};

struct PublishedResults {
  std::string file;    // "gpu_nvidia_h200"
  std::string device;  // "NVIDIA H200"
  std::vector<PublishedRow> rows;
  std::vector<std::string> left_out;  // cases that are not in the files of cases, and wrong ones

  // Of rows with a bound.
  double GeometricMean() const;
  // Of the shares of spaces that are left, rows of which nothing is left counted as one half of
  // what was drawn; 0: nothing was drawn.
  double MeanLeft() const;
};

// Of every file of results with cases. `source_path`: the root of the sources, without a slash
// behind it. GPUs are those of deploy/devices; of processors the clock is what a row shows of their
// measured peak. `draws`: configurations of each space of a single expression on a GPU, which
// takes a second or more to construct; all of a space that has no more. Errors: NotFound,
// InvalidArgument, naming the file.
Result<std::vector<PublishedResults>> ReadPublishedBounds(const std::string& source_path,
                                                          int draws = 0);

// A page in Markdown: one table for each file, the geometric means before them.
std::string BoundsPage(const std::vector<PublishedResults>& results);

}  // namespace mdh
