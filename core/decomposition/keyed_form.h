// Results by key: reductions in which every element counts for those results only whose key equals
// its own (histograms). What such an expression says, apart from how it is computed:
//   r[k] = COMBINE over e of ( key_of_element(e) == key_of_result(k) ? value(e) : identity )
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/expression/expression.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// Dimensions of more than one index, ascending: `elements` are reduced; key_of_element and values
// do not depend on `keys`; key_of_result depends on `keys` and `batch` only.
struct KeyedForm {
  std::vector<int> elements;
  std::vector<int> keys;
  std::vector<int> batch;
  ScalarType key_type;  // an integer
  // Both of the parameters of the expression's function.
  ScalarFunction element;  // gives key_of_element and one value per result
  ScalarFunction result;   // gives key_of_result
};

// Every result is a choice by one and the same equality of integers, which other conditions on the
// element may go along with, and which the function may say mirrored or negated; the alternative is
// the identity of the operator, a named one, by which the result is combined.
// Errors: InvalidArgument, saying what is otherwise.
Result<KeyedForm> FindKeyedForm(const Expression& expression);

// How blocks of threads share the work, and what each has in shared memory.
struct KeyedCut {
  int64_t batches;   // tables of their own
  int64_t elements;  // of every batch
  int64_t keys;      // idem
  int64_t tile;      // elements that the threads of a block have at once
  int64_t parts;     // blocks of every batch
  int slot_bits;     // log2 of the slots of a table, at most half of which are taken
  int64_t shared_bytes;

  int64_t slots() const { return int64_t{1} << slot_bits; }
};

// Expects positive parameters; tables with more keys than any memory has room for have fewer slots.
KeyedCut CutByKey(const Expression& expression, const KeyedForm& form,
                  const KeyedParameters& keyed);

// Cuts to try, with and without vectors: none with more tiles than there are elements for.
std::vector<KeyedParameters> UsefulCuts(const Expression& expression, const KeyedForm& form);

// Elements of the inputs that are one vector of 16 bytes: a run that moves well.
int RunOfVectors(const Expression& expression);

// The type of keys in a table: int32, or int64 of keys with more bytes.
ScalarType TableKeyType(ScalarType key_type);

}  // namespace mdh
