// From a summation string to an expression.
#include "core/einsum/einsum.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/text/source.h"
#include "core/text_view.h"

namespace mdh {
namespace {

constexpr size_t kMaxBytes = 1 << 16;

// One letter and where it stands.
struct Letter {
  char name;
  size_t offset;
};
using Word = std::vector<Letter>;

struct Syntax {
  std::vector<Word> operands;
  Word output;
};

class EinsumParser {
 public:
  explicit EinsumParser(const Source& source) : source_(source), text_(source.text()) {}

  Result<Syntax> Run() {
    if (text_.size() > kMaxBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the einsum string has ", text_.size(), " bytes; at most ", kMaxBytes, " are allowed"));
    }
    Syntax syntax;
    bool has_output = false;
    do {
      MDH_ASSIGN_OR_RETURN(Word word, ParseWord());
      syntax.operands.push_back(std::move(word));
    } while (Accept(","));
    if (syntax.operands.size() > Expression::kMaxAccesses) {
      return source_.ErrorAt(
          0, absl::StrCat("more than ", Expression::kMaxAccesses, " operands are not supported"));
    }
    if (Accept("->")) {
      has_output = true;
      MDH_ASSIGN_OR_RETURN(syntax.output, ParseWord());
    }
    if (at_ < text_.size()) {
      return source_.ErrorAt(at_, absl::StrCat("expected ", has_output ? "" : "',', '->' or ",
                                               "the end of the einsum string, found '",
                                               absl::CHexEscape(text_.substr(at_, 1)), "'"));
    }
    for (const Word& operand : syntax.operands) {
      for (const Letter& letter : operand) ++count_[letter.name];
    }
    if (!has_output) syntax.output = ImplicitOutput(syntax);
    MDH_RETURN_IF_ERROR(CheckOutput(syntax.output));
    return syntax;
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }

  bool Accept(absl::string_view symbol) {
    SkipBlanks();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }

  Result<Word> ParseWord() {
    Word word;
    for (SkipBlanks(); at_ < text_.size() && absl::ascii_isalpha(text_[at_]); SkipBlanks()) {
      word.push_back({text_[at_], at_});
      ++at_;
    }
    if (text_.substr(at_, 1) == ".") {
      return source_.ErrorAt(
          at_,
          "an ellipsis is not supported: the number of dimensions must be known; "
          "write a letter for each");
    }
    return word;
  }

  Word ImplicitOutput(const Syntax& syntax) const {
    Word output;
    for (const Word& operand : syntax.operands) {
      for (const Letter& letter : operand) {
        if (count_.at(letter.name) == 1) output.push_back(letter);
      }
    }
    std::sort(output.begin(), output.end(),
              [](const Letter& a, const Letter& b) { return a.name < b.name; });
    return output;
  }

  Status CheckOutput(const Word& output) const {
    std::map<char, int> seen;
    for (const Letter& letter : output) {
      const std::string name(1, letter.name);
      if (count_.count(letter.name) == 0) {
        return source_.ErrorAt(letter.offset, absl::StrCat("'", name, "' is in no operand"));
      }
      if (++seen[letter.name] > 1) {
        return source_.ErrorAt(letter.offset, absl::StrCat("'", name, "' is twice in the output"));
      }
    }
    return absl::OkStatus();
  }

  const Source& source_;
  absl::string_view text_;
  size_t at_ = 0;
  std::map<char, int> count_;  // of a letter in all operands
};

// Dimensions in order, each with the place of its first appearance.
Word DimensionsOf(const Syntax& syntax) {
  Word dimensions;
  std::map<char, size_t> first;
  for (const Word& operand : syntax.operands) {
    for (const Letter& letter : operand) first.try_emplace(letter.name, letter.offset);
  }
  for (const Letter& letter : syntax.output) {
    dimensions.push_back({letter.name, first.at(letter.name)});
  }
  const auto is_known = [&](char name) {
    return std::any_of(dimensions.begin(), dimensions.end(),
                       [&](const Letter& letter) { return letter.name == name; });
  };
  for (const Word& operand : syntax.operands) {
    for (const Letter& letter : operand) {
      if (!is_known(letter.name)) dimensions.push_back(letter);
    }
  }
  return dimensions;
}

Result<std::vector<Dimension>> Sizes(const Word& letters, const Bindings& sizes,
                                     const Source& source) {
  std::vector<Dimension> dimensions;
  std::string known;
  for (const Letter& letter : letters) {
    std::string name(1, letter.name);
    known += absl::StrCat(known.empty() ? "" : ", ", name);
    const auto size = sizes.find(name);
    if (size == sizes.end()) {
      return source.ErrorAt(
          letter.offset, absl::StrCat("'", name, "' has no size; give one, as in ", name, "=16"));
    }
    int64_t value = 0;
    if (!absl::SimpleAtoi(size->second, &value) || value < 0) {
      return source.ErrorAt(letter.offset, absl::StrCat("the size '", size->second, "' of '", name,
                                                        "' is no 64-bit integer from 0 on"));
    }
    dimensions.push_back({std::move(name), value});
  }
  for (const auto& [name, value] : sizes) {
    if (std::any_of(
            dimensions.begin(), dimensions.end(),
            [&letter = name](const Dimension& dimension) { return dimension.name == letter; })) {
      continue;
    }
    return source.ErrorAt(0, absl::StrCat("there is a size for '", name,
                                          "', which does not occur; the letters are ", known));
  }
  return dimensions;
}

Buffer BufferOf(std::string name, const Word& word, const Word& dimensions, ScalarType type) {
  IndexFunction access;
  for (const Letter& letter : word) {
    AffineIndex index{std::vector<int64_t>(dimensions.size(), 0), 0};
    for (size_t d = 0; d < dimensions.size(); ++d) {
      index.coefficients[d] = dimensions[d].name == letter.name ? 1 : 0;
    }
    access.indices.push_back(std::move(index));
  }
  return {.name = std::move(name), .type = type, .extents = {}, .accesses = {std::move(access)}};
}

// A, B, ..., Z, A1, ...: those that are no dimensions.
std::vector<std::string> BufferNames(size_t count, const Word& dimensions) {
  std::vector<std::string> names;
  for (size_t n = 0; names.size() < count; ++n) {
    const char letter = static_cast<char>('A' + n % 26);
    if (n < 26 && std::any_of(dimensions.begin(), dimensions.end(),
                              [&](const Letter& other) { return other.name == letter; })) {
      continue;
    }
    names.push_back(n < 26 ? std::string(1, letter) : absl::StrCat(std::string(1, letter), n / 26));
  }
  return names;
}

Result<ScalarFunction> ProductOf(const std::vector<Buffer>& inputs, ScalarType type) {
  std::vector<TypedName> parameters;
  std::vector<ScalarInstruction> instructions;
  const ScalarOp multiply = type == ScalarType::kBool ? ScalarOp::kAnd : ScalarOp::kMul;
  int product = 0;
  for (int p = 0; p < static_cast<int>(inputs.size()); ++p) {
    parameters.push_back({inputs[p].name, type});
    const int number = static_cast<int>(instructions.size());
    instructions.push_back(
        {.op = ScalarOp::kParameter, .type = type, .operands = {}, .parameter = p});
    if (p == 0) continue;
    instructions.push_back({multiply, type, {product, number}});
    product = number + 1;
  }
  return ScalarFunction::Create("f", std::move(parameters), {{"out", type}},
                                std::move(instructions), {product});
}

Result<Expression> Build(const Syntax& syntax, const Bindings& sizes, ScalarType type,
                         const Source& source) {
  const Word letters = DimensionsOf(syntax);
  if (letters.empty()) return source.ErrorAt(0, "there is no letter: nothing to compute");
  MDH_ASSIGN_OR_RETURN(std::vector<Dimension> dimensions, Sizes(letters, sizes, source));
  const std::vector<std::string> names = BufferNames(syntax.operands.size(), letters);
  std::vector<Buffer> inputs;
  for (size_t n = 0; n < names.size(); ++n) {
    inputs.push_back(BufferOf(names[n], syntax.operands[n], letters, type));
  }
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, ProductOf(inputs, type));
  MDH_ASSIGN_OR_RETURN(
      const CombineOperator sum,
      CombineOperator::PointWise(
          type == ScalarType::kBool ? PointWiseKind::kOr : PointWiseKind::kAdd, {type}));
  std::vector<CombineOperator> operators(syntax.output.size(), CombineOperator::Concat());
  operators.resize(letters.size(), sum);
  return Expression::Create({.name = "einsum",
                             .dimensions = std::move(dimensions),
                             .inputs = std::move(inputs),
                             .outputs = {BufferOf("out", syntax.output, letters, type)},
                             .function = std::move(function),
                             .combine_operators = std::move(operators)});
}

}  // namespace

Result<Expression> ParseEinsum(std::string_view text, const Bindings& sizes, ScalarType type,
                               std::string_view source_name) {
  const Source source(View(source_name), View(text));
  MDH_ASSIGN_OR_RETURN(const Syntax syntax, EinsumParser(source).Run());
  Result<Expression> expression = Build(syntax, sizes, type, source);
  // What Create says has no position of its own.
  if (expression.ok() || absl::StrContains(expression.status().message(), "\n")) return expression;
  return source.ErrorAt(0, expression.status().message(), expression.status().code());
}

Status AddSizes(std::string_view text, Bindings* sizes) {
  for (absl::string_view part : absl::StrSplit(View(text), ',')) {
    const std::vector<std::string> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string name(absl::StripAsciiWhitespace(sides[0]));
    if (sides.size() != 2 || name.size() != 1 || !absl::ascii_isalpha(name[0])) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' is no size; sizes are given as in a=24,b=16"));
    }
    const std::string value(absl::StripAsciiWhitespace(sides[1]));
    const auto [entry, is_new] = sizes->try_emplace(name, value);
    if (!is_new && entry->second != value) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' has two sizes, ", entry->second, " and ", value));
    }
  }
  return absl::OkStatus();
}

}  // namespace mdh
