// Contractions: sums of products of two operands, whatever these are made of, which is what matrix
// units compute. What such an expression says, apart from how it is computed:
//   r[b,m,n] = factor(b,m,n) * SUM over k of A(b,m,k) * B(b,k,n)
// Matrix products, convolutions, tensor contractions and MTTKRP are one case: every one of b, m, n
// and k stands for several dimensions, which run as one, and the elements of an operand are where
//   address(m,k) = alpha(m) + beta(k)
// says, as all index functions are affine. Nothing is transposed or laid out anew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// A or B: a function of what is read.
struct ContractionOperand {
  // Takes all parameters of the expression's function and reads `parameters` of them, ascending.
  // Its only result is of the narrowest type that has all its values: fp16 of fp32(a). Those of
  // integers may be equal modulo 2^bits of the products' type only: int8 of uint32(a).
  ScalarFunction function;
  std::vector<int> parameters = {};
  // The parameter that the operand is, as it was read; -1: it is computed.
  int loaded = -1;
  // The dimension along which neighbours are neighbours in memory (of operands that are loaded and
  // have one); -1.
  int contiguous = -1;

  ScalarType type() const { return function.results()[0].type; }
};

struct ContractionForm {
  // Dimensions of more than one index, by what depends on them; outermost first, so that composite
  // indices are mixed-radix numbers whose last digit varies fastest.
  std::vector<int> batch = {};  // kept: both operands, or neither. In the order of the first output
  std::vector<int> m = {};      // kept: only A. The strides of A descend
  std::vector<int> n = {};  // kept: only B, whose strides descend. The first output is contiguous
                            // along one of these rather than along one of m
  std::vector<int> k = {};  // reduced: both operands. The strides of that operand descend which is
                            // contiguous along one of these, of A if both are or none is
  ContractionOperand a, b;
  // What a sum is multiplied with, of the type of the products: what does not depend on reduced
  // dimensions. It is factored out of the sum (core/expression/store_factor.h).
  std::optional<ScalarFunction> factor = std::nullopt;
  ScalarType product = ScalarType::kFloat32;   // in which f multiplies
  ScalarType combined = ScalarType::kFloat32;  // in which it says that sums are combined
};

// f has one result, a product (of negated and divided factors, too) that + combines; two of its
// factors, or groups of them, share all reduced dimensions, and each has a kept one of its own. Of
// several ways to group them that with the fewest points of batches is taken. Widening conversions
// of operands are left to the unit. Sums and products are re-associated, and factors are taken out
// of sums, as SplitContraction (core/pipeline) does, too: of floating-point types that
// needs NumericsPolicy::kReassociate; integers are exact.
// Errors: InvalidArgument, saying what is otherwise.
Result<ContractionForm> FindContractionForm(const Expression& expression);

// Whether both operands are the same elements of memory, n's being those of A along m (Gram
// matrices): `parameter_a` and `parameter_b` are what they are.
bool IsSquareOfOne(const Expression& expression, const ContractionForm& form, int parameter_a,
                   int parameter_b);

// alpha and beta: a sum along dimensions that are kept, with the constant, and along those that are
// reduced. For offsets of elements (Buffer::Linearized) and for single indices of buffers.
struct SplitIndex {
  AffineIndex kept;
  AffineIndex reduced;
};
SplitIndex Split(const Expression& expression, const AffineIndex& index);

// Most neighbours along dimension d, a power of two up to `most`, of which the first is at a
// multiple of their number in memory wherever they are taken: of elements at `offset`.
int NeighboursAlong(const Expression& expression, const AffineIndex& offset, int d, int most);

// Whether all results of the function are values of a floating-point type: of conversions of such
// values, maxima, choices among them and the like. It may say no where they are.
bool HasAllValues(ScalarType type, const ScalarFunction& function);

// "batch b of 16; m i of 10; n j of 500; k k of 64; A fp16 along k; B fp16 along j; sums in fp32",
// and whether operands are computed and there is a factor.
std::string ToText(const Expression& expression, const ContractionForm& form);

}  // namespace mdh
