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

Block WithOwnPointers(const std::vector<Stage>& stages, const Block& body,
                      const std::map<std::string, std::string>& renamed,
                      const std::set<std::string>& shared, std::set<std::string>* pointers) {
  std::set<std::string> taken = shared;
  taken.insert(pointers->begin(), pointers->end());
  Block named = WithNames(stages, body, renamed, taken);
  Visit(named, {.statement = [&](const Statement& statement) {
          if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
            pointers->insert(pointer->name);
          } else if (const auto* view = std::get_if<DeclareView>(&statement.form)) {
            pointers->insert(view->name);
          }
        }});
  return named;
}

}  // namespace mdh
