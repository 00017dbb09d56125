// Random views: buffers, their index functions, extents, layouts and boundaries.
#pragma once

#include <string>
#include <vector>

#include "core/expression/expression.h"
#include "tests/random_expression.h"

namespace mdh {

// With extents that follow from its accesses.
Buffer RandomInput(Rng& rng, const RandomExpressionOptions& options,
                   const std::vector<Dimension>& dimensions, std::string name);

// An input that reads this memory: mostly all of it, index by index; else somehow, with a boundary
// where it leaves it.
Buffer GivenInput(Rng& rng, const std::vector<Dimension>& dimensions, const Buffer& memory,
                  std::string name);

// Whether an output shall have elements that no index function reaches.
enum class Reach { kMostly, kInPart };

// Appends index functions that write every element once, or, in part, now and then one twice.
void GiveAccesses(Rng& rng, const std::vector<Dimension>& dimensions,
                  const std::vector<CombineOperator>& operators, int accesses, Reach reach,
                  Buffer* output);

// Sometimes gives the extents, with room to spare or with a boundary that accesses leave, and
// strides, but for given inputs; outputs that are reached in part may keep the rest. `checked`: the
// same buffers with the extents they need.
void RefineInputs(Rng& rng, const RandomExpressionOptions& options,
                  const std::vector<Buffer>& checked, std::vector<Buffer>* buffers);
void RefineOutputs(Rng& rng, const RandomExpressionOptions& options,
                   const std::vector<Buffer>& checked, Reach reach, std::vector<Buffer>* buffers);

}  // namespace mdh
