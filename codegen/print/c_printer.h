// Prints loop programs in the languages of the C family.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "codegen/print/c_index.h"
#include "codegen/print/c_prelude.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// One class knows indentation and spelling; what a translation unit's prelude must define collects
// in `prelude`, which must outlive the printer and says the language. Expects only forms that the
// language has: blocks of threads not in C, vectors that are computed with in C only.
//
// Printing a value defines what it needs, so operands are printed in statements of their own: in
// arguments of one call, whoever compiled the daemon would decide on the order of definitions.
class CPrinter {
 public:
  // wide_indices: whether an index might not fit into an int. Where the language has one type for
  // both, it makes no difference.
  explicit CPrinter(CPrelude& prelude, bool wide_indices = true)
      : prelude_(prelude),
        dialect_(prelude.dialect()),
        index_type_(wide_indices ? dialect_.wide_index : dialect_.narrow_index) {}

  // From here on there is one thread: what it shares with others is all its own.
  void PrintForOneThread() { has_one_thread_ = true; }
  // Shared arrays from here on lie at these byte offsets of the array of chars `mdh_shared`.
  void PlaceSharedArrays(std::map<std::string, int64_t> offsets) {
    shared_offsets_ = std::move(offsets);
  }

  std::string Print(const Function& function);
  // Statements indented by `depth` levels.
  std::string Print(const Block& block, int depth);
  std::string Print(const LoopValue& value) { return PrintValue(*value, 0); }

 private:
  void PrintBlock(const Block& block, int depth, std::string& out);
  void PrintStatement(const Statement& statement, int depth, std::string& out);
  std::string PrintAssign(const Assign& statement);
  std::string PrintStore(const StoreElements& statement);
  std::string PrintAdd(const AddElements& statement);
  std::string PrintCombine(const CombineElement& statement);
  std::string PrintKeyArguments(const std::string& table, int slot_bits, const LoopValue& first,
                                const LoopValue& key);
  void RequireAtomicCombinations() const;
  void RequireAsyncCopies() const;
  std::string PrintAsyncCopy(const AsyncCopy& statement);
  std::string PrintPointer(const DeclarePointer& statement);
  std::string PrintView(const DeclareView& statement);
  std::string PrintArray(const DeclareArray& statement);
  std::string PrintFor(const For& statement);
  std::string PrintShareLoop(const ShareLoop& statement);
  void PrintIf(const If& statement, int depth, std::string& out);
  std::string ParameterList(const std::vector<Parameter>& parameters);
  std::string PrintCondition(const Condition& condition);
  std::string PrintConditions(const std::vector<Condition>& conditions);

  // c_printer_units.cc
  std::string PrintOperand(const DeclareOperand& statement);
  std::string PrintMultiply(const GroupMultiply& statement);
  std::string PrintMeeting(const Barrier& statement);
  std::string PrintStartBarriers(const StartBarriers& statement);
  std::string PrintArrive(const ArriveAtBarrier& statement);
  std::string PrintAwaitBarrier(const AwaitBarrier& statement);
  std::string PrintTensorCopy(const TensorCopy& statement);
  std::string PrintStoreMatrices(const StoreMatrices& statement);
  std::string PrintLoadMatrices(const LoadMatrices& statement);
  std::string PrintRoundToTf32(const RoundToTf32& statement);
  std::string PrintAwaitSums(const AwaitSums& statement);
  std::string PrintWarpMultiply(const WarpMultiply& statement);
  // The call of a function that is this instruction.
  std::string UnitFunction(const std::string& instruction);

  // c_printer_values.cc
  std::string PrintValue(const ValueNode& node, int precedence);
  std::string PrintOperation(const ValueNode& node, const LoopOperation& operation, int precedence);
  std::optional<LoopOperation> AsTestForNan(const LoopOperation& comparison) const;
  std::string PrintSelectByComparison(const ValueNode& node, const LoopOperation& select);
  std::string PrintNativeOperation(const ValueNode& node, const LoopOperation& operation,
                                   int precedence);
  std::string PrintLane(const Lane& lane);
  std::string PrintGroupHalves(const GroupHalves& halves);
  static int LanesBefore(const JoinLanes& join);
  std::string PrintJoinLanes(const ValueNode& node, const JoinLanes& join);
  // Elements from `offset` on, an expression of indices.
  std::string PrintElements(LoopValueType type, const std::string& pointer,
                            const std::string& offset, int64_t stride, int off = 0);
  std::string PrintLoadInside(const ValueNode& node, const LoadInside& load);
  std::string PrintSelectInside(LoopValueType type, const LoadInside& load);
  std::string PrintLaneInside(const LoadInside& load, int lane);
  std::string PrintLanesInside(const ValueNode& node, const LoadInside& load, size_t along);
  std::string PrintIndexValue(const ValueNode& node, const IndexValue& value);
  bool StreamsInPlace(const StoreElements& s) const;
  // `direction`: as PTX calls it.
  std::string PrintShuffle(absl::string_view direction, const ValueNode& value, int distance,
                           int width);
  // The value as an operand of an operation with that many lanes.
  std::string Widened(const ValueNode& node, int lanes, int precedence);

  std::string PrintIndex(const Index& index) { return CIndex(index, dialect_); }
  std::string Declaration(LoopValueType type);
  // "p + 4", or "&p[4]", which adds up the offset before it becomes as wide as the pointer.
  std::string Address(const std::string& pointer, const Index& offset) {
    return Address(pointer, PrintPlace(pointer, offset));
  }
  std::string Address(const std::string& pointer, const std::string& offset) const;
  // The index of an element. NVIDIA's compiler (of CUDA 13.0) splits constants off, takes &a[30] +
  // x for no element of an array with fewer, whatever x is, and leaves out what is stored there. Of
  // private arrays such constants are behind a mask, which changes no index that is inside.
  std::string PrintPlace(const std::string& pointer, const Index& index);
  AddressSpace Space(const std::string& pointer) const;
  int Alignment(const std::string& pointer) const;
  // Whether lanes that follow each other at `pointer` are moved by an assignment through a pointer
  // to the vector's type.
  bool MovesAsVector(LoopValueType type, int64_t stride, const std::string& pointer) const;

  CPrelude& prelude_;
  const CDialect& dialect_;
  const absl::string_view index_type_;
  bool has_one_thread_ = false;
  bool is_behind_loop_ = false;  // a statement of the same loop's body, or of the function
  std::map<std::string, int64_t> shared_offsets_;
  std::map<std::string, AddressSpace> spaces_;       // of pointers to other than global memory
  std::map<std::string, int> alignments_;            // of pointers, bytes; others: 16
  std::map<std::string, int64_t> private_elements_;  // of private arrays of threads of blocks
};

// The operator of a native operation (IsNativeOperator), and its precedence: larger binds tighter.
absl::string_view COperator(ScalarOp op);
int CPrecedence(ScalarOp op);

// A loop program with a form that the language does not have: a bug of whoever built it. Aborts.
[[noreturn]] void NotInLanguage(const CDialect& dialect, const char* form);

}  // namespace mdh
