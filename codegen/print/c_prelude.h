// Collects what a translation unit's prelude must define: vector types, and operations that the
// language lacks or means otherwise than core/scalar/scalar_function.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/print/c_dialect.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// Collects what a translation unit's prelude must define, and defines it.
class CPrelude {
 public:
  // `may_round_otherwise`: exp and the like of vectors need not have the bits of those of scalars.
  explicit CPrelude(const CDialect& dialect = GnuC(), bool may_round_otherwise = false)
      : dialect_(dialect), may_round_otherwise_(may_round_otherwise) {}
  const CDialect& dialect() const { return dialect_; }

  // Names of vector types; remembers to define them.
  std::string VectorType(LoopValueType type);
  // Name of the function for `op` with result `type` on operands of type `operand`; remembers to
  // define it and everything that it needs.
  std::string OperationFunction(ScalarOp op, LoopValueType type, LoopValueType operand);
  // The same behind a loop: functions that are computed in place are called instead, as they would
  // take the registers of what the loop adds up.
  std::string OperationFunctionApart(ScalarOp op, LoopValueType type, LoopValueType operand);
  // (a, b, x, y): lanes of x where those of a and b compare so, else of y. The masks of a
  // comparison of vectors become bools and masks again at a great cost. Expects CanSelectBy.
  std::string SelectByFunction(ScalarOp comparison, LoopValueType compared, LoopValueType selected);
  static bool CanSelectBy(ScalarOp comparison, LoopValueType compared, LoopValueType selected);
  // (a, a_step, b, b_step, x, y): the same by comparing a + l * a_step with b + l * b_step in lane
  // l, modulo 2^64. Vectors of as many int64 would be twice as long as those of x and y, which
  // compilers compare lane by lane. Expects CanSelectByLanes, and a comparison.
  std::string SelectByLanesFunction(ScalarOp comparison, LoopValueType selected);
  static bool CanSelectByLanes(LoopValueType selected);
  std::string SplatFunction(LoopValueType type);
  // (vector of bools) -> whether one is not 0.
  std::string AnyFunction(LoopValueType type);
  // (first) or (first, second) -> halves of their groups of lanes. Only types of the vectors
  // matter.
  std::string GroupHalvesFunction(const GroupHalves& halves);
  // (before, vector) -> the first `distance` lanes of one, then those of the other, which so are as
  // many lanes later.
  std::string LaterLanesFunction(LoopValueType type, int distance);
  // (sum, a) or (sum, a, b): AddProducts, for vectors of `lanes` lanes of types `a` and `b`.
  std::string AddProductsFunction(LoopValueType sum, LoopValueType a, std::optional<ScalarType> b);
  // (pointer) or (pointer, bytes from a lane's word to the next): LoadWords; and AddDots.
  std::string LoadWordsFunction(int lanes);
  std::string AddDotsFunction(LoopValueType sum);
  // Of tile registers (c_prelude_tiles.cc): the constant with these shapes, the function or macro
  // of that name behind mdh_, and (sums, a, b).
  std::string TileShapes(const std::vector<TileRows>& shapes);
  std::string TileFunction(absl::string_view name);
  std::string MultiplyTilesFunction(const MatrixInstruction& instruction);
  // (halves) -> keys or (keys) -> halves of the type `to`: OrderKeys, for vectors.
  std::string OrderKeysFunction(LoopValueType to, ScalarType from, bool nan_is_least);
  // (first, step) -> first, first + step, ...
  std::string IndicesFunction(LoopValueType type);
  // (pointer, first, step, extent, stride): elements first, first + step, ... of a row, clamped.
  std::string ClampedLoadFunction(LoopValueType type);
  // (condition, pointer, first, step, extent, stride, outside): those inside of the row if the
  // condition holds, else `outside`: all at once or lane by lane, or where elements that lie close
  // to each other may be on both sides of an end of the row, by masks.
  std::string InsideLoadFunction(LoopValueType type);
  std::string MaskedInsideFunction(LoopValueType type, int64_t step);
  static bool CanMaskInside(LoopValueType type, int64_t step, int64_t stride);
  // (inside, elements, outside): the elements if they are inside of a buffer, else `outside`.
  std::string SelectInsideFunction(LoopValueType type);
  // An array of so many elements with this value, a gcc or clang extension.
  std::string Constants(const ScalarValue& value, int64_t elements);
  // Name of the function from indices of that type to elements of the table.
  std::string TableFunction(const std::vector<ScalarValue>& table, LoopValueType index);
  // Elements that are `stride` apart: (pointer[, stride]) and (pointer, [stride,] value), with the
  // stride where TakesStride. The last `off` lanes are loaded as 0, and not stored.
  std::string LoadFunction(LoopValueType type, int64_t stride,
                           AddressSpace space = AddressSpace::kGlobal, int off = 0);
  std::string StoreFunction(LoopValueType type, int64_t stride,
                            AddressSpace space = AddressSpace::kGlobal, int off = 0);
  // Not for neighbours, nor for elements of few vectors, which shuffles bring together.
  bool TakesStride(LoopValueType type, int64_t stride, int off = 0) const;
  // (pointer, value): adds the lanes to elements that are neighbours, which other threads may do at
  // the same time; at once where the device can. Only if the language adds atomically.
  std::string AtomicAddFunction(LoopValueType type);
  // (pointer, value): combines the element with the value, which other threads may do at the same
  // time. Only if the language combines atomically.
  std::string AtomicCombineFunction(ScalarOp op, ScalarType type, AddressSpace space);
  // (table, key, first, slot_bits) of a table of keys of that type in shared memory: inserts, or
  // gives the place or -1. Idem.
  std::string InsertKeyFunction(ScalarType type);
  std::string FindKeyFunction(ScalarType type);
  // (value, distance, width): what the thread that is so far below or above has. Only if the
  // language has functions for it (CDialect::shuffle_4).
  std::string ShuffleFunction(ScalarType type, absl::string_view direction);
  // (pointer, value): elements that are neighbours, past the caches where they are aligned.
  std::string StreamFunction(LoopValueType type);
  static bool CanStream(LoopValueType type);
  // Whether StreamFunction was asked for: such stores are ordered with others by a fence only.
  bool streams() const { return streams_; }
  // Macro that keeps a vector of that many bytes in a register, where the target has such
  // registers.
  std::string KeepMacro(int bytes);
  // Names of the functions for asynchronous copies (CDialect::async_copy), and whether they were
  // asked for.
  std::string AsyncCopyFunction(int bytes);
  // (to, from, condition): copies zeros if it does not hold.
  std::string AsyncCopyIfFunction(int bytes);
  std::string CommitCopiesFunction();
  std::string WaitForCopiesFunction(int groups);
  bool copies_asynchronously() const { return copies_asynchronously_; }
  // Whether there is PTX in a language that has none of its own.
  bool uses_ptx() const { return uses_ptx_; }
  // Names of the functions for clusters of blocks (CDialect::cluster): (pointer, block) -> the
  // element that another block has; and of the one for the last block (CDialect::is_last):
  // (counter, blocks) -> whether it is.
  std::string LoadOfBlockFunction(ScalarType type);
  std::string ClusterBarrierFunction();
  std::string IsLastFunction();
  // Names of the functions for matrix units of groups (codegen/program/unit_statements.h), and
  // whether they were asked for: () -> one instruction without operands; (pointer, leading_bytes,
  // stride_bytes) -> operand; (sums, a, b, keeps), which multiplies; (pointer, 8 values), which
  // stores matrices. Only if the language has them.
  std::string UnitInstructionFunction(const std::string& instruction);
  std::string UnitOperandFunction();
  std::string GroupMultiplyFunction(const MatrixInstruction& instruction, bool a_is_across,
                                    bool b_is_across);
  std::string StoreMatricesFunction(ScalarType type);
  bool uses_units() const { return uses_units_; }
  // The same for tensor copies: the type of maps; (barriers, count, arrivals); (barrier[, bytes]),
  // of a thread, or without bytes of a group; (barrier, parity); (to, map, barrier, coordinates...)
  // of an array of so many dimensions.
  std::string TensorMapType();
  bool copies_tensors() const { return defined_.contains("mdh_tensor_map"); }
  std::string StartBarriersFunction();
  std::string ArriveAtBarrierFunction(bool is_of_group);
  std::string ArriveInClusterFunction();
  std::string BlocksHaveStartedFunction();
  std::string AwaitBarrierFunction();
  // To the calling block, or to those of its cluster whose bits are set.
  std::string TensorCopyFunction(size_t dimensions, bool is_to_blocks);
  // (registers, pointer): LoadMatrices. (sums): AwaitSums. (sums, a, b) of the
  // instruction, all in registers; and the least compute capability that has all instructions that
  // were asked for, 0 without any.
  std::string LoadMatricesFunction(ScalarType type, int matrices, bool is_transposed);
  std::string RoundToTf32Function(int64_t count);
  std::string AwaitSumsFunction(int64_t tiles, int64_t of_tile);
  std::string WarpMultiplyFunction(const MatrixInstruction& instruction);
  int capability_for_warps() const { return capability_for_warps_; }
  // Names of the functions for stages that may overlap (CDialect::wait_for_stages).
  std::string WaitForStagesFunction();
  std::string PrefetchFunction();
  std::string WrittenByOthersFunction();  // CDialect::written_by_others
  std::string AdmitNextStageFunction();

  // Definitions, in an order in which each sees what it needs.
  std::string ToString() const;

 private:
  // (x) or (x, y) -> these lanes, those of y behind those of x.
  std::string ShuffleFunction(const std::string& name, LoopValueType type,
                              const std::vector<int>& lanes, bool has_second);
  void Define(const std::string& name, const std::string& text);
  // `text` is the function without its qualifiers.
  void DefineFunction(const std::string& name, const std::string& text);
  std::string FunctionOn(absl::string_view stem, LoopValueType type, AddressSpace space) const;
  bool IsInPlace(ScalarOp op, LoopValueType type) const;
  std::string ExponentialOfVectors(LoopValueType type);
  std::string ErrorFunctionOfVectors(LoopValueType type, const std::string& elsewhere);
  std::string CallOfLibrary(ScalarOp op, LoopValueType type, const std::string& one_by_one);
  std::string AllLanesAtOnce(ScalarOp op, LoopValueType type, const std::string& one_by_one);
  std::string NeighboursInside(LoopValueType type);
  std::string LaneByLaneLoad(LoopValueType type, const std::string& stride, int off = 0);
  std::string LaneByLaneStore(LoopValueType type, const std::string& stride, int off = 0) const;
  std::string StemOfMove(absl::string_view neighbours, absl::string_view apart, LoopValueType type,
                         int64_t stride, int off) const;
  std::string MaskedMove(LoopValueType type, int off, bool is_load);
  std::string ShuffledLoad(LoopValueType type, int64_t stride);
  std::string InsideByLanes(LoopValueType type);
  std::string MaskedInside(LoopValueType type, int64_t step, const std::string& by_lanes);
  std::string DefineInside(const std::string& name, LoopValueType type, const std::string& body);
  std::string ShuffledStore(LoopValueType type, int64_t stride);
  std::string Spelled(LoopValueType type);  // vector types are remembered
  std::string KeySlotFunction(ScalarType type);
  std::string AtomicAddition(ScalarType type, AddressSpace space);  // CDialect::atomic_add_*
  std::string CompareAndSwap(ScalarType type, AddressSpace space, absl::string_view address,
                             absl::string_view expected, absl::string_view value) const;
  void DefineStorageConversion(const std::string& name, LoopValueType type, LoopValueType operand);
  void DefineStorageConversionOfVectors(const std::string& name, LoopValueType type,
                                        LoopValueType operand);
  // Bodies of AddProductsFunction, by the types of a and b.
  std::string AddProductsOfBytes(LoopValueType sum, LoopValueType a, std::optional<ScalarType> b);
  std::string AddProductsOfShorts(LoopValueType sum, LoopValueType a, bool has_b);
  std::string AddDotsOfHalves(LoopValueType sum);
  std::string AddDotsOfBytes(LoopValueType sum);
  std::string AddLongProductsOfShorts(LoopValueType sum, LoopValueType a, bool has_b);
  // Text of an expression for half of the lanes of `name`, as `type`, which has so many.
  std::string HalfAs(const std::string& name, LoopValueType whole, bool is_upper,
                     LoopValueType type);
  std::string ConvertedVector(LoopValueType type, LoopValueType operand);
  // Of min, max, fmin and fmax of floating-point values.
  std::string ExtremeBody(ScalarOp op, ScalarType type);
  std::string ChoiceFunction(bool is_minimum, LoopValueType type);
  std::string ExtremeOfVectors(bool is_minimum, LoopValueType type, const std::string& bits);
  std::string ExtremeOfNumbers(bool is_minimum, LoopValueType type, const std::string& bits);
  void DefineExtremeOnVectors(const std::string& name, ScalarOp op, LoopValueType type);
  void DefineOperationOnVectors(const std::string& name, ScalarOp op, LoopValueType type,
                                LoopValueType operand);
  const CDialect& dialect_;
  const bool may_round_otherwise_;
  std::set<std::string> defined_;
  std::map<std::string, std::string> tables_;  // contents -> name
  std::string types_;
  std::string functions_;
  bool streams_ = false;
  bool copies_asynchronously_ = false;
  bool uses_ptx_ = false;
  bool uses_units_ = false;
  int capability_for_warps_ = 0;
};

// Definitions of those of mdh_min, mdh_clamp and mdh_inside, functions of indices of that type,
// that `code` calls.
std::string IndexFunctions(const CDialect& dialect, absl::string_view index_type,
                           absl::string_view code);

}  // namespace mdh
