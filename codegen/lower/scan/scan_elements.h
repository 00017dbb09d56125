// Where the elements of lines that are scanned come from, and where they go
// (codegen/lower/scan/scan_in_registers.h).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "codegen/lower/levels/nest_context.h"
#include "codegen/program/result_targets.h"

namespace mdh {

// An index that grows by `step` from one element of the line to the next.
struct LineIndex {
  Index base;
  int64_t step;

  Index At(const Index& element) const { return base + element * step; }
};

// Elements in memory. `alignment`: the base is a multiple of it, whatever the line; 0: it is 0.
struct LineElements {
  std::string pointer;
  ScalarType type;
  LineIndex offset;
  int64_t alignment;

  // Whether `run` elements, the first one a multiple of `run`, are one aligned vector.
  bool MovesRun(int64_t run) const;
};

// Those of a target for the line at `at`: one index per dimension, that of d is not used.
LineElements ElementsOf(const Expression& expression, const ResultTarget& target,
                        const std::vector<Index>& at, int d);

// The values of a line's elements, in register types: what is in arrays, one per result, or what f
// gives for what it reads in place.
class LineValues {
 public:
  LineValues(NestContext& context, std::vector<LineElements> arrays);
  // f along dimension d at `at`. Expects that nothing is reduced.
  LineValues(NestContext& context, const std::vector<Index>& at, int d);

  // Loads what is a vector of the run that begins at `first`; values of that run can be asked for
  // by their numbers then, in this block. Whether there is any.
  bool LoadRun(const Index& first, int64_t run, Block* block);
  // The values of element `element`; `number`: in the run that was loaded.
  std::vector<LoopValue> At(const Index& element, int number, Block* block);

 private:
  struct Inside {  // of a buffer with a boundary
    const Buffer* buffer;
    std::string pointer;
    int field;
    std::vector<LineIndex> indices;
  };
  struct Unused {};
  using Operand = std::variant<Unused, LineElements, LineIndex, Inside>;

  Operand OperandOf(int parameter, const std::vector<Index>& at, int d);
  LoopValue Value(size_t operand, const Index& element, int number) const;

  NestContext& context_;
  const bool is_function_;
  std::vector<Operand> operands_;   // parameters of f, or arrays
  std::vector<LoopValue> vectors_;  // of the run; null: none
};

}  // namespace mdh
