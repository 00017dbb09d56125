// Parsing with clang, and what is read from the result.
#include "core/c_loops/clang_unit.h"

#include <clang-c/Index.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/c_loops/clang_nodes.h"
#include "core/c_loops/text_limits.h"

namespace mdh {
namespace {

struct Range {
  size_t begin;
  size_t end;
};

// What #if and its like leave out.
std::vector<Range> SkippedRanges(CXTranslationUnit unit, CXFile file) {
  std::vector<Range> ranges;
  CXSourceRangeList* list = clang_getSkippedRanges(unit, file);
  if (list == nullptr) return ranges;
  for (unsigned n = 0; n < list->count; ++n) {
    unsigned begin = 0, end = 0;
    clang_getFileLocation(clang_getRangeStart(list->ranges[n]), nullptr, nullptr, nullptr, &begin);
    clang_getFileLocation(clang_getRangeEnd(list->ranges[n]), nullptr, nullptr, nullptr, &end);
    ranges.push_back({begin, end});
  }
  clang_disposeSourceRangeList(list);
  return ranges;
}

// Operators that macros hide are taken from the same function with all macros expanded. False if
// the two are not of the same shape.
bool CopyOperators(const CNode& from, CNode* to) {
  if (from.children.size() != to->children.size()) return false;
  if (to->text.empty() && !from.text.empty()) {
    to->text = from.text;
    to->kind = from.kind;
  }
  for (size_t n = 0; n < from.children.size(); ++n) {
    if (!CopyOperators(from.children[n], &to->children[n])) return false;
  }
  return true;
}

}  // namespace

struct ClangUnit::Handles {
  CXIndex index = clang_createIndex(/*excludeDeclarationsFromPCH=*/0, /*displayDiagnostics=*/0);
  CXTranslationUnit unit = nullptr;
  std::map<std::string, CXCursor> declarations;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    if (unit != nullptr) clang_disposeTranslationUnit(unit);
    clang_disposeIndex(index);
  }

  CXFile file(const std::string& name) const { return clang_getFile(unit, name.c_str()); }

  CXErrorCode Parse(const std::string& name, absl::string_view text,
                    const std::vector<std::string>& definitions) {
    std::vector<std::string> options = {
        "-x", "c", "-std=gnu11", "-Wno-everything", "-Wmacro-redefined", "-ferror-limit=0"};
    for (const std::string& definition : definitions) options.push_back("-D" + definition);
    std::vector<const char*> arguments;
    for (const std::string& option : options) arguments.push_back(option.c_str());
    CXUnsavedFile content{name.c_str(), text.data(), text.size()};
    return clang_parseTranslationUnit2(index, name.c_str(), arguments.data(),
                                       static_cast<int>(arguments.size()), &content, 1,
                                       CXTranslationUnit_DetailedPreprocessingRecord, &unit);
  }

  std::vector<CXCursor> Functions() const {
    std::vector<CXCursor> functions;
    for (const CXCursor& cursor : ChildrenOf(clang_getTranslationUnitCursor(unit))) {
      if (clang_getCursorKind(cursor) == CXCursor_FunctionDecl && IsInMainFile(cursor) &&
          clang_isCursorDefinition(cursor) != 0) {
        functions.push_back(cursor);
      }
    }
    return functions;
  }

  CXCursor Function(const std::string& name) const {
    for (const CXCursor& function : Functions()) {
      if (TakeString(clang_getCursorSpelling(function)) == name) return function;
    }
    return clang_getNullCursor();
  }
};

ClangUnit::ClangUnit(const Source& source, std::string file_name,
                     std::vector<std::string> definitions)
    : source_(source),
      file_name_(std::move(file_name)),
      definitions_(std::move(definitions)),
      handles_(std::make_unique<Handles>()) {}

ClangUnit::~ClangUnit() = default;

std::multimap<std::string, ClangUnit::Declared> ClangUnit::DeclaredVariables(
    const Source& source, const std::string& file_name) {
  using Found = std::multimap<std::string, Declared>;
  Found found;
  Handles handles;
  if (source.text().size() > kMaxBytes || !CheckTextLimits(source).ok()) return found;
  if (handles.Parse(file_name, source.text(), {}) != CXError_Success) return found;
  const auto visit = [](CXCursor cursor, CXCursor, CXClientData data) {
    const CXCursorKind kind = clang_getCursorKind(cursor);
    if (!IsInMainFile(cursor)) return CXChildVisit_Continue;
    if (kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl) {
      const bool is_statement = clang_isStatement(kind) != 0 || kind == CXCursor_FunctionDecl;
      return is_statement ? CXChildVisit_Recurse : CXChildVisit_Continue;
    }
    const CType type = TypeOf(clang_getCursorType(cursor));
    const bool has_value = kind == CXCursor_VarDecl &&
                           !clang_Cursor_isNull(clang_Cursor_getVarDeclInitializer(cursor));
    static_cast<Found*>(data)->emplace(
        TakeString(clang_getCursorSpelling(cursor)),
        Declared{DeclarationKey(cursor), type.is_scalar() && IsInteger(type.scalar), has_value});
    return CXChildVisit_Continue;
  };
  clang_visitChildren(clang_getTranslationUnitCursor(handles.unit), visit, &found);
  return found;
}

Result<std::unique_ptr<ClangUnit>> ClangUnit::Parse(const Source& source,
                                                    const std::string& file_name,
                                                    const std::vector<std::string>& definitions) {
  const absl::string_view text = source.text();
  if (text.size() > kMaxBytes) {
    return InvalidArgument("the C file has ", text.size(), " bytes; at most ", kMaxBytes,
                           " are allowed");
  }
  if (const size_t zero = text.find('\0'); zero != absl::string_view::npos) {
    return source.ErrorAt(zero, "unexpected byte 0x00");
  }
  MDH_RETURN_IF_ERROR(CheckTextLimits(source));
  std::unique_ptr<ClangUnit> unit(new ClangUnit(source, file_name, definitions));
  const CXErrorCode error = unit->handles_->Parse(file_name, text, definitions);
  if (error != CXError_Success || unit->handles_->unit == nullptr) {
    return Internal("clang failed on this file with code ", error);
  }
  MDH_RETURN_IF_ERROR(unit->ReadDiagnostics());
  unit->ReadTokens();
  return unit;
}

// The first error.
Status ClangUnit::ReadDiagnostics() const {
  const unsigned count = clang_getNumDiagnostics(handles_->unit);
  for (unsigned n = 0; n < count; ++n) {
    CXDiagnostic diagnostic = clang_getDiagnostic(handles_->unit, n);
    const CXDiagnosticSeverity severity = clang_getDiagnosticSeverity(diagnostic);
    const std::string message = TakeString(clang_getDiagnosticSpelling(diagnostic));
    CXFile file = nullptr;
    unsigned offset = 0;
    clang_getFileLocation(clang_getDiagnosticLocation(diagnostic), &file, nullptr, nullptr,
                          &offset);
    clang_disposeDiagnostic(diagnostic);
    const bool is_here = file != nullptr && clang_File_isEqual(file, handles_->file(file_name_));
    if (severity >= CXDiagnostic_Error) {
      if (is_here) return source_.ErrorAt(offset, message);
      return InvalidArgument(file == nullptr ? file_name_ : TakeString(clang_getFileName(file)),
                             ": ", message);
    }
    // The only warning that is on: a macro with a value from outside.
    if (is_here && severity == CXDiagnostic_Warning) {
      return source_.ErrorAt(offset, message,
                             "; it has a value from outside, so define it "
                             "between #ifndef and #endif");
    }
  }
  return absl::OkStatus();
}

void ClangUnit::ReadTokens() {
  CXFile file = handles_->file(file_name_);
  const std::vector<Range> skipped = SkippedRanges(handles_->unit, file);
  const CXSourceRange all = clang_getCursorExtent(clang_getTranslationUnitCursor(handles_->unit));
  CXToken* tokens = nullptr;
  unsigned count = 0;
  clang_tokenize(handles_->unit, all, &tokens, &count);
  for (unsigned n = 0; n < count; ++n) {
    if (clang_getTokenKind(tokens[n]) == CXToken_Comment) continue;
    unsigned begin = 0, end = 0;
    const CXSourceRange extent = clang_getTokenExtent(handles_->unit, tokens[n]);
    clang_getFileLocation(clang_getRangeStart(extent), nullptr, nullptr, nullptr, &begin);
    clang_getFileLocation(clang_getRangeEnd(extent), nullptr, nullptr, nullptr, &end);
    const bool is_skipped = std::ranges::any_of(
        skipped, [&](const Range& range) { return range.begin <= begin && begin < range.end; });
    if (is_skipped) continue;
    tokens_.push_back({TakeString(clang_getTokenSpelling(handles_->unit, tokens[n])), begin, end});
  }
  clang_disposeTokens(handles_->unit, tokens, count);
}

std::vector<ClangUnit::Definition> ClangUnit::Definitions() const {
  std::vector<Definition> definitions;
  for (const CXCursor& function : handles_->Functions()) {
    definitions.push_back(
        {TakeString(clang_getCursorSpelling(function)), BeginOf(function), EndOf(function)});
  }
  return definitions;
}

Result<const CFunction*> ClangUnit::Function(const std::string& name) {
  if (const auto known = functions_.find(name); known != functions_.end()) {
    return known->second.get();
  }
  const CXCursor cursor = handles_->Function(name);
  if (clang_Cursor_isNull(cursor)) return nullptr;
  auto function = std::make_unique<CFunction>();
  function->name = name;
  function->declaration = DeclarationKey(cursor);
  function->result = TypeOf(clang_getCursorResultType(cursor));
  function->offset = BeginOf(cursor);
  NodeBuilder builder(source_, tokens_, &handles_->declarations);
  for (const CXCursor& child : ChildrenOf(cursor)) {
    const CXCursorKind kind = clang_getCursorKind(child);
    if (kind != CXCursor_ParmDecl && kind != CXCursor_CompoundStmt) continue;
    MDH_ASSIGN_OR_RETURN(CNode node, builder.Build(child));
    if (kind == CXCursor_CompoundStmt) {
      function->body = std::move(node);
    } else {
      function->parameters.push_back(std::move(node));
    }
  }
  if (!builder.found_all_operators()) MDH_RETURN_IF_ERROR(ResolveOperators(name, function.get()));
  return (functions_[name] = std::move(function)).get();
}

Status ClangUnit::ResolveOperators(const std::string& name, CFunction* function) {
  const CXCursor cursor = handles_->Function(name);
  CXPrintingPolicy policy = clang_getCursorPrintingPolicy(cursor);
  const std::string printed = TakeString(clang_getCursorPrettyPrinted(cursor, policy));
  clang_PrintingPolicy_dispose(policy);
  const absl::string_view text = source_.text();
  const std::string expanded =
      absl::StrCat(text.substr(0, BeginOf(cursor)), printed, "\n", text.substr(EndOf(cursor)));
  const Source source(file_name_, expanded);
  const Status failed = source_.ErrorAt(function->offset, "the macros in '", name,
                                        "' hide operators; write them as functions");
  Result<std::unique_ptr<ClangUnit>> unit = Parse(source, file_name_, definitions_);
  if (!unit.ok()) return failed;
  const CXCursor again = (*unit)->handles_->Function(name);
  NodeBuilder builder(source, (*unit)->tokens_, &(*unit)->handles_->declarations,
                      NodeBuilder::Macros::kExpanded);
  for (const CXCursor& child : ChildrenOf(again)) {
    if (clang_getCursorKind(child) != CXCursor_CompoundStmt) continue;
    const Result<CNode> body = builder.Build(child);
    if (body.ok() && builder.found_all_operators() && CopyOperators(*body, &function->body)) {
      return absl::OkStatus();
    }
  }
  return failed;
}

Result<const CVariable*> ClangUnit::Variable(const std::string& declaration) {
  if (const auto known = variables_.find(declaration); known != variables_.end()) {
    return known->second.get();
  }
  const auto found = handles_->declarations.find(declaration);
  if (found == handles_->declarations.end()) return nullptr;
  const CXCursor cursor = found->second;
  const CXCursorKind kind = clang_getCursorKind(cursor);
  if (kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl) return nullptr;
  auto variable = std::make_unique<CVariable>();
  variable->type = TypeOf(clang_getCursorType(cursor));
  variable->offset = BeginOf(cursor);
  const CXCursorKind parent = clang_getCursorKind(clang_getCursorSemanticParent(cursor));
  variable->kind = kind == CXCursor_ParmDecl            ? CVariable::Kind::kParameter
                   : parent == CXCursor_TranslationUnit ? CVariable::Kind::kGlobal
                                                        : CVariable::Kind::kLocal;
  NodeBuilder builder(source_, tokens_, &handles_->declarations);
  const CXCursor initial = clang_Cursor_getVarDeclInitializer(cursor);
  if (!clang_Cursor_isNull(initial)) {
    MDH_ASSIGN_OR_RETURN(CNode node, builder.Build(initial));
    variable->initial_value = std::make_shared<CNode>(std::move(node));
  }
  // Sizes in the type come before the initial value, the innermost first.
  for (const CXCursor& child : ChildrenOf(cursor)) {
    if (clang_isExpression(clang_getCursorKind(child)) == 0 ||
        clang_equalCursors(child, initial) != 0) {
      continue;
    }
    MDH_ASSIGN_OR_RETURN(CNode node, builder.Build(child));
    variable->extents.insert(variable->extents.begin(), std::move(node));
  }
  return (variables_[declaration] = std::move(variable)).get();
}

}  // namespace mdh
