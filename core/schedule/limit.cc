#include "core/schedule/limit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

using Op = Limit::Op;

constexpr int kMaxNesting = 100;

struct Operator {
  absl::string_view text;
  Op op;
  int strength;
  bool are_conditions;  // operands
};
// In the order in which they are tried.
constexpr Operator kOperators[] = {
    {"or", Op::kOr, 0, true},         {"and", Op::kAnd, 1, true},
    {"<=", Op::kLessEqual, 3, false}, {">=", Op::kLessEqual, 3, false},
    {"==", Op::kEqual, 3, false},     {"!=", Op::kNotEqual, 3, false},
    {"<", Op::kLess, 3, false},       {">", Op::kLess, 3, false},
    {"+", Op::kAdd, 4, false},        {"-", Op::kSubtract, 4, false},
    {"*", Op::kMultiply, 5, false},   {"//", Op::kDivide, 5, false},
    {"/", Op::kDivide, 5, false},     {"%", Op::kRemainder, 5, false},
};
constexpr int kNotStrength = 2, kComparison = 3;

class LimitParser {
 public:
  LimitParser(const ScheduleNames& names, ScheduleCursor* cursor)
      : names_(names), cursor_(cursor) {}

  Result<Limit> Parse(int strength) {
    if (++nesting_ > kMaxNesting) {
      return cursor_->ErrorAt(cursor_->offset(), "the formula is nested too deeply");
    }
    const size_t at = cursor_->offset();
    MDH_ASSIGN_OR_RETURN(Limit left, First(strength));
    int most = 6;  // comparisons do not go on
    while (const Operator* next = NextOperator(strength, most)) {
      MDH_RETURN_IF_ERROR(Check(left, next->are_conditions, at));
      const size_t right_at = cursor_->offset();
      MDH_ASSIGN_OR_RETURN(Limit right, Parse(next->strength + 1));
      MDH_RETURN_IF_ERROR(Check(right, next->are_conditions, right_at));
      if (next->text[0] == '>') std::swap(left, right);
      left = {.op = next->op, .operands = {std::move(left), std::move(right)}};
      if (next->strength <= kComparison) most = std::min(most, next->strength);
      if (next->strength == kComparison) most = kComparison - 1;
    }
    --nesting_;
    return left;
  }

  Status Check(const Limit& limit, bool is_condition, size_t at) {
    if (limit.is_condition() == is_condition) return absl::OkStatus();
    return cursor_->ErrorAt(at, is_condition ? "a condition is expected here, this is a number"
                                             : "a number is expected here, this is a condition");
  }

 private:
  const Operator* NextOperator(int strength, int most) {
    for (const Operator& known : kOperators) {
      if (known.strength < strength || known.strength > most) continue;
      if (cursor_->Accept(known.text)) return &known;
    }
    return nullptr;
  }

  Result<Limit> First(int strength) {
    if (strength <= kNotStrength && cursor_->Accept("not")) {
      const size_t at = cursor_->offset();
      MDH_ASSIGN_OR_RETURN(Limit of, Parse(kNotStrength));
      MDH_RETURN_IF_ERROR(Check(of, true, at));
      return Limit{.op = Op::kNot, .operands = {std::move(of)}};
    }
    if (cursor_->Accept("(")) {
      MDH_ASSIGN_OR_RETURN(Limit inside, Parse(0));
      MDH_RETURN_IF_ERROR(cursor_->Expect(")"));
      return inside;
    }
    if (cursor_->NextIsDigit()) {
      MDH_ASSIGN_OR_RETURN(const int64_t number, cursor_->ExpectNumber("a number"));
      return Limit{.number = number};
    }
    return Function();
  }

  Result<Limit> Function() {
    const absl::string_view name = cursor_->PeekName();
    if (name.empty()) return cursor_->Unexpected("a number, a size or a function");
    for (const auto& [text, op] :
         {std::pair<absl::string_view, Op>{"min", Op::kMin}, {"max", Op::kMax}}) {
      if (name == text) return Several(text, op);
    }
    for (const auto& [text, op] :
         {std::pair<absl::string_view, Op>{"tile", Op::kTile}, {"parts", Op::kParts}}) {
      if (!cursor_->Accept(text)) continue;
      Limit limit{.op = op};
      MDH_RETURN_IF_ERROR(cursor_->Expect("("));
      MDH_ASSIGN_OR_RETURN(limit.layer, names_.Layer(cursor_));
      MDH_RETURN_IF_ERROR(cursor_->Expect(","));
      MDH_ASSIGN_OR_RETURN(limit.dimension, names_.Dimension(cursor_));
      MDH_RETURN_IF_ERROR(cursor_->Expect(")"));
      return limit;
    }
    if (cursor_->Accept("bytes")) return Bytes();
    if (name == "registers") return Registers();
    if (cursor_->Accept("threads")) {
      MDH_RETURN_IF_ERROR(cursor_->Expect("("));
      MDH_RETURN_IF_ERROR(cursor_->Expect(")"));
      return Limit{.op = Op::kThreads};
    }
    const auto& dimensions = names_.expression().dimensions();
    const bool is_size =
        std::ranges::any_of(dimensions, [&](const Dimension& d) { return d.name == name; });
    if (!is_size) {
      return cursor_->ErrorAt(
          cursor_->offset(), "unknown function or size '", name,
          "'; there are tile, parts, bytes, threads, registers, min, max and the "
          "dimensions");
    }
    MDH_ASSIGN_OR_RETURN(const int d, names_.Dimension(cursor_));
    return Limit{.number = dimensions[d].size};
  }

  Result<Limit> Several(absl::string_view name, Op op) {
    MDH_RETURN_IF_ERROR(cursor_->Expect(name));
    MDH_RETURN_IF_ERROR(cursor_->Expect("("));
    Limit limit{.op = op};
    do {
      const size_t at = cursor_->offset();
      MDH_ASSIGN_OR_RETURN(Limit operand, Parse(0));
      MDH_RETURN_IF_ERROR(Check(operand, false, at));
      limit.operands.push_back(std::move(operand));
    } while (cursor_->Accept(","));
    MDH_RETURN_IF_ERROR(cursor_->Expect(")"));
    return limit;
  }

  Result<Limit> Bytes() {
    Limit limit{.op = Op::kBytes};
    MDH_RETURN_IF_ERROR(cursor_->Expect("("));
    const size_t at = cursor_->offset();
    MDH_RETURN_IF_ERROR(ReadBuffer(&limit));
    if (!CanStage(names_.BufferAt(limit.buffer, limit.is_output))) {
      return cursor_->ErrorAt(at,
                              "parts of this buffer are no boxes: its accesses move differently");
    }
    MDH_RETURN_IF_ERROR(cursor_->Expect(","));
    MDH_ASSIGN_OR_RETURN(limit.layer, names_.Layer(cursor_));
    MDH_RETURN_IF_ERROR(cursor_->Expect(")"));
    return limit;
  }

  // An input or an output.
  Status ReadBuffer(Limit* limit) {
    const size_t at = cursor_->offset();
    MDH_ASSIGN_OR_RETURN(const absl::string_view name, cursor_->ExpectName("the name of a buffer"));
    std::vector<std::string> known;
    for (const bool is_output : {false, true}) {
      const Expression& e = names_.expression();
      const auto& buffers = is_output ? e.outputs() : e.inputs();
      for (size_t b = 0; b < buffers.size(); ++b) {
        limit->buffer = static_cast<int>(b);
        limit->is_output = is_output;
        if (buffers[b].name == name) return absl::OkStatus();
        known.push_back(buffers[b].name);
      }
    }
    return cursor_->ErrorAt(at, "unknown buffer '", name, "'; ", names_.expression().name(),
                            " has ", absl::StrJoin(known, ", "));
  }

  Result<Limit> Registers() {
    const size_t at = cursor_->offset();
    MDH_RETURN_IF_ERROR(cursor_->Expect("registers"));
    MDH_RETURN_IF_ERROR(cursor_->Expect("("));
    MDH_RETURN_IF_ERROR(cursor_->Expect(")"));
    const SystemModel& model = names_.model();
    const bool has_tiles =
        model.LayerWith(LayerRole::kRegisters) >= 0 || model.LayerWith(LayerRole::kLanes) >= 0;
    if (names_.is_explicit() || has_tiles) return Limit{.op = Op::kRegisters};
    return cursor_->ErrorAt(at, model.name, " has no layer of registers or lanes");
  }

  const ScheduleNames& names_;
  ScheduleCursor* cursor_;
  int nesting_ = 0;
};

std::string Printed(const Limit& limit, const ScheduleNames& names, int strength) {
  const auto level = [&] {
    return absl::StrCat("(", names.LayerName(limit.layer), ", ",
                        names.DimensionName(limit.dimension), ")");
  };
  const auto several = [&](absl::string_view name) {
    return absl::StrCat(name, "(",
                        absl::StrJoin(limit.operands, ", ",
                                      [&](std::string* out, const Limit& operand) {
                                        absl::StrAppend(out, Printed(operand, names, 0));
                                      }),
                        ")");
  };
  switch (limit.op) {
    case Op::kNumber:
      return absl::StrCat(limit.number);
    case Op::kTile:
      return absl::StrCat("tile", level());
    case Op::kParts:
      return absl::StrCat("parts", level());
    case Op::kBytes:
      return absl::StrCat("bytes(", names.BufferAt(limit.buffer, limit.is_output).name, ", ",
                          names.LayerName(limit.layer), ")");
    case Op::kThreads:
      return "threads()";
    case Op::kRegisters:
      return "registers()";
    case Op::kMin:
      return several("min");
    case Op::kMax:
      return several("max");
    default:
      break;
  }
  std::string text;
  int own = kNotStrength;
  if (limit.op == Op::kNot) {
    text = absl::StrCat("not ", Printed(limit.operands[0], names, kNotStrength));
  } else {
    const auto* const row = std::ranges::find(kOperators, limit.op, &Operator::op);
    own = row->strength;
    const bool goes_on = own != kComparison;
    text = absl::StrCat(Printed(limit.operands[0], names, goes_on ? own : own + 1), " ", row->text,
                        " ", Printed(limit.operands[1], names, own + 1));
  }
  return own < strength ? absl::StrCat("(", text, ")") : text;
}

std::optional<int64_t> Combine(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kDivide:
    case Op::kRemainder: {
      if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
      const int64_t quotient = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
      return op == Op::kDivide ? quotient : a - quotient * b;
    }
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kEqual:
      return a == b;
    case Op::kNotEqual:
      return a != b;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Limit> ParseLimit(const ScheduleNames& names, ScheduleCursor* cursor) {
  const size_t at = cursor->offset();
  LimitParser parser(names, cursor);
  MDH_ASSIGN_OR_RETURN(Limit limit, parser.Parse(0));
  MDH_RETURN_IF_ERROR(parser.Check(limit, true, at));
  return limit;
}

std::string ToText(const Limit& limit, const ScheduleNames& names) {
  return Printed(limit, names, 0);
}

std::optional<int64_t> Evaluate(const Limit& limit, const LimitValues& values) {
  switch (limit.op) {
    case Op::kNumber:
      return limit.number;
    case Op::kTile:
      return values.Tile(limit.layer, limit.dimension);
    case Op::kParts:
      return values.Parts(limit.layer, limit.dimension);
    case Op::kBytes:
      return values.Bytes(limit.buffer, limit.is_output, limit.layer);
    case Op::kThreads:
      return values.Threads();
    case Op::kRegisters:
      return values.Registers();
    default:
      break;
  }
  std::optional<int64_t> value = Evaluate(limit.operands[0], values);
  if (!value.has_value()) return std::nullopt;
  if (limit.op == Op::kNot) return *value == 0;
  for (size_t n = 1; n < limit.operands.size(); ++n) {
    // From left to right, as far as it matters.
    if (limit.op == Op::kAnd && *value == 0) return 0;
    if (limit.op == Op::kOr && *value != 0) return 1;
    const std::optional<int64_t> next = Evaluate(limit.operands[n], values);
    if (!next.has_value()) return std::nullopt;
    value = limit.op == Op::kAnd || limit.op == Op::kOr ? next : Combine(limit.op, *value, *next);
    if (!value.has_value()) return std::nullopt;
  }
  return value;
}

}  // namespace mdh
