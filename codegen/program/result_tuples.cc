#include "codegen/program/result_tuples.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {

void ResultTuples::Declare(const Names& arrays, int64_t elements, MemorySpace space,
                           Block* block) const {
  for (int r = 0; r < count(); ++r) {
    block->push_back({DeclareArray{arrays[r], type(r), elements, space}});
  }
}

ResultTuples::Values ResultTuples::Load(const Names& arrays, const Index& at) const {
  Values values;
  for (int r = 0; r < count(); ++r) values.push_back(MakeLoad(arrays[r], at, {type(r), 1}, 1));
  return values;
}

void ResultTuples::Store(const Names& arrays, const Index& at, const Values& values, Block* block) {
  for (size_t r = 0; r < values.size(); ++r) {
    block->push_back({StoreElements{arrays[r], at, values[r], 1}});
  }
}

ResultTuples::Values ResultTuples::Declared(Values values, const std::string& stem,
                                            bool are_mutable, Block* block) {
  for (size_t r = 0; r < values.size(); ++r) {
    const std::string name = names_.Unique(style_.is_numbered ? absl::StrCat(stem, r) : stem);
    block->push_back({DeclareValue{name, values[r], are_mutable}});
    values[r] = MakeNamed(name, values[r]->type);
  }
  return values;
}

ResultTuples::Values ResultTuples::Named(Values values, const std::string& stem, Block* block) {
  return Declared(std::move(values), stem, /*are_mutable=*/false, block);
}

ResultTuples::Values ResultTuples::Variables(Values start, const std::string& stem, Block* block) {
  return Declared(std::move(start), stem, /*are_mutable=*/true, block);
}

void ResultTuples::Assign(const Values& variables, const Values& values, Block* block) {
  for (size_t r = 0; r < variables.size(); ++r) {
    block->push_back({mdh::Assign{std::get<NamedValue>(variables[r]->form).name, values[r]}});
  }
}

ResultTuples::Values ResultTuples::Combined(const Values& left, const Values& right, Block* block) {
  Values sums = EmitCombination(expression_.reduction(), left, right, names_, *block);
  return sums.size() > 1 ? Named(std::move(sums), style_.sum, block) : sums;
}

ResultTuples::Values ResultTuples::NamedSum(const Values& left, const Values& right, Block* block) {
  return Named(EmitCombination(expression_.reduction(), left, right, names_, *block), style_.sum,
               block);
}

std::vector<Condition> CombinesInTree(const Index& rank, int64_t distance, int64_t count) {
  std::vector<Condition> conditions = {IsZero(rank % (2 * distance))};
  if (count % (2 * distance) != 0) {  // the last one may have no partner
    conditions.push_back(Less(rank + Index(distance), Index(count)));
  }
  return conditions;
}

}  // namespace mdh
