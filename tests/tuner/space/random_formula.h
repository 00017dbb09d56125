// Random formulas of every kind over a few parameters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/range.h"

namespace mdh {

// The same generator state gives the same formulas on every machine.
class RandomFormulas {
 public:
  explicit RandomFormulas(uint64_t seed) : rng_(seed) {}

  // Parameters of every type; integers are small, some negative, some zero.
  static std::vector<TuningParameter> Parameters() {
    return {{"a", *Range::Interval(0, 12)},
            {"b", *Range::Integers({-3, 0, 1, 2, 8})},
            {"c", *Range::Interval(1, 64, 3)},
            {"x", *Range::Of({Value(0.5), Value(2.0), Value(-1.25), Value(0.0)})},
            {"mode", *Range::Of({Value(std::string("fast")), Value(std::string("'slow' \\"))})},
            {"on", Range::Bool()},
            {"order", *Range::Permutations({"i", "j", "k"})}};
  }

  std::vector<int64_t> Configuration() {
    std::vector<int64_t> codes;
    for (const TuningParameter& parameter : Parameters()) {
      codes.push_back(parameter.range.CodeAt(static_cast<uint32_t>(Below(parameter.range.size()))));
    }
    return codes;
  }

  // Of the type, at most `depth` operations deep, right as far as types are concerned.
  Formula Of(ValueType type, int depth) {
    switch (type) {
      case ValueType::kBool:
        return Condition(depth);
      case ValueType::kString:
        return Text(depth);
      case ValueType::kPermutation:
        return Order(depth);
      case ValueType::kInteger:
        return Integer(depth);
      case ValueType::kReal:
        return Number(depth);
    }
    return true;
  }

  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(rng_() % static_cast<uint64_t>(bound));
  }

 private:
  Formula Integer(int depth) {
    if (depth <= 1) {
      const std::vector<Formula> leaves = {Formula::Parameter("a"), Formula::Parameter("b"),
                                           Formula::Parameter("c"), Below(20) - 5};
      return leaves[static_cast<size_t>(Below(4))];
    }
    const auto operand = [&] { return Integer(depth - 1 - static_cast<int>(Below(2))); };
    switch (Below(12)) {
      case 0:
        return operand() + operand();
      case 1:
        return operand() - operand();
      case 2:
        return operand() * operand();
      case 3:
        return FloorDivide(operand(), operand());
      case 4:
        return operand() % operand();
      case 5:
        return Power(operand(), Below(2) == 0 ? Formula(Below(4)) : Formula::Parameter("a"));
      case 6:
        return -operand();
      case 7:
        return Absolute(operand());
      case 8:
        return Below(2) == 0 ? Min({operand(), operand()}) : Max({operand(), operand(), operand()});
      case 9:
        return CeilDivide(operand(), operand());
      case 10:
        return If(Condition(depth - 1), operand(), operand());
      default:
        return PositionIn(Formula::Parameter("order"), Below(2) == 0 ? "i" : "k");
    }
  }

  // Integers and reals, mixed.
  Formula Number(int depth) {
    if (depth <= 1) {
      if (Below(3) == 0) return Formula::Parameter("x");
      return Below(2) == 0 ? Integer(1) : Formula(static_cast<double>(Below(40) - 20) / 8);
    }
    const auto operand = [&] { return Number(depth - 1 - static_cast<int>(Below(2))); };
    constexpr FormulaOp kOps[] = {
        FormulaOp::kAdd,         FormulaOp::kSubtract,  FormulaOp::kMultiply, FormulaOp::kDivide,
        FormulaOp::kFloorDivide, FormulaOp::kRemainder, FormulaOp::kMin,      FormulaOp::kMax};
    const int64_t choice = Below(12);
    if (choice < 8) return Formula(kOps[choice], {operand(), operand()});
    if (choice == 8) return Power(operand(), Integer(1));
    if (choice == 9) return Below(2) == 0 ? -operand() : Absolute(operand());
    if (choice == 10) return If(Condition(depth - 1), operand(), operand());
    return Integer(depth);
  }

  Formula Text(int depth) {
    if (depth > 1 && Below(2) == 0) return If(Condition(depth - 1), Text(1), Text(1));
    const std::vector<Formula> leaves = {Formula::Parameter("mode"), "fast", "é\n\"\\"};
    return leaves[static_cast<size_t>(Below(3))];
  }

  Formula Order(int depth) {
    if (depth > 1 && Below(2) == 0) return If(Condition(depth - 1), Order(1), Order(1));
    if (Below(2) == 0) return Formula::Parameter("order");
    return Formula(Value(std::vector<std::string>{"k", "i", "j"}));
  }

  Formula Comparison(int depth) {
    constexpr FormulaOp kOps[] = {FormulaOp::kEqual,   FormulaOp::kNotEqual,
                                  FormulaOp::kLess,    FormulaOp::kLessEqual,
                                  FormulaOp::kGreater, FormulaOp::kGreaterEqual};
    const FormulaOp op = kOps[Below(6)];
    switch (Below(6)) {
      case 0:
        return Formula(op, {Text(depth), Text(depth)});
      case 1:
        return Formula(kOps[Below(2)], {Order(depth), Order(depth)});
      case 2:
        return Formula(kOps[Below(2)], {Condition(depth), Condition(depth)});
      case 3:
        return Formula(op, {Number(depth), Number(depth)});
      default:
        return Formula(op, {Integer(depth), Integer(depth)});
    }
  }

  Formula Condition(int depth) {
    if (depth <= 1) return Below(2) == 0 ? Formula::Parameter("on") : Formula(Below(2) == 0);
    const auto operand = [&] { return Condition(depth - 1 - static_cast<int>(Below(2))); };
    switch (Below(8)) {
      case 0:
        return Formula(FormulaOp::kAnd, {operand(), operand(), operand()});
      case 1:
        return Formula(FormulaOp::kOr, {operand(), operand()});
      case 2:
        return !operand();
      case 3:
        return If(operand(), operand(), operand());
      case 4:
        return Divides(Integer(depth - 1), Integer(depth - 1));
      default:
        return Comparison(depth - 1);
    }
  }

  std::mt19937_64 rng_;
};

}  // namespace mdh
