#include "core/decomposition/fuse_dimensions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/decomposition/low_level_expression.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/error_message.h"
#include "tests/random_expression.h"
#include "tests/sanitized.h"

namespace mdh::fuse_dimensions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Rows of three channels, scaled.
constexpr char kScale[] = R"(
scale :=
  out_view<fp32>( y: (i,j,c) -> (i,j,c) ) o
  md_hom<5,7,3>( f, (++, ++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j,c) -> (i,j,c), a: (i,j,c) -> (0) )
where f(x, a) -> y { y = a * x }
)";

constexpr char kConvolution[] = R"(
mcc :=
  out_view<fp32>( out: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o
  md_hom<2,3,4,5,3,3,6>( f, (++, ++, ++, ++, +, +, +) ) o
  inp_view<fp32,fp32>( image:  (n,p,q,k,r,s,c) -> (n, 2*p + r, 2*q + s, c),
                       filter: (n,p,q,k,r,s,c) -> (k, r, s, c) )
where f(image, filter) -> out { out = image * filter }
)";

constexpr char kContraction[] = R"(
ccsdt :=
  out_view<fp32>( C: (a,b,c,d,e,f,g) -> (a,b,c,d,e,f) ) o
  md_hom<3,2,2,2,4,2,5>( m, (++, ++, ++, ++, ++, ++, +) ) o
  inp_view<fp32,fp32>( A: (a,b,c,d,e,f,g) -> (g,d,a,b), B: (a,b,c,d,e,f,g) -> (e,f,g,c) )
where m(A, B) -> C { C = A * B }
)";

std::vector<int64_t> Sizes(const Expression& expression) {
  std::vector<int64_t> sizes;
  for (const Dimension& dimension : expression.dimensions()) sizes.push_back(dimension.size);
  return sizes;
}

// The same inputs give the same bits.
void ExpectSameResults(const Expression& expression, const FusedDimensions& groups) {
  const Result<Expression> fused = FuseDimensions(expression, groups);
  ASSERT_TRUE(fused.ok()) << fused.status();
  Rng rng(1);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
  EXPECT_EQ(Interpret(*fused, inputs).value(), Interpret(expression, inputs).value())
      << ToText(expression) << ToText(*fused);
}

TEST(FuseDimensionsTest, ElementsAreOneRow) {
  const Expression scale = *ParseExpression(kScale);
  const FusedDimensions groups = ContiguousDimensions(scale, /*plain=*/true, /*reductions=*/true);
  EXPECT_THAT(groups, ElementsAre(ElementsAre(0, 1, 2)));
  const Expression fused = *FuseDimensions(scale, groups);
  EXPECT_THAT(Sizes(fused), ElementsAre(1, 1, 105));
  EXPECT_THAT(fused.outputs()[0].extents, ElementsAre(1, 1, 105));
  EXPECT_EQ(fused.outputs()[0].size_bytes(), scale.outputs()[0].size_bytes());
  ExpectSameResults(scale, groups);
  ExpectSameResults(scale, {{0, 1}});
  ExpectSameResults(scale, {{1, 2}});
}

// A row of the filter lies beside as much of a row of the image, which windows share.
TEST(FuseDimensionsTest, RowsOfWindows) {
  const Expression mcc = *ParseExpression(kConvolution);
  EXPECT_THAT(ContiguousDimensions(mcc, true, true), IsEmpty());
  EXPECT_THAT(ContiguousDimensions(mcc, false, false), IsEmpty());
  const FusedDimensions groups = ContiguousDimensions(mcc, false, true);
  EXPECT_THAT(groups, ElementsAre(ElementsAre(5, 6)));
  const Expression fused = *FuseDimensions(mcc, groups);
  EXPECT_THAT(Sizes(fused), ElementsAre(2, 3, 4, 5, 3, 1, 18));
  EXPECT_THAT(fused.inputs()[0].extents, ElementsAre(2, 7, 1, 54));
  EXPECT_THAT(fused.inputs()[0].accesses[0].indices[3].coefficients,
              ElementsAre(0, 0, 12, 0, 0, 0, 1));
  ExpectSameResults(mcc, groups);
}

TEST(FuseDimensionsTest, SeveralGroups) {
  const Expression ccsdt = *ParseExpression(kContraction);
  const FusedDimensions groups = ContiguousDimensions(ccsdt, true, true);
  EXPECT_THAT(groups, ElementsAre(ElementsAre(0, 1), ElementsAre(4, 5)));
  EXPECT_THAT(Sizes(*FuseDimensions(ccsdt, groups)), ElementsAre(1, 6, 2, 2, 1, 8, 5));
  ExpectSameResults(ccsdt, groups);
}

// Strided, reversed, with room between rows: whatever is found gives the same results.
TEST(FuseDimensionsTest, RandomExpressions) {
  int found = 0;
  for (int seed = 0; seed < TriedCases(2000); ++seed) {
    Rng rng(seed);
    const Expression expression = RandomExpression(rng, {.max_points = 256});
    const FusedDimensions groups = ContiguousDimensions(expression, seed % 2 == 0, true);
    if (groups.empty()) continue;
    ++found;
    ExpectSameResults(expression, groups);
    if (HasFailure()) return;
  }
  EXPECT_GE(found, TriedCases(30));
}

TEST(FuseDimensionsTest, RowsApartAreNotOne) {
  const auto errors = [](const std::string& text, const FusedDimensions& groups) {
    return ErrorMessage(FuseDimensions(*ParseExpression(text), groups));
  };
  EXPECT_THAT(errors(kConvolution, {{2, 3}}),
              HasSubstr("in buffer image, q does not go on where k ends"));
  EXPECT_THAT(errors(kConvolution, {{6, 5}}), HasSubstr("does not go on"));
  EXPECT_THAT(errors(kConvolution, {{3, 4}}),
              HasSubstr("r and k are combined by different operators"));
  EXPECT_THAT(errors(kScale, {{0}}), HasSubstr("a group has fewer than two dimensions"));
  EXPECT_THAT(errors(kScale, {{0, 3}}), HasSubstr("there is no dimension 3, only 0..2"));
  EXPECT_THAT(errors(kScale, {{0, 1}, {1, 2}}), HasSubstr("dimension j is there twice"));
}

TEST(FuseDimensionsTest, IndicesBoundariesAndPrefixSums) {
  const auto error = [](const std::string& text) {
    const Expression expression = *ParseExpression(text);
    EXPECT_THAT(ContiguousDimensions(expression, false, true), IsEmpty());
    return ErrorMessage(FuseDimensions(expression, {{0, 1}}));
  };
  EXPECT_THAT(error("e := out_view<int64>( y: (i,j) -> (i,j) ) o md_hom<4,4>( f, (++, ++) ) o "
                    "inp_view<int64>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x * i }"),
              HasSubstr("the function takes the index of i"));
  EXPECT_THAT(error("e := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<4,4>( f, (++, ++) ) o "
                    "inp_view<fp32>( x[4,4] else 0: (i,j) -> (i,j+1) ) where f(x) -> y { y = x }"),
              HasSubstr("buffer x has a boundary"));
  EXPECT_THAT(error("e := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<4,4>( f, (++, ps(+)) ) o "
                    "inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x }"),
              HasSubstr("j has prefix sums"));
}

TEST(FuseDimensionsTest, PoliciesThatOrderReductions) {
  const Expression mcc = *ParseExpression(kConvolution);
  TuningParameters parameters;
  parameters.fused = {{5, 6}};
  EXPECT_TRUE(WithFusedDimensions(mcc, parameters).ok());
  parameters.numerics = NumericsPolicy::kExactOrder;
  EXPECT_THAT(ErrorMessage(WithFusedDimensions(mcc, parameters)),
              HasSubstr("numerics=exact fixes in which order values along s are combined"));
}

// Its parameters are those of one point.
TEST(FuseDimensionsTest, NothingIsFusedOfAnEmptyExpression) {
  const Expression empty = *ParseExpression(
      "copy := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<0,4>( f, (++, ++) ) o "
      "inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x }");
  const std::string text = "model=OpenMP; tile=1|1|1|1; order=0|0|0|0; inputs=in_place:0:-1";
  const TuningParameters fused = *ParseTuningParameters(text + "; fused=0,1");
  EXPECT_THAT(ErrorMessage(Validate(empty, OpenMpModel(), {}, fused)),
              HasSubstr("fused: an empty dimension leaves nothing to fuse"));
  EXPECT_FALSE(Lower(empty, OpenMpModel(), {}, fused).ok());
}

TEST(FuseDimensionsTest, ExtentsThereAndBack) {
  const std::vector<int64_t> sizes = {4, 8, 3};
  const FusedDimensions groups = {{0, 1}};
  EXPECT_THAT(FusedExtents({2, 8, 3}, groups, sizes), ElementsAre(1, 16, 3));
  EXPECT_THAT(FusedExtents({2, 4, 1}, groups, sizes), ElementsAre(1, 4, 1));
  EXPECT_THAT(SeparateExtents({1, 16, 3}, groups, sizes), ElementsAre(2, 8, 3));
  EXPECT_THAT(SeparateExtents({1, 12, 3}, groups, sizes), ElementsAre(2, 8, 3));
  EXPECT_THAT(SeparateExtents({1, 4, 3}, groups, sizes), ElementsAre(1, 4, 3));
  EXPECT_THAT(SeparateExtents({1, 32, 3}, groups, sizes), ElementsAre(4, 8, 3));
}

}  // namespace
}  // namespace mdh::fuse_dimensions_test
