// Contractions on matrix units of groups of threads or of warps (UnitParameters): what a
// configuration makes of one. Blocks have tiles of m by n; their part of k is run through in stages
// of 128 bytes, which wait in shared memory for the unit; the sums of a tile are in registers.
//
// Operands of fp32 (Products) become what the unit takes where they are packed, by a stage of its
// own: fp32 that is rounded to tf32; or parts of bf16. A product of parts is a product along k as
// any other, so that the unit finds all of them one after the other, as one k of so many sections:
// rows of A are a1 a0 a0, those of B b0 b1 b0, and a kernel for bf16 adds up a1 b0 + a0 b1 + a0 b0.
// Warps may also round to tf32 what they have in registers.
//
// Operands that are not in memory as units take them (UnitOperandPlan::is_made) are computed where
// they are packed, or by the threads that write them to shared memory.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/matrix_instruction.h"
#include "core/expression/contraction_form.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

inline constexpr int64_t kUnitRowBytes = 128;   // of a stage, along k or across it
inline constexpr int64_t kUnitPieceBytes = 16;  // that lie together in shared memory
inline constexpr int kFewestCopiedBytes = 4;    // that asynchronous copies move
inline constexpr int64_t kUnitRowPieces = kUnitRowBytes / kUnitPieceBytes;
// Of groups.
inline constexpr int64_t kUnitRows = 64;  // of a multiplication, along m
inline constexpr int64_t kUnitMostColumns = 256;
inline constexpr int64_t kUnitThreads = 128;
// Of results of 16 bits, in shared memory: bytes, and those of a row there.
inline constexpr int64_t kUnitElementBytes = 2;
inline constexpr int64_t kUnitDepth = kUnitRowBytes / kUnitElementBytes;
// Of warps: columns of a multiplication.
inline constexpr int64_t kWarpColumns = 8;
inline constexpr int kMostUnitGroups = 4;
inline constexpr int kFewestUnitStages = 2;  // one is multiplied, one is copied
inline constexpr int kMostUnitStages = 8;
inline constexpr int kMostUnitParts = 256;

// How a block gets its part of an operand.
struct UnitOperandPlan {
  ScalarType held;     // its type, before it is converted to what the unit takes (Products)
  int parameter = -1;  // of f: what is loaded, of several that with the most neighbours
  bool is_across =
      false;          // memory is contiguous along m or n, and so are the rows in shared memory
  int width = 1;      // neighbours that are copied at once, at most 16 bytes
  int row_lines = 1;  // in which a row of a stage is, 128 bytes of memory each
  // It is not in memory as it is: computed of what is loaded, of another type, in records, or with
  // a boundary that is not 0.
  bool is_made = false;
  int64_t loaded_bytes = 0;  // for an element of it, of all parameters
  // Threads compute its elements and write them to shared memory, in rows as above.
  bool is_computed = false;
  bool is_tensor = false;  // the tensor copy engine copies it (UnitParameters::tensors)
  // It is copied to scratch memory first: rows along that way, one behind the other so many
  // elements on, which have no more lines of a cache than they need. 0: it is not.
  int64_t packed_row = 0;
  // Of a stage, in shared memory: those of a tile, or, across k, of as many blocks of 128 bytes as
  // it takes.
  int64_t rows = 0;
  int64_t packed_points = 0;  // of a row that are there, zeros behind the last point included
};

struct UnitPlan {
  ContractionForm form;
  Expression computed;  // with the form's factor in the store function
  ScalarType sum;       // in which the unit adds up
  Products products = Products::kExact;
  UnitOperandPlan a_in_memory, b_in_memory;
  UnitOperandPlan a, b;    // as they are cut: one of these, or packed
  bool is_square = false;  // both are the same elements in memory (IsSquareOfOne)
  // As they are cut: B is what A is, packed; or, of a block that has all results, in shared memory.
  bool is_packed_once = false, is_shared = false;
  int64_t batches = 1, m = 1, n = 1, k = 1;  // points; k: of all sections
  int64_t section_k = 1;  // of one, of which those behind the points along k there are are zero
  // Of a batch: as many as whole clusters have, the last of which may have no points.
  int64_t tiles_m = 1, tiles_n = 1;
  int64_t stages_k = 1;     // of all parts
  int64_t part_stages = 1;  // of one part, the last one perhaps fewer
  int64_t places = 1;       // that stages have in shared memory, one after the other
  // Stages whose copies begin before the first one is multiplied, and then as many ahead of it.
  int64_t ahead = 1;
  // Whether multiplications of one stage run on while the copies of a later one begin.
  bool is_behind = false;
  // Whether copies wait for the multiplications of a stage, and go to its place.
  bool is_refilled = false;
  // Blocks of a cluster that have the sums of a tile in common: each adds up, and stores, those of
  // as many columns.
  int64_t sharers = 1;
  bool leaves_parts = false;  // sums of parts are in scratch memory, for a stage that adds them up
  bool is_staged = false;     // results go through shared memory, as elements of 16 bits
  int staged_columns = 0;     // so many at once
  int result_width = 1;       // neighbours along n that are stored at once

  // Whether threads copy an operand, or compute it.
  bool has_copying_threads() const { return !a.is_tensor || !b.is_tensor; }
  bool has_tensors() const { return a.is_tensor || b.is_tensor; }
  int64_t larger_rows() const { return a.rows > b.rows ? a.rows : b.rows; }
  // What the unit takes: types of the same size.
  ScalarType element_a() const { return has_parts() ? ScalarType::kBfloat16 : a.held; }
  ScalarType element_b() const { return has_parts() ? ScalarType::kBfloat16 : b.held; }
  int64_t element_bytes() const { return SizeBytes(element_a()); }
  int64_t depth() const { return kUnitRowBytes / element_bytes(); }    // points of a stage, along k
  int64_t piece() const { return kUnitPieceBytes / element_bytes(); }  // elements
  bool is_converted() const { return a.held == ScalarType::kFloat32; }
  bool has_parts() const { return PartsOf(products) > 1; }
  // Sums of the last section are added in registers every so many stages, and rounded there: the
  // unit cuts off what does not fit. 0: they are not. In the others that is below the last place.
  int64_t promoted_stages() const {
    return products == Products::kBf16x6 ? 8
           : products == Products::kFp8  ? kKeptProducts / depth()
                                         : 0;
  }
  // The first stage with points of the last section.
  int64_t first_promoted() const { return (k - section_k) / depth(); }
  // Elements of a packed operand: of all batches.
  int64_t packed_elements(bool is_a) const {
    if (!is_a && is_packed_once) return 0;
    const UnitOperandPlan& operand = is_a ? a : b;
    return batches * (operand.is_across ? k : is_a ? m : n) * operand.packed_row;
  }
  // Tiles, of each part of k.
  int64_t blocks(const UnitParameters& unit) const {
    return batches * tiles_m * tiles_n * unit.parts;
  }
  // Blocks of the grid.
  int64_t launched(const UnitParameters& unit) const {
    const int64_t clusters = blocks(unit) / unit.cluster();
    return (clusters + unit.turns - 1) / unit.turns * unit.cluster();
  }
};

// Registers of a thread of a producer that is a group, as few as it can have, and of groups beside
// one.
inline constexpr int64_t kProducerRegisters = 24;
int64_t UnitGroupRegisters(const UnitParameters& unit);
// Sums of a thread.
inline int64_t UnitSums(const UnitParameters& unit) {
  return int64_t{unit.rows} * unit.columns / unit.threads();
}
// Registers of a thread for what the unit has in them: sums; what a stage is computed of; of warps
// two steps of operands, too.
int64_t UnitRegisters(const UnitParameters& unit, const UnitPlan& plan);

// Elements of 16 bytes that neighbours along dimension d load at once of a parameter: of an input
// with a boundary, they are all inside or all outside.
int UnitLoadWidth(const Expression& expression, int parameter, int d);

// What does not depend on how the contraction is cut. Errors: InvalidArgument, naming what keeps
// the expression from the unit.
Result<UnitPlan> PlanUnit(const Expression& expression,
                          NumericsPolicy numerics = NumericsPolicy::kReassociate);
// Cuts it. Why it cannot be cut so, also by the limits of the device, of whose multiprocessors each
// shall have room for so many blocks (BlockChoices); empty: it can.
std::string CutForUnit(const UnitParameters& unit, const DeviceDescription& device,
                       const BlockChoices& choices, UnitPlan* plan);
// The same for parameters that are valid.
UnitPlan CutForUnit(const UnitParameters& unit, CombineBlocks combine, UnitPlan plan);

}  // namespace mdh
