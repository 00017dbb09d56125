// From a summation string to an expression.
#include "core/einsum/einsum.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/einsum/einsum_epilogue.h"
#include "core/einsum/einsum_syntax.h"
#include "core/scalar/free_names.h"

namespace mdh {
namespace {

using Word = EinsumWord;

// Dimensions in order, each with the place of its first appearance.
Word DimensionsOf(const EinsumSyntax& syntax) {
  Word dimensions;
  std::map<std::string, size_t> first;
  for (const Word& operand : syntax.operands) {
    for (const EinsumLetter& letter : operand) first.try_emplace(letter.name, letter.offset);
  }
  for (const EinsumLetter& letter : syntax.output) {
    dimensions.push_back({letter.name, first.at(letter.name)});
  }
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(dimensions,
                               [&](const EinsumLetter& letter) { return letter.name == name; });
  };
  for (const Word& operand : syntax.operands) {
    for (const EinsumLetter& letter : operand) {
      if (!is_known(letter.name)) dimensions.push_back(letter);
    }
  }
  return dimensions;
}

// Sizes that the shapes give, by name. Errors: InvalidArgument where they do not fit.
Result<std::map<std::string, int64_t>> SizesOfShapes(const EinsumSyntax& syntax,
                                                     const EinsumOptions& options,
                                                     const Source& source) {
  std::map<std::string, int64_t> sizes;
  for (size_t n = 0; n < options.shapes.size(); ++n) {
    std::map<std::string, int64_t> own;
    for (size_t x = 0; x < options.shapes[n].size(); ++x) {
      const EinsumLetter& letter = syntax.operands[n][x];
      const int64_t extent = options.shapes[n][x];
      if (extent < 0) {
        return source.ErrorAt(letter.offset, "an extent of operand ", n + 1, " is ", extent,
                              ", which is negative");
      }
      const auto [same, is_first] = own.try_emplace(letter.name, extent);
      int64_t& size = sizes.try_emplace(letter.name, extent).first->second;
      if (size == 1) size = extent;
      if ((!is_first && same->second != extent) || (extent != 1 && extent != size)) {
        return source.ErrorAt(letter.offset, "'", letter.name, "' has ", extent,
                              " elements in operand ", n + 1, ", but ",
                              is_first ? size : same->second, " before");
      }
    }
  }
  return sizes;
}

// What --size gives for a letter, or its shape. Errors: InvalidArgument.
Result<int64_t> LetterSize(const EinsumLetter& letter, const Bindings& sizes,
                           const std::map<std::string, int64_t>& of_shapes, const Source& source) {
  const auto given = sizes.find(letter.name);
  const auto shaped = of_shapes.find(letter.name);
  if (given == sizes.end() && shaped == of_shapes.end()) {
    return source.ErrorAt(letter.offset, "'", letter.name, "' has no size; give one, as in ",
                          letter.name, "=16");
  }
  if (given == sizes.end()) return shaped->second;
  int64_t value = 0;
  if (!absl::SimpleAtoi(given->second, &value) || value < 0) {
    return source.ErrorAt(letter.offset, "the size '", given->second, "' of '", letter.name,
                          "' is no 64-bit integer from 0 on");
  }
  if (shaped != of_shapes.end() && shaped->second != 1 && shaped->second != value) {
    return source.ErrorAt(letter.offset, "'", letter.name, "' has the size ", value, ", but ",
                          shaped->second, " elements in its operands");
  }
  return value;
}

Result<std::vector<Dimension>> Sizes(const Word& letters, const EinsumSyntax& syntax,
                                     const EinsumOptions& options, const Source& source) {
  MDH_ASSIGN_OR_RETURN(const auto of_shapes, SizesOfShapes(syntax, options, source));
  std::vector<Dimension> dimensions;
  std::string known;
  for (const EinsumLetter& letter : letters) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", letter.name);
    MDH_ASSIGN_OR_RETURN(const int64_t size, LetterSize(letter, options.sizes, of_shapes, source));
    dimensions.push_back({letter.name, size});
  }
  for (const auto& [name, value] : options.sizes) {
    if (std::ranges::any_of(dimensions, [&letter = name](const Dimension& dimension) {
          return dimension.name == letter;
        })) {
      continue;
    }
    return source.ErrorAt(0, "there is a size for '", name,
                          "', which does not occur; the letters are ", known);
  }
  return dimensions;
}

// `shape`: of the operand; a dimension with one element is read there by all points. None: that of
// the dimensions.
Buffer BufferOf(std::string name, const Word& word, const std::vector<Dimension>& dimensions,
                const std::vector<int64_t>* shape, ScalarType type) {
  IndexFunction access;
  for (size_t x = 0; x < word.size(); ++x) {
    AffineIndex index{std::vector<int64_t>(dimensions.size(), 0), 0};
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const bool is_wide = shape == nullptr || (*shape)[x] == dimensions[d].size;
      index.coefficients[d] = dimensions[d].name == word[x].name && is_wide ? 1 : 0;
    }
    access.indices.push_back(std::move(index));
  }
  return {.name = std::move(name), .type = type, .extents = {}, .accesses = {std::move(access)}};
}

// A, B, ..., Z, A1, ...: those that are no dimensions.
std::vector<std::string> BufferNames(size_t count, const Word& dimensions) {
  std::vector<std::string> names;
  for (size_t n = 0; names.size() < count; ++n) {
    const std::string letter(1, static_cast<char>('A' + n % 26));
    if (n < 26 && std::ranges::any_of(dimensions, [&](const EinsumLetter& other) {
          return other.name == letter;
        })) {
      continue;
    }
    names.push_back(n < 26 ? letter : absl::StrCat(letter, n / 26));
  }
  return names;
}

// Of two types the one that holds more.
ScalarType Wider(ScalarType a, ScalarType b) {
  const auto rank = [](ScalarType type) {
    const int kind = IsFloatingPoint(type) ? 2 : IsInteger(type) ? 1 : 0;
    return kind * 16 + SizeBytes(type);
  };
  if (a != b && IsFloatingPoint(a) && rank(a) == rank(b)) return Info(a).computed;
  return rank(a) > rank(b) ? a : b;
}

// The product of values of `type`, converted to `accumulate` before.
Result<ScalarFunction> ProductOf(const std::vector<Buffer>& inputs, ScalarType type,
                                 ScalarType accumulate) {
  std::vector<TypedName> parameters;
  std::vector<ScalarInstruction> instructions;
  const ScalarOp multiply = accumulate == ScalarType::kBool ? ScalarOp::kAnd : ScalarOp::kMul;
  const auto add = [&instructions](ScalarInstruction instruction) {
    instructions.push_back(std::move(instruction));
    return static_cast<int>(instructions.size()) - 1;
  };
  int product = 0;
  for (int p = 0; p < static_cast<int>(inputs.size()); ++p) {
    parameters.push_back({inputs[p].name, type});
    int factor = add({.op = ScalarOp::kParameter, .type = type, .operands = {}, .parameter = p});
    if (accumulate != type) factor = add({ScalarOp::kCast, accumulate, {factor}});
    product = p == 0 ? factor : add({multiply, accumulate, {product, factor}});
  }
  return ScalarFunction::Create("f", parameters, NamedBeside(parameters, {{"out", accumulate}}),
                                std::move(instructions), {product});
}

Result<Expression> Build(const EinsumSyntax& syntax, const EinsumOptions& options,
                         const Source& source) {
  const Word letters = DimensionsOf(syntax);
  if (letters.empty()) return source.ErrorAt(0, "there is no letter: nothing to compute");
  MDH_ASSIGN_OR_RETURN(std::vector<Dimension> dimensions, Sizes(letters, syntax, options, source));
  const ScalarType out_type = options.out_type.value_or(options.type);
  const ScalarType accumulate = options.accumulate.value_or(Wider(options.type, out_type));
  const std::vector<std::string> names = BufferNames(syntax.operands.size(), letters);
  std::vector<Buffer> inputs;
  for (size_t n = 0; n < names.size(); ++n) {
    inputs.push_back(BufferOf(names[n], syntax.operands[n], dimensions,
                              options.shapes.empty() ? nullptr : &options.shapes[n], options.type));
  }
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, ProductOf(inputs, options.type, accumulate));
  MDH_ASSIGN_OR_RETURN(
      const CombineOperator sum,
      CombineOperator::PointWise(
          accumulate == ScalarType::kBool ? PointWiseKind::kOr : PointWiseKind::kAdd,
          {accumulate}));
  std::vector<CombineOperator> operators(syntax.output.size(), CombineOperator::Concat());
  operators.resize(letters.size(), sum);
  std::optional<StoreFunction> store;
  if (!options.epilogue.empty()) {
    std::vector<bool> reduced;
    for (const CombineOperator& combine : operators) reduced.push_back(combine.is_point_wise());
    MDH_ASSIGN_OR_RETURN(
        store, ParseEpilogue(options.epilogue, dimensions, reduced, options.type, accumulate));
  }
  Buffer output = BufferOf("out", syntax.output, dimensions, nullptr, out_type);
  return Expression::Create({.name = "einsum",
                             .dimensions = std::move(dimensions),
                             .inputs = std::move(inputs),
                             .outputs = {std::move(output)},
                             .function = std::move(function),
                             .combine_operators = std::move(operators),
                             .store = std::move(store)});
}

}  // namespace

Result<Expression> ParseEinsum(std::string_view text, const EinsumOptions& options,
                               std::string_view source_name) {
  const Source source(View(source_name), View(text));
  MDH_ASSIGN_OR_RETURN(const EinsumSyntax syntax, ParseEinsumSyntax(source, options.shapes));
  Result<Expression> expression = Build(syntax, options, source);
  // What Create says has no position of its own.
  if (expression.ok() || absl::StrContains(expression.status().message(), "\n")) return expression;
  return source.ErrorOfCode(expression.status().code(), 0, expression.status().message());
}

Result<Expression> ParseEinsum(std::string_view text, const Bindings& sizes, ScalarType type,
                               std::string_view source_name) {
  return ParseEinsum(text, EinsumOptions{.sizes = sizes, .type = type}, source_name);
}

Status AddSizes(std::string_view text, Bindings* sizes) {
  for (absl::string_view part : absl::StrSplit(View(text), ',')) {
    const std::vector<std::string> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string name(absl::StripAsciiWhitespace(sides[0]));
    if (sides.size() != 2 || name.size() != 1 || !absl::ascii_isalpha(name[0])) {
      return InvalidArgument("'", part, "' is no size; sizes are given as in a=24,b=16");
    }
    const std::string value(absl::StripAsciiWhitespace(sides[1]));
    const auto [entry, is_new] = sizes->try_emplace(name, value);
    if (!is_new && entry->second != value) {
      return InvalidArgument("'", name, "' has two sizes, ", entry->second, " and ", value);
    }
  }
  return absl::OkStatus();
}

Result<std::vector<int64_t>> ParseShape(std::string_view text) {
  std::vector<int64_t> shape;
  if (absl::StripAsciiWhitespace(View(text)).empty()) return shape;
  for (absl::string_view part : absl::StrSplit(View(text), ',')) {
    int64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent < 0) {
      return InvalidArgument("'", View(text),
                             "' is no shape; shapes are given as in 8,16,32, in elements");
    }
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace mdh
