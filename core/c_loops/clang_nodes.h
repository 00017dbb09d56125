// From libclang's cursors to CNode.
#pragma once

#include <clang-c/Index.h>

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/c_loops/c_syntax.h"
#include "core/c_loops/clang_unit.h"

namespace mdh {

// The text, which is disposed of.
std::string TakeString(CXString text);

// Offset in the file where the cursor starts and ends; of what a macro expands to, those of its
// use.
size_t BeginOf(CXCursor cursor);
size_t EndOf(CXCursor cursor);
bool IsInMainFile(CXCursor cursor);

// "name@offset" of a declaration of this file; "" of others.
std::string DeclarationKey(CXCursor declaration);

std::vector<CXCursor> ChildrenOf(CXCursor cursor);

CType TypeOf(CXType type);

// Converts statements and expressions. Declarations that are referred to are added to
// *declarations.
class NodeBuilder {
 public:
  // Whether the text may still have macros: then a comma may be that of a macro's arguments.
  enum class Macros { kPossible, kExpanded };

  NodeBuilder(const Source& source, const std::vector<CToken>& tokens,
              std::map<std::string, CXCursor>* declarations, Macros macros = Macros::kPossible)
      : source_(source), tokens_(tokens), declarations_(declarations), macros_(macros) {}

  // An operator that a macro hides is "" in the tree, and found_all_operators() false.
  // Errors: InvalidArgument with position for what is nested too deeply.
  Result<CNode> Build(CXCursor cursor);
  bool found_all_operators() const { return found_all_operators_; }

 private:
  Result<CNode> BuildAtDepth(CXCursor cursor);
  Status AddChildren(const std::vector<CXCursor>& children, CNode* node);
  Status BuildDeclaration(CXCursor cursor, CNode* node);
  Status BuildExpression(CXCursor cursor, const std::vector<CXCursor>& children, CNode* node);
  Status BuildCall(CXCursor cursor, const std::vector<CXCursor>& children, CNode* node);
  void BuildUnary(CXCursor cursor, const std::vector<CXCursor>& children, CNode* node);
  // The token between the two.
  std::string OperatorBetween(CXCursor left, CXCursor right);
  const CToken* FirstTokenFrom(size_t offset) const;
  void Refer(CXCursor declaration, CNode* node);

  const Source& source_;
  const std::vector<CToken>& tokens_;
  std::map<std::string, CXCursor>* declarations_;
  Macros macros_;
  bool found_all_operators_ = true;
  int depth_ = 0;
};

}  // namespace mdh
