#include "codegen/passes/pass_branch_selections.h"

#include <random>

#include "codegen/passes/weaker_condition.h"
#include "tests/codegen/passes/pass_golden.h"
#include "tests/sanitized.h"

namespace mdh::pass_branch_selections_test {
namespace {

const Index t = Var("t"), k = Var("k");
constexpr LoopValueType kInt = {ScalarType::kInt32, 1};

LoopValue Binary(ScalarOp op, LoopValue a, LoopValue b) {
  return MakeOperation(op, ScalarType::kInt32, {std::move(a), std::move(b)});
}
LoopValue Holds(ScalarOp op, LoopValue a, LoopValue b) {
  return MakeOperation(op, ScalarType::kBool, {std::move(a), std::move(b)});
}
LoopValue Select(LoopValue condition, LoopValue a, LoopValue b) {
  return MakeOperation(ScalarOp::kSelect, ScalarType::kInt32,
                       {std::move(condition), std::move(a), std::move(b)});
}
LoopValue Named(const std::string& name) { return MakeNamed(name, kInt); }
LoopValue Bool(const std::string& name) { return MakeNamed(name, {ScalarType::kBool, 1}); }
Statement Declare(const std::string& name, LoopValue value, bool is_mutable = false) {
  return {DeclareValue{name, std::move(value), is_mutable}};
}
// Costs as many additions as it has.
LoopValue Long(const std::string& name, int additions) {
  LoopValue value = Named(name);
  for (int n = 0; n < additions; ++n) value = Sum(std::move(value), Number(n));
  return value;
}

LoopProgram OfThreads(Block body) {
  body.insert(body.begin(), ThreadNumber("t"));
  return Program(std::move(body), {{1, 1, 1}, {4, 1, 1}});
}
LoopProgram Branched(const LoopProgram& before, const BranchSelectionsOptions& options) {
  const LoopProgram after = BranchSelections(before, options);
  ExpectSameResults(before, after, {{"x", Numbered(64)}, {"y", Numbered(64)}});
  return after;
}
std::string Text(const LoopProgram& program) { return ToText(program.stages[0].body); }

TEST(BranchSelectionsTest, TakesWithItWhatOnlyTheOperandNeeds) {
  const LoopProgram before =
      OfThreads({Declare("a", Element("x", t)), Declare("b", Element("x", t + 8)),
                 Declare("c", Element("x", t + 16)), Declare("twice", Sum(Named("b"), Named("b"))),
                 Declare("r", Select(Holds(ScalarOp::kLt, Named("a"), Named("c")),
                                     Sum(Long("twice", 3), Named("a")), Named("a"))),
                 Set("y", t, Named("r"))});
  EXPECT_EQ(Text(Branched(before, {.least_cost = 6})),
            "index t = thread along 0\n"
            "int32 a = x[t]\n"
            "int32 c = x[t + 16]\n"
            "bool t_1 = (a < c)\n"
            "mutable int32 t_2 = a\n"
            "if any t_1\n"
            "  int32 b = x[t + 8]\n"
            "  int32 twice = (b + b)\n"
            "  t_2 = ((((twice + 0) + 1) + 2) + a)\n"
            "int32 r = t_2\n"
            "y[t] = r\n");
  EXPECT_EQ(Text(Branched(before, {.least_cost = 10})), Text(before));
}

TEST(BranchSelectionsTest, EachOperandHasItsBranch) {
  const LoopProgram before = OfThreads(
      {Declare("a", Element("x", t)),
       Set("y", t,
           Select(Holds(ScalarOp::kLt, Named("a"), Number(3)), Long("a", 6), Long("a", 7)))});
  EXPECT_EQ(Text(Branched(before, {.least_cost = 6})),
            "index t = thread along 0\n"
            "int32 a = x[t]\n"
            "bool t_1 = (a < 3)\n"
            "mutable int32 t_2 = 0\n"
            "if any t_1\n"
            "  t_2 = ((((((a + 0) + 1) + 2) + 3) + 4) + 5)\n"
            "if any !(t_1)\n"
            "  t_2 = (((((((a + 0) + 1) + 2) + 3) + 4) + 5) + 6)\n"
            "y[t] = t_2\n");
}

TEST(BranchSelectionsTest, LoadsStayInFrontOfWhatMayWriteThere) {
  const LoopProgram before = OfThreads(
      {Declare("a", Element("y", t)), Set("y", t, Number(1)),
       Set("y", t,
           Select(Holds(ScalarOp::kLt, Element("x", t), Number(3)), Long("a", 6), Number(0)))});
  const std::string text = Text(Branched(before, {.least_cost = 6}));
  EXPECT_LT(text.find("int32 a = y[t]"), text.find("y[t] = 1")) << text;
  EXPECT_LT(text.find("y[t] = 1"), text.find("if any")) << text;
}

// The other threads wait for them.
TEST(BranchSelectionsTest, ShufflesAreNotLeftOut) {
  const LoopProgram before =
      OfThreads({Declare("a", Element("x", t)),
                 Set("y", t,
                     Select(Holds(ScalarOp::kLt, Named("a"), Number(3)),
                            Sum(Long("a", 6), MakeShuffleDown(Named("a"), 1, 4)), Number(0)))});
  EXPECT_EQ(Text(BranchSelections(before, {.least_cost = 6})), Text(before));
}

TEST(BranchSelectionsTest, ALongConditionHasAGuard) {
  Block body;
  for (const std::string name : {"a", "b", "c", "d"}) {
    body.push_back(Declare(name, Element("x", t * 4 + static_cast<int64_t>(body.size()))));
  }
  const auto known_and = [](const std::string& name, int64_t n) {
    return Holds(ScalarOp::kAnd, Holds(ScalarOp::kNe, Named(name), Number(-1)),
                 Holds(ScalarOp::kEq, Named(name), Number(n)));
  };
  body.push_back(Declare("first", known_and("a", -20)));
  body.push_back(
      Declare("second", Holds(ScalarOp::kAnd, known_and("b", -19), known_and("c", -16))));
  body.push_back(Declare("r", Select(Holds(ScalarOp::kAnd, Bool("first"),
                                           Holds(ScalarOp::kAnd, Bool("second"),
                                                 Holds(ScalarOp::kLt, Named("d"), Number(0)))),
                                     Long("a", 6), Number(7))));
  body.push_back(Set("y", t, Named("r")));
  EXPECT_EQ(Text(Branched(OfThreads(body), {.least_cost = 6, .least_dropped = 4})),
            "index t = thread along 0\n"
            "int32 a = x[t * 4]\n"
            "int32 b = x[t * 4 + 1]\n"
            "mutable int32 t_1 = 7\n"
            "if any ((a == -20) && (b == -19))\n"
            "  int32 c = x[t * 4 + 2]\n"
            "  int32 d = x[t * 4 + 3]\n"
            "  bool first = ((a != -1) && (a == -20))\n"
            "  bool second = (((b != -1) && (b == -19)) && ((c != -1) && (c == -16)))\n"
            "  bool t_2 = (first && (second && (d < 0)))\n"
            "  mutable int32 t_3 = t_1\n"
            "  if any t_2\n"
            "    t_3 = ((((((a + 0) + 1) + 2) + 3) + 4) + 5)\n"
            "  t_1 = t_3\n"
            "int32 r = t_1\n"
            "y[t] = r\n");
}

TEST(BranchSelectionsTest, ResultsThatStayAreNotSelected) {
  Block loop = {Declare("v", Element("x", t * 8 + k)),
                Declare("stays", Holds(ScalarOp::kLe, Named("best"), Named("v"))),
                Declare("next", Select(Bool("stays"), Named("best"), Named("v"))),
                Declare("next_at", Select(Bool("stays"), Named("at"), Sum(Named("v"), Number(2)))),
                {Assign{"best", Named("next")}},
                {Assign{"at", Named("next_at")}}};
  const LoopProgram before =
      OfThreads({Declare("best", Number(1000), /*is_mutable=*/true),
                 Declare("at", Number(0), /*is_mutable=*/true), Loop("k", 8, loop),
                 Set("y", t, Named("best")), Set("y", t + 4, Named("at"))});
  EXPECT_EQ(Text(Branched(before, {.least_change = 3})),
            "index t = thread along 0\n"
            "mutable int32 best = 1000\n"
            "mutable int32 at = 0\n"
            "for k = 0 .. 8\n"
            "  int32 v = x[t * 8 + k]\n"
            "  bool stays = (best <= v)\n"
            "  mutable int32 next = best\n"
            "  mutable int32 next_at = at\n"
            "  if any !(stays)\n"
            "    next = v\n"
            "    next_at = (v + 2)\n"
            "  best = next\n"
            "  at = next_at\n"
            "y[t] = best\n"
            "y[t + 4] = at\n");
  EXPECT_EQ(Text(Branched(before, {.least_change = 4})), Text(before));
}

TEST(WeakerConditionTest, IsImpliedAndNeedsLess) {
  const auto none = [](const std::string&) { return LoopValue(); };
  const auto equal = [](const std::string& name) {
    return Holds(ScalarOp::kEq, Named(name), Number(1));
  };
  const auto less = [](const std::string& name) {
    return Holds(ScalarOp::kLt, Named(name), Number(1));
  };
  const auto both = [](LoopValue a, LoopValue b) { return Holds(ScalarOp::kAnd, a, b); };
  const LoopValue three = both(both(equal("a"), equal("b")), equal("c"));
  EXPECT_EQ(ToText(WeakerCondition(three, none, 1)), "((a == 1) && (b == 1))");
  EXPECT_EQ(WeakerCondition(three, none, 2), nullptr);
  EXPECT_EQ(WeakerCondition(both(both(less("a"), less("b")), less("c")), none, 1), nullptr)
      << "nothing says that it rarely holds";
  const LoopValue either =
      Holds(ScalarOp::kOr, three, both(both(less("a"), equal("d")), less("c")));
  EXPECT_EQ(ToText(WeakerCondition(either, none, 3)), "(((a == 1) && (b == 1)) || (d == 1))");
}

// Scalars and vectors, conditions and selections in each other, results that are carried along.
class RandomSelections {
 public:
  explicit RandomSelections(uint32_t seed)
      : generator_(seed), type_{ScalarType::kInt32, seed % 2 == 0 ? 1 : 4} {}

  LoopProgram Make() {
    Block body = {ThreadNumber("t")};
    for (const std::string name : {"best", "at"}) {
      body.push_back({DeclareValue{name, MakeSplat(Number(Below(50)), type_.lanes), true}});
    }
    Block loop;
    for (int n = 0; n < 4; ++n) AddLoad(loop);
    for (int n = 0; n < 8; ++n) AddStatement(loop);
    AddResults(loop);
    body.push_back(Loop("k", 5, loop));
    body.push_back({StoreElements{"y", t * 4, MakeNamed("best", type_), 1}});
    body.push_back({StoreElements{"y", t * 4 + 32, MakeNamed("at", type_), 1}});
    return Program(std::move(body), {{1, 1, 1}, {4, 1, 1}});
  }

 private:
  int Below(int end) { return static_cast<int>(generator_() % static_cast<uint32_t>(end)); }
  std::string Name() { return "v" + std::to_string(++names_); }

  void AddLoad(Block& block) {
    const std::string name = Name();
    block.push_back(
        {DeclareValue{name, MakeLoad("x", t * 4 + k * 4 + int64_t{4} * Below(4), type_, 1)}});
    values_.push_back(name);
  }
  LoopValue Value(int depth) {
    if (depth == 0 || Below(3) == 0) {
      if (Below(6) == 0) return Number(Below(30));
      return MakeNamed(values_[generator_() % values_.size()], type_);
    }
    if (Below(3) == 0) return Select(Condition(depth - 1), Value(depth - 1), Value(depth - 1));
    return Binary(Below(2) == 0 ? ScalarOp::kAdd : ScalarOp::kMax, Value(depth - 1),
                  Value(depth - 1));
  }
  LoopValue Condition(int depth) {
    if (!bools_.empty() && Below(3) == 0) {
      const std::string& name = bools_[generator_() % bools_.size()];
      return MakeNamed(name, {ScalarType::kBool, type_.lanes});
    }
    if (depth > 0 && Below(3) > 0) {
      return Holds(Below(2) == 0 ? ScalarOp::kAnd : ScalarOp::kOr, Condition(depth - 1),
                   Condition(depth - 1));
    }
    // Of all lanes, so that what has a name is a vector.
    return Holds(Below(2) == 0 ? ScalarOp::kEq : ScalarOp::kLt,
                 MakeNamed(values_[generator_() % values_.size()], type_), Value(0));
  }
  void AddStatement(Block& block) {
    const std::string name = Name();
    if (Below(3) == 0) {
      block.push_back({DeclareValue{name, Condition(2)}});
      bools_.push_back(name);
      return;
    }
    LoopValue value = Value(3);
    if (value->type.lanes < type_.lanes) value = MakeSplat(value, type_.lanes);
    block.push_back({DeclareValue{name, value}});
    values_.push_back(name);
    if (Below(4) == 0) block.push_back({StoreElements{"y", t * 4 + 16, value, 1}});
  }
  void AddResults(Block& block) {
    const std::string stays = Name(), next = Name(), next_at = Name();
    const LoopValueType bools = {ScalarType::kBool, type_.lanes};
    const LoopValue best = MakeNamed("best", type_), at = MakeNamed("at", type_);
    block.push_back(
        {DeclareValue{stays, Holds(ScalarOp::kLe, best, MakeNamed(values_.back(), type_))}});
    const bool is_first = Below(2) == 0;
    const auto select = [&](const LoopValue& result, const LoopValue& change) {
      return is_first ? Select(MakeNamed(stays, bools), result, change)
                      : Select(MakeNamed(stays, bools), change, result);
    };
    block.push_back({DeclareValue{next, select(best, Value(2))}});
    block.push_back({DeclareValue{next_at, select(at, Value(3))}});
    block.push_back({Assign{"best", MakeNamed(next, type_)}});
    block.push_back({Assign{"at", MakeNamed(next_at, type_)}});
  }

  std::mt19937 generator_;
  const LoopValueType type_;
  std::vector<std::string> values_, bools_;
  int names_ = 0;
};

TEST(BranchSelectionsTest, RandomSelectionsMeanTheSame) {
  int branches = 0;
  constexpr uint32_t kSelections = TriedCases(300);
  for (uint32_t seed = 0; seed < kSelections && !testing::Test::HasFailure(); ++seed) {
    const LoopProgram before = RandomSelections(seed).Make();
    for (const int least : {1, 4}) {
      const LoopProgram after = Branched(
          before, {.least_cost = least, .least_dropped = least, .least_change = least + 1});
      branches += Text(after).find("if any") != std::string::npos;
    }
  }
  EXPECT_GT(branches, TriedCases(300));
}

}  // namespace
}  // namespace mdh::pass_branch_selections_test
