// Tuples of md_hom's results: what every way in which results combine (registers, lanes, threads,
// slots of blocks, scans) does with them.
#pragma once

#include <cstdint>
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

  // What a result is computed with, in registers and in arrays of partial results.
  ScalarType type(int r) const { return RegisterType(expression_.function().results()[r].type); }
  int count() const { return static_cast<int>(expression_.function().results().size()); }

  // Arrays, one per result, and their elements at `at`.
  void Declare(const Names& arrays, int64_t elements, MemorySpace space, Block* block) const;
  Values Load(const Names& arrays, const Index& at) const;
  static void Store(const Names& arrays, const Index& at, const Values& values, Block* block);

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

// A tree of combinations over `count` ranks that are neighbours: whether in this step, one with a
// power of two as `distance`, a rank combines what it has with what `distance` ranks further is.
std::vector<Condition> CombinesInTree(const Index& rank, int64_t distance, int64_t count);

}  // namespace mdh
