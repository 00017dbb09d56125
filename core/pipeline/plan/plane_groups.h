// Joint groups that are chains of stencils, computed plane after plane.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/joint_halo.h"

namespace mdh {

// The threads of a block lie over a part and its halo, a thread on one place of every plane; planes
// follow each other along the first common dimension. Places are counted from 0 in all common
// dimensions, and everything that is computed lies so that stencils are about where they read.
struct PlaneShape {
  // Points of a step, or elements of a buffer: that at place 0 has the index `base`, counted from
  // the first point of the part; others than those of the window do not exist.
  struct Grid {
    std::vector<int64_t> base;       // per common dimension
    std::vector<StepWindow> window;  // of places
    // In turn t the plane t - lag is computed or read.
    int64_t lag = 0;
  };
  // What steps of the group read at constant distances: of a plane all is there as long as
  // somebody reads it.
  struct Kept {
    int buffer = -1;         // of the pipeline
    bool is_within = false;  // whether a step of the group writes it; else it is read from memory
    bool is_shared = false;  // whether a thread reads what lies on other places of a plane
    Grid grid = {};
    std::vector<int> place_of = {};  // per common dimension: which index of the buffer it is
  };
  std::vector<int64_t> places;  // per common dimension, but of the first one the turns
  std::vector<Grid> steps;      // per step of the group
  std::vector<Kept> kept;
  int64_t planes = 0;  // of each that are kept

  const Kept* KeptOf(int buffer) const;  // nullptr: it is read where it is
};

// By how many places an access of a step moves away from its own one, per common dimension. Expects
// that the buffer is kept.
std::vector<int64_t> DistancesOf(const JointGroup& group, const PlaneShape& shape, int step,
                                 const PlaneShape::Kept& kept, const Buffer& view, int access);

// Whether the parts of a valid group can be computed so:
//   - there are two or three common dimensions, and no step has others;
//   - buffers have scalar elements and no boundaries;
//   - what one step writes and another one reads has an index for each common dimension and no
//     others; some step reads such a buffer, or an input, at several places.
// What is read in another way, is read from memory where it is needed. Errors: FailedPrecondition,
// saying what is wrong.
Result<PlaneShape> PlaneShapeOf(const Pipeline& pipeline, const JointGroup& group);

}  // namespace mdh
