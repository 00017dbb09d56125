#include "codegen/passes/pass_simplify.h"

#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_simplify_test {
namespace {

const Index kBlock = Var("i_blk"), kThread = Var("i_thr"), k = Var("k"), r = Var("r");

std::string SimplifiedText(Block body, LaunchGeometry launch = {}) {
  return ToText(Simplify(Program(std::move(body), launch)).stages[0].body);
}

// Tiles of 8 with 4 threads for 30 elements, as a builder writes them without looking at sizes.
LoopProgram Tiles() {
  Block inner;
  inner.push_back({DeclareIndex{"i", kBlock * 8 + kThread * 2 + r}});
  inner.push_back(Guard(Var("i"), Index(30),
                        {Set("y", Var("i"), Sum(Element("x", Var("i")), Number(1)))},
                        {{Comment{"Nothing to do."}}}));
  Block body;
  body.push_back(BlockNumber("i_blk"));
  body.push_back(BlockNumber("j_blk", 1));
  body.push_back(ThreadNumber("i_thr"));
  body.push_back({Comment{"De-composition."}});
  body.push_back(Loop("j", 0, {Set("y", Var("j"), Number(7))}));
  body.push_back({Comment{"Scalar phase."}});
  body.push_back(Loop("k", 1, {Loop("r", 2, inner)}));
  // The last element of the padding is outside for all threads.
  body.push_back(Guard(kThread + Index(40), Index(32), {Set("y", Index(0), Number(9))}));
  // Flattened numbers that the launch decides.
  body.push_back({DeclareIndex{"flat", Var("j_blk") * 4 + kThread}});
  body.push_back(Guard(Var("flat") / 4 + kThread % 4, Index(1),
                       {Set("z", kBlock, Element("x", (kBlock * 4 + kThread) / 4))}));
  return Program(std::move(body), {{4, 1, 1}, {4, 1, 1}});
}

TEST(SimplifyTest, DecidesWhatSizesDecide) {
  const LoopProgram before = Tiles(), after = Simplify(before);
  ExpectGoldenPass("simplify", before, after);
  ExpectSameResults(before, after, {{"x", Numbered(32)}, {"y", Numbered(32)}, {"z", Numbered(4)}});
}

TEST(SimplifyTest, SimplifyingTwiceChangesNothingMore) {
  const LoopProgram once = Simplify(Tiles());
  EXPECT_EQ(ToText(Simplify(once)), ToText(once));
}

TEST(SimplifyTest, KeepsWhatDependsOnValues) {
  Block body;
  body.push_back(ThreadNumber("i_thr"));
  body.push_back({Comment{"Part of the threads."}});
  body.push_back(
      Guard(kThread, Index(3), {Set("y", kThread, Number(1))}, {Set("y", kThread, Number(2))}));
  body.push_back(Loop("k", Var("n"), {Set("y", k % 4, Number(1))}));
  const LoopProgram program = Program(body, {{1, 1, 1}, {4, 1, 1}});
  EXPECT_EQ(ToText(Simplify(program)), ToText(program));
}

TEST(SimplifyTest, LoadsSayWhereTheyAreInside) {
  const auto load = [&](const Index& row, const Index& column) {
    return ElementInside("x", {{row, 0, 4, 8}, {column, 0, 8, 1}}, 7);
  };
  const auto text = [&](const LoopValue& value) {
    return SimplifiedText({ThreadNumber("i_thr"), Loop("k", 2, {Set("y", kThread, value)})},
                          {{1, 1, 1}, {4, 1, 1}});
  };
  EXPECT_NE(text(load(kThread, k * 4 + Index(3))).find("x[i_thr inside 4 at 8; k * 4 + 3 inside 8"),
            std::string::npos);
  EXPECT_NE(text(load(kThread - Index(1), k * 4 + Index(4)))
                .find("x[i_thr - 1 of 4 at 8; k * 4 + 4 of 8"),
            std::string::npos);
  EXPECT_NE(text(load(Var("n"), k)).find("x[n of 4 at 8; k inside 8"), std::string::npos);
  const std::string two = text(Sum(load(kThread, k), load(kThread - Index(1), k)));
  EXPECT_NE(two.find("x[i_thr of 4 at 8; k inside 8"), std::string::npos) << two;
  EXPECT_NE(two.find("x[i_thr - 1 of 4 at 8; k inside 8"), std::string::npos) << two;
  LoadInside lanes = std::get<LoadInside>(load(kThread, k * 4)->form);
  for (const int count : {4, 5}) {
    lanes.dimensions[1].lane_step = 1;
    const LoopValue wide =
        std::make_shared<const ValueNode>(ValueNode{{ScalarType::kInt32, count}, lanes});
    EXPECT_NE(text(wide).find(count == 4 ? "k * 4 + lane * 1 inside 8" : "k * 4 + lane * 1 of 8"),
              std::string::npos);
  }
}

TEST(SimplifyTest, BodiesThatMoveGetNamesOfTheirOwn) {
  const auto part = [](int64_t n) {
    return Loop("k", 1,
                {{DeclareValue{"v", Element("x", Index(n))}},
                 Set("y", Index(n), MakeNamed("v", {ScalarType::kInt32, 1}))});
  };
  const LoopProgram before = Program({part(0), part(1), part(2)}), after = Simplify(before);
  EXPECT_EQ(ToText(after.stages[0].body),
            "int32 v = x[0]\n"
            "y[0] = v\n"
            "int32 v_1 = x[1]\n"
            "y[1] = v_1\n"
            "int32 v_2 = x[2]\n"
            "y[2] = v_2\n");
  ExpectSameResults(before, after, {{"x", Numbered(3)}, {"y", Numbered(3)}});
}

TEST(SimplifyTest, LoopsOfOneIterationFromAVariablePlace) {
  Block body;
  body.push_back(ThreadNumber("i_thr"));
  body.push_back({For{"k", kThread * 2, kThread * 2 + Index(2), 2, true,
                      Body({Set("y", k, Element("x", k))})}});
  const LoopProgram before = Program(body, {{1, 1, 1}, {2, 1, 1}}), after = Simplify(before);
  EXPECT_EQ(ToText(after.stages[0].body),
            "index i_thr = thread along 0\n"
            "index k = i_thr * 2\n"
            "y[k] = x[k]\n");
  ExpectSameResults(before, after, {{"x", Numbered(4)}, {"y", Numbered(4)}});
}

TEST(SimplifyTest, LoopsWhoseWholeStepsDoNotFit) {
  EXPECT_EQ(SimplifiedText({{For{"k", 0, 3, 4, true, Body({Set("y", k, Number(1))})}}}), "");
  EXPECT_EQ(SimplifiedText({{For{"k", 0, 3, 4, false, Body({Set("y", k, Number(1))})}}}),
            "y[0] = 1\n");
}

TEST(SimplifyTest, ConditionsThatHoldAroundHoldInside) {
  const Statement inside = Guard(k, Var("n"), {Set("y", k, Number(1))}, {Set("y", k, Number(2))});
  EXPECT_EQ(SimplifiedText({Loop("k", 8, {Guard(k, Var("n"), {Loop("l", 2, {inside})})})}),
            "for k = 0 .. 8\n"
            "  if k < n\n"
            "    for l = 0 .. 2\n"
            "      y[k] = 1\n");
}

TEST(SimplifyTest, ConditionsMentionWhatDecidesThem) {
  EXPECT_EQ(SimplifiedText({Loop(
                "k", Var("n"),
                {Loop("l", 4,
                      {Guard(k * 4 + Var("l"), 100, {Set("y", k * 4 + Var("l"), Number(1))})})})}),
            "for k = 0 .. n\n"
            "  for l = 0 .. 4\n"
            "    if k * 4 < 100\n"
            "      y[k * 4 + l] = 1\n");
}

TEST(SimplifyTest, FlagsThatConstantsDecide) {
  Block body;
  body.push_back({DeclareFlag{"is_full", {{Condition::Kind::kLess, Index(3), Index(4), ""}}}});
  body.push_back({DeclareFlag{"is_open", {{Condition::Kind::kLess, Var("n"), Index(4), ""}}}});
  body.push_back({If{{{Condition::Kind::kNotFlag, 0, 0, "is_full"}},
                     Body({Set("y", 0, Number(1))}),
                     Body({Set("y", 0, Number(2))})}});
  body.push_back(
      {If{{{Condition::Kind::kFlag, 0, 0, "is_full"}, {Condition::Kind::kFlag, 0, 0, "is_open"}},
          Body({Set("y", 1, Number(3))}),
          nullptr}});
  EXPECT_EQ(SimplifiedText(body),
            "flag is_open = n < 4\n"
            "y[0] = 2\n"
            "if is_open\n"
            "  y[1] = 3\n");
}

TEST(SimplifyTest, FlagsThatChangeStay) {
  Block body;
  body.push_back({DeclareFlag{"is_first", {}, /*is_mutable=*/true}});
  body.push_back(Loop(
      "k", 4,
      {{If{{{Condition::Kind::kFlag, 0, 0, "is_first"}}, Body({Set("y", k, Number(1))}), nullptr}},
       {ClearFlag{"is_first"}}}));
  EXPECT_EQ(SimplifiedText(body), ToText(body));
}

TEST(SimplifyTest, DropsDeclarationsOfDeclarationsThatNothingUses) {
  Block body;
  body.push_back(ThreadNumber("i_thr"));
  body.push_back({DeclareIndex{"a", kThread * 2}});
  body.push_back({DeclareIndex{"b", Var("a") + Index(1)}});
  body.push_back({DeclareValue{"v", Element("x", Var("b"))}});
  body.push_back(Private("R", 4));
  body.push_back(Loop("k", 4, {{DeclareValue{"w", Element("x", k)}}}));
  EXPECT_EQ(SimplifiedText(body, {{1, 1, 1}, {4, 1, 1}}), "");
}

TEST(SimplifyTest, NamesForOtherVariablesAreGone) {
  EXPECT_EQ(SimplifiedText({ThreadNumber("i_thr"),
                            {DeclareIndex{"at", kThread}},
                            {DeclareIndex{"also", Var("at")}},
                            Set("y", Var("also") * 2, Number(1))},
                           {{1, 1, 1}, {4, 1, 1}}),
            "index i_thr = thread along 0\n"
            "y[i_thr * 2] = 1\n");
}

TEST(SimplifyTest, ArgumentsOfCallsAreSimplified) {
  Block body;
  body.push_back({DeclareIndex{"first", Index(0)}});
  body.push_back(Loop("k", 1, {{Call{"tile", {"A", Var("k") * 4 + Var("first")}}}}));
  EXPECT_EQ(SimplifiedText(body), "tile(A, 0)\n");
}

TEST(SimplifyTest, CopiesOfNothingAreGone) {
  Block body;
  body.push_back(Shared("S", 4));
  body.push_back({CopyRegion{"S", 2, Body({Loop("k", 0, {Set("S", k, Number(1))})})}});
  EXPECT_EQ(SimplifiedText(body), "");
}

}  // namespace
}  // namespace mdh::pass_simplify_test
