// Constrained search spaces (ATF): all configurations of tuning parameters that satisfy the
// constraints, as a decision diagram with counts. Knows nothing of MDH.
//
// The diagram has one level per parameter. A node stands for all prefixes that leave the same
// constraints on the remaining parameters; its edges lead to the values that have completions.
// Edges know how many configurations lie before them, so that a configuration has an index,
// 0..count()-1, and both directions cost one descent.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/range.h"

namespace mdh {

using Rng = std::mt19937_64;

// One code (range.h) per parameter, in the order of the space's parameters.
using Configuration = std::vector<int64_t>;

// Numbers of configurations: of any size, exact.
using Count = mpz_class;

enum class ParameterOrder : uint8_t {
  kAutomatic,  // levels are ordered by the constraint graph
  kDeclared,   // level n is parameter n
};

struct SpaceOptions {
  // What construction and diagram may take; beyond it the space is lazy (is_lazy), or an error.
  int64_t max_bytes = int64_t{256} << 20;
  bool may_be_lazy = true;
  int threads = 1;  // for construction; the result does not depend on it
  ParameterOrder order = ParameterOrder::kAutomatic;
  // Whether the error of an empty space names the constraint that emptied it, for which spaces of
  // some of the constraints are constructed, again and again.
  bool names_what_empties = true;
  // Asked now and then during construction: then Create ends with Cancelled. Empty: never.
  std::function<bool()> gives_up = {};
};

// Another value of one parameter.
struct Change {
  int parameter;
  int64_t code;
  friend bool operator==(const Change&, const Change&) = default;
};

// Size of the diagram. Bytes: all that queries need, without names and constraints.
struct SpaceSize {
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t bytes = 0;
};

// Immutable, cheap to copy, thread-safe. Never empty.
class SearchSpace {
 public:
  // Errors: InvalidArgument for repeated or malformed names, unknown names and wrong types in a
  // constraint; FailedPrecondition if no configuration satisfies the constraints, naming the one
  // that emptied the space; OutOfRange if a constraint overflows, with the values; Cancelled;
  // ResourceExhausted for what would be lazy and may not be, or where no configuration is found
  // then, though there may be some.
  static Result<SearchSpace> Create(std::vector<TuningParameter> parameters,
                                    std::vector<Constraint> constraints,
                                    const SpaceOptions& options = {});
  // A configuration that satisfies the constraints, mostly long before the space of all of them
  // were constructed. A constraint that overflows does not hold. Errors: as of Create otherwise,
  // but FailedPrecondition names nothing; ResourceExhausted if options.max_bytes do not tell.
  static Result<Configuration> FindOne(const std::vector<TuningParameter>& parameters,
                                       const std::vector<Constraint>& constraints,
                                       const SpaceOptions& options = {});

  const std::vector<TuningParameter>& parameters() const;
  const std::vector<Constraint>& constraints() const;
  // Position of a parameter, -1 if there is none of that name.
  int ParameterNamed(std::string_view name) const;
  // What the user should know: constraints that divided by zero, with the first values that did.
  const std::vector<std::string>& notices() const;
  // Whether the diagram was larger than the memory bound. Then nodes are expanded when they are
  // needed and kept in a bounded cache: there are no counts and no indices, samples are not
  // uniform.
  bool is_lazy() const;
  SpaceSize size() const;

  // Number of configurations, at least 1. Expects !is_lazy(); so do all that have an index.
  const Count& count() const;
  // The configuration with that index < count(), in the diagram's order.
  Configuration At(const Count& index) const;
  // The same for spaces with fewer than 2^64 configurations, without allocation.
  void At(uint64_t index, absl::Span<int64_t> configuration) const;
  // Inverse of At; nullopt if the configuration is not in the space.
  std::optional<Count> IndexOf(absl::Span<const int64_t> configuration) const;
  std::optional<uint64_t> SmallIndexOf(absl::Span<const int64_t> configuration) const;

  bool Contains(absl::Span<const int64_t> configuration) const;
  // The first constraint or range that a configuration breaks, for people; empty if none.
  std::string WhyNot(absl::Span<const int64_t> configuration) const;

  // Uniform over all configurations, unless lazy.
  Configuration Sample(Rng& rng) const;
  void Sample(Rng& rng, absl::Span<int64_t> configuration) const;

  // All configurations that differ from a given one, which is in the space, in exactly one
  // parameter, by parameter and then in the order of its range.
  std::vector<Change> Neighbours(absl::Span<const int64_t> configuration) const;

  // The configuration that differs least from `wanted`, which has any codes: in the fewest
  // parameters, and among those the sum of |position - wanted position| / size over all parameters
  // is smallest (1 for codes that are not in the range). Exact, unless lazy.
  Configuration Nearest(absl::Span<const int64_t> wanted) const;

  // Coordinates in [0, 1) per level, leaf-weighted: uniform coordinates are uniform configurations.
  // coordinates.size() == parameters().size(); values outside are clamped.
  Configuration AtCoordinates(absl::Span<const double> coordinates) const;
  // The middle of the cell of a configuration that is in the space.
  std::vector<double> CoordinatesOf(absl::Span<const int64_t> configuration) const;

  // The configurations whose parameters have one of the given codes: names to codes; others are
  // free. Errors: InvalidArgument for an unknown name or a code out of range; FailedPrecondition if
  // nothing remains, as of PartialConfiguration::Decide.
  struct Restriction {
    std::string parameter;
    std::vector<int64_t> codes;
  };
  Result<SearchSpace> Restrict(const std::vector<Restriction>& restrictions) const;

  // All configurations in the order of their indices, while `visit` returns true.
  void Enumerate(const std::function<bool(const Configuration&)>& visit) const;

  // "WPT=4, LS=8", values as formulas spell them.
  std::string ToText(absl::Span<const int64_t> configuration) const;

 private:
  friend class PartialConfiguration;
  friend class SpaceTree;
  class Implementation;
  explicit SearchSpace(std::shared_ptr<const Implementation> implementation)
      : implementation_(std::move(implementation)) {}
  std::shared_ptr<const Implementation> implementation_;
};

}  // namespace mdh
