// The grammar of annotations.
#include "core/c_loops/annotation.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// End of the line that `offset` is in, lines that end in a backslash continued.
size_t EndOfLine(absl::string_view text, size_t offset) {
  for (;;) {
    const size_t newline = text.find('\n', offset);
    if (newline == absl::string_view::npos) return text.size();
    size_t last = newline;
    if (last > 0 && text[last - 1] == '\r') --last;
    if (last == 0 || text[last - 1] != '\\') return newline;
    offset = newline + 1;
  }
}

class AnnotationParser {
 public:
  // Reads the tokens from `first` that start before `end`.
  AnnotationParser(const ClangUnit& unit, size_t first, size_t end)
      : unit_(unit), at_(first), end_(end) {}

  Result<Annotation> Run() {
    Annotation annotation;
    while (!AtEnd()) {
      const CToken clause = Next();
      if (clause.text == "out") {
        MDH_RETURN_IF_ERROR(Once(clause, annotation.outputs.has_value()));
        MDH_ASSIGN_OR_RETURN(annotation.outputs, Names());
      } else if (clause.text == "inp") {
        MDH_RETURN_IF_ERROR(Once(clause, annotation.inputs.has_value()));
        MDH_ASSIGN_OR_RETURN(annotation.inputs, Names());
      } else if (clause.text == "keep") {
        MDH_RETURN_IF_ERROR(Once(clause, annotation.kept.has_value()));
        MDH_ASSIGN_OR_RETURN(annotation.kept, Names());
      } else if (clause.text == "combine_ops") {
        MDH_RETURN_IF_ERROR(Once(clause, annotation.operators.has_value()));
        MDH_ASSIGN_OR_RETURN(annotation.operators, Operators());
      } else {
        return Error(clause.begin, "expected 'out', 'inp', 'keep' or 'combine_ops', found '",
                     clause.text, "'");
      }
    }
    return annotation;
  }

 private:
  bool AtEnd() const { return at_ >= unit_.tokens().size() || unit_.tokens()[at_].begin >= end_; }
  bool NextIs(absl::string_view text) const { return !AtEnd() && unit_.tokens()[at_].text == text; }
  // At the end: an empty token there.
  CToken Next() { return AtEnd() ? CToken{"", end_, end_} : unit_.tokens()[at_++]; }
  bool Accept(absl::string_view text) {
    if (!NextIs(text)) return false;
    ++at_;
    return true;
  }
  template <typename... Parts>
  Status Error(size_t offset, const Parts&... message) const {
    return unit_.source().ErrorAt(offset, message...);
  }
  Status Unexpected(absl::string_view expected, const CToken& found) const {
    return Error(
        found.begin, "expected ", expected, ", found ",
        found.text.empty() ? "the end of the annotation" : absl::StrCat("'", found.text, "'"));
  }
  Status Expect(absl::string_view text) {
    const CToken token = Next();
    if (token.text == text) return absl::OkStatus();
    return Unexpected(absl::StrCat("'", text, "'"), token);
  }
  Status Once(const CToken& clause, bool was_there) const {
    if (!was_there) return absl::OkStatus();
    return Error(clause.begin, "'", clause.text, "' is given twice");
  }

  Result<std::vector<AnnotatedName>> Names() {
    MDH_RETURN_IF_ERROR(Expect("("));
    std::vector<AnnotatedName> names;
    if (Accept(")")) return names;
    do {
      const CToken name = Next();
      if (name.text.empty() || (!absl::ascii_isalpha(name.text[0]) && name.text[0] != '_')) {
        return Unexpected("the name of a buffer", name);
      }
      for (const AnnotatedName& other : names) {
        if (other.name == name.text) return Error(name.begin, "'", name.text, "' is given twice");
      }
      names.push_back({name.text, name.begin});
    } while (Accept(","));
    MDH_RETURN_IF_ERROR(Expect(")"));
    return names;
  }

  Result<std::vector<AnnotatedOperator>> Operators() {
    MDH_RETURN_IF_ERROR(Expect("("));
    std::vector<AnnotatedOperator> operators;
    do {
      using Kind = AnnotatedOperator::Kind;
      const CToken token = Next();
      AnnotatedOperator combine{Kind::kConcat, token.begin, {}};
      if (token.text == "pw" || token.text == "ps") {
        combine.kind = token.text == "pw" ? Kind::kPointWise : Kind::kPrefixSum;
        MDH_RETURN_IF_ERROR(Functions(&combine));
      } else if (token.text != "cc") {
        return Unexpected("'cc', 'pw(...)' or 'ps(...)'", token);
      }
      operators.push_back(std::move(combine));
    } while (Accept(","));
    MDH_RETURN_IF_ERROR(Expect(")"));
    return operators;
  }

  Status Functions(AnnotatedOperator* combine) {
    MDH_RETURN_IF_ERROR(Expect("("));
    do {
      const CToken function = Next();
      if (function.text.empty() || absl::StrContains("(),;", function.text)) {
        return Unexpected("an operator or the name of a function", function);
      }
      combine->functions.push_back({function.text, function.begin});
    } while (Accept(","));
    return Expect(")");
  }

  const ClangUnit& unit_;
  size_t at_;
  size_t end_;
};

// Behind the brace that closes the one at `open`.
size_t EndOfBlock(const std::vector<CToken>& tokens, size_t open) {
  int depth = 0;
  for (size_t n = open; n < tokens.size(); ++n) {
    if (tokens[n].text == "{") ++depth;
    if (tokens[n].text == "}" && --depth == 0) return tokens[n].end;
  }
  return tokens[open].begin;
}

}  // namespace

Result<std::vector<Annotation>> FindAnnotations(const ClangUnit& unit) {
  const std::vector<CToken>& tokens = unit.tokens();
  std::vector<Annotation> annotations;
  for (size_t n = 0; n + 2 < tokens.size(); ++n) {
    if (tokens[n].text != "#" || tokens[n + 1].text != "pragma" || tokens[n + 2].text != "mdh") {
      continue;
    }
    const size_t end = EndOfLine(unit.source().text(), tokens[n].begin);
    MDH_ASSIGN_OR_RETURN(Annotation annotation, AnnotationParser(unit, n + 3, end).Run());
    annotation.offset = tokens[n].begin;
    annotation.loop = annotation.end = end;
    for (size_t next = n + 3; next < tokens.size(); ++next) {
      if (tokens[next].begin < end) continue;
      annotation.loop = annotation.end = tokens[next].begin;
      if (tokens[next].text == "{") annotation.end = EndOfBlock(tokens, next);
      break;
    }
    const bool is_inner = !annotations.empty() && annotation.offset < annotations.back().end;
    (is_inner ? annotations.back().inner : annotations).push_back(std::move(annotation));
  }
  return annotations;
}

}  // namespace mdh
