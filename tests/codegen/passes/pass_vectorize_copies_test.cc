#include "codegen/passes/pass_vectorize_copies.h"

#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_vectorize_copies_test {
namespace {

const Index t = Var("t"), r = Var("r"), lane = Var("lane");

Statement Copy(const std::string& to, const Index& a, int64_t c, const std::string& from,
               const Index& b, int64_t lanes = 4) {
  return Loop("lane", lanes, {Set(to, a + lane * c, Element(from, b + lane))});
}

// Rows, columns and padded rows in shared memory, and a row in registers and back.
LoopProgram Copies() {
  Block body;
  body.push_back(Shared("rows", 64));
  body.push_back(Shared("columns", 64));
  body.push_back(Shared("padded", 80));
  body.push_back(ThreadNumber("t"));
  body.push_back({DeclareIndex{"at", t % 2 * 4}});
  body.push_back(Copy("rows", t * 16 + Var("at"), 1, "G", t * 16 + Var("at")));
  body.push_back(Copy("columns", t, 4, "G", t * 4));
  body.push_back(Copy("padded", t * 17, 1, "G", t * 8));
  body.push_back(Private("R", 8));
  body.push_back(Loop("r", 2, {Copy("R", r * 4, 1, "G", t * 8 + r * 4)}));
  body.push_back({Barrier{}});
  body.push_back(Loop("r", 2, {Copy("H", t * 8 + r * 4, 1, "R", r * 4)}));
  body.push_back(Copy("H", Index(32) + t * 4, 1, "columns", t * 4));
  return Program(std::move(body), {{1, 1, 1}, {4, 1, 1}});
}

TEST(VectorizeCopiesTest, WideLoadsAndStores) {
  const LoopProgram before = Copies(), after = VectorizeCopies(before, {});
  ExpectGoldenPass("vectorize_copies", before, after);
  ExpectSameResults(before, after, {{"G", Numbered(64)}, {"H", Numbered(48)}});
}

void ExpectUnchanged(const Statement& statement) {
  const LoopProgram program = Program({ThreadNumber("t"), statement});
  EXPECT_EQ(ToText(VectorizeCopies(program, {})), ToText(program));
}

// Where the nearest element is meant, those beyond the border are one, not neighbours.
TEST(VectorizeCopiesTest, NeighboursBeyondABorderAreNotTheNearestOnes) {
  const auto changes = [](std::optional<ScalarValue> outside, bool is_inside,
                          bool loads_always = true) {
    LoadInside load{"G", {{t * 4 - 4 + lane, 0, 8, 1, is_inside}}, 0, outside, loads_always};
    const LoopValue value = std::make_shared<const ValueNode>(
        ValueNode{LoopValueType{ScalarType::kInt32, 1}, std::move(load)});
    const LoopProgram before =
        Program({ThreadNumber("t"), Loop("lane", 4, {Set("H", t * 4 + lane, value)})});
    return ToText(VectorizeCopies(before, {})).find("int32x") != std::string::npos;
  };
  const ScalarValue zero = ScalarValue::Zero(ScalarType::kInt32);
  EXPECT_TRUE(changes(zero, false));
  EXPECT_FALSE(changes(zero, false, /*loads_always=*/false)) << "each of them has a branch";
  EXPECT_FALSE(changes(std::nullopt, false));
  EXPECT_TRUE(changes(std::nullopt, true));
}

TEST(VectorizeCopiesTest, PrivateArraysAreStoredInWideSteps) {
  const Index x = Var("x");
  const auto store = [&](const std::string& to, const Index& at) {
    return Loop("x", 4, {Set(to, at + x, Element("R", x))});
  };
  Block body = {ThreadNumber("t"), Private("R", 4),
                Loop("x", 4, {Set("R", x, Element("G", t * 4 + x))})};
  body.push_back({DeclarePointer{"half", ScalarType::kInt32, false, "H", Index(32)}});
  body.push_back({DeclarePointer{"odd", ScalarType::kInt32, false, "H", Index(65)}});
  body.push_back(store("H", t * 4));
  body.push_back(store("half", t * 4));
  body.push_back(store("odd", t * 4));
  const LoopProgram before = Program(std::move(body), {{1, 1, 1}, {4, 1, 1}});
  const LoopProgram after = VectorizeCopies(before, {});
  const std::string text = ToText(after.stages[0].body);
  EXPECT_NE(text.find("\nH[t * 4, stride 1] = int32x4 R[0, stride 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("half[t * 4, stride 1] = int32x4"), std::string::npos) << text;
  EXPECT_EQ(text.find("odd[t * 4, stride 1] = int32x4"), std::string::npos) << text;
  ExpectSameResults(before, after, {{"G", Numbered(16)}, {"H", Numbered(96)}});
}

// Rows of 8 elements, the first of them one before the buffer, to shared memory and to registers.
TEST(VectorizeCopiesTest, RowsThatExistOrNot) {
  const Index x = Var("x");
  const auto row = [&](const Index& column, std::optional<int64_t> outside, int64_t length = 8) {
    const bool is_inside = !outside.has_value();  // as passes before know
    return ElementInside("G", {{t - Index(1), 0, 2, length}, {column, 0, length, 1, is_inside}},
                         outside);
  };
  for (const std::optional<int64_t> outside :
       {std::optional<int64_t>(7), std::optional<int64_t>()}) {
    const LoopProgram before = Program(
        {Shared("rows", 32),
         ThreadNumber("t"),
         Private("R", 8),
         Private("S", 4),
         Loop("lane", 4, {Set("rows", t * 8 + lane, row(lane, outside))}),
         Loop("lane", 4, {Set("rows", t * 8 + 4 + lane, row(lane + Index(4), outside))}),
         Loop("x", 8, {Set("R", x, row(x, outside))}),
         Loop("x", 4, {Set("S", x, row(x + Index(3), outside))}),
         {Barrier{}},
         Loop("x", 8, {Set("H", t * 8 + x, Sum(Element("rows", t * 8 + x), Element("R", x)))}),
         Loop("x", 4, {Set("H", Index(32) + t * 4 + x, Element("S", x))})},
        {{1, 1, 1}, {4, 1, 1}});
    const LoopProgram after = VectorizeCopies(before, {});
    const std::string text = ToText(after.stages[0].body);
    const std::string of_row = outside.has_value() ? " of 8" : " inside 8";
    EXPECT_NE(
        text.find("rows[t * 8 + 4, stride 1] = int32x4 G[t - 1 of 2 at 8; 4 + lane * 1" + of_row),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("R[x, stride 1] = int32x4 G[t - 1 of 2 at 8; x + lane * 1" + of_row),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  S[x] = G["), std::string::npos) << text;  // not aligned
    ExpectSameResults(before, after, {{"G", Numbered(16)}, {"H", Numbered(48)}});
  }
}

TEST(VectorizeCopiesTest, NeighboursOfOddRowsWithBordersAreApart) {
  const Index x = Var("x");
  const auto element = [&](int64_t lane_stride, int64_t length, int64_t pitch) {
    return ElementInside("G", {{t - Index(1), 0, 2, pitch}, {x, 0, length, lane_stride}}, 0);
  };
  // Nor are those of which there are none.
  const LoopValue nothing = ElementInside("G", {{t - Index(1), 0, 0, 8}, {x, 0, 8, 1}}, 0);
  for (const LoopValue& value : {element(2, 4, 8), element(1, 5, 8), element(1, 4, 5),
                                 ElementInside("G", {{x, 0, 4, 1}, {x, 0, 4, 4}}, 0), nothing}) {
    const LoopProgram program =
        Program({ThreadNumber("t"), Private("R", 4), Loop("x", 4, {Set("R", x, value)}),
                 Loop("x", 4, {Set("H", t * 5 + x, Element("R", x))})});
    EXPECT_EQ(ToText(VectorizeCopies(program, {})), ToText(program));
  }
}

TEST(VectorizeCopiesTest, PrivateArraysAreAddedInWideSteps) {
  const Index x = Var("x");
  const auto add = [&](const Index& at, int64_t count) {
    return Loop("x", count, {{AddElements{"H", at + x, Element("R", x)}}});
  };
  const LoopProgram before = Program({ThreadNumber("t"),
                                      Private("R", 8),
                                      Loop("x", 8, {Set("R", x, Element("G", t * 8 + x))}),
                                      {AwaitStages{}},
                                      add(t * 8, 8),
                                      add(t * 2, 2),
                                      add(t * 8 + Index(1), 4),
                                      add(t, 3)},
                                     {{2, 1, 1}, {4, 1, 1}});
  const LoopProgram after = VectorizeCopies(before, {});
  const std::string text = ToText(after.stages[0].body);
  EXPECT_NE(text.find("await stages\n"
                      "for x = 0 .. 8 step 4\n"
                      "  H[t * 8 + x, stride 1] += atomically int32x4 R[x, stride 1]\n"
                      "H[t * 2, stride 1] += atomically int32x2 R[0, stride 1]\n"
                      "for x = 0 .. 4\n"
                      "  H[t * 8 + 1 + x] += atomically R[x]\n"
                      "for x = 0 .. 3\n"),
            std::string::npos)
      << text;
  ExpectSameResults(before, after, {{"G", Numbered(32)}, {"H", Numbered(40)}});
}

// Only from registers, and lanes of copies are none.
TEST(VectorizeCopiesTest, OtherAdditionsStay) {
  ExpectUnchanged(Loop("x", 4, {{AddElements{"H", t * 4 + Var("x"), Element("G", Var("x"))}}}));
  ExpectUnchanged(Loop("lane", 4, {{AddElements{"H", t * 4 + lane, Element("G", lane)}}}));
}

TEST(VectorizeCopiesTest, PrivateArraysAreFilledInWideSteps) {
  const auto fill = [](int64_t n, const Index& a, const Index& b) {
    return Loop("x", n, {Set("R", a + Var("x"), Element("S", b + Var("x")))});
  };
  const LoopProgram before =
      Program({Private("R", 16), Shared("S", 64), ThreadNumber("t"),
               Loop("r", 4, {Set("S", t * 16 + r * 5, Number(1))}),
               Loop("r", 16, {Set("S", t * 16 + r, Element("G", r))}), fill(8, 0, t * 16),
               fill(4, 8, t * 16 + Index(8)), fill(2, 12, t * 16), fill(2, 14, t * 16 + Index(1)),
               Loop("r", 16, {Set("H", t * 16 + r, Element("R", r))})},
              {{1, 1, 1}, {4, 1, 1}});
  const LoopProgram after = VectorizeCopies(before, {});
  const std::string text = ToText(after.stages[0].body);
  const std::string fills =
      "for x = 0 .. 8 step 4\n"
      "  R[x, stride 1] = int32x4 S[t * 16 + x, stride 1]\n"
      "R[8, stride 1] = int32x4 S[t * 16 + 8, stride 1]\n"
      "R[12, stride 1] = int32x2 S[t * 16, stride 1]\n"
      "for x = 0 .. 2\n"
      "  R[x + 14] = S[t * 16 + 1 + x]\n";
  EXPECT_NE(text.find(fills), std::string::npos) << text;
  ExpectSameResults(before, after, {{"G", Numbered(16)}, {"H", Numbered(64)}});
  EXPECT_EQ(ToText(VectorizeCopies(before, {.private_arrays = false})), ToText(before));
}

TEST(VectorizeCopiesTest, PointersOfUnknownAlignmentStayNarrow) {
  const LoopProgram program =
      Program({Private("R", 4),
               {DeclarePointer{"P", ScalarType::kInt32, true, "G", Index(1)}},
               Loop("x", 4, {Set("R", Var("x"), Element("P", Var("x")))})});
  EXPECT_EQ(ToText(VectorizeCopies(program, {})), ToText(program));
}

TEST(VectorizeCopiesTest, OtherLoopsStay) {
  ExpectUnchanged(Loop("l", 4, {Set("S", Var("l"), Element("G", Var("l")))}));
  ExpectUnchanged(Copy("S", 0, 1, "G", 0, /*lanes=*/3));
  ExpectUnchanged(Copy("S", 0, 1, "G", 0, /*lanes=*/8));  // 32 bytes
  ExpectUnchanged(Loop("lane", 4, {Set("S", lane, Element("G", lane * 2))}));
  ExpectUnchanged(Loop("lane", 4, {Set("S", lane, Element("G", t))}));
  ExpectUnchanged(Loop("lane", 4, {Set("S", t, Element("G", lane))}));
  ExpectUnchanged(Loop("lane", 4, {Set("S", lane / 2, Element("G", lane))}));
  ExpectUnchanged(Loop("lane", 4, {Set("S", lane, Element("G", lane + lane % 2))}));
  ExpectUnchanged(Loop("lane", 4, {Set("S", lane, Sum(Element("G", lane), Number(1)))}));
  ExpectUnchanged(Loop("lane", 4, {Guard(lane, t, {Set("S", lane, Element("G", lane))})}));
  ExpectUnchanged(Loop("lane", Var("n"), {Set("S", lane, Element("G", lane))}));
  ExpectUnchanged({For{"lane", 4, 8, 1, false, Body({Set("S", lane, Element("G", lane))})}});
}

TEST(VectorizeCopiesTest, StoresAreWideOnlyWhereTheTargetIsKnownToBeAligned) {
  const auto is_wide = [](const Index& target) {
    const LoopProgram program =
        Program({{DeclareIndex{"eights", t * 8}}, Copy("S", target, 1, "G", 0)});
    return ToText(VectorizeCopies(program, {})).find("_lanes") == std::string::npos;
  };
  EXPECT_TRUE(is_wide(Var("eights") + Index(4)));
  EXPECT_TRUE(is_wide(Var("eights") % 12));
  EXPECT_TRUE(is_wide(Min(Var("eights"), Index(20))));
  EXPECT_FALSE(is_wide(Var("eights") + Index(2)));
  EXPECT_FALSE(is_wide(Var("eights") % 6));
  EXPECT_FALSE(is_wide(Var("eights") / 2));
  EXPECT_FALSE(is_wide(Min(Var("eights"), Index(18))));
  EXPECT_FALSE(is_wide(t));
}

}  // namespace
}  // namespace mdh::pass_vectorize_copies_test
