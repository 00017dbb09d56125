// Definitions: names for formulas, which may use each other.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuner/space/formula/formula_lexer.h"
#include "tuner/space/formula/formula_text.h"
#include "tuner/space/formula/range.h"

namespace mdh {
namespace {

using Texts = std::map<std::string, std::string>;

// The same error, with the name of the definition in front.
Status Within(const std::string& name, const Status& error) {
  return Status(error.code(), absl::StrCat("in the definition of '", name, "': ", error.message()));
}

// Names in the text of a definition that are definitions, each once.
Result<std::vector<const Texts::value_type*>> Uses(const Texts::value_type& definition,
                                                   const Texts& definitions) {
  std::vector<const Texts::value_type*> uses;
  FormulaLexer lexer(definition.second);
  for (;;) {
    auto token = lexer.Next();
    if (!token.ok()) return Within(definition.first, token.status());
    if (token->kind == FormulaToken::Kind::kEnd) break;
    if (token->kind != FormulaToken::Kind::kName) continue;
    const auto used = definitions.find(std::string(token->text));
    if (used != definitions.end()) uses.push_back(&*used);
  }
  std::ranges::sort(uses, [](const auto* a, const auto* b) { return a->first < b->first; });
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

// Reads definitions after those that they use, without recursion: chains may be long.
class DefinitionReader {
 public:
  explicit DefinitionReader(const Texts& texts) : texts_(texts) {}

  Result<std::map<std::string, Formula>> ReadAll() {
    for (const Texts::value_type& definition : texts_) {
      MDH_RETURN_IF_ERROR(Open(definition));
      while (!open_.empty()) MDH_RETURN_IF_ERROR(Step());
    }
    return std::move(formulas_);
  }

 private:
  struct OpenDefinition {
    const Texts::value_type* definition;
    std::vector<const Texts::value_type*> uses;
    size_t next_use = 0;
  };

  Status Open(const Texts::value_type& definition) {
    const std::string& name = definition.first;
    if (formulas_.count(name) > 0) return absl::OkStatus();
    if (!is_open_.insert(name).second) return Cycle(name);
    if (definition.second.size() > kMaxFormulaLength) {
      return Within(name,
                    InvalidArgument("the formula has more than ", kMaxFormulaLength, " bytes"));
    }
    MDH_ASSIGN_OR_RETURN(auto uses, Uses(definition, texts_));
    open_.push_back({&definition, std::move(uses)});
    return absl::OkStatus();
  }

  // Opens what the innermost definition uses next, or reads it.
  Status Step() {
    OpenDefinition& innermost = open_.back();
    if (innermost.next_use < innermost.uses.size()) {
      return Open(*innermost.uses[innermost.next_use++]);
    }
    const Texts::value_type& definition = *innermost.definition;
    auto formula = ParseFormulaOver(definition.second, formulas_);
    if (!formula.ok()) return Within(definition.first, formula.status());
    formulas_.emplace(definition.first, *std::move(formula));
    is_open_.erase(definition.first);
    open_.pop_back();
    return absl::OkStatus();
  }

  Status Cycle(const std::string& name) const {
    const auto first = std::ranges::find_if(
        open_, [&](const OpenDefinition& open) { return open.definition->first == name; });
    std::string cycle;
    for (auto open = first; open != open_.end(); ++open) {
      absl::StrAppend(&cycle, open->definition->first, " -> ");
    }
    return InvalidArgument("definitions form a cycle: ", cycle, name);
  }

  const Texts& texts_;
  std::map<std::string, Formula> formulas_;
  std::set<std::string> is_open_;
  std::vector<OpenDefinition> open_;
};

}  // namespace

Result<std::map<std::string, Formula>> ParseDefinitions(
    const std::map<std::string, std::string>& definitions) {
  for (const Texts::value_type& definition : definitions) {
    if (IsParameterName(definition.first)) continue;
    return InvalidArgument(
        "the name of a definition is a C identifier that is no word of formulas, but ",
        QuotedText(definition.first), " is given");
  }
  return DefinitionReader(definitions).ReadAll();
}

}  // namespace mdh
