// A function of an expression's inputs at points that are numbered along some of its dimensions.
#pragma once

#include <vector>

#include "codegen/lower/levels/nest_context.h"

namespace mdh {

// Points along `dimensions`, the last one the fastest; `at` has the indices of all dimensions, of
// which those of `dimensions` are not used.
struct NumberedPoints {
  std::vector<int> dimensions;
  std::vector<Index> at;
};

// `index` at point `number`. Dimensions that it goes along in even steps are one.
Index IndexAtPoint(const Expression& expression, const NumberedPoints& points,
                   const AffineIndex& index, const Index& number);
// Whether points `run` * n, ..., `run` * n + `run` - 1 have neighbouring indices of which the first
// is a multiple of `run`, for all n below the last run that is whole.
bool HasAlignedRuns(const Expression& expression, const NumberedPoints& points,
                    const AffineIndex& index, int64_t run);

// Dimensions in the order in which memory has the first input that `function` uses.
std::vector<int> InMemoryOrder(const Expression& expression, const ScalarFunction& function,
                               std::vector<int> dimensions);

// Values of a function of the parameters of the expression's function, in register types. Refers to
// `context` and to the function.
class NumberedValues {
 public:
  NumberedValues(NestContext& context, const ScalarFunction& function, NumberedPoints points);

  // Whether some of what the function reads is one vector for every aligned run.
  bool MovesRuns(int64_t run) const;
  // Parameters that are vectors of one run; null: none.
  using Run = std::vector<LoopValue>;
  // Loads those of the run that begins at point `first`.
  Run LoadRun(const Index& first, int64_t run, Block* block) const;
  // The values at point `lane` of the run, and at any point.
  std::vector<LoopValue> At(const Run& run, const Index& first, int lane, Block* block);
  std::vector<LoopValue> At(const Index& number, Block* block);

 private:
  bool MovesRun(int parameter, int64_t run) const;
  LoopValue Value(int parameter, const Index& number);

  NestContext& context_;
  const ScalarFunction& function_;
  const NumberedPoints points_;
  std::vector<int> parameters_;  // that the function uses
};

}  // namespace mdh
