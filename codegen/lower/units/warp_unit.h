// What warps that multiply by themselves do with a stage of the operands: fragments from shared
// memory to registers, and sums.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lower/units/unit_context.h"
#include "codegen/lower/units/unit_copies.h"
#include "core/device/matrix_memory.h"

namespace mdh {

// A stage is multiplied in steps of the instruction's k. Fragments of two steps are in registers:
// while one is multiplied, the next one is loaded. Refers to `context` and the copies.
class WarpUnit {
 public:
  WarpUnit(UnitContext& context, const UnitCopies& a, const UnitCopies& b);

  int64_t steps() const { return context_.depth() / instruction_.k; }
  // Declares fragments, sums, which are 0, and where fragments are in a stage.
  void Declare(Block* block);
  // Loads the fragments of a step of the stage at place `slot`.
  void Load(const Index& slot, int64_t step, Block* block) const;
  // Adds the products of a step whose fragments are loaded to the sums.
  void Multiply(int64_t step, Block* block) const;

 private:
  // An operand, of which the warp has `tiles` fragments along m or n as one: registers of the first
  // tile come first.
  struct Side {
    const UnitCopies* copies;
    MatrixAxis axis;
    FragmentLayout layout;
    int64_t points;  // of all tiles
    Index first;     // of the warp's points in the block's tile
    std::string array;
    // How matrices in shared memory become registers; nullopt: element by element.
    std::optional<MatrixMove> move;
    // Where each of the loads of a step is in the stage, step after step: a declared index and a
    // number.
    std::vector<std::pair<std::string, int64_t>> places = {};

    int64_t registers() const { return layout.Count(DigitPlace::kRegister); }
    int64_t loads() const { return move ? move->moves : registers(); }
    int64_t of_load() const { return move ? move->matrices : 1; }
  };
  Side SideOf(const UnitCopies& copies, bool is_a) const;
  void DeclarePlaces(Side* side, Block* block);
  Index PlaceOf(const Side& side, const FragmentLayout& lanes, const MatrixPoint& point,
                int64_t first_k) const;
  // Of what a lane has, or points to, first.
  Index OfLane(const FragmentLayout& layout, MatrixAxis axis) const;
  void LoadSide(const Side& side, const Index& slot, int64_t step, Block* block) const;
  Index FirstOfStep(const Side& side, int64_t step) const {
    return Index(step % 2 * side.registers());
  }

  UnitContext& context_;
  const MatrixInstruction& instruction_;
  Side a_, b_;
};

}  // namespace mdh
