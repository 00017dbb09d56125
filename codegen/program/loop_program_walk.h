// Traversal of loop programs: what passes share.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "codegen/program/loop_program.h"

namespace mdh {

// Called for every part of a block, outermost first; empty functions are not called.
struct BlockVisitor {
  std::function<void(const Statement&)> statement = {};
  std::function<void(const ValueNode&)> value = {};
  std::function<void(const Index&)> index = {};
  // Names of values, pointers, arrays, flags and functions where they are used, not declared. Index
  // variables are not among them.
  std::function<void(const std::string&)> name = {};
};
void Visit(const Block& block, const BlockVisitor& visitor);
void Visit(const LoopValue& value, const BlockVisitor& visitor);

// The name that a statement declares in its block; nullptr if it declares none. The variable of a
// loop is declared in the loop's body.
const std::string* DeclaredName(const Statement& statement);
// All names declared anywhere in a block, variables of loops included.
void CollectDeclaredNames(const Block& block, std::set<std::string>& names);
// All names and variables used anywhere in a block.
void CollectUsedNames(const Block& block, std::set<std::string>& names);

// Makes a new block statement by statement. By default nothing changes; passes override what they
// change. Values that do not change are shared.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  virtual Block RewriteBlock(const Block& block);

 protected:
  // Appends what `statement` becomes to `out`. By default: itself with its parts rewritten.
  virtual void RewriteStatement(const Statement& statement, Block& out);
  virtual LoopValue RewriteValue(const LoopValue& value);
  virtual Index RewriteIndex(const Index& index) { return index; }
  // Wherever a value, pointer, array or flag is declared or used.
  virtual std::string RewriteName(const std::string& name) { return name; }
  // Where an index variable is declared.
  virtual std::string RewriteVariable(const std::string& name) { return name; }

  std::shared_ptr<const Block> RewriteInner(const std::shared_ptr<const Block>& block);
  std::vector<Condition> RewriteConditions(const std::vector<Condition>& conditions);

 private:
  class InPlace;
};

// Every variable replaced by what `replacement` gives for it; nullopt: left as it is.
Block ReplaceVariables(
    const Block& block,
    const std::function<std::optional<Index>(const std::string& variable)>& replacement);

// Every name in `renamed`, of index variables, values, pointers, arrays or flags, replaced by the
// name it maps to, where it is declared and where it is used.
Block RenameAll(const Block& block, const std::map<std::string, std::string>& renamed);

// The program with `rewrite` applied to the bodies of all functions and stages.
LoopProgram RewriteBodies(LoopProgram program, const std::function<Block(const Block&)>& rewrite);

}  // namespace mdh
