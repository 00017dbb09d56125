#include "codegen/passes/pass_unroll.h"

#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_unroll_test {
namespace {

const Index i = Var("i"), j = Var("j"), k = Var("k"), m = Var("m");

// A matrix of accumulators in registers, and a copy of a column.
LoopProgram RegisterTile() {
  Block body;
  body.push_back(Private("acc", 32));
  body.push_back(Loop("i", 4, {Loop("j", 8, {Set("acc", i * 8 + j, Number(0))})}));
  Block point = {{DeclareIndex{"at", i * 8 + j}},
                 Set("acc", Var("at"), Sum(Element("acc", Var("at")), Element("A", i * 64 + k)))};
  Block step = {Loop("m", 4, {Set("S", m, Element("B", k * 4 + m))}),
                Loop("i", 4, {Loop("j", 8, point)})};
  body.push_back(Loop("k", 64, step));
  body.push_back(Loop("i", 4, {Loop("j", 8, {Set("C", i * 8 + j, Element("acc", i * 8 + j))})}));
  return Program(std::move(body));
}

TEST(UnrollTest, SmallLoopsAndLoopsOverPrivateArrays) {
  const LoopProgram before = RegisterTile();
  const LoopProgram after = Unroll(before, {.points = 8});
  ExpectGoldenPass("unroll", before, after);
  ExpectSameResults(
      before, after,
      {{"A", Numbered(256)}, {"B", Numbered(256)}, {"S", Numbered(4)}, {"C", Numbered(32)}});
}

TEST(UnrollTest, OuterLoopsAsLongAsTheNestIsSmall) {
  const auto nest = [](bool inner, bool outer) {
    Block body = {Set("y", i * 4 + j, Number(1))};
    body = {inner ? UnrolledLoop("j", 4, body) : Loop("j", 4, body)};
    return Program({outer ? UnrolledLoop("i", 4, body) : Loop("i", 4, body)});
  };
  const LoopProgram rolled = nest(false, false);
  EXPECT_EQ(ToText(Unroll(rolled, {.points = 3})), ToText(rolled));
  EXPECT_EQ(ToText(Unroll(rolled, {.points = 15})), ToText(nest(true, false)));
  EXPECT_EQ(ToText(Unroll(rolled, {.points = 16})), ToText(nest(true, true)));
}

TEST(UnrollTest, LoopsAroundRolledLoopsStay) {
  const LoopProgram program =
      Program({Loop("i", 2, {Loop("j", Var("n"), {Set("y", j, Number(1))})})});
  EXPECT_EQ(ToText(Unroll(program, {.points = 4096})), ToText(program));
}

TEST(UnrollTest, NestsWithManyBranchesStayLoops) {
  const auto nest = [](bool inner, bool outer, int64_t by) {
    Block body = {Set("y", i * 4 + j, Number(1))};
    body = {{If{{{Condition::Kind::kLess, i * 4 + j, Var("n"), ""}},
                std::make_shared<const Block>(std::move(body)),
                nullptr}}};
    body = {inner ? UnrolledLoop("j", 4, body) : Loop("j", 4, body)};
    Statement loop = outer ? UnrolledLoop("i", 8, body) : Loop("i", 8, body);
    std::get<For>(loop.form).unroll_by = by;
    return ToText(Program({loop}));
  };
  const auto unrolled = [&](int64_t points, int64_t branching) {
    Block body = {Set("y", i * 4 + j, Number(1))};
    body = {{If{{{Condition::Kind::kLess, i * 4 + j, Var("n"), ""}},
                std::make_shared<const Block>(std::move(body)),
                nullptr}}};
    return ToText(Unroll(Program({Loop("i", 8, {Loop("j", 4, body)})}),
                         {.points = points, .branching_points = branching}));
  };
  EXPECT_EQ(unrolled(32, 32), nest(true, true, 0));
  EXPECT_EQ(unrolled(32, 31), nest(true, false, 7));
  EXPECT_EQ(unrolled(32, 8), nest(true, false, 2));
  EXPECT_EQ(unrolled(32, 4), nest(true, false, 1));
  // The compiler decides where no nest of this size would be unrolled anyway.
  EXPECT_EQ(unrolled(31, 8), nest(true, false, 0));
  EXPECT_NE(unrolled(32, 8).find("unrolled by 2 for i"), std::string::npos);
}

TEST(UnrollTest, CopiesHaveAsManyElementsOnTheirWayAsThereAreRegistersFor) {
  const auto unrolled = [&](int64_t rounds) {
    Block body = {Loop("i", rounds, {Set("S", i, Element("A", i))})};
    return ToText(Unroll(Program({{CopyRegion{"S", 1, Body(body)}}, Loop("j", rounds, body)}),
                         {.points = 64}));
  };
  EXPECT_EQ(unrolled(16).find("unrolled by"), std::string::npos);
  const std::string text = unrolled(40);
  EXPECT_NE(text.find("  unrolled by 16 for i = 0 .. 40"), std::string::npos) << text;
  EXPECT_NE(text.find("  unrolled for i = 0 .. 40"), std::string::npos) << text;  // no copy
}

TEST(UnrollTest, PointsOfSeveralLoopsInOneAddUp) {
  Block body = {Loop("j", 4, {Set("y", j, Number(1))}), Loop("k", 4, {Set("z", k, Number(1))})};
  const std::string text = ToText(Unroll(Program({Loop("i", 2, body)}), {.points = 15}));
  EXPECT_NE(text.find("\n  for i"), std::string::npos);
  EXPECT_NE(text.find("unrolled for k"), std::string::npos);
}

TEST(UnrollTest, LoopsOutsideOfAPrivateArrayAndThoseThatDoNotIndexItStay) {
  Block inside = {Private("R", 4), Loop("j", 4, {Set("R", j, Element("x", i * 4 + j))}),
                  Loop("k", 100, {Set("y", i, Element("R", Index(0)))})};
  const LoopProgram program = Program({Loop("i", 4, inside)});
  inside[1] = UnrolledLoop("j", 4, {Set("R", j, Element("x", i * 4 + j))});
  EXPECT_EQ(ToText(Unroll(program, {})), ToText(Program({Loop("i", 4, inside)})));
}

TEST(UnrollTest, PrivateArraysOfCpusNeedNoUnrolling) {
  const LoopProgram program = RegisterTile();
  EXPECT_EQ(ToText(Unroll(program, {.points = 1, .private_arrays = false})), ToText(program));
}

TEST(UnrollTest, PointersIntoPrivateArraysCount) {
  Block body = {Private("R", 8),
                {DeclarePointer{"P", ScalarType::kInt32, false, "R", Index(4)}},
                Loop("i", 4, {Set("P", i, Number(1))})};
  EXPECT_NE(ToText(Unroll(Program(body), {})).find("unrolled for i"), std::string::npos);
}

}  // namespace
}  // namespace mdh::pass_unroll_test
