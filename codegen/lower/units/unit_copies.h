// How a block gets a stage of an operand of a matrix unit into shared memory.
#pragma once

#include <string>

#include "codegen/lower/units/unit_context.h"

namespace mdh {

// Refers to `context`.
class UnitCopies {
 public:
  UnitCopies(UnitContext& context, bool is_a);

  const std::string& array() const { return array_; }
  bool is_across() const { return plan_.is_across; }
  int64_t stage_elements() const { return axis_.step * kUnitDepth; }
  void DeclareShared(Block* block) const;
  // Begins the copies of stage number `stage` of k to place `slot`: all threads of the block,
  // pieces of 16 bytes or, where memory is not aligned to these, as much at once as it is; single
  // elements are copied at once. Points that do not exist, or lie outside of the buffer, are 0.
  void Emit(const Index& stage, const Index& slot, Block* block);

 private:
  void EmitPiece(const Index& row, const Index& stage, int64_t at, const Index& to, Block* block);
  std::vector<Condition> Inside(const UnitContext::Point& point) const;

  UnitContext& context_;
  const UnitOperandPlan& plan_;
  const UnitAxis& axis_;  // m or n
  const Index first_;     // of the block's tile along it
  const Expression::AccessRef access_;
  const Buffer& buffer_;
  const std::string pointer_;
  const std::string array_;
};

}  // namespace mdh
