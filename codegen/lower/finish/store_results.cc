#include "codegen/lower/finish/store_results.h"

namespace mdh {
namespace {

Index ElementOfTarget(const ResultTarget& target, const std::vector<Index>& at) {
  Index element(0);
  for (size_t d = 0; d < at.size(); ++d) element = element + at[d] * target.offset.coefficients[d];
  return element + Index(target.offset.constant);
}

}  // namespace

std::vector<LoopValue> LoadResults(const std::vector<ResultTarget>& targets, const Index& base,
                                   const std::vector<Index>& at, int width) {
  std::vector<LoopValue> values;
  for (const ResultTarget& target : targets) {
    const Index element = base + ElementOfTarget(target, at);
    values.push_back(LoadValue(target.pointer, element, {target.type, width}, 1));
  }
  return values;
}

void StoreResults(const std::vector<ResultTarget>& targets, const std::vector<Index>& at,
                  const std::vector<LoopValue>& values, Block* block) {
  for (size_t n = 0; n < targets.size(); ++n) {
    block->push_back({StoreElements{targets[n].pointer, ElementOfTarget(targets[n], at),
                                    StoredValue(values[n], targets[n].type), 1}});
  }
}

void EmitFinalResults(const Expression& expression, const ResultArrays& results,
                      const std::vector<Index>& at, const std::vector<LoopValue>& values,
                      NameAllocator& names, Block* block) {
  const std::vector<LoopValue> stored =
      EmitStoreFunction(expression, results.store, {at}, values, names, *block);
  StoreResults(results.outputs, at, stored, block);
}

}  // namespace mdh
