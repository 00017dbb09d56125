#include "codegen/passes/pass_overlap_copies.h"

#include "codegen/passes/pass_async_copies.h"
#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_overlap_copies_test {
namespace {

const Index t = Var("t"), k = Var("k"), l = Var("l"), m = Var("m");

constexpr int64_t kPart = 24;  // elements of A and B per k

// 4 threads copy parts of A and B, 6 elements each.
Statement Region(const std::string& array, const std::string& from, int stages) {
  const Index at = Var(array + "_round") * 4 + t;
  return {CopyRegion{
      array, stages,
      Body({UnrolledLoop(array + "_round", 6, {Set(array, at, Element(from, k * kPart + at))})}),
      /*is_asynchronous=*/true}};
}

// Of each of six l, two by two sums of every thread.
Statement Products() {
  const Index row = l * 4 + m, column = l * 4 + (t + Var("n")) % 4, at = t * 4 + m * 2 + Var("n");
  return UnrolledLoop(
      "l", 6,
      {UnrolledLoop("m", 2,
                    {UnrolledLoop("n", 2,
                                  {Set("C", at,
                                       Sum(Element("C", at), Sum(Element("A_shr", row),
                                                                 Element("B_shr", column))))})})});
}

LoopProgram Pipelined(Block computation, int stages = 3, const Index& parts = 5) {
  Block body = {Shared("A_shr", kPart), Shared("B_shr", kPart), ThreadNumber("t")};
  Block loop = {Region("A_shr", "A", stages), Region("B_shr", "B", stages), {Barrier{}}};
  Append(std::move(computation), &loop);
  loop.push_back({Barrier{}});
  body.push_back(Loop("k", parts, std::move(loop)));
  return MakeAsyncCopies(Program(std::move(body), {{1, 1, 1}, {4, 1, 1}}), {});
}

ProgramMemory Memory() {
  return {{"A", Numbered(5 * kPart)}, {"B", Numbered(5 * kPart)}, {"C", Numbered(16)}};
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(OverlapCopiesTest, BetweenPoints) {
  const LoopProgram before = Pipelined({Products()});
  const LoopProgram after = OverlapCopies(before, CopyOverlap::kCopies);
  ExpectGoldenPass("overlap_copies", before, after);
  ExpectSameResults(before, after, Memory());
}

TEST(OverlapCopiesTest, ValuesOfTheNextPart) {
  const LoopProgram before = Pipelined({Products()});
  const LoopProgram after = OverlapCopies(before, CopyOverlap::kValues);
  ExpectGoldenPass("overlap_values", before, after);
  ExpectSameResults(before, after, Memory());
}

TEST(OverlapCopiesTest, AnyNumberOfStagesAndParts) {
  for (const CopyOverlap overlap : {CopyOverlap::kCopies, CopyOverlap::kValues}) {
    for (const int stages : {2, 3, 4}) {
      for (const int64_t parts : {2, 3, 5}) {
        const LoopProgram before = Pipelined({Products()}, stages, parts);
        ExpectSameResults(before, OverlapCopies(before, overlap), Memory());
      }
      LoopProgram before = Pipelined({Products()}, stages, Var("b"));
      before.stages[0].launch.grid = {6, 1, 1};  // of no to five parts
      before.stages[0].body.insert(before.stages[0].body.begin(), BlockNumber("b"));
      const LoopProgram after = OverlapCopies(before, overlap);
      EXPECT_NE(ToText(after), ToText(before));
      ExpectSameResults(before, after, Memory());
    }
  }
}

TEST(OverlapCopiesTest, LoopsFromOtherBeginsInOtherSteps) {
  Block body = {Shared("A_shr", kPart), Shared("B_shr", kPart), ThreadNumber("t")};
  body.push_back({For{"k", Index(1), Index(5), 2, false,
                      Body({Region("A_shr", "A", 2),
                            Region("B_shr", "B", 2),
                            {Barrier{}},
                            Products(),
                            {Barrier{}}})}});
  const LoopProgram before = MakeAsyncCopies(Program(std::move(body), {{1, 1, 1}, {4, 1, 1}}), {});
  for (const CopyOverlap overlap : {CopyOverlap::kCopies, CopyOverlap::kValues}) {
    const LoopProgram after = OverlapCopies(before, overlap);
    EXPECT_NE(ToText(after), ToText(before));
    ExpectSameResults(before, after, Memory());
  }
}

// What reads arrays otherwise keeps its copies among its points.
TEST(OverlapCopiesTest, ValuesThatNoRegistersCanHave) {
  const auto expect_copies = [](Block points) {
    const LoopProgram before = Pipelined({UnrolledLoop("l", 6, std::move(points))});
    const LoopProgram after = OverlapCopies(before, CopyOverlap::kValues);
    EXPECT_EQ(ToText(after), ToText(OverlapCopies(before, CopyOverlap::kCopies)));
    EXPECT_NE(ToText(after), ToText(before));
    ExpectSameResults(before, after, Memory());
  };
  const Statement sum = Set("C", t, Sum(Element("C", t), Element("A_shr", l + t)));
  expect_copies({Guard(t, Index(2), {sum})});
  expect_copies({Loop("m", 2, {Set("C", t, Sum(Element("C", t), Element("A_shr", l + m)))})});
  expect_copies({{DeclareIndex{"at", l + t}},
                 Set("C", t, Sum(Element("C", t), Element("A_shr", Var("at"))))});
  expect_copies({Set("C", t, Sum(Element("C", t), Number(1)))});
  // More than registers are for.
  expect_copies({UnrolledLoop("m", 1 + kMostKeptValues,
                              {Set("C", t, Sum(Element("C", t), Element("A_shr", m % 24)))})});
}

TEST(OverlapCopiesTest, ValuesThatPointsHaveInCommonAreLoadedOnce) {
  const LoopValue both = Sum(Element("A_shr", l + t), Element("A_shr", l + t));
  const LoopProgram before =
      Pipelined({UnrolledLoop("l", 6, {Set("C", t, Sum(Element("C", t), both))})});
  const std::string text = ToText(OverlapCopies(before, CopyOverlap::kValues));
  EXPECT_EQ(Count(text, "private int32 "), 2) << text;  // at hand, and next
}

TEST(OverlapCopiesTest, LoopsBehindEachOtherMayHaveTheSameVariable) {
  const auto sum = [](int64_t begin, int64_t end) {
    return Statement{For{"m", Index(begin), Index(end), 1, false,
                         Body({Set("C", t, Sum(Element("C", t), Element("A_shr", l * 4 + m)))}),
                         /*unroll=*/true}};
  };
  const LoopProgram before = Pipelined({UnrolledLoop("l", 6, {sum(0, 1), sum(1, 4)})});
  const LoopProgram after = OverlapCopies(before, CopyOverlap::kValues);
  EXPECT_EQ(Count(ToText(after), "private int32 "), 4) << ToText(after);
  ExpectSameResults(before, after, Memory());
}

// Copies of the first 22 of a part's elements to an array of so many per part.
LoopProgram GuardedCopies(const Index& at, const Condition& guard, int64_t elements = kPart) {
  const Statement copy = Set("A_shr", at, Element("A", k * kPart + at));
  Block body = {Shared("A_shr", elements), ThreadNumber("t")};
  body.push_back(
      Loop("k", 5,
           {{CopyRegion{"A_shr", 3,
                        Body({UnrolledLoop("round", 6, {{If{{guard}, Body({copy}), nullptr}}})}),
                        /*is_asynchronous=*/true}},
            {Barrier{}},
            UnrolledLoop("l", 6, {Set("C", t, Sum(Element("C", t), Element("A_shr", l * 3 + t)))}),
            {Barrier{}}}));
  return MakeAsyncCopies(Program(std::move(body), {{1, 1, 1}, {4, 1, 1}}), {});
}

// Among the points, where copies begin; the results are the same with them.
int BranchesOf(const LoopProgram& before) {
  const LoopProgram after = OverlapCopies(before, CopyOverlap::kCopies);
  ExpectSameResults(before, after, Memory());
  const std::string text = ToText(after);
  return Count(text.substr(text.find("Copies of a later part")), "    if ");
}

TEST(OverlapCopiesTest, ZerosInPlaceOfBranches) {
  const Index at = Var("round") * 4 + t;
  EXPECT_EQ(BranchesOf(GuardedCopies(at, Less(at, 22))), 0);
  EXPECT_EQ(BranchesOf(GuardedCopies(at, Less(Var("round") * 4, Index(22) - t))), 0);
}

// Zeros would go beyond the array, to what other copies bring, or to where nothing is known.
TEST(OverlapCopiesTest, BranchesStayWhereZerosWouldGoElsewhere) {
  const Index row = Var("round") * 4 + t, column = t * 6 + Var("round");
  EXPECT_EQ(BranchesOf(GuardedCopies(row, Less(row, 22), /*elements=*/22)), 6);
  EXPECT_EQ(BranchesOf(GuardedCopies(column, Less(column, 22))), 6);
  const Index turned = Var("round") * 4 + (t + 1) % 4;
  EXPECT_EQ(BranchesOf(GuardedCopies(turned, Less(turned, 22))), 6);
}

void ExpectUnchanged(const LoopProgram& before) {
  for (const CopyOverlap overlap : {CopyOverlap::kCopies, CopyOverlap::kValues}) {
    EXPECT_EQ(ToText(OverlapCopies(before, overlap)), ToText(before));
  }
}

TEST(OverlapCopiesTest, OtherLoopsStay) {
  EXPECT_EQ(ToText(OverlapCopies(Pipelined({Products()}), CopyOverlap::kNone)),
            ToText(Pipelined({Products()})));
  const Statement sum = Set("C", t, Sum(Element("C", t), Element("A_shr", l + t)));
  ExpectUnchanged(Pipelined({Loop("l", 6, {sum})}));          // stays a loop
  ExpectUnchanged(Pipelined({UnrolledLoop("l", 1, {sum})}));  // nothing to begin behind
  ExpectUnchanged(Pipelined({Products(), Products()}));       // several
  ExpectUnchanged(Pipelined({Set("D", t, Number(1)), Products()}));
}

}  // namespace
}  // namespace mdh::pass_overlap_copies_test
