// Contractions on matrix units whose operands the tensor copy engine brings
// (UnitParameters::tensors): executed thread by thread, the copies by what their maps say, and as
// source with the maps that launches pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/backends/backends.h"
#include "tests/codegen/golden_file.h"
#include "tests/codegen/lower/units/unit_case.h"
#include "tests/sanitized.h"

namespace mdh::unit_program_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kBothOperands = UnitOperands::kBoth;

UnitParameters Tensors(UnitOperands tensors, UnitParameters unit, int turns = 1) {
  unit.tensors = tensors;
  unit.turns = turns;
  return unit;
}

UnitParameters Producing(UnitParameters unit, int turns = 1) {
  unit.producer = UnitProducer::kWarp;
  return Tensors(kBothOperands, unit, turns);
}

UnitParameters ByAGroup(UnitParameters unit) {
  unit.producer = UnitProducer::kGroup;
  return unit;
}

UnitParameters InClusters(int along_m, int along_n, UnitParameters unit, int turns = 1) {
  unit.cluster_m = along_m;
  unit.cluster_n = along_n;
  return Producing(unit, turns);
}

class UnitTensors : public ::testing::TestWithParam<Case> {};

TEST_P(UnitTensors, ComputeWhatTheInterpreterDoes) {
  if (!IsTried()) GTEST_SKIP() << kNotTried;
  ExpectWhatTheInterpreterComputes(GetParam());
}

const Case kTensorCases[] = {
    {"tensors", MatMul("bf16", "fp32", "I = 64, J = 64, K = 320", "i,k", "k,j"),
     Tensors(kBothOperands, {64, 64, 1, 4, 1})},
    {"tensors_along", MatMul("fp16", "fp32", "I = 128, J = 48, K = 320", "i,k", "j,k"),
     Tensors(kBothOperands, {128, 48, 2, 4, 1})},
    {"tensors_across", MatMul("fp16", "fp32", "I = 128, J = 128, K = 200", "k,i", "k,j"),
     Tensors(kBothOperands, {128, 128, 1, 3, 1})},
    {"tensors_beyond_the_last_points",
     MatMul("bf16", "fp32", "I = 43, J = 24, K = 72", "i,k", "k,j"),
     Tensors(kBothOperands, {64, 64, 1, 4, 1})},
    {"tensors_of_few_points", MatMul("bf16", "fp32", "I = 9, J = 8, K = 40", "i,k", "j,k"),
     Tensors(kBothOperands, {64, 16, 1, 2, 1})},
    {"tensor_of_a", MatMul("fp16", "fp32", "I = 64, J = 22, K = 200", "i,k", "k,j"),
     Tensors(UnitOperands::kA, {64, 64, 1, 4, 1})},
    {"tensor_of_b", MatMul("fp16", "fp32", "I = 70, J = 32, K = 200", "k,i", "j,k"),
     Tensors(UnitOperands::kB, {128, 32, 2, 3, 1})},
    {"tensor_beside_computed",
     Computed("bf16", "bf16", "I = 70, J = 64, K = 200", "max(fp32(A), 0) * fp32(B)"),
     Tensors(UnitOperands::kB, {64, 64, 1, 4, 1, kNoOperand, UnitOperands::kA})},
    {"tensors_in_two_places", MatMul("bf16", "fp32", "I = 64, J = 32, K = 400", "i,k", "j,k"),
     Tensors(kBothOperands, {64, 32, 1, 2, 1})},
    {"tensors_in_parts", MatMul("bf16", "fp32", "I = 64, J = 16, K = 400", "i,k", "j,k"),
     Tensors(kBothOperands, {64, 16, 1, 3, 3})},
    {"tensors_in_a_cluster", MatMul("bf16", "fp32", "I = 64, J = 64, K = 400", "i,k", "j,k"),
     Tensors(kBothOperands, {64, 64, 1, 4, 2}), 1, kCluster},
    {"tensors_of_batches",
     "e<T = bf16 | B = 2, H = 3, I = 20, J = 16, K = 72> :=\n"
     "out_view<fp32>( C: (b,h,i,j,k) -> (b,h,i,j) ) o\n"
     "md_hom<B,H,I,J,K>( f, (++, ++, ++, ++, +) ) o\n"
     "inp_view<T,T>( A: (b,h,i,j,k) -> (b,i,h,k), B: (b,h,i,j,k) -> (h,b,j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     Tensors(kBothOperands, {64, 16, 1, 4, 1}, 2)},
    // Five dimensions of A: k, two of m, two of batches. Rows along the last of m only.
    {"tensors_of_five_dimensions",
     "e<T = fp16 | B = 2, H = 2, I = 2, P = 64, J = 16, K = 72> :=\n"
     "out_view<fp32>( C: (b,h,i,p,j,k) -> (b,h,i,p,j) ) o\n"
     "md_hom<B,H,I,P,J,K>( f, (++, ++, ++, ++, ++, +) ) o\n"
     "inp_view<T,T>( A: (b,h,i,p,j,k) -> (i,b,p,h,k), B: (b,h,i,p,j,k) -> (b,h,j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     Tensors(kBothOperands, {64, 16, 1, 4, 1})},
    {"tensors_of_two_sums",
     "e<T = fp16 | I = 40, J = 16, K = 3, L = 64> := out_view<fp32>( C: (i,j,k,l) -> (i,j) ) o\n"
     "md_hom<I,J,K,L>( f, (++, ++, +, +) ) o\n"
     "inp_view<T,T>( A: (i,j,k,l) -> (k,i,l), B: (i,j,k,l) -> (j,k,l) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     Tensors(kBothOperands, {64, 16, 1, 4, 1})},
    {"tensors_of_parts_of_buffers",
     "e<T = bf16 | I = 40, J = 16, K = 72> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o\n"
     "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
     "inp_view<T,T>( A[50,96]: (i,j,k) -> (i + 3, k + 8), B[40,80]: (i,j,k) -> (2*j + 1, k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     Tensors(kBothOperands, {64, 16, 1, 4, 1})},
    {"tensors_of_windows_of_one_point",
     "conv<T = fp16 | N = 2, P = 5, Q = 6, K = 24, C = 72> :=\n"
     "out_view<T>( y: (n,p,q,k,c) -> (n,p,q,k) ) o md_hom<N,P,Q,K,C>( f, (++, ++, ++, ++, +) ) o\n"
     "inp_view<T,T>( x: (n,p,q,k,c) -> (n,p,q,c), w: (n,p,q,k,c) -> (k,c) )\n"
     "where f(x, w) -> (a: fp32) { a = fp32(x) * fp32(w) }\n",
     Tensors(kBothOperands, {64, 32, 1, 4, 1})},
    {"tensor_of_the_weights_of_a_convolution",
     "conv<T = fp16 | N = 1, P = 7, Q = 9, K = 16, R = 3, S = 3, C = 8> :=\n"
     "out_view<T>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
     "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o\n"
     "inp_view<T,T>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
     "               w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
     "where f(x, w) -> (a: fp32) { a = fp32(x) * fp32(w) }\n",
     Tensors(UnitOperands::kB, {64, 16, 1, 4, 1})},
    {"tensors_of_packed_operands", MatMul("fp16", "fp32", "I = 67, J = 65, K = 129", "i,k", "k,j"),
     Tensors(kBothOperands, {64, 64, 1, 3, 1, UnitOperands::kBoth})},
    {"tensors_of_parts_of_singles", MatMul("fp32", "fp32", "I = 67, J = 65, K = 129", "i,k", "k,j"),
     Tensors(kBothOperands, {64, 48, 1, 3, 1, UnitOperands::kBoth})},
    {"tensors_of_bytes",
     MatMul("int8", "int32", "I = 70, J = 40, K = 208", "i,k", "j,k", "i,j", "int32"),
     Tensors(kBothOperands, {64, 48, 1, 3, 1})},
    {"tensors_of_fp8",
     MatMul("fp8e4m3", "fp32", "I = 70, J = 64, K = 528", "i,k", "j,k", "i,j", "bf16"),
     Tensors(kBothOperands, {128, 64, 2, 3, 1})},
    {"tensors_of_fp8_in_four_places",
     MatMul("fp8e4m3", "fp32", "I = 60, J = 90, K = 640", "i,k", "j,k", "i,j", "bf16"),
     Tensors(kBothOperands, {64, 32, 1, 4, 1}, 3)},
    {"tensors_in_turns", MatMul("bf16", "fp32", "I = 200, J = 128, K = 330", "k,i", "k,j"),
     Tensors(kBothOperands, {64, 64, 1, 4, 1}, 3), 2},
    {"tensors_in_turns_of_even_phases",
     MatMul("bf16", "fp32", "I = 200, J = 64, K = 512", "i,k", "k,j"),
     Tensors(kBothOperands, {64, 64, 1, 4, 1}, 4)},
    {"tensors_in_turns_of_two_places",
     MatMul("fp16", "fp32", "I = 130, J = 70, K = 328", "i,k", "j,k"),
     Tensors(kBothOperands, {64, 64, 1, 2, 1}, 4)},
    {"tensors_in_turns_with_all_copies_ahead",
     MatMul("bf16", "fp32", "I = 190, J = 128, K = 128", "i,k", "k,j"),
     Tensors(kBothOperands, {64, 64, 1, 4, 1}, 3)},
    {"tensor_in_turns_beside_copies",
     MatMul("bf16", "fp32", "I = 190, J = 70, K = 336", "i,k", "j,k"),
     Tensors(UnitOperands::kA, {64, 64, 1, 4, 1}, 3)},
    {"producer", MatMul("bf16", "fp32", "I = 128, J = 64, K = 520", "i,k", "k,j"),
     Producing({128, 64, 2, 3, 1})},
    {"producer_of_two_places", MatMul("fp16", "fp32", "I = 70, J = 48, K = 520", "i,k", "j,k"),
     Producing({64, 48, 1, 2, 1})},
    {"producer_of_all_stages", MatMul("fp16", "fp32", "I = 70, J = 48, K = 80", "i,k", "j,k"),
     Producing({64, 48, 1, 4, 1})},
    {"producer_in_parts", MatMul("bf16", "fp32", "I = 64, J = 16, K = 400", "i,k", "j,k"),
     Producing({64, 16, 1, 3, 3})},
    {"producer_in_turns", MatMul("bf16", "fp32", "I = 200, J = 128, K = 330", "k,i", "k,j"),
     Producing({64, 64, 1, 4, 1}, 3), 2},
    {"producer_of_groups_in_turns",
     MatMul("bf16", "fp32", "I = 250, J = 80, K = 264", "i,k", "j,k", "i,j", "T"),
     Producing({128, 48, 2, 2, 1}, 2)},
    // Of which 64 columns are stored at a time.
    {"producer_of_wide_tiles_in_turns",
     MatMul("fp16", "fp32", "I = 300, J = 136, K = 200", "i,k", "j,k", "i,j", "T"),
     Producing({256, 96, 4, 2, 1}, 2)},
    {"producer_of_batches_in_turns",
     "e<T = bf16 | B = 3, I = 20, J = 24, K = 200> := out_view<T>( C: (b,i,j,k) -> (b,i,j) ) o\n"
     "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o\n"
     "inp_view<T,T>( A: (b,i,j,k) -> (i,b,k), B: (b,i,j,k) -> (b,j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     Producing({64, 16, 1, 3, 1}, 4)},
    {"producer_of_fp8",
     MatMul("fp8e4m3", "fp32", "I = 70, J = 64, K = 784", "i,k", "j,k", "i,j", "bf16"),
     Producing({128, 64, 2, 3, 1})},
    {"producer_of_fp8_in_turns",
     MatMul("fp8e4m3", "fp32", "I = 60, J = 90, K = 640", "i,k", "j,k", "i,j", "bf16"),
     Producing({64, 32, 1, 4, 1}, 3)},
    {"producer_of_packed_operands", MatMul("fp32", "fp32", "I = 67, J = 65, K = 129", "i,k", "k,j"),
     Producing({64, 48, 1, 3, 1, UnitOperands::kBoth}, 2)},
    {"cluster_along_m", MatMul("bf16", "fp32", "I = 128, J = 64, K = 520", "i,k", "j,k"),
     InClusters(2, 1, {64, 64, 1, 3, 1})},
    {"cluster_along_n", MatMul("fp16", "fp32", "I = 70, J = 90, K = 520", "i,k", "j,k"),
     InClusters(1, 2, {128, 48, 2, 3, 1})},
    {"cluster_across", MatMul("bf16", "fp32", "I = 200, J = 104, K = 264", "k,i", "k,j"),
     InClusters(2, 1, {128, 128, 2, 2, 1})},
    {"cluster_across_in_parts_of_stages",
     MatMul("bf16", "fp32", "I = 128, J = 104, K = 264", "k,i", "k,j"),
     InClusters(2, 2, {64, 64, 1, 2, 1})},
    {"cluster_both_ways", MatMul("bf16", "fp32", "I = 200, J = 60, K = 264", "i,k", "j,k"),
     InClusters(2, 2, {64, 32, 1, 3, 1}), 2},
    {"producer_of_a_group", MatMul("bf16", "fp32", "I = 250, J = 70, K = 264", "i,k", "j,k"),
     ByAGroup(Producing({256, 48, 2, 3, 1}))},
    {"producer_of_part_of_a_block_across",
     MatMul("bf16", "fp32", "I = 64, J = 168, K = 200", "i,k", "k,j"),
     Producing({64, 96, 1, 3, 1})},
    {"cluster_of_a_group_in_turns",
     MatMul("bf16", "fp32", "I = 500, J = 168, K = 200", "i,k", "k,j", "i,j", "T"),
     ByAGroup(InClusters(2, 1, {128, 48, 2, 3, 1}, 2))},
    {"cluster_of_few_stages", MatMul("bf16", "fp32", "I = 120, J = 30, K = 80", "i,k", "j,k"),
     InClusters(2, 1, {64, 32, 1, 4, 1})},
    // Three tiles of whole points, and a fourth without any; both ways; and in turns.
    {"cluster_beyond_m", MatMul("bf16", "fp32", "I = 192, J = 64, K = 200", "i,k", "j,k"),
     InClusters(2, 1, {64, 64, 1, 3, 1})},
    {"cluster_beyond_both", MatMul("bf16", "fp32", "I = 190, J = 96, K = 200", "i,k", "k,j"),
     InClusters(2, 2, {64, 32, 1, 3, 1}), 2},
    {"cluster_of_four_beyond_m_in_turns",
     MatMul("bf16", "fp32", "I = 320, J = 64, K = 264", "i,k", "j,k", "i,j", "T"),
     InClusters(4, 1, {64, 32, 1, 3, 1}, 2)},
    {"cluster_in_parts", MatMul("bf16", "fp32", "I = 128, J = 16, K = 400", "i,k", "j,k"),
     InClusters(2, 1, {64, 16, 1, 3, 3})},
    {"cluster_in_turns",
     MatMul("bf16", "fp32", "I = 500, J = 96, K = 264", "i,k", "j,k", "i,j", "T"),
     InClusters(2, 1, {64, 48, 1, 3, 1}, 3), 4},
    {"cluster_in_turns_of_few_stages",
     MatMul("fp16", "fp32", "I = 100, J = 190, K = 120", "i,k", "j,k", "i,j", "T"),
     InClusters(1, 2, {64, 32, 1, 4, 1}, 2)},
    {"cluster_of_packed_operands", MatMul("fp16", "fp32", "I = 67, J = 65, K = 129", "i,k", "k,j"),
     InClusters(2, 1, {64, 128, 1, 3, 1, UnitOperands::kBoth})},
    {"cluster_of_batches",
     "e<T = bf16 | B = 3, I = 70, J = 24, K = 200> := out_view<T>( C: (b,i,j,k) -> (b,i,j) ) o\n"
     "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o\n"
     "inp_view<T,T>( A: (b,i,j,k) -> (i,b,k), B: (b,i,j,k) -> (b,j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     InClusters(2, 1, {64, 32, 1, 2, 1}, 2)},
    {"cluster_of_fp8",
     MatMul("fp8e4m3", "fp32", "I = 120, J = 64, K = 640", "i,k", "j,k", "i,j", "bf16"),
     InClusters(2, 1, {64, 64, 1, 3, 1})},
};

INSTANTIATE_TEST_SUITE_P(All, UnitTensors, ::testing::ValuesIn(kTensorCases),
                         [](const auto& one) { return one.param.name; });

// As source, and what launches pass.
TEST(UnitTensorSource, MatrixProduct) {
  const LowLevelExpression low_level = Lowered(
      {"golden", MatMul("bf16", "fp32", "I = 4096, J = 4096, K = 4096", "i,k", "k,j", "i,j", "T"),
       Tensors(kBothOperands, {128, 256, 2, 4, 1}, 4), 8});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("unit_matmul_tensors.cu", kernel->source);
  EXPECT_THAT(kernel->compile_options, Contains("--gpu-architecture=sm_90a"));
  EXPECT_THAT(kernel->compile_options, ::testing::Not(Contains(kTensorMapsOption)));
  ASSERT_THAT(kernel->launches, SizeIs(1));
  const TensorMap a{0, 0, 2, {4096, 4096}, {8192}, {64, 128}};
  const TensorMap b{1, 0, 2, {4096, 4096}, {8192}, {64, 64}};
  EXPECT_THAT(kernel->launches[0].tensor_maps, ElementsAre(a, b));
  EXPECT_THAT(
      kernel->header,
      HasSubstr("//     behind its pointers a tensor map: argument 1 + 0 bytes, elements of "
                "2 bytes: 4096 x 4096, strides of (8192) bytes, box 64 x 128, swizzle of "
                "128 bytes\n"));
  EXPECT_THAT(kernel->header, HasSubstr("compiles with -DMDH_TENSOR_MAPS."));
}

// The same with a warp that begins the copies.
TEST(UnitTensorSource, MatrixProductWithAProducer) {
  const LowLevelExpression low_level = Lowered(
      {"golden", MatMul("bf16", "fp32", "I = 4096, J = 4096, K = 4096", "i,k", "k,j", "i,j", "T"),
       Producing({128, 256, 2, 4, 1}, 4), 8});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("unit_matmul_producer.cu", kernel->source);
  ASSERT_THAT(kernel->launches, SizeIs(1));
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{128, 1, 1}, {288, 1, 1}}));
  // Four places, 128 columns of results, two times four barriers.
  EXPECT_EQ(kernel->launches[0].dynamic_shared_bytes, 4 * (128 + 256) * 128 + 128 * 256 + 64);
}

// By clusters of two: the source, and boxes of half of B's tile.
TEST(UnitTensorSource, MatrixProductInClusters) {
  const LowLevelExpression low_level = Lowered(
      {"golden", MatMul("bf16", "fp32", "I = 3000, J = 3000, K = 3000", "i,k", "j,k", "i,j", "T"),
       InClusters(2, 1, {128, 192, 2, 4, 1}, 3), 8});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("unit_matmul_cluster.cu", kernel->source);
  ASSERT_THAT(kernel->launches, SizeIs(1));
  EXPECT_EQ(kernel->launches[0].geometry.grid, (std::array<int64_t, 3>{128, 1, 1}));
  const TensorMap a{0, 0, 2, {3000, 3000}, {6000}, {64, 128}};
  const TensorMap b{1, 0, 2, {3000, 3000}, {6000}, {64, 96}};
  EXPECT_THAT(kernel->launches[0].tensor_maps, ElementsAre(a, b));
}

// As the loop program behind its passes: tiles of batches, two places, both roles.
TEST(UnitTensorSource, RolesAsText) {
  const LowLevelExpression low_level =
      Lowered({"golden",
               "e<T = bf16 | B = 3, I = 70, J = 24, K = 200> := out_view<T>( C: (b,i,j,k) -> "
               "(b,i,j) ) o\n"
               "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o\n"
               "inp_view<T,T>( A: (b,i,j,k) -> (i,b,k), B: (b,i,j,k) -> (b,j,k) )\n"
               "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
               Producing({64, 32, 1, 2, 1}, 3)});
  const Result<LoopProgram> lowered = BuildUnitProgram(low_level);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  ExpectGoldenFile("unit_producer.txt", ToText(Optimize(*lowered, {.unroll = 64})));
}

// The same by clusters of two along both, and a group that leaves its registers.
TEST(UnitTensorSource, ClustersAsText) {
  const LowLevelExpression low_level =
      Lowered({"golden", MatMul("bf16", "fp32", "I = 500, J = 168, K = 200", "i,k", "k,j"),
               ByAGroup(InClusters(2, 2, {128, 48, 2, 2, 1}))});
  const Result<LoopProgram> lowered = BuildUnitProgram(low_level);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  ExpectGoldenFile("unit_cluster.txt", ToText(Optimize(*lowered, {.unroll = 64})));
}

// Of scratch memory, by the stage behind the one that packs.
TEST(UnitTensorSource, OfPackedOperands) {
  const LowLevelExpression low_level =
      Lowered({"packed", MatMul("fp16", "fp32", "I = 67, J = 65, K = 129", "i,k", "k,j"),
               Tensors(kBothOperands, {64, 64, 1, 3, 1, UnitOperands::kBoth})});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ASSERT_THAT(kernel->launches, SizeIs(2));
  EXPECT_THAT(kernel->launches[0].tensor_maps, IsEmpty());
  // Inputs, the output, scratch memory: 67 rows of A of 136 elements and, behind them, 129 of
  // B, which lie along j, of 72.
  const TensorMap a{3, 0, 2, {136, 67}, {272}, {64, 64}};
  const TensorMap b{3, 18240, 2, {72, 129}, {144}, {64, 64}};
  EXPECT_THAT(kernel->launches[1].tensor_maps, ElementsAre(a, b));
}

}  // namespace
}  // namespace mdh::unit_program_test
