#include "codegen/print/c_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A step's own name of its output may be that of an array of the pipeline.
TEST(CUnitTest, StagesDeclareWhatTheirStatementsUseNotWhatCommentsName) {
  LoopProgram program;
  program.scratch = {{"sums", ScalarType::kFloat32, 16, false},
                     {"rows", ScalarType::kFloat32, 16, false}};
  const LoopValue sum = MakeLoad("sums", Index(3), {ScalarType::kFloat32, 1}, 1);
  program.stages = {{"Add up.",
                     {{Comment{"What no index function of rows reaches."}},
                      {StoreElements{"y", Index(0), sum, 1}}}}};
  CUnitOptions options;
  options.entry = "mdh_sum";
  options.arguments = {{"y", ScalarType::kFloat32, 1, /*is_output=*/true}};
  const Kernel kernel = PrintCKernel(program, options);
  EXPECT_THAT(kernel.source, HasSubstr("sums = (float*)(scratch + 0)"));
  EXPECT_THAT(kernel.source, HasSubstr("// What no index function of rows reaches."));
  EXPECT_THAT(kernel.source, Not(HasSubstr("rows = (float*)")));
}

}  // namespace
}  // namespace mdh
