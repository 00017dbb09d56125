// Recorded tables of costs: what the configurations of a space cost once, so that searches can be
// played without a device.
//
// The file is text:
//
//   mdh recorded costs 1
//   name matmul 512x512x512
//   parameter TILE 1..64 step 3
//   parameter LANES {1, 4, 8}
//   parameter ORDER permutations of "i", "j"
//   constraint TILE % LANES == 0
//   rows all 48
//   12340
//   -
//   ...
//
// One row per configuration: its cost, or - if it failed. `rows all` has every configuration, row n
// that of index n (ParameterOrder::kDeclared). `rows some` has a part of them, each row with the
// index and a space before the cost. Lines that start with # and empty ones are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "tuner/search/techniques/search_technique.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Immutable, thread-safe.
class RecordedCosts {
 public:
  static constexpr int64_t kMaxRows = 10'000'000;

  struct Row {
    Configuration configuration;
    Cost cost;
  };
  // Rows in any order; those of `space` or some of them. Errors: InvalidArgument for no rows, more
  // than kMaxRows, repeated or foreign configurations, or a cost that is not finite.
  static Result<RecordedCosts> Create(std::string name, const SearchSpace& space,
                                      std::vector<Row> rows);
  // Errors: InvalidArgument with the line.
  static Result<RecordedCosts> Parse(std::string_view text);
  // Errors: also NotFound if the file cannot be read; messages begin with the path.
  static Result<RecordedCosts> Read(const std::string& path);

  // Costs have 4 significant digits. Errors: FailedPrecondition for constraints that have no text,
  // and for parts of spaces that are too large to have indices.
  Result<std::string> ToText() const;

  const std::string& name() const { return name_; }
  // Its configurations are exactly those that were recorded; its levels are in the declared order.
  const SearchSpace& space() const { return space_; }
  // In the order of the space's indices.
  const std::vector<Cost>& costs() const { return costs_; }
  // Expects a configuration of space().
  Cost CostOf(const Configuration& configuration) const;
  // The smallest cost; nullopt if all failed.
  Cost best() const { return best_; }

 private:
  RecordedCosts(std::string name, SearchSpace whole, SearchSpace space, std::vector<Cost> costs);

  std::string name_;
  SearchSpace whole_;  // of which space_ is a part, or all
  SearchSpace space_;
  std::vector<Cost> costs_;
  Cost best_;
};

}  // namespace mdh
