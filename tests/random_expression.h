// Random valid expressions and inputs for them: what property tests run over.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "core/expression/expression.h"
#include "core/expression/interpreter.h"

namespace mdh {

using Rng = std::mt19937_64;

struct RandomExpressionOptions {
  int max_rank = 5;
  int64_t max_points = 4096;  // product of the sizes
  int64_t max_buffer_elements = 1 << 16;
  int max_operations = 8;  // of f, before the ones that bound its results
  // Floating-point values are small integers throughout if the inputs are those of RandomInputs:
  // only operations that keep them so, and no sum that leaves the range in which its type is exact.
  // Whatever the order of a reduction, whether a*b+c is contracted or not: every correct kernel
  // gives the same bits. Conversions on storing may round, once.
  bool exact = true;
  // The same if inputs are those of RandomSpecialInputs: what is converted to an integer may be an
  // infinity.
  bool special_values = false;

  // What expressions may have besides.
  bool half_types = true;       // fp16, bf16, fp8e4m3 and fp8e5m2
  bool records = true;          // as inputs and outputs
  bool tables = true;           // in f
  bool indices = true;          // as parameters of f
  bool result_types = true;     // results that are combined in another type than they are stored in
  bool mixed_operators = true;  // one named operator per result
  bool prefix_sums = true;
  bool boundaries = true;  // inputs that are read outside of their extents
  bool layouts = true;     // strides that are not row-major and dense
  // One of so many expressions has outputs with elements that no index function reaches: strided,
  // diagonal, interleaved or interior ones, which may keep what is there; 0: only by chance.
  int unreached_one_in = 4;
  int empty_one_in = 0;  // one of so many has an empty dimension; 0: none
  int store_one_in = 4;  // one of so many has a store function; 0: none

  // Memory that the first inputs read, one each: types, extents and strides are taken from here.
  std::vector<Buffer> given_inputs = {};
};

// Rank 1 to max_rank; sizes small, often odd or prime; views permuted, strided, shifted, reversed,
// diagonal, 0-dimensional, with several accesses per buffer, with and without given extents; f over
// several types with 1 to 3 results (more with records); cc, pw and ps with named and custom
// operators, with and without identity, not commutative where one prefix sum is alone. The same
// generator state gives the same expression on every machine.
Expression RandomExpression(Rng& rng, const RandomExpressionOptions& options = {});

// Contents for all passed inputs: integers from -4 to 4 (0 to 8 for unsigned types), in any type.
// Padding of records is zero.
std::vector<BufferBytes> RandomInputs(Rng& rng, const Expression& expression);

// So many elements of this type, as those of RandomInputs.
BufferBytes RandomContents(Rng& rng, const ElementType& type, int64_t elements);

// The same, but in a quarter of the values of floating-point types nan, infinities and zeros of
// both signs; and subnormal and largest numbers where the expression only moves, compares and
// converts what it has (KeepsValues): the order of sums would matter, and whether a * b + c rounds
// once.
std::vector<BufferBytes> RandomSpecialInputs(Rng& rng, const Expression& expression);

// So many elements of this type, as those of RandomSpecialInputs; `keeps_values`: with subnormal
// and largest numbers.
BufferBytes RandomSpecialContents(Rng& rng, const ElementType& type, int64_t elements,
                                  bool keeps_values);

// Whether no operation on floating-point values gives others than its operands, but for their signs
// and conversions.
bool KeepsValues(const Expression& expression);

// A number in [0, bound), the same on every machine.
int64_t Below(Rng& rng, int64_t bound);

// In any order.
template <typename T>
void Shuffle(Rng& rng, std::vector<T>& elements) {
  for (size_t n = elements.size(); n > 1; --n) {
    std::swap(elements[n - 1], elements[Below(rng, static_cast<int64_t>(n))]);
  }
}

// One of the elements.
template <typename T>
const T& AnyOf(Rng& rng, const std::vector<T>& elements) {
  return elements[Below(rng, static_cast<int64_t>(elements.size()))];
}

}  // namespace mdh
