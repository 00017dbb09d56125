// Values of loop programs as expressions of the C family.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/affine_lanes.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/c_spelling.h"
#include "core/base/status.h"

namespace mdh {
namespace {

constexpr int kUnaryPrecedence = 20;

// C converts operands narrower than int before it computes: results must be converted back.
bool IsPromoted(LoopValueType type) {
  return type.lanes == 1 && !IsFloatingPoint(type.scalar) && SizeBytes(type.scalar) < 4 &&
         type.scalar != ScalarType::kBool;
}

std::string Times(int64_t stride) {
  return stride == 1 ? std::string() : absl::StrCat(" * ", stride);
}

}  // namespace

void NotInLanguage(const CDialect& dialect, const char* form) {
  const std::string language(Name(dialect.language));
  std::fprintf(stderr, "a loop program for %s has %s\n", language.c_str(), form);
  std::abort();
}

absl::string_view COperator(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAnd:
      return "&";  // bool is 0 or 1
    case ScalarOp::kOr:
      return "|";
    default:
      return Info(op).name;
  }
}

// a op b is b Mirrored(op) a.
ScalarOp Mirrored(ScalarOp op) {
  switch (op) {
    case ScalarOp::kLt:
      return ScalarOp::kGt;
    case ScalarOp::kLe:
      return ScalarOp::kGe;
    case ScalarOp::kGt:
      return ScalarOp::kLt;
    case ScalarOp::kGe:
      return ScalarOp::kLe;
    default:
      return op;
  }
}

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

std::string CPrinter::Address(const std::string& pointer, const std::string& offset) const {
  if (offset == "0") return pointer;
  if (dialect_.has_blocks()) return absl::StrCat("&", pointer, "[", offset, "]");
  return absl::StrCat(pointer, " + ", offset);
}

AddressSpace CPrinter::Space(const std::string& pointer) const {
  const auto found = spaces_.find(pointer);
  return found == spaces_.end() ? AddressSpace::kGlobal : found->second;
}

int CPrinter::Alignment(const std::string& pointer) const {
  constexpr int kOfArguments = 16;
  const auto found = alignments_.find(pointer);
  return found == alignments_.end() ? kOfArguments : found->second;
}

std::string CPrinter::PrintPlace(const std::string& pointer, const Index& index) {
  const auto found = private_elements_.find(pointer);
  if (found == private_elements_.end() || index.is_constant()) return PrintIndex(index);
  const int64_t constant = index.Sum().constant, elements = found->second;
  if (constant >= 0 && constant < elements) return PrintIndex(index);
  const uint64_t mask = std::bit_ceil(static_cast<uint64_t>(elements)) - 1;
  return absl::StrCat("(", PrintIndex(index), ") & ", mask);
}

// Elements of private arrays are moved one by one, so that they can be registers.
bool CPrinter::MovesAsVector(LoopValueType type, int64_t stride, const std::string& pointer) const {
  return !dialect_.computes_with_vectors && stride == 1 &&
         Space(pointer) != AddressSpace::kPrivate &&
         std::min(SizeBytes(type.scalar) * type.lanes, 16) <= Alignment(pointer) &&
         (SizeBytes(type.scalar) * type.lanes <= 16 || dialect_.unaligned_load.empty());
}

std::string CPrinter::Widened(const ValueNode& node, int lanes, int precedence) {
  if (node.type.lanes == lanes) return PrintValue(node, precedence);
  const std::string function = prelude_.SplatFunction({node.type.scalar, lanes});
  return absl::StrCat(function, "(", PrintValue(node, 0), ")");
}

std::string CPrinter::PrintElements(LoopValueType type, const std::string& pointer,
                                    const std::string& offset, int64_t stride, int off) {
  if (type.lanes == 1) return absl::StrCat(pointer, "[", offset, "]");
  const AddressSpace space = Space(pointer);
  const std::string address = Address(pointer, offset);
  if (MovesAsVector(type, stride, pointer)) {
    return absl::StrCat("*(", CPointer(dialect_, space, true, prelude_.VectorType(type)), ")",
                        address);
  }
  if (!dialect_.unaligned_load.empty() && stride == 1 && space != AddressSpace::kPrivate) {
    return absl::StrCat(absl::Substitute(dialect_.unaligned_load, type.lanes), "(0, ", address,
                        ")");
  }
  return absl::StrCat(prelude_.LoadFunction(type, stride, space, off), "(", address,
                      prelude_.TakesStride(type, stride, off) ? absl::StrCat(", ", stride) : "",
                      ")");
}

std::string CPrinter::PrintLane(const Lane& lane) {
  std::string vector = PrintValue(*lane.vector, kUnaryPrecedence);
  const bool is_name = std::holds_alternative<NamedValue>(lane.vector->form);
  if (!dialect_.computes_with_vectors && !is_name) vector = absl::StrCat("(", vector, ")");
  return CLane(dialect_, lane.vector->type, vector, lane.lane);
}

std::string CPrinter::PrintGroupHalves(const GroupHalves& halves) {
  if (!dialect_.computes_with_vectors) NotInLanguage(dialect_, "halves of vectors");
  const std::string function = prelude_.GroupHalvesFunction(halves);
  const std::string first = PrintValue(*halves.first, 0);
  if (halves.second == nullptr) return absl::StrCat(function, "(", first, ")");
  return absl::StrCat(function, "(", first, ", ", PrintValue(*halves.second, 0), ")");
}

// Of a vector whose first lanes are the same constant, and whose others are those of another vector
// in order: how many are the constant; 0: of others.
int CPrinter::LanesBefore(const JoinLanes& join) {
  const auto* first = std::get_if<Literal>(&join.scalars[0]->form);
  const auto* last = std::get_if<Lane>(&join.scalars.back()->form);
  if (first == nullptr || last == nullptr) return 0;
  const auto* vector = std::get_if<NamedValue>(&last->vector->form);
  const int lanes = static_cast<int>(join.scalars.size());
  if (vector == nullptr || last->vector->type.lanes != lanes) return 0;
  const int distance = lanes - 1 - last->lane;
  for (int l = 0; l < lanes; ++l) {
    const auto* literal = std::get_if<Literal>(&join.scalars[l]->form);
    const auto* lane = std::get_if<Lane>(&join.scalars[l]->form);
    if (l < distance && (literal == nullptr || !(literal->value == first->value))) return 0;
    if (l < distance) continue;
    const auto* of = lane == nullptr ? nullptr : std::get_if<NamedValue>(&lane->vector->form);
    if (of == nullptr || of->name != vector->name || lane->lane != l - distance) return 0;
  }
  return distance;
}

std::string CPrinter::PrintJoinLanes(const ValueNode& node, const JoinLanes& join) {
  if (!dialect_.computes_with_vectors) NotInLanguage(dialect_, "a vector of scalars");
  if (const int distance = LanesBefore(join); distance > 0) {
    const auto& last = std::get<Lane>(join.scalars.back()->form);
    // One after the other: functions are defined in the order in which they are asked for.
    const std::string function = prelude_.LaterLanesFunction(node.type, distance);
    const std::string before = Widened(*join.scalars[0], node.type.lanes, 0);
    return absl::StrCat(function, "(", before, ", ", PrintValue(*last.vector, 0), ")");
  }
  std::string lanes;
  for (const LoopValue& scalar : join.scalars) {
    absl::StrAppend(&lanes, lanes.empty() ? "" : ", ", PrintValue(*scalar, 0));
  }
  return absl::StrCat("(", prelude_.VectorType(node.type), "){", lanes, "}");
}

std::string CPrinter::PrintLoadInside(const ValueNode& node, const LoadInside& load) {
  const auto is_empty = [](const LoadInside::Dimension& d) { return d.extent == 0; };
  if (node.type.lanes == 1 && std::ranges::any_of(load.dimensions, is_empty)) {
    return CLiteral(*load.outside, dialect_);
  }
  if (!dialect_.computes_with_vectors && load.loads_always) {
    return PrintSelectInside(node.type, load);
  }
  if (node.type.lanes > 1 && !dialect_.computes_with_vectors) {
    NotInLanguage(dialect_, "vectors from buffers with a boundary");
  }
  const auto moves = [](const LoadInside::Dimension& d) { return d.lane_step != 0; };
  const auto along = std::ranges::find_if(load.dimensions, moves);
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

// The element of the nearest indices that are inside is loaded, and selected if these are the same.
std::string CPrinter::PrintSelectInside(LoopValueType type, const LoadInside& load) {
  Index known(load.constant);
  std::string offset, inside;
  for (const LoadInside::Dimension& d : load.dimensions) {
    if (type.lanes > 1 && d.lane_step != 0 && d.lane_step * d.stride != 1) {
      NotInLanguage(dialect_, "vectors of elements that are apart from buffers with a boundary");
    }
    if (d.is_inside) {
      known = known + d.index * d.stride;
      continue;
    }
    const std::string index = PrintIndex(d.index);
    absl::StrAppend(&offset, offset.empty() ? "" : " + ", "mdh_clamp(", index, ", ",
                    d.extent - (type.lanes - 1) * d.lane_step, ")", Times(d.stride));
    absl::StrAppend(&inside, inside.empty() ? "" : " & ", "mdh_inside(", index, ", ", d.extent,
                    ")");
  }
  if (offset.empty() || !known.IsZero()) {
    absl::StrAppend(&offset, offset.empty() ? "" : " + ",
                    offset.empty() ? PrintIndex(known) : COperand(known, dialect_));
  }
  const std::string element = PrintElements(type, load.pointer, offset, /*stride=*/1);
  if (inside.empty() || !load.outside.has_value()) return element;
  return absl::StrCat(prelude_.SelectInsideFunction(type), "(", inside, ", ", element, ", ",
                      CLiteral(*load.outside, dialect_), ")");
}

std::string CPrinter::PrintLaneInside(const LoadInside& load, int lane) {
  const bool clamps = !load.outside.has_value();
  std::string offset, inside;
  for (const LoadInside::Dimension& d : load.dimensions) {
    const std::string index = PrintIndex(d.index + Index(lane * d.lane_step));
    const std::string arguments = absl::StrCat("(", index, ", ", d.extent, ")");
    absl::StrAppend(&offset, offset.empty() ? "" : " + ",
                    clamps && !d.is_inside ? absl::StrCat("mdh_clamp", arguments)
                                           : absl::StrCat("(", index, ")"),
                    Times(d.stride));
    if (d.is_inside) continue;
    absl::StrAppend(&inside, inside.empty() ? "" : " && ", "mdh_inside", arguments);
  }
  if (load.constant != 0 || offset.empty()) {
    absl::StrAppend(&offset, offset.empty() ? "" : " + ", load.constant);
  }
  const std::string element = absl::StrCat(load.pointer, "[", offset, "]");
  if (clamps || inside.empty()) return element;
  return absl::StrCat("(", inside, " ? ", element, " : ", CLiteral(*load.outside, dialect_), ")");
}

// Lanes along one dimension of the buffer: where the others point, and whether they are inside, is
// the same for all lanes.
std::string CPrinter::PrintLanesInside(const ValueNode& node, const LoadInside& load,
                                       size_t along) {
  std::string start = load.pointer, inside;
  const auto is_known = [](const LoadInside::Dimension& d) {
    return d.is_inside && d.lane_step >= 0;
  };
  for (size_t x = 0; x < load.dimensions.size(); ++x) {
    const LoadInside::Dimension& d = load.dimensions[x];
    if (x == along && !is_known(d)) continue;
    const std::string arguments = absl::StrCat("(", PrintIndex(d.index), ", ", d.extent, ")");
    absl::StrAppend(&start, " + ",
                    is_known(d) ? absl::StrCat("(", PrintIndex(d.index), ")")
                                : absl::StrCat("mdh_clamp", arguments),
                    Times(d.stride));
    if (!is_known(d))
      absl::StrAppend(&inside, inside.empty() ? "" : " && ", "mdh_inside", arguments);
  }
  if (load.constant != 0) absl::StrAppend(&start, " + ", load.constant);
  const LoadInside::Dimension& d = load.dimensions[along];
  // Where all lanes are inside, a row begins with the first one.
  const std::string lanes = absl::StrCat(start, ", ", is_known(d) ? "0" : PrintIndex(d.index), ", ",
                                         d.lane_step, ", ", d.extent, ", ", d.stride);
  if (!load.outside.has_value()) {
    return absl::StrCat(prelude_.ClampedLoadFunction(node.type), "(", lanes, ")");
  }
  const bool masks = !is_known(d) && CPrelude::CanMaskInside(node.type, d.lane_step, d.stride);
  return absl::StrCat(masks ? prelude_.MaskedInsideFunction(node.type, d.lane_step)
                            : prelude_.InsideLoadFunction(node.type),
                      "(", inside.empty() ? "1" : inside, ", ", lanes, ", ",
                      CLiteral(*load.outside, dialect_), ")");
}

std::string CPrinter::PrintIndexValue(const ValueNode& node, const IndexValue& value) {
  const std::string index = PrintIndex(value.index);
  if (node.type.lanes == 1) {
    return absl::StrCat("(", CType(ScalarType::kInt64, dialect_), ")(", index, ")");
  }
  return absl::StrCat(prelude_.IndicesFunction(node.type), "(", index, ", ", value.lane_step, ")");
}

// Threads exchange words of at least 4 bytes.
std::string CPrinter::PrintShuffle(absl::string_view direction, const ValueNode& value,
                                   int distance, int width) {
  if (!dialect_.has_shuffles()) NotInLanguage(dialect_, "values of other threads");
  const ScalarType type = value.type.scalar;
  const bool is_narrow = SizeBytes(type) < 4;
  const std::string own = PrintValue(value, is_narrow ? kUnaryPrecedence : 0);
  const std::string word = is_narrow ? absl::StrCat("(int)", own) : own;
  const absl::string_view spelling = direction == "down" ? dialect_.shuffle_down
                                     : direction == "up" ? dialect_.shuffle_up
                                                         : dialect_.shuffle_xor;
  const std::string moved =
      spelling.empty()
          ? absl::StrCat(prelude_.ShuffleFunction(is_narrow ? ScalarType::kInt32 : type, direction),
                         "(", word, ", ", distance, ", ", width, ")")
          : absl::Substitute(spelling, word, distance, width);
  return is_narrow ? absl::StrCat("(", CType(type, dialect_), ")", moved) : moved;
}

// Comparisons that ptxas 13.0 takes for true if they are so of all numbers that the value can be,
// as |x| > -1: not so of nan. These are with literals, which come second here, and with themselves.
std::optional<LoopOperation> CPrinter::AsTestForNan(const LoopOperation& comparison) const {
  if (dialect_.hide_origin.empty() || comparison.op < ScalarOp::kEq ||
      comparison.op > ScalarOp::kGe) {
    return std::nullopt;
  }
  const LoopValue &left = comparison.operands[0], &right = comparison.operands[1];
  if (!(left->type == LoopValueType{ScalarType::kFloat32, 1})) return std::nullopt;
  const auto is_literal = [](const LoopValue& value) {
    return std::holds_alternative<Literal>(value->form);
  };
  if (comparison.op == ScalarOp::kEq || comparison.op == ScalarOp::kNe) {
    const auto* const a = std::get_if<NamedValue>(&left->form);
    const auto* const b = std::get_if<NamedValue>(&right->form);
    const bool is_itself = left == right || (a != nullptr && b != nullptr && a->name == b->name);
    return is_itself ? std::optional(comparison) : std::nullopt;
  }
  if (is_literal(left) == is_literal(right)) return std::nullopt;
  if (is_literal(right)) return comparison;
  return LoopOperation{Mirrored(comparison.op), {right, left}};
}

std::string CPrinter::PrintOperation(const ValueNode& node, const LoopOperation& operation,
                                     int precedence) {
  if (node.type.lanes > 1 && !dialect_.computes_with_vectors) {
    NotInLanguage(dialect_, "an operation on vectors");
  }
  if (operation.op == ScalarOp::kSelect) {
    const std::string fused = PrintSelectByComparison(node, operation);
    if (!fused.empty()) return fused;
  }
  const LoopValueType operand{operation.operands.back()->type.scalar, node.type.lanes};
  if (const std::optional<LoopOperation> test = AsTestForNan(operation)) {
    return absl::StrCat(prelude_.OperationFunction(test->op, node.type, operand), "(",
                        PrintValue(*test->operands[0], 0), ", ", PrintValue(*test->operands[1], 0),
                        ")");
  }
  if (IsNativeOperator(operation.op, node.type, operand, dialect_)) {
    return PrintNativeOperation(node, operation, precedence);
  }
  const std::string function =
      is_behind_loop_ ? prelude_.OperationFunctionApart(operation.op, node.type, operand)
                      : prelude_.OperationFunction(operation.op, node.type, operand);
  std::string arguments;
  for (const LoopValue& argument : operation.operands) {
    absl::StrAppend(&arguments, arguments.empty() ? "" : ", ",
                    Widened(*argument, node.type.lanes, 0));
  }
  return absl::StrCat(function, "(", arguments, ")");
}

// Vectors by a comparison of vectors whose result need not become bools; else empty.
std::string CPrinter::PrintSelectByComparison(const ValueNode& node, const LoopOperation& select) {
  const auto* comparison = std::get_if<LoopOperation>(&select.operands[0]->form);
  const int lanes = node.type.lanes;
  if (comparison == nullptr || select.operands[0]->type.lanes != lanes) return "";
  const LoopValueType compared{comparison->operands[0]->type.scalar, lanes};
  if (!CPrelude::CanSelectBy(comparison->op, compared, node.type)) return "";
  const std::optional<AffineLanes> a = AffineLanesOf(comparison->operands[0]);
  const std::optional<AffineLanes> b = AffineLanesOf(comparison->operands[1]);
  if (a.has_value() && b.has_value() && CPrelude::CanSelectByLanes(node.type)) {
    return absl::StrCat(prelude_.SelectByLanesFunction(comparison->op, node.type), "(",
                        PrintValue(*a->first, 0), ", ", a->step, ", ", PrintValue(*b->first, 0),
                        ", ", b->step, ", ", Widened(*select.operands[1], lanes, 0), ", ",
                        Widened(*select.operands[2], lanes, 0), ")");
  }
  const std::string function = prelude_.SelectByFunction(comparison->op, compared, node.type);
  std::string arguments;
  for (const LoopValue& argument :
       {comparison->operands[0], comparison->operands[1], select.operands[1], select.operands[2]}) {
    absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", Widened(*argument, lanes, 0));
  }
  return absl::StrCat(function, "(", arguments, ")");
}

std::string CPrinter::PrintNativeOperation(const ValueNode& node, const LoopOperation& operation,
                                           int precedence) {
  const ScalarOp op = operation.op;
  std::string text;
  int own = CPrecedence(op);
  if (operation.operands.size() == 1) {
    own = kUnaryPrecedence;
    const std::string inner = PrintValue(*operation.operands[0], own);
    if (op == ScalarOp::kNot) {
      text = node.type.lanes == 1 ? absl::StrCat("!", inner) : absl::StrCat("(", inner, " ^ 1)");
    } else {
      text = inner[0] == '-' ? absl::StrCat("-(", inner, ")") : absl::StrCat("-", inner);
    }
  } else {
    // C itself uses a floating-point scalar in every lane; integers it might have to narrow.
    const bool splat = !IsFloatingPoint(node.type.scalar);
    const auto print = [&](const ValueNode& side, int side_precedence) {
      return splat ? Widened(side, node.type.lanes, side_precedence)
                   : PrintValue(side, side_precedence);
    };
    const std::string left = print(*operation.operands[0], own);
    text = absl::StrCat(left, " ", COperator(op), " ", print(*operation.operands[1], own + 1));
    if (own < precedence || own == 5) {
      text = absl::StrCat("(", text, ")");
      own = kUnaryPrecedence;
    }
  }
  if (!IsPromoted(node.type)) return text;
  return absl::StrCat("(", CType(node.type, dialect_), ")(", text, ")");
}

std::string CPrinter::PrintValue(const ValueNode& node, int precedence) {
  return std::visit(
      Overloaded{
          [&](const Literal& literal) { return CLiteral(literal.value, dialect_); },
          [&](const NamedValue& named) { return named.name; },
          [&](const LoadElements& load) {
            return PrintElements(node.type, load.pointer, PrintPlace(load.pointer, load.offset),
                                 load.stride, load.off);
          },
          [&](const LoadInside& load) { return PrintLoadInside(node, load); },
          [&](const TableElement& element) {
            const std::string function = prelude_.TableFunction(element.table, element.index->type);
            return absl::StrCat(function, "(", PrintValue(*element.index, 0), ")");
          },
          [&](const LoopOperation& operation) {
            return PrintOperation(node, operation, precedence);
          },
          [&](const Splat& splat) {
            if (!dialect_.computes_with_vectors) NotInLanguage(dialect_, "a splat");
            const std::string function = prelude_.SplatFunction(node.type);
            return absl::StrCat(function, "(", PrintValue(*splat.scalar, 0), ")");
          },
          [&](const Lane& lane) { return PrintLane(lane); },
          [&](const GroupHalves& halves) { return PrintGroupHalves(halves); },
          [&](const JoinLanes& join) { return PrintJoinLanes(node, join); },
          [&](const AddProducts& v) {
            const bool has_b = v.b != nullptr;
            const std::string function = prelude_.AddProductsFunction(
                node.type, v.a->type, has_b ? std::optional(v.b->type.scalar) : std::nullopt);
            return absl::StrCat(function, "(", PrintValue(*v.sum, 0), ", ", PrintValue(*v.a, 0),
                                has_b ? ", " : "", has_b ? PrintValue(*v.b, 0) : "", ")");
          },
          [&](const LoadWords& v) {
            const std::string function = prelude_.LoadWordsFunction(node.type.lanes);
            const std::string stride =
                node.type.lanes == 1
                    ? ""
                    : absl::StrCat(", (int64_t)sizeof(*", v.pointer, ") * ", v.stride);
            return absl::StrCat(function, "(", Address(v.pointer, v.offset), stride, ")");
          },
          [&](const AddDots& v) {
            return absl::StrCat(prelude_.AddDotsFunction(node.type), "(", PrintValue(*v.sum, 0),
                                ", ", PrintValue(*v.a, 0), ", ", PrintValue(*v.b, 0), ")");
          },
          [&](const OrderKeys& v) {
            const std::string function =
                prelude_.OrderKeysFunction(node.type, v.value->type.scalar, v.nan_is_least);
            return absl::StrCat(function, "(", PrintValue(*v.value, 0), ")");
          },
          [&](const IndexValue& index) { return PrintIndexValue(node, index); },
          [&](const LoadOfBlock& v) {
            if (!dialect_.has_clusters()) NotInLanguage(dialect_, "clusters of blocks");
            return absl::StrCat(prelude_.LoadOfBlockFunction(node.type.scalar), "(",
                                Address(v.array, v.offset), ", ", PrintIndex(v.block), ")");
          },
          [&](const ShuffleDown& v) { return PrintShuffle("down", *v.value, v.distance, v.width); },
          [&](const ShuffleUp& v) { return PrintShuffle("up", *v.value, v.distance, v.width); },
          [&](const ShuffleXor& v) { return PrintShuffle("bfly", *v.value, v.bit, v.width); }},
      node.form);
}

}  // namespace mdh
