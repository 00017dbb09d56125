#include "codegen/passes/keep_shared_loads.h"

#include <map>

#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

using Uses = std::map<std::string, int>;

Uses UsesOfNames(const Block& block) {
  Uses uses;
  Visit(block, {.value = [&](const ValueNode& node) {
          if (const auto* named = std::get_if<NamedValue>(&node.form)) ++uses[named->name];
        }});
  return uses;
}

// Bytes of the vector that the statement loads, 0 if it is something else.
int LoadedVectorBytes(const DeclareValue& declaration) {
  const LoopValueType type = declaration.value->type;
  if (!std::holds_alternative<LoadElements>(declaration.value->form) || type.lanes == 1) return 0;
  const int bytes = type.lanes * SizeBytes(type.scalar);
  return bytes == 16 || bytes == 32 || bytes == 64 ? bytes : 0;
}

Block Rewrite(const Block& block) {
  Uses uses = UsesOfNames(block);
  auto rewrite = [](const std::shared_ptr<const Block>& inner) {
    return inner == nullptr ? nullptr : std::make_shared<const Block>(Rewrite(*inner));
  };
  Block result;
  for (Statement statement : block) {
    if (auto* loop = std::get_if<For>(&statement.form)) loop->body = rewrite(loop->body);
    if (auto* branch = std::get_if<If>(&statement.form)) {
      branch->then_block = rewrite(branch->then_block);
      branch->else_block = rewrite(branch->else_block);
    }
    if (auto* branch = std::get_if<IfAny>(&statement.form)) {
      branch->then_block = rewrite(branch->then_block);
    }
    auto* declaration = std::get_if<DeclareValue>(&statement.form);
    const int bytes = declaration == nullptr ? 0 : LoadedVectorBytes(*declaration);
    if (bytes == 0 || uses[declaration->name] < 2) {
      result.push_back(std::move(statement));
      continue;
    }
    declaration->is_mutable = true;
    const std::string name = declaration->name;
    result.push_back(std::move(statement));
    result.push_back({KeepInRegister{name, bytes}});
  }
  return result;
}

}  // namespace

LoopProgram KeepSharedLoads(LoopProgram program) {
  for (Function& function : program.functions) function.body = Rewrite(function.body);
  return program;
}

}  // namespace mdh
