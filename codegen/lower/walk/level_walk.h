// The walk over the levels of a nest (paper, Section 3 and appendix E), which both lowerings do:
// cores have parts, memory layers are loops, and inside of all of them is what an emitter says: a
// point (codegen/lower/nest_program.h) or a tile of results in registers
// (codegen/lower/tiles/build_loop_program.h). Stages behind finish results that are in arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/result_targets.h"
#include "core/decomposition/nest_shape.h"

namespace mdh {

// Emitters derive from it. They know levels by their places in the shape's order, outermost first;
// place shape().count() is inside of all.
class LevelWalk {
 public:
  LevelWalk(const LevelWalk&) = delete;
  LevelWalk& operator=(const LevelWalk&) = delete;
  virtual ~LevelWalk() = default;

  // Once: stages before the computation, the computation, stages behind.
  LoopProgram Build();

 protected:
  // Refers to `shape`.
  explicit LevelWalk(const NestShape& shape) : shape_(shape) {}

  const NestShape& shape() const { return shape_; }
  const Expression& expression() const { return shape_.expression(); }

  // ---- Stages ----

  // Appends those before the computation to the program, and scratch memory.
  virtual void Prepare() = 0;
  // Whether there is a computation: stages behind may do all of it.
  virtual bool Computes() const { return true; }
  // Whether results are in arrays of their own; these, without slots and parts.
  virtual bool UsesArrays() const = 0;
  virtual ResultArrays Arrays() = 0;
  // Appends these arrays, and the stages that make outputs of them.
  virtual void Finish(const ResultArrays& arrays) = 0;
  // Appends what stands behind all other stages.
  virtual void Complete() {}
  // Pointers to fields of records, of which the program declares what it uses.
  virtual Block Views() = 0;

  // ---- The computation ----

  // The stage in which all cores compute their parts by `part`.
  virtual Stage Distribute(Block part);
  // The thread's share of so many parts, each of which `part` computes as number "part" of them.
  virtual Block ShareParts(int64_t parts, Block part);
  // Declares which parts of the core levels those at hand are.
  virtual void DeclareParts(Block* block) = 0;
  // Declares where their results go (DeclareSlot).
  virtual void DeclareSlots(Block* block) = 0;
  // All levels of a core's part.
  virtual void EmitPart(Block* block) { EmitLevel(0, block); }

  // What stands in front of the level: copies, accumulators of results.
  virtual void Enter(int n, Block* block) = 0;
  // The level's loop, around EmitLevel(n + 1) for parts of each kind.
  virtual bool HasLoop(int n) const = 0;
  virtual void EmitLoop(int n, Block* block) = 0;
  virtual void EmitInnermost(Block* block) = 0;
  // What stands behind the level.
  virtual void Leave(int n, Block* block) = 0;

  // The level at this place, and all inside of it.
  void EmitLevel(int n, Block* block);

  // The core levels that have several parts; numbers of parts count those of the last one fastest.
  std::vector<int> CorePlaces() const;
  int64_t CoreParts() const;

  LoopProgram program_;

 private:
  const NestShape& shape_;
};

}  // namespace mdh
