// How a block gets the stages of an operand of a matrix unit into shared memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lower/units/unit_context.h"
#include "codegen/lower/units/unit_values.h"
#include "core/decomposition/unit_tensor.h"

namespace mdh {

// Refers to `context`. `of_a`: of B, the copies of A, which may be those of B, too.
class UnitCopies {
 public:
  UnitCopies(UnitContext& context, bool is_a, const UnitCopies* of_a = nullptr);

  // Whether its stages are those of A (UnitPlan::is_shared), which are all that is copied.
  bool is_shared() const { return !is_a_ && context_.plan().is_shared; }

  const std::string& array() const { return array_; }
  bool is_across() const { return plan_.is_across; }
  int64_t depth() const { return context_.depth(); }
  // Declares the operand `name` of multiplications by what is in a place, from so many elements on.
  void DeclareFor(const std::string& name, const Index& slot, const Index& from,
                  Block* block) const;
  // What multiplication number `step` along k takes of it, from its row number `first_row` on.
  UnitOperand OperandOf(int64_t step, const std::string& name, int64_t first_row) const;
  int64_t stage_elements() const { return plan_.rows * context_.depth(); }
  // So many bytes at least, if its stages have fewer.
  void DeclareShared(int64_t bytes, Block* block) const;
  // Whether it is copied to scratch memory first; the scratch buffer and the statements for that,
  // by all threads of a stage: pieces of 16 bytes, of which it gives the number.
  bool is_packed() const { return plan_.packed_row > 0; }
  bool is_packed_as_a() const { return !is_a_ && context_.plan().is_packed_once; }
  // Whether threads compute what they write to shared memory (UnitOperandPlan::is_computed).
  bool is_computed() const { return plan_.is_computed && !is_shared(); }
  // Whether the tensor copy engine copies it: declares what that knows of it, and begins the copies
  // of a stage by the calling thread, for all, which wait at the barrier for them.
  bool is_tensor() const { return plan_.is_tensor && !is_shared(); }
  ScalarType element() const {
    return is_a_ ? context_.plan().element_a() : context_.plan().element_b();
  }
  int64_t stage_bytes() const { return stage_elements() * context_.element_bytes(); }
  void DeclareMap(Block* block) const;
  void EmitTensor(const Index& stage, const Index& slot, const std::string& barriers,
                  Block* block) const;
  int64_t EmitPacking(LoopProgram* program, Block* block);
  // Declares, once the block's tile is known, where each piece that the thread copies is in memory:
  // pointers to what of it does not depend on k. Stages are copied in order, from number `first`
  // on.
  void DeclarePointers(const Index& first, Block* block);
  // Begins the copies of stage number `stage` of k to place `slot`: all threads of the block,
  // pieces of 16 bytes or, where memory is not aligned to these, as much at once as it is; single
  // elements are copied at once. Points that do not exist, or lie outside of the buffer, are 0.
  // What is computed has been loaded for that stage, and is written.
  void Emit(const Index& stage, const Index& slot, Block* block);
  // Loads to registers what the stage is computed of, if it is.
  void Load(const Index& stage, Block* block) const;

 private:
  // Neighbours that are copied at once.
  struct Piece {
    int64_t first_row;  // of those that all threads copy at once
    int64_t at;         // element of the thread's piece of a row
    std::string pointer;
    int64_t offset;                               // elements behind the pointer
    std::vector<UnitValues::Loaded> loaded = {};  // where it is computed
  };
  bool AdvancesWithStages() const { return step_.has_value(); }
  bool has_boundary() const { return buffer_.boundary.kind != Boundary::Kind::kNone; }
  Index RowOf(const Piece& piece) const { return Index::Variable(row_) + Index(piece.first_row); }
  Index InRow(const Piece& piece) const {
    return Index::Variable(in_row_) * own_elements_ + Index(piece.at);
  }
  Index Own(const Piece& piece) const;
  Index AlongK(const Piece& piece, const Index& stage) const;
  void FindPointer(const Index& base, Piece* piece, Block* block);
  void EmitPiece(const Piece& piece, const Index& stage, const Index& to, Block* block);
  std::vector<Condition> Exists(const Index& own, const Index& along_k) const;
  std::vector<Condition> Inside(const Index& own, const Index& along_k,
                                const UnitContext::Point& block_point, Block* block);
  bool IsNarrow() const;
  void TakeRowsBy(Block* block);
  void DeclareOwn(Index row, Index in_row, Block* block);
  IndexRanges Ranges() const {
    return {{row_, {0, rows_at_once_ - 1}}, {in_row_, {0, context_.depth() / own_elements_ - 1}}};
  }
  // Where the first of its elements is in shared memory.
  Index PlaceOf(const Piece& piece, const Index& slot) const;
  void OverComputed(const std::function<void(const Piece& piece, Block* block)>& emit,
                    Block* block) const;
  UnitValues::Neighbours NeighboursOf(const Piece& piece, const Index& stage) const;
  void Write(const Index& stage, const Index& slot, Block* block) const;
  std::string EmitSource(const Index& batch, const Index& row, const Index& in_row, Block* block);
  std::vector<std::string> EmitParts(const std::string& values, Block* block) const;
  // Points that there is something of along m or n, and along k: in a row of what is packed, zeros
  // behind the last one, too.
  int64_t OwnPoints() const {
    return is_packed() && plan_.is_across ? plan_.packed_points : axis_.points;
  }
  int64_t KPoints() const {
    return is_packed() && !plan_.is_across ? plan_.packed_points : context_.k().points;
  }
  std::optional<int64_t> StepAlongK() const;
  Index BaseOf(const Index& own, Block* block);

  struct Pointer {
    std::string name;
    Index base;
  };

  UnitContext& context_;
  const UnitOperandPlan& in_memory_;
  const bool is_a_;
  const UnitOperandPlan& plan_;
  const UnitAxis& axis_;  // m or n
  const Index first_;     // of the block's tile along it
  const Expression::AccessRef access_;
  const Buffer& buffer_;
  const SplitIndex offset_;  // of elements
  // From one element along k to the next; nullopt: it depends on where that is.
  const std::optional<int64_t> step_;
  const UnitValues values_;
  const UnitTensor tensor_;  // where the engine copies it
  const std::string input_;
  const std::string source_;  // the input, or scratch memory
  const std::string map_;     // of tensor_
  const std::string array_;
  // Neighbours that a thread copies one after the other: a piece, or as many as a copy moves; and
  // rows in which all threads together do so.
  int64_t own_elements_, rows_at_once_;
  // Indices of the thread's first row, of its neighbours of that, and of where these are in shared
  // memory: in rows so many further on, too, until all are swizzled as the first.
  std::string row_, in_row_;
  std::vector<std::string> places_;
  std::vector<Piece> pieces_;
  std::vector<Pointer> pointers_;
};

// The stage that copies operands whose rows begin anywhere to where they do not, if any are packed.
void AppendPacking(const std::vector<UnitCopies*>& operands, LoopProgram* program);

}  // namespace mdh
