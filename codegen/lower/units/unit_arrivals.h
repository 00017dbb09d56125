// How threads and the tensor copy engine tell each other what is in the places of stages.
#pragma once

#include <string>

#include "codegen/lower/units/unit_context.h"
#include "codegen/lower/units/unit_copies.h"

namespace mdh {

// Of the operands that the engine copies. Refers to `context`, `a` and `b`.
class UnitArrivals {
 public:
  UnitArrivals(UnitContext& context, const UnitCopies& a, const UnitCopies& b);

  // Maps of the operands, and barriers for every place, whose phases are the stages in it: at one
  // threads wait for copies; at the other a producer waits until groups have multiplied. All
  // threads of the block. Nothing where the engine copies nothing.
  void Declare(Block* block) const;
  // Begins the copies of stage `stage` of k to place `slot`; by one thread for all.
  void EmitCopies(const Index& stage, const Index& slot, Block* block) const;
  // Waits for them; `in_part` is the stage's number in the block's part of k, `turn` the number of
  // the block's tile.
  void AwaitCopies(const Index& in_part, const Index& slot, const Index& turn, Block* block) const;
  // Says that the calling group has multiplied what is in the place; and waits until all groups
  // have, before the stage is copied there: at once the first time.
  void EmitRelease(const Index& slot, Block* block) const;
  void AwaitRelease(const Index& in_part, const Index& slot, const Index& turn, Block* block) const;
  // Behind the producer's last copies: waits until all blocks of the cluster have multiplied what
  // is in its places, and arrive at its barriers no more. `place`: a name that counts these;
  // `stages`: how many the block's part of k has.
  void AwaitCluster(const std::string& place, const Index& stages, Block* block) const;

 private:
  const UnitPlan& plan() const { return context_.plan(); }
  Index PhaseOf(const Index& in_part, const Index& slot, const Index& turn) const;

  UnitContext& context_;
  const UnitCopies& a_;
  const UnitCopies& b_;
  const std::string arrived_, multiplied_;  // barriers
};

}  // namespace mdh
