// When a kernel's result counts as right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/expression/unreached_elements.h"
#include "core/scalar/scalar_type.h"
#include "core/scalar/scalar_value.h"
#include "tuner/measure/results/measurement.h"

namespace mdh {

// What a buffer must contain.
//
// Integers and bool must be equal; integers that were combined as floating-point numbers may differ
// by one. Floating-point values may differ as far as re-association of the combine operators can
// make them:
//   |got - reference| <= (eps * bound + 2 * stored) * max(|reference|, rms)
// where eps is that of the type combined in (with a store function: the coarsest of those, times
// the factor of StoreAmplification), `bound` that of RoundingBound, and `stored` the eps of
// the type stored, where that is another: results are rounded to it once. Where matrix units may
// cut sums off (MayTruncate of codegen/program/contraction_units.h), which happens at most once
// for every kLeastTruncated of the R values that are combined, eps of fp32 times R /
// kLeastTruncated comes on top: each cut takes less than one unit in the last place of a partial
// sum, all in the same direction, so that errors add up rather than being a random walk's. Dot
// instructions of CPUs add nothing to it: their products are exact and every addition is rounded to
// nearest; that they take subnormal numbers as zero shows in inputs that have such only. rms is
// the root mean square of the finite reference values of the buffer (of the field, for records), so
// that a value near zero among large ones is judged by what it was computed from, and at least the
// smallest normal number. NaN passes only where the reference has it, too, among numbers, infinity
// only where it has the same infinity. Elements that no index function reaches must be zero, or as
// before the call where they keep what is there or are no elements, but memory between them.
struct ReferenceField {
  ScalarType type;
  int offset_bytes;      // within an element
  double rms = 0;        // floating point only
  double tolerance = 0;  // the factor of the maximum above; floating point only
  bool rounds = false;   // integers: combined as floating-point numbers
  // Nan is right where it is expected: results of which some are numbers tell right from wrong.
  bool may_be_nan = false;
  bool is_nan = false;  // there is no number
};

// Where products are of rounded operands (Products of core/expression/numerics.h), each of them is
// off by at most ProductError e relative to itself, anywhere between as a rule. Of products with
// random signs the variance of the sum of these errors is at most a third of e^2 times the mean
// square of results, so that it is beyond kProductDeviations e rms with a probability of 10^-20; of
// products with one sign it is e |result| at most. Sums of them count as cut off, too: those that
// are promoted, within what is added up between two promotions.
inline constexpr double kProductDeviations = 6;

// The values that matrix units add to a sum at once, at least.
inline constexpr int64_t kLeastTruncated = 8;

// One field of one element.
struct ReferenceSample {
  int64_t element;
  int field;
  ScalarValue value;
};

// Another right value of every element, where there is not only one: of pipelines, whose
// intermediates may be rounded or not.
struct ReferenceVariant {
  std::vector<std::byte> bytes;  // where the whole buffer is known
  // So many times what it differs from the reference a value may do, too.
  double slack;
  std::vector<ScalarValue> values = {};  // else: one per sample of the reference
};

struct ReferenceBuffer {
  std::string name;
  ElementType type;
  std::vector<std::byte> bytes;          // empty unless the whole buffer is known
  std::vector<ElementContent> contents;  // per element; empty: all are results
  bool has_former = false;               // some elements stay as they were
  // In results.
  bool contains_nan = false, contains_infinity = false;
  std::vector<ReferenceField> fields;
  // What there is to compare with; the samples unless that is the whole buffer.
  ResultCheck check = ResultCheck::kWhole;
  std::vector<ReferenceSample> samples = {};
  std::vector<ReferenceVariant> variants = {};
  // What else is right at an element, in no order: what each of these differs from the reference a
  // value may do, all added up. Computed where a value would be wrong otherwise, by any thread;
  // empty if there is nothing.
  std::function<std::vector<ScalarValue>(int64_t element, int field)> nearby = {};

  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / type.size_bytes(); }
  // Whether every result that equals it byte by byte is right.
  bool is_right_itself() const {
    return check == ResultCheck::kWhole && !has_former && !contains_nan;
  }
};

// Values combined for one result, at most: the product of the sizes of all dimensions that are
// reduced or summed up.
int64_t ReductionLength(const Expression& expression);

// Stands for the tolerance that re-association explains.
inline constexpr double kDefaultTolerance = -1;

// The reference of output buffer `output` of `expression`, whose contents are `bytes`. `tolerance`:
// instead of that factor; 0: floating-point values must be equal, too. `amplification`: by which
// the store function enlarges relative errors. `distinct`: how many different values each passed
// input has; empty: as many as random ones of its type. `numerics`: what products may be rounded
// to.
ReferenceBuffer MakeReference(const Expression& expression, int output,
                              std::vector<std::byte> bytes, double tolerance = kDefaultTolerance,
                              double amplification = 1, absl::Span<const double> distinct = {},
                              NumericsPolicy numerics = NumericsPolicy::kReassociate);

// The same where only some elements are known, perhaps none: others are not compared.
ReferenceBuffer MakeSampledReference(const Expression& expression, int output,
                                     std::vector<ReferenceSample> samples,
                                     double tolerance = kDefaultTolerance, double amplification = 1,
                                     absl::Span<const double> distinct = {},
                                     NumericsPolicy numerics = NumericsPolicy::kReassociate);

// What it changes in nearly all elements counts for every element, as the variant of one of them
// may be the reference by chance. Expects as many bytes, or values of samples, as the reference
// has.
void AddVariant(ReferenceVariant variant, ReferenceBuffer& reference);

struct Mismatch {
  int64_t element;    // linear index
  std::string field;  // of a record; else empty
  std::string expected;
  std::string got;
};

// The first element that is wrong. `got`: as many bytes as the reference has; `poison`: the byte
// that they were filled with before the kernel ran.
std::optional<Mismatch> FirstMismatch(const ReferenceBuffer& reference, const std::byte* got,
                                      std::byte poison);

// Whether field number `field` (0 of a scalar) of `element` of the reference agrees with what it
// should be, by the same rule.
std::optional<Mismatch> ElementMismatch(const ReferenceBuffer& reference, int64_t element,
                                        int field, const ScalarValue& expected);

// Whether some result is NaN or infinite.
bool ContainsNonFinite(const ReferenceBuffer& reference);
// Whether all results are equal, or the only one is zero: such a result hides mistakes.
bool IsConstant(const ReferenceBuffer& reference);

}  // namespace mdh
