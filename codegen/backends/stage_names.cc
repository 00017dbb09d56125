#include "codegen/backends/stage_names.h"

#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

Block WithNames(const std::vector<Stage>& stages, const Block& body,
                const std::map<std::string, std::string>& renamed,
                const std::set<std::string>& shared) {
  std::set<std::string> in_stages;
  for (const Stage& stage : stages) {
    CollectUsedNames(stage.body, in_stages);
    CollectDeclaredNames(stage.body, in_stages);
  }
  std::map<std::string, std::string> all = renamed;
  NameAllocator own;
  for (const std::string& name : in_stages) own.Reserve(name);
  for (const std::string& name : shared) own.Reserve(name);
  for (const std::string& name : in_stages) {
    if (shared.contains(name) && !all.contains(name)) all[name] = own.Unique(name);
  }
  return RenameAll(body, all);
}

}  // namespace mdh
