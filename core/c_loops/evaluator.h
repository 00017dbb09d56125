// Executes C statements on symbols: what a variable holds is an instruction of a scalar function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/c_loops/c_syntax.h"
#include "core/c_loops/clang_unit.h"
#include "core/c_loops/scalar_builder.h"

namespace mdh {

// One instruction per field; one for a scalar. -1: no value as yet.
using CValue = std::vector<int>;

class Evaluator;

// What the evaluated code reads and writes besides its own variables. Implementations keep values
// in Evaluator::state() under names that start with '=', so that both branches of an if are merged.
class CMemory {
 public:
  virtual ~CMemory() = default;
  virtual Result<CValue> Read(const CNode& lvalue, Evaluator* evaluator) = 0;
  virtual Status Write(const CNode& lvalue, CValue value, Evaluator* evaluator) = 0;
  // What is under `name` as long as nothing was written.
  virtual CValue Former(const std::string& name) = 0;
  // A variable of the evaluated code got its first value, or another one.
  virtual void Declared(const std::string& /*declaration*/, const CNode& /*value*/) {}
  virtual void Assigned(const std::string& /*declaration*/) {}
};

// A call of a function of the file, as it was evaluated.
struct EvaluatedCall {
  std::string function;
  std::vector<CValue> arguments;
  CValue result;
};

class Evaluator {
 public:
  using State = std::map<std::string, CValue>;

  Evaluator(ClangUnit* unit, ScalarBuilder* builder, CMemory* memory)
      : unit_(*unit), builder_(*builder), memory_(*memory) {}

  ScalarBuilder& builder() { return builder_; }
  State& state() { return state_; }
  const std::vector<EvaluatedCall>& calls() const { return calls_; }

  // Errors of all: InvalidArgument with position.
  Status Run(const CNode& statement);
  Result<CValue> Value(const CNode& node);
  // A value of type node.type, which must be scalar.
  Result<int> Scalar(const CNode& node);
  // Of type bool: whether it is not zero.
  Result<int> Condition(const CNode& node);
  // `result`: of the function's type; empty if it is void.
  Result<CValue> Call(const CFunction& function, std::vector<CValue> arguments, size_t offset);

  template <typename... Parts>
  Status ErrorAt(const CNode& node, const Parts&... message) const {
    return unit_.source().ErrorAt(node.begin, message...);
  }

 private:
  Result<CValue> ReadVariable(const CNode& node);
  Result<CValue> Convert(const CNode& node);
  Result<CValue> Unary(const CNode& node);
  Result<CValue> Binary(const CNode& node);
  Result<CValue> Conditional(const CNode& node);
  Result<CValue> MathCall(const CNode& node);
  Result<CValue> AnyCall(const CNode& node);
  Result<CValue> List(const CNode& node);
  Result<int> Arithmetic(const CNode& node, const std::string& op, int a, int b);
  // An operation on a value of this type, which is no scalar.
  Status NoNumber(const CNode& node, const CType& type) const;
  Result<int> Shift(const CNode& node, const std::string& op, int a, const CNode& by);

  Status Declare(const CNode& declaration);
  Status Assign(const CNode& node);
  Status Increment(const CNode& node);
  Status Store(const CNode& lvalue, CValue value);
  Status If(const CNode& node);
  Status Merge(int condition, const State& then, const State& otherwise, const CNode& node);
  Result<CValue> Body(std::vector<const CNode*> statements);
  // An error if too much was evaluated.
  Status Count(const CNode& node);

  ClangUnit& unit_;
  ScalarBuilder& builder_;
  CMemory& memory_;
  State state_;
  std::vector<EvaluatedCall> calls_;
  std::vector<std::string> active_calls_;
  int evaluated_ = 0;
};

// The field of a record called `name`; -1 if there is none.
int FieldNumber(const CType& record, const std::string& name);

}  // namespace mdh
