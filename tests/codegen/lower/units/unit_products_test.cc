// Products of fp32 by tf32 and by parts of bf16 (Products of core/expression/numerics.h), executed
// thread by thread as those of unit_program_test.cc, on full mantissas: as close to the products as
// the policy says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/strings/substitute.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/lower/units/unit_program.h"
#include "codegen/passes/passes.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/loop_program_text.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "tests/codegen/golden_file.h"
#include "tests/codegen/lower/units/unit_case.h"
#include "tests/sanitized.h"

namespace mdh::unit_products_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kBoth = UnitOperands::kBoth;

struct Case {
  std::string name, text;
  NumericsPolicy numerics;
  UnitParameters unit;
  CombineBlocks combine = CombineBlocks::kPartials;
};

std::string MatMul(const std::string& sizes, const std::string& a, const std::string& b) {
  return absl::Substitute(
      "e<T = fp32 | $0> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<I,J,K>( f, (++, ++, +) ) "
      "o\n"
      "inp_view<fp32,fp32>( A: (i,j,k) -> ($1), B: (i,j,k) -> ($2) )\n"
      "where f(A, B) -> C { C = A * B }\n",
      sizes, a, b);
}

constexpr char kBatches[] =
    "e<T = fp32 | B = 2, I = 20, J = 17, K = 70> := out_view<fp32>( C: (b,i,j,k) -> (b,i,j) ) o\n"
    "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o\n"
    "inp_view<fp32,fp32>( A: (b,i,j,k) -> (k,b,i), B: (b,i,j,k) -> (b,j,k) )\n"
    "where f(A, B) -> C { C = A * B }\n";
constexpr char kConvolution[] =
    "e<T = fp32 | N = 2, P = 5, Q = 6, K = 16, R = 3, S = 3, C = 3> :=\n"
    "out_view<fp32>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
    "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o\n"
    "inp_view<fp32,fp32>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
    "                     w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
    "where f(x, w) -> y { y = x * w }\n";
constexpr char kDense[] =
    "e<T = fp32 | I = 50, J = 24, K = 64> := out_view<fp16>( y: (i,j,k) -> (i,j) ) o\n"
    "md_hom<I,J,K>( f, (++, ++, +), store s<fp32>( bias: (i,j,k) -> (j) ) ) o\n"
    "inp_view<fp32,fp32>( x: (i,j,k) -> (i,k), w: (i,j,k) -> (j,k) )\n"
    "where f(x, w) -> (c: fp32) { c = x * w }, s(c, bias) -> y { y = fp16(max(c + bias, 0)) }\n";

LowLevelExpression Lowered(const Case& c, int capability = 90) {
  const Expression expression = *ParseExpression(c.text);
  const DeviceDescription device = *DescribeCudaArchitecture(capability);
  TuningParameters p = DefaultParameters(expression, CudaModel(), device, c.numerics);
  p.unit = c.unit;
  p.swizzle = 1;
  p.combine_blocks = c.combine;
  p.resident_blocks = 0;
  p.early_launches = EarlyLaunches::kStages;
  Result<LowLevelExpression> low_level = Lower(expression, CudaModel(), device, p);
  EXPECT_TRUE(low_level.ok()) << c.name << ": " << low_level.status();
  return *std::move(low_level);
}

UnitParameters Warps(int rows, int columns, UnitWarps warps, int stages = 3, int parts = 1,
                     UnitOperands packed = UnitOperands::kNone) {
  return {.rows = rows,
          .columns = columns,
          .stages = stages,
          .parts = parts,
          .packed = packed,
          .warps = warps};
}

class UnitProducts : public ::testing::TestWithParam<Case> {};

// Values are between 1/2 and 1, of either sign, so that sums of their products are below K.
TEST_P(UnitProducts, AreAsCloseAsThePolicySays) {
  if (!IsTried()) GTEST_SKIP() << kNotTried;
  const LowLevelExpression low_level = Lowered(GetParam());
  const Expression& e = low_level.expression();
  const Result<LoopProgram> lowered = BuildUnitProgram(low_level);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const LoopProgram program = Optimize(*lowered, {.unroll = low_level.parameters().unroll});
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> magnitude(0.5F, 1.0F);
  const auto [arguments, memory, inputs] =
      unit_program_test::MemoryOf(low_level, program, [&](ScalarType type, int64_t) {
        const bool is_positive = rng() % 2 == 0;
        return ScalarValue::Real(type, is_positive ? magnitude(rng) : -magnitude(rng));
      });
  const ProgramMemory result =
      Execute(program, memory, /*may_read_unwritten=*/GetParam().unit.has_warps());
  const Result<std::vector<BufferBytes>> expected = Interpret(e, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  int64_t length = 1;
  for (int d = 0; d < e.rank(); ++d) length *= e.is_reduction(d) ? e.dimensions()[d].size : 1;
  const KernelArgument& output = arguments.back();
  const ScalarType type = output.type.scalar();
  constexpr double kSumming = 16;  // units in the last place of fp32
  const double sums = static_cast<double>(length) *
                      (ProductError(ProductsOf(GetParam().numerics)) + std::ldexp(kSumming, -24));
  double most = 0;
  for (int64_t n = 0; n < output.elements; ++n) {
    const auto& element = result.at(output.name)[static_cast<size_t>(n)];
    ASSERT_TRUE(element.has_value()) << n << "\n" << ToText(program);
    const double right =
        ScalarValue::Load(type, expected->back().data() + n * SizeBytes(type)).as_double();
    most = std::max(most, std::abs(element->as_double() - right));
  }
  const double storing = type == ScalarType::kFloat32 ? 0 : static_cast<double>(length) / 1024;
  EXPECT_LE(most, sums + storing) << ToText(program);
  // Something is rounded, but by all parts together.
  EXPECT_TRUE(most > 0 || ProductsOf(GetParam().numerics) == Products::kBf16x6);
}

constexpr auto kTf32 = NumericsPolicy::kTf32, kBf16x3 = NumericsPolicy::kBf16x3,
               kBf16x6 = NumericsPolicy::kBf16x6;
const Case kCases[] = {
    {"tf32", MatMul("I = 64, J = 64, K = 96", "i,k", "k,j"), kTf32, {64, 64, 1, 4, 1, kBoth}},
    {"tf32_odd", MatMul("I = 69, J = 39, K = 67", "k,i", "j,k"), kTf32, {64, 32, 1, 3, 1, kBoth}},
    {"tf32_groups",
     MatMul("I = 128, J = 32, K = 64", "i,k", "j,k"),
     kTf32,
     {128, 32, 2, 3, 1, kBoth}},
    {"tf32_batches", kBatches, kTf32, {64, 16, 1, 4, 1, kBoth}},
    {"tf32_convolution", kConvolution, kTf32, {64, 16, 1, 4, 1, kBoth}},
    {"tf32_dense", kDense, kTf32, {64, 32, 1, 4, 1, kBoth}},
    {"tf32_cluster",
     MatMul("I = 64, J = 40, K = 300", "i,k", "k,j"),
     kTf32,
     {64, 64, 1, 4, 2, kBoth},
     CombineBlocks::kCluster},
    {"tf32_warps", MatMul("I = 64, J = 32, K = 96", "i,k", "j,k"), kTf32,
     Warps(32, 32, {2, 1, 16, 8})},
    {"tf32_warps_across", MatMul("I = 64, J = 64, K = 96", "k,i", "k,j"), kTf32,
     Warps(32, 64, {1, 2, 16, 8})},
    {"tf32_warps_narrow", MatMul("I = 64, J = 32, K = 64", "k,i", "k,j"), kTf32,
     Warps(32, 32, {2, 2, 16, 8})},
    {"tf32_warps_odd", MatMul("I = 29, J = 19, K = 37", "i,k", "k,j"), kTf32,
     Warps(32, 32, {2, 1, 16, 8})},
    {"tf32_warps_packed", MatMul("I = 29, J = 19, K = 37", "i,k", "k,j"), kTf32,
     Warps(32, 32, {2, 1, 16, 8}, 4, 1, kBoth)},
    {"tf32_warps_packed_b", MatMul("I = 32, J = 19, K = 100", "i,k", "k,j"), kTf32,
     Warps(32, 32, {2, 1, 16, 8}, 2, 2, UnitOperands::kB)},
    {"tf32_warps_convolution", kConvolution, kTf32, Warps(32, 16, {2, 1, 16, 8})},
    {"bf16x3", MatMul("I = 64, J = 64, K = 72", "i,k", "k,j"), kBf16x3, {64, 64, 1, 4, 1, kBoth}},
    {"bf16x3_odd",
     MatMul("I = 69, J = 39, K = 67", "k,i", "j,k"),
     kBf16x3,
     {64, 64, 1, 3, 1, kBoth}},
    {"bf16x3_batches", kBatches, kBf16x3, {64, 16, 1, 4, 1, kBoth}},
    {"bf16x3_convolution", kConvolution, kBf16x3, {64, 16, 1, 4, 1, kBoth}},
    {"bf16x3_dense", kDense, kBf16x3, {64, 32, 1, 4, 2, kBoth}},
    {"bf16x3_cluster",
     MatMul("I = 64, J = 40, K = 100", "i,k", "j,k"),
     kBf16x3,
     {64, 64, 1, 4, 2, kBoth},
     CombineBlocks::kCluster},
    {"bf16x3_warps", MatMul("I = 29, J = 19, K = 67", "i,k", "j,k"), kBf16x3,
     Warps(32, 32, {2, 1, 16, 16}, 3, 1, kBoth)},
    {"bf16x6", MatMul("I = 64, J = 16, K = 40", "i,k", "j,k"), kBf16x6, {64, 16, 1, 3, 1, kBoth}},
    {"bf16x6_promoted",
     MatMul("I = 32, J = 16, K = 96", "i,k", "j,k"),
     kBf16x6,
     {64, 16, 1, 4, 1, kBoth}},
    {"bf16x6_promoted_last",
     MatMul("I = 32, J = 16, K = 80", "i,k", "j,k"),
     kBf16x6,
     {64, 16, 1, 4, 1, kBoth}},
    {"bf16x6_parts",
     MatMul("I = 20, J = 16, K = 170", "k,i", "j,k"),
     kBf16x6,
     {64, 16, 1, 4, 2, kBoth}},
    {"bf16x6_cluster",
     MatMul("I = 20, J = 32, K = 170", "i,k", "j,k"),
     kBf16x6,
     {64, 32, 1, 4, 2, kBoth},
     CombineBlocks::kCluster},
    {"bf16x6_warps", MatMul("I = 32, J = 8, K = 80", "i,k", "j,k"), kBf16x6,
     Warps(32, 8, {2, 1, 16, 16}, 3, 1, kBoth)},
};

INSTANTIATE_TEST_SUITE_P(All, UnitProducts, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return one.param.name; });

// As source: conversion on the way to scratch memory, and sums that are promoted.
TEST(UnitProductsSource, SixProductsOfParts) {
  const LowLevelExpression low_level =
      Lowered({"golden",
               MatMul("I = 4096, J = 4096, K = 4096", "i,k", "k,j"),
               kBf16x6,
               {128, 128, 2, 4, 1, kBoth}});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("unit_matmul_bf16x6.cu", kernel->source);
  EXPECT_THAT(kernel->launches, SizeIs(2));
}

// Sums of fp8 are promoted at every stage: those of one half while the unit multiplies for the
// other one.
TEST(UnitProductsSource, Fp8ByHalves) {
  const std::string product =
      "e<T = fp8e4m3 | I = 4096, J = 4096, K = 4096> := out_view<bf16>( C: (i,j,k) -> (i,j) ) o\n"
      "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
      "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (j,k) )\n"
      "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n";
  const LowLevelExpression low_level =
      Lowered({"golden", product, NumericsPolicy::kFp8, {128, 192, 2, 4, 1}});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("unit_matmul_fp8_halves.cu", kernel->source);
}

TEST(UnitProductsSource, Tf32ByGroupsAndByWarps) {
  const std::string product = MatMul("I = 1024, J = 1024, K = 1024", "i,k", "k,j");
  const LowLevelExpression groups = Lowered({"golden", product, kTf32, {64, 128, 1, 4, 1, kBoth}});
  const Result<Kernel> by_groups = GenerateBlockKernel(groups, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(by_groups.ok()) << by_groups.status();
  ExpectGoldenFile("unit_matmul_tf32.cu", by_groups->source);
  const LowLevelExpression warps =
      Lowered({"golden", product, kTf32, Warps(64, 128, {2, 2, 16, 8})}, 80);
  const Result<Kernel> by_warps = GenerateBlockKernel(warps, *DescribeCudaArchitecture(80));
  ASSERT_TRUE(by_warps.ok()) << by_warps.status();
  ExpectGoldenFile("warp_unit_tf32.cu", by_warps->source);
  EXPECT_THAT(by_warps->header,
              HasSubstr("Matrix units of warps need compute capability 8.0 or later."));
}

}  // namespace
}  // namespace mdh::unit_products_test
