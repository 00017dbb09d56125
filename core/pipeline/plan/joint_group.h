// Steps of a pipeline that run together, part after part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace mdh {

// How a block of threads computes parts that are rows: the steps have, beside their common
// dimensions, one dimension at most, the same for all, along which they read, write or reduce. A
// group of threads computes a row, all of its steps, without memory between them but for what it
// keeps.
struct RowLayout {
  // Where elements of a row are that several steps use, inputs or results of steps.
  enum class Keep : uint8_t {
    kRegisters,  // every thread has its own
    kShared,     // idem, in shared memory: of long rows
    kNothing,    // nowhere: they are read and computed again
  };
  int64_t threads = 32;  // of a row, a power of two: neighbours have neighbouring elements
  int64_t rows = 1;      // that a block computes at the same time
  int64_t vector = 1;    // neighbouring elements of a thread
  Keep keep = Keep::kRegisters;

  friend bool operator==(const RowLayout&, const RowLayout&) = default;
};

// How a block of threads computes parts of chains of stencils plane after plane
// (core/pipeline/plan/plane_groups.h): its threads lie over a plane, read it once, and keep in
// registers, and show each other in shared memory, as many planes of every step as others need.
struct PlaneLayout {
  int64_t column = 1;    // neighbouring places of a thread along the last but one dimension
  int64_t resident = 0;  // blocks that a multiprocessor shall have room for; 0: as compilers like

  friend bool operator==(const PlaneLayout&, const PlaneLayout&) = default;
};

// Adjacent steps of a partition that run together: all of them on one part of the dimensions that
// they have in common, with halos where steps read at offsets, then on the next part. Parts are
// computed in parallel (blocks of a GPU,
// threads of a CPU); what a step of the group writes for another one lies in memory of the part.
struct JointGroup {
  int first = 0, last = 0;  // steps of the partition's pipeline
  // Per step of the group the numbers of its common dimensions, all in one order.
  std::vector<std::vector<int>> dimensions;
  // Points of a part per common dimension; they divide the dimension's extent.
  std::vector<int64_t> part;
  // Targets with blocks: parts of one point each are rows (core/pipeline/plan/row_groups.h).
  std::optional<RowLayout> rows = std::nullopt;
  // The same: parts are computed plane after plane; not together with rows.
  std::optional<PlaneLayout> planes = std::nullopt;

  // A streamed dimension: of every part the steps run on one chunk of it after the other, and what
  // they reduce along it is carried from chunk to chunk; scaled_sums.h says which sums can be. So
  // what is between the steps is as small as a chunk. Per step its number there, or -1: the step
  // runs once, behind all chunks. Empty: nothing is streamed.
  std::vector<int> streamed = {};
  int64_t chunk = 0;   // its points; they divide the extent of what one split has
  int64_t splits = 1;  // of the streamed dimension, which run in parallel and are then combined

  bool is_streamed() const { return !streamed.empty(); }
  // One nest for all steps, which have no decompositions of their own.
  bool has_own_nest() const { return rows.has_value() || planes.has_value(); }

  friend bool operator==(const JointGroup&, const JointGroup&) = default;
};

}  // namespace mdh
