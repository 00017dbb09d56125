// The matrix multiplication that tests of schedules are about.
#pragma once

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"

namespace mdh {

// C (I x J) of A (I x K) and B (K x J).
inline Expression MatMulOf(int64_t i, int64_t j, int64_t k) {
  return *ParseExpression(
      absl::StrCat("matmul := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<", i, ",", j, ",", k,
                   ">( f, (++, ++, +) ) o inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) "
                   "-> (k,j) ) where f(a, b) -> c { c = a * b }"),
      {}, "matmul");
}

}  // namespace mdh
