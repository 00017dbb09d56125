#include "codegen/passes/pass_hoist_indices.h"

#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_hoist_indices_test {
namespace {

const Index b = Var("i_blk"), t = Var("i_thr"), k = Var("k"), l = Var("l"), r = Var("r");

// Blocks of 8 rows with 4 threads of 2 rows each, along k in tiles of 4.
LoopProgram Tiles() {
  Block point = {{DeclareIndex{"i", b * 8 + t * 2 + r}},
                 Guard(Var("i"), Index(14),
                       {Set("y", b * 8 + t * 2 + r,
                            Sum(Element("y", b * 8 + t * 2 + r),
                                Element("A", (b * 8 + t * 2 + r) * 16 + k * 4 + l + Index(1))))})};
  Block body;
  body.push_back(BlockNumber("i_blk"));
  body.push_back(ThreadNumber("i_thr"));
  body.push_back(Loop(
      "k", 3, {{DeclareIndex{"row", b * 8 + t * 2}}, Loop("l", 4, {UnrolledLoop("r", 2, point)})}));
  body.push_back(Loop("k", 3,
                      {Set("z", b * 8 + t * 2, Element("A", k * 4)),
                       UnrolledLoop("r", 2, {Set("w", t, Element("w", t))})}));
  return Program(std::move(body), {{2, 1, 1}, {4, 1, 1}});
}

TEST(HoistIndicesTest, WhatDoesNotChangeInALoopIsComputedOutside) {
  const LoopProgram before = Tiles(), after = HoistIndices(before);
  ExpectGoldenPass("hoist_indices", before, after);
  ExpectSameResults(
      before, after,
      {{"A", Numbered(256)}, {"y", Numbered(16)}, {"z", Numbered(16)}, {"w", Numbered(4)}});
}

void ExpectUnchanged(const LoopProgram& program) {
  EXPECT_EQ(ToText(HoistIndices(program)), ToText(program));
}

TEST(HoistIndicesTest, NothingOutsideOfLoops) {
  ExpectUnchanged(Program({ThreadNumber("i_thr"), Set("y", t * 4 + Index(1), Number(1))}));
}

TEST(HoistIndicesTest, SingleVariablesAndConstantsStay) {
  ExpectUnchanged(
      Program({ThreadNumber("i_thr"), Loop("k", 4, {Set("y", t + k * 4 + Index(2), Number(1))})}));
}

TEST(HoistIndicesTest, NotOutOfUnrolledLoopsAlone) {
  ExpectUnchanged(
      Program({ThreadNumber("i_thr"), UnrolledLoop("r", 4, {Set("y", t * 4 + r, Number(1))})}));
}

TEST(HoistIndicesTest, WhatUnrollingMakesConstantStays) {
  ExpectUnchanged(
      Program({Private("acc", 64),
               UnrolledLoop("r", 4, {Loop("k", 4, {Set("acc", r * 4 + k, Number(1))})})}));
}

TEST(HoistIndicesTest, ConditionsAndRangesOfLoopsAndSharedItems) {
  Block body = {ThreadNumber("i_thr"),
                {ShareLoop{"item", 8,
                           Body({Loop("k", Min(Var("item") * 2, Index(5)),
                                      {Guard(t * 4 + Var("item") * 2 + k, Index(20),
                                             {Set("y", Var("item"), Number(1))})})})}}};
  EXPECT_EQ(ToText(HoistIndices(Program(body)).stages[0].body),
            "index i_thr = thread along 0\n"
            "index i_thr_at = i_thr * 4\n"
            "share item = 0 .. 8\n"
            "  index i_thr_at_1 = i_thr_at + item * 2\n"
            "  for k = 0 .. mdh_min(item * 2, 5)\n"
            "    if i_thr_at_1 + k < 20\n"
            "      y[item] = 1\n");
}

TEST(HoistIndicesTest, EqualSumsOfABlockAreDeclaredOnce) {
  const Statement loop = Loop("k", 4, {Set("y", t * 4 + k, Element("x", t * 4 + k))});
  EXPECT_EQ(ToText(HoistIndices(Program({ThreadNumber("i_thr"), loop, loop})).stages[0].body),
            "index i_thr = thread along 0\n"
            "index x_at = i_thr * 4\n"
            "for k = 0 .. 4\n"
            "  y[x_at + k] = x[x_at + k]\n"
            "for k = 0 .. 4\n"
            "  y[x_at + k] = x[x_at + k]\n");
}

TEST(HoistIndicesTest, OtherBranchesDoNotSeeDeclarations) {
  const auto branch = [](int64_t n) {
    return Guard(
        t, Index(n),
        {{DeclareIndex{"s", t % 3}}, Loop("k", 4, {Set("y", Var("s") * 4 + k, Number(n))})});
  };
  const LoopProgram before =
      Program({ThreadNumber("i_thr"), branch(1), branch(1)}, {{1, 1, 1}, {4, 1, 1}});
  const LoopProgram after = HoistIndices(before);
  EXPECT_EQ(ToText(after.stages[0].body),
            "index i_thr = thread along 0\n"
            "if i_thr < 1\n"
            "  index s = i_thr % 3\n"
            "  index y_at = s * 4\n"
            "  for k = 0 .. 4\n"
            "    y[y_at + k] = 1\n"
            "if i_thr < 1\n"
            "  index s = i_thr % 3\n"
            "  index y_at_1 = s * 4\n"
            "  for k = 0 .. 4\n"
            "    y[y_at_1 + k] = 1\n");
  ExpectSameResults(before, after, {{"y", Numbered(16)}});
}

TEST(HoistIndicesTest, NamesOfTheProgramAreNotTakenAgain) {
  const LoopProgram program =
      Program({ThreadNumber("i_thr"),
               {DeclareIndex{"y_at", t % 2}},
               Loop("k", 4, {Set("y", t * 4 + k, Element("x", Var("y_at")))})});
  EXPECT_NE(ToText(HoistIndices(program)).find("index y_at_1 = i_thr * 4"), std::string::npos);
}

TEST(HoistIndicesTest, IndicesInsideOfBuffersWithBoundaries) {
  LoadInside load{"x", {{t * 4 + k - Index(1), 0, 30, 1}}, 0, std::nullopt};
  const LoopValue value =
      std::make_shared<const ValueNode>(ValueNode{{ScalarType::kInt32, 1}, load});
  const LoopProgram program = Program({ThreadNumber("i_thr"), Loop("k", 4, {Set("y", k, value)})});
  EXPECT_EQ(ToText(HoistIndices(program).stages[0].body),
            "index i_thr = thread along 0\n"
            "index x_at = i_thr * 4\n"
            "for k = 0 .. 4\n"
            "  y[k] = x[x_at + k - 1 of 30 at 1; 0] else nearest\n");
}

}  // namespace
}  // namespace mdh::pass_hoist_indices_test
