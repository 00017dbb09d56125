// Passes over the program of a joint group: what each makes of small programs, and that these
// compute the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/backends/copies_ahead.h"
#include "codegen/backends/invariant_copies.h"
#include "codegen/backends/own_elements.h"
#include "codegen/backends/row_lanes.h"
#include "codegen/passes/needed_barriers.h"
#include "codegen/program/loop_program_walk.h"
#include "core/pipeline/plan/joint_part.h"
#include "tests/codegen/passes/pass_golden.h"

namespace mdh::joint_passes_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr LaunchGeometry kLaunch = {{1, 1, 1}, {8, 1, 1}};

Statement Meet() { return {Barrier{}}; }

int BarriersOf(const Block& body) {
  int barriers = 0;
  Visit(body, {.statement = [&](const Statement& statement) {
          barriers += std::holds_alternative<Barrier>(statement.form);
        }});
  return barriers;
}

// Behind the number of the thread and a shared array of 16 elements.
LoopProgram OfThreads(const Block& body) {
  Block all;
  all.push_back(Shared("a", 16));
  all.push_back(ThreadNumber("t"));
  Append(body, &all);
  return Program(std::move(all), kLaunch);
}

const ProgramMemory kMemory = {{"x", Numbered(32)}, {"y", Numbered(32)}};

// ---- Packing ----

// Copies "packed" from "x" as `offset` says.
Block Packing(const Index& offset) {
  Block body;
  body.push_back({Comment{"Pack x."}});
  body.push_back(Set("packed", Index(0), Element("x", offset)));
  return body;
}

PackedForParts PackedOf(const Block& body, const PartsOfThread& parts) {
  return PackForParts(body, {{"packed", ScalarType::kInt32, 16, true}}, parts,
                      [](const std::string& name) { return name; });
}

// Eight parts, each of which has two chunks.
PartsOfThread EightParts() {
  return {.constants = {"x"},
          .part = Var("part"),
          .chunk = Var("chunk"),
          .chunks = 2,
          .in_turn = 4,
          .most_bytes = 128};
}

TEST(PackForParts, WhatReadsConstantsIsPackedInFrontOfAllParts) {
  PartsOfThread parts = EightParts();
  EXPECT_EQ(ToText(PackedOf(Packing(Index(1)), parts).before_parts), ToText(Packing(Index(1))));
  EXPECT_TRUE(PackedOf(Packing(Index(1)), parts).body.empty());
  // Of a place that changes.
  const PackedForParts changes = PackedOf(Packing(Var("origin")), parts);
  EXPECT_TRUE(changes.before_parts.empty());
  EXPECT_TRUE(changes.no_copies.empty());
  EXPECT_EQ(ToText(changes.body), ToText(Packing(Var("origin"))));
  EXPECT_EQ(PackedOf(Packing(Index(1)), {.part = Var("part")}).body.size(), 2u);
  const Block loop = {Loop("origin", Index(4), Packing(Var("origin")))};
  EXPECT_FALSE(PackedOf(loop, parts).before_parts.empty());
}

TEST(PackForParts, WhatSeveralPartsHaveIsPackedUnlessItIsThere) {
  PartsOfThread parts = EightParts();
  parts.constants = {};
  parts.pointers = {{"x", {.parts = 2, .is_of_chunk = true}}};
  const PackedForParts packed = PackedOf(Packing(Index(1)), parts);
  EXPECT_EQ(ToText(packed.no_copies), R"(for kept_place = 0 .. 2
  kept_for[kept_place] = -1
)");
  EXPECT_EQ(ToText(packed.pointers), "pointer int32 packed = packed_of_chunks + chunk * 16\n");
  EXPECT_EQ(ToText(packed.body), R"(if any (kept_for[chunk] != value(part / 2))
  // Pack x.
  packed[0] = x[1]
  kept_for[chunk] = value(part / 2)
)");
  ASSERT_EQ(packed.memory.size(), 2u);
  EXPECT_EQ(packed.memory[0].name, "packed_of_chunks");
  EXPECT_EQ(packed.memory[0].elements, 32);
  EXPECT_EQ(packed.memory[1].elements, 2);
  // Where a thread has one part, or no room for both chunks, nothing is kept.
  for (int64_t PartsOfThread::*const least :
       {&PartsOfThread::in_turn, &PartsOfThread::most_bytes}) {
    PartsOfThread fewer = parts;
    fewer.*least = 1;
    const PackedForParts each = PackedOf(Packing(Index(1)), fewer);
    EXPECT_EQ(ToText(each.body), ToText(Packing(Index(1))));
    EXPECT_EQ(each.memory.size(), 1u);
  }
}

TEST(PackForParts, WhatAllChunksHaveIsPackedWithTheFirst) {
  PartsOfThread parts = EightParts();
  parts.constants = {};
  parts.pointers = {{"x", {.parts = 1, .is_of_chunk = false}}};
  const PackedForParts packed = PackedOf(Packing(Index(1)), parts);
  EXPECT_TRUE(packed.pointers.empty());
  EXPECT_THAT(ToText(packed.body), AllOf(HasSubstr("if any (kept_for[0] != value(part))\n"),
                                         HasSubstr("kept_for[0] = value(part)\n")));
  // Of two inputs each by itself.
  Block both = Packing(Index(1));
  Append(Packing(Var("origin")), &both);
  EXPECT_EQ(PackedOf(both, parts).body.size(), 3u);
}

// Parts 1 to 6, of which two and two have the same, but chunks have not.
TEST(PackForParts, EveryPartFindsItsCopy) {
  PartsOfThread parts = EightParts();
  parts.constants = {};
  parts.pointers = {{"x_of_part", {.parts = 2, .is_of_chunk = true}}};
  Block packing;
  packing.push_back(Set("packed", Index(0), Element("x_of_part", Index(0))));
  const auto results = [&](const PackedForParts& packed) {
    Block each;
    each.push_back({DeclarePointer{"x_of_part", ScalarType::kInt32, true, "x",
                                   Var("part") / 2 * 2 + Var("chunk")}});
    Append(packed.pointers, &each);
    Append(packed.body, &each);
    each.push_back(Set("y", Var("part") * 2 + Var("chunk"), Element("packed", Index(0))));
    Block all = packed.no_copies;
    all.push_back({For{"part", Index(1), Index(7), 1, false, Body({Loop("chunk", 2, each)})}});
    ProgramMemory memory = {{"x", Numbered(8)}, {"y", Numbered(16)}};
    for (const ScratchBuffer& buffer : packed.memory) memory[buffer.name].resize(buffer.elements);
    return Execute(Program(all, {}), memory).at("y");
  };
  PartsOfThread none = parts;
  none.in_turn = 1;
  EXPECT_EQ(results(PackedOf(packing, parts)), results(PackedOf(packing, none)));
}

// Of three heads with four parts of queries each, keys are the same for the four.
TEST(PartsAlike, AreThoseOfDimensionsThatMoveNothing) {
  const auto alike = [](std::vector<int64_t> moves) {
    return PartsAlike({.moves = std::move(moves)}, std::vector<int64_t>{2, 3, 4, 1});
  };
  EXPECT_EQ(alike({9, 9, 0}), 4);
  EXPECT_EQ(alike({9, 9, 0, 7}), 4) << "a streamed dimension has one part";
  EXPECT_EQ(alike({9, 0, 9}), 1);
  EXPECT_EQ(alike({9, 0, 0}), 12);
  EXPECT_EQ(alike({}), 1);
}

// ---- Own elements ----

const std::vector<ScratchBuffer> kArrays = {{"a", ScalarType::kInt32, 16, true}};
const ThreadsOfBody kWho = {"t", 8, 4, "lane"};

OwnElements Kept(const Block& body) {
  NameAllocator names;
  names.Reserve("a");
  return KeepOwnElements(body, kArrays, kWho, &names);
}

// a[t + 8 k] for k = 0, 1.
const Index kOwn = Var("t") + Var("k") * 8;

TEST(OwnElements, WhatOnlyTheThreadItselfLoadsIsInRegisters) {
  Block body;
  body.push_back({DeclareIndex{"row", Var("t")}});
  body.push_back(Loop("k", 2, {Set("a", Var("row") + Var("k") * 8, Element("x", kOwn))}));
  body.push_back(Meet());
  body.push_back(Loop("k", 2, {Set("y", kOwn, Element("a", kOwn))}));
  const OwnElements own = Kept(body);
  EXPECT_THAT(own.replaced, ::testing::ElementsAre("a"));
  EXPECT_EQ(ToText(own.body), R"(private int32 a_own[2]
index row = t
unrolled for k = 0 .. 2
  a_own[k] = x[t + k * 8]
barrier
unrolled for k = 0 .. 2
  y[t + k * 8] = a_own[k]
)");
  ExpectSameResults(OfThreads(body), OfThreads(own.body), kMemory);
}

TEST(OwnElements, WhatOthersLoadIsStoredForThem) {
  Block body;
  body.push_back(Loop("k", 2, {Set("a", kOwn, Element("x", kOwn))}));
  body.push_back(Meet());
  body.push_back(Set("y", Var("t"), Sum(Element("a", Index(7) - Var("t")), Number(1))));
  body.push_back(Loop("k", 2, {Set("y", Index(8) + kOwn, Element("a", kOwn))}));
  const OwnElements own = Kept(body);
  EXPECT_TRUE(own.replaced.empty());
  EXPECT_THAT(ToText(own.body),
              AllOf(HasSubstr("a[t + k * 8] = a_own[k]"), HasSubstr("(a[7 - t] + 1)"),
                    HasSubstr("y[t + k * 8 + 8] = a_own[k]")));
  ExpectSameResults(OfThreads(body), OfThreads(own.body), kMemory);
}

TEST(OwnElements, WhatTheFirstLaneHasAllLanesHave) {
  Block store;
  store.push_back(Set("a", Var("t") / 4, Element("x", Var("t") / 4)));
  Block body;
  body.push_back({DeclareIndex{"lane", Var("t") % 4}});
  body.push_back({For{"item", Var("t"), 16, 8, false, Body({Set("a", Var("item"), Number(3))})}});
  body.push_back(Meet());
  body.push_back(When({IsZero(Var("lane"))}, store));
  body.push_back(Meet());
  body.push_back(Set("y", Var("t"), Element("a", Var("t") / 4)));
  const OwnElements own = Kept(body);
  EXPECT_THAT(own.replaced, ::testing::ElementsAre("a"));
  EXPECT_THAT(ToText(own.body),
              AllOf(HasSubstr("a_own[0] = x[t / 4]"), HasSubstr("a_own[item] = 3"),
                    HasSubstr("if true"), Not(HasSubstr("lane == 0"))));
  ExpectSameResults(OfThreads(body), OfThreads(own.body), kMemory);
  // Where it also stores to what all see it goes on alone.
  store.push_back(Set("z", Var("t") / 4, Number(1)));
  body[3] = When({IsZero(Var("lane"))}, store);
  EXPECT_EQ(ToText(Kept(body).body), ToText(body));
}

TEST(OwnElements, OtherUsesLeaveAnArrayAsItIs) {
  const auto unchanged = [](Block body) {
    body.push_back(Meet());
    body.push_back(Set("y", Var("t"), Element("a", Var("t"))));
    const OwnElements own = Kept(body);
    return ToText(own.body) == ToText(body) && own.replaced.empty();
  };
  // Not by a function of the thread alone, by two of them, where a thread may not come.
  EXPECT_TRUE(unchanged({Set("a", Var("t") + Var("part"), Number(1))}));
  EXPECT_TRUE(unchanged({Set("a", Var("t"), Number(1)), Set("a", Var("t") + Index(8), Number(2))}));
  EXPECT_TRUE(unchanged({Guard(Var("t"), Index(5), {Set("a", Var("t"), Number(1))})}));
  EXPECT_TRUE(unchanged({Loop("k", Var("n"), {Set("a", kOwn, Number(1))})}));
  // Through a pointer; places of one thread that meet.
  EXPECT_TRUE(unchanged({Set("a", Var("t"), Number(1)),
                         {DeclarePointer{"p", ScalarType::kInt32, false, "a", Index(0)}}}));
  EXPECT_TRUE(unchanged(
      {Loop("k", 3, {Loop("l", 2, {Set("a", Var("t") + Var("k") + Var("l") * 2, Number(1))})})}));
}

// ---- Barriers ----

TEST(NeededBarriers, AreThoseBetweenStoresAndLoads) {
  Block body;
  body.push_back(Set("a", Var("t"), Element("x", Var("t"))));
  body.push_back(Meet());
  body.push_back(Set("y", Var("t"), Element("x", Var("t"))));
  body.push_back(Meet());  // of the two the last one
  body.push_back(Set("y", Index(8) + Var("t"), Element("a", Index(7) - Var("t"))));
  body.push_back(Meet());
  body.push_back({DeclareValue{"v", Number(1)}});
  body.push_back(Meet());
  body.push_back(Set("a", Var("t"), Number(2)));
  body.push_back(Meet());
  const Block needed = WithNeededBarriers(body, "");
  EXPECT_EQ(BarriersOf(needed), 2);
  EXPECT_TRUE(std::holds_alternative<Barrier>(needed[2].form)) << ToText(needed);
  ExpectSameResults(OfThreads(body), OfThreads(needed), kMemory);
}

TEST(NeededBarriers, OfChunksAreThoseOfTheNextChunk) {
  Block chunk;
  chunk.push_back(Set("a", Var("t"), Element("x", Var("c") * 8 + Var("t"))));
  chunk.push_back(Meet());
  chunk.push_back({If{
      {}, Body({Set("y", Var("c") * 8 + Var("t"), Element("a", Index(7) - Var("t")))}), nullptr}});
  chunk.push_back(Meet());
  chunk.push_back(Meet());
  Block body;
  body.push_back(Meet());
  body.push_back(Loop("c", 4, chunk));
  const Block needed = WithNeededBarriers(body, "c");
  EXPECT_EQ(BarriersOf(needed), 2);
  ExpectSameResults(OfThreads(body), OfThreads(needed), kMemory);
  // Nothing is known of other loops.
  EXPECT_EQ(BarriersOf(WithNeededBarriers(body, "")), 3);
}

// ---- Copies ----

Statement CopyTo(const std::string& array, const std::string& from, const Index& at) {
  return {CopyRegion{array, 1, Body({Set(array, Var("t"), Element(from, at + Var("t")))})}};
}

TEST(InvariantCopies, AreMadeOnceInFrontOfTheLoop) {
  Block step;
  step.push_back({DeclareIndex{"unused", Index(3)}});
  step.push_back({DeclarePointer{"p", ScalarType::kInt32, true, "x", Var("part") * 8}});
  step.push_back(CopyTo("a", "p", Index(0)));
  step.push_back(CopyTo("b", "x", Var("origin")));
  step.push_back(CopyTo("c", "z", Index(0)));
  const HoistedCopies copies = HoistCopies({When({}, step)}, {"origin"}, {"x"});
  EXPECT_EQ(ToText(copies.before), R"(if true
  pointer const int32 p = x + part * 8
  copy to a, stages 1
    a[t] = p[t]
)");
  EXPECT_THAT(ToText(copies.inside), AllOf(Not(HasSubstr("copy to a")), HasSubstr("copy to b"),
                                           HasSubstr("copy to c"), HasSubstr("unused")));
  EXPECT_TRUE(HoistCopies(step, {"part", "origin"}, {"x"}).before.empty());
}

Block Chunks() {
  Block chunk;
  chunk.push_back({DeclareIndex{"origin", Var("c") * 8}});
  chunk.push_back(CopyTo("a", "x", Var("origin")));
  chunk.push_back(Meet());
  chunk.push_back(Set("y", Var("origin") + Var("t"), Element("a", Index(7) - Var("t"))));
  chunk.push_back(CopyTo("b", "x", Var("origin")));
  chunk.push_back(Meet());
  chunk.push_back(
      Set("y", Var("origin") + Var("t"),
          Sum(Element("y", Var("origin") + Var("t")), Element("b", Index(7) - Var("t")))));
  Block body;
  body.push_back(Shared("b", 8));
  body.push_back(Loop("c", 4, chunk));
  return body;
}

TEST(CopiesAhead, BeginBehindTheBarrierBefore) {
  const std::set<std::string> constants = {"x"};
  const Block ahead = WithCopiesAhead(Chunks(), {"c", constants});
  EXPECT_THAT(ToText(ahead), HasSubstr(R"(
  if c + 1 < 4
    index origin_3 = (c + 1) * 8
    copy to a, stages 1)"));
  EXPECT_THAT(ToText(ahead), HasSubstr(R"(
  barrier
  if true
    index origin_2 = c * 8
    copy to b, stages 1)"));
  ExpectSameResults(OfThreads(Chunks()), OfThreads(ahead), kMemory);
}

TEST(CopiesAhead, AreAsynchronousWhereTheTargetCan) {
  const std::set<std::string> constants = {"x"};
  const std::string text = ToText(WithCopiesAhead(Chunks(), {"c", constants, true}));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("copy to")), HasSubstr("wait"), HasSubstr("commit")));
}

TEST(CopiesAhead, StayWhereNothingIsBetween) {
  const std::set<std::string> none, constants = {"x"};
  const Block body = Chunks();
  EXPECT_EQ(ToText(WithCopiesAhead(body, {"c", none})), ToText(body));
  EXPECT_EQ(ToText(WithCopiesAhead(body, {"other", constants})), ToText(body));
  Block once;
  once.push_back(CopyTo("a", "x", Index(0)));
  once.push_back(Meet());
  once.push_back(Set("y", Var("t"), Element("a", Index(7) - Var("t"))));
  const Block loop = {Loop("c", 4, once)};
  EXPECT_EQ(ToText(WithCopiesAhead(loop, {"c", constants})), ToText(loop));
}

// ---- Lanes ----

TEST(RowLanes, TakeTurnsByTwoRows) {
  const Index turns = InTurns(Var("t"), 4);
  std::set<int64_t> numbers;
  for (int64_t t = 0; t < 16; ++t) {
    const Index number = turns.Replace("t", Index(t));
    ASSERT_TRUE(number.is_constant());
    numbers.insert(number.constant());
    EXPECT_EQ(number.constant() % 4, t / 2 % 4);
    EXPECT_EQ(number.constant() / 4, t % 2 + t / 8 * 2);
  }
  EXPECT_EQ(numbers.size(), 16u);
}

TEST(RowLanes, AreOfStagesThatAgree) {
  Stage rows, others, large;
  rows.launch.block = {8, 16, 1};
  others.launch.block = {16, 8, 1};
  large.launch.block = {64, 2, 1};
  EXPECT_EQ(LanesOfRows({}), 1);
  EXPECT_EQ(LanesOfRows({&rows, &rows}), 8);
  EXPECT_EQ(LanesOfRows({&rows, &others}), 1);
  EXPECT_EQ(LanesOfRows({&large}), 1);
}

TEST(RowLanes, AllOfThemHaveResults) {
  Block store;
  store.push_back(Set("y", Var("t") / 4, MakeNamed("sum", {ScalarType::kInt32})));
  Block body;
  body.push_back({DeclareIndex{"j", Var("t") % 4}});
  body.push_back({DeclareValue{"sum", MakeShuffleDown(Element("x", Var("t")), 1, 4)}});
  body.push_back(When({IsZero(Var("j"))}, store));
  const std::string one = ToText(WithResultsInAllLanes(body, "t", 4, "lane", false));
  const std::string two = ToText(WithResultsInAllLanes(body, "t", 4, "lane", true));
  EXPECT_THAT(one, AllOf(HasSubstr("lane == 0"), Not(HasSubstr("down"))));
  EXPECT_NE(one, two);
  Stage stage;
  stage.body = body;
  EXPECT_TRUE(ShufflesAreOfLanes({&stage}, 4));
  EXPECT_FALSE(ShufflesAreOfLanes({&stage}, 8));
  // Other shuffles stay.
  EXPECT_EQ(ToText(WithResultsInAllLanes(body, "t", 8, "lane", false)), ToText(body));
}

}  // namespace
}  // namespace mdh::joint_passes_test
