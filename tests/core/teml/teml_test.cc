// TeML's tensor expressions: what each of them means, and where ours differs from the paper.
#include "core/teml/teml.h"

#include <string>
#include <vector>

#include "core/pipeline/pipeline_canonical.h"
#include "core/text/computation_text.h"
#include "gtest/gtest.h"
#include "tests/core/teml/teml_judge.h"
#include "tests/error_message.h"

namespace mdh::teml_test {
namespace {

using Values = std::vector<double>;

TensorValues RunOf(const std::string& text, const TensorValues& inputs) {
  return RunTeml(TemlOf(text), inputs);
}

std::string Loops(const std::string& text) {
  std::string loops;
  for (const LoopTrees& trees : TemlOf(text).loops) loops += ToText(trees);
  return loops;
}

std::string NamesWithRole(const Pipeline& pipeline, PipelineBuffer::Role role) {
  std::string names;
  for (const int b : pipeline.BuffersOf(role)) names += pipeline.buffers()[b].name + " ";
  return names;
}

// Figures 4, 5 and 6. What the paper prints of Figure 5 has the indices of C swapped.
TEST(Teml, FiguresOfThePaper) {
  EXPECT_EQ(Loops("N1 = 3 N2 = 4\nA = tensor([N1, N2])\nB = tensor([N2, N1])\n"
                  "B = eq(A, [i1, i2] -> [i2, i1])\n"),
            "for (int i2 = 0; i2 <= 3; i2++)\n  for (int i1 = 0; i1 <= 2; i1++)\n"
            "    B[i2][i1] = A[i1][i2];\n");
  EXPECT_EQ(Loops("N = 3\nA = tensor([N, N])\nB = tensor([N, N])\nC = tensor([N, N])\n"
                  "D = @C:add(A, B, [[i1, i2], [i1, i2]] -> [i1, i2])\nl = build(D)\n"),
            "for (int i1 = 0; i1 <= 2; i1++)\n  for (int i2 = 0; i2 <= 2; i2++)\n"
            "    C[i1][i2] = A[i1][i2] + B[i1][i2];\n");
  EXPECT_EQ(Loops("N = 3\nA = tensor([N, N])\nB = tensor([N, N])\nC = tensor([N, N])\n"
                  "D = vadd(A, B, [[i1, i2], [i1, i2]])\n"
                  "E = mul(C, D, [[i1, i2], ] -> [i1, i2])\n"),
            "for (int i1 = 0; i1 <= 2; i1++)\n  for (int i2 = 0; i2 <= 2; i2++)\n"
            "    E[i1][i2] = C[i1][i2] * (A[i1][i2] + B[i1][i2]);\n");
}

TEST(Teml, OperationsOfEveryForm) {
  const TensorValues inputs = {{"A", {1, 2, 3, 4}}, {"B", {5, 6, 7, 8}}};
  const std::string tensors = "A = tensor([2, 2])\nB = tensor([2, 2])\n";
  const auto run = [&](const std::string& right) {
    return RunOf(tensors + "C = " + right, inputs)["C"];
  };
  EXPECT_EQ(run("add(A, B, [[i, j], [j, i]] -> [i, j])"), (Values{6, 9, 9, 12}));
  EXPECT_EQ(run("sub(A, B, [[i, j], [i, j]] -> [j, i])"), (Values{-4, -4, -4, -4}));
  EXPECT_EQ(run("sub(B, A, A, [[i, j], [i, j], [i, j]] -> [i, j])"), (Values{3, 2, 1, 0}));
  EXPECT_EQ(run("min(A, B, [[i, j], [0, 1]] -> [i, j])"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(run("max(A, B, A, [[i, j], [1 - i, 1 - j], [i, j]] -> [i, j])"), (Values{8, 7, 6, 5}));
  EXPECT_EQ(run("neg(A, [[i, j]] -> [i, j])"), (Values{-1, -2, -3, -4}));
  EXPECT_EQ(run("entrywise_mul(A, B, A)"), (Values{5, 24, 63, 128}));
  EXPECT_EQ(run("entrywise_abs(A)"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(run("eq(A, [i, 1 - j] -> [i, j])"), (Values{2, 1, 4, 3}));
  EXPECT_EQ(run("outerproduct(A, B)").size(), 16u);
  EXPECT_EQ(run("transpose(A, [[1, 2]])"), (Values{1, 3, 2, 4}));
  EXPECT_EQ(run("contract(A, B, [2, 1])"), (Values{19, 22, 43, 50}));
  EXPECT_EQ(run("contract(A, B, [1, 1], [2, 2])"), (Values{70}));
  EXPECT_EQ(run("contract(A, B, [[1, 1], [2, 2]])"), (Values{70}));
}

TEST(Teml, VirtualTensorsHaveTheirDimensionsInOrder) {
  const TensorValues inputs = {{"A", {1, 2, 3, 4, 5, 6}}, {"B", {1, 2, 3, 4, 5, 6}}};
  const std::string tensors = "A = tensor([2, 3])\nB = tensor([2, 3])\n";
  // A B^T, B transposed without a copy.
  EXPECT_EQ(
      RunOf(tensors + "Bt = vtranspose(B, [[1, 2]])\nC = contract(A, Bt, [2, 1])\n", inputs)["C"],
      (Values{14, 32, 32, 77}));
  EXPECT_EQ(RunOf(tensors + "t = vadd(A, B, [[j, i], [j, i]])\nu = vtranspose(t, [[1, 2]])\n"
                            "C = entrywise_add(u, u)\n",
                  inputs)["C"],
            (Values{4, 16, 8, 20, 12, 24}));
  EXPECT_EQ(RunOf(tensors + "t = vouterproduct(A, B)\nu = vtranspose(t, [[1, 3], [2, 4]])\n"
                            "C = eq(u, -> [i1, i2, i3, i4])\nD = outerproduct(B, A)\n"
                            "E = sub(C, D, [[a, b, c, d], [a, b, c, d]] -> [a, b, c, d])\n",
                  inputs)["E"],
            Values(36, 0));
}

// t = a * sum_k b[k] is one reduction; other sums are values of their own.
TEST(Teml, SumsInsideOfExpressions) {
  const std::string tensors =
      "A = tensor([2, 3])\nB = tensor([3, 2])\nS = tensor([2, 2])\n"
      "t = vcontract(A, B, [2, 1])\n";
  const TensorValues inputs = {
      {"A", {1, 2, 3, 4, 5, 6}}, {"B", {1, 0, 2, 1, 0, 3}}, {"S", {1, 2, 3, 4}}};
  const auto steps = [&](const std::string& text) {
    return ToPipeline(TemlOf(tensors + text), "a")->steps().size();
  };
  const std::string product = "P = entrywise_mul(S, t)\n", sum = "P = entrywise_add(S, t)\n";
  EXPECT_EQ(RunOf(tensors + product, inputs)["P"], (Values{5, 22, 42, 92}));
  EXPECT_EQ(steps(product), 1u);
  EXPECT_EQ(RunOf(tensors + sum, inputs)["P"], (Values{6, 13, 17, 27}));
  EXPECT_EQ(steps(sum), 2u);
  // One sum twice, in one product and in one sum.
  EXPECT_EQ(RunOf(tensors + "P = entrywise_mul(t, t)\n", inputs)["P"], (Values{25, 121, 196, 529}));
  EXPECT_EQ(RunOf(tensors + "P = entrywise_add(t, t)\n", inputs)["P"], (Values{10, 22, 28, 46}));
  EXPECT_EQ(RunOf(tensors + "n = ventrywise_neg(t)\nP = entrywise_mul(n, S)\n", inputs)["P"],
            (Values{-5, -22, -42, -92}));
  // A contraction of a contraction.
  EXPECT_EQ(RunOf(tensors + "u = vcontract(t, S, [2, 1])\nP = entrywise_mul(S, u)\n", inputs)["P"],
            (Values{38, 108, 249, 480}));
}

TEST(Teml, AccumulatorsStartAtTheNeutralElement) {
  const std::string tensors = "A = tensor([2, 3])\ns = tensor([2])\n";
  const TensorValues inputs = {{"A", {1, -2, 3, 4, 5, 6}}};
  const auto run = [&](const std::string& text) { return RunOf(tensors + text, inputs)["s"]; };
  EXPECT_EQ(run("s = add(s, A, [[i], [i, k]] -> [i])\n"), (Values{2, 15}));
  EXPECT_EQ(run("s = add(A, s, [[i, k], [i]] -> [i])\n"), (Values{2, 15}));
  EXPECT_EQ(run("s = sub(s, A, [[i], [i, k]] -> [i])\n"), (Values{-2, -15}));
  EXPECT_EQ(run("s = mul(s, A, [[i], [i, k]] -> [i])\n"), (Values{-6, 120}));
  EXPECT_EQ(run("s = min(s, A, [[i], [i, k]] -> [i])\n"), (Values{-2, 4}));
  EXPECT_EQ(run("s = max(s, A, [[i], [i, k]] -> [i])\n"), (Values{3, 6}));
  EXPECT_EQ(run("init(s, 0.5)\ns = add(s, A, [[i], [i, k]] -> [i])\n"), (Values{2.5, 15.5}));
  EXPECT_EQ(run("init(s, -1)\ns = mul(s, A, [[i], [i, k]] -> [i])\n"), (Values{6, -120}));
}

TEST(Teml, TensorsMayBeAssignedAgain) {
  const std::string text =
      "A = tensor([2, 2])\nb = tensor([2])\ns = tensor([2])\n"
      "s = eq(b, [i] -> [i])\n"
      "s = add(s, A, [[i], [i, k]] -> [i])\n"
      "s = mul(s, s, [[i], [i]] -> [i])\n";
  const TensorValues inputs = {{"A", {1, 2, 3, 4}}, {"b", {10, 20}}};
  EXPECT_EQ(RunOf(text, inputs)["s"], (Values{169, 729}));
  const Pipeline pipeline = *ToPipeline(TemlOf(text), "a");
  EXPECT_EQ(NamesWithRole(pipeline, PipelineBuffer::Role::kOutput), "s ");
  EXPECT_EQ(NamesWithRole(pipeline, PipelineBuffer::Role::kTemporary), "s_1 s_1_2 ");
  // A contraction adds to what its target holds (33).
  EXPECT_EQ(RunOf("A = tensor([2, 2])\nb = tensor([2])\ns = tensor([2])\ns = eq(b, [i] -> [i])\n"
                  "s = contract(A, b, [2, 1])\n",
                  inputs)["s"],
            (Values{60, 130}));
}

TEST(Teml, ScalarsAndConstants) {
  EXPECT_EQ(RunOf("a = scalar()\nx = tensor([3])\ny = mul(a, x, [, [i]] -> [i])\n",
                  {{"a", {2}}, {"x", {1, 2, 3}}})["y"],
            (Values{2, 4, 6}));
  EXPECT_EQ(RunOf("x = tensor([3])\ns = scalar()\ns = add(s, x, [, [i]] -> [])\n",
                  {{"x", {1, 2, 3}}})["s"],
            Values{6});
  const std::string constant =
      "c = scalar()\ninit(c, 0.25)\nx = tensor([3])\n"
      "y = mul(c, x, [, [i]] -> [i])\n";
  EXPECT_EQ(RunOf(constant, {{"x", {4, 8, 16}}})["y"], (Values{1, 2, 4}));
  EXPECT_EQ(NamesWithRole(*ToPipeline(TemlOf(constant), "a"), PipelineBuffer::Role::kInput), "x ");
  EXPECT_EQ(RunOf("a = scalar()\nb = scalar()\nc = add(a, b, [, ] -> [])\n",
                  {{"a", {2}}, {"b", {3}}})["c"],
            Values{5});
}

TEST(Teml, RangesFollowFromAllIndices) {
  // A convolution; the target has the points where the filter is inside.
  EXPECT_EQ(RunOf("x = tensor([6])\nw = tensor([3])\ny = tensor([4])\n"
                  "t = vmul(x, w, [[i + k], [k]])\ny = add(y, t, [[i], ] -> [i])\n",
                  {{"x", {1, 2, 3, 4, 5, 6}}, {"w", {1, 0, -1}}})["y"],
            (Values{-2, -2, -2, -2}));
  EXPECT_EQ(RunOf("x = tensor([6])\nw = tensor([3])\nt = vmul(x, w, [[i + k], [k]])\n"
                  "y = eq(t, -> [i, k])\n",
                  {{"x", {1, 2, 3, 4, 5, 6}}, {"w", {1, 0, -1}}})["y"]
                .size(),
            12u);
  // Every second element, and what a target's list does not reach is zero.
  EXPECT_EQ(RunOf("x = tensor([5])\ny = eq(x, [2*i] -> [i])\n", {{"x", {1, 2, 3, 4, 5}}})["y"],
            (Values{1, 3, 5}));
  EXPECT_EQ(RunOf("x = tensor([2])\ny = tensor([5])\ny = eq(x, [i] -> [2*i + 1])\n",
                  {{"x", {1, 2}}})["y"],
            (Values{0, 1, 0, 2, 0}));
}

TEST(Teml, SizesAndTypesHaveNames) {
  const std::string text =
      "N = 4  M = 2*N + 1\ntype = fp32\nA = tensor([N, M])\n"
      "b = tensor(int64, [K])\nB = eq(A, [i, j] -> [j, i])\n";
  const Pipeline pipeline = *ParseTemlPipeline(text, {{"K", "7"}});
  EXPECT_EQ(pipeline.buffers()[1].extents, (std::vector<int64_t>{9, 4}));
  EXPECT_EQ(pipeline.buffers()[1].type, ElementType(ScalarType::kFloat32));
  const Pipeline other = *ParseTemlPipeline(text, {{"K", "7"}, {"N", "5"}, {"type", "int8"}});
  EXPECT_EQ(other.buffers()[1].extents, (std::vector<int64_t>{11, 5}));
  EXPECT_EQ(other.buffers()[1].type, ElementType(ScalarType::kInt8));
}

TEST(Teml, CodegenSaysWhatIsComputed) {
  const std::string text =
      "x = tensor([3])\nh = add(x, x, [[i], [i]] -> [i])\n"
      "y = mul(h, h, [[i], [i]] -> [i])\nl1 = build(h)\nl2 = build(y)\n";
  const auto roles = [](const std::string& program) {
    const Pipeline pipeline = *ToPipeline(TemlOf(program), "a");
    return NamesWithRole(pipeline, PipelineBuffer::Role::kInput) + "-> " +
           NamesWithRole(pipeline, PipelineBuffer::Role::kOutput);
  };
  EXPECT_EQ(roles(text), "x -> y ");
  EXPECT_EQ(roles(text + "codegen(l1, l2)\n"), "x -> y ");
  EXPECT_EQ(roles(text + "codegen(l1)\n"), "x -> h ");
  // What is not computed here is given.
  EXPECT_EQ(roles(text + "codegen(l2)\n"), "h -> y ");
}

// The bodies of loops are said once; declarations say what memory holds at first.
TEST(Teml, ProgramsArePrinted) {
  EXPECT_EQ(ToText(TemlOf("A = tensor([2, 3])\nunused = tensor([9])\ns = tensor([2])\n"
                          "third = scalar()\ninit(third, 0.5)\n"
                          "t = vmul(A, third, [[i, k], ])\ns = max(s, t, [[i], ] -> [i])\n")),
            R"(double A[2][3];  // an input
double s[2];  // -inf at first
double third;  // 0.5 at first

for (int i = 0; i <= 1; i++)
  for (int k = 0; k <= 2; k++)
    s[i] = max(s[i], A[i][k] * third);
)");
}

TEST(Teml, TextsAreTold) {
  EXPECT_TRUE(LooksLikeTeml("A = tensor([4])"));
  EXPECT_TRUE(LooksLikeTeml("# a comment = b\n// := \n N=4"));
  EXPECT_TRUE(LooksLikeTeml("\xEF\xBB\xBFinit(a, 1)"));
  EXPECT_TRUE(LooksLikeTeml("codegen (l)"));
  EXPECT_FALSE(LooksLikeTeml("init := out_view"));
  EXPECT_FALSE(LooksLikeTeml("matmul<T = fp32 | I = 4> :="));
  EXPECT_FALSE(LooksLikeTeml("a := b"));
  EXPECT_FALSE(LooksLikeTeml(""));
  EXPECT_FALSE(LooksLikeTeml("# A = b"));
  EXPECT_FALSE(LooksLikeTeml("4 = A"));
  EXPECT_TRUE(IsTeml("", "a.teml"));

  const std::string text = "A = tensor([4, 3])\nB = transpose(A, [[1, 2]])\n";
  const Result<Computation> computation = ParseTextOfAnyKind(text, {}, "some/where/flip.teml");
  ASSERT_TRUE(computation.ok()) << computation.status();
  EXPECT_EQ(ComputationView(*computation).name(), "flip");
  EXPECT_EQ(ComputationView(*ParseTextOfAnyKind(text, {}, "1 flip.teml")).name(), "teml");
  const Result<Computation> printed = ParseTextOfAnyKind(ToText(*computation));
  ASSERT_TRUE(printed.ok()) << printed.status();
  EXPECT_EQ(ToText(*printed), ToText(*computation));
}

// Texts of strangers end: they cannot be long by being short.
TEST(Teml, GrowthIsLimited) {
  std::string doubled = "A = tensor([4])\nt0 = vadd(A, A, [[i], [i]])\n";
  for (int n = 1; n < 40; ++n) {
    const std::string before = "t" + std::to_string(n - 1);
    doubled += "t" + std::to_string(n) + " = ventrywise_add(" + before + ", " + before + ")\n";
  }
  EXPECT_EQ(ErrorMessage(ParseTemlProgram(doubled, {}, "a")).substr(0, 66),
            "a:12:7: the expression has more than 4096 nodes; store a part of i");
  std::string many = "A = tensor([1048576])\nB = eq(A, [i] -> [i])\nl = build(B)\n";
  for (int n = 0; n < 100; ++n) many += "l = stripmine(l, 1, 1)\n";
  EXPECT_EQ(ErrorMessage(ParseTemlProgram(many, {}, "a")).substr(0, 63),
            "a:94:1: the trees of the program have more than 262144 nodes in");
  std::string extents = "1";
  for (int d = 1; d < 40; ++d) extents += ", 1";
  const std::string deep = "A = tensor([" + extents + "])\nB = entrywise_neg(A)\nl = build(B)\n" +
                           "l = tile(l, 1)\nl = tile(l, 1)\n";
  EXPECT_EQ(ErrorMessage(ParseTemlProgram(deep, {}, "a")),
            "a:5:1: more than 128 nested loops\nl = tile(l, 1)\n^");
}

}  // namespace
}  // namespace mdh::teml_test
