// Parameters that rules give.
#include "codegen/default_parameters.h"

#include <gtest/gtest.h>

#include "core/text/parser.h"

namespace mdh {
namespace {

// Found by the fuzzer of requests: an extent was doubled beyond what 64 bits hold.
TEST(DefaultParametersTest, ADimensionMayBeAsLongAsNumbersAllow) {
  const int64_t longest = int64_t{3} << 61;
  const Result<Expression> expression = ParseExpression(
      "m<T = fp32 | I = 65536, K = 1> := out_view<T>( C: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) )"
      " o inp_view<T>( A: (i,k) -> (i) ) where f(A) -> C { C = A }",
      {{"K", std::to_string(longest)}});
  ASSERT_TRUE(expression.ok()) << expression.status();
  DeviceDescription device;
  device.name = "test";
  device.cores = 2;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.compiler = "gcc";
  for (const SystemModel& model : {OpenMpModel(), OpenMpSimdRegistersModel()}) {
    const TuningParameters parameters =
        DefaultParameters(*expression, model, device, NumericsPolicy::kReassociate);
    for (const std::vector<int64_t>& tile : parameters.tile) {
      EXPECT_GE(tile[1], 1);
      EXPECT_LE(tile[1], longest);
    }
  }
}

}  // namespace
}  // namespace mdh
