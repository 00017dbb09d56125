#include "codegen/c_printer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/status.h"

namespace mdh {
namespace {

constexpr int kUnaryPrecedence = 20;

std::string Indent(int depth) { return std::string(2 * depth, ' '); }

// A loop program for another target: a bug of whoever built it.
std::string Foreign(const char* form) {
  std::fprintf(stderr, "loop programs for C have no %s\n", form);
  std::abort();
}

// C converts operands narrower than int before it computes: results must be converted back.
bool IsPromoted(ValueType type) {
  return type.lanes == 1 && !IsFloatingPoint(type.scalar) && SizeBytes(type.scalar) < 4 &&
         type.scalar != ScalarType::kBool;
}

std::string Times(int64_t stride) {
  return stride == 1 ? std::string() : absl::StrCat(" * ", stride);
}

absl::string_view NativeSpelling(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAnd:
      return "&";  // bool is 0 or 1
    case ScalarOp::kOr:
      return "|";
    default:
      return Info(op).name;
  }
}

// Precedence of C's operators, larger binds tighter.
int CPrecedence(ScalarOp op) {
  switch (op) {
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
      return 12;
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
      return 11;
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe:
      return 9;
    case ScalarOp::kEq:
    case ScalarOp::kNe:
      return 8;
    default:
      return 5;  // bit operations: always in parentheses
  }
}

}  // namespace

std::string CPrinter::Declaration(ValueType type) {
  return type.lanes > 1 ? prelude_.VectorType(type) : CType(type);
}

std::string CPrinter::PrintIndex(const Index& index) { return index.ToString(); }

std::string CPrinter::Widened(const ValueNode& node, int lanes, int precedence) {
  if (node.type.lanes == lanes) return PrintValue(node, precedence);
  const std::string function = prelude_.SplatFunction({node.type.scalar, lanes});
  return absl::StrCat(function, "(", PrintValue(node, 0), ")");
}

std::string CPrinter::PrintLoad(const ValueNode& node, const LoadElements& load) {
  if (node.type.lanes == 1) return absl::StrCat(load.pointer, "[", PrintIndex(load.offset), "]");
  const bool contiguous = load.stride == 1;
  const std::string function = prelude_.LoadFunction(node.type, contiguous);
  const std::string address = load.offset.IsZero()
                                  ? load.pointer
                                  : absl::StrCat(load.pointer, " + ", PrintIndex(load.offset));
  return contiguous ? absl::StrCat(function, "(", address, ")")
                    : absl::StrCat(function, "(", address, ", ", load.stride, ")");
}

std::string CPrinter::PrintLoadInside(const ValueNode& node, const LoadInside& load) {
  const auto moves = [](const LoadInside::Dimension& d) { return d.lane_step != 0; };
  const auto along = std::find_if(load.dimensions.begin(), load.dimensions.end(), moves);
  if (node.type.lanes > 1 && std::count_if(along, load.dimensions.end(), moves) == 1) {
    return PrintLanesInside(node, load, static_cast<size_t>(along - load.dimensions.begin()));
  }
  std::string lanes;
  for (int l = 0; l < node.type.lanes; ++l) {
    absl::StrAppend(&lanes, l == 0 ? "" : ", ", PrintLaneInside(load, l));
  }
  if (node.type.lanes == 1) return lanes;
  return absl::StrCat("(", prelude_.VectorType(node.type), "){", lanes, "}");
}

std::string CPrinter::PrintLaneInside(const LoadInside& load, int lane) {
  const bool clamps = !load.outside.has_value();
  std::string offset, inside;
  for (const LoadInside::Dimension& d : load.dimensions) {
    const std::string index = PrintIndex(d.index + Index(lane * d.lane_step));
    const std::string arguments = absl::StrCat("(", index, ", ", d.extent, ")");
    absl::StrAppend(&offset, offset.empty() ? "" : " + ",
                    clamps ? absl::StrCat("mdh_clamp", arguments) : absl::StrCat("(", index, ")"),
                    Times(d.stride));
    absl::StrAppend(&inside, inside.empty() ? "" : " && ", "mdh_inside", arguments);
  }
  if (load.constant != 0 || offset.empty()) {
    absl::StrAppend(&offset, offset.empty() ? "" : " + ", load.constant);
  }
  const std::string element = absl::StrCat(load.pointer, "[", offset, "]");
  if (clamps || inside.empty()) return element;
  return absl::StrCat("(", inside, " ? ", element, " : ", CLiteral(*load.outside), ")");
}

// Lanes along one dimension of the buffer: where the others point, and whether they are inside, is
// the same for all lanes.
std::string CPrinter::PrintLanesInside(const ValueNode& node, const LoadInside& load,
                                       size_t along) {
  std::string start = load.pointer, inside;
  for (size_t x = 0; x < load.dimensions.size(); ++x) {
    if (x == along) continue;
    const LoadInside::Dimension& d = load.dimensions[x];
    const std::string arguments = absl::StrCat("(", PrintIndex(d.index), ", ", d.extent, ")");
    absl::StrAppend(&start, " + mdh_clamp", arguments, Times(d.stride));
    absl::StrAppend(&inside, inside.empty() ? "" : " && ", "mdh_inside", arguments);
  }
  if (load.constant != 0) absl::StrAppend(&start, " + ", load.constant);
  const LoadInside::Dimension& d = load.dimensions[along];
  const std::string lanes = absl::StrCat(start, ", ", PrintIndex(d.index), ", ", d.lane_step, ", ",
                                         d.extent, ", ", d.stride);
  if (!load.outside.has_value()) {
    return absl::StrCat(prelude_.ClampedLoadFunction(node.type), "(", lanes, ")");
  }
  return absl::StrCat(prelude_.InsideLoadFunction(node.type), "(", inside.empty() ? "1" : inside,
                      ", ", lanes, ", ", CLiteral(*load.outside), ")");
}

std::string CPrinter::PrintIndexValue(const ValueNode& node, const IndexValue& value) {
  const std::string index = PrintIndex(value.index);
  if (node.type.lanes == 1) return absl::StrCat("(int64_t)(", index, ")");
  return absl::StrCat(prelude_.IndicesFunction(node.type), "(", index, ", ", value.lane_step, ")");
}

std::string CPrinter::PrintOperation(const ValueNode& node, const Operation& operation,
                                     int precedence) {
  const ScalarOp op = operation.op;
  const ValueNode& last = *operation.operands.back();
  const ValueType operand{last.type.scalar, node.type.lanes};
  if (!IsNativeOperator(op, node.type, operand)) {
    const std::string function = prelude_.OperationFunction(op, node.type, operand);
    std::string arguments;
    for (const Value& argument : operation.operands) {
      absl::StrAppend(&arguments, arguments.empty() ? "" : ", ",
                      Widened(*argument, node.type.lanes, 0));
    }
    return absl::StrCat(function, "(", arguments, ")");
  }
  std::string text;
  int own = CPrecedence(op);
  if (operation.operands.size() == 1) {
    own = kUnaryPrecedence;
    const std::string inner = PrintValue(last, own);
    if (op == ScalarOp::kNot) {
      text = node.type.lanes == 1 ? absl::StrCat("!", inner) : absl::StrCat("(", inner, " ^ 1)");
    } else {
      text = inner[0] == '-' ? absl::StrCat("-(", inner, ")") : absl::StrCat("-", inner);
    }
  } else {
    // C itself uses a floating-point scalar in every lane; integers it might have to narrow.
    const bool splat = !IsFloatingPoint(node.type.scalar);
    auto print = [&](const ValueNode& side, int side_precedence) {
      return splat ? Widened(side, node.type.lanes, side_precedence)
                   : PrintValue(side, side_precedence);
    };
    text = absl::StrCat(print(*operation.operands[0], own), " ", NativeSpelling(op), " ",
                        print(*operation.operands[1], own + 1));
    if (own < precedence || own == 5) {
      text = absl::StrCat("(", text, ")");
      own = kUnaryPrecedence;
    }
  }
  if (IsPromoted(node.type)) text = absl::StrCat("(", CType(node.type), ")(", text, ")");
  return text;
}

std::string CPrinter::PrintValue(const ValueNode& node, int precedence) {
  return std::visit(
      Overloaded{
          [&](const Literal& literal) { return CLiteral(literal.value); },
          [&](const NamedValue& named) { return named.name; },
          [&](const LoadElements& load) { return PrintLoad(node, load); },
          [&](const LoadInside& load) { return PrintLoadInside(node, load); },
          [&](const TableElement& element) {
            return absl::StrCat(prelude_.TableFunction(element.table, element.index->type), "(",
                                PrintValue(*element.index, 0), ")");
          },
          [&](const Operation& operation) { return PrintOperation(node, operation, precedence); },
          [&](const Splat& splat) {
            return absl::StrCat(prelude_.SplatFunction(node.type), "(",
                                PrintValue(*splat.scalar, 0), ")");
          },
          [&](const Lane& lane) {
            return absl::StrCat(PrintValue(*lane.vector, kUnaryPrecedence), "[", lane.lane, "]");
          },
          [&](const IndexValue& index) { return PrintIndexValue(node, index); },
          [&](const ShuffleDown&) { return Foreign("values of other threads"); }},
      node.form);
}

std::string CPrinter::PrintCondition(const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::kLess:
      return absl::StrCat(PrintIndex(condition.a), " < ", PrintIndex(condition.b));
    case Condition::Kind::kEqual:
      return absl::StrCat(PrintIndex(condition.a), " == ", PrintIndex(condition.b));
    case Condition::Kind::kFlag:
      return condition.flag;
    case Condition::Kind::kNotFlag:
      return absl::StrCat("!", condition.flag);
  }
  return "";
}

std::string CPrinter::PrintConditions(const std::vector<Condition>& conditions) {
  if (conditions.empty()) return "1";
  return absl::StrJoin(conditions, " && ", [&](std::string* out, const Condition& condition) {
    out->append(PrintCondition(condition));
  });
}

void CPrinter::PrintStatement(const Statement& statement, int depth, std::string& out) {
  const std::string indent = Indent(depth);
  std::visit(
      Overloaded{
          [&](const Comment& s) { absl::StrAppend(&out, indent, "// ", s.text, "\n"); },
          [&](const DeclareIndex& s) {
            absl::StrAppend(&out, indent, "const int64_t ", s.name, " = ", PrintIndex(s.value),
                            ";\n");
          },
          [&](const DeclareValue& s) {
            absl::StrAppend(&out, indent, s.is_mutable ? "" : "const ", Declaration(s.value->type),
                            " ", s.name, " = ", PrintValue(*s.value, 0), ";\n");
          },
          [&](const Assign& s) {
            const auto* operation = std::get_if<Operation>(&s.value->form);
            if (operation != nullptr && operation->operands.size() == 2 &&
                IsNativeOperator(operation->op, s.value->type, s.value->type) &&
                CPrecedence(operation->op) >= 11) {
              const auto* left = std::get_if<NamedValue>(&operation->operands[0]->form);
              if (left != nullptr && left->name == s.name) {
                absl::StrAppend(&out, indent, s.name, " ", NativeSpelling(operation->op), "= ",
                                PrintValue(*operation->operands[1], 0), ";\n");
                return;
              }
            }
            absl::StrAppend(&out, indent, s.name, " = ", PrintValue(*s.value, 0), ";\n");
          },
          [&](const StoreElements& s) {
            const std::string value = PrintValue(*s.value, 0);
            if (s.value->type.lanes == 1) {
              absl::StrAppend(&out, indent, s.pointer, "[", PrintIndex(s.offset), "] = ", value,
                              ";\n");
              return;
            }
            const bool contiguous = s.stride == 1;
            absl::StrAppend(&out, indent, prelude_.StoreFunction(s.value->type, contiguous), "(",
                            s.pointer, s.offset.IsZero() ? "" : " + ",
                            s.offset.IsZero() ? "" : PrintIndex(s.offset), ", ",
                            contiguous ? "" : absl::StrCat(s.stride, ", "), value, ");\n");
          },
          [&](const DeclarePointer& s) {
            absl::StrAppend(&out, indent, s.is_const ? "const " : "", CType(s.type), "* restrict ",
                            s.name, " = ", s.base, s.offset.IsZero() ? "" : " + ",
                            s.offset.IsZero() ? "" : PrintIndex(s.offset), ";\n");
          },
          [&](const DeclareView& s) {
            const std::string type = absl::StrCat(s.is_const ? "const " : "", CType(s.type), "*");
            absl::StrAppend(&out, indent, type, " ", s.name, " = (", type, ")", s.base, ";\n");
          },
          [&](const DeclareArray& s) {
            if (s.space != MemorySpace::kPrivate) Foreign("shared memory");
            absl::StrAppend(&out, indent, CType(s.type), " ", s.name, "[", s.elements,
                            "] __attribute__((aligned(64)));\n");
          },
          [&](const HardwareIndex&) { Foreign("blocks of threads"); },
          [&](const Barrier&) { Foreign("barriers"); },
          [&](const ShareLoop& s) {
            absl::StrAppend(&out, indent, "for (int64_t ", s.variable, " = mdh_share(", s.items,
                            ", thread, threads); ", s.variable, " < mdh_share(", s.items,
                            ", thread + 1, threads); ", s.variable, "++) {\n");
            PrintBlock(*s.body, depth + 1, out);
            absl::StrAppend(&out, indent, "}\n");
          },
          [&](const For& s) {
            if (s.unroll) {
              const int64_t steps = (s.end.constant() - s.begin.constant() + s.step - 1) / s.step;
              absl::StrAppend(&out, indent, "#pragma GCC unroll ", steps, "\n");
            }
            absl::StrAppend(&out, indent, "for (int64_t ", s.variable, " = ", PrintIndex(s.begin),
                            "; ", s.variable,
                            s.whole_steps ? absl::StrCat(" + ", s.step, " <= ") : " < ",
                            PrintIndex(s.end), "; ", s.variable,
                            s.step == 1 ? "++" : absl::StrCat(" += ", s.step), ") {\n");
            PrintBlock(*s.body, depth + 1, out);
            absl::StrAppend(&out, indent, "}\n");
          },
          [&](const If& s) {
            absl::StrAppend(&out, indent, "if (", PrintConditions(s.all_of), ") {\n");
            PrintBlock(*s.then_block, depth + 1, out);
            if (s.else_block != nullptr) {
              absl::StrAppend(&out, indent, "} else {\n");
              PrintBlock(*s.else_block, depth + 1, out);
            }
            absl::StrAppend(&out, indent, "}\n");
          },
          [&](const DeclareFlag& s) {
            absl::StrAppend(&out, indent, s.is_mutable ? "" : "const ", "int ", s.name, " = ",
                            PrintConditions(s.all_of), ";\n");
          },
          [&](const ClearFlag& s) { absl::StrAppend(&out, indent, s.name, " = 0;\n"); },
          [&](const KeepInRegister& s) {
            absl::StrAppend(&out, indent, prelude_.KeepMacro(s.bytes), "(", s.name, ");\n");
          },
          [&](const Call& s) {
            absl::StrAppend(&out, indent, s.function, "(", absl::StrJoin(s.arguments, ", "),
                            ");\n");
          },
          [&](const CopyRegion& s) { PrintBlock(*s.body, depth, out); }},
      statement.form);
}

void CPrinter::PrintBlock(const Block& block, int depth, std::string& out) {
  for (const Statement& statement : block) PrintStatement(statement, depth, out);
}

std::string CPrinter::Print(const Block& block, int depth) {
  std::string out;
  PrintBlock(block, depth, out);
  return out;
}

std::string CPrinter::ParameterList(const std::vector<Parameter>& parameters) {
  return absl::StrJoin(parameters, ", ", [](std::string* out, const Parameter& p) {
    switch (p.kind) {
      case Parameter::Kind::kInput:
        absl::StrAppend(out, "const ", p.is_record ? "void" : CType(p.type), "* restrict ", p.name);
        break;
      case Parameter::Kind::kOutput:
        absl::StrAppend(out, p.is_record ? "void" : CType(p.type), "* restrict ", p.name);
        break;
      case Parameter::Kind::kIndex:
        absl::StrAppend(out, "const int64_t ", p.name);
        break;
      case Parameter::Kind::kFlag:
        absl::StrAppend(out, "const int ", p.name);
        break;
    }
  });
}

std::string CPrinter::Print(const Function& function) {
  std::string out;
  if (!function.comment.empty()) absl::StrAppend(&out, "// ", function.comment, "\n");
  absl::StrAppend(&out, "static inline void ", function.name, "(",
                  ParameterList(function.parameters), ") {\n");
  PrintBlock(function.body, 1, out);
  absl::StrAppend(&out, "}\n");
  return out;
}

}  // namespace mdh
