#include "tests/build/source_names.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "tests/build/source_tokens.h"

namespace mdh {
namespace {

using Tokens = std::vector<SourceToken>;

bool IsOneOf(const SourceToken& token, std::initializer_list<std::string_view> texts) {
  return std::find(texts.begin(), texts.end(), token.text) != texts.end();
}

bool IsWord(const SourceToken& token) { return token.kind == SourceToken::Kind::kWord; }

// GoogleTest's macros look like functions; that no two tests have one name it checks itself.
bool IsTest(const SourceToken& token) {
  return IsOneOf(token, {"TEST", "TEST_F", "TEST_P", "INSTANTIATE_TEST_SUITE_P"});
}

// A declaration up to its body, initializer or semicolon; what is in brackets is left out, but not
// that there are brackets: "int F(double x) {" is int, F, (.
class Head {
 public:
  void Add(const SourceToken& token) { tokens_.push_back(token); }
  bool IsEmpty() const { return tokens_.empty(); }
  bool EndsWithName() const { return IsWord(tokens_.back()) || tokens_.back().text == "<"; }

  bool IsFunction() const { return Parameters() != tokens_.size(); }
  bool IsType() const {
    return !IsFunction() && IsOneOf(tokens_.front(), {"class", "struct", "union", "enum"});
  }
  bool IsStatic() const { return Has("static"); }
  bool IsAlias() const { return IsOneOf(tokens_.front(), {"using", "namespace"}); }

  std::string Text() const {
    std::string text;
    for (const SourceToken& token : tokens_) text.append(token.text);
    return text;
  }

  // The word that is declared; nullptr: a member of something else is, or nothing.
  const SourceToken* Name() const {
    if (IsType()) return NameOfType();
    if (IsAlias() && Has("enum")) return nullptr;
    size_t end = Parameters();
    while (end > 0 && !IsWord(tokens_[end - 1])) --end;
    if (end == 0) return nullptr;
    const bool is_member = end > 1 && !IsAlias() && IsOneOf(tokens_[end - 2], {"::", "~"});
    return is_member ? nullptr : &tokens_[end - 1];
  }

 private:
  bool Has(std::string_view word) const {
    return std::any_of(tokens_.begin(), tokens_.end(),
                       [&](const SourceToken& token) { return token.text == word; });
  }

  // The index of a function's "("; of other declarations the number of tokens.
  size_t Parameters() const {
    for (size_t i = 1; i < tokens_.size(); ++i) {
      if (tokens_[i].text == "(" &&
          !IsOneOf(tokens_[i - 1], {"alignas", "__attribute__", "decltype"})) {
        return i;
      }
    }
    return tokens_.size();
  }

  const SourceToken* NameOfType() const {
    for (size_t i = 1; i < tokens_.size(); ++i) {
      if (!IsWord(tokens_[i]) || IsOneOf(tokens_[i], {"class", "struct", "alignas"})) continue;
      const bool is_member = i + 1 < tokens_.size() && tokens_[i + 1].text == "::";
      return is_member ? nullptr : &tokens_[i];
    }
    return nullptr;
  }

  Tokens tokens_;
};

class NameReader {
 public:
  explicit NameReader(Tokens tokens) : tokens_(std::move(tokens)) {}

  std::vector<SourceName> Run() {
    while (!AtEnd()) {
      if (Now().kind == SourceToken::Kind::kDirective) {
        ReadDirective();
      } else if (Now().text == "}") {
        if (!scopes_.empty()) scopes_.pop_back();
        ++at_;
      } else if (Now().text == ";") {
        ++at_;
      } else if (Now().text == "static_assert") {
        SkipPast(";");
      } else if (!EnterScope()) {
        ReadDeclaration();
      }
    }
    return std::move(names_);
  }

 private:
  bool AtEnd() const { return at_ >= tokens_.size(); }
  const SourceToken& Now() const { return tokens_[at_]; }
  std::string_view TextAfter(size_t count) const {
    return at_ + count < tokens_.size() ? tokens_[at_ + count].text : "";
  }

  void Add(const Head& head) {
    if (head.IsEmpty() || head.Name() == nullptr || IsTest(*head.Name())) return;
    if (head.IsType() && TextAfter(0) == ";") return;  // a forward declaration
    if (std::find(scopes_.begin(), scopes_.end(), "inner") != scopes_.end()) return;
    const bool is_unnamed = std::find(scopes_.begin(), scopes_.end(), "") != scopes_.end();
    const bool is_own = is_unnamed || head.IsType() || head.IsAlias() || head.IsStatic();
    names_.push_back({.name = std::string(head.Name()->text),
                      .line = head.Name()->line,
                      .is_own = is_own,
                      .alias = head.IsAlias() ? head.Text() + TextUntil(";") : ""});
  }

  // Of the tokens from here on.
  std::string TextUntil(std::string_view end) const {
    std::string text;
    for (size_t i = at_; i < tokens_.size() && tokens_[i].text != end; ++i) text += tokens_[i].text;
    return text;
  }

  void SkipBracketsOrToken() {
    if (IsOneOf(Now(), {"(", "[", "{"})) {
      SkipBrackets();
    } else {
      ++at_;
    }
  }

  // Past the bracket that closes the one here.
  void SkipBrackets() {
    const std::string_view open = Now().text;
    const std::string_view close = open == "(" ? ")" : open == "[" ? "]" : open == "{" ? "}" : ">";
    const bool is_angle = open == "<";  // elsewhere it compares
    ++at_;
    while (!AtEnd() && Now().text != close) {
      is_angle&& Now().text == "<" ? SkipBrackets() : SkipBracketsOrToken();
    }
    ++at_;
  }

  void SkipPast(std::string_view end) {
    while (!AtEnd() && Now().text != end) SkipBracketsOrToken();
    ++at_;
  }

  // #define NAME and #undef NAME.
  void ReadDirective() {
    const Tokens words = SourceTokens(Now().text.substr(1));
    if (words.size() > 1 && words[0].text == "define") {
      names_.push_back(
          {.name = std::string(words[1].text), .line = Now().line, .is_own = true, .alias = ""});
    } else if (words.size() > 1 && words[0].text == "undef") {
      std::erase_if(names_, [&](const SourceName& name) { return name.name == words[1].text; });
    }
    ++at_;
  }

  // namespace a::b {, namespace {, extern "C" {. False: something else is here.
  bool EnterScope() {
    if (!IsOneOf(Now(), {"namespace", "extern"})) return false;
    size_t size = 1;
    while (TextAfter(size) == "::" || TextAfter(size).starts_with('"') ||
           (at_ + size < tokens_.size() && IsWord(tokens_[at_ + size]))) {
      ++size;
    }
    if (TextAfter(size) != "{") return false;
    const bool is_inner = size > 2 && TextAfter(size - 2) == "::";
    scopes_.push_back(TextAfter(size - 1) == "namespace" ? "" : is_inner ? "inner" : "named");
    at_ += size + 1;
    return true;
  }

  void ReadDeclaration() {
    const Head head = ReadHead();
    Add(head);
    if (AtEnd()) return;
    if (Now().text == "{" && head.IsFunction()) {
      SkipBrackets();
    } else {
      SkipPast(";");
    }
  }

  // Up to "{", "=" or ";", but for the braces in the initializers of a constructor's members.
  Head ReadHead() {
    Head head;
    bool has_initializers = false;
    while (!AtEnd() && !IsOneOf(Now(), {"=", ";"})) {
      if (Now().text == "{" && !(has_initializers && head.EndsWithName())) break;
      if (Now().text == ":" && head.IsFunction()) has_initializers = true;
      if (Now().text == "template") {
        ++at_;
        SkipBrackets();
      } else if (Now().text == "operator") {
        head.Add(Now());
        SkipOperator();
      } else {
        if (Now().kind != SourceToken::Kind::kDirective) head.Add(Now());
        Now().text == "<" ? SkipBrackets() : SkipBracketsOrToken();
      }
    }
    return head;
  }

  // Up to the parameters of an operator; "operator()" has two pairs of parentheses.
  void SkipOperator() {
    at_ += TextAfter(1) == "(" ? 3 : 1;
    while (!AtEnd() && Now().text != "(") ++at_;
  }

  Tokens tokens_;
  size_t at_ = 0;
  std::vector<std::string_view> scopes_;  // "" for unnamed ones, "inner" for a::b
  std::vector<SourceName> names_;
};

}  // namespace

std::vector<SourceName> NamesAtNamespaceScope(std::string_view text) {
  return NameReader(SourceTokens(text)).Run();
}

}  // namespace mdh
