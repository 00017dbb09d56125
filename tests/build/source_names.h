// The names that a source or header declares at namespace scope, found in its text: as much of
// C++'s grammar as the project's style needs, in no compiler's time.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mdh {

struct SourceName {
  std::string name;     // without its namespace; of operators "operator" alone
  int line = 0;         // from 1
  bool is_own = false;  // in an unnamed namespace, static, a type, an alias or a macro
  std::string alias;    // of an alias what it stands for, as in the text; else ""
};

// In the order of the text. Of types only definitions, of members that are defined outside of their
// class nothing, of macros those that are still defined at the end, of GoogleTest's tests nothing,
// and nothing of namespaces within others (a::b), which tests have one each.
std::vector<SourceName> NamesAtNamespaceScope(std::string_view text);

}  // namespace mdh
