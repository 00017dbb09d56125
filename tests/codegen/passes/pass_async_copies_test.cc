#include "codegen/passes/pass_async_copies.h"

#include <gtest/gtest-spi.h>

#include <algorithm>

#include "codegen/passes/pass_double_buffer.h"
#include "codegen/passes/passes.h"
#include "codegen/program/loop_program_walk.h"
#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_async_copies_test {
namespace {

const Index t = Var("t"), k = Var("k"), l = Var("l"), lane = Var("lane");

constexpr int kThroughRegisters = 0;  // in place of a number of stages: two, not asynchronous

Statement Region(const std::string& array, int stages, Block body) {
  if (stages == kThroughRegisters) return {CopyRegion{array, 2, Body(std::move(body))}};
  return {CopyRegion{array, stages, Body(std::move(body)), /*is_asynchronous=*/true}};
}

// 4 threads copy 16 elements of A, two at once, and, as far as they exist, 6 of B for each part.
Statement CopyA(int stages) {
  const Index at = Var("A_at") * 2 + lane;
  return Region("A_shr", stages,
                {Loop("A_round", 2,
                      {{DeclareIndex{"A_at", Var("A_round") * 4 + t}},
                       Loop("lane", 2, {Set("A_shr", at, Element("A", k * 16 + at))})})});
}

Statement CopyB(int stages) {
  const Index at = Var("B_at"), from = Var("first") + at;
  return Region("B_shr", stages,
                {{DeclareIndex{"B_at", t * 2}},
                 Guard(at, Index(6),
                       {Set("B_shr", at, Element("B", from)),
                        Set("B_shr", at + Index(1), Element("B", from + Index(1)))})});
}

Statement Computation() {
  return Loop(
      "l", 6,
      {Set("C", t,
           Sum(Element("C", t), Sum(Element("A_shr", (l + t * 4) % 16), Element("B_shr", l))))});
}

LoopProgram Pipelined(Block loop_body, const Index& parts = 5) {
  Block body = {Shared("A_shr", 16), Shared("B_shr", 6), ThreadNumber("t")};
  body.push_back(Loop("k", parts, std::move(loop_body)));
  return Program(std::move(body), {{1, 1, 1}, {4, 1, 1}});
}

LoopProgram TwoCopies(int stages_a, int stages_b, const Index& parts = 5) {
  return Pipelined({{DeclareIndex{"first", k * 6}},
                    CopyA(stages_a),
                    CopyB(stages_b),
                    {Barrier{}},
                    Computation(),
                    {Barrier{}}},
                   parts);
}

ProgramMemory Memory() {
  return {{"A", Numbered(96)}, {"B", Numbered(36)}, {"C", Numbered(4)}, {"D", Numbered(80)}};
}

bool IsBarrier(const Statement& s) { return std::holds_alternative<Barrier>(s.form); }

// Barriers of the loop over k in the last stage's body.
int64_t BarriersPerIteration(const LoopProgram& program) {
  for (const Statement& statement : program.stages.back().body) {
    const auto* loop = std::get_if<For>(&statement.form);
    if (loop == nullptr || loop->variable != "k") continue;
    return std::count_if(loop->body->begin(), loop->body->end(), IsBarrier);
  }
  return -1;
}

void ExpectUnchanged(const LoopProgram& program) {
  EXPECT_EQ(ToText(MakeAsyncCopies(program, {})), ToText(program));
}

TEST(AsyncCopiesTest, RunSeveralPartsAhead) {
  const LoopProgram before = TwoCopies(3, 3), after = MakeAsyncCopies(before, {});
  ExpectGoldenPass("async_copies", before, after);
  ExpectSameResults(before, after, Memory());
  EXPECT_EQ(BarriersPerIteration(after), 1);
}

TEST(AsyncCopiesTest, TogetherWithTheOtherPasses) {
  const LoopProgram before = TwoCopies(3, kThroughRegisters);
  const LoopProgram after = Optimize(before, {.unroll = 2});
  ExpectGoldenPass("async_optimize", before, after);
  ExpectSameResults(before, after, Memory());
}

TEST(AsyncCopiesTest, AnyNumberOfStagesAndParts) {
  for (const int stages : {2, 3, 4}) {
    for (const int64_t parts : {1, 2, 3, 5}) {
      const LoopProgram before = TwoCopies(stages, stages, parts);
      const LoopProgram after = MakeAsyncCopies(before, {});
      ExpectSameResults(before, after, Memory());
      ExpectSameResults(before, Optimize(before, {.unroll = 2}), Memory());
      if (parts == 1) ExpectUnchanged(before);
      if (parts == 1) continue;
      const std::string arrays = "shared int32 A_shr[" +
                                 std::to_string(16 * std::min<int64_t>(stages, parts)) +
                                 "]\n  shared int32 B_shr[";
      EXPECT_NE(ToText(after).find(arrays), std::string::npos) << ToText(after);
    }
  }
}

TEST(AsyncCopiesTest, PartsThatTheLoopDoesNotKnow) {
  for (const int stages : {2, 3, 4}) {
    LoopProgram before = TwoCopies(stages, stages, Var("b"));
    Stage& stage = before.stages[0];
    stage.launch.grid = {6, 1, 1};  // of no to five parts
    stage.body.insert(stage.body.begin(), BlockNumber("b"));
    const LoopProgram after = MakeAsyncCopies(before, {});
    EXPECT_NE(ToText(after).find("if k_first < b"), std::string::npos) << ToText(after);
    ExpectSameResults(before, after, Memory());
    ExpectSameResults(before, Optimize(before, {}), Memory());
  }
}

TEST(AsyncCopiesTest, LoopsFromOtherBeginsInOtherSteps) {
  LoopProgram before = TwoCopies(3, 3);
  For& loop = std::get<For>(before.stages[0].body.back().form);
  loop.begin = Index(1);
  loop.end = Index(6);
  loop.step = 2;
  const LoopProgram after = MakeAsyncCopies(before, {});
  EXPECT_NE(ToText(after).find("index k_place = (k - 1) / 2 % 3"), std::string::npos);
  EXPECT_NE(ToText(after).find("if k + 4 < 6"), std::string::npos);
  ExpectSameResults(before, after, Memory());
  loop.whole_steps = true;  // two iterations
  const LoopProgram whole = MakeAsyncCopies(before, {});
  EXPECT_NE(ToText(whole).find("index k_place = (k - 1) / 2 % 2"), std::string::npos);
  EXPECT_NE(ToText(whole).find("if k + 3 < 6"), std::string::npos);
  ExpectSameResults(before, whole, Memory());
}

TEST(AsyncCopiesTest, BesideCopiesThroughRegisters) {
  for (const int stages : {2, 3, 4}) {
    const LoopProgram before = TwoCopies(stages, kThroughRegisters);
    const LoopProgram after = MakeAsyncCopies(before, {});
    EXPECT_NE(ToText(after).find("copy to B_shr, stages 2\n"), std::string::npos);
    EXPECT_EQ(BarriersPerIteration(after), 2);
    ExpectSameResults(before, after, Memory());
    // Both pipelines share the barrier.
    const LoopProgram both = DoubleBuffer(after, {});
    EXPECT_EQ(BarriersPerIteration(both), 1) << ToText(both);
    ExpectSameResults(before, both, Memory());
    ExpectSameResults(before, Optimize(before, {}), Memory());
  }
}

TEST(AsyncCopiesTest, TheFewestStagesDecideForAll) {
  const LoopProgram before = TwoCopies(4, 2), after = MakeAsyncCopies(before, {});
  EXPECT_NE(ToText(after).find("shared int32 A_shr[32]"), std::string::npos);
  EXPECT_NE(ToText(after).find("wait for copies but 0"), std::string::npos);
  ExpectSameResults(before, after, Memory());
}

TEST(AsyncCopiesTest, CopiesBehindSeveralBarriers) {
  const LoopProgram before = Pipelined({{DeclareIndex{"first", k * 6}},
                                        CopyA(3),
                                        {Barrier{}},
                                        CopyB(3),
                                        {Barrier{}},
                                        Computation(),
                                        {Barrier{}},
                                        {Barrier{}}});
  const LoopProgram after = MakeAsyncCopies(before, {});
  EXPECT_EQ(ToText(after), ToText(MakeAsyncCopies(TwoCopies(3, 3), {})));
  ExpectSameResults(before, after, Memory());
}

TEST(AsyncCopiesTest, LoopsInsideOfLoops) {
  // D's part is copied once per k, that of A once per l.
  const Statement inner = Region("A_shr", 3, {Set("A_shr", t, Element("A", k * 16 + l * 4 + t))});
  const Statement sum = Set("C", t,
                            Sum(Element("C", t), Sum(Element("A_shr", (t + Index(1)) % 4),
                                                     Element("D_shr", (t + l) % 4))));
  for (const int stages : {2, 4, kThroughRegisters}) {
    const Statement outer = Region("D_shr", stages, {Set("D_shr", t, Element("D", k * 4 + t))});
    Block body = {Shared("A_shr", 4), Shared("D_shr", 4), ThreadNumber("t"),
                  Loop("k", 5,
                       {outer,
                        {Barrier{}},
                        Loop("l", 4, {inner, {Barrier{}}, sum, {Barrier{}}}),
                        {Barrier{}}})};
    const LoopProgram before = Program(body, {{1, 1, 1}, {4, 1, 1}});
    const LoopProgram after = MakeAsyncCopies(before, {});
    EXPECT_NE(ToText(after).find("l_place"), std::string::npos);
    EXPECT_EQ(ToText(after).find("k_place") != std::string::npos, stages != kThroughRegisters);
    ExpectSameResults(before, after, Memory());
    ExpectSameResults(before, Optimize(before, {}), Memory());
  }
}

TEST(AsyncCopiesTest, ArraysThatSeveralLoopsUse) {
  LoopProgram before = TwoCopies(3, 3);
  Block& body = before.stages[0].body;
  body.push_back(Loop("l", 2,
                      {Region("A_shr", 4, {Set("A_shr", t, Element("A", l * 4 + t))}),
                       {Barrier{}},
                       Set("C", t, Sum(Element("C", t), Element("A_shr", Index(3) - t))),
                       {Barrier{}}}));
  // The last part, by itself.
  body.push_back({DeclareIndex{"k", Index(5)}});
  body.push_back(CopyA(3));
  body.push_back({Barrier{}});
  body.push_back(Set("C", t, Sum(Element("C", t), Element("A_shr", Index(3) - t))));
  const LoopProgram after = MakeAsyncCopies(before, {});
  EXPECT_NE(ToText(after).find("shared int32 A_shr[48]"), std::string::npos);
  EXPECT_NE(ToText(after).find("l_place = l % 2"), std::string::npos);
  ExpectSameResults(before, after, Memory());
  ExpectSameResults(before, Optimize(before, {}), Memory());
}

TEST(AsyncCopiesTest, OtherWorkInFrontOfTheBarrierKeepsTheLastOne) {
  const LoopProgram before =
      Pipelined({CopyA(2),
                 Set("B_shr", t, Element("D", k * 4 + t)),
                 {Barrier{}},
                 Set("C", t, Sum(Element("A_shr", t), Element("B_shr", 3 - t))),
                 {Barrier{}}});
  const LoopProgram after = MakeAsyncCopies(before, {});
  EXPECT_EQ(BarriersPerIteration(after), 2);
  ExpectSameResults(before, after, Memory());
}

// Neighbours of the source that are none in the array: single elements.
TEST(AsyncCopiesTest, TransposedCopiesMoveSingleElements) {
  const Statement region =
      Region("A_shr", 2,
             {Loop("lane", 4, {Set("A_shr", lane * 4 + t, Element("A", k * 16 + t * 4 + lane))})});
  const LoopProgram before = Pipelined({region,
                                        {Barrier{}},
                                        Set("C", t, Sum(Element("C", t), Element("A_shr", t * 4))),
                                        {Barrier{}}});
  const LoopProgram after = MakeAsyncCopies(before, {});
  EXPECT_NE(ToText(after).find("for lane_1 = 0 .. 4\n"), std::string::npos) << ToText(after);
  EXPECT_NE(ToText(after).find("= asynchronous A["), std::string::npos) << ToText(after);
  ExpectSameResults(before, after, Memory());
}

// Rows of A of which the first and the last do not exist, and single elements of B.
LoopProgram Bordered(std::optional<int64_t> outside) {
  const Index row = k - Index(1);
  const LoopValue neighbour =
      ElementInside("A", {{row, 0, 3, 16}, {t * 4 + lane, 0, 16, 1, true}}, outside);
  const LoopValue single = ElementInside("B", {{row, 0, 3, 4}, {t - Index(1), 0, 2, 1}}, outside);
  return Pipelined(
      {Region("A_shr", 3, {Loop("lane", 4, {Set("A_shr", t * 4 + lane, neighbour)})}),
       Region("B_shr", 3, {Set("B_shr", t, single)}),
       {Barrier{}},
       Set("C", t,
           Sum(Element("C", t), Sum(Element("A_shr", Index(15) - t * 4), Element("B_shr", 3 - t)))),
       {Barrier{}}});
}

TEST(AsyncCopiesTest, BordersOfZeros) {
  const LoopProgram before = Bordered(0), after = MakeAsyncCopies(before, {});
  const std::string text = ToText(after);
  EXPECT_NE(text.find("asynchronous int32x4 A["), std::string::npos) << text;
  EXPECT_NE(text.find("if -1 < k + 1 && k + 1 < 3 else 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("&& -1 < t - 1 && t - 1 < 2 else 0\n"), std::string::npos) << text;
  ExpectSameResults(before, after, Memory());
  ExpectSameResults(before, Optimize(before, {}), Memory());
}

TEST(AsyncCopiesTest, NotOfOtherBorders) {
  ExpectUnchanged(Bordered(7));
  ExpectUnchanged(Bordered(std::nullopt));
}

// A program with a copy of two elements of that type at once to places from `to` on.
LoopProgram CopyOf(ScalarType type, const Index& to, const std::string& source = "E") {
  const LoopValue value = MakeLoad(source, k * 8 + t * 2 + lane, {type, 1}, 1);
  const Statement region = Region("E_shr", 2, {Loop("lane", 2, {Set("E_shr", to + lane, value)})});
  LoopProgram program =
      Pipelined({region, {Barrier{}}, Set("C", t, Element("A_shr", t)), {Barrier{}}});
  Block& body = program.stages[0].body;
  body.insert(body.begin(), {DeclareArray{"E_shr", type, 8, MemorySpace::kShared}});
  body.insert(body.begin(), {DeclareArray{"F", type, 64, MemorySpace::kShared}});
  return program;
}

TEST(AsyncCopiesTest, OfFourToSixteenAlignedBytes) {
  const auto copies = [](ScalarType type, const Index& to) {
    const std::string text = ToText(MakeAsyncCopies(CopyOf(type, to), {}));
    return text.find("wait") == std::string::npos    ? "none"
           : text.find("x2 E[") == std::string::npos ? "single"
                                                     : "neighbours";
  };
  EXPECT_STREQ(copies(ScalarType::kFloat16, t * 2), "neighbours");
  EXPECT_STREQ(copies(ScalarType::kFloat16, t * 2 + Index(1)), "none");
  EXPECT_STREQ(copies(ScalarType::kInt32, t * 2), "neighbours");
  EXPECT_STREQ(copies(ScalarType::kInt32, t), "single");
  EXPECT_STREQ(copies(ScalarType::kFloat64, t * 2), "neighbours");
  EXPECT_STREQ(copies(ScalarType::kFloat64, t), "single");
  EXPECT_STREQ(copies(ScalarType::kUint8, t * 2), "none");
}

TEST(AsyncCopiesTest, NotFromOtherThanMemoryOfTheDevice) {
  ExpectUnchanged(CopyOf(ScalarType::kInt32, t * 2, "F"));
}

TEST(AsyncCopiesTest, NotOfOtherValuesThanElements) {
  ExpectUnchanged(Pipelined({Region("A_shr", 2, {Set("A_shr", t, Sum(Element("A", t), Number(1)))}),
                             {Barrier{}},
                             Set("C", t, Element("A_shr", t)),
                             {Barrier{}}}));
}

TEST(AsyncCopiesTest, OnlyCopiesThatAreMarked) {
  ExpectUnchanged(TwoCopies(kThroughRegisters, kThroughRegisters));
  const LoopProgram after = MakeAsyncCopies(TwoCopies(3, 3), {});
  EXPECT_EQ(ToText(DoubleBuffer(TwoCopies(3, 3), {})), ToText(TwoCopies(3, 3)));
  ExpectUnchanged(after);
}

TEST(AsyncCopiesTest, NotWithoutBarriersAroundTheComputation) {
  ExpectUnchanged(Pipelined({CopyA(2), {Barrier{}}, Set("C", t, Element("A_shr", t))}));
  ExpectUnchanged(Pipelined({CopyA(2), Set("C", t, Number(1)), {Barrier{}}}));
}

TEST(AsyncCopiesTest, NotFromMemoryThatTheLoopWrites) {
  ExpectUnchanged(Pipelined({CopyA(2), {Barrier{}}, Set("A", t, Number(1)), {Barrier{}}}));
}

TEST(AsyncCopiesTest, TheEvaluatorFindsPipelinesThatDoNotWait) {
  LoopProgram program = MakeAsyncCopies(TwoCopies(3, 3), {});
  class Impatient : public Rewriter {
    void RewriteStatement(const Statement& statement, Block& out) override {
      Rewriter::RewriteStatement(statement, out);
      if (auto* wait = std::get_if<WaitForCopies>(&out.back().form)) ++wait->groups;
    }
  };
  program.stages[0].body = Impatient().RewriteBlock(program.stages[0].body);
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
    Execute(program, Memory());
  }
  EXPECT_GT(failures.size(), 0);
}

}  // namespace
}  // namespace mdh::pass_async_copies_test
