#include "core/decomposition/keyed_form.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/expression/dependences.h"
#include "core/scalar/free_names.h"

namespace mdh {
namespace {

// Tables of more keys fit nowhere.
constexpr int64_t kMostKeys = int64_t{1} << 40;

// A condition that holds, or does not.
struct Literal {
  int instruction;
  bool holds;
};

// A result as `all conditions ? value : identity`; the value is an instruction, or a constant.
struct KeyedChoice {
  std::vector<Literal> conditions;
  int value = -1;
  std::optional<ScalarValue> constant = {};
};

class KeyedFormFinder {
 public:
  explicit KeyedFormFinder(const Expression& e)
      : e_(e),
        f_(e.function()),
        instructions_(f_.instructions()),
        uses_(DimensionsOfInstructions(e)) {
    std::vector<ScalarValue> zeros;
    for (const TypedName& parameter : f_.parameters()) {
      zeros.push_back(ScalarValue::Zero(parameter.type));
    }
    f_.EvaluateInto(zeros, &constants_);
    for (const ScalarInstruction& instruction : instructions_) {
      bool varies = instruction.op == ScalarOp::kParameter;
      for (const int operand : instruction.operands) varies = varies || varies_[operand];
      varies_.push_back(varies);
    }
  }

  Result<KeyedForm> Find() {
    MDH_RETURN_IF_ERROR(CheckOperators());
    for (int r = 0; r < static_cast<int>(f_.results().size()); ++r) {
      std::optional<KeyedChoice> choice = ChoiceOf(r);
      if (!choice.has_value()) {
        return InvalidArgument("result ", f_.results()[r].name,
                               " is no choice between a value and ", IdentityOf(r).ToString(),
                               ", the identity of ", e_.reduction().ToString());
      }
      choices_.push_back(*std::move(choice));
    }
    std::string reason = "no result is chosen by the equality of two integers";
    bool has_sides = false;  // of which one does not depend on what is reduced
    for (const Literal& condition : choices_[0].conditions) {
      const ScalarInstruction& equality = instructions_[condition.instruction];
      if (equality.op != (condition.holds ? ScalarOp::kEq : ScalarOp::kNe)) continue;
      const int a = equality.operands[0], b = equality.operands[1];
      if (!IsInteger(instructions_[a].type)) continue;
      for (const auto& [element, result] : {std::pair(a, b), std::pair(b, a)}) {
        if ((uses_[result] & ReducedDimensions(e_)) != 0) {
          if (!has_sides) reason = "both sides of the equality depend on reduced dimensions";
          continue;
        }
        Result<KeyedForm> form = FormOf(condition, element, result);
        if (form.ok()) return form;
        reason = std::string(form.status().message());
        has_sides = true;
      }
    }
    return InvalidArgument(reason);
  }

 private:
  Status CheckOperators() const {
    if (e_.has_prefix_sum()) return InvalidArgument("there are prefix sums");
    if (!e_.has_reduction()) return InvalidArgument("no dimension is reduced");
    const std::vector<PointWiseKind>& kinds = e_.reduction().kinds();
    if (std::ranges::find(kinds, PointWiseKind::kCustom) == kinds.end()) return absl::OkStatus();
    return InvalidArgument("results are combined by ", e_.reduction().ToString(),
                           ", not by named operators");
  }

  const ScalarValue& IdentityOf(int r) const { return (*e_.reduction().identity())[r]; }

  // ---- Choices ----

  // Appends the conditions that are met iff `instruction` is `holds`.
  void AppendConditions(int instruction, bool holds, std::vector<Literal>* conditions) const {
    const ScalarInstruction& condition = instructions_[instruction];
    if (condition.op == (holds ? ScalarOp::kAnd : ScalarOp::kOr)) {
      for (const int operand : condition.operands) AppendConditions(operand, holds, conditions);
    } else if (condition.op == ScalarOp::kNot) {
      AppendConditions(condition.operands[0], !holds, conditions);
    } else {
      conditions->push_back({instruction, holds});
    }
  }

  std::optional<KeyedChoice> ChoiceOf(int r) const {
    const int result = f_.result_instructions()[r];
    const ScalarInstruction& choice = instructions_[result];
    const ScalarValue& identity = IdentityOf(r);
    const auto is_identity = [&](int n) { return !varies_[n] && constants_[n] == identity; };
    KeyedChoice found;
    if (choice.op == ScalarOp::kCast &&
        instructions_[choice.operands[0]].type == ScalarType::kBool) {
      // 1 or 0.
      if (!(ScalarValue::Zero(choice.type) == identity)) return std::nullopt;
      AppendConditions(choice.operands[0], true, &found.conditions);
      found.constant = Apply(ScalarOp::kCast, choice.type, {{ScalarValue::Bool(true)}});
      return found;
    }
    if (choice.op != ScalarOp::kSelect) return std::nullopt;
    for (const bool holds : {true, false}) {
      if (!is_identity(choice.operands[holds ? 2 : 1])) continue;
      AppendConditions(choice.operands[0], holds, &found.conditions);
      found.value = choice.operands[holds ? 1 : 2];
      return found;
    }
    return std::nullopt;
  }

  // ---- Forms ----

  bool IsSameEquality(const Literal& a, const Literal& b) const {
    const ScalarInstruction &x = instructions_[a.instruction], &y = instructions_[b.instruction];
    const auto is_equality = [](const ScalarInstruction& i, bool holds) {
      return i.op == (holds ? ScalarOp::kEq : ScalarOp::kNe);
    };
    if (!is_equality(x, a.holds) || !is_equality(y, b.holds)) return false;
    return x.operands == y.operands ||
           (x.operands[0] == y.operands[1] && x.operands[1] == y.operands[0]);
  }

  // The form with the keys that these two instructions give; `equality` is between them, and the
  // result's does not depend on reduced dimensions.
  Result<KeyedForm> FormOf(const Literal& equality, int element, int result) const {
    DimensionSet used = uses_[element];
    for (size_t r = 0; r < choices_.size(); ++r) {
      const KeyedChoice& choice = choices_[r];
      bool has_key = false;
      for (const Literal& condition : choice.conditions) {
        if (IsSameEquality(condition, equality)) {
          has_key = true;
        } else {
          used |= uses_[condition.instruction];
        }
      }
      if (!has_key) {
        return InvalidArgument("results ", f_.results()[0].name, " and ", f_.results()[r].name,
                               " are chosen by different keys");
      }
      if (choice.value >= 0) used |= uses_[choice.value];
    }
    std::vector<int> elements, keys, batch;
    for (const int d : Members(ActiveDimensions(e_))) {
      (e_.is_reduction(d) ? elements : IsIn(used, d) ? batch : keys).push_back(d);
    }
    if (keys.empty()) {
      return InvalidArgument("elements and their values depend on all dimensions that are kept");
    }
    MDH_ASSIGN_OR_RETURN(ScalarFunction element_function, ElementFunction(equality, element));
    MDH_ASSIGN_OR_RETURN(
        ScalarFunction result_function,
        ScalarFunction::Create("key", f_.parameters(),
                               NamedBeside(f_.parameters(), {{"key", instructions_[result].type}}),
                               instructions_, {result}));
    return KeyedForm{std::move(elements),
                     std::move(keys),
                     std::move(batch),
                     instructions_[element].type,
                     std::move(element_function),
                     std::move(result_function)};
  }

  // Conditions beside the equality become choices of values.
  Result<ScalarFunction> ElementFunction(const Literal& equality, int element) const {
    std::vector<ScalarInstruction> all = instructions_;
    const auto append = [&](ScalarInstruction instruction) {
      all.push_back(std::move(instruction));
      return static_cast<int>(all.size()) - 1;
    };
    const auto constant = [&](const ScalarValue& value) {
      return append({ScalarOp::kConstant, value.type(), {}, -1, value});
    };
    std::vector<TypedName> results = {{"key", all[element].type}};
    std::vector<int> numbers = {element};
    for (size_t r = 0; r < choices_.size(); ++r) {
      const KeyedChoice& choice = choices_[r];
      const ScalarType type = f_.results()[r].type;
      int value = choice.constant.has_value() ? constant(*choice.constant) : choice.value;
      for (const Literal& condition : choice.conditions) {
        if (IsSameEquality(condition, equality)) continue;
        const int identity = constant(IdentityOf(static_cast<int>(r)));
        value = append({ScalarOp::kSelect,
                        type,
                        {condition.instruction, condition.holds ? value : identity,
                         condition.holds ? identity : value}});
      }
      results.push_back({absl::StrCat("value", r + 1), type});
      numbers.push_back(value);
    }
    return ScalarFunction::Create("element", f_.parameters(),
                                  NamedBeside(f_.parameters(), std::move(results)), std::move(all),
                                  std::move(numbers));
  }

  const Expression& e_;
  const ScalarFunction& f_;
  const std::vector<ScalarInstruction>& instructions_;
  const std::vector<DimensionSet> uses_;  // per instruction
  std::vector<bool> varies_;              // idem: whether it depends on a parameter
  std::vector<ScalarValue> constants_;    // idem: its value if it does not
  std::vector<KeyedChoice> choices_;      // per result
};

}  // namespace

Result<KeyedForm> FindKeyedForm(const Expression& expression) {
  return KeyedFormFinder(expression).Find();
}

ScalarType TableKeyType(ScalarType key_type) {
  return SizeBytes(key_type) <= 4 ? ScalarType::kInt32 : ScalarType::kInt64;
}

int RunOfVectors(const Expression& expression) {
  int bytes = 1;
  for (const Buffer& input : expression.inputs()) {
    if (!input.type.is_record()) bytes = std::max<int>(bytes, input.type.size_bytes());
  }
  return std::max(1, 16 / bytes);
}

KeyedCut CutByKey(const Expression& expression, const KeyedForm& form,
                  const KeyedParameters& keyed) {
  KeyedCut cut;
  cut.batches = PointsAlong(expression, form.batch);
  cut.elements = PointsAlong(expression, form.elements);
  cut.keys = PointsAlong(expression, form.keys);
  cut.tile = int64_t{keyed.threads} * keyed.rounds * keyed.run;
  cut.parts = CeilDivide(cut.elements, cut.tile * keyed.tiles);
  const auto keys = static_cast<uint64_t>(std::min(cut.keys, kMostKeys));
  cut.slot_bits = std::bit_width(2 * keys - 1);
  int64_t bytes = SizeBytes(TableKeyType(form.key_type));
  for (const TypedName& result : expression.function().results()) {
    bytes += int64_t{keyed.copies} * SizeBytes(result.type);
  }
  cut.shared_bytes = cut.slots() * bytes;
  return cut;
}

std::vector<KeyedParameters> UsefulCuts(const Expression& expression, const KeyedForm& form) {
  constexpr int kMostTiles = 1024;  // of a part
  std::vector<KeyedParameters> cuts;
  std::vector<int> runs = {1};
  if (RunOfVectors(expression) > 1) runs.push_back(RunOfVectors(expression));
  const auto add = [&](const KeyedParameters& k) {
    const KeyedCut cut = CutByKey(expression, form, k);
    if (k.tiles == 1 || cut.tile * k.tiles / 2 < cut.elements) cuts.push_back(k);
  };
  for (const int threads : {32, 128, 256, 512, 1024}) {
    for (const int rounds : {1, 2, 4}) {
      for (const int run : runs) {
        for (int tiles = 1; tiles <= kMostTiles; tiles *= 2) {
          for (const int copies : {1, 2, 4, 8}) add({threads, rounds, run, tiles, copies});
        }
      }
    }
  }
  return cuts;
}

}  // namespace mdh
