// Which clusters of blocks bring each other what they have in common, and which groups bring it.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/decomposition/validate.h"
#include "core/text/parser.h"

namespace mdh::validate_cluster_test {
namespace {

// Why a product of these sizes cannot run so on an sm_90.
std::string ErrorOf(const std::string& sizes, const std::string& parameters) {
  const Expression e = *ParseExpression(
      absl::StrCat("e<T = bf16 | ", sizes,
                   "> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<I,J,K>( f, (++, ++, +) ) o "
                   "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) "
                   "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }"));
  const Result<TuningParameters> p = ParseTuningParameters(absl::StrCat(
      ToText(SinglePoints(e, CudaModel(), NumericsPolicy::kReassociate)), "; ", parameters));
  EXPECT_TRUE(p.ok()) << p.status();
  const Status valid = Validate(e, CudaModel(), *DescribeCudaArchitecture(90), *p);
  constexpr absl::string_view kPrefix = "tuning parameters: unit: ";
  return valid.ok() ? "" : std::string(valid.message().substr(kPrefix.size()));
}

struct Case {
  std::string sizes, parameters, error;
};

TEST(ValidateClusterTest, BlocksHaveInCommonWhatProducersBring) {
  const std::string square = "I = 256, J = 256, K = 256", tile = "unit=128:64:1:4:1; tensor=both";
  const std::string by_warp = tile + "; producer=warp; ";
  const std::string by_group = "unit=128:64:2:4:1; tensor=both; producer=group; ";
  const Case cases[] = {
      {square, by_warp + "cluster_m=2", ""},
      {square, by_warp + "cluster_m=2; cluster_n=4", ""},
      {square, by_group + "cluster_n=2", ""},
      // Of B a block of 64 columns, half of it along k each.
      {"I = 256, J = 96, K = 256", "unit=64:96:1:4:1; tensor=both; producer=warp; cluster_m=2", ""},
      {square, tile + "; cluster_m=2",
       "cluster: blocks have in common what producers bring, and there is none"},
      {square, by_warp + "cluster_m=4; cluster_n=4", "cluster: 4 x 4 blocks are more than 8"},
      // Three tiles, and one without points.
      {"I = 384, J = 256, K = 128", by_warp + "cluster_m=2", ""},
      {"I = 384, J = 256, K = 128", by_warp + "cluster_m=4",
       "cluster_m: 3 tiles along m are fewer than 4"},
      {"I = 256, J = 136, K = 128", by_warp + "cluster_n=4",
       "cluster_n: 3 tiles along n are fewer than 4"},
      {"I = 768, J = 64, K = 128", "unit=64:16:1:4:1; tensor=both; producer=warp; cluster_m=6",
       "tensor: operand B has 64 rows in a stage, no multiple of 8 for each of 6 blocks of a "
       "cluster"},
      {square, by_warp + "cluster_m=2; turns=5", "turns: a block has 5 of the 8 tiles"},
      // A group that copies leaves most of its registers to others, behind what the assembler asks
      // for one multiplication.
      {square, "unit=256:208:2:3:1; tensor=both; producer=group", ""},
      {square, "unit=256:224:2:2:1; tensor=both; producer=group", "sums of a thread: 224 > 208"},
      {square, "unit=192:192:3:3:1; tensor=both; producer=group", ""},
      {square, "unit=192:208:3:3:1; tensor=both; producer=group",
       "registers of a multiplication: 130 > 128"},
      {square, tile + "; producer=group",
       "producer: one group has all the registers that it can have"},
  };
  for (const Case& c : cases) EXPECT_EQ(ErrorOf(c.sizes, c.parameters), c.error) << c.parameters;
}

}  // namespace
}  // namespace mdh::validate_cluster_test
