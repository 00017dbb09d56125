// Blocks with several tiles of a contraction on matrix units (UnitParameters::turns).
#include <gtest/gtest.h>

#include "tests/codegen/lower/units/unit_case.h"
#include "tests/sanitized.h"

namespace mdh::unit_program_test {
namespace {

UnitParameters InTurns(int turns, UnitParameters unit) {
  unit.turns = turns;
  return unit;
}

class UnitTurns : public ::testing::TestWithParam<Case> {};

TEST_P(UnitTurns, ComputeWhatTheInterpreterDoes) {
  if (!IsTried()) GTEST_SKIP() << kNotTried;
  ExpectWhatTheInterpreterComputes(GetParam());
}

const Case kTurnCases[] = {
    {"turns", MatMul("bf16", "fp32", "I = 200, J = 128, K = 330", "i,k", "k,j"),
     InTurns(3, {64, 64, 1, 4, 1}), 2},
    {"turns_of_all", MatMul("fp16", "fp32", "I = 130, J = 70, K = 128", "i,k", "j,k"),
     InTurns(4, {128, 64, 2, 2, 1})},
    {"turns_with_all_copies_ahead",
     MatMul("bf16", "fp32", "I = 190, J = 128, K = 128", "i,k", "k,j"),
     InTurns(2, {64, 64, 1, 4, 1})},
    {"turns_of_single_stages", MatMul("bf16", "fp32", "I = 64, J = 100, K = 40", "i,k", "j,k"),
     InTurns(7, {64, 16, 1, 3, 1})},
    {"turns_of_sums",
     MatMul("int8", "int32", "I = 70, J = 40, K = 300", "i,k", "j,k", "i,j", "int32"),
     InTurns(2, {64, 32, 1, 3, 1})},
    {"turns_computed",
     Computed("bf16", "bf16", "I = 70, J = 128, K = 140", "max(fp32(A), 0) * fp32(B)"),
     InTurns(3, {64, 64, 1, 3, 1, kNoOperand, UnitOperands::kA})},
    {"turns_packed", MatMul("fp16", "fp32", "I = 67, J = 65, K = 129", "i,k", "k,j"),
     InTurns(2, {64, 64, 1, 3, 1, UnitOperands::kBoth})},
    {"turns_of_batches_with_boundaries",
     "conv<T = fp16 | N = 2, P = 7, Q = 6, K = 24, R = 3, S = 3, C = 8> :=\n"
     "out_view<T>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
     "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +), store s<T>( b: (n,p,q,k,r,s,c) -> (k) "
     ") ) o\n"
     "inp_view<T,T>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
     "               w:                 (n,p,q,k,r,s,c) -> (n,k,r,s,c) )\n"
     "where f(x, w) -> (a: fp32) { a = fp32(x) * fp32(w) }, s(a, b) -> y { y = T(max(a + "
     "fp32(b), 0)) }\n",
     InTurns(2, {64, 16, 1, 4, 1})},
    {"turns_of_fp8_by_halves",
     MatMul("fp8e4m3", "fp32", "I = 60, J = 90, K = 520", "i,k", "j,k", "i,j", "bf16"),
     InTurns(3, {64, 32, 1, 4, 1})},
    {"turns_of_fp8",
     MatMul("fp8e4m3", "fp32", "I = 64, J = 40, K = 300", "i,k", "j,k", "i,j", "fp32"),
     InTurns(2, {64, 16, 1, 3, 1})},
};

INSTANTIATE_TEST_SUITE_P(All, UnitTurns, ::testing::ValuesIn(kTurnCases),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace mdh::unit_program_test
