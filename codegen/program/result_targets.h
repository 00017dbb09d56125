// Where the values of md_hom's results are while they are combined: in the outputs themselves, or
// in arrays of their own.
#pragma once

#include <string>
#include <vector>

#include "codegen/program/record_views.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// One result of f, or one value that is stored: element `offset` (of the MDA indices; reduced
// dimensions have coefficient 0) of `pointer`, whose elements have type `type`.
struct ResultTarget {
  std::string pointer;  // its name
  ScalarType type;
  AffineIndex offset;
};

// What variables that hold result r of f are called: as its output, of which `outputs` has the
// names, or, where a store function makes outputs of results, as f calls it.
std::string ResultName(const Expression& expression, const std::vector<std::string>& outputs,
                       int r);

// The outputs, one per access and field (Expression::stored). `names`: of their pointers.
std::vector<ResultTarget> OutputTargets(const Expression& expression,
                                        const std::vector<std::string>& names, RecordViews& views);

// Dense row-major arrays over the dimensions that are not reduced, in the types of f's results: for
// prefix sums, for partial results of a reduction, and for results that are not stored as they are
// combined (Expression::finishes_results). `outputs`: names of the outputs, from which those of the
// arrays are made.
std::vector<ResultTarget> ArrayTargets(const Expression& expression,
                                       const std::vector<std::string>& outputs);

// Elements of each of these arrays: the product of the sizes of dimensions that are not reduced.
int64_t ResultArrayElements(const Expression& expression);

// Scratch buffers for `slots` of each of `arrays`, one behind the other: one slot for each part of
// a reduction.
void AppendResultArrays(const Expression& expression, const std::vector<ResultTarget>& arrays,
                        int64_t slots, LoopProgram* program);

// Declares "slot", and of each array the pointer NAME_slot to that slot.
void DeclareSlot(const Expression& expression, const std::vector<ResultTarget>& arrays,
                 const Index& slot, Block* block);

// Whether accumulators may start from the neutral element: exactly, it is neutral for all values
// only if it is that of a named operation.
bool StartsFromIdentity(const Expression& expression, NumericsPolicy numerics);

}  // namespace mdh
