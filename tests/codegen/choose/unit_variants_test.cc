// What rules and moves make of contractions for matrix units: valid configurations, the likeliest
// to be fast first, and neighbours from which all others can be reached.
#include "codegen/choose/unit_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/choose/unit_moves.h"
#include "core/base/round.h"
#include "core/decomposition/validate.h"
#include "core/text/parser.h"

namespace mdh::unit_variants_test {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

Expression MatMul(int64_t i, int64_t j, int64_t k, const std::string& type = "bf16") {
  return *ParseExpression(absl::Substitute(
      "e<T = $3 | I = $0, J = $1, K = $2> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
      "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
      "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
      "where f(A, B) -> C { C = A * B }\n",
      i, j, k, type));
}

const DeviceDescription kDevice = *DescribeCudaArchitecture(90);

TuningParameters Default(const Expression& e) { return DefaultParameters(e, CudaModel(), kDevice); }

TEST(UnitVariantsTest, DefaultsFillTheDevice) {
  const auto blocks = [](const Expression& e) {
    const TuningParameters p = Default(e);
    EXPECT_GT(p.unit.rows, 0);
    return CutForUnit(p.unit, p.combine_blocks, *PlanUnit(e)).blocks(p.unit);
  };
  UnitParameters large{128, 256, 2, 4, 1};
  large.turns = 4;
  EXPECT_EQ(Default(MatMul(4096, 4096, 4096)).unit, large) << "512 tiles by 132 multiprocessors";
  EXPECT_GE(blocks(MatMul(1024, 1024, 1024)), 64);
  EXPECT_GE(blocks(MatMul(512, 512, 512)), 32);
  EXPECT_GE(blocks(MatMul(64, 8192, 8192)), 100);
}

// Calls begin early, unless further stages or blocks of a cluster need the room; of small inputs
// the lines come before they are waited for.
TEST(UnitVariantsTest, CallsBeginEarly) {
  EXPECT_EQ(Default(MatMul(4096, 4096, 4096)).early_launches, EarlyLaunches::kCalls);
  EXPECT_EQ(Default(MatMul(512, 512, 512)).early_launches, EarlyLaunches::kPrefetches);
  EXPECT_EQ(Default(MatMul(1023, 777, 513)).early_launches, EarlyLaunches::kStages);
}

TEST(UnitVariantsTest, OnlyOfTypesAndDevicesWithAUnit) {
  EXPECT_EQ(Default(MatMul(1024, 1024, 1024, "fp32")).unit.rows, 0);
  const Expression halves = MatMul(1024, 1024, 1024);
  EXPECT_FALSE(Default(halves).unit.has_warps());
  // Units of warps, which copy asynchronously.
  DeviceDescription older = *DescribeCudaArchitecture(80);
  const TuningParameters p = DefaultParameters(halves, CudaModel(), older);
  EXPECT_TRUE(p.unit.has_warps());
  EXPECT_EQ(p.unit.warps.k, 16);
  older.features.async_copies = false;
  EXPECT_THAT(UnitVariants(halves, CudaModel(), older, p, 10), IsEmpty());
}

TEST(UnitVariantsTest, SinglesHaveUnitsWhereThePolicySaysSo) {
  const Expression singles = MatMul(4096, 4096, 4096, "fp32");
  for (const NumericsPolicy policy :
       {NumericsPolicy::kTf32, NumericsPolicy::kBf16x3, NumericsPolicy::kBf16x6}) {
    const TuningParameters p = DefaultParameters(singles, CudaModel(), kDevice, policy);
    EXPECT_EQ(p.numerics, policy);
    EXPECT_GE(p.unit.rows * p.unit.columns, 128 * 128) << Name(policy);
    EXPECT_FALSE(p.unit.has_warps()) << Name(policy);
    EXPECT_EQ(p.unit.packed, UnitOperands::kBoth) << Name(policy);
    const TuningParameters older =
        DefaultParameters(singles, CudaModel(), *DescribeCudaArchitecture(80), policy);
    EXPECT_TRUE(older.unit.has_warps()) << Name(policy);
    EXPECT_EQ(older.numerics, policy);
    const TuningParameters small =
        DefaultParameters(MatMul(8, 8, 8, "fp32"), CudaModel(), kDevice, policy);
    EXPECT_EQ(small.unit.rows, 0) << "units do not pay";
    EXPECT_EQ(small.numerics, policy);
  }
}

// Short reductions pay where many results of halves are stored, as units' rows are wide.
TEST(UnitVariantsTest, RulesTakeUnitsForShortReductionsOfManyHalves) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  TuningParameters variant;
  EXPECT_FALSE(PrefersUnit(MatMul(1024, 1024, 1024), kDevice, variant, kNever)) << "no unit";
  variant.unit = {128, 128, 2, 4, 1};
  const auto prefers = [&](int64_t i, int64_t k, const std::string& type) {
    return PrefersUnit(MatMul(i, 1024, k, type), kDevice, variant, kNever);
  };
  for (const char* type : {"bf16", "fp16"}) {
    EXPECT_TRUE(prefers(1024, 8, type)) << type;
    EXPECT_FALSE(prefers(1024, 7, type)) << type;
    EXPECT_FALSE(prefers(1023, 31, type)) << "fewer results";
    EXPECT_TRUE(prefers(1023, 32, type)) << type;
    EXPECT_TRUE(prefers(8, 32, type)) << type;
    EXPECT_FALSE(prefers(7, 1024, type)) << type;
  }
  variant.numerics = NumericsPolicy::kTf32;
  EXPECT_FALSE(prefers(1024, 31, "fp32")) << "no halves";
  EXPECT_TRUE(prefers(1024, 32, "fp32"));
}

// Most of a tile would have no points, and few blocks parts of the long sums.
TEST(UnitVariantsTest, RulesTakeThreadsThatAreFaster) {
  const Expression gram = *ParseExpression(
      "gram<| I = 10, K = 360304> := out_view<fp64>( C: (i,j,k) -> (i,j) ) o\n"
      "md_hom<I,I,K>( f, (++, ++, +) ) o inp_view<fp64>( a: (i,j,k) -> (i,k), (j,k) )\n"
      "where f(x, y) -> C { C = x * y }\n");
  EXPECT_FALSE(UnitVariants(gram, CudaModel(), kDevice, Default(gram), 4).empty());
  EXPECT_EQ(Default(gram).unit.rows, 0);
  const Expression square = MatMul(1024, 1024, 1024, "fp64");
  const TuningParameters rules = Default(square);
  ASSERT_GT(rules.unit.rows, 0);
  const UnitPlan plan = CutForUnit(rules.unit, rules.combine_blocks, *PlanUnit(square));
  const double cycles = UnitCycles(plan, rules, kDevice);
  EXPECT_TRUE(PrefersUnit(square, kDevice, rules, 1.7 * cycles));
  EXPECT_FALSE(PrefersUnit(square, kDevice, rules, 1.5 * cycles));
}

// Of four blocks a multiprocessor has room for one at a time, so that 30 of such clusters are
// placed (NVIDIA H200): blocks that share a tile's sums wait for a second round where parts do not.
TEST(UnitVariantsTest, ClustersOfSharersNeedPlaces) {
  const Expression e = MatMul(512, 512, 8192);
  TuningParameters parts = Default(e), shared = parts;
  parts.unit = shared.unit = {128, 64, 2, 8, 4};
  parts.combine_blocks = CombineBlocks::kPartials;
  shared.combine_blocks = CombineBlocks::kCluster;
  const auto cycles = [&](const TuningParameters& p) {
    return UnitCycles(CutForUnit(p.unit, p.combine_blocks, *PlanUnit(e)), p, kDevice);
  };
  EXPECT_GT(cycles(shared), 1.4 * cycles(parts));
  EXPECT_EQ(Default(e).combine_blocks, CombineBlocks::kPartials);
}

// A producer that is a stage ahead waits for it; with more stages there is less to wait for.
TEST(UnitVariantsTest, FewStagesWait) {
  const Expression e = MatMul(5000, 5000, 5000);
  TuningParameters p = Default(e);
  const auto cycles = [&](int stages) {
    p.unit.stages = stages;
    return UnitCycles(CutForUnit(p.unit, p.combine_blocks, *PlanUnit(e)), p, kDevice);
  };
  EXPECT_GT(cycles(2), 1.3 * cycles(4));
  EXPECT_GT(cycles(3), cycles(4));
}

// Totals leave no registers for the widest tiles, and additions make memory matter less.
TEST(UnitVariantsTest, WideTilesForFp8) {
  const auto unit_of = [](int64_t points) {
    const Expression e = *ParseExpression(absl::Substitute(
        "e<T = fp8e4m3 | I = $0, J = $0, K = $0> := out_view<bf16>( C: (i,j,k) -> (i,j) ) o\n"
        "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
        "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (j,k) )\n"
        "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
        points));
    return DefaultParameters(e, CudaModel(), kDevice, NumericsPolicy::kFp8).unit;
  };
  for (const int64_t points : {4096, 8192}) {
    const UnitParameters unit = unit_of(points);
    EXPECT_GE(unit.rows * unit.columns, 128 * 128) << points;
    EXPECT_TRUE(unit.has_producer()) << points;
    EXPECT_EQ(unit.stages, 4) << points;
  }
}

// Rows that lie across lines are asked for once by blocks of a cluster; of whole lines that is no
// faster. Tiles are such that most multiprocessors have as many.
TEST(UnitVariantsTest, ClustersForRowsAcrossLines) {
  const auto unit_of = [](int64_t points) {
    return Default(MatMul(points, points, points, "bf16")).unit;
  };
  for (const int64_t points : {1000, 1800, 2504, 3000, 5000}) {
    const UnitParameters unit = unit_of(points);
    EXPECT_TRUE(unit.has_producer()) << points;
    EXPECT_GE(unit.cluster(), 2) << points;
  }
  EXPECT_EQ(unit_of(1800).cluster(), 4)
      << "72 tiles, and clusters of four have 120 multiprocessors";
  const UnitParameters one_round = unit_of(2504);
  EXPECT_EQ(CeilDivide(2504, one_round.rows) * CeilDivide(2504, one_round.columns), 130);
  for (const int64_t points : {1024, 2048, 4096, 8192}) EXPECT_EQ(unit_of(points).cluster(), 1);
  EXPECT_EQ(unit_of(5000).producer, UnitProducer::kGroup);
}

TEST(UnitVariantsTest, WarpsForDoublesHaveTheFastestInstruction) {
  const Expression doubles = MatMul(1024, 1024, 1024, "fp64");
  const UnitParameters here = Default(doubles).unit;
  EXPECT_EQ(here,
            (UnitParameters{.rows = 64, .columns = 128, .stages = 4, .warps = {2, 4, 16, 4}}));
  const DeviceDescription older = *DescribeCudaArchitecture(80);
  EXPECT_EQ(DefaultParameters(doubles, CudaModel(), older).unit.warps.m, 8);
  const UnitParameters large = Default(MatMul(4096, 4096, 4096, "fp64")).unit;
  EXPECT_EQ(large.rows * large.columns, 128 * 128);
}

// What is computed is packed once where it is used often, and else computed on the way.
TEST(UnitVariantsTest, OperandsThatAreComputed) {
  const auto unit_of = [](const std::string& text) {
    const Result<Expression> e = ParseExpression(text);
    EXPECT_TRUE(e.ok()) << e.status();
    return DefaultParameters(*e, CudaModel(), kDevice, PolicyFor(*e, NumericsPolicy::kTf32)).unit;
  };
  const UnitParameters positive = unit_of(
      "e<T = bf16 | I = 4096, J = 4096, K = 4096> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
      "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
      "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
      "where f(A, B) -> (C: fp32) { C = max(fp32(A), 0) * fp32(B) }\n");
  EXPECT_EQ(positive.packed, UnitOperands::kA);
  const UnitParameters mttkrp = unit_of(
      "e<T = fp32 | I = 512, R = 128, J = 256, K = 256> := out_view<T>( M: (i,r,j,k) -> (i,r) ) o\n"
      "md_hom<I,R,J,K>( f, (++, ++, +, +) ) o\n"
      "inp_view<T,T,T>( X: (i,r,j,k) -> (i,j,k), B: (i,r,j,k) -> (j,r), C: (i,r,j,k) -> (k,r) )\n"
      "where f(X, B, C) -> M { M = X * B * C }\n");
  EXPECT_GT(mttkrp.rows, 0);
  EXPECT_EQ(mttkrp.computed, UnitOperands::kBoth);
}

// Unaligned rows are offered with copies in aligned ones; and long sums of few results in clusters.
TEST(UnitVariantsTest, OfferWhatMayHelp) {
  const auto has = [](const Expression& e, const auto& is_so) {
    const std::vector<TuningParameters> variants =
        UnitVariants(e, CudaModel(), kDevice, Default(e), 40);
    return std::any_of(variants.begin(), variants.end(), is_so);
  };
  const auto is_packed = [](const TuningParameters& p) {
    return p.unit.packed != UnitOperands::kNone;
  };
  const auto is_cluster = [](const TuningParameters& p) {
    return p.combine_blocks == CombineBlocks::kCluster;
  };
  EXPECT_TRUE(has(MatMul(1023, 513, 777), is_packed));
  EXPECT_FALSE(has(MatMul(1024, 512, 768), is_packed));
  EXPECT_TRUE(has(MatMul(512, 512, 4096), is_cluster));
  const auto has_tensors = [](const TuningParameters& p) {
    return p.unit.tensors == UnitOperands::kBoth;
  };
  EXPECT_TRUE(has(MatMul(1024, 512, 768), has_tensors));
  EXPECT_EQ(Default(MatMul(1024, 512, 768)).unit.tensors, UnitOperands::kNone);
}

// Which ways to get operands into shared memory are offered, by the pitch of rows and how they lie.
TEST(UnitVariantsTest, EveryPitchHasItsCopies) {
  struct Row {
    int64_t i, k;
    const char *a, *b;  // accesses; of one buffer if they have a comma between them
    std::string ways;   // that are offered
  };
  const std::vector<Row> rows = {
      // Whole pieces of 16 bytes: by the engine, too.
      {72, 52048, "(i,k)", "(j,k)", "threads engine packed"},
      {72, 52048, "(k,i)", "(k,j)", "threads engine packed"},
      {72, 52048, "(i,k), (j,k)", "", "threads engine packed"},
      {72, 52048, "(k,i), (k,j)", "", "threads engine packed"},
      // Of 8 and of 4 bytes: narrower copies.
      {76, 52044, "(i,k)", "(j,k)", "threads packed"},
      {76, 52044, "(k,i)", "(k,j)", "threads packed"},
      {76, 52042, "(i,k), (j,k)", "", "threads packed"},
      {78, 52042, "(k,i), (k,j)", "", "threads packed"},
      // Single elements: also through registers.
      {71, 52041, "(i,k)", "(j,k)", "threads computed packed"},
      {71, 52041, "(k,i)", "(k,j)", "threads computed packed"},
      {71, 52041, "(i,k)", "(k,j)", "threads computed packed"},
      {71, 52041, "(k,i)", "(j,k)", "threads computed packed"},
      {71, 52041, "(i,k), (j,k)", "", "threads computed packed"},
      {71, 52041, "(k,i), (k,j)", "", "threads computed packed"},
  };
  for (const Row& row : rows) {
    const bool is_one = row.b[0] == 0;
    const Expression e = *ParseExpression(absl::Substitute(
        "e<T = bf16 | I = $0, K = $1> := out_view<T>( y: (i,j,k) -> (i,j) ) o\n"
        "md_hom<I,I,K>( f, (++, ++, +) ) o inp_view<$2>( A: (i,j,k) -> $3$4$5 )\n"
        "where f(a, b) -> (y: fp32) { y = fp32(a) * fp32(b) }\n",
        row.i, row.k, is_one ? "T" : "T,T", row.a, is_one ? "" : ", B: (i,j,k) -> ", row.b));
    const TuningParameters rules = Default(e);
    std::string ways;
    const std::vector<TuningParameters> variants =
        UnitVariants(e, CudaModel(), kDevice, rules, 4000);
    const auto note = [&](const char* way, const auto& is_so) {
      if (std::ranges::any_of(variants, is_so))
        absl::StrAppend(&ways, ways.empty() ? "" : " ", way);
    };
    using Parameters = const TuningParameters&;
    const auto kNone = UnitOperands::kNone, kBoth = UnitOperands::kBoth;
    note("threads", [&](Parameters p) {
      return p.unit.packed == kNone && p.unit.computed == kNone && p.unit.tensors == kNone;
    });
    note("engine", [&](Parameters p) { return p.unit.packed == kNone && p.unit.has_producer(); });
    note("computed", [&](Parameters p) { return p.unit.computed == kBoth; });
    note("packed", [&](Parameters p) { return p.unit.packed == kBoth; });
    EXPECT_EQ(ways, row.ways) << row.i << " " << row.k << " " << row.a << row.b;
    // Sums so long are in parts for all multiprocessors. Packing pays for single elements at most.
    const UnitPlan plan = CutForUnit(rules.unit, rules.combine_blocks, *PlanUnit(e));
    EXPECT_GE(plan.blocks(rules.unit), 100) << row.i << " " << row.k << " " << row.a << row.b;
    const bool may_pack = !is_one && plan.a_in_memory.width == 1;
    EXPECT_TRUE(may_pack || rules.unit.packed == kNone) << row.i << " " << row.a << row.b;
    EXPECT_EQ(plan.is_shared, is_one) << row.i << " " << row.k << " " << row.a << row.b;
  }
}

// From one configuration to any other, one change at a time.
TEST(UnitMovesTest, ReachOtherTilesPartsAndChoices) {
  const Expression e = MatMul(1000, 1000, 1000);
  std::vector<TuningParameters> seen = {Default(e)};
  for (size_t n = 0; n < seen.size() && seen.size() < 900; ++n) {
    for (TuningParameters& next : UnitMoves(TuningParameters(seen[n]))) {
      const bool is_new = std::find(seen.begin(), seen.end(), next) == seen.end();
      if (is_new && Validate(e, CudaModel(), kDevice, next).ok()) seen.push_back(std::move(next));
    }
  }
  const auto has = [&](const auto& is_so) { return std::any_of(seen.begin(), seen.end(), is_so); };
  EXPECT_TRUE(has([](const auto& p) { return p.unit.rows == 128 && p.unit.columns == 128; }));
  EXPECT_TRUE(has([](const auto& p) { return p.unit.groups == 2; }));
  EXPECT_TRUE(has([](const auto& p) { return p.unit.parts > 1 && p.unit.stages < 6; }));
  EXPECT_TRUE(has([](const auto& p) { return p.unit.packed == UnitOperands::kA; }));
  EXPECT_TRUE(has([](const auto& p) { return p.combine_blocks == CombineBlocks::kCluster; }));
  EXPECT_TRUE(has([](const auto& p) { return p.early_launches == EarlyLaunches::kCalls; }));
  EXPECT_TRUE(has([](const auto& p) { return p.swizzle < 8; }));
  EXPECT_TRUE(has([](const auto& p) { return p.unit.turns == 3; }));
  EXPECT_TRUE(has([](const auto& p) { return p.unit.tensors == UnitOperands::kA; }));
  EXPECT_TRUE(has([](const auto& p) { return p.unit.cluster() == 4; }));
}

TEST(UnitMovesTest, NeighboursDiffer) {
  const TuningParameters p = Default(MatMul(512, 512, 512));
  EXPECT_THAT(UnitMoves(p), Not(IsEmpty()));
  for (const TuningParameters& next : UnitMoves(p)) EXPECT_NE(next, p);
}

}  // namespace
}  // namespace mdh::unit_variants_test
