// How blocks that share a reduction may combine their results, with the messages where they may
// not.
#include <gtest/gtest.h>

#include "core/decomposition/constraints.h"
#include "tests/core/decomposition/validate_fixture.h"

namespace mdh::validate_block_combination_test {
namespace {

using BlockCombinationTest = ValidateTest;

std::string Atomics(const std::string& text) { return text + "; combine=atomics"; }

// What `combine` makes of rows, stored as `stored`.
Expression RowsOf(const std::string& type, const std::string& stored, const std::string& combine) {
  return *ParseExpression(absl::StrCat(
      "rows := out_view<", stored, ">( y: (i,j) -> (i) ) o md_hom<8,64>( f, (++, ", combine,
      ") ) o inp_view<", type, ">( x: (i,j) -> (i,j) ) where f(a) -> s: ", type, " { s = a }"));
}

// Four blocks along j.
std::string Rows(const std::string& model) {
  return absl::StrCat("model=", model, "; parts=1,4|1,1|8,16|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; ",
                      "inputs=in_place:0,1:-1; results=0,0|0,0|0,1|2,2|2,2");
}

TEST_F(BlockCombinationTest, BlocksCombineByAtomicsWhatCanBeAdded) {
  const std::string matmul = AlongK("CUDA", false, "0,0,0|0,0,0|0,0,0|2,2,2|2,2,2");
  EXPECT_EQ(ErrorOf(Atomics(matmul)), "no error");
  EXPECT_EQ(ErrorOf(Atomics(kParameters)),
            "combine=atomics: reduced dimensions have 1 part whose results meet in "
            "DM, more than 1 are needed");
  EXPECT_EQ(ErrorOf(Atomics(matmul + "; scalar_order=1,0,2|0,1,2|0,1,2|0,1,2|0,1,2")),
            "combine=atomics: phases are set apart");
  for (const std::string type : {"fp32", "fp64", "int32", "uint32", "int64", "uint64"}) {
    expression_ = RowsOf(type, type, "+");
    EXPECT_EQ(ErrorOf(Atomics(Rows("CUDA"))), "no error") << type;
  }
  expression_ = RowsOf("fp32", "fp32", "max");
  EXPECT_EQ(ErrorOf(Atomics(Rows("CUDA"))), "combine=atomics: result s is combined by max, not +");
  expression_ = RowsOf("fp32", "fp16", "+");
  EXPECT_EQ(ErrorOf(Atomics(Rows("CUDA"))),
            "combine=atomics: result s is combined as fp32 and stored as fp16");
  for (const std::string type : {"fp16", "bf16", "int16", "uint8"}) {
    expression_ = RowsOf(type, type, "+");
    EXPECT_EQ(ErrorOf(Atomics(Rows("CUDA"))),
              absl::StrCat("combine=atomics: result s is of type ", type,
                           ", which is not added atomically"));
  }
}

TEST_F(BlockCombinationTest, BlocksCombineByAtomicsOnlyWhereTheOrderIsFreeAndTheDeviceCan) {
  expression_ = RowsOf("fp32", "fp32", "+");
  device_ = DeviceFor(OpenClModel());
  EXPECT_EQ(ErrorOf(Atomics(Rows("OpenCL"))),
            "combine=atomics: the device does not add atomically");
  device_ = DeviceFor(CudaModel());
  for (const std::string policy : {"exact", "tree"}) {
    EXPECT_EQ(AtomicsObstacle(expression_, device_, *ParseNumericsPolicy(policy)),
              absl::StrCat("numerics=", policy, " fixes the order of additions"));
  }
  expression_ = *ParseExpression(
      "copy := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<8,64>( f, (++, ++) ) o "
      "inp_view<fp32>( x: (i,j) -> (i,j) ) where f(a) -> s { s = a }");
  EXPECT_EQ(ErrorOf(Atomics("model=CUDA; parts=1,4|1,1|8,16|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; "
                            "inputs=in_place:0,1:-1")),
            "combine=atomics: no dimension is reduced");
  expression_ = *ParseExpression(
      "sums := out_view<fp32>( y: (i,j) -> (i) ) o md_hom<64,8>( f, (ps(+), +) ) o "
      "inp_view<fp32>( x: (i,j) -> (i,j) ) where f(a) -> s { s = a }");
  EXPECT_EQ(ErrorOf(Atomics("model=CUDA; parts=4,2|1,1|16,4|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; "
                            "inputs=in_place:0,1:-1")),
            "combine=atomics: there are prefix sums");
}

std::string Cooperating(const std::string& text, const std::string& how) {
  return absl::StrCat(text, "; combine=", how);
}

TEST_F(BlockCombinationTest, BlocksCombineTheirResultsThemselves) {
  const Expression product = expression_;
  const std::string matmul = AlongK("CUDA", false, "0,0,0|0,0,0|0,0,0|2,2,2|2,2,2");
  for (const std::string how : {"last_block", "cluster"}) {
    device_ = *DescribeCudaArchitecture(90);
    const std::string name = absl::StrCat("combine=", how, ": ");
    expression_ = product;
    EXPECT_EQ(ErrorOf(Cooperating(kParameters, how)),
              name +
                  "reduced dimensions have 1 part whose results meet in DM, more than 1 are "
                  "needed");
    EXPECT_EQ(ErrorOf(Cooperating(matmul + "; scalar_order=1,0,2|0,1,2|0,1,2|0,1,2|0,1,2", how)),
              name + "phases are set apart");
    // Other operators than sums, and records of several results, are as good.
    expression_ = RowsOf("fp32", "fp16", "max");
    EXPECT_EQ(ErrorOf(Cooperating(Rows("CUDA"), how)), "no error");
    device_ = DeviceFor(OpenClModel());
    EXPECT_EQ(ErrorOf(Cooperating(Rows("OpenCL"), how)),
              name + (how == "cluster"
                          ? "the device has no clusters of blocks (CUDA's have them from compute "
                            "capability 9.0 on)"
                          : "the last block does not see what others have written on this "
                            "device"));
    device_ = *DescribeCudaArchitecture(90);
    EXPECT_EQ(
        CooperationObstacle(expression_, device_, NumericsPolicy::kFixedTree,
                            how == "cluster" ? CombineBlocks::kCluster : CombineBlocks::kLastBlock),
        "numerics=tree fixes the order in which values combine");
    const auto rows = [&](const std::string& results, const std::string& parts = "1,4|1,1|8,16") {
      return ErrorOf(absl::StrCat("model=CUDA; parts=", parts,
                                  "|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1; "
                                  "results=",
                                  results, "; combine=", how));
    };
    EXPECT_EQ(rows("0,0|0,0|0,0|2,2|2,2"),
              name + "threads, too, leave partial results in device memory");
    EXPECT_EQ(rows("0,0|0,0|0,1|2,2|2,2", "1,4|8,1|1,16"),
              name + "loops run around where results accumulate");
    EXPECT_EQ(rows("0,0|1,1|1,1|1,1|1,1", "1,4|8,1|1,16"),
              name + "results accumulate in shared memory");
  }
}

TEST_F(BlockCombinationTest, ClustersHaveFewBlocksAndAxesOfTheirOwn) {
  const std::string name = "combine=cluster: ";
  device_ = *DescribeCudaArchitecture(90);
  expression_ = RowsOf("fp32", "fp32", "+");
  const auto rows = [&](const std::string& parts, const std::string& assigned) {
    return ErrorOf(absl::StrCat(
        "model=CUDA; parts=", parts, "|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; assign=", assigned,
        "|(2,1)(2,2)|(3,1)(3,2)|(4,1)(4,2)|(5,1)(5,2); inputs=in_place:0,1:-1; "
        "results=0,0|0,0|0,1|2,2|2,2; combine=cluster"));
  };
  EXPECT_EQ(rows("8,8|1,1|1,8", "(1,2)(1,1)"), "no error");
  EXPECT_EQ(rows("8,16|1,1|1,4", "(1,2)(1,1)"),
            name + "16 blocks share results, a cluster has at most 8");
  DeviceDescription older = *DescribeCudaArchitecture(80);
  EXPECT_EQ(CooperationObstacle(expression_, older, NumericsPolicy::kReassociate,
                                CombineBlocks::kCluster),
            "the device has no clusters of blocks (CUDA's have them from compute capability 9.0 "
            "on)");
  EXPECT_EQ(CooperationObstacle(expression_, older, NumericsPolicy::kReassociate,
                                CombineBlocks::kLastBlock),
            "");
}

// Partial results of 2^31 bytes would be too many.
TEST_F(BlockCombinationTest, AtomicsNeedNoScratchMemory) {
  expression_ = MatMul(8192, 8192, 64);
  const std::string text =
      "model=CUDA; parts=512,512,8|1,1,1|16,16,1|1,1,8|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
      "inputs=in_place:0,1:-1|in_place:0,1:-1";
  EXPECT_EQ(ErrorOf(text),
            "bytes of partial results and of MDAs between phases: 2147483648 > 1073741824");
  EXPECT_EQ(ErrorOf(Atomics(text)), "no error");
  // Nor do clusters; last blocks do.
  device_ = *DescribeCudaArchitecture(90);
  const std::string around = absl::StrCat(text, "; results=0,0,0|0,0,0|1,1,1|2,2,2|2,2,2");
  EXPECT_EQ(ErrorOf(Cooperating(around, "cluster")), "no error");
  EXPECT_EQ(ErrorOf(Cooperating(around, "last_block")),
            "bytes of partial results and of MDAs between phases: 2147483648 > 1073741824");
}

}  // namespace
}  // namespace mdh::validate_block_combination_test
