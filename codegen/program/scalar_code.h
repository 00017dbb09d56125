// Scalar functions as statements of a loop program.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/expression/combine_operator.h"
#include "core/expression/expression.h"

namespace mdh {

// Gives names that nothing else in the function uses.
class NameAllocator {
 public:
  void Reserve(const std::string& name) { taken_[name]; }
  // `name` itself, or with a number appended.
  std::string Unique(const std::string& name);

 private:
  std::map<std::string, int> taken_;
};

// All names that the block declares or uses: what a pass adds to it has others.
void ReserveNamesIn(const Block& block, NameAllocator& names);

// The value under a name of its own, unless it is a name already.
LoopValue NamedInBlock(LoopValue value, NameAllocator& names, Block& block);

// The type in which values of `type` are computed with: fp32 for those that exist in memory only,
// else the type itself.
ScalarType RegisterType(ScalarType type);

// A value from memory as one of the type that it is computed with.
LoopValue AsComputed(LoopValue loaded);

// Elements as values to compute with (`off`: LoadElements), and such a value as elements of type
// `stored`.
LoopValue LoadValue(std::string pointer, Index offset, LoopValueType stored, int64_t stride,
                    int off = 0);
LoopValue StoredValue(LoopValue value, ScalarType stored);

// The element that an access reads from a buffer with a boundary, and the same as a value to
// compute with. `pointer`: to elements of the field's type; `indices`: one per buffer dimension, of
// lane 0; `lane_steps`: what the next lane adds, nothing if it is empty. `inside`: per buffer
// dimension, whether all lanes are known to be, none if it is empty.
LoopValue LoadInsideElement(const Buffer& buffer, const std::string& pointer, int field,
                            const std::vector<Index>& indices,
                            const std::vector<int64_t>& lane_steps = {}, int lanes = 1,
                            const std::vector<bool>& inside = {});
LoopValue LoadInsideValue(const Buffer& buffer, const std::string& pointer, int field,
                          const std::vector<Index>& indices,
                          const std::vector<int64_t>& lane_steps = {}, int lanes = 1,
                          const std::vector<bool>& inside = {});

// Appends the statements that evaluate `function` to `block` and gives the results. Values used
// once are nested into the expression that uses them; others get a name. `argument(p)` is called
// for the parameters that the function really uses; arguments and results are of register types.
std::vector<LoopValue> EmitFunction(const ScalarFunction& function,
                                    const std::function<LoopValue(int)>& argument,
                                    NameAllocator& names, Block& block);

// left (+) right for tuples of results. The values may refer to `left` more than once.
std::vector<LoopValue> EmitCombination(const CombineOperator& combine,
                                       const std::vector<LoopValue>& left,
                                       const std::vector<LoopValue>& right, NameAllocator& names,
                                       Block& block);

}  // namespace mdh
