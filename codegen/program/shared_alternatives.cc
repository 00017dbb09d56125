#include "codegen/program/shared_alternatives.h"

#include <optional>
#include <utility>
#include <vector>

#include "codegen/program/operation_cost.h"

namespace mdh {
namespace {

using Instructions = std::vector<ScalarInstruction>;

bool IsExtreme(ScalarOp op) {
  return op == ScalarOp::kMin || op == ScalarOp::kMax || op == ScalarOp::kFmin ||
         op == ScalarOp::kFmax;
}

// x and y, where an instruction compares x with the extreme of x and y.
struct ComparedWithExtreme {
  int value, other, extreme;
};
std::optional<ComparedWithExtreme> ComparedIn(const Instructions& all, int condition) {
  const ScalarInstruction& equal = all[condition];
  if (equal.op != ScalarOp::kEq) return std::nullopt;
  for (const int side : {0, 1}) {
    const int value = equal.operands[side], extreme = equal.operands[1 - side];
    if (!IsExtreme(all[extreme].op)) continue;
    const std::vector<int>& of = all[extreme].operands;
    if (of[0] == value && of[1] != value) return ComparedWithExtreme{value, of[1], extreme};
    if (of[1] == value && of[0] != value) return ComparedWithExtreme{value, of[0], extreme};
  }
  return std::nullopt;
}

// Whether `left` is of a what `right` is of b; `has_function`: whether a function of a library is
// among what differs.
bool IsSameOf(const Instructions& all, int left, int a, int right, int b, bool& has_function) {
  if (left == a && right == b) return true;
  if (left == right) return left != a && left != b;
  const ScalarInstruction &x = all[left], &y = all[right];
  const bool is_same = x.op == y.op && x.type == y.type && x.operands.size() == y.operands.size() &&
                       !x.operands.empty() && x.table == y.table;
  if (!is_same) return false;
  has_function |= OperationCost(x.op) >= kFunctionCost;
  for (size_t n = 0; n < x.operands.size(); ++n) {
    if (!IsSameOf(all, x.operands[n], a, y.operands[n], b, has_function)) return false;
  }
  return true;
}

struct Exclusive {
  int first, second;  // the selections
  int first_value, second_value;
};
std::optional<Exclusive> FindExclusive(const Instructions& all) {
  for (int first = 0; first < std::ssize(all); ++first) {
    if (all[first].op != ScalarOp::kSelect) continue;
    const auto one = ComparedIn(all, all[first].operands[0]);
    if (!one) continue;
    for (int second = first + 1; second < std::ssize(all); ++second) {
      if (all[second].op != ScalarOp::kSelect) continue;
      const auto two = ComparedIn(all, all[second].operands[0]);
      if (!two || two->extreme != one->extreme || two->value != one->other) continue;
      bool has_function = false;
      const bool is_same = IsSameOf(all, all[first].operands[2], one->value,
                                    all[second].operands[2], two->value, has_function);
      if (is_same && has_function) return Exclusive{first, second, one->value, two->value};
    }
  }
  return std::nullopt;
}

class Sharing {
 public:
  Sharing(const Instructions& all, const Exclusive& pair) : all_(all), pair_(pair) {}

  Instructions Run() {
    int shared = -1;
    for (int n = 0; n < std::ssize(all_); ++n) {
      ScalarInstruction instruction = all_[n];
      for (int& operand : instruction.operands) operand = new_numbers_[operand];
      if (n == pair_.first) {
        chosen_ = Append({ScalarOp::kSelect,
                          all_[pair_.first_value].type,
                          {instruction.operands[0], new_numbers_[pair_.second_value],
                           new_numbers_[pair_.first_value]}});
        shared = OfChosen(all_[n].operands[2], all_[pair_.second].operands[2]);
      }
      if (n == pair_.first || n == pair_.second) instruction.operands[2] = shared;
      new_numbers_.push_back(Append(std::move(instruction)));
    }
    return std::move(out_);
  }
  const std::vector<int>& new_numbers() const { return new_numbers_; }

 private:
  int Append(ScalarInstruction instruction) {
    out_.push_back(std::move(instruction));
    return static_cast<int>(out_.size()) - 1;
  }

  // What these instructions are of their values, of the one that is not the extreme.
  int OfChosen(int first, int second) {
    if (first == pair_.first_value && second == pair_.second_value) return chosen_;
    if (first == second) return new_numbers_[first];
    ScalarInstruction instruction = all_[first];
    for (size_t n = 0; n < instruction.operands.size(); ++n) {
      instruction.operands[n] = OfChosen(instruction.operands[n], all_[second].operands[n]);
    }
    return Append(std::move(instruction));
  }

  const Instructions& all_;
  const Exclusive pair_;
  Instructions out_;
  std::vector<int> new_numbers_;
  int chosen_ = -1;
};

}  // namespace

ScalarFunction ShareAlternatives(const ScalarFunction& function) {
  ScalarFunction shared = function;
  // Every round leaves one pair with different alternatives less.
  while (const std::optional<Exclusive> pair = FindExclusive(shared.instructions())) {
    Sharing sharing(shared.instructions(), *pair);
    Instructions instructions = sharing.Run();
    std::vector<int> results = shared.result_instructions();
    for (int& result : results) result = sharing.new_numbers()[result];
    shared = *ScalarFunction::Create(shared.name(), shared.parameters(), shared.results(),
                                     std::move(instructions), std::move(results));
  }
  return shared;
}

}  // namespace mdh
