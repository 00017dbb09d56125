// Contractions on matrix units, executed thread by thread (unit_case.h), and as source.
#include "codegen/lower/units/unit_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "codegen/backends/backends.h"
#include "codegen/passes/passes.h"
#include "codegen/program/loop_program_text.h"
#include "tests/codegen/golden_file.h"
#include "tests/codegen/lower/units/unit_case.h"
#include "tests/sanitized.h"

namespace mdh::unit_program_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class UnitProgram : public ::testing::TestWithParam<Case> {};

TEST_P(UnitProgram, ComputesWhatTheInterpreterDoes) {
  if (!IsTried()) GTEST_SKIP() << kNotTried;
  ExpectWhatTheInterpreterComputes(GetParam());
}

const Case kCases[] = {
    {"across", MatMul("bf16", "fp32", "I = 64, J = 64, K = 128", "i,k", "k,j"), {64, 64, 1, 4, 1}},
    {"along", MatMul("fp16", "fp32", "I = 64, J = 16, K = 320", "i,k", "j,k"), {64, 16, 1, 4, 1}},
    {"a_across",
     MatMul("fp16", "fp32", "I = 128, J = 32, K = 64", "k,i", "j,k"),
     {128, 32, 1, 3, 1}},
    {"groups",
     MatMul("bf16", "fp32", "I = 128, J = 32, K = 128", "i,k", "j,k"),
     {128, 32, 2, 3, 1}},
    {"tiles",
     MatMul("bf16", "fp32", "I = 192, J = 48, K = 64", "i,k", "j,k"),
     {64, 16, 1, 5, 1},
     3},
    {"odd", MatMul("bf16", "fp32", "I = 40, J = 24, K = 72", "i,k", "k,j"), {64, 64, 1, 4, 1}},
    {"pairs", MatMul("fp16", "fp32", "I = 30, J = 22, K = 70", "i,k", "k,j"), {64, 64, 1, 4, 1}},
    {"singles", MatMul("fp16", "fp32", "I = 29, J = 19, K = 67", "i,k", "k,j"), {64, 64, 1, 4, 1}},
    {"transposed",
     MatMul("bf16", "fp32", "I = 24, J = 40, K = 64", "i,k", "k,j", "j,i"),
     {64, 64, 1, 4, 1}},
    {"halves", MatMul("fp16", "fp16", "I = 64, J = 16, K = 64", "i,k", "j,k"), {64, 16, 1, 4, 1}},
    {"parts", MatMul("bf16", "fp32", "I = 64, J = 16, K = 300", "i,k", "j,k"), {64, 16, 1, 3, 3}},
    // Sums of parts are no numbers of the type of results, sums of all are rounded once.
    {"parts_of_narrow_results",
     MatMul("bf16", "bf16", "I = 64, J = 16, K = 1400", "i,k", "j,k"),
     {64, 16, 1, 3, 3}},
    {"two_places",
     MatMul("bf16", "fp32", "I = 64, J = 32, K = 320", "i,k", "j,k"),
     {64, 32, 1, 2, 1}},
    {"two_places_in_parts",
     MatMul("fp16", "fp32", "I = 64, J = 16, K = 430", "i,k", "j,k"),
     {64, 16, 1, 2, 2}},
    {"more_results_than_operands",
     MatMul("bf16", "fp32", "I = 128, J = 96, K = 16", "i,k", "j,k"),
     {128, 96, 1, 2, 1}},
    {"more_sums_than_operands",
     MatMul("bf16", "fp32", "I = 64, J = 64, K = 128", "i,k", "j,k"),
     {64, 64, 1, 2, 2},
     1,
     kCluster},
    {"single_results_of_groups",
     MatMul("bf16", "fp32", "I = 150, J = 35, K = 16", "i,k", "j,k"),
     {192, 48, 3, 2, 1}},
    {"pairs_of_results",
     MatMul("bf16", "fp32", "I = 64, J = 38, K = 32", "i,k", "j,k"),
     {64, 48, 1, 2, 1}},
    {"cluster",
     MatMul("bf16", "fp32", "I = 64, J = 32, K = 300", "i,k", "j,k"),
     {64, 32, 1, 3, 2},
     1,
     kCluster},
    {"cluster_of_tiles",
     MatMul("fp16", "fp16", "I = 70, J = 60, K = 430", "i,k", "k,j"),
     {64, 64, 1, 4, 4},
     1,
     kCluster},
    {"cluster_of_groups",
     "e<T = bf16 | B = 2, I = 70, J = 24, K = 300> := out_view<fp32>( C: (b,i,j,k) -> (b,i,j) ) o\n"
     "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o\n"
     "inp_view<T,T>( A: (b,i,j,k) -> (b,i,k), B: (b,i,j,k) -> (b,j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     {128, 48, 2, 4, 3},
     2,
     kCluster},
    {"packed",
     MatMul("fp16", "fp32", "I = 29, J = 19, K = 67", "i,k", "k,j"),
     {64, 64, 1, 4, 1, UnitOperands::kBoth}},
    {"packed_batches",
     "e<T = bf16 | B = 2, I = 20, J = 17, K = 70> := out_view<fp32>( C: (b,i,j,k) -> (b,i,j) ) o\n"
     "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o\n"
     "inp_view<T,T>( A: (b,i,j,k) -> (k,b,i), B: (b,i,j,k) -> (b,j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     {64, 16, 1, 4, 1, UnitOperands::kBoth}},
    {"packed_convolution",
     "e<T = bf16 | N = 2, P = 5, Q = 6, K = 16, R = 3, S = 3, C = 3> :=\n"
     "out_view<T>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
     "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o\n"
     "inp_view<T,T>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
     "               w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
     "where f(x, w) -> (a: fp32) { a = fp32(x) * fp32(w) }\n",
     {64, 16, 1, 4, 1, UnitOperands::kA}},
    {"batches",
     "e<T = bf16 | B = 2, I = 20, J = 16, K = 64> := out_view<fp32>( C: (b,i,j,k) -> (b,i,j) ) o\n"
     "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o\n"
     "inp_view<T,T>( A: (b,i,j,k) -> (b,i,k), B: (b,i,j,k) -> (b,j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     {64, 16, 1, 4, 1}},
    {"dense",
     "e<T = bf16 | I = 50, J = 24, K = 64> := out_view<T>( y: (i,j,k) -> (i,j) ) o\n"
     "md_hom<I,J,K>( f, (++, ++, +), store s<T>( bias: (i,j,k) -> (j) ) ) o\n"
     "inp_view<T,T>( x: (i,j,k) -> (i,k), w: (i,j,k) -> (j,k) )\n"
     "where f(x, w) -> (c: fp32) { c = fp32(x) * fp32(w) },\n"
     "      s(c, bias) -> y { y = T(max(c + fp32(bias), 0)) }\n",
     {64, 32, 1, 4, 1}},
    {"dense_parts",
     "e<T = bf16 | I = 50, J = 24, K = 200> := out_view<T>( y: (i,j,k) -> (i,j) ) o\n"
     "md_hom<I,J,K>( f, (++, ++, +), store s<T>( bias: (i,j,k) -> (j) ) ) o\n"
     "inp_view<T,T>( x: (i,j,k) -> (i,k), w: (i,j,k) -> (j,k) )\n"
     "where f(x, w) -> (c: fp32) { c = fp32(x) * fp32(w) },\n"
     "      s(c, bias) -> y { y = T(max(c + fp32(bias), 0)) }\n",
     {64, 32, 1, 4, 2}},
    {"dense_cluster",
     "e<T = bf16 | I = 50, J = 40, K = 200> := out_view<T>( y: (i,j,k) -> (i,j) ) o\n"
     "md_hom<I,J,K>( f, (++, ++, +), store s<T>( bias: (i,j,k) -> (j) ) ) o\n"
     "inp_view<T,T>( x: (i,j,k) -> (i,k), w: (i,j,k) -> (j,k) )\n"
     "where f(x, w) -> (c: fp32) { c = fp32(x) * fp32(w) },\n"
     "      s(c, bias) -> y { y = T(max(c + fp32(bias), 0)) }\n",
     {64, 64, 1, 4, 2},
     1,
     kCluster},
    {"convolution",
     "e<T = bf16 | N = 1, P = 7, Q = 9, K = 16, R = 3, S = 3, C = 8> :=\n"
     "out_view<T>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
     "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o\n"
     "inp_view<T,T>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
     "               w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
     "where f(x, w) -> (a: fp32) { a = fp32(x) * fp32(w) }\n",
     {64, 16, 1, 4, 1}},
    {"doubles", MatMul("fp64", "fp64", "I = 32, J = 32, K = 48", "i,k", "k,j"),
     Warps(32, 32, {1, 2, 16, 4})},
    {"doubles_across", MatMul("fp64", "fp64", "I = 64, J = 16, K = 80", "k,i", "j,k"),
     Warps(32, 16, {2, 1, 16, 4}, /*stages=*/2)},
    {"doubles_narrow", MatMul("fp64", "fp64", "I = 32, J = 16, K = 32", "k,i", "k,j"),
     Warps(16, 16, {1, 2, 16, 4}, /*stages=*/3)},
    {"doubles_of_eight", MatMul("fp64", "fp64", "I = 32, J = 16, K = 48", "k,i", "j,k"),
     Warps(32, 16, {1, 1, 16, 8}, /*stages=*/3)},
    {"doubles_of_eight_rows", MatMul("fp64", "fp64", "I = 48, J = 24, K = 48", "i,k", "j,k"),
     Warps(48, 24, {3, 1, 8, 4}, /*stages=*/3)},
    {"doubles_odd", MatMul("fp64", "fp64", "I = 29, J = 19, K = 37", "i,k", "k,j"),
     Warps(32, 32, {2, 1, 16, 4}, /*stages=*/4)},
    {"doubles_packed", MatMul("fp64", "fp64", "I = 29, J = 19, K = 37", "i,k", "k,j"),
     Warps(32, 32, {2, 1, 16, 4}, /*stages=*/4, /*parts=*/1, UnitOperands::kBoth)},
    {"doubles_in_parts", MatMul("fp64", "fp64", "I = 32, J = 16, K = 100", "i,k", "j,k"),
     Warps(32, 16, {2, 1, 16, 4}, /*stages=*/3, /*parts=*/3)},
    {"doubles_stored",
     "e<T = fp64 | I = 20, J = 24, K = 32> := out_view<fp32>( y: (i,j,k) -> (i,j) ) o\n"
     "md_hom<I,J,K>( f, (++, ++, +), store s<fp64>( bias: (i,j,k) -> (j) ) ) o\n"
     "inp_view<fp64,fp64>( x: (i,j,k) -> (i,k), w: (i,j,k) -> (j,k) )\n"
     "where f(x, w) -> (c: fp64) { c = x * w },\n"
     "      s(c, bias) -> y { y = fp32(max(c + bias, 0)) }\n",
     Warps(32, 32, {1, 2, 16, 4})},
    {"doubles_convolution",
     "e<T = fp64 | N = 1, P = 5, Q = 6, K = 16, R = 3, S = 3, C = 4> :=\n"
     "out_view<fp64>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
     "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o\n"
     "inp_view<fp64,fp64>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
     "                     w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
     "where f(x, w) -> (a: fp64) { a = x * w }\n",
     Warps(32, 16, {2, 1, 16, 4})},
    {"halves_of_warps", MatMul("bf16", "fp32", "I = 64, J = 64, K = 128", "i,k", "k,j"),
     Warps(64, 64, {2, 2, 16, 16}, /*stages=*/3)},
    {"halves_of_warps_across", MatMul("fp16", "fp32", "I = 64, J = 16, K = 128", "k,i", "j,k"),
     Warps(64, 16, {2, 1, 16, 16}, /*stages=*/2)},
    {"halves_of_warps_narrow", MatMul("fp16", "fp32", "I = 48, J = 40, K = 80", "i,k", "j,k"),
     Warps(32, 24, {2, 1, 16, 16}, /*stages=*/3)},
    {"halves_of_warps_odd", MatMul("bf16", "fp32", "I = 29, J = 19, K = 67", "i,k", "k,j"),
     Warps(32, 64, {1, 2, 16, 16}, /*stages=*/3)},
    {"halves_of_warps_in_parts", MatMul("bf16", "fp32", "I = 32, J = 16, K = 300", "i,k", "j,k"),
     Warps(32, 16, {2, 1, 16, 16}, /*stages=*/3, /*parts=*/3)},
    {"bytes", MatMul("int8", "int32", "I = 32, J = 32, K = 256", "i,k", "j,k", "i,j", "int32"),
     Warps(32, 32, {2, 1, 16, 32}, /*stages=*/3)},
    {"bytes_without_sign",
     MatMul("uint8", "int32", "I = 32, J = 16, K = 128", "i,k", "j,k", "i,j", "int32"),
     Warps(32, 16, {2, 1, 16, 32}, /*stages=*/2)},
    {"bytes_in_pairs",
     MatMul("int8", "int32", "I = 22, J = 18, K = 130", "i,k", "j,k", "i,j", "int32"),
     Warps(32, 24, {2, 1, 16, 32}, /*stages=*/2)},
    {"bytes_odd", MatMul("int8", "int32", "I = 21, J = 19, K = 150", "i,k", "j,k", "i,j", "int32"),
     Warps(32, 24, {2, 1, 16, 32}, /*stages=*/2)},
    {"bytes_packed",
     MatMul("int8", "int32", "I = 21, J = 19, K = 150", "k,i", "k,j", "i,j", "int32"),
     Warps(32, 24, {2, 1, 16, 32}, /*stages=*/2, /*parts=*/2, UnitOperands::kBoth)},
    {"bytes_of_groups",
     MatMul("int8", "int32", "I = 70, J = 40, K = 200", "i,k", "j,k", "i,j", "int32"),
     {64, 48, 1, 3, 1}},
    {"bytes_of_groups_in_clusters",
     MatMul("uint8", "int32", "I = 64, J = 32, K = 390", "i,k", "k,j", "i,j", "int32"),
     {64, 32, 1, 2, 2, UnitOperands::kB},
     1,
     kCluster},
    {"bytes_turned",
     MatMul("int8", "int32", "I = 21, J = 19, K = 150", "k,i", "k,j", "i,j", "int32"),
     {64, 32, 1, 3, 1, kNoOperand, UnitOperands::kBoth}},
    {"bytes_turned_for_warps",
     MatMul("int8", "int32", "I = 32, J = 19, K = 150", "i,k", "k,j", "i,j", "int32"),
     Computing(UnitOperands::kB, Warps(32, 24, {2, 1, 16, 32}, /*stages=*/2))},
    {"computed",
     Computed("bf16", "bf16", "I = 70, J = 64, K = 140", "max(fp32(A), 0) * fp32(B)"),
     {64, 64, 1, 4, 1, kNoOperand, UnitOperands::kA}},
    {"computed_across",
     Computed("fp16", "fp16", "I = 64, J = 40, K = 70", "fp32(A) * -max(fp32(B), 0)"),
     {64, 64, 1, 3, 1, UnitOperands::kA, UnitOperands::kB}},
    {"computed_and_packed",
     Computed("fp16", "fp16", "I = 29, J = 19, K = 67", "max(fp32(A), 0) * max(fp32(B), 0)"),
     {64, 64, 1, 4, 1, UnitOperands::kBoth}},
    {"masked",
     Computed("bf16", "bf16", "I = 70, J = 24, K = 70", "(k <= i ? fp32(A) : 0) * fp32(B)", "j,k"),
     {128, 32, 2, 4, 1, kNoOperand, UnitOperands::kA}},
    {"mixed",
     Computed("int8", "bf16", "I = 64, J = 24, K = 128", "fp32(A) * fp32(B)", "j,k"),
     {64, 32, 1, 4, 2, kNoOperand, UnitOperands::kA}},
    {"mixed_for_warps", Computed("fp16", "fp8e5m2", "I = 30, J = 24, K = 80", "fp32(A) * fp32(B)"),
     Computing(UnitOperands::kB, Warps(32, 64, {1, 2, 16, 16}, /*stages=*/3))},
    {"boundary_of_one",
     "e<T = bf16 | I = 40, J = 24, K = 70> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o\n"
     "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
     "inp_view<T,T>( A[40,64] else 1: (i,j,k) -> (i,k - 3), B: (i,j,k) -> (j,k) )\n"
     "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
     {64, 32, 1, 4, 1, kNoOperand, UnitOperands::kA}},
    {"computed_convolution",
     "e<T = bf16 | N = 2, P = 5, Q = 6, K = 16, R = 3, S = 3, C = 8> :=\n"
     "out_view<fp32>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
     "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o\n"
     "inp_view<T,int8>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
     "                  w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
     "where f(x, w) -> (a: fp32) { a = max(fp32(x), -0.5) * fp32(w) }\n",
     {64, 16, 1, 4, 1, kNoOperand, UnitOperands::kBoth}},
    {"mttkrp",
     "e<T = bf16 | I = 70, J = 24, K = 6, L = 12> := out_view<T>( M: (i,j,k,l) -> (i,j) ) o\n"
     "md_hom<I,J,K,L>( f, (++, ++, +, +) ) o\n"
     "inp_view<T,T,T>( X: (i,j,k,l) -> (i,k,l), B: (i,j,k,l) -> (k,j), C: (i,j,k,l) -> (l,j) )\n"
     "where f(X, B, C) -> M { M = X * B * C }\n",
     {64, 64, 1, 3, 1, kNoOperand, UnitOperands::kB}},
    {"mttkrp_of_singles",
     "e<T = fp32 | I = 40, J = 24, K = 6, L = 12> := out_view<T>( M: (i,j,k,l) -> (i,j) ) o\n"
     "md_hom<I,J,K,L>( f, (++, ++, +, +) ) o\n"
     "inp_view<T,T,T>( X: (i,j,k,l) -> (i,k,l), B: (i,j,k,l) -> (k,j), C: (i,j,k,l) -> (l,j) )\n"
     "where f(X, B, C) -> M { M = X * B * C }\n",
     {64, 32, 1, 3, 1, UnitOperands::kA, UnitOperands::kB}},
    {"singles_on_the_way",
     MatMul("fp32", "fp32", "I = 70, J = 40, K = 70", "i,k", "k,j"),
     {64, 48, 1, 4, 1, kNoOperand, UnitOperands::kBoth}},
    {"fp8",
     MatMul("fp8e4m3", "fp32", "I = 64, J = 32, K = 300", "i,k", "j,k", "i,j", "fp32"),
     {64, 32, 1, 3, 1}},
    {"fp8_to_halves",
     MatMul("fp8e4m3", "fp32", "I = 70, J = 64, K = 256", "i,k", "j,k", "i,j", "bf16"),
     {128, 64, 2, 3, 1}},
    {"fp8_turned",
     MatMul("fp8e5m2", "fp32", "I = 40, J = 19, K = 400", "i,k", "k,j", "i,j", "fp32"),
     {128, 32, 2, 3, 2, kNoOperand, UnitOperands::kB}},
    {"fp8_by_halves_of_columns",
     MatMul("fp8e4m3", "fp32", "I = 60, J = 30, K = 520", "i,k", "j,k", "i,j", "bf16"),
     {64, 32, 1, 4, 1}},
    {"fp8_by_halves_in_two_stages",
     MatMul("fp8e5m2", "fp32", "I = 20, J = 32, K = 400", "i,k", "j,k", "i,j", "fp32"),
     {64, 32, 1, 2, 1}},
    {"fp8_by_halves_of_rows_in_a_cluster",
     MatMul("fp8e4m3", "fp32", "I = 128, J = 32, K = 500", "i,k", "k,j", "i,j", "fp32"),
     {128, 32, 1, 3, 2, kNoOperand, UnitOperands::kB},
     1,
     kCluster},
    {"fp8_by_halves_in_one_stage",
     MatMul("fp8e4m3", "fp32", "I = 64, J = 30, K = 70", "i,k", "j,k", "i,j", "fp32"),
     {64, 32, 1, 4, 1}},
    {"fp8_of_warps",
     MatMul("fp8e4m3", "fp32", "I = 32, J = 16, K = 300", "i,k", "j,k", "i,j", "fp32"),
     Warps(32, 16, {2, 1, 16, 32}, /*stages=*/3)},
    {"fp8_as_halves",
     Computed("fp8e4m3", "int8", "I = 40, J = 24, K = 70", "fp32(A) * fp32(B)"),
     {64, 64, 1, 3, 1, kNoOperand, UnitOperands::kBoth}},
};

// As source: the pipeline of copies and multiplications, and results through shared memory.
TEST(UnitSource, MatrixProduct) {
  const LowLevelExpression low_level = Lowered(
      {"golden",
       "matmul<T = bf16 | I = 4096, J = 4096, K = 4096> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
       "md_hom<I,J,K>( f, (++, ++, +) ) o inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) "
       ")\n"
       "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
       {128, 256, 2, 4, 1},
       8});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("unit_matmul.cu", kernel->source);
  EXPECT_THAT(kernel->compile_options, Contains("--gpu-architecture=sm_90a"));
  EXPECT_THAT(kernel->header, HasSubstr("which needs --gpu-architecture=sm_90a"));
  ASSERT_THAT(kernel->launches, SizeIs(1));
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{32 * 16, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(kernel->launches[0].dynamic_shared_bytes, 4 * (128 + 256) * 128);
}

// The same with fragments in registers.
TEST(UnitSource, MatrixProductOfDoubles) {
  const LowLevelExpression low_level =
      Lowered({"golden", MatMul("fp64", "fp64", "I = 1024, J = 1024, K = 1024", "i,k", "k,j"),
               Warps(64, 128, {2, 4, 16, 4}), 8});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("warp_unit_matmul.cu", kernel->source);
  EXPECT_THAT(kernel->compile_options, Not(Contains("--gpu-architecture=sm_90a")));
  EXPECT_THAT(kernel->header,
              HasSubstr("Matrix units of warps need compute capability 9.0 or later."));
  ASSERT_THAT(kernel->launches, SizeIs(1));
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{16 * 8, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(kernel->launches[0].dynamic_shared_bytes, 4 * (64 + 128) * 128);
}

// For devices without units of groups: matrices to registers, and back to shared memory.
TEST(UnitSource, MatrixProductOfHalvesByWarps) {
  const LowLevelExpression low_level =
      Lowered({"golden", MatMul("bf16", "fp32", "I = 4096, J = 4096, K = 4096", "i,k", "k,j"),
               Warps(128, 128, {2, 2, 16, 16}, /*stages=*/3), 8});
  const Result<Kernel> kernel = GenerateBlockKernel(low_level, *DescribeCudaArchitecture(80));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("warp_unit_halves.cu", kernel->source);
  EXPECT_THAT(kernel->header,
              HasSubstr("Matrix units of warps need compute capability 8.0 or later."));
}

// Boundaries, a store function and parts of k, as the loop program behind its passes.
TEST(UnitSource, ConvolutionInParts) {
  const LowLevelExpression low_level = Lowered(
      {"golden",
       "conv<T = fp16 | N = 2, P = 14, Q = 14, K = 96, R = 3, S = 3, C = 64> :=\n"
       "out_view<T>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
       "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +), store s<T>( b: (n,p,q,k,r,s,c) -> (k) "
       ") ) o\n"
       "inp_view<T,T>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
       "               w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
       "where f(x, w) -> (a: fp32) { a = fp32(x) * fp32(w) }, s(a, b) -> y { y = T(max(a + "
       "fp32(b), 0)) }\n",
       {64, 128, 1, 4, 2}});
  const Result<LoopProgram> lowered = BuildUnitProgram(low_level);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  ExpectGoldenFile("unit_convolution.txt", ToText(Optimize(*lowered, {.unroll = 64})));
}

INSTANTIATE_TEST_SUITE_P(All, UnitProgram, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace mdh::unit_program_test
