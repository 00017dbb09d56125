// LoopProgram: the small imperative tree between a low-level expression and source text. Structure
// is shared by all targets; printers add the target's spelling.
//
// Semantics: a program is a list of functions. A function's statements run in order. Index
// variables are 64-bit integers, assigned once. Values have a scalar type and a number of lanes;
// operations work lane by lane and mean what core/scalar_function.h says. A scalar operand of an
// operation with more lanes is used in every lane. Memory is accessed through named pointers at
// element offsets; two pointers never overlap, except that a pointer may be declared as an offset
// into another one. fp16 and bf16 exist in memory only: values of these types are loaded and
// stored, and converted from and to fp32; nothing else is computed with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/index.h"
#include "core/scalar_function.h"

namespace mdh {

struct ValueType {
  ScalarType scalar;
  int lanes = 1;

  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// ---- Values ----

struct ValueNode;
using Value = std::shared_ptr<const ValueNode>;

struct Literal {
  ScalarValue value;
};
struct NamedValue {
  std::string name;
};
// `lanes` elements at offset, offset + stride, ...
struct LoadElements {
  std::string pointer;
  Index offset;
  int64_t stride;
};
// As LoadElements, from a buffer with a boundary: every lane by its indices in the buffer.
struct LoadInside {
  struct Dimension {
    Index index;        // of lane 0
    int64_t lane_step;  // to that of the next lane
    int64_t extent;
    int64_t stride;  // elements
  };
  std::string pointer;
  std::vector<Dimension> dimensions;
  int64_t constant;                    // added to the offset
  std::optional<ScalarValue> outside;  // what there is outside; nullopt: the nearest element
};
// Element number `index` (an integer, clamped) of a table.
struct TableElement {
  std::vector<ScalarValue> table;
  Value index;
};
struct Operation {  // never kParameter, kConstant or kTable
  ScalarOp op;
  std::vector<Value> operands;
};
// One scalar in every lane.
struct Splat {
  Value scalar;
};
struct Lane {
  Value vector;
  int lane;
};
// An index as a value of type int64; lane l has index + l * lane_step.
struct IndexValue {
  Index index;
  int64_t lane_step = 0;
};

struct ValueNode {
  ValueType type;
  std::variant<Literal, NamedValue, LoadElements, LoadInside, TableElement, Operation, Splat, Lane,
               IndexValue>
      form;
};

Value MakeLiteral(const ScalarValue& value);  // of fp16 and bf16: the fp32 of the same value
Value MakeNamed(std::string name, ValueType type);
Value MakeLoad(std::string pointer, Index offset, ValueType type, int64_t stride);
// Operands with fewer lanes than the widest are used in every lane.
Value MakeOperation(ScalarOp op, ScalarType type, std::vector<Value> operands);
Value MakeSplat(Value scalar, int lanes);  // `scalar` itself if lanes == 1
Value MakeLane(Value vector, int lane);
Value MakeIndexValue(Index index, int lanes, int64_t lane_step);
Value MakeTableElement(std::vector<ScalarValue> table, Value index);

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
  Value value;
  bool is_mutable = false;
};
struct Assign {
  std::string name;
  Value value;
};
struct StoreElements {  // lanes of `value` at offset, offset + stride, ...
  std::string pointer;
  Index offset;
  Value value;
  int64_t stride;
};
struct DeclarePointer {
  std::string name;
  ScalarType type;
  bool is_const;
  std::string base;
  Index offset;
};
// for (variable = begin; variable + step <= end + slack; variable += step); see `whole_steps`.
struct For {
  std::string variable;
  Index begin;
  Index end;
  int64_t step;
  bool whole_steps;  // true: only steps that fit before `end` entirely; false: while variable < end
  std::shared_ptr<const Block> body;
};
// Loop whose variable continues where the loop with the same variable before it ended: the rest.
struct Condition {
  enum class Kind { kLess, kEqual, kFlag, kNotFlag };
  Kind kind;
  Index a, b;        // kLess, kEqual
  std::string flag;  // kFlag, kNotFlag: an int variable
};
struct If {
  std::vector<Condition> all_of;
  std::shared_ptr<const Block> then_block;
  std::shared_ptr<const Block> else_block;  // may be null
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
struct Call {
  std::string function;
  std::vector<std::string> arguments;  // expressions over variables in scope
};

struct Statement {
  std::variant<Comment, DeclareIndex, DeclareValue, Assign, StoreElements, DeclarePointer, For, If,
               DeclareFlag, ClearFlag, KeepInRegister, Call>
      form;
};

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
};

// Scratch memory: one piece for all threads, or one per thread. 64-byte aligned.
struct ScratchBuffer {
  std::string name;
  ScalarType type;
  int64_t elements;
  bool per_thread;
};

// What all threads do between two barriers. Its body sees the kernel's arguments, the scratch
// buffers by name, and the index variables `thread` and `threads`.
struct Stage {
  std::string comment;
  Block body;
};

struct LoopProgram {
  std::vector<Function> functions;  // called by the stages; callees first
  std::vector<Stage> stages;
  std::vector<ScratchBuffer> scratch;
};

}  // namespace mdh
