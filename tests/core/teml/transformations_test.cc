// Loop expressions: the trees that they give, and what they may not do.
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/teml/teml_judge.h"
#include "tests/error_message.h"

namespace mdh::transformations_test {
namespace {

// The loops of a program around y[i][j] = 2 * x[i][j], whose nest is called l before.
std::string LoopsOf(const std::string& transformations, int rows = 8, int columns = 4) {
  const std::string text = absl::StrCat(
      "x = tensor([", rows, ", ", columns,
      "])\ny = add(x, x, [[i, j], [i, j]] -> [i, j])\nl = build(y)\n", transformations);
  const TemlProgram program = TemlOf(text);
  const Result<Pipeline> pipeline = ToPipeline(program, "test");
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  if (pipeline.ok()) RunTeml(program, InputsOf(*pipeline));
  return program.loops.empty() ? "" : ToText(program.loops.back());
}

TEST(Transformations, BuildMakesALoopForEachIterator) {
  EXPECT_EQ(LoopsOf(""), R"(for (int i = 0; i <= 7; i++)
  for (int j = 0; j <= 3; j++)
    y[i][j] = x[i][j] + x[i][j];
)");
}

TEST(Transformations, StripmineMakesParts) {
  EXPECT_EQ(LoopsOf("l = stripmine(l, 1, 4)"), R"(for (int i_b = 0; i_b <= 1; i_b++)
  for (int i = 4*i_b; i <= 4*i_b + 3; i++)
    for (int j = 0; j <= 3; j++)
      y[i][j] = x[i][j] + x[i][j];
)");
}

// Equation (20) is for parts that divide the loop, and counts one block too few of them.
TEST(Transformations, LastPartsAreShorter) {
  EXPECT_EQ(LoopsOf("l = stripmine(l, 1, 3)"), R"(for (int i_b = 0; i_b <= 2; i_b++)
  for (int i = 3*i_b; i <= min(3*i_b + 2, 7); i++)
    for (int j = 0; j <= 3; j++)
      y[i][j] = x[i][j] + x[i][j];
)");
  // Parts of parts.
  EXPECT_EQ(LoopsOf("l = stripmine(l, 1, 2)\nl = stripmine(l, 1, 2)"),
            R"(for (int i_b2 = 0; i_b2 <= 1; i_b2++)
  for (int i_b = 2*i_b2; i_b <= 2*i_b2 + 1; i_b++)
    for (int i = 2*i_b; i <= 2*i_b + 1; i++)
      for (int j = 0; j <= 3; j++)
        y[i][j] = x[i][j] + x[i][j];
)");
  EXPECT_EQ(LoopsOf("l = stripmine(l, 1, 3)\nl = stripmine(l, 2, 2)"),
            R"(for (int i_b = 0; i_b <= 2; i_b++)
  for (int i_b2 = 0; i_b2 <= 1; i_b2++)
    for (int i = 3*i_b + 2*i_b2; i <= min(min(3*i_b + 2*i_b2 + 1, 3*i_b + 2), 7); i++)
      for (int j = 0; j <= 3; j++)
        y[i][j] = x[i][j] + x[i][j];
)");
}

// Figure 10.
TEST(Transformations, TileMovesPartsInside) {
  EXPECT_EQ(LoopsOf("l = tile(l, 2)"), R"(for (int i_b = 0; i_b <= 3; i_b++)
  for (int j_b = 0; j_b <= 1; j_b++)
    for (int i = 2*i_b; i <= 2*i_b + 1; i++)
      for (int j = 2*j_b; j <= 2*j_b + 1; j++)
        y[i][j] = x[i][j] + x[i][j];
)");
  EXPECT_EQ(
      LoopsOf("l = tile(l, 2)"),
      LoopsOf("l = stripmine_n(l, 2, 2)\nl = interchange_n(l, 2, 2)\nl = interchange_n(l, 3, 1)"));
  const std::string three =
      ToText(TemlOf("x = tensor([4, 4, 4])\ny = eq(x, [i, j, k] -> [i, j, k])\n"
                    "l = build(y)\nl = tile(l, 2)\n")
                 .loops[0]);
  EXPECT_EQ(three, R"(for (int i_b = 0; i_b <= 1; i_b++)
  for (int j_b = 0; j_b <= 1; j_b++)
    for (int k_b = 0; k_b <= 1; k_b++)
      for (int i = 2*i_b; i <= 2*i_b + 1; i++)
        for (int j = 2*j_b; j <= 2*j_b + 1; j++)
          for (int k = 2*k_b; k <= 2*k_b + 1; k++)
            y[i][j][k] = x[i][j][k];
)");
}

TEST(Transformations, InterchangeSwapsAnyTwoLoops) {
  EXPECT_EQ(LoopsOf("l = interchange(l, 2, 1)"), R"(for (int j = 0; j <= 3; j++)
  for (int i = 0; i <= 7; i++)
    y[i][j] = x[i][j] + x[i][j];
)");
  // As the paper's listing writes it.
  EXPECT_EQ(LoopsOf("l = interchange(l, [1, 2])"), LoopsOf("l = interchange(l, 1, 2)"));
  EXPECT_EQ(LoopsOf("l = interchange_n(l, 1, 1)"), LoopsOf("l = interchange(l, 1, 2)"));
}

TEST(Transformations, UnrollMakesCopies) {
  EXPECT_EQ(LoopsOf("l = unroll(l, 2)", 2, 3), R"(for (int i = 0; i <= 1; i++) {
  y[i][0] = x[i][0] + x[i][0];
  y[i][1] = x[i][1] + x[i][1];
  y[i][2] = x[i][2] + x[i][2];
}
)");
  // The outermost loop leaves a sequence.
  EXPECT_EQ(LoopsOf("l = unroll(l, 1)", 2, 3), R"(for (int j = 0; j <= 2; j++)
  y[0][j] = x[0][j] + x[0][j];
for (int j = 0; j <= 2; j++)
  y[1][j] = x[1][j] + x[1][j];
)");
  // Part of a loop: unroll and jam.
  EXPECT_EQ(LoopsOf("l = stripmine(l, 1, 2)\nl = unroll(l, 2)\nl = fuse_inner(l, 2)", 8, 3),
            R"(for (int i_b = 0; i_b <= 3; i_b++)
  for (int j = 0; j <= 2; j++) {
    y[2*i_b][j] = x[2*i_b][j] + x[2*i_b][j];
    y[2*i_b + 1][j] = x[2*i_b + 1][j] + x[2*i_b + 1][j];
  }
)");
}

TEST(Transformations, FlagsStayWithTheirLoops) {
  EXPECT_EQ(LoopsOf("l = parallelize(l, 1)\nl = vectorize(l, 2)\nl = interchange(l, 1, 2)"),
            R"(#pragma omp simd
for (int j = 0; j <= 3; j++)
  #pragma omp parallel for
  for (int i = 0; i <= 7; i++)
    y[i][j] = x[i][j] + x[i][j];
)");
  // Parts are run in parallel, and what is inside of them on vectors.
  EXPECT_EQ(LoopsOf("l = parallelize(l, 2)\nl = vectorize(l, 2)\nl = stripmine(l, 2, 2)"),
            R"(for (int i = 0; i <= 7; i++)
  #pragma omp parallel for
  for (int j_b = 0; j_b <= 1; j_b++)
    #pragma omp simd
    for (int j = 2*j_b; j <= 2*j_b + 1; j++)
      y[i][j] = x[i][j] + x[i][j];
)");
}

TEST(Transformations, NestsStayAsTheyAre) {
  const std::string text =
      "x = tensor([8])\ny = eq(x, [i] -> [i])\nl = build(y)\nm = stripmine(l, 1, 4)\ncodegen(l)\n";
  EXPECT_EQ(ToText(TemlOf(text).loops[0]), "for (int i = 0; i <= 7; i++)\n  y[i] = x[i];\n");
}

// y = 2 h, h = x + x, in nests l1 and l2 with different names of iterators.
std::string TwoNests(const std::string& behind) {
  return absl::StrCat(
      "x = tensor([6, 4])\nh = add(x, x, [[i, j], [i, j]] -> [i, j])\n"
      "y = add(h, h, [[j, i], [j, i]] -> [j, i])\nl1 = build(h)\nl2 = build(y)\n",
      behind);
}

TEST(Transformations, FusedNestsHaveOneIterator) {
  const TemlProgram one = TemlOf(TwoNests("l = fuse_outer(l1, l2, 1)"));
  EXPECT_EQ(ToText(one.loops[0]), R"(for (int i = 0; i <= 5; i++) {
  for (int j = 0; j <= 3; j++)
    h[i][j] = x[i][j] + x[i][j];
  for (int i_f = 0; i_f <= 3; i_f++)
    y[i][i_f] = h[i][i_f] + h[i][i_f];
}
)");
  RunTeml(one, InputsOf(*ToPipeline(one, "a")));
  const TemlProgram both = TemlOf(TwoNests("l = fuse_outer(l1, l2, 1)\nl = fuse_inner(l, 2)"));
  EXPECT_EQ(ToText(both.loops[0]), R"(for (int i = 0; i <= 5; i++)
  for (int j = 0; j <= 3; j++) {
    h[i][j] = x[i][j] + x[i][j];
    y[i][j] = h[i][j] + h[i][j];
  }
)");
  RunTeml(both, InputsOf(*ToPipeline(both, "a")));
  EXPECT_EQ(ToText(TemlOf(TwoNests("l = fuse_outer(l1, l2, 2)")).loops[0]), ToText(both.loops[0]));
}

// What is fused, tiled and parallel is decided on tiles.
TEST(Transformations, TiledNestsAreFused) {
  const std::string tiled = "l1 = tile(l1, 4)\nl2 = tile(l2, 4)\nl = fuse_outer(l1, l2, 2)\n";
  for (const std::string behind : {"", "l = parallelize(l, 1)\n", "l = vectorize(l, 2)\n"}) {
    const TemlProgram program = TemlOf(TwoNests(tiled + behind));
    ASSERT_EQ(program.loops.size(), 1u);
    RunTeml(program, InputsOf(*ToPipeline(program, "a")));
  }
}

// Parts are complete when the next ones begin, also where indices are shifted.
TEST(Transformations, ReadsOfLaterPartsAreRefused) {
  // h[4..19] = x, y[i] = h[i] + h[i + offset], in parts of 4.
  const auto text = [](int offset, const std::string& behind) {
    return absl::StrCat(
        "x = tensor([16])\nh = tensor([24])\ny = tensor([16])\nh = eq(x, [i] -> [i + 4])\n"
        "y = add(h, h, [[i], [i + ",
        offset,
        "]] -> [i])\nl1 = build(h)\nl1 = stripmine(l1, 1, 4)\nl2 = build(y)\n"
        "l2 = stripmine(l2, 1, 4)\n",
        behind);
  };
  for (const int level : {1, 2}) {
    const std::string fused = absl::StrCat("l = fuse_outer(l1, l2, ", level, ")\n");
    const TemlProgram program = TemlOf(text(4, fused));
    RunTeml(program, InputsOf(*ToPipeline(program, "a")));
    EXPECT_FALSE(ParseTemlProgram(text(5, fused)).ok());
    // h[i] is of the part before.
    EXPECT_FALSE(ParseTemlProgram(text(4, fused + "l = parallelize(l, 1)\n")).ok());
  }
}

TEST(Transformations, FusionBehindAReductionIsRefusedWithBothLines) {
  const std::string text =
      "A = tensor([6, 4])\ns = tensor([6])\ns = add(s, A, [[i], [i, k]] -> [i])\n"
      "B = div(A, s, [[i, k], [i]] -> [i, k])\nl1 = build(s)\nl2 = build(B)\n";
  // Rows are complete before they are divided, elements are not.
  const TemlProgram rows = TemlOf(text + "l = fuse_outer(l1, l2, 1)\nl = parallelize(l, 1)\n");
  EXPECT_EQ(rows.loops.size(), 1u);
  const Status status =
      ParseTemlProgram(text + "l = fuse_outer(l1, l2, 2)\n", {}, "a.teml").status();
  EXPECT_EQ(ErrorMessage(status),
            "a.teml:7:1: these loops would compute 'B' (line 4) before 's' (line 3) is complete, "
            "for instance at element [0] of 's'; fuse fewer loops, or let codegen list nests of "
            "their own in the order of the statements\nl = fuse_outer(l1, l2, 2)\n^");
}

}  // namespace
}  // namespace mdh::transformations_test
