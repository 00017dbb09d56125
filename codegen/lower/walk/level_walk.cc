#include "codegen/lower/walk/level_walk.h"

#include <utility>

#include "codegen/program/record_views.h"

namespace mdh {

LoopProgram LevelWalk::Build() {
  Prepare();
  if (Computes()) {
    Block part;
    DeclareParts(&part);
    DeclareSlots(&part);
    EmitPart(&part);
    program_.stages.push_back(Distribute(std::move(part)));
  }
  if (UsesArrays()) {
    ResultArrays arrays = Arrays();
    arrays.slots = shape_.Slots();
    for (int d = 0; d < expression().rank(); ++d) arrays.part.push_back(shape_.CorePart(d));
    Finish(arrays);
  }
  Complete();
  DeclareUsed(Views(), &program_);
  return std::move(program_);
}

Stage LevelWalk::Distribute(Block part) {
  const int64_t parts = CoreParts();
  return {"Compute, each thread its share of the parts.",
          parts == 1 ? Block{ByFirstThread(std::move(part))} : ShareParts(parts, std::move(part))};
}

Block LevelWalk::ShareParts(int64_t parts, Block part) {
  return {{ShareLoop{"part", parts, ShareBlock(std::move(part))}}};
}

void LevelWalk::EmitLevel(int n, Block* block) {
  Enter(n, block);
  if (n == shape_.count()) {
    EmitInnermost(block);
  } else if (HasLoop(n)) {
    EmitLoop(n, block);
  } else {
    EmitLevel(n + 1, block);
  }
  Leave(n, block);
}

std::vector<int> LevelWalk::CorePlaces() const {
  std::vector<int> places;
  for (int n = 0; n < shape_.count(); ++n) {
    if (shape_.is_core(n) && shape_.levels()[n].parts > 1) places.push_back(n);
  }
  return places;
}

int64_t LevelWalk::CoreParts() const {
  int64_t parts = 1;
  for (const int n : CorePlaces()) parts *= shape_.levels()[n].parts;
  return parts;
}

}  // namespace mdh
