#include "core/decomposition/tuning_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/core/decomposition/lowering_case.h"

namespace mdh::tuning_parameters_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(TuningParametersTest, LoweringIsPrintedUnlessTheOtherFieldsSayIt) {
  EXPECT_EQ(parameters_.lowering, Lowering::kTiles);
  parameters_.lowering = Lowering::kLevels;
  EXPECT_THAT(ToText(parameters_), HasSubstr("; lowering=levels"));
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  parameters_.phase.assignment.assign(model_.layers.size(), std::vector<AsmLevel>(3));
  EXPECT_THAT(ToText(parameters_), Not(HasSubstr("lowering")));
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  parameters_.lowering = Lowering::kTiles;
  EXPECT_THAT(ToText(parameters_), HasSubstr("; lowering=tiles"));
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
}

TEST_F(TuningParametersTest, TilesNeedTheUsualLevelsAndCaches) {
  parameters_.phase.assignment.assign(model_.layers.size(), std::vector<AsmLevel>(3));
  EXPECT_EQ(Error(parameters_),
            "tuning parameters: lowering=tiles: tiles need nested layers in one nest, without "
            "assignments, regions and layouts");
  const Result<TuningParameters> blocks = ParseTuningParameters(
      "model=CUDA; tile=1,1,1|1,1,1|1,1,1|1,1,1|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
      "inputs=in_place:0,1:-1|in_place:0,1:-1; lowering=tiles");
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_EQ(Validate(expression_, CudaModel(), *DescribeCudaArchitecture(90), *blocks).message(),
            "tuning parameters: lowering=tiles is for targets with caches");
}

// The levels of a configuration of tiles, each of them a loop.
TEST_F(TuningParametersTest, LevelsAreALoweringForCaches) {
  const std::string nested =
      "model=OpenMP; tile=4,4,8|2,2,4|1,1,2|1,1,1; order=0,1,2|0,1,2|0,1,2|2,0,1; "
      "inputs=in_place:0,1:-1|in_place:0,1:-1";
  const Expression matmul = MatMul(8, 8, 8);
  const auto lowered = [&](const std::string& lowering) {
    return Lower(matmul, OpenMpModel(), device_, *ParseTuningParameters(nested + lowering));
  };
  const Result<LowLevelExpression> tiles = lowered(""), levels = lowered("; lowering=levels");
  ASSERT_TRUE(tiles.ok()) << tiles.status();
  ASSERT_TRUE(levels.ok()) << levels.status();
  // Reductions of tiles run innermost.
  EXPECT_NE(tiles->Order(PhaseKind::kScalar), levels->Order(PhaseKind::kScalar));
  EXPECT_EQ(levels->Order(PhaseKind::kScalar), levels->parameters().phase.order);
}

TEST_F(TuningParametersTest, LanesOfNoPowerOfTwoAreAllOfADimension) {
  const auto status = [&](const std::string& tiles, const std::string& lanes) {
    const std::string all = "8,7,5|8,7,5|8,7,5|";
    return Validate(
        MatMul(8, 7, 5), model_, device_,
        *ParseTuningParameters(absl::StrCat("model=OpenMP+SIMD+RM; tile=", all, tiles, "|", lanes,
                                            "|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                                            "inputs=in_place:0,1:-1|in_place:0,1:-1")));
  };
  EXPECT_TRUE(status("2,7,1", "1,7,1").ok());
  const std::string error = "tuning parameters: lanes must be a power of two up to 64, not ";
  EXPECT_EQ(status("2,6,1", "1,3,1").message(), absl::StrCat(error, 3));  // a part
  EXPECT_EQ(status("2,1,5", "1,1,5").message(), absl::StrCat(error, 5));  // reduced
}

TEST_F(TuningParametersTest, NumericsPolicyIsPrintedUnlessItIsTheDefault) {
  parameters_.numerics = NumericsPolicy::kFixedTree;
  EXPECT_EQ(ToText(parameters_), std::string(kParameters) + "; numerics=tree");
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_THAT(
      ParseTuningParameters(std::string(kParameters) + "; numerics=fast").status().message(),
      HasSubstr("no numerics policy 'fast'; the policies are reassociate, exact, tree, "
                "tf32, bf16x3, bf16x6 and fp8"));
}

TEST_F(TuningParametersTest, FusedDimensionsArePrintedIfThereAreAny) {
  parameters_.fused = {{0, 1}, {4, 2, 3}};
  const std::string text = ToText(parameters_);
  EXPECT_THAT(text, HasSubstr("model=OpenMP+SIMD+RM; fused=0,1|4,2,3; tile="));
  EXPECT_EQ(*ParseTuningParameters(text), parameters_);
  parameters_.fused = {{0, 1}};
  EXPECT_THAT(Error(parameters_), HasSubstr("fused: in buffer A, i does not go on where j ends"));
  EXPECT_THAT(ParseTuningParameters(absl::StrCat(kParameters, "; fused=i")).status().message(),
              HasSubstr("'i' is no integer"));
}

// Counts of parts are of the dimension that a group is.
TEST_F(TuningParametersTest, PartsOfFusedDimensions) {
  const Expression copy = *ParseExpression(
      "copy := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<6,4>( f, (++, ++) ) o "
      "inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x }");
  const std::string text =
      "model=OpenMP; fused=0,1; parts=1,2|1,1|1,12|1,1; order=0,1|0,1|0,1|0,1; "
      "inputs=in_place:0,1:-1";
  const Result<TuningParameters> parameters = ParseTuningParameters(text, copy);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(parameters->tile,
            (std::vector<std::vector<int64_t>>{{1, 12}, {1, 12}, {1, 1}, {1, 1}}));
  const Result<LowLevelExpression> low = Lower(copy, OpenMpModel(), device_, *parameters);
  ASSERT_TRUE(low.ok()) << low.status();
  EXPECT_EQ(low->expression().dimensions()[1].size, 24);
  EXPECT_THAT(ParseTuningParameters(absl::StrCat(text, ";fused=1,0"), copy).status().message(),
              HasSubstr("'fused' is given twice"));
}

TEST_F(TuningParametersTest, StoresAndPrefetchArePrintedUnlessTheyAreTheDefault) {
  parameters_.streams_results = true;
  parameters_.prefetch = 8;
  EXPECT_EQ(ToText(parameters_), std::string(kParameters) + "; stores=streaming; prefetch=8");
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_TRUE(Validate(expression_, model_, device_, parameters_).ok());
  parameters_.prefetch = 65;
  EXPECT_THAT(Error(parameters_), HasSubstr("prefetch: 65 is not in 0..64"));
  parameters_.prefetch = -1;
  EXPECT_THAT(Error(parameters_), HasSubstr("prefetch: -1 is not in 0..64"));
  EXPECT_THAT(ParseTuningParameters(std::string(kParameters) + "; stores=fast").status().message(),
              HasSubstr("stores is 'fast', expected 'cached' or 'streaming'"));
  EXPECT_THAT(ParseTuningParameters(std::string(kParameters) + "; prefetch=far").status().message(),
              HasSubstr("'far' is no integer"));
}

TEST_F(TuningParametersTest, RemainderIsPrintedUnlessItIsTheDefault) {
  for (const auto& [remainder, name] :
       {std::pair(Remainder::kVectors, "vectors"), std::pair(Remainder::kOverlap, "overlap")}) {
    parameters_.remainder = remainder;
    EXPECT_EQ(ToText(parameters_), absl::StrCat(kParameters, "; remainder=", name));
    EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
    EXPECT_TRUE(Validate(expression_, model_, device_, parameters_).ok());
  }
  parameters_.remainder = Remainder::kVariants;
  EXPECT_EQ(*ParseTuningParameters(absl::StrCat(kParameters, "; remainder=variants")), parameters_);
  EXPECT_THAT(
      ParseTuningParameters(absl::StrCat(kParameters, "; remainder=none")).status().message(),
      HasSubstr("remainder is 'none', expected 'variants', 'vectors' or 'overlap'"));
}

TEST_F(TuningParametersTest, HowBlocksCombineIsPrintedUnlessItIsTheDefault) {
  for (const auto& [combine, name] : {std::pair(CombineBlocks::kAtomics, "atomics"),
                                      {CombineBlocks::kLastBlock, "last_block"},
                                      {CombineBlocks::kCluster, "cluster"}}) {
    parameters_.combine_blocks = combine;
    EXPECT_EQ(ToText(parameters_), absl::StrCat(kParameters, "; combine=", name));
    EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
    EXPECT_THAT(
        Error(parameters_),
        HasSubstr(absl::StrCat("combine=", name, " is for devices with blocks of threads")));
  }
  EXPECT_EQ(*ParseTuningParameters(std::string(kParameters) + "; combine=partials"),
            *ParseTuningParameters(kParameters));
  EXPECT_THAT(ParseTuningParameters(std::string(kParameters) + "; combine=last").status().message(),
              HasSubstr("combine is 'last', expected 'partials', 'atomics', 'last_block' or "
                        "'cluster'"));
}

TEST_F(TuningParametersTest, ScanIsPrintedUnlessItIsTheDefault) {
  parameters_.scan = {.threads = 256, .rounds = 4, .run = 2};
  EXPECT_EQ(ToText(parameters_), std::string(kParameters) + "; scan=256:4:2");
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_THAT(Error(parameters_), HasSubstr("scan is for devices with blocks of threads"));
  EXPECT_THAT(ParseTuningParameters(std::string(kParameters) + "; scan=256:4").status().message(),
              HasSubstr("scan '256:4' is not THREADS:ROUNDS:RUN"));
  EXPECT_THAT(ParseTuningParameters(std::string(kParameters) + "; scan=a:4:4").status().message(),
              HasSubstr("'a' is no integer"));
}

TEST_F(TuningParametersTest, ResidentBlocksArePrintedUnlessTheyAreTheDefault) {
  parameters_.resident_blocks = 2;
  EXPECT_EQ(ToText(parameters_), std::string(kParameters) + "; resident=2");
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_THAT(Error(parameters_), HasSubstr("resident=2 is for devices with blocks of threads"));
  EXPECT_THAT(ParseTuningParameters(std::string(kParameters) + "; resident=all").status().message(),
              HasSubstr("'all' is no integer"));
}

TEST_F(TuningParametersTest, EarlyLaunchesArePrintedUnlessTheyAreTheDefault) {
  for (const auto& [early, name] :
       {std::pair(EarlyLaunches::kCalls, "calls"), std::pair(EarlyLaunches::kNone, "none"),
        std::pair(EarlyLaunches::kPrefetches, "prefetches")}) {
    parameters_.early_launches = early;
    EXPECT_EQ(ToText(parameters_), absl::StrCat(kParameters, "; early=", name));
    EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
    EXPECT_THAT(Error(parameters_),
                HasSubstr(absl::StrCat("early=", name, " is for devices with blocks of threads")));
  }
  parameters_.early_launches = EarlyLaunches::kStages;
  EXPECT_EQ(*ParseTuningParameters(absl::StrCat(kParameters, "; early=stages")), parameters_);
  EXPECT_THAT(ParseTuningParameters(absl::StrCat(kParameters, "; early=often")).status().message(),
              HasSubstr("early is 'often', expected 'stages', 'calls', 'none' or 'prefetches'"));
}

TEST_F(TuningParametersTest, ThreadsArePrintedUnlessTheyAreAll) {
  parameters_.threads = 1;
  EXPECT_EQ(ToText(parameters_), absl::StrCat(kParameters, "; threads=1"));
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_TRUE(Validate(expression_, model_, device_, parameters_).ok());
  parameters_.threads = -1;
  EXPECT_THAT(Error(parameters_), HasSubstr("threads: -1 is not in 0.."));
  EXPECT_EQ(ParseTuningParameters(kParameters)->threads, TuningParameters::kAllThreads);
  EXPECT_THAT(ParseTuningParameters(absl::StrCat(kParameters, "; threads=all")).status().message(),
              HasSubstr("'all' is no integer"));
}

TEST_F(TuningParametersTest, LanesArePrintedUnlessTheyAreTheDefault) {
  parameters_.lanes = {8, 4, 1};
  EXPECT_EQ(ToText(parameters_), std::string(kParameters) + "; lanes=8x4x1");
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_THAT(Error(parameters_), HasSubstr("lanes=8x4x1 is for devices with blocks of threads"));
  EXPECT_THAT(ParseTuningParameters(std::string(kParameters) + "; lanes=8xy").status().message(),
              HasSubstr("'y' is no integer"));
}

TEST_F(TuningParametersTest, KeyedIsPrintedUnlessItIsTheDefault) {
  parameters_.keyed = {.threads = 512, .rounds = 2, .run = 4, .tiles = 3, .copies = 8};
  EXPECT_EQ(ToText(parameters_), std::string(kParameters) + "; keyed=512:2:4:3:8");
  EXPECT_EQ(*ParseTuningParameters(ToText(parameters_)), parameters_);
  EXPECT_THAT(Error(parameters_), HasSubstr("keyed is for devices with blocks of threads"));
  const auto error = [](const std::string& keyed) {
    return std::string(
        ParseTuningParameters(absl::StrCat(kParameters, "; keyed=", keyed)).status().message());
  };
  EXPECT_THAT(error("512:2"), HasSubstr("keyed '512:2' is not THREADS:ROUNDS:RUN:TILES:COPIES"));
  EXPECT_THAT(error("512:2:4:b:1"), HasSubstr("'b' is no integer"));
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
  EXPECT_THAT(Error(parameters_),
              HasSubstr("chains=independent: numerics=exact fixes the order of values"));
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

TEST_F(TuningParametersTest, EveryFieldReadsBack) {
  const std::string text =
      "model=CUDA; tile=16,8|4,8|4,1|1,1|1,1; order=(1,1)(3,2)(1,2)(2,1)(2,2)(3,1)(4,1)(4,2)(5,1)"
      "(5,2); inputs=in_place:0,1:-1|in_place::-1; accumulate=output; chains=one; compiler=clang; "
      "assign=(1,2)(1,1)|(2,1)(2,2)|(3,1)(3,2)|(4,1)(4,2)|(5,1)(5,2); "
      "scalar_order=1,0|0,1|0,1|0,1|0,1; "
      "scalar_assign=(1,1)(1,2)|(2,1)(2,2)|(3,1)(3,2)|(4,1)(4,2)|(5,1)(5,2); "
      "recompose_order=0,1|1,0|0,1|0,1|0,1; "
      "recompose_assign=(3,1)(1,2)|(2,1)(2,2)|(1,1)(3,2)|(4,1)(4,2)|(5,1)(5,2); "
      "memory=0,0|0,0|0,1|1,1|2,2@0.1,0.1|0.1,0.1|0.1,1.0|1.0,1.0|1.0,1.0/@-,-|-,-|-,-|-,-|-,-; "
      "copy=3:4:3:async|0:1:1; results=0,0|0,0|0,2|2,2|2,2/; scalar_in=2:0.1|0:-; "
      "scalar_out=2:1.0|1:-; "
      "resident=3; lanes=4x2; early=calls; unroll=8; numerics=exact";
  const auto p = ParseTuningParameters(text);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(ToText(*p), text);
  EXPECT_EQ(p->phase.order[1], (MdhLevel{2, 1}));
  EXPECT_EQ(p->phase.assignment[0][1], (AsmLevel{0, 0}));
  EXPECT_EQ(p->recomposition_phase->assignment[2][0], (AsmLevel{0, 0}));
  EXPECT_EQ(p->inputs[0].memory.layouts[2][1], (std::vector<int>{1, 0}));
  EXPECT_EQ(p->inputs[1].memory.layouts[4][1], std::vector<int>{});
  EXPECT_EQ(p->inputs[0].copy_width, 4);
  EXPECT_EQ(p->inputs[0].copy_stages, 3);
  EXPECT_EQ(p->inputs[0].copy_mode, CopyMode::kAsynchronous);
  EXPECT_EQ(p->inputs[1].copy_mode, CopyMode::kThroughRegisters);
  EXPECT_EQ(p->outputs.size(), 2u);
  EXPECT_EQ(p->scalar_outputs[0].layout, (std::vector<int>{1, 0}));
}

TEST_F(TuningParametersTest, BadFieldsBeyondRegisterTilesAreNamed) {
  const auto error = [](const std::string& more) {
    const std::string text = "model=CUDA; tile=1|1|1|1|1; inputs=in_place:0:-1; ";
    return std::string(ParseTuningParameters(text + more).status().message());
  };
  const std::string order = "order=0|0|0|0|0; ";
  EXPECT_EQ(error("order=0|0|0|0|0"), "");
  EXPECT_EQ(error("order=(1,1)(2,1"),
            "tuning parameters: '(1,1)(2,1' is no list of levels '(LAYER,DIMENSION)'");
  EXPECT_EQ(error("order=(1,1)2"),
            "tuning parameters: '(1,1)2' is no list of levels '(LAYER,DIMENSION)'");
  EXPECT_EQ(error("order=(1,0)"), "tuning parameters: '(1,0)' is no level '(LAYER,DIMENSION)'");
  EXPECT_EQ(error("order=(1,2,3)"), "tuning parameters: '(1,2,3)' is no level '(LAYER,DIMENSION)'");
  EXPECT_EQ(error(order + "assign=1"),
            "tuning parameters: '1' is no list of levels '(LAYER,DIMENSION)'");
  EXPECT_EQ(error(order + "scalar_assign=(1,1)"),
            "tuning parameters: 'scalar_assign' needs 'scalar_order'");
  EXPECT_EQ(error(order + "recompose_assign=(1,1)"),
            "tuning parameters: 'recompose_assign' needs 'recompose_order'");
  EXPECT_EQ(error(order + "memory=0|0/0|0"),
            "tuning parameters: 'memory' is for 2 inputs, 'inputs' for 1");
  EXPECT_EQ(error(order + "memory=x"), "tuning parameters: 'x' is no integer");
  EXPECT_EQ(error(order + "memory=0|0@y"), "tuning parameters: 'y' is no integer");
  EXPECT_EQ(error(order + "copy=0:1"),
            "tuning parameters: copy '0:1' is not PADDING:WIDTH:STAGES[:async]");
  EXPECT_EQ(error(order + "copy=0:1:async"),
            "tuning parameters: copy '0:1:async' is not PADDING:WIDTH:STAGES[:async]");
  EXPECT_EQ(error(order + "copy=0:1:2:sync"), "tuning parameters: 'sync' is no integer");
  EXPECT_EQ(error(order + "scalar_in=0"),
            "tuning parameters: scalar memory '0' is not REGION:LAYOUT");
  EXPECT_EQ(error(order + "scalar_out=a:0"), "tuning parameters: 'a' is no integer");
  EXPECT_EQ(error(order + "unroll=much"),
            "tuning parameters: unroll: 'much' is no integer, expected one in 1..4096");
  const std::string unknown = error(order + "colour=red");
  EXPECT_THAT(unknown, HasSubstr("tuning parameters: unknown field 'colour'; the fields are model, "
                                 "fused, tile (or parts, where the expression is known), order"));
  for (const Choice& choice : Choices()) {
    EXPECT_THAT(unknown, HasSubstr(absl::StrCat(", ", choice.key)));
  }
  EXPECT_THAT(error(order + "parts=1|1|1|1|1"),
              HasSubstr("tuning parameters: unknown field 'parts'; the fields are model"));
}

TEST_F(TuningParametersTest, PartCountsStandForExtents) {
  const auto parse = [&](const std::string& parts) {
    return ParseTuningParameters("model=OpenMP; " + parts +
                                     "; order=0,1,2|0,1,2|0,1,2|0,1,2; "
                                     "inputs=in_place:0,1:-1|in_place:0,1:-1",
                                 expression_);
  };
  const auto exact = parse("parts=4,1,3|5,8,1|5,2,10|1,4,1");
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(exact->tile, (LevelTable<int64_t>{{25, 64, 10}, {5, 8, 10}, {1, 4, 1}, {1, 1, 1}}));
  // 100 = 8 parts of 13, the last of 9; 30 = 1 part, of 4 parts of 8.
  const auto rounded_up = parse("parts=8,1,1|13,8,4|1,2,8|1,4,1");
  ASSERT_TRUE(rounded_up.ok()) << rounded_up.status();
  EXPECT_EQ(rounded_up->tile, (LevelTable<int64_t>{{13, 64, 30}, {1, 8, 8}, {1, 4, 1}, {1, 1, 1}}));
  EXPECT_EQ(parse("tile=25,64,10|5,8,10|1,4,1|1,1,1")->tile, exact->tile);
  EXPECT_EQ(parse("x=1").status().message(), "tuning parameters: 'parts' is missing");
  EXPECT_EQ(parse("parts=4,1").status().message(),
            "tuning parameters: 'parts' needs 3 counts per layer, one has 2");
  EXPECT_EQ(parse("parts=4,1,0|5,8,1|5,2,10|1,4,1").status().message(),
            "tuning parameters: 'parts' of layer 1 in dimension k is 0, not positive");
  EXPECT_EQ(parse("parts=3,1,3|5,8,1|5,2,10|1,4,1").status().message(),
            "tuning parameters: #PRT of layer 1 in dimension i: 3 parts of 25 points, but 100 "
            "points are 4 such parts");
  EXPECT_THAT(parse("parts=4,1,3|5,8,1|5,2,10|1,4,1; tile=1,1,1").status().message(),
              HasSubstr("tuning parameters: unknown field 'parts'"));
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
  EXPECT_THAT(Error(p), HasSubstr("order (D1): level (2,1) comes twice, it is no permutation"));
  p = parameters_;
  p.phase.order.push_back({6, 0});
  EXPECT_THAT(Error(p), HasSubstr("order (D1): 19 levels, there are 18"));
  p = parameters_;
  p.inputs[1].padding = 1;
  EXPECT_THAT(Error(p), HasSubstr("padding, width and stages of the copy of B need shared memory, "
                                  "which model OpenMP+SIMD+RM has not"));
  p = parameters_;
  p.inputs[1].copy_mode = CopyMode::kAsynchronous;
  EXPECT_THAT(Error(p), HasSubstr("padding, width and stages of the copy of B need shared memory"));
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
}  // namespace mdh::tuning_parameters_test
