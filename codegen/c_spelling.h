// How C (GNU dialect of gcc and clang, with vector extensions) spells types, literals and
// operations. Everything that differs between targets of the C family belongs in this table.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/loop_program.h"

namespace mdh {

// "float", "int32_t"; bool is stored as uint8_t, fp16 and bf16 are their bits as uint16_t.
std::string CType(ScalarType type);
// "f32", "i8", "u64", "b8": stem of vector type and function names.
std::string ShortName(ScalarType type);
// "float", or "f32x8" for more lanes.
std::string CType(ValueType type);
// "1.5f", "INT64_C(3)", ...; of fp16 and bf16 their bits.
std::string CLiteral(const ScalarValue& value);
// Makes an identifier that is no keyword of C or C++ and none that generated code uses.
std::string CIdentifier(const std::string& name);

// Collects what a translation unit's prelude must define, and defines it.
class CPrelude {
 public:
  // Names of vector types; remembers to define them.
  std::string VectorType(ValueType type);
  // Name of the function for `op` with result `type` on operands of type `operand`; remembers to
  // define it and everything that it needs.
  std::string OperationFunction(ScalarOp op, ValueType type, ValueType operand);
  std::string SplatFunction(ValueType type);
  // (first, step) -> first, first + step, ...
  std::string IndicesFunction(ValueType type);
  // (pointer, first, step, extent, stride): elements first, first + step, ... of a row, clamped.
  std::string ClampedLoadFunction(ValueType type);
  // (condition, pointer, first, step, extent, stride, outside): those inside of the row if the
  // condition holds, else `outside`.
  std::string InsideLoadFunction(ValueType type);
  // Name of the function from indices of that type to elements of the table.
  std::string TableFunction(const std::vector<ScalarValue>& table, ValueType index);
  std::string LoadFunction(ValueType type, bool contiguous);
  std::string StoreFunction(ValueType type, bool contiguous);
  // Macro that keeps a vector of that many bytes in a register, where the target has such
  // registers.
  std::string KeepMacro(int bytes);

  // Definitions, in an order in which each sees what it needs.
  std::string ToString() const;

 private:
  void Define(const std::string& name, const std::string& text);
  void DefineHalfConversion(const std::string& name, ValueType type, ValueType operand);
  std::set<std::string> defined_;
  std::map<std::string, std::string> tables_;  // contents -> name
  std::string types_;
  std::string functions_;
};

// Whether C's own operator does `op` on this type, scalar or vector.
bool IsNativeOperator(ScalarOp op, ValueType type, ValueType operand);

}  // namespace mdh
