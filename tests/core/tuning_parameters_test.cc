#include "core/tuning_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/low_level_expression.h"
#include "core/text/parser.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;

constexpr char kMatMul[] = R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<100,64,30>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(a, b) -> c { c = a * b }
)";

constexpr char kParameters[] =
    "model=OpenMP+SIMD+RM; tile=48,64,30|48,32,30|12,32,10|6,16,2|1,8,1|1,1,1; "
    "order=1,0,2|2,1,0|0,1,2|1,0,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|1:1,0:1; "
    "accumulate=registers; chains=one; compiler=gcc";

class TuningParametersTest : public ::testing::Test {
 protected:
  TuningParametersTest()
      : expression_(*ParseExpression(kMatMul)),
        model_(OpenMpSimdRegistersModel()),
        parameters_(*ParseTuningParameters(kParameters)) {
    device_.simd_bytes = 32;
    device_.cores = 2;
  }
  std::string Error(const TuningParameters& p) {
    const Status status = Validate(expression_, model_, device_, p);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  Expression expression_;
  SystemModel model_;
  DeviceDescription device_;
  TuningParameters parameters_;
};

TEST_F(TuningParametersTest, TextReadsBack) {
  EXPECT_EQ(ToText(parameters_), kParameters);
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
}

TEST_F(TuningParametersTest, NumericsPolicyIsPrintedUnlessItIsTheDefault) {
  parameters_.numerics = NumericsPolicy::kFixedTree;
  EXPECT_EQ(ToText(parameters_), std::string(kParameters) + "; numerics=tree");
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_THAT(
      ParseTuningParameters(std::string(kParameters) + "; numerics=fast").status().message(),
      HasSubstr("no numerics policy 'fast'; the policies are reassociate, exact and tree"));
}

TEST_F(TuningParametersTest, ExactOrderNeedsWholeReductionsOnOneCore) {
  parameters_.numerics = NumericsPolicy::kExactOrder;
  EXPECT_TRUE(Validate(expression_, model_, device_, parameters_).ok());
  parameters_.tile[0][2] = 20;
  parameters_.tile[1][2] = 20;
  EXPECT_THAT(Error(parameters_), HasSubstr("parts of 30 points on the core layer in dimension k"));
  parameters_ = *ParseTuningParameters(kParameters);
  parameters_.numerics = NumericsPolicy::kExactOrder;
  parameters_.independent_accumulators = true;
  EXPECT_THAT(Error(parameters_), HasSubstr("does not allow chains=independent"));
}

TEST_F(TuningParametersTest, BadTextIsNamed) {
  EXPECT_THAT(ParseTuningParameters("model=x").status().message(), HasSubstr("'tile' is missing"));
  EXPECT_THAT(ParseTuningParameters("model=x; model=y").status().message(),
              HasSubstr("'model' is given twice"));
  std::string text = kParameters;
  EXPECT_THAT(ParseTuningParameters(text.replace(text.find("48"), 2, "4x")).status().message(),
              HasSubstr("'4x' is no integer"));
  text = kParameters;
  EXPECT_THAT(ParseTuningParameters(text.replace(text.find("=one"), 4, "=two")).status().message(),
              HasSubstr("chains is 'two'"));
}

TEST_F(TuningParametersTest, AcceptsSizesThatDoNotDivide) {
  EXPECT_TRUE(Validate(expression_, model_, device_, parameters_).ok());
}

TEST_F(TuningParametersTest, RejectsEachViolationByName) {
  TuningParameters p = parameters_;
  p.tile[2][0] = 18;  // does not divide 48
  EXPECT_THAT(Error(p),
              HasSubstr("tile of layer L2 in dimension i is 18, which does not divide 48"));
  p = parameters_;
  p.tile[0][0] = 101;
  EXPECT_THAT(Error(p), HasSubstr("not in 1..100"));
  p = parameters_;
  p.tile[5][0] = 2;
  EXPECT_THAT(Error(p), HasSubstr("layer SIMD"));
  p = parameters_;
  p.tile[4] = {2, 8, 1};
  EXPECT_THAT(Error(p), HasSubstr("lanes on more than one dimension"));
  p = parameters_;
  SetOrderOfLayer(p.phase, 1, {0, 0, 1});
  EXPECT_THAT(Error(p), HasSubstr("order of layer MM is no permutation"));
  p = parameters_;
  p.inputs[1].layout = {1, 1};
  EXPECT_THAT(Error(p), HasSubstr("layout of B"));
  p = parameters_;
  p.inputs[1].stage_layer = 3;
  EXPECT_THAT(Error(p), HasSubstr("no memory layer around the register tile"));
  p = parameters_;
  p.inputs[0].strip_dimension = 0;
  EXPECT_THAT(Error(p), HasSubstr("strips of A need a packed copy"));
  p = parameters_;
  p.tile = {{100, 64, 30}, {100, 64, 30}, {100, 64, 30}, {100, 64, 30}, {1, 1, 1}, {1, 1, 1}};
  EXPECT_THAT(Error(p), HasSubstr("unrolls to"));
  p = parameters_;
  p.system_model = "CUDA";
  EXPECT_THAT(Error(p), HasSubstr("for model CUDA"));
}

TEST_F(TuningParametersTest, TableHasOneRowPerMdhLevel) {
  const auto low = Lower(expression_, model_, device_, parameters_);
  ASSERT_TRUE(low.ok()) << low.status();
  EXPECT_EQ(low->operators().size(), 18u);
  EXPECT_EQ(low->at({0, 1}).parts, 1);  // 64 / 64
  EXPECT_EQ(low->at({0, 0}).parts, 3);  // 100 / 48
  const std::string table = low->ToTable();
  EXPECT_THAT(table, HasSubstr("3 | (1,2)  COR,1"));  // dimension i comes second
  EXPECT_THAT(
      table,
      HasSubstr("(De/re)-composition of matmul (i = 100, j = 64, k = 30) for OpenMP+SIMD+RM"));
}

}  // namespace
}  // namespace mdh
