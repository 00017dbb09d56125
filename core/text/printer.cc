// Printing expressions so that they parse back.
#include "core/text/printer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/identifier.h"

namespace mdh {
namespace {

std::string Text(const AffineIndex& index, const std::vector<Dimension>& dimensions) {
  std::string text;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t coefficient = index.coefficients[d];
    if (coefficient == 0) continue;
    const uint64_t magnitude = coefficient < 0 ? 0 - static_cast<uint64_t>(coefficient)
                                               : static_cast<uint64_t>(coefficient);
    absl::StrAppend(
        &text, text.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + "));
    if (magnitude != 1) absl::StrAppend(&text, magnitude, "*");
    absl::StrAppend(&text, dimensions[d].name);
  }
  if (text.empty()) return absl::StrCat(index.constant);
  if (index.constant > 0) absl::StrAppend(&text, " + ", index.constant);
  if (index.constant < 0) {
    absl::StrAppend(&text, " - ", 0 - static_cast<uint64_t>(index.constant));
  }
  return text;
}

std::string Tuple(const IndexFunction& access, const std::vector<Dimension>& dimensions) {
  return absl::StrCat("(",
                      absl::StrJoin(access.indices, ", ",
                                    [&](std::string* out, const AffineIndex& index) {
                                      absl::StrAppend(out, Text(index, dimensions));
                                    }),
                      ")");
}

std::string Text(const Buffer& buffer, const std::vector<Dimension>& dimensions) {
  std::string text = buffer.name;
  // A buffer without dimensions has no extents to give.
  if (buffer.extents_given && !buffer.extents.empty()) {
    absl::StrAppend(&text, "[", absl::StrJoin(buffer.extents, ", "), "]");
  }
  absl::StrAppend(&text, ": ", ToText(buffer.accesses[0], dimensions));
  for (size_t a = 1; a < buffer.accesses.size(); ++a) {
    absl::StrAppend(&text, ", ", Tuple(buffer.accesses[a], dimensions));
  }
  return text;
}

// On one line if it fits, else with a line for each buffer.
std::string ViewText(absl::string_view keyword, const std::vector<Buffer>& buffers,
                     const std::vector<Dimension>& dimensions) {
  constexpr size_t kLineLength = 100;
  std::vector<std::string> texts, types;
  for (const Buffer& buffer : buffers) {
    texts.push_back(Text(buffer, dimensions));
    types.push_back(buffer.type.ToString());
  }
  if (texts.empty()) return absl::StrCat("  ", keyword, "()");
  const std::string head = absl::StrCat("  ", keyword, "<", absl::StrJoin(types, ","), ">( ");
  const std::string line = absl::StrCat(head, absl::StrJoin(texts, ", "), " )");
  if (line.size() <= kLineLength) return line;
  return absl::StrCat(
      head, absl::StrJoin(texts, absl::StrCat(",\n", std::string(head.size(), ' '))), " )");
}

// Builds the text of every instruction from those of its operands, in order: no recursion.
class FunctionPrinter {
 public:
  explicit FunctionPrinter(const ScalarFunction& function)
      : function_(function), uses_(function.instructions().size(), 0) {
    for (const ScalarInstruction& instruction : function.instructions()) {
      for (int operand : instruction.operands) ++uses_[operand];
    }
    for (int result : function.result_instructions()) ++uses_[result];
    for (const auto* names : {&function.parameters(), &function.results()}) {
      for (const TypedName& name : *names) taken_.insert(name.name);
    }
  }

  std::string Print() {
    std::string statements;
    for (size_t n = 0; n < function_.instructions().size(); ++n) {
      values_.push_back(Value(function_.instructions()[n]));
      if (!NeedsName(n)) continue;
      const std::string name = FreshName();
      absl::StrAppend(&statements, "let ", name, " = ", values_[n].text, "; ");
      values_[n] = {name, kPrimary, 0};
    }
    for (size_t r = 0; r < function_.results().size(); ++r) {
      absl::StrAppend(&statements, r > 0 ? "; " : "", function_.results()[r].name, " = ",
                      values_[function_.result_instructions()[r]].text);
    }
    return absl::StrCat("{ ", statements, " }");
  }

 private:
  static constexpr int kTernary = 1, kUnary = 11, kPrimary = 12;  // around those of infix operators

  struct Printed {
    std::string text;
    int precedence;
    int depth;
  };

  bool IsLeaf(size_t n) const {
    const ScalarOp op = function_.instructions()[n].op;
    return op == ScalarOp::kParameter || op == ScalarOp::kConstant;
  }

  // Deep values get names, because the parser limits nesting.
  bool NeedsName(size_t n) const {
    constexpr int kDeepest = 30;
    return !IsLeaf(n) && (uses_[n] > 1 || values_[n].depth >= kDeepest);
  }

  std::string FreshName() {
    std::string name;
    do {
      name = absl::StrCat("t", ++names_);
    } while (taken_.count(name) > 0);
    return name;
  }

  Printed Value(const ScalarInstruction& instruction) const {
    if (instruction.op == ScalarOp::kParameter) {
      return {function_.parameters()[instruction.parameter].name, kPrimary, 0};
    }
    if (instruction.op == ScalarOp::kConstant) {
      const std::string text = instruction.constant.ToString();
      return {text, text[0] == '-' ? kUnary : kPrimary, 0};
    }
    int depth = 0;
    for (int operand : instruction.operands) depth = std::max(depth, values_[operand].depth);
    Printed printed = Operation(instruction);
    printed.depth = depth + 1;
    return printed;
  }

  Printed Operation(const ScalarInstruction& instruction) const {
    const ScalarOpInfo& info = Info(instruction.op);
    switch (instruction.op) {
      case ScalarOp::kCast:
        return {absl::StrCat(Name(instruction.type), "(", Typed(instruction, 0, 0), ")"), kPrimary,
                0};
      case ScalarOp::kSelect:
        return {absl::StrCat(Operand(instruction, 0, kTernary + 1), " ? ",
                             MatchedOperand(instruction, 1, 2, kTernary + 1), " : ",
                             Operand(instruction, 2, kTernary)),
                kTernary, 0};
      case ScalarOp::kNeg:
      case ScalarOp::kNot:
        return {absl::StrCat(info.name, Typed(instruction, 0, kPrimary)), kUnary, 0};
      default:
        break;
    }
    if (info.is_infix) {
      return {absl::StrCat(MatchedOperand(instruction, 0, 1, info.precedence), " ", info.name, " ",
                           Operand(instruction, 1, info.precedence + 1)),
              info.precedence, 0};
    }
    if (info.operands == 1) {
      return {absl::StrCat(info.name, "(", Typed(instruction, 0, 0), ")"), kPrimary, 0};
    }
    return {absl::StrCat(info.name, "(", MatchedOperand(instruction, 0, 1, 0), ", ",
                         Operand(instruction, 1, 0), ")"),
            kPrimary, 0};
  }

  bool IsConstant(int n) const { return function_.instructions()[n].op == ScalarOp::kConstant; }

  // The operand, in parentheses if it binds weaker than `precedence`.
  std::string Operand(const ScalarInstruction& instruction, int o, int precedence) const {
    const Printed& printed = values_[instruction.operands[o]];
    return printed.precedence < precedence ? absl::StrCat("(", printed.text, ")") : printed.text;
  }

  // A literal is given its type where nothing else tells it.
  std::string Typed(const ScalarInstruction& instruction, int o, int precedence) const {
    const int n = instruction.operands[o];
    if (!IsConstant(n)) return Operand(instruction, o, precedence);
    return absl::StrCat(Name(function_.instructions()[n].type), "(", values_[n].text, ")");
  }

  std::string MatchedOperand(const ScalarInstruction& instruction, int o, int other,
                             int precedence) const {
    return IsConstant(instruction.operands[other]) ? Typed(instruction, o, precedence)
                                                   : Operand(instruction, o, precedence);
  }

  const ScalarFunction& function_;
  std::vector<int> uses_;
  std::vector<Printed> values_;
  std::set<std::string> taken_;
  int names_ = 0;
};

std::string Names(const std::vector<TypedName>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const TypedName& name) {
    absl::StrAppend(out, name.name);
  });
}

std::string Definition(const std::string& name, const ScalarFunction& function,
                       const std::optional<std::vector<ScalarValue>>& identity) {
  const bool is_tuple = function.results().size() != 1;
  std::string text =
      absl::StrCat(name, "(", Names(function.parameters()), ") -> ", is_tuple ? "(" : "",
                   Names(function.results()), is_tuple ? ")" : "");
  if (identity.has_value()) {
    absl::StrAppend(&text, " identity (",
                    absl::StrJoin(*identity, ", ",
                                  [](std::string* out, const ScalarValue& value) {
                                    absl::StrAppend(out, value.ToString());
                                  }),
                    ")");
  }
  return absl::StrCat(text, " ", ToText(function));
}

// `name`, or another one where it cannot stand in the where part.
std::string FunctionName(const std::string& name, absl::string_view instead,
                         absl::string_view taken) {
  const std::set<absl::string_view> reserved = {"min", "max", "cc", "pw", taken};
  if (IsIdentifier(name) && reserved.count(name) == 0) return name;
  return absl::StrCat(instead, instead == taken ? "_" : "");
}

}  // namespace

std::string ToText(const IndexFunction& index, const std::vector<Dimension>& dimensions) {
  const auto append_name = [](std::string* out, const Dimension& dimension) {
    absl::StrAppend(out, dimension.name);
  };
  return absl::StrCat("(", absl::StrJoin(dimensions, ",", append_name), ") -> ",
                      Tuple(index, dimensions));
}

std::string ToText(const ScalarFunction& function) { return FunctionPrinter(function).Print(); }

std::string ToText(const Expression& expression) {
  const std::string f = FunctionName(expression.function().name(), "f", "");
  std::string functions = Definition(f, expression.function(), std::nullopt);
  std::string reduction_name;
  if (expression.has_reduction()) reduction_name = expression.reduction().ToString();
  if (expression.has_reduction() && expression.reduction().kind() == PointWiseKind::kCustom) {
    const CombineOperator& reduction = expression.reduction();
    reduction_name = FunctionName(reduction.function().name(), "g", f);
    absl::StrAppend(&functions, ",\n      ",
                    Definition(reduction_name, reduction.function(), reduction.identity()));
  }
  const auto append_size = [](std::string* out, const Dimension& dimension) {
    absl::StrAppend(out, dimension.size);
  };
  const auto append_operator = [&](std::string* out, const CombineOperator& combine) {
    // All reduced dimensions have the same operator, whatever it is called.
    absl::StrAppend(out, combine.is_concat() ? combine.ToString() : reduction_name);
  };
  return absl::StrCat(expression.name(), " :=\n",
                      ViewText("out_view", expression.outputs(), expression.dimensions()), " o\n",
                      "  md_hom<", absl::StrJoin(expression.dimensions(), ",", append_size), ">( ",
                      f, ", (",
                      absl::StrJoin(expression.combine_operators(), ", ", append_operator),
                      ") ) o\n", ViewText("inp_view", expression.inputs(), expression.dimensions()),
                      "\nwhere ", functions, "\n");
}

}  // namespace mdh
