// The cases of the paper's evaluation, reduced, half of them in each run, on the backends of this
// machine: cases_check runs them in full. And what configurations from rules promise.
#include "codegen/choose/block_cost.h"
#include "codegen/choose/block_design.h"
#include "codegen/choose/default_block_parameters.h"
#include "core/decomposition/nest_shape.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cases/case_check.h"
#include "tests/drawn.h"
#include "tests/error_message.h"
#include "tests/property/block_pairs.h"
#include "tests/random_expression.h"
#include "tests/source_path.h"

namespace mdh::cases_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

CaseOptions Reduced() { return {.folder = SourcePath(), .max_points = 20'000, .samples = 300}; }

void CheckAllOn(Backend kind, size_t count) {
  BackendOptions backend;
  backend.backend = kind;
  if (const auto name = FindBackend(backend); !name.ok()) GTEST_SKIP() << name.status().message();
  const TemporaryDirectory cache;
  setenv("POCL_CACHE_DIR", cache.path().c_str(), 1);
  const auto cases = LoadCheckedCases(SourcePath(), kind, "*");
  ASSERT_TRUE(cases.ok()) << cases.status().message();
  EXPECT_THAT(*cases, SizeIs(count));
  const Status status = CheckCases(
      backend, Drawn(*cases, (count + 1) / 2), Reduced(), 2,
      [](const CheckedCase& one, const std::string& wrong) { EXPECT_EQ(wrong, "") << one.id; });
  EXPECT_EQ(ErrorMessage(status), "no error");
}

TEST(CasesTest, AreRightOnOpenMp) { CheckAllOn(Backend::kOpenMp, 47); }
TEST(CasesTest, AreRightOnOpenCl) { CheckAllOn(Backend::kOpenCl, 46); }
TEST(CasesTest, AreRightOnCuda) { CheckAllOn(Backend::kCuda, 48); }

TEST(CasesTest, SaysThatNoCaseMatches) {
  EXPECT_THAT(ErrorMessage(LoadCheckedCases(SourcePath(), Backend::kCuda, "no*")),
              HasSubstr("no case matches 'no*'"));
  EXPECT_THAT(ErrorMessage(LoadCheckedCases("/nowhere", Backend::kCuda, "*")),
              HasSubstr("/nowhere/tests/cases/cases.json cannot be read"));
}

Expression Shipped(const std::string& name, const Bindings& bindings) {
  return *ParseExpression(
      *ReadTextFile(absl::StrCat(SourcePath("client/expressions/"), name, ".mdh")), bindings);
}

const DeviceDescription& Gpu() {
  static const auto* gpu = new DeviceDescription(*DescribeCudaArchitecture(90));
  return *gpu;
}

TEST(DefaultBlockParametersTest, AreValidForEveryExpression) {
  Rng rng(5);
  for (int n = 0; n < 400; ++n) {
    const Expression expression = RandomExpression(rng);
    const SystemModel model = n % 2 == 0 ? CudaModel() : CudaWarpModel();
    const NumericsPolicy numerics = n % 5 == 0   ? NumericsPolicy::kExactOrder
                                    : n % 5 == 1 ? NumericsPolicy::kFixedTree
                                                 : NumericsPolicy::kReassociate;
    const TuningParameters p = DefaultBlockParameters(expression, model, Gpu(), numerics);
    EXPECT_EQ(ErrorMessage(Validate(expression, model, Gpu(), p)), "no error") << ToText(p);
  }
}

TEST(DefaultBlockParametersTest, MatrixProductHasTilesInSharedMemoryAndRegisters) {
  const Expression e = Shipped("matmul", {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const SystemModel model = CudaModel();
  const TuningParameters p = DefaultBlockParameters(e, model, Gpu());
  const NestShape shape(e, model, p);
  EXPECT_GE(shape.ThreadsPerBlock(), 128);
  EXPECT_GE(shape.AccumulatorElements(), 16);
  EXPECT_GE(shape.CopyPlaces(0).size() + shape.CopyPlaces(1).size(), 1u);
  EXPECT_GT(shape.SharedBytes(), 0);
  // No partial results in memory.
  EXPECT_TRUE(shape.Slots() == 1 || p.combine_blocks == CombineBlocks::kAtomics);
}

TEST(DefaultBlockParametersTest, ReductionsToFewResultsUseThreadsAndBlocks) {
  const SystemModel model = CudaModel();
  const Expression dot = Shipped("dot", {{"K", "16777216"}});
  const TuningParameters dot_parameters = DefaultBlockParameters(dot, model, Gpu());
  const NestShape of_dot(dot, model, dot_parameters);
  EXPECT_GE(of_dot.SharedReductionThreads(), 256);
  EXPECT_GE(of_dot.Slots(), 100);
  const Expression matvec = Shipped("matvec", {{"I", "4096"}, {"K", "4096"}});
  const TuningParameters matvec_parameters = DefaultBlockParameters(matvec, model, Gpu());
  const NestShape of_matvec(matvec, model, matvec_parameters);
  // Threads combine what they have, and those of a warp read whole sectors of rows.
  const int64_t threads = of_matvec.SharedReductionThreads() * of_matvec.ShuffledThreads();
  EXPECT_GE(threads, 16);
  const int64_t rows = of_matvec.Block()[0] == threads ? 1 : of_matvec.Block()[0];
  const int layer_of_threads = model.LayerWith(LayerRole::kThreads);
  const int64_t of_thread = matvec_parameters.tile[layer_of_threads][1];
  EXPECT_GE(Gpu().blocks.warp_size / rows * of_thread * int64_t{sizeof(float)}, 32);
}

// As z, which has room for 64 threads, the reduction would have too few.
TEST(DefaultBlockParametersTest, DimensionsWithoutThreadsComeLast) {
  const Expression e = Shipped("matmul", {{"I", "1"}, {"J", "1000"}, {"K", "2048"}});
  BlockDesign design;
  design.cuts = {{.threads = 1}, {.threads = 2, .vector = 4}, {.threads = 256, .vector = 8}};
  design.copies = {BlockDesign::Copy::kNone, BlockDesign::Copy::kNone};
  design.lane_dimension = 1;
  const TuningParameters p = ToParameters(e, CudaModel(), Gpu(), design);
  EXPECT_EQ(ErrorMessage(Validate(e, CudaModel(), Gpu(), p)), "no error") << ToText(p);
  EXPECT_TRUE(BlockCostModel(e, Gpu()).Estimate(design).fits);
  design.cuts[0].threads = 2;
  const Expression rows = Shipped("matmul", {{"I", "2"}, {"J", "1000"}, {"K", "2048"}});
  EXPECT_FALSE(BlockCostModel(rows, Gpu()).Estimate(design).fits);
}

}  // namespace
}  // namespace mdh::cases_test
