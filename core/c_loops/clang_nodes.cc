// What libclang does not tell, the spelling of operators, is read from the tokens.
#include "core/c_loops/clang_nodes.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;

constexpr int kMaxDepth = 600;

size_t OffsetOf(CXSourceLocation location) {
  unsigned offset = 0;
  clang_getFileLocation(location, nullptr, nullptr, nullptr, &offset);
  return offset;
}

bool IsBinaryOperator(const std::string& text) {
  static const auto* operators = new std::set<std::string>{
      "+", "-",  "*",  "/", "%",  "<<", ">>", "<",  "<=", ">",   ">=",  "==", "!=", "&", "^",
      "|", "&&", "||", "=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="};
  return operators->count(text) > 0;
}

bool IsUnaryOperator(const std::string& text) {
  static const auto* operators =
      new std::set<std::string>{"+", "-", "!", "~", "++", "--", "*", "&"};
  return operators->count(text) > 0;
}

std::optional<ScalarValue> LiteralValue(CXCursor cursor, const CType& type) {
  if (!type.is_scalar()) return std::nullopt;
  CXEvalResult result = clang_Cursor_Evaluate(cursor);
  if (result == nullptr) return std::nullopt;
  std::optional<ScalarValue> value;
  const CXEvalResultKind kind = clang_EvalResult_getKind(result);
  if (kind == CXEval_Int && !IsFloatingPoint(type.scalar)) {
    const int64_t integer = clang_EvalResult_getAsLongLong(result);
    value = type.scalar == ScalarType::kBool ? ScalarValue::Bool(integer != 0)
                                             : ScalarValue::Integer(type.scalar, integer);
  } else if (kind == CXEval_Float && IsFloatingPoint(type.scalar)) {
    value = ScalarValue::Real(type.scalar, clang_EvalResult_getAsDouble(result));
  }
  clang_EvalResult_dispose(result);
  return value;
}

bool IsExpression(CXCursor cursor) { return clang_isExpression(clang_getCursorKind(cursor)) != 0; }

Kind StatementKind(CXCursorKind kind) {
  switch (kind) {
    case CXCursor_CompoundStmt:
      return Kind::kCompound;
    case CXCursor_DeclStmt:
      return Kind::kDeclarations;
    case CXCursor_ForStmt:
      return Kind::kFor;
    case CXCursor_IfStmt:
      return Kind::kIf;
    case CXCursor_ReturnStmt:
      return Kind::kReturn;
    case CXCursor_NullStmt:
      return Kind::kEmpty;
    default:
      return Kind::kOther;
  }
}

// In the words of C.
std::string NameOfKind(CXCursorKind kind) {
  switch (kind) {
    case CXCursor_WhileStmt:
      return "a while loop";
    case CXCursor_DoStmt:
      return "a do loop";
    case CXCursor_BreakStmt:
      return "break";
    case CXCursor_ContinueStmt:
      return "continue";
    case CXCursor_GotoStmt:
    case CXCursor_IndirectGotoStmt:
      return "goto";
    case CXCursor_SwitchStmt:
      return "switch";
    case CXCursor_LabelStmt:
      return "a label";
    case CXCursor_StringLiteral:
      return "a string";
    case CXCursor_AddrLabelExpr:
      return "the address of a label";
    case CXCursor_StmtExpr:
      return "a statement in an expression";
    default:
      return absl::StrCat("'", TakeString(clang_getCursorKindSpelling(kind)), "'");
  }
}

}  // namespace

std::string TakeString(CXString text) {
  const char* characters = clang_getCString(text);
  std::string result = characters == nullptr ? "" : characters;
  clang_disposeString(text);
  return result;
}

size_t BeginOf(CXCursor cursor) {
  return OffsetOf(clang_getRangeStart(clang_getCursorExtent(cursor)));
}

size_t EndOf(CXCursor cursor) { return OffsetOf(clang_getRangeEnd(clang_getCursorExtent(cursor))); }

// What a macro expands to is where the macro is used, which clang_Location_isFromMainFile alone
// does not see.
bool IsInMainFile(CXCursor cursor) {
  CXFile file = nullptr;
  unsigned offset = 0;
  clang_getFileLocation(clang_getCursorLocation(cursor), &file, nullptr, nullptr, &offset);
  if (file == nullptr) return false;
  return clang_Location_isFromMainFile(clang_getLocationForOffset(
             clang_Cursor_getTranslationUnit(cursor), file, offset)) != 0;
}

std::string DeclarationKey(CXCursor declaration) {
  if (clang_Cursor_isNull(declaration) || !IsInMainFile(declaration)) return "";
  const CXSourceLocation location = clang_getCursorLocation(declaration);
  std::string key =
      absl::StrCat(TakeString(clang_getCursorSpelling(declaration)), "@", OffsetOf(location));
  // One use of a macro can declare several variables of one name.
  if (clang_Location_isFromMainFile(location) == 0) {
    absl::StrAppend(&key, "#", clang_hashCursor(declaration));
  }
  return key;
}

std::vector<CXCursor> ChildrenOf(CXCursor cursor) {
  std::vector<CXCursor> children;
  clang_visitChildren(
      cursor,
      [](CXCursor child, CXCursor, CXClientData data) {
        static_cast<std::vector<CXCursor>*>(data)->push_back(child);
        return CXChildVisit_Continue;
      },
      &children);
  return children;
}

Result<CNode> NodeBuilder::Build(CXCursor cursor) {
  if (++depth_ > kMaxDepth) {
    return source_.ErrorAt(BeginOf(cursor), "this is nested deeper than ", kMaxDepth, " levels");
  }
  Result<CNode> node = BuildAtDepth(cursor);
  --depth_;
  return node;
}

Status NodeBuilder::AddChildren(const std::vector<CXCursor>& children, CNode* node) {
  for (const CXCursor& child : children) {
    MDH_ASSIGN_OR_RETURN(CNode built, Build(child));
    node->children.push_back(std::move(built));
  }
  return absl::OkStatus();
}

Result<CNode> NodeBuilder::BuildAtDepth(CXCursor cursor) {
  const CXCursorKind kind = clang_getCursorKind(cursor);
  CNode node;
  node.begin = BeginOf(cursor);
  node.end = EndOf(cursor);
  if (kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl) {
    MDH_RETURN_IF_ERROR(BuildDeclaration(cursor, &node));
    return node;
  }
  const std::vector<CXCursor> children = ChildrenOf(cursor);
  if (IsExpression(cursor) || kind == CXCursor_BinaryOperator) {
    MDH_RETURN_IF_ERROR(BuildExpression(cursor, children, &node));
    return node;
  }
  node.kind = StatementKind(kind);
  // libclang does not say which part is missing.
  if (node.kind == Kind::kFor && children.size() != 4) return node;
  if (node.kind == Kind::kOther) {
    node.text = NameOfKind(kind);
    return node;
  }
  MDH_RETURN_IF_ERROR(AddChildren(children, &node));
  return node;
}

Status NodeBuilder::BuildDeclaration(CXCursor cursor, CNode* node) {
  node->kind = Kind::kDeclaration;
  node->type = TypeOf(clang_getCursorType(cursor));
  node->text = TakeString(clang_getCursorSpelling(cursor));
  node->declaration = DeclarationKey(cursor);
  if (!node->declaration.empty()) declarations_->emplace(node->declaration, cursor);
  if (clang_getCursorKind(cursor) == CXCursor_ParmDecl) return absl::OkStatus();
  const CXCursor initial = clang_Cursor_getVarDeclInitializer(cursor);
  if (clang_Cursor_isNull(initial)) return absl::OkStatus();
  return AddChildren({initial}, node);
}

Status NodeBuilder::BuildExpression(CXCursor cursor, const std::vector<CXCursor>& children,
                                    CNode* node) {
  node->type = TypeOf(clang_getCursorType(cursor));
  const CXCursorKind kind = clang_getCursorKind(cursor);
  const std::optional<ScalarValue> value = LiteralValue(cursor, node->type);
  if (value.has_value() && !IsFloatingPoint(node->type.scalar)) node->constant = value->as_int64();
  switch (kind) {
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_CharacterLiteral:
      node->kind = value.has_value() ? Kind::kLiteral : Kind::kOther;
      node->value = value;
      node->text = "a literal of this type";
      return absl::OkStatus();
    case CXCursor_DeclRefExpr:
      Refer(clang_getCursorReferenced(cursor), node);
      return absl::OkStatus();
    case CXCursor_ParenExpr:
    case CXCursor_UnexposedExpr:
    case CXCursor_CStyleCastExpr:
      // The type that is written in a cast is a child, too.
      node->kind = Kind::kOther;
      node->text = NameOfKind(kind);
      for (const CXCursor& child : children) {
        if (!IsExpression(child)) continue;
        node->kind = Kind::kConvert;
        return AddChildren({child}, node);
      }
      return absl::OkStatus();
    case CXCursor_CallExpr:
      return BuildCall(cursor, children, node);
    case CXCursor_UnaryOperator:
      BuildUnary(cursor, children, node);
      return AddChildren(children, node);
    case CXCursor_MemberRefExpr:
      node->kind = Kind::kMember;
      node->text = TakeString(clang_getCursorSpelling(cursor));
      return AddChildren(children, node);
    case CXCursor_ArraySubscriptExpr:
      node->kind = Kind::kSubscript;
      return AddChildren(children, node);
    case CXCursor_ConditionalOperator:
      node->kind = Kind::kConditional;
      return AddChildren(children, node);
    case CXCursor_InitListExpr:
      node->kind = Kind::kList;
      return AddChildren(children, node);
    case CXCursor_CompoundLiteralExpr:
      node->kind = Kind::kConvert;
      return AddChildren({children.back()}, node);
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator: {
      node->text = OperatorBetween(children[0], children[1]);
      const bool assigns = kind == CXCursor_CompoundAssignOperator || node->text == "=";
      node->kind = assigns ? Kind::kAssign : Kind::kBinary;
      return AddChildren(children, node);
    }
    default:
      // sizeof and the like: their value is all that counts.
      node->kind = value.has_value() ? Kind::kLiteral : Kind::kOther;
      node->value = value;
      node->text = NameOfKind(kind);
      return absl::OkStatus();
  }
}

Status NodeBuilder::BuildCall(CXCursor cursor, const std::vector<CXCursor>& children, CNode* node) {
  node->kind = Kind::kCall;
  node->text = TakeString(clang_getCursorSpelling(cursor));
  node->declaration = DeclarationKey(clang_getCursorReferenced(cursor));
  if (node->text.empty() || children.empty()) {
    node->kind = Kind::kOther;
    node->text = "a call through a pointer";
    return absl::OkStatus();
  }
  return AddChildren({children.begin() + 1, children.end()}, node);
}

void NodeBuilder::BuildUnary(CXCursor cursor, const std::vector<CXCursor>& children, CNode* node) {
  const size_t begin = BeginOf(cursor), operand = BeginOf(children[0]);
  const CToken* token = FirstTokenFrom(begin < operand ? begin : EndOf(children[0]));
  node->kind = Kind::kUnary;
  if (token != nullptr && IsUnaryOperator(token->text) && token->end <= EndOf(cursor)) {
    node->text = token->text;
  } else {
    found_all_operators_ = false;
  }
  if (node->text == "*") node->kind = Kind::kDereference;
}

std::string NodeBuilder::OperatorBetween(CXCursor left, CXCursor right) {
  const CToken* token = FirstTokenFrom(EndOf(left));
  if (token != nullptr && token->end <= BeginOf(right)) {
    const bool is_comma = macros_ == Macros::kExpanded && token->text == ",";
    if (is_comma || IsBinaryOperator(token->text)) return token->text;
  }
  found_all_operators_ = false;
  return "";
}

const CToken* NodeBuilder::FirstTokenFrom(size_t offset) const {
  const auto token = std::ranges::lower_bound(tokens_, offset, {}, &CToken::begin);
  return token == tokens_.end() ? nullptr : &*token;
}

void NodeBuilder::Refer(CXCursor declaration, CNode* node) {
  node->text = TakeString(clang_getCursorSpelling(declaration));
  if (node->constant.has_value()) {
    // Enumerators and constants.
    node->kind = Kind::kLiteral;
    node->value = node->type.scalar == ScalarType::kBool
                      ? ScalarValue::Bool(*node->constant != 0)
                      : ScalarValue::Integer(node->type.scalar, *node->constant);
    return;
  }
  node->kind = Kind::kReference;
  node->declaration = DeclarationKey(declaration);
  if (!node->declaration.empty()) declarations_->emplace(node->declaration, declaration);
}

}  // namespace mdh
