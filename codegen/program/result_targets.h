// Where the values of md_hom's results are while they are combined: in the outputs themselves, or
// in arrays of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/program/record_views.h"
#include "codegen/program/store_function.h"
#include "core/decomposition/nest_shape.h"
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

// Whether results are in such arrays until stages behind make outputs of them: where they have
// several slots (NestShape::Slots), are those of prefix sums, or, if `adds_to_targets`, loops of
// reductions run around what is added to them, and outputs are other values than those.
bool UsesResultArrays(const Expression& expression, int64_t slots, bool adds_to_targets);

// Whether outputs are such arrays, so that they can be kept there.
bool AreArrays(const std::vector<ResultTarget>& outputs, const std::vector<ResultTarget>& arrays);

// Elements of each of these arrays: the product of the sizes of dimensions that are not reduced.
int64_t ResultArrayElements(const Expression& expression);

// Results in such arrays, as the stages behind the computation find them.
struct ResultArrays {
  std::vector<std::string> index_names;  // of loop variables, one per dimension
  // One per result; scratch buffers of that name exist, or they are the outputs.
  std::vector<ResultTarget> arrays;
  std::vector<ResultTarget> outputs;  // what is stored
  StorePointers store = {};           // what the store function reads
  // Partial results of a reduction: array n starts at element n * ResultArrayElements.
  int64_t slots = 1;
  // Points of one part along each dimension: parts of a prefix sum are summed in parallel.
  std::vector<int64_t> part = {};
  bool is_combined = false;  // whether the stages up to now have combined the slots
  // Of the vectors that stages on CPUs compute with where elements are neighbours.
  int lanes = 1;
  bool may_reorder = false;  // whether they may add lanes up in another order than that of points
  // Elements of inputs that are the results, and are not in the arrays until prefix sums along the
  // first dimension are; none: results are in the arrays.
  std::vector<ResultTarget> terms = {};
};

// Scratch buffers for `slots` of each of `arrays`, one behind the other: one slot for each part of
// a reduction.
void AppendResultArrays(const Expression& expression, const std::vector<ResultTarget>& arrays,
                        int64_t slots, LoopProgram* program);

// The slot of what is at hand, by the numbers of the parts at its levels (NestShape::SlotPlaces).
Index SlotNumber(const NestShape& shape, const std::function<Index(int place)>& part);

// Declares "slot", and of each array the pointer NAME_slot to that slot, if there are several.
void DeclareSlot(const NestShape& shape, const std::vector<ResultTarget>& arrays,
                 const std::function<Index(int place)>& part, Block* block);

// Whether accumulators may start from the neutral element: exactly, it is neutral for all values
// only if it is that of a named operation.
bool StartsFromIdentity(const Expression& expression, NumericsPolicy numerics);

}  // namespace mdh
