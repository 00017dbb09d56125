// Printing the bodies of functions.
#include "core/text/function_printer.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

// Builds the text of every instruction from those of its operands, in order: no recursion.
class FunctionPrinter {
 public:
  FunctionPrinter(const ScalarFunction& function, const FunctionNames& names)
      : function_(function), names_(names), uses_(function.instructions().size(), 0) {
    for (const ScalarInstruction& instruction : function.instructions()) {
      for (int operand : instruction.operands) ++uses_[operand];
    }
    for (int result : function.result_instructions()) ++uses_[result];
    // Names of records are what stands before the point.
    for (const std::string& name : names.parameters) taken_.insert(name.substr(0, name.find('.')));
    for (const FunctionNames::Result& result : names.results) {
      taken_.insert(result.name.substr(0, result.name.find('.')));
    }
  }

  std::string Print() {
    std::string statements = UnusedIndices();
    for (size_t n = 0; n < function_.instructions().size(); ++n) {
      values_.push_back(Value(function_.instructions()[n]));
      if (!NeedsName(n)) continue;
      const std::string name = FreshName();
      absl::StrAppend(&statements, "let ", name, " = ", LetText(n), "; ");
      values_[n] = {name, kPrimary, 0};
      named_.insert(static_cast<int>(n));
    }
    size_t scalar = 0;
    for (const FunctionNames::Result& result : names_.results) {
      absl::StrAppend(&statements, scalar > 0 ? "; " : "", result.name, " = ");
      if (result.fields.empty()) absl::StrAppend(&statements, ResultText(scalar++));
      for (size_t f = 0; f < result.fields.size(); ++f) {
        absl::StrAppend(&statements, f == 0 ? "{" : ", ", result.fields[f], ": ",
                        ResultText(scalar++), f + 1 == result.fields.size() ? "}" : "");
      }
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

  const std::string& ResultText(size_t scalar) const {
    return values_[function_.result_instructions()[scalar]].text;
  }

  // Indices are parameters because f names them, also if it does nothing with them.
  std::string UnusedIndices() {
    std::vector<bool> used(names_.parameters.size(), false);
    for (const ScalarInstruction& instruction : function_.instructions()) {
      if (instruction.op == ScalarOp::kParameter) used[instruction.parameter] = true;
    }
    std::string statements;
    for (size_t p = names_.first_index; p < names_.parameters.size(); ++p) {
      if (used[p]) continue;
      absl::StrAppend(&statements, "let ", FreshName(), " = ", names_.parameters[p], "; ");
    }
    return statements;
  }

  // A table has no type of its own, and a let gives it none.
  std::string LetText(size_t n) const {
    const ScalarInstruction& instruction = function_.instructions()[n];
    if (instruction.op != ScalarOp::kTable) return values_[n].text;
    return absl::StrCat(Name(instruction.type), "(", values_[n].text, ")");
  }

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
      name = absl::StrCat("t", ++lets_);
    } while (taken_.count(name) > 0);
    return name;
  }

  Printed Value(const ScalarInstruction& instruction) const {
    if (instruction.op == ScalarOp::kParameter) {
      return {names_.parameters[instruction.parameter], kPrimary, 0};
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
      case ScalarOp::kTable:
        return {absl::StrCat(TableText(instruction.table), "[", Typed(instruction, 0, 0), "]"),
                kPrimary, 0};
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

  static std::string TableText(const std::vector<ScalarValue>& table) {
    return absl::StrCat("[",
                        absl::StrJoin(table, ", ",
                                      [](std::string* out, const ScalarValue& value) {
                                        absl::StrAppend(out, value.ToString());
                                      }),
                        "]");
  }

  // Whether what is printed for the value are literals, which have no type of their own.
  bool IsUntyped(int n) const {
    const ScalarOp op = function_.instructions()[n].op;
    return op == ScalarOp::kConstant || (op == ScalarOp::kTable && !named_.count(n));
  }

  // The operand, in parentheses if it binds weaker than `precedence`.
  std::string Operand(const ScalarInstruction& instruction, int o, int precedence) const {
    const Printed& printed = values_[instruction.operands[o]];
    return printed.precedence < precedence ? absl::StrCat("(", printed.text, ")") : printed.text;
  }

  // A literal is given its type where nothing else tells it.
  std::string Typed(const ScalarInstruction& instruction, int o, int precedence) const {
    const int n = instruction.operands[o];
    if (!IsUntyped(n)) return Operand(instruction, o, precedence);
    return absl::StrCat(Name(function_.instructions()[n].type), "(", values_[n].text, ")");
  }

  std::string MatchedOperand(const ScalarInstruction& instruction, int o, int other,
                             int precedence) const {
    return IsUntyped(instruction.operands[other]) ? Typed(instruction, o, precedence)
                                                  : Operand(instruction, o, precedence);
  }

  const ScalarFunction& function_;
  const FunctionNames& names_;
  std::vector<int> uses_;
  std::vector<Printed> values_;
  std::set<int> named_;  // values that a let names
  std::set<std::string> taken_;
  int lets_ = 0;
};

}  // namespace

std::string BodyText(const ScalarFunction& function, const FunctionNames& names) {
  return FunctionPrinter(function, names).Print();
}

}  // namespace mdh
