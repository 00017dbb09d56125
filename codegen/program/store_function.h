// The store function of md_hom (an epilogue) as statements of a loop program: applied where results
// are final, whatever they were combined in.
#pragma once

#include <string>
#include <vector>

#include "codegen/program/index.h"
#include "codegen/program/loop_program.h"
#include "codegen/program/record_views.h"
#include "codegen/program/scalar_code.h"
#include "core/expression/expression.h"

namespace mdh {

// The point whose results are stored, or several in the lanes of vectors.
struct StoredPoint {
  std::vector<Index> at;  // per dimension, of lane 0; those of reduced dimensions are not used
  int lanes = 1;
  std::vector<int64_t> lane_steps = {};  // per dimension, from one lane to the next; empty: 0
  int off = 0;                           // last lanes that are of no point
};

// Pointers to what the store function reads, as elements of the fields' types: one per access and
// field, in the order of its parameters. None without a store function.
using StorePointers = std::vector<std::string>;

// `inputs`: what the program calls the passed inputs.
StorePointers PointersOfStore(const Expression& expression, const std::vector<std::string>& inputs,
                              RecordViews& views);

// What is stored of the results of f at a point, one value per access and field of the outputs: the
// results themselves if there is no store function. All values have the point's lanes.
std::vector<LoopValue> EmitStoreFunction(const Expression& expression,
                                         const StorePointers& pointers, const StoredPoint& point,
                                         const std::vector<LoopValue>& results,
                                         NameAllocator& names, Block& block);

}  // namespace mdh
