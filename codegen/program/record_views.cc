#include "codegen/program/record_views.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "codegen/program/c_names.h"
#include "codegen/program/loop_program_walk.h"

namespace mdh {

std::string RecordViews::PointerTo(const Buffer& buffer, const std::string& base, ScalarType type,
                                   bool is_const) {
  if (!buffer.type.is_record()) return base;
  const std::string key = absl::StrCat(base, "|", ShortName(type));
  auto found = views_.find(key);
  if (found == views_.end()) {
    const std::string name = names_.Unique(absl::StrCat(base, "_", ShortName(type)));
    found = views_.emplace(key, DeclareView{name, type, is_const, base}).first;
  }
  return found->second.name;
}

std::vector<std::string> RecordViews::InputPointers(const Expression& expression,
                                                    const std::vector<std::string>& inputs) {
  std::vector<std::string> pointers;
  for (int p = 0; p < static_cast<int>(expression.function().parameters().size()); ++p) {
    std::string& pointer = pointers.emplace_back();
    if (expression.is_index(p)) continue;
    const Expression::AccessRef ref = expression.input_access(p);
    const Buffer& buffer = expression.inputs()[ref.buffer];
    pointer = PointerTo(buffer, inputs[ref.buffer], buffer.type.fields()[ref.field].type,
                        /*is_const=*/true);
  }
  return pointers;
}

Block RecordViews::Declarations() const {
  Block block;
  for (const auto& [key, view] : views_) block.push_back({view});
  return block;
}

void DeclareUsed(const Block& declarations, LoopProgram* program) {
  if (declarations.empty()) return;
  const auto declare = [&](Block& body) {
    std::set<std::string> used;
    CollectUsedNames(body, used);
    Block declared;
    for (const Statement& declaration : declarations) {
      if (used.contains(*DeclaredName(declaration))) declared.push_back(declaration);
    }
    body.insert(body.begin(), declared.begin(), declared.end());
  };
  for (Function& function : program->functions) declare(function.body);
  for (Stage& stage : program->stages) declare(stage.body);
}

}  // namespace mdh
