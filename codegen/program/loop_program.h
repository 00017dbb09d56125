// LoopProgram: the small imperative tree between a low-level expression and source text. Structure
// is shared by all targets; printers add the target's spelling.
//
// Semantics: a program is a list of functions. A function's statements run in order. Index
// variables are 64-bit integers, assigned once. Values have a scalar type and a number of lanes;
// operations work lane by lane and mean what core/scalar/scalar_function.h says. A scalar operand
// of an operation with more lanes is used in every lane. Memory is accessed through named pointers
// at element offsets; two pointers never overlap, except that a pointer may be declared as an
// offset into another one or as a view of its memory.
//
// Who runs a stage: on CPUs `threads` threads, each with its number `thread`; on targets with
// blocks of threads all threads of all blocks (Stage::launch), of which the threads of a block
// share memory and meet at barriers. Both see ShareLoop; HardwareIndex, shared memory, Barrier,
// shuffles, CombineElement and tables of keys exist on targets with blocks only, AddElements,
// AsyncCopy, DeclareLast, ClusterBarrier, LoadOfBlock and unit_statements.h on some of them.
//
// fp16 and the like (IsStorageOnly) exist in memory only: values of these types are loaded and
// stored, and converted from and to fp32; nothing else is computed with them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/program/dot_values.h"
#include "codegen/program/index.h"
#include "codegen/program/unit_statements.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

struct LoopValueType {
  ScalarType scalar;
  int lanes = 1;

  friend bool operator==(const LoopValueType&, const LoopValueType&) = default;
};

// ---- Values ----

struct Literal {
  ScalarValue value;
};
struct NamedValue {
  std::string name;
};
// `lanes` elements at offset, offset + stride, ... The last `off` lanes are 0, and nothing is read
// for them.
struct LoadElements {
  std::string pointer;
  Index offset;
  int64_t stride;
  int off = 0;
};
// As LoadElements, from a buffer with a boundary: every lane by its indices in the buffer.
struct LoadInside {
  struct Dimension {
    Index index;        // of lane 0
    int64_t lane_step;  // to that of the next lane
    int64_t extent;
    int64_t stride;          // elements
    bool is_inside = false;  // whether all lanes are known to be
  };
  std::string pointer;
  std::vector<Dimension> dimensions;
  int64_t constant;                    // added to the offset
  std::optional<ScalarValue> outside;  // what there is outside; nullopt: the nearest element
  // On targets with blocks, of the nearest place if it is outside; lanes: aligned, all or none.
  bool loads_always = false;
};
// Element number `index` (an integer, clamped) of a table.
struct TableElement {
  std::vector<ScalarValue> table;
  LoopValue index;
};
struct LoopOperation {  // never kParameter, kConstant or kTable
  ScalarOp op;
  std::vector<LoopValue> operands;
};
// One scalar in every lane.
struct Splat {
  LoopValue scalar;
};
struct Lane {
  LoopValue vector;
  int lane;
};
// Lanes come in groups of `group` neighbours, a power of two: the lower or upper halves of all
// groups of `first`, in order; at least two lanes. With a `second` vector of the same type those of
// the first `part` lanes of `first`, of the first `part` of `second`, of the next `part` of
// `first`, and so on: as many lanes as each of them has.
struct GroupHalves {
  LoopValue first;
  LoopValue second;  // may be null
  int group;
  int part;  // a multiple of `group`; without a second vector all lanes
  bool is_upper;
};
// The scalars as lanes of one vector, at least two.
struct JoinLanes {
  std::vector<LoopValue> scalars;
};
// `sum`, of 32 or 64 bits, with products of lanes of `a` and `b` added to each of its lanes,
// computed in its type: every lane takes as many, which ones is the target's choice. Lanes of a and
// b are of one type of at most 16 bits or of two of 8 bits.
struct AddProducts {
  LoopValue sum;
  LoopValue a;
  LoopValue b;  // null: 1 in every lane
};
// The order of fp16 or bf16 as that of uint16: a greater value has a greater key, 0 a greater one
// than -0, and nan the greatest or, with nan_is_least, the least. To keys, or, if the node's type
// is of halves, back.
struct OrderKeys {
  LoopValue value;
  bool nan_is_least;
};
// An index as a value of type int64; lane l has index + l * lane_step.
struct IndexValue {
  Index index;
  int64_t lane_step = 0;
};
// The element at offset of a shared array, as the block with that number in the cluster has it.
struct LoadOfBlock {
  std::string array;
  Index offset;
  Index block;
};

// `value` of the thread whose number in the block is `distance` greater, within aligned groups of
// `width` threads (a power of two, at most a warp); one's own value where there is no such thread.
// All threads of the block's warps take part.
struct ShuffleDown {
  LoopValue value;
  int distance;
  int width;
};
// As ShuffleDown, of the thread whose number is `distance` smaller.
struct ShuffleUp {
  LoopValue value;
  int distance;
  int width;
};
// As ShuffleDown, of the thread whose number differs in this one bit: each gets the other's.
struct ShuffleXor {
  LoopValue value;
  int bit;
  int width;
};

struct ValueNode {
  LoopValueType type;
  std::variant<Literal, NamedValue, LoadElements, LoadInside, TableElement, LoopOperation, Splat,
               Lane, GroupHalves, JoinLanes, AddProducts, LoadWords, AddDots, OrderKeys, IndexValue,
               LoadOfBlock, ShuffleDown, ShuffleUp, ShuffleXor>
      form;
};

LoopValue MakeLiteral(const ScalarValue& value);  // of fp16 and the like: the fp32 of that value
LoopValue MakeNamed(std::string name, LoopValueType type);
LoopValue MakeLoad(std::string pointer, Index offset, LoopValueType, int64_t stride, int off = 0);
// Operands with fewer lanes than the widest are used in every lane.
LoopValue MakeOperation(ScalarOp op, ScalarType type, std::vector<LoopValue> operands);
LoopValue MakeSplat(LoopValue scalar, int lanes);  // `scalar` itself if lanes == 1
LoopValue MakeLane(LoopValue vector, int lane);
// A scalar if the vector has two lanes.
LoopValue MakeGroupHalves(LoopValue vector, int group, bool is_upper);
LoopValue MakeGroupHalves(LoopValue first, LoopValue second, int group, int part, bool is_upper);
LoopValue MakeJoinLanes(std::vector<LoopValue> scalars);  // the scalar itself if it is one
LoopValue MakeAddProducts(LoopValue sum, LoopValue a, LoopValue b);
LoopValue MakeLoadWords(std::string pointer, Index offset, int lanes, int64_t stride);
LoopValue MakeAddDots(LoopValue sum, LoopValue a, LoopValue b);
LoopValue MakeOrderKeys(LoopValue halves, bool nan_is_least);
LoopValue MakeOrderedHalves(LoopValue keys, ScalarType half, bool nan_is_least);
LoopValue MakeIndexValue(Index index, int lanes, int64_t lane_step);
LoopValue MakeTableElement(std::vector<ScalarValue> table, LoopValue index);
LoopValue MakeLoadOfBlock(std::string array, Index offset, Index block, ScalarType type);
LoopValue MakeShuffleDown(LoopValue value, int distance, int width);
LoopValue MakeShuffleUp(LoopValue value, int distance, int width);
LoopValue MakeShuffleXor(LoopValue value, int bit, int width);

// ---- Statements ----

struct Statement;
using Block = std::vector<Statement>;

struct Comment {
  std::string text;
};
struct DeclareIndex {
  std::string name;
  Index value;
};
struct DeclareValue {
  std::string name;
  LoopValue value;
  bool is_mutable = false;
};
struct Assign {
  std::string name;
  LoopValue value;
};
struct StoreElements {  // lanes of `value` at offset, offset + stride, ...
  std::string pointer;
  Index offset;
  LoopValue value;
  int64_t stride;
  // Nobody will read them soon, so they need not be in caches. On CPUs vectors of neighbours only.
  bool is_streaming = false;
  int off = 0;  // so many last lanes are not stored
};
// Lanes of `value` are added to the elements at offset, offset + 1, ..., which other threads may do
// at the same time: every one is added, in any order. Elements are in device memory, of a type that
// the target adds atomically (CDialect::atomic_add_real); several lanes are at a multiple of their
// number from an aligned pointer.
struct AddElements {
  std::string pointer;
  Index offset;
  LoopValue value;
};
// The element at offset becomes `element op value`, which other threads may do at the same time:
// every value is combined, in any order. Elements are in shared or device memory; the target
// combines them atomically (HasAtomicCombination).
struct CombineElement {
  ScalarOp op;  // kAdd, kMul, kMin, kMax, kFmin, kFmax, kBitAnd, kBitOr or kBitXor
  std::string pointer;
  Index offset;
  LoopValue value;  // a scalar
};
// A table of keys, all int32 or all int64: an array in shared memory with 2^slot_bits elements, of
// which at most half of the keys are different. Before the first key is inserted, all elements are
// `first`, one of the keys. Threads insert keys at the same time; a barrier is between that and
// finding keys.
struct InsertKey {
  std::string table;
  int slot_bits;
  LoopValue first, key;
};
// `name` is the number of the key's element in the table; -1 if it is no key of the table.
struct FindKey {
  std::string name;  // an index variable
  std::string table;
  int slot_bits;
  LoopValue first, key;
};
struct DeclarePointer {
  std::string name;
  ScalarType type;
  bool is_const;
  std::string base;
  Index offset;
  // Of what was declared as aligned to 16 bytes: so many that the pointer is aligned to, a power of
  // two. Targets with blocks move more bytes than these element by element.
  int alignment_bytes = 16;
  // CPUs: only if this flag holds; else it points to so many elements that are `outside`. Empty:
  // always.
  std::string flag = "";
  std::optional<ScalarValue> outside = std::nullopt;
  int64_t elements = 0;
};
// The pointer, which was declared, points so many elements further from here on.
struct AdvancePointer {
  std::string name;
  Index by;
};
// `name` is `base` as a pointer to elements of `type`: fields of records.
struct DeclareView {
  std::string name;
  ScalarType type;
  bool is_const;
  std::string base;
};
enum class MemorySpace : uint8_t {
  kShared,   // one array per block; declared at the top of a stage
  kPrivate,  // one array per thread, indexed by constants once loops are unrolled: registers
};
struct DeclareArray {
  std::string name;
  ScalarType type;
  int64_t elements;
  MemorySpace space;
  int alignment_bytes = 16;  // other values in shared memory only
};
// `name` is the block's number in the grid, or the thread's in the block, along axis 0..2: x, y, z.
struct HardwareIndex {
  enum class Kind : uint8_t { kBlock, kThread };
  std::string name;
  Kind kind;
  int axis;
};
// Waits for threads of the block, and for what they wrote to shared memory, or device memory, too.
struct Barrier {
  bool of_device_memory = false;
  int threads = 0;  // the first so many, of whole warps; 0: all
};
// As Barrier, for all blocks of the cluster; before the first one, other blocks may not have begun,
// and after the last one they may have ended. One that only says that blocks have begun, and have
// started their barriers (StartBarriers), waits for nothing that threads wrote.
struct ClusterBarrier {
  bool is_of_starts = false;
};
// `name`, a flag, holds in that one of `blocks` blocks that comes here last, for all its threads;
// it is in device memory then what the others wrote before. All threads of a block come here
// together. `counter` at offset, an int32 in device memory that these blocks have in common, was 0
// before the first of them.
struct DeclareLast {
  std::string name;
  std::string counter;
  Index offset;
  int64_t blocks;
};
// From here on all stages before have ended, and what they wrote is there. A stage with such
// statements waits at them rather than where it begins, so that it may read inputs before. All of
// its threads come to one, whatever they do, and before they touch what another stage writes or
// reads; the first stage has none.
struct AwaitStages {};
// for (variable = begin; variable + step <= end + slack; variable += step); see `whole_steps`.
struct For {
  std::string variable;
  Index begin;
  Index end;
  int64_t step;
  bool whole_steps;  // true: only steps that fit before `end` entirely; false: while variable < end
  std::shared_ptr<const Block> body;
  bool unroll = false;  // entirely, by the target's compiler; begin and end are constants
  // Of a loop that is not unrolled entirely: iterations at a time, 0: as the compiler likes.
  int64_t unroll_by = 0;
  // begin < end, which no compiler sees, and some must know: PoCL 3.1 mixes up what work-items
  // compute in front of a loop with barriers that may have no iteration.
  bool is_never_empty = false;
};
// The items 0 .. items-1 of `variable`, shared among all threads of the stage: contiguous shares on
// CPUs; one after the other, the next item to the next thread, on targets with blocks.
struct ShareLoop {
  std::string variable;
  int64_t items;
  std::shared_ptr<const Block> body;
};
struct If {
  std::vector<Condition> all_of;
  std::shared_ptr<const Block> then_block;
  std::shared_ptr<const Block> else_block;  // may be null
};
// Runs if `condition`, of type bool, holds in a lane. Blocks of threads: each thread for itself.
struct IfAny {
  LoopValue condition;
  std::shared_ptr<const Block> then_block;
};
struct DeclareFlag {  // int variable; true iff all conditions hold
  std::string name;
  std::vector<Condition> all_of;
  bool is_mutable = false;
};
struct ClearFlag {
  std::string name;
};
// The mutable vector value `name` should stay in a register from here on. No effect on values.
struct KeepInRegister {
  std::string name;
  int bytes;  // of the vector
};
// The element at offset will be used soon, or does not exist. No effect on values.
struct PrefetchElement {
  std::string pointer;
  Index offset;
  bool for_writing;
};
// A pointer or a flag by its name, or a number.
using CallArgument = std::variant<std::string, Index>;
struct Call {
  std::string function;
  std::vector<CallArgument> arguments;
};
// Neighbours of `type`, 4, 8 or 16 bytes, from `source` in memory to the shared array that `target`
// is or points into, by a copy that runs beside what the thread does next; both places are aligned
// to these bytes. Until the thread has waited for it, nobody accesses them but to read the source.
// Where not all conditions hold, the target gets zeros, and the source is not read.
struct AsyncCopy {
  std::string target;
  Index to;
  std::string source;
  Index from;
  LoopValueType type;
  std::vector<Condition> all_of = {};
};
// The copies that the thread began since the last time are a group, perhaps an empty one.
struct CommitCopies {};
// Waits until all groups of the thread but the last `groups` have arrived: for itself; others see
// them behind the next barrier.
struct WaitForCopies {
  int groups;
};
// The copy of a part of a buffer into the shared array `array`, by all threads of the block
// together: what pass_async_copies.h and pass_double_buffer.h look for; else no more than its body.
// That has loops, conditions on indices, declarations that nothing after the region uses, and
// stores to `array` of values that depend on no other stores of the region; no barriers.
struct CopyRegion {
  std::string array;
  int stages;  // 2: to be double-buffered; asynchronous: parts that have room in the array
  std::shared_ptr<const Block> body;
  bool is_asynchronous = false;  // to be made of AsyncCopy
};

struct Statement {
  std::variant<Comment, DeclareIndex, DeclareValue, Assign, StoreElements, AddElements,
               CombineElement, InsertKey, FindKey, DeclarePointer, AdvancePointer, DeclareView,
               DeclareArray, HardwareIndex, Barrier, ClusterBarrier, DeclareLast, AwaitStages, For,
               ShareLoop, If, IfAny, DeclareFlag, ClearFlag, KeepInRegister, PrefetchElement, Call,
               AsyncCopy, CommitCopies, WaitForCopies, CopyRegion, DeclareOperand, GroupMultiply,
               GroupFence, CommitMultiplies, WaitForMultiplies, UnitFence, DeclareTensorMap,
               TakeRegisters, StartBarriers, ArriveAtBarrier, AwaitBarrier, TensorCopy,
               StoreMatrices, LoadMatrices, RoundToTf32, AwaitSums, WarpMultiply, ConfigureTiles,
               ReleaseTiles, ZeroTile, LoadTile, StoreTile, MultiplyTiles>
      form;
};

std::shared_ptr<const Block> ShareBlock(Block block);
// `block`, if all conditions hold.
Statement When(std::vector<Condition> all_of, Block block);
// By the first of all threads alone.
Statement ByFirstThread(Block block);
// To the end of `to`.
void Append(Block from, Block* to);

// ---- Functions ----

struct Parameter {
  enum class Kind { kInput, kOutput, kIndex, kFlag };  // const T*, T*, int64_t, int
  Kind kind;
  std::string name;
  ScalarType type = ScalarType::kInt64;  // pointers only
  bool is_record = false;                // pointers only: to records, whatever their fields
};

struct Function {
  std::string name;
  std::string comment;
  std::vector<Parameter> parameters;
  Block body;
  bool stands_alone = false;  // no part of its callers: their values would take its registers
};

// Scratch memory: one piece for all threads, or one per thread. 64-byte aligned.
struct ScratchBuffer {
  std::string name;
  ScalarType type;
  int64_t elements;
  bool per_thread;
  // The stages from the first to the last one that uses it, whose number may be beyond that of all
  // stages. Buffers that no stage uses together may lie in the same memory.
  static constexpr int kLastOfAll = std::numeric_limits<int>::max();
  int first_stage = 0;
  int last_stage = kLastOfAll;
};

// Blocks of a grid and threads of a block, along x, y, z.
struct LaunchGeometry {
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> block = {1, 1, 1};

  int64_t threads_per_block() const { return block[0] * block[1] * block[2]; }
  friend bool operator==(const LaunchGeometry&, const LaunchGeometry&) = default;
};

// What all threads do between two points where all wait for each other: on CPUs a barrier, on
// targets with blocks two launches, which may overlap up to AwaitStages. Its body sees the kernel's
// arguments, the scratch buffers by name, and the index variables `thread` and `threads` (of the
// whole stage).
struct Stage {
  std::string comment;
  Block body;
  LaunchGeometry launch = {};  // targets with blocks
  // Blocks along x, y, z that are a cluster: they run at the same time, and their numbers in the
  // cluster count x fastest. Extents divide those of the grid.
  std::array<int64_t, 3> cluster = {1, 1, 1};
  // Blocks that a multiprocessor shall have room for, which bounds the registers of a thread; 0: as
  // the target's compiler likes.
  int resident_blocks = 0;
  // Targets with blocks: behind barriers threads read what others of their block wrote to outputs
  // or scratch memory.
  bool exchanges = false;
  // CPUs: threads that run it at most, those with the lowest numbers; 0: all.
  int most_threads = 0;
  // CPUs: stores copies of whole inputs, which no other stage stores to, and nothing else.
  bool only_packs = false;
};

struct LoopProgram {
  std::vector<Function> functions;  // called by the stages; callees first
  std::vector<Stage> stages;
  std::vector<ScratchBuffer> scratch;
};

}  // namespace mdh
