// Prints loop programs as GNU C.
#pragma once

#include <string>

#include "codegen/c_spelling.h"
#include "codegen/loop_program.h"

namespace mdh {

// One class knows indentation and spelling; what a translation unit's prelude must define collects
// in `prelude`, which must outlive the printer.
class CPrinter {
 public:
  explicit CPrinter(CPrelude& prelude) : prelude_(prelude) {}

  std::string Print(const Function& function);
  // Statements indented by `depth` levels.
  std::string Print(const Block& block, int depth);
  std::string Print(const Value& value) { return PrintValue(*value, 0); }
  static std::string ParameterList(const std::vector<Parameter>& parameters);

 private:
  void PrintBlock(const Block& block, int depth, std::string& out);
  void PrintStatement(const Statement& statement, int depth, std::string& out);
  std::string PrintValue(const ValueNode& node, int precedence);
  std::string PrintOperation(const ValueNode& node, const Operation& operation, int precedence);
  std::string PrintLoad(const ValueNode& node, const LoadElements& load);
  std::string PrintLoadInside(const ValueNode& node, const LoadInside& load);
  std::string PrintLaneInside(const LoadInside& load, int lane);
  std::string PrintLanesInside(const ValueNode& node, const LoadInside& load, size_t along);
  std::string PrintIndexValue(const ValueNode& node, const IndexValue& value);
  std::string PrintCondition(const Condition& condition);
  std::string PrintConditions(const std::vector<Condition>& conditions);
  std::string PrintIndex(const Index& index);
  std::string Declaration(ValueType type);
  // The value as an operand of an operation with that many lanes.
  std::string Widened(const ValueNode& node, int lanes, int precedence);

  CPrelude& prelude_;
};

}  // namespace mdh
