#include "codegen/backends/shared_arrays.h"

#include <algorithm>

#include "codegen/program/loop_program_walk.h"

namespace mdh {

Block SharedArrays::Hoist(const Block& body, bool reuses,
                          absl::FunctionRef<std::string(const std::string&)> name) {
  std::map<std::string, std::string> renamed;
  std::map<ScalarType, size_t> used;
  Block without = body;
  std::erase_if(without, [&](const Statement& statement) {
    const auto* array = std::get_if<DeclareArray>(&statement.form);
    if (array == nullptr || array->space != MemorySpace::kShared) return false;
    std::vector<size_t>& same = of_type_[array->type];
    const size_t place = reuses ? used[array->type]++ : same.size();
    if (place == same.size()) {
      same.push_back(all_.size());
      all_.push_back(*array);
      all_.back().name = name(array->name);
    }
    DeclareArray& shared = all_[same[place]];
    shared.elements = std::max(shared.elements, array->elements);
    renamed[array->name] = shared.name;
    return true;
  });
  return RenameAll(without, renamed);
}

}  // namespace mdh
