// Random contractions (core/expression/contraction_form.h), computations that nearly are some, and
// sums of products of more factors.
#pragma once

#include "core/expression/expression.h"
#include "core/pipeline/pipeline.h"
#include "tests/random_expression.h"

namespace mdh {

// What makes a computation none.
enum class ContractionDefect : uint8_t {
  kNone,
  kMaximum,     // combined by max
  kSum,         // operands are added
  kOneSide,     // B does not depend on a reduced dimension
  kNoN,         // B depends on no kept dimension but batches
  kRounded,     // products are rounded, or cut off, before they are added up
  kTwoResults,  // of f
};

struct RandomContractionOptions {
  int64_t max_points = 4096;
  bool computed_operands = true;  // now and then they are no plain loads
  bool factors = true;            // now and then some depend on kept dimensions only
  bool boundaries = true;
  bool layouts = true;
  ContractionDefect defect = ContractionDefect::kNone;
};

// Sums of products along one or more reduced dimensions, with several kept ones of A, of B and of
// both, in any order, transposed, strided, reversed, as convolutions (an index of a kept and a
// reduced dimension), with two buffers for B (MTTKRP), with one for both (Gram matrices); of fp64,
// fp32, halves that are widened or not, eight-bit floating-point numbers and integers that are. All
// values are exact with the inputs of RandomInputs, whatever the order. FindContractionForm accepts
// it, or, with a defect, does not.
Expression RandomContraction(Rng& rng, const RandomContractionOptions& options = {});

struct RandomProductOptions {
  int most_factors = 6;
  int64_t most_points = 3125;
  // Of all buffers; up to three factors and 4096 points are exact in fp32 with the inputs of
  // RandomInputs, others in fp64 and, as they wrap, in integers.
  const char* type = "int32";
};

// Three factors or more over two to five dimensions of few points, which are kept or summed over:
// vectors, matrices, tensors and scalars, some with two dimensions in an index, some batched, some
// two accesses of one buffer, some computed of what is read. The only step of the pipeline.
Pipeline RandomProduct(Rng& rng, const RandomProductOptions& options = {});

}  // namespace mdh
