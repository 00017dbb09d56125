// The optimisations of appendix F on the plan of a loop nest, before and after.
#include "codegen/lower/levels/nest_plan.h"

#include <gtest/gtest.h>

#include "core/text/parser.h"

namespace mdh::nest_plan_test {
namespace {

constexpr char kMatMul[] = R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<100,64,30>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(a, b) -> c { c = a * b }
)";
constexpr char kStridedDot[] = R"(
dot :=
  out_view<fp32>( s: (k) -> () ) o
  md_hom<1000>( f, (+) ) o
  inp_view<fp32,fp32>( x: (k) -> (2*k+1), y: (k) -> (k) )
where f(a, b) -> c { c = a * b }
)";
// Tiles of 32 x 32 x 8 points: A and B in shared memory from the threads' levels on, A transposed
// from the level SHR on.
constexpr char kShared[] =
    "model=CUDA; tile=32,32,30|32,32,8|4,4,8|4,4,1|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
    "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
    "memory=0,0,0|0,0,0|1,1,1|1,1,1|1,1,1@0.1,0.1,0.1|0.1,0.1,0.1|0.1,0.1,0.1|1.0,1.0,1.0|"
    "1.0,1.0,1.0/0,0,0|0,0,0|1,1,1|1,1,1|2,2,2; results=0,0,0|2,2,2|2,2,2|2,2,2|2,2,2";

LowLevelExpression LowLevel(const std::string& text, const std::string& parameters) {
  const Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  const Result<TuningParameters> parsed = ParseTuningParameters(parameters);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const Result<LowLevelExpression> low = Lower(*expression, *SystemModelNamed(parsed->system_model),
                                               *DescribeCudaArchitecture(90), *parsed);
  EXPECT_TRUE(low.ok()) << low.status();
  return *low;
}

TEST(NestPlanTest, LiterallyEveryPhaseIsANestAndEveryLevelABuffer) {
  const LowLevelExpression low = LowLevel(kMatMul, kShared);
  const NestPlan plan = BuildNestPlan(low);
  EXPECT_EQ(plan.nests.size(), 3u);
  EXPECT_EQ(plan.copies.size(), 2u * 9u);  // levels (3,1) to (5,3) of both inputs
  for (const NestCopy& copy : plan.copies) {
    EXPECT_EQ(copy.extents, low.expression().inputs()[copy.input].extents);
    EXPECT_EQ(copy.iterated.size(), 3u);
    EXPECT_FALSE(copy.uses_all_threads);
  }
}

TEST(NestPlanTest, FuseLoopsMakesOneNestOfPhasesThatCoincide) {
  const LowLevelExpression low = LowLevel(kMatMul, kShared);
  const NestPlan plan = FuseLoops(BuildNestPlan(low));
  ASSERT_EQ(plan.nests.size(), 1u);
  EXPECT_EQ(plan.nests[0].phases.size(), 3u);
  EXPECT_EQ(plan.ToString(low).substr(0, plan.ToString(low).find('\n')),
            "nest of de-composition, scalar, re-composition: i BLK=4 j BLK=2 k DEV=4 i THR=8 "
            "j THR=8 k SHR=8 i REG=4 j REG=4");
}

TEST(NestPlanTest, FuseLoopsKeepsPhasesThatAreSetApart) {
  const std::string apart =
      "; recompose_order=0,1,2|0,1,2|0,1,2|2,0,1|0,1,2";  // k outermost on the level SHR
  const LowLevelExpression low = LowLevel(kMatMul, std::string(kShared) + apart);
  const NestPlan plan = FuseLoops(BuildNestPlan(low));
  ASSERT_EQ(plan.nests.size(), 2u);
  EXPECT_EQ(plan.nests[0].phases,
            (std::vector<PhaseKind>{PhaseKind::kDecomposition, PhaseKind::kScalar}));
  EXPECT_EQ(plan.nests[1].phases, std::vector<PhaseKind>{PhaseKind::kRecomposition});
}

TEST(NestPlanTest, EliminateBuffersKeepsOneBufferPerRegionAndLayout) {
  const LowLevelExpression low = LowLevel(kMatMul, kShared);
  const NestPlan plan = EliminateBuffers(BuildNestPlan(low));
  ASSERT_EQ(plan.copies.size(), 4u);
  EXPECT_EQ(plan.copies[0].place, 6);   // A, as it is
  EXPECT_EQ(plan.copies[1].place, 9);   // A, transposed
  EXPECT_EQ(plan.copies[2].place, 6);   // B in shared memory
  EXPECT_EQ(plan.copies[3].place, 12);  // B in registers
  EXPECT_FALSE(plan.copies[3].is_shared);
}

TEST(NestPlanTest, ReduceBufferSizesKeepsWhatIsReadFromThePlaceOn) {
  const LowLevelExpression low = LowLevel(kMatMul, kShared);
  const NestPlan plan = ReduceBufferSizes(low, EliminateBuffers(BuildNestPlan(low)));
  EXPECT_EQ(plan.copies[0].extents, (std::vector<int64_t>{32, 8}));
  EXPECT_EQ(plan.copies[2].extents, (std::vector<int64_t>{8, 32}));
  EXPECT_EQ(plan.copies[3].extents, (std::vector<int64_t>{1, 4}));  // of one thread
}

TEST(NestPlanTest, ReduceBufferSizesLeavesOutFactorsAndOffsets) {
  const LowLevelExpression low =
      LowLevel(kStridedDot,
               "model=CUDA; tile=500|100|100|1|1; order=0|0|0|0|0; "
               "inputs=in_place:0:-1|in_place:0:-1; accumulate=registers; chains=one; "
               "compiler=gcc; memory=0|0|1|1|1/0|0|1|1|1; results=0|2|2|2|2");
  const NestPlan plan = ReduceBufferSizes(low, EliminateBuffers(BuildNestPlan(low)));
  ASSERT_EQ(plan.copies.size(), 2u);
  EXPECT_EQ(plan.copies[0].extents, std::vector<int64_t>{100});
  EXPECT_EQ(plan.copies[0].steps, std::vector<int64_t>{2});
  EXPECT_EQ(plan.copies[1].extents, std::vector<int64_t>{100});
  EXPECT_EQ(plan.copies[1].steps, std::vector<int64_t>{1});
}

TEST(NestPlanTest, MinimizeMemoryOperationsSkipsDimensionsThatAnInputDoesNotUse) {
  const LowLevelExpression low = LowLevel(kMatMul, kShared);
  const NestPlan plan = MinimizeMemoryOperations(low, EliminateBuffers(BuildNestPlan(low)));
  EXPECT_EQ(plan.copies[0].iterated, (std::vector<int>{0, 2}));
  EXPECT_EQ(plan.copies[2].iterated, (std::vector<int>{1, 2}));
  EXPECT_TRUE(plan.copies[0].uses_all_threads);
  EXPECT_FALSE(plan.copies[3].uses_all_threads);
}

TEST(NestPlanTest, OptimizedPlanPrints) {
  const LowLevelExpression low = LowLevel(kMatMul, kShared);
  EXPECT_EQ(OptimizedNestPlan(low).ToString(low),
            "nest of de-composition, scalar, re-composition: i BLK=4 j BLK=2 k DEV=4 i THR=8 "
            "j THR=8 k SHR=8 i REG=4 j REG=4\n"
            "A_sm[32][8] in front of place 6, steps 1,1, over i k, by all threads\n"
            "A_sm[32][8] in front of place 9, steps 1,1, over i k, by all threads\n"
            "B_sm[8][32] in front of place 6, steps 1,1, over j k, by all threads\n"
            "B_rm[1][4] in front of place 12, steps 1,1, over j k\n");
}

}  // namespace
}  // namespace mdh::nest_plan_test
