// Constraints of numerics policies, with their messages.
#include <gtest/gtest.h>

#include "core/decomposition/constraints.h"
#include "tests/core/decomposition/validate_fixture.h"

namespace mdh::validate_numerics_test {
namespace {

using NumericsTest = ValidateTest;

TEST_F(NumericsTest, PartsAreThoseOfThePolicy) {
  const std::string exact = "; numerics=exact";
  EXPECT_EQ(ErrorOf(kParameters + exact), "no error");
  EXPECT_EQ(ErrorOf(AlongK("CUDA", false, "0,0,0|0,0,0|0,0,0|2,2,2|2,2,2") + exact),
            "numerics=exact needs parts of 40 points on the core layer in dimension k, not 10");
  EXPECT_EQ(ErrorOf(AlongK("CUDA", true, "0,0,0|2,2,2|2,2,2|2,2,2|2,2,2") + exact),
            "numerics=exact: 4 parts at level (3,3) run in parallel along dimension k, 1 is "
            "allowed");
  const std::string swapped =
      "; assign=(1,1)(1,2)(2,3)|(2,1)(2,2)(1,3)|(3,1)(3,2)(3,3)|(4,1)(4,2)(4,3)|(5,1)(5,2)(5,3)";
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,2|1,1,5|16,16,1|4,3,4|1,1,1", swapped + exact)),
            "numerics=exact needs parts of 40 points on the core layer in dimension k, not smaller "
            "ones of several levels");
}

TEST_F(NumericsTest, FixedTreesHaveBlocksOfTheirParts) {
  expression_ = MatMul(16, 16, 1000);
  const std::string results = "; results=0,0,0|2,2,2|2,2,2|2,2,2|2,2,2; numerics=tree";
  EXPECT_EQ(FixedTreePart(expression_, 2), 64);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,16|1,1,1|16,16,1|1,1,64|1,1,1", results)), "no error");
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,8|1,1,1|16,16,1|1,1,125|1,1,1", results)),
            "numerics=tree needs parts of 64 points on the core layer in dimension k, not 125");
}

TEST_F(NumericsTest, LoopsRunInOrder) {
  parameters_.numerics = NumericsPolicy::kExactOrder;
  EXPECT_EQ(Error([](auto& p) {
              std::swap(p.phase.order[8], p.phase.order[11]);
              p.inputs.assign(2, {});
            }),
            "numerics=exact: the loop of level (2,3) runs inside of that of level (4,3), not in "
            "lexicographic order");
  EXPECT_EQ(Error([](auto& p) {
              p.outputs[0].regions[1] = {0, 0, 0};
            }),
            "numerics=exact: the loop of level (2,3) at place 9 runs outside of place 10, where "
            "results accumulate (R3)");
}

}  // namespace
}  // namespace mdh::validate_numerics_test
