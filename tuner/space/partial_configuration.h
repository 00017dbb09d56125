// Partial configurations (Telamon's partial implementations): for each parameter the values that
// are still open, out of a search space. What is decided of parameters is a set: no order of
// decisions matters, any of them can be undone, and as counts are exact, every value that remains
// has a completion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/space/search_space.h"

namespace mdh {

class Domain;

// Other names of a parameter's values, by position in its range. Empty: it has none.
using ValueNames = std::vector<std::string>;

// A value, and how many configurations have it.
struct ValueCount {
  int64_t code;
  Count count;
  friend bool operator==(const ValueCount&, const ValueCount&) = default;
};

// Immutable, cheap to copy, thread-safe. Has at least one configuration, unless it is lazy, for
// which that cannot always be told. Parameters are numbers of the space's.
//
// Of a lazy space, nothing is counted: values that remain are possible, as no constraint on their
// parameter alone rules them out, but they need not have completions.
class PartialConfiguration {
 public:
  // Everything is open. `names`, by parameter: what texts have instead of values.
  explicit PartialConfiguration(SearchSpace space, std::vector<ValueNames> names = {});

  const SearchSpace& space() const;
  bool is_lazy() const { return space().is_lazy(); }

  // Only values with these codes remain, of those that did. Errors: InvalidArgument for codes that
  // the range does not have; FailedPrecondition if nothing remains, with this decision and those
  // that it contradicts, none of which can be left out.
  Result<PartialConfiguration> Decide(int parameter, absl::Span<const int64_t> keep) const;
  // The same for several decisions at once, of which some say which values do not remain; errors
  // name the first that leaves nothing together with those before it.
  struct Decision {
    int parameter;
    std::vector<int64_t> codes;
    bool is_forbidden = false;
  };
  Result<PartialConfiguration> With(absl::Span<const Decision> decisions) const;
  // Without what was decided of the parameter.
  PartialConfiguration Undo(int parameter) const;

  // Parameters of which anything was decided, and whether a value was not ruled out by that.
  std::vector<int> Decided() const;
  bool Allows(int parameter, int64_t code) const;
  // "'a' to {1, 2}": what is left by decisions on the parameter itself.
  std::string DecisionText(int parameter) const;
  // Those that were decided of which none can be left out if no configuration is to have one of
  // these codes; empty: the space has no such configuration. Expects !is_lazy() and that there is
  // no such configuration.
  std::vector<int> WhyNot(int parameter, absl::Span<const int64_t> codes) const;

  // Configurations that remain. Expects !is_lazy().
  const Count& count() const;
  // Values with completions in the order of the range, at most so many; of lazy spaces those that
  // are possible, with counts of 0. And how many there are.
  std::vector<ValueCount> Remaining(int parameter, size_t most = SIZE_MAX) const;
  uint64_t RemainingValues(int parameter) const;
  // Parameters with several values that remain.
  std::vector<int> Open() const;
  // Whether one configuration remains; of lazy spaces, whether one value of each parameter is
  // possible.
  bool is_complete() const;

  bool Contains(absl::Span<const int64_t> configuration) const;
  // Uniform over what remains, unless lazy.
  Configuration Sample(Rng& rng) const;
  // As that of SearchSpace.
  Configuration Nearest(absl::Span<const int64_t> wanted) const;
  // The same configurations as a space.
  SearchSpace AsSpace() const;

  // What it takes besides the space and counts.
  size_t bytes() const;
  // Whether the same values were ruled out of the same space.
  friend bool operator==(const PartialConfiguration& a, const PartialConfiguration& b);

 private:
  class State;
  explicit PartialConfiguration(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  Result<PartialConfiguration> Narrowed(int parameter, const Domain& with) const;
  std::shared_ptr<const State> state_;
};

}  // namespace mdh
