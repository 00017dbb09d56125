// Tuples of md_hom's results: what every way in which results combine (registers, lanes, threads,
// slots of blocks, scans) does with them.
#pragma once

#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"
#include "core/expression/expression.h"

namespace mdh {

// Appends statements to blocks; names come from `names`. Both must outlive this.
class ResultTuples {
 public:
  using Values = std::vector<LoopValue>;  // one per result
  using Names = std::vector<std::string>;

  struct Style {
    bool is_numbered = false;  // names end with the number of the result
    const char* sum = "sum";   // what sums are called
  };
  ResultTuples(const Expression& expression, NameAllocator& names, Style style)
      : expression_(expression), names_(names), style_(style) {}
  ResultTuples(const Expression& expression, NameAllocator& names)
      : ResultTuples(expression, names, Style()) {}

  // The values in constants of their own, so that each is computed once, here.
  Values Named(Values values, const std::string& stem, Block* block);
  // Variables that start from the values.
  Values Variables(Values start, const std::string& stem, Block* block);
  static void Assign(const Values& variables, const Values& values, Block* block);
  // left (+) right. Several are named: all are computed before one of what they come from changes.
  Values Combined(const Values& left, const Values& right, Block* block);
  // The same, named however many there are.
  Values NamedSum(const Values& left, const Values& right, Block* block);
  // variables = left (+) right
  void AssignSum(const Values& variables, const Values& left, const Values& right, Block* block) {
    Assign(variables, Combined(left, right, block), block);
  }

 private:
  Values Declared(Values values, const std::string& stem, bool are_mutable, Block* block);

  const Expression& expression_;
  NameAllocator& names_;
  const Style style_;
};

}  // namespace mdh
