// A C file as clang sees it (libclang's C interface): the only files that include its headers are
// clang_unit.cc and clang_nodes.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/base/status.h"
#include "core/c_loops/c_syntax.h"

namespace mdh {

struct CToken {
  std::string text;
  size_t begin;
  size_t end;
};

class ClangUnit {
 public:
  static constexpr size_t kMaxBytes = 1 << 18;

  // `definitions`: macros, as NAME=VALUE. `source` must outlive the unit.
  // Errors: InvalidArgument for texts over kMaxBytes and for what clang reports as errors, with its
  // positions; Internal if clang fails.
  static Result<std::unique_ptr<ClangUnit>> Parse(const Source& source,
                                                  const std::string& file_name,
                                                  const std::vector<std::string>& definitions);
  ~ClangUnit();
  // The variables of the file by their names, found also where the text has errors.
  struct Declared {
    std::string declaration;
    bool is_integer;
    bool has_value;
  };
  static std::multimap<std::string, Declared> DeclaredVariables(const Source& source,
                                                                const std::string& file_name);
  ClangUnit(const ClangUnit&) = delete;
  ClangUnit& operator=(const ClangUnit&) = delete;

  const Source& source() const { return source_; }
  // All tokens of the file without comments and without what #if leaves out.
  const std::vector<CToken>& tokens() const { return tokens_; }
  // Names and offsets of the functions that the file defines.
  struct Definition {
    std::string name;
    size_t begin;
    size_t end;
  };
  std::vector<Definition> Definitions() const;

  // The function called `name`; null if the file does not define it. Errors: InvalidArgument with
  // position if it is nested too deeply.
  Result<const CFunction*> Function(const std::string& name);
  // The variable of a reference; null if it is no variable of this file.
  Result<const CVariable*> Variable(const std::string& declaration);

 private:
  struct Handles;
  ClangUnit(const Source& source, std::string file_name, std::vector<std::string> definitions);
  Status ReadDiagnostics() const;
  void ReadTokens();
  Status ResolveOperators(const std::string& name, CFunction* function);

  const Source& source_;
  std::string file_name_;
  std::vector<std::string> definitions_;
  std::unique_ptr<Handles> handles_;
  std::vector<CToken> tokens_;
  std::map<std::string, std::unique_ptr<CFunction>> functions_;
  std::map<std::string, std::unique_ptr<CVariable>> variables_;
};

}  // namespace mdh
