// Parts of blocks that begin earlier instead of reaching beyond the end of a dimension.
#include "codegen/lower/levels/overlapping_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "codegen/lower/nest_program.h"
#include "codegen/program/loop_program_text.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"

namespace mdh::overlapping_parts_test {
namespace {

// Of C[I, J] = A[I, K] B[K, J], with tiles of 32 x 16 points in blocks of 8 x 8 threads.
struct Case {
  int64_t i, j, k;
  std::string reduced = "30";  // points of k of a block
  std::string combine = "";
};

LowLevelExpression LowLevel(const Case& c) {
  const Result<Expression> expression = ParseExpression(absl::Substitute(R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<$0,$1,$2>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(a, b) -> c { c = a * b })",
                                                                         c.i, c.j, c.k));
  EXPECT_TRUE(expression.ok()) << expression.status();
  const Result<TuningParameters> parsed = ParseTuningParameters(absl::Substitute(
      "model=CUDA; tile=32,16,$0|32,16,$0|4,2,$0|4,2,1|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
      "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
      "results=0,0,0|0,0,0|2,2,2|2,2,2|2,2,2$1",
      c.reduced, c.combine));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const Result<LowLevelExpression> low = Lower(*expression, *SystemModelNamed(parsed->system_model),
                                               *DescribeCudaArchitecture(90), *parsed);
  EXPECT_TRUE(low.ok()) << low.status();
  return *low;
}

std::vector<int> DimensionsOf(const LowLevelExpression& low) {
  std::vector<int> dimensions;
  for (const int n : OverlappingParts(low.shape())) {
    dimensions.push_back(low.shape().levels()[n].level.dimension);
  }
  return dimensions;
}

std::string ProgramOf(const LowLevelExpression& low) {
  const Result<LoopProgram> program = BuildNestProgram(low, *DescribeCudaArchitecture(90));
  EXPECT_TRUE(program.ok()) << program.status();
  return ToText(*program);
}

using Dimensions = std::vector<int>;

TEST(OverlappingParts, AreThoseOfKeptDimensions) {
  EXPECT_EQ(DimensionsOf(LowLevel({120, 60, 30})), (Dimensions{0, 1}));
  EXPECT_EQ(DimensionsOf(LowLevel({128, 64, 30})), Dimensions{}) << "all parts are whole";
  EXPECT_EQ(DimensionsOf(LowLevel({103, 60, 30})), (Dimensions{0, 1}));
  EXPECT_EQ(DimensionsOf(LowLevel({100, 60, 30})), Dimensions{1}) << "28 of 100 points twice";
  EXPECT_EQ(DimensionsOf(LowLevel({32, 60, 30})), Dimensions{1}) << "one part";
}

TEST(OverlappingParts, KeepNeighboursAlignedWhereRowsAre) {
  EXPECT_EQ(DimensionsOf(LowLevel({120, 60, 30})), (Dimensions{0, 1})) << "4 elements";
  EXPECT_EQ(DimensionsOf(LowLevel({120, 61, 30})), (Dimensions{0, 1})) << "no row is aligned";
  EXPECT_EQ(DimensionsOf(LowLevel({120, 62, 30})), (Dimensions{0, 1})) << "2 elements";
}

// Points that move along a row and from row to row, too.
TEST(OverlappingParts, KeepNeighboursAlignedAlongDiagonals) {
  const auto dimensions_with = [](int64_t row) {
    const Result<Expression> expression = ParseExpression(absl::Substitute(R"(
diagonal :=
  out_view<fp32>( y: (i,j) -> (i,j) ) o
  md_hom<32,7>( f, (++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j) -> (i,j), w[9,$0]: (i,j) -> (j + 1, j + 2) )
where f(a, b) -> c { c = a * b })",
                                                                           row));
    const auto parameters = ParseTuningParameters(
        "model=CUDA; tile=32,2|32,2|1,2|1,2|1,1; order=0,1|0,1|0,1|0,1|0,1; "
        "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc");
    const Result<LowLevelExpression> low =
        Lower(*expression, CudaModel(), *DescribeCudaArchitecture(90), *parameters);
    EXPECT_TRUE(low.ok()) << low.status();
    return DimensionsOf(*low);
  };
  EXPECT_EQ(dimensions_with(10), Dimensions{}) << "2 elements are neighbours, and 5 is odd";
  EXPECT_EQ(dimensions_with(11), Dimensions{1}) << "no row is aligned";
}

TEST(OverlappingParts, BeginWhereAllPointsExistAndNeedNoGuards) {
  const std::string program = ProgramOf(LowLevel({120, 60, 30}));
  EXPECT_NE(program.find("i_first = mdh_min(i_blk * 32, 88)"), std::string::npos) << program;
  EXPECT_NE(program.find("j_first = mdh_min(j_blk * 16, 44)"), std::string::npos) << program;
  EXPECT_EQ(program.find("do not exist"), std::string::npos) << program;
  EXPECT_EQ(program.find("if "), std::string::npos) << program;
}

TEST(OverlappingParts, AreNotThereWhereResultsAreCarried) {
  const Result<LoopProgram> program = BuildNestProgram(
      LowLevel({120, 60, 30}), *DescribeCudaArchitecture(90), StoredResults::kCarried);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(ToText(*program).find("_first"), std::string::npos);
}

TEST(OverlappingParts, ElsewhereLoadsReadSomeElementInsteadOfWaitingBehindBranches) {
  const std::string program = ProgramOf(LowLevel({33, 60, 30}));
  const size_t partial = program.find("Some points of the block's part do not exist.");
  const size_t stores = program.find("Re-composition: to the outputs.", partial);
  ASSERT_NE(partial, std::string::npos) << program;
  ASSERT_NE(stores, std::string::npos) << program;
  const std::string computation = program.substr(partial, stores - partial);
  EXPECT_NE(computation.find(", 32)"), std::string::npos) << computation;
  EXPECT_EQ(computation.find("if "), std::string::npos) << computation;
  EXPECT_NE(program.find("if ", stores), std::string::npos) << "only stores are guarded";
}

TEST(OverlappingParts, AddWhatTwoOfThemHaveOnce) {
  const std::string added = ProgramOf(LowLevel({120, 60, 30, "15", "; combine=atomics"}));
  EXPECT_NE(added.find("i_first = mdh_min(i_blk * 32, 88)"), std::string::npos) << added;
  EXPECT_EQ(added.find("do not exist"), std::string::npos) << added;
  const size_t apart = added.find("if i_blk * 32 < 89 && j_blk * 16 < 45");
  const size_t others = added.find("else", apart);
  ASSERT_NE(apart, std::string::npos) << added;
  ASSERT_NE(others, std::string::npos) << added;
  EXPECT_EQ(added.substr(apart, others - apart).find("i_blk * 32 < i_first"), std::string::npos);
  EXPECT_NE(added.find("i_blk * 32 < i_first", others), std::string::npos) << added;
  EXPECT_NE(added.find("j_blk * 16 < j_first", others), std::string::npos) << added;
}

}  // namespace
}  // namespace mdh::overlapping_parts_test
