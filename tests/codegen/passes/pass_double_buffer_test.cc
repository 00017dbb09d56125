#include "codegen/passes/pass_double_buffer.h"

#include "codegen/passes/passes.h"
#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_double_buffer_test {
namespace {

const Index t = Var("t"), k = Var("k"), l = Var("l"), lane = Var("lane");

// 4 threads copy 16 elements of A and, as far as they exist, 6 of B for each of `parts` parts.
Statement CopyA(int stages) {
  return {CopyRegion{"A_shr", stages,
                     Body({Loop("A_round", 2,
                                {{DeclareIndex{"A_at", Var("A_round") * 4 + t}},
                                 Loop("lane", 2,
                                      {Set("A_shr", Var("A_at") * 2 + lane,
                                           Element("A", k * 16 + Var("A_at") * 2 + lane))})})})}};
}

Statement CopyB(int stages) {
  return {
      CopyRegion{"B_shr", stages,
                 Body({{DeclareIndex{"B_at", t * 2}},
                       Guard(Var("B_at"), Index(6),
                             {Set("B_shr", Var("B_at"), Element("B", Var("first") + Var("B_at"))),
                              Set("B_shr", Var("B_at") + Index(1),
                                  Element("B", Var("first") + Var("B_at") + Index(1)))})})}};
}

Statement Computation() {
  return Loop(
      "l", 6,
      {Set("C", t,
           Sum(Element("C", t), Sum(Element("A_shr", (l + t * 4) % 16), Element("B_shr", l))))});
}

LoopProgram Pipelined(Block loop_body, int64_t parts = 5) {
  Block body = {Shared("A_shr", 16), Shared("B_shr", 6), ThreadNumber("t")};
  body.push_back(Loop("k", parts, std::move(loop_body)));
  return Program(std::move(body), {{1, 1, 1}, {4, 1, 1}});
}

LoopProgram TwoCopies(int stages_a, int stages_b, int64_t parts = 5) {
  return Pipelined({{DeclareIndex{"first", k * 6}},
                    CopyA(stages_a),
                    CopyB(stages_b),
                    {Barrier{}},
                    Computation(),
                    {Barrier{}}},
                   parts);
}

ProgramMemory Memory() {
  return {{"A", Numbered(80)}, {"B", Numbered(30)}, {"C", Numbered(4)}, {"D", Numbered(80)}};
}

TEST(DoubleBufferTest, LoadsTheNextPartWhileOneIsComputed) {
  const LoopProgram before = TwoCopies(2, 2), after = DoubleBuffer(before, {});
  ExpectGoldenPass("double_buffer", before, after);
  ExpectSameResults(before, after, Memory());
}

TEST(DoubleBufferTest, TogetherWithTheOtherPasses) {
  const LoopProgram before = TwoCopies(2, 2), after = Optimize(before, {.unroll = 2});
  ExpectGoldenPass("optimize", before, after);
  ExpectSameResults(before, after, Memory());
}

TEST(DoubleBufferTest, CopiesOfOneStageStayBetweenTheirBarriers) {
  const LoopProgram before = TwoCopies(2, 1), after = DoubleBuffer(before, {});
  EXPECT_NE(ToText(after), ToText(before));
  EXPECT_NE(ToText(after).find("copy to B_shr, stages 1"), std::string::npos);
  ExpectSameResults(before, after, Memory());
}

TEST(DoubleBufferTest, CopiesBehindSeveralBarriers) {
  const LoopProgram before = Pipelined({{DeclareIndex{"first", k * 6}},
                                        CopyA(2),
                                        {Barrier{}},
                                        CopyB(2),
                                        {Barrier{}},
                                        Computation(),
                                        {Barrier{}},
                                        {Barrier{}}});
  const LoopProgram after = DoubleBuffer(before, {});
  EXPECT_EQ(ToText(after), ToText(DoubleBuffer(TwoCopies(2, 2), {})));
  ExpectSameResults(before, after, Memory());
}

TEST(DoubleBufferTest, LoopsInsideOfLoops) {
  // D's part is copied once per k, that of A once per l.
  const Statement inner_copy = {
      CopyRegion{"A_shr", 2, Body({Set("A_shr", t, Element("A", k * 16 + l * 4 + t))})}};
  const Statement sum = Set("C", t,
                            Sum(Element("C", t), Sum(Element("A_shr", (t + Index(1)) % 4),
                                                     Element("D_shr", (t + l) % 4))));
  const Statement outer_copy = {
      CopyRegion{"D_shr", 2, Body({Set("D_shr", t, Element("D", k * 4 + t))})}};
  Block body = {Shared("A_shr", 4), Shared("D_shr", 4), ThreadNumber("t"),
                Loop("k", 3,
                     {outer_copy,
                      {Barrier{}},
                      Loop("l", 4, {inner_copy, {Barrier{}}, sum, {Barrier{}}}),
                      {Barrier{}}})};
  const LoopProgram before = Program(body, {{1, 1, 1}, {4, 1, 1}});
  const LoopProgram after = DoubleBuffer(before, {});
  EXPECT_NE(ToText(after).find("k_half"), std::string::npos);
  EXPECT_NE(ToText(after).find("l_half"), std::string::npos);
  ExpectSameResults(before, after, Memory());
  ExpectSameResults(before, Optimize(before, {}), Memory());
}

TEST(DoubleBufferTest, LoopsFromOtherBeginsInOtherSteps) {
  LoopProgram before = TwoCopies(2, 2);
  For& loop = std::get<For>(before.stages[0].body.back().form);
  loop.begin = Index(1);
  loop.end = Index(5);
  loop.step = 2;
  const LoopProgram after = DoubleBuffer(before, {});
  EXPECT_NE(ToText(after).find("index k_half = (k - 1) / 2 % 2"), std::string::npos);
  ExpectSameResults(before, after, Memory());
  loop.whole_steps = true;
  ExpectSameResults(before, DoubleBuffer(before, {}), Memory());
}

TEST(DoubleBufferTest, LoopsThatMayHaveNoIteration) {
  for (const int64_t parts : {0, 1, 2, 5}) {
    LoopProgram before = TwoCopies(2, 2);
    Block& body = before.stages[0].body;
    std::get<For>(body.back().form).end = Var("n");
    body.insert(body.end() - 1, {DeclareIndex{"n", Index(parts)}});
    const LoopProgram after = DoubleBuffer(before, {});
    EXPECT_NE(ToText(after).find("if 0 < n"), std::string::npos) << ToText(after);
    EXPECT_NE(ToText(after).find("if k + 1 < n"), std::string::npos) << ToText(after);
    ExpectSameResults(before, after, Memory());
  }
}

void ExpectUnchanged(const LoopProgram& program, const DoubleBufferOptions& options = {}) {
  EXPECT_EQ(ToText(DoubleBuffer(program, options)), ToText(program));
}

TEST(DoubleBufferTest, OnlyCopiesThatAreMarked) { ExpectUnchanged(TwoCopies(1, 1)); }

TEST(DoubleBufferTest, NotForASinglePart) { ExpectUnchanged(TwoCopies(2, 2, /*parts=*/1)); }

TEST(DoubleBufferTest, NotWithMorePrivateMemoryThanAllowed) {
  ExpectUnchanged(TwoCopies(2, 2), {.private_bytes = 23});
  EXPECT_NE(ToText(DoubleBuffer(TwoCopies(2, 2), {.private_bytes = 24})), ToText(TwoCopies(2, 2)));
}

TEST(DoubleBufferTest, NotWithoutABarrierAtTheEnd) {
  ExpectUnchanged(Pipelined({CopyA(2), {Barrier{}}, Set("C", t, Element("A_shr", t))}));
}

TEST(DoubleBufferTest, ArraysThatSeveralLoopsUse) {
  LoopProgram before = TwoCopies(2, 2);
  Block& body = before.stages[0].body;
  body.push_back(
      {For{"l", Index(0), Index(3), 1, false,
           Body({{CopyRegion{"A_shr", 2, Body({Set("A_shr", t, Element("A", l * 4 + t))})}},
                 {Barrier{}},
                 Set("C", t, Sum(Element("C", t), Element("A_shr", Index(3) - t))),
                 {Barrier{}}})}});
  const LoopProgram after = DoubleBuffer(before, {});
  EXPECT_NE(ToText(after).find("shared int32 A_shr[32]"), std::string::npos);
  EXPECT_NE(ToText(after).find("l_half"), std::string::npos);
  ExpectSameResults(before, after, Memory());
}

TEST(DoubleBufferTest, CommentsOnCopiesGoWithThem) {
  const LoopProgram before = Pipelined({{Comment{"Copy A."}},
                                        CopyA(2),
                                        {Barrier{}},
                                        {Comment{"Compute."}},
                                        Set("C", t, Element("A_shr", t)),
                                        {Barrier{}}});
  const std::string after = ToText(DoubleBuffer(before, {}));
  EXPECT_EQ(after.find("Copy A."), std::string::npos);
  EXPECT_NE(after.find("Compute."), std::string::npos);
}

TEST(DoubleBufferTest, NotOfArraysThatTheComputationWritesOrPointsInto) {
  ExpectUnchanged(Pipelined({CopyA(2), {Barrier{}}, Set("A_shr", t, Number(1)), {Barrier{}}}));
  ExpectUnchanged(Pipelined({CopyA(2),
                             {Barrier{}},
                             {DeclarePointer{"P", ScalarType::kInt32, true, "A_shr", t}},
                             Set("C", t, Element("P", Index(0))),
                             {Barrier{}}}));
}

TEST(DoubleBufferTest, NotFromMemoryThatTheLoopWrites) {
  ExpectUnchanged(Pipelined({CopyA(2), {Barrier{}}, Set("A", t, Number(1)), {Barrier{}}}));
}

TEST(DoubleBufferTest, NotOfValuesThatTheLoopDeclares) {
  const Statement region = {
      CopyRegion{"A_shr", 2, Body({Set("A_shr", t, MakeNamed("v", {ScalarType::kInt32, 1}))})}};
  ExpectUnchanged(Pipelined({{DeclareValue{"v", Element("A", k)}},
                             region,
                             {Barrier{}},
                             Set("C", t, Element("A_shr", t)),
                             {Barrier{}}}));
}

TEST(DoubleBufferTest, NotThroughLoopsWithoutConstantBounds) {
  const Statement region = {
      CopyRegion{"A_shr", 2, Body({Loop("l", t, {Set("A_shr", l, Element("A", l))})})}};
  ExpectUnchanged(Pipelined({region, {Barrier{}}, Set("C", t, Element("A_shr", t)), {Barrier{}}}));
}

}  // namespace
}  // namespace mdh::pass_double_buffer_test
