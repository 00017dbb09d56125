// What the search spaces of all backends are made of: parts per dimension (parameter 0 of Table 1),
// orders of levels (D1), and products against limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/bounds/design_bound.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Parameters and constraints in the order in which the space has them.
class SpaceBuilder {
 public:
  // Adds a parameter; gives its number. Expects values, all different.
  int Add(std::string name, std::vector<int64_t> values);
  Formula At(int parameter) const;
  void Require(std::string name, Formula holds);
  int64_t Largest(int parameter) const;

  const std::vector<TuningParameter>& parameters() const { return parameters_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }

 private:
  std::vector<TuningParameter> parameters_;
  std::vector<Constraint> constraints_;
};

// Smallest e with value <= 2^(e / steps), as a formula; 0 for values below 1. Expects value <=
// largest.
Formula CeilLog(const Formula& value, int64_t largest, int steps);
// values[index], the last one beyond them; expects index >= 0.
Formula Lookup(const Formula& index, absl::Span<const int64_t> values);
// Largest e with 2^(e / steps) <= limit; -1 if there is none.
int64_t FloorLog(double limit, int steps);

// Products of positive terms against a limit, one term after the other. Exact, or in steps of
// powers of two, rounded up: then products just below the limit are left out, but a space over many
// dimensions has few different products and stays small.
class ProductLimit {
 public:
  // steps: per doubling; 0: exact.
  ProductLimit(std::string name, double limit, int steps)
      : name_(std::move(name)), limit_(limit), steps_(steps) {}
  // Expects term <= largest.
  void Multiply(const Formula& term, int64_t largest);
  // The product, or its logarithm.
  Formula total() const;
  // Whether the product is at most `limit`.
  Formula IsAtMost(double limit) const;
  void Require(SpaceBuilder& builder) const;

 private:
  std::string name_;
  double limit_;
  int steps_;
  double largest_ = 1;
  std::vector<Formula> terms_;
};

// How one dimension is cut: #PRT of its levels. There is one parameter per level but the outermost,
// the innermost level's first; its value is the number of parts, or 0 at the level that takes all
// that is left of the dimension (around it, everything is one part; without such a level, the
// outermost one takes what is left). So extents of parts are products of the counts inside of them
// or the whole dimension, which is what Validate asks for, and no two configurations have the same
// extents.
class DimensionParts {
 public:
  static constexpr int64_t kRest = 0;

  // `unit` points make one part of the innermost level. `pinned`: counts that a schedule asks for.
  DimensionParts(int64_t size, Formula unit, std::vector<int64_t> pinned = {});
  // The next level outwards. `counts` without kRest; those that are too large are left out.
  // `alone`: further counts, with codes of their own (-count), for where nothing inside is cut. Of
  // long dimensions, all counts but one are pinned ones or powers of two: so there are few
  // different extents.
  void AddLevel(SpaceBuilder& builder, std::string name, const std::vector<int64_t>& counts,
                bool may_be_rest = true, const std::vector<int64_t>& alone = {});

  int levels() const { return static_cast<int>(parameters_.size()); }
  int parameter(int level) const { return parameters_[level]; }
  // Parts of a level, `levels()` being the outermost; and their number at most.
  const Formula& parts(int level) const { return parts_[level]; }
  int64_t most(int level) const { return most_[level]; }
  // Extent that the level cuts; of level -1: the unit.
  Formula outer(int level) const;

  // Points of all parts of the levels up to this one, those beyond the size included; of level -1:
  // the unit.
  const Formula& span(int level) const { return span_[level + 1]; }

  // Extents that the levels cut, the innermost level's first, and then the size.
  std::vector<int64_t> Extents(absl::Span<const int64_t> configuration, int64_t unit) const;
  // What the extent that a level cuts may be, by the codes of parameters that are open; of level
  // -1: the unit. Not wider for fewer codes.
  ExtentRange OuterRange(OpenCodes open, ExtentRange unit, int level) const;
  // Sets the parameters so that the levels cut these extents, as near as that can be said:
  // extents[n] is what level n cuts.
  void Read(const std::vector<int64_t>& extents, int64_t unit, Configuration& configuration) const;

 private:
  void RequireFewExtents(SpaceBuilder& builder, const std::string& name, const Formula& code,
                         const std::vector<int64_t>& codes);

  int64_t size_;
  std::vector<int64_t> pinned_;
  std::vector<int> parameters_;
  std::vector<std::vector<int64_t>> ranges_;  // their codes
  Formula others_ = 0;                        // counts so far of which there is one at most
  std::vector<Formula> left_;                 // parts that are not yet taken, less one
  std::vector<Formula> parts_;
  std::vector<int64_t> most_;
  std::vector<Formula> outer_, span_;
};

// The order of the dimensions of some levels: each dimension has a digit, its place, counted from
// the inside, among the earlier ones of `insertion`. Dimensions with one part have digit 0 and no
// influence on the order. Orders are not unique where earlier dimensions have one part: digits
// beyond the number of those that have more mean the outermost place.
class OrderDigits {
 public:
  void Add(SpaceBuilder& builder, std::string name, int dimension, const Formula& has_parts,
           bool is_fixed = false);
  // Dimensions with has_parts[d] in their order, those of all `rank` others where they do not
  // disturb the ascending order.
  std::vector<int> Order(absl::Span<const int64_t> configuration,
                         const std::vector<bool>& has_parts, int rank) const;
  void Read(const std::vector<int>& order, const std::vector<bool>& has_parts,
            Configuration& configuration) const;
  bool empty() const { return dimensions_.empty(); }
  // Whether the loop over one dimension is outside of that over another; both have parts.
  Formula IsOutside(const SpaceBuilder& builder, int dimension, int other) const;

 private:
  std::vector<int> dimensions_;
  std::vector<Formula> has_parts_;
  std::vector<int> parameters_;  // -1: fixed
};

// A permutation of 0 .. items-1 as digits, independent of everything but `matters`.
class PermutationDigits {
 public:
  void Add(SpaceBuilder& builder, const std::string& name, int items, const Formula& matters);
  // Whether the last item stays the last.
  Formula KeepsLast(const SpaceBuilder& builder) const;
  // Whether it is this one.
  Formula Is(const SpaceBuilder& builder, absl::Span<const int64_t> permutation) const;
  std::vector<int> Permutation(absl::Span<const int64_t> configuration) const;
  // The last item, if all that are open have the same; else -1.
  int Last(OpenCodes open) const;
  void Read(const std::vector<int>& permutation, Configuration& configuration) const;

 private:
  int items_ = 0;
  std::vector<int> parameters_;  // one less than items
};

// Part counts that are offered for a level of a dimension: up to `dense` all, then numbers that are
// products of a small factor and a power of two, divisors of the size and quotients of it, up to
// `largest`; fewer of these if `dense` is at most 4.
std::vector<int64_t> PartCounts(int64_t size, int64_t dense, int64_t largest);

}  // namespace mdh
