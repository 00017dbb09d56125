// Work that no kernel of a computation can do without, whatever its parameters are: instructions on
// floating-point values by type, and bytes of inputs and outputs. Integer instructions are not
// counted: compilers share and strength-reduce them.
#pragma once

#include <array>
#include <cstdint>

#include "core/expression/expression.h"
#include "core/pipeline/computation.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// Of functions with more instructions only combinations are counted, which takes no time.
inline constexpr size_t kMostCountedInstructions = 512;

// Floating-point types by what units compute them.
enum class RealKind : uint8_t { kHalf = 0, kSingle = 1, kDouble = 2 };  // fp16 and bf16; fp32; fp64
inline constexpr std::array<RealKind, 3> kRealKinds = {RealKind::kHalf, RealKind::kSingle,
                                                       RealKind::kDouble};
RealKind KindOf(ScalarType type);  // of a floating-point type

// Instructions of one type. A multiplication and an addition may be one instruction where the
// policy allows to fuse them.
struct ArithmeticWork {
  double multiplications = 0;
  double additions = 0;  // subtractions, too
  double others = 0;     // divisions, minima, maxima, .. : an instruction each at least
  double special = 0;    // exponentials and roots, which are no part of `others`

  double operations() const { return multiplications + additions + others + special; }
  friend bool operator==(const ArithmeticWork&, const ArithmeticWork&) = default;
};
// Puts so many of an operation where they belong.
void AddOperation(ScalarOp op, double count, ArithmeticWork& work);
ArithmeticWork operator+(const ArithmeticWork& a, const ArithmeticWork& b);
ArithmeticWork operator*(double times, const ArithmeticWork& work);
ArithmeticWork Larger(const ArithmeticWork& a, const ArithmeticWork& b);  // of each the larger one

struct CertainWork {
  std::array<ArithmeticWork, 3> vector = {};  // by RealKind; what matrix units cannot do
  // Of the contraction that the expression is (core/expression/contraction_form.h), which matrix
  // units may do; else nothing. `contracted`: the type that its sums are declared in.
  ArithmeticWork contraction = {};
  RealKind contracted = RealKind::kSingle;
  double read_bytes = 0;
  double written_bytes = 0;

  ArithmeticWork& of(RealKind kind) { return vector[static_cast<size_t>(kind)]; }
  const ArithmeticWork& of(RealKind kind) const { return vector[static_cast<size_t>(kind)]; }
  double operations() const;
  double bytes() const { return read_bytes + written_bytes; }
};

// An operation of f or of the store function counts once for all points at which its operands are
// the same elements (DistinctOperands), as it can be hoisted and shared; not at all where only a
// selection, && or || may ask for it (NeededInstructions), and where no input is read, as compilers
// compute that. Of sums of products of three factors or more, which may be regrouped and factored
// out of sums (SplitContraction, FindContractionForm), the least of any order of the sums counts.
// Of results that are equal because dimensions may be exchanged (ExchangeableDimensions), one
// counts. Combining counts for sums, products, minima and maxima of values that are there at every
// point: one operation less than values. Bytes are those of elements that are certainly read or
// written, each once (InputBytes and OutputBytes, lower bounds).
CertainWork CertainWorkOf(const Expression& expression);

}  // namespace mdh
