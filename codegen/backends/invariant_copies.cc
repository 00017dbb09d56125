#include "codegen/backends/invariant_copies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

class CopyHoister {
 public:
  CopyHoister(std::set<std::string> variant, const std::set<std::string>& constants)
      : variant_(std::move(variant)), constants_(constants) {}

  HoistedCopies Run(const Block& block) {
    HoistedCopies result;
    bool has_copies = false;
    for (const Statement& statement : block) {
      const auto* branch = std::get_if<If>(&statement.form);
      if (branch != nullptr && branch->all_of.empty()) {
        HoistedCopies own = Run(*branch->then_block);
        has_copies |= !own.before.empty();
        if (!own.before.empty()) result.before.push_back(When({}, std::move(own.before)));
        result.inside.push_back(When({}, std::move(own.inside)));
        continue;
      }
      if (IsInvariantCopy(statement)) {
        has_copies = true;
        result.before.push_back(statement);
        continue;
      }
      if (IsInvariantDeclaration(statement)) {
        result.before.push_back(statement);
      } else if (const std::string* name = DeclaredName(statement)) {
        variant_.insert(*name);
      }
      result.inside.push_back(statement);
    }
    result.before = has_copies ? UsedBy(std::move(result.before)) : Block();
    return result;
  }

 private:
  bool Varies(const Statement& statement) const {
    std::set<std::string> names;
    CollectUsedNames({statement}, names);
    return std::ranges::any_of(names,
                               [&](const std::string& name) { return variant_.contains(name); });
  }

  bool IsInvariantDeclaration(const Statement& statement) {
    if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
      bases_[pointer->name] = pointer->base;
      return !Varies(statement);
    }
    return std::holds_alternative<DeclareIndex>(statement.form) && !Varies(statement);
  }

  bool IsInvariantCopy(const Statement& statement) const {
    const auto* copy = std::get_if<CopyRegion>(&statement.form);
    if (copy == nullptr || copy->is_asynchronous || copy->stages != 1 || Varies(statement)) {
      return false;
    }
    bool is_of_constants = true;
    Visit(*copy->body, {.name = [&](const std::string& name) {
      is_of_constants &= name == copy->array || IsConstant(name);
    }});
    return is_of_constants;
  }
  bool IsConstant(const std::string& name) const {
    const auto base = bases_.find(name);
    return constants_.contains(base == bases_.end() ? name : base->second);
  }

  std::set<std::string> variant_;
  const std::set<std::string>& constants_;
  std::map<std::string, std::string> bases_;  // of pointers
};

}  // namespace

Block UsedBy(Block block) {
  Block used;
  std::set<std::string> names;
  for (size_t n = block.size(); n-- > 0;) {
    const std::string* declared = DeclaredName(block[n]);
    if (declared != nullptr && !names.contains(*declared)) continue;
    CollectUsedNames({block[n]}, names);
    used.push_back(std::move(block[n]));
  }
  std::ranges::reverse(used);
  return used;
}

bool PacksConstants(const Block& body, const std::vector<ScratchBuffer>& own,
                    const std::set<std::string>& constants) {
  std::set<std::string> used, known = constants;
  CollectUsedNames(body, used);
  CollectDeclaredNames(body, known);
  for (const ScratchBuffer& buffer : own) known.insert(buffer.name);
  return std::ranges::includes(known, used);
}

HoistedCopies HoistCopies(const Block& step, std::set<std::string> variant,
                          const std::set<std::string>& constants) {
  return CopyHoister(std::move(variant), constants).Run(step);
}

}  // namespace mdh
