// Register tiles by counting, and the configurations that rules make of them.
#include "codegen/choose/tiles/tile_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "core/text/parser.h"
#include "tests/shipped_expression.h"
#include "tests/source_path.h"

namespace mdh::tile_choice_test {
namespace {

using ::testing::ElementsAre;

DeviceDescription Avx2Device() {
  DeviceDescription device;
  device.name = "test";
  device.cores = 2;
  device.simd_bytes = 32;
  device.vector_registers = 16;
  device.l3_bytes = 8 << 20;
  device.compiler = "gcc";
  return device;
}

DeviceDescription WideDevice() {
  DeviceDescription device = Avx2Device();
  device.simd_bytes = 64;
  device.vector_registers = 32;
  return device;
}

TileChoice Best(const Expression& expression, NumericsPolicy numerics,
                const DeviceDescription& device = Avx2Device()) {
  return RankTiles(expression, OpenMpSimdRegistersModel(), device, numerics, 1).at(0);
}

TEST(TileChoiceTest, ProductsHaveAsManyAccumulatorsAsRegistersAllow) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const TileChoice best = Best(matmul, NumericsPolicy::kReassociate);
  EXPECT_EQ(best.vector_dimension, 1);
  EXPECT_EQ(best.lanes, 8);
  EXPECT_THAT(best.tile, ElementsAre(6, 16, 4));
  EXPECT_THAT(best.packed, ElementsAre(false, true));
  EXPECT_FALSE(best.accumulates_in_output);
}

TEST(TileChoiceTest, WiderRegistersHaveLargerTiles) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const TileChoice best = Best(matmul, NumericsPolicy::kReassociate, WideDevice());
  EXPECT_EQ(best.lanes, 16);
  const int64_t accumulators = best.tile[0] * best.tile[1] / 16;
  EXPECT_GE(accumulators, 16);
  EXPECT_LE(accumulators, 28);
}

TEST(TileChoiceTest, ShortDimensionsAreOneVectorWhereLanesCanBeOff) {
  const Expression few = Shipped("matmul.mdh", {{"I", "512"}, {"J", "7"}, {"K", "14"}});
  const TileChoice best = Best(few, NumericsPolicy::kReassociate, WideDevice());
  EXPECT_EQ(best.vector_dimension, 1);
  EXPECT_EQ(best.lanes, 7);
  EXPECT_EQ(best.tile[1], 7);
  EXPECT_EQ(Best(few, NumericsPolicy::kReassociate).lanes, 4);
  const Expression halves =
      Shipped("matmul.mdh", {{"T", "fp16"}, {"I", "512"}, {"J", "7"}, {"K", "14"}});
  EXPECT_NE(Best(halves, NumericsPolicy::kReassociate, WideDevice()).lanes, 7);
  // Zeros around an image are read for all lanes of its filters.
  const Expression padded = Shipped("conv_bn_relu.mdh", {{"K", "7"}, {"C", "3"}});
  EXPECT_EQ(Best(padded, NumericsPolicy::kReassociate, WideDevice()).lanes, 7);
}

TEST(TileChoiceTest, LanesThatAreOffAreOfBuffersThatAreNotClamped) {
  const Expression padded = Shipped("conv_bn_relu.mdh", {{"Q", "7"}, {"K", "7"}});
  const int q = 2, k = 3;
  EXPECT_TRUE(HasMaskedVectors(padded, WideDevice(), k));
  EXPECT_TRUE(HasMaskedVectors(padded, WideDevice(), q));
  EXPECT_FALSE(HasMaskedVectors(padded, Avx2Device(), k));
  const Result<Expression> clamped = ParseExpression(R"(
    rows<T = fp32 | I = 9, J = 7> :=
      out_view<fp32>( y: (i,j) -> (i,j) ) o
      md_hom<I,J>( f, (++, ++) ) o
      inp_view<fp32>( x[I, J] else clamp: (i,j) -> (i, j - 1) )
    where f(x) -> y { y = x })");
  ASSERT_TRUE(clamped.ok()) << clamped.status();
  EXPECT_FALSE(HasMaskedVectors(*clamped, WideDevice(), 1));
}

// Results in all registers are kept in memory in turn while words are put together.
TEST(TileChoiceTest, SumsOfBytesLeaveRegistersForWords) {
  DeviceDescription device = WideDevice();
  device.isa = "x86-64 avx512f avx512_vnni";
  device.features = FeaturesOf(device);
  for (const char* columns : {"512", "777", "1024"}) {
    const Result<Expression> bytes = ParseExpression(
        "bytes<| I = 16, J = 64, K = 512> := out_view<int32>( C: (i,j,k) -> (i,j) ) o "
        "md_hom<I,J,K>( f, (++, ++, +) ) o "
        "inp_view<uint8,int8>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) "
        "where f(A, B) -> C { C = int32(A) * int32(B) }",
        {{"J", columns}});
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const TileChoice best = Best(*bytes, NumericsPolicy::kReassociate, device);
    EXPECT_EQ(best.dot, 3) << columns;
    EXPECT_LE(best.tile[0] * best.tile[1] / best.lanes, 28) << columns;
  }
}

// Windows that share no elements, of images that memory has: tiles take whole rows of channels, or
// add to results while lines come one row after the other.
TEST(TileChoiceTest, PoolingReadsRowsOfMemoryAsTheyLie) {
  const auto best = [](const char* channels, const char* step) {
    const Result<Expression> pooling = ParseExpression(absl::StrCat(
        "pool<| P = 112, C = ", channels, "> := out_view<fp32>( y: (p,q,c,r,s) -> (p,q,c) ) o ",
        "md_hom<P,P,C,2,2>( f, (++, ++, ++, max, max) ) o inp_view<fp32>( x: (p,q,c,r,s) -> (",
        step, "*p + r, ", step, "*q + s, c) ) where f(x) -> y { y = x }"));
    EXPECT_TRUE(pooling.ok()) << pooling.status();
    return Best(*pooling, NumericsPolicy::kReassociate, WideDevice());
  };
  EXPECT_EQ(best("256", "2").tile[2], 256);
  EXPECT_FALSE(best("256", "2").accumulates_in_output);
  EXPECT_TRUE(best("500", "2").accumulates_in_output);
  EXPECT_FALSE(best("500", "1").accumulates_in_output) << "rows are read again";
}

TEST(TileChoiceTest, ShortReductionsOfStencilsAreUnrolled) {
  const Expression conv = Shipped("conv2d.mdh", {{"P", "224"}, {"Q", "224"}});
  const TileChoice best = Best(conv, NumericsPolicy::kReassociate);
  EXPECT_EQ(best.vector_dimension, 1);
  EXPECT_EQ(best.tile[2], 5);
  EXPECT_EQ(best.tile[3], 5);
  EXPECT_GT(best.tile[0], 2);
}

// Their lanes are combined for as many rows as a vector has lanes, and of long rows as many are
// read at a time from memory; those of caches need no others, and fewer are too few.
TEST(TileChoiceTest, ShortRowsAreReducedTogether) {
  const auto tile_of = [](const char* rows, const char* elements) {
    const Expression sums = Shipped("sum_and_max.mdh", {{"I", rows}, {"K", elements}});
    return Best(sums, NumericsPolicy::kReassociate, WideDevice()).tile;
  };
  EXPECT_THAT(tile_of("4096", "64"), ElementsAre(16, 16));
  EXPECT_EQ(tile_of("4096", "4096")[0], 16);
  EXPECT_EQ(tile_of("32", "4096")[0], 1);
  EXPECT_EQ(tile_of("8", "64")[0], 1);
}

TEST(TileChoiceTest, RowsThatAreReadOnceHaveLanesAlongThem) {
  const Expression matvec = Shipped("matvec.mdh", {{"I", "4096"}, {"K", "4096"}});
  const TileChoice best = Best(matvec, NumericsPolicy::kReassociate);
  EXPECT_EQ(best.vector_dimension, 1);
  EXPECT_THAT(best.packed, ElementsAre(false, false));
  // In order, there are no lanes along the reduction.
  EXPECT_NE(Best(matvec, NumericsPolicy::kExactOrder).vector_dimension, 1);
}

// Both operands of each product are rows along the reduction, and results are neighbours.
TEST(TileChoiceTest, LanesAlongAReductionAreCombinedForManyNeighbours) {
  const Expression matmul = *ParseExpression(R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<10,500,64>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (j,k) )
where f(a, b) -> c { c = a * b }
)");
  const TileChoice best = Best(matmul, NumericsPolicy::kReassociate, WideDevice());
  EXPECT_EQ(best.vector_dimension, 2);
  EXPECT_EQ(best.lanes, 16);
  EXPECT_EQ(best.tile[1], 8);
  EXPECT_GT(best.tile[0], 1);
}

// One of the accesses has rows, not columns, along a kept dimension: few rows have lanes along
// themselves, of many a copy is transposed, which is used again for each of them.
TEST(TileChoiceTest, ProductsOfAMatrixWithItselfAreTransposedWhereRowsAreManyAndLong) {
  const auto best_of = [](const std::string& rows, const std::string& columns) {
    const Expression gram = *ParseExpression(R"(
gram<| I, K> :=
  out_view<fp32>( y: (i,j,k) -> (i,j) ) o
  md_hom<I,I,K>( f, (++, ++, +) ) o
  inp_view<fp32>( a: (i,j,k) -> (i,k), (j,k) )
where f(a, b) -> y { y = a * b }
)",
                                             {{"I", rows}, {"K", columns}});
    return Best(gram, NumericsPolicy::kReassociate, WideDevice());
  };
  EXPECT_EQ(best_of("6", "1952").vector_dimension, 2);
  EXPECT_EQ(best_of("1000", "1952").vector_dimension, 1);
  EXPECT_THAT(best_of("1000", "1952").packed, ElementsAre(false, true));
}

// Of equal results register tiles above the diagonal are left out: the fewer rows there are, the
// more of them if tiles are small.
TEST(TileChoiceTest, TilesOfEqualResultsAreSmallBesideTheDiagonal) {
  const auto sides_of = [](const char* inputs, const std::string& rows) {
    const Expression expression =
        *ParseExpression(absl::StrCat("m<| I> := out_view<fp32>( y: (i,j,k) -> (i,j) ) o "
                                      "md_hom<I,I,9000>( f, (++, ++, +) ) o inp_view",
                                      inputs, " where f(a, b) -> y { y = a * b }"),
                         {{"I", rows}});
    const TileChoice best = Best(expression, NumericsPolicy::kReassociate, WideDevice());
    return best.tile[0] + best.tile[1];
  };
  const char* gram = "<fp32>( x: (i,j,k) -> (k,i), (k,j) )";
  const char* product = "<fp32,fp32>( a: (i,j,k) -> (k,i), b: (i,j,k) -> (k,j) )";
  EXPECT_LT(sides_of(gram, "115"), sides_of(product, "115"));
  EXPECT_LE(sides_of(gram, "115"), sides_of(gram, "2000"));
}

// What tiles have in common would be pushed out of the first-level cache by the rest of long rows.
TEST(TileChoiceTest, LongRowsAreReadInPartsThatAFirstLevelCacheKeeps) {
  const auto best_of = [](const std::string& columns) {
    const Expression product = *ParseExpression(R"(
product<| K> :=
  out_view<fp32>( y: (i,j,k) -> (i,j) ) o
  md_hom<12,12,K>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (j,k) )
where f(a, b) -> y { y = a * b }
)",
                                                {{"K", columns}});
    return Best(product, NumericsPolicy::kReassociate, WideDevice());
  };
  EXPECT_EQ(best_of("100000").vector_dimension, 2);
  EXPECT_TRUE(best_of("100000").has_short_parts);
  const Expression matvec = Shipped("matvec.mdh", {{"I", "4096"}, {"K", "100000"}});
  EXPECT_FALSE(Best(matvec, NumericsPolicy::kReassociate, WideDevice()).has_short_parts);
}

// 42 points are five vectors of 8 and two points, or two vectors of 16 and ten points; where zeros
// add nothing, three vectors of 16.
TEST(TileChoiceTest, FewerLanesAlongAReductionLeaveLessOver) {
  const auto lanes = [](const char* combine, const char* body) {
    const Result<Expression> batches = ParseExpression(absl::StrCat(
        "batches := out_view<fp32>( y: (b,i,j,k) -> (b,i,j) ) o md_hom<64,6,6,42>( f, (++, ++, "
        "++, ",
        combine, ") ) o inp_view<fp32,fp32>( a: (b,i,j,k) -> (b,i,k), w: (b,i,j,k) -> (b,j,k) ) ",
        "where f(a, w) -> y { y = ", body, " }"));
    EXPECT_TRUE(batches.ok()) << batches.status();
    const TileChoice best = Best(*batches, NumericsPolicy::kReassociate, WideDevice());
    EXPECT_EQ(best.vector_dimension, 3);
    return best.lanes;
  };
  EXPECT_EQ(lanes("max", "a * w"), 8);
  EXPECT_EQ(lanes("+", "a * w"), 16);
}

// Strips of 64 elements of fp64 would come from the second cache more slowly than they are used.
TEST(TileChoiceTest, StripsAreAsWideAsTheSecondCacheGivesBytes) {
  const Expression product = *ParseExpression(R"(
product :=
  out_view<fp64>( y: (i,j,k) -> (i,j) ) o
  md_hom<1000,1000,1000>( f, (++, ++, +) ) o
  inp_view<fp64,fp64>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) )
where f(a, b) -> y { y = a * b }
)");
  const TileChoice best = Best(product, NumericsPolicy::kReassociate, WideDevice());
  EXPECT_EQ(best.vector_dimension, 1);
  EXPECT_LE(best.tile[1], 40);
  EXPECT_GE(best.tile[0], 4);
}

// What a function converts first is converted when it is read, whichever way it is written.
TEST(TileChoiceTest, ConversionsOfWhatIsReadAreNoOperationsOfPoints) {
  const auto product = [](const char* function) {
    return *ParseExpression(std::string(R"(
product :=
  out_view<fp16>( y: (i,j,k) -> (i,j) ) o
  md_hom<96,96,512>( f, (++, ++, +) ) o
  inp_view<fp16,fp16>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) )
where f(a, b) -> )") + function +
                            "\n");
  };
  const TileChoice converted = Best(product("(y: fp32) { y = fp32(a) * fp32(b) }"),
                                    NumericsPolicy::kReassociate, WideDevice());
  const TileChoice plain =
      Best(product("y { y = a * b }"), NumericsPolicy::kReassociate, WideDevice());
  EXPECT_EQ(converted.tile, plain.tile);
  EXPECT_EQ(converted.cycles, plain.cycles);
}

TEST(TileChoiceTest, OneRowTimesALargeMatrixAccumulatesInTheOutput) {
  const Expression thin = Shipped("matmul.mdh", {{"I", "1"}, {"J", "4096"}, {"K", "25088"}});
  const TileChoice best = Best(thin, NumericsPolicy::kReassociate);
  EXPECT_EQ(best.vector_dimension, 1);
  EXPECT_TRUE(best.accumulates_in_output);
  const TuningParameters p = DefaultParameters(thin, OpenMpSimdRegistersModel(), Avx2Device());
  EXPECT_EQ(p.accumulate_in, AccumulateIn::kOutput);
  EXPECT_EQ(p.tile[0], (std::vector<int64_t>{1, 4096, 12544}));  // rows stay whole
}

// What fetches lines ahead follows whole rows: results stay in the second-level cache meanwhile.
TEST(TileChoiceTest, FewRowsTimesALargeMatrixGoAlongWholeRows) {
  const auto part_of = [](const char* rows, const char* columns) {
    const Expression few = Shipped("matmul.mdh", {{"I", rows}, {"J", columns}, {"K", "4096"}});
    const TuningParameters p = DefaultParameters(few, OpenMpSimdRegistersModel(), WideDevice());
    EXPECT_EQ(p.accumulate_in, AccumulateIn::kOutput) << rows << " x " << columns;
    return std::vector<int64_t>{p.tile[1][0], p.tile[1][1]};
  };
  EXPECT_EQ(part_of("1", "8192"), (std::vector<int64_t>{1, 8192}));
  EXPECT_EQ(part_of("8", "4096"), (std::vector<int64_t>{8, 4096}));
  // As much of them as there is room for.
  const std::vector<int64_t> part = part_of("8", "100000");
  EXPECT_EQ(part[0], 8);
  EXPECT_LT(part[1], 100000);
  EXPECT_LE(8 * part[1] * 4, WideDevice().l2_bytes / 2);
}

// Of a Gram matrix, of rows of one buffer, those with lanes are packed as a product's are.
TEST(TileChoiceTest, AccessesOfOneBufferThatMoveApartArePackedApart) {
  const Expression gram = *ParseExpression(R"(
gram :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<376,376,1109>( f, (++, ++, +) ) o
  inp_view<fp32>( A: (i,j,k) -> (i,k), (i,j,k) -> (j,k) )
where f(a, b) -> c { c = a * b }
)");
  const SystemModel model = OpenMpSimdRegistersModel();
  int packed = 0;
  for (const TuningParameters& p :
       StartingParameters(gram, model, WideDevice(), NumericsPolicy::kReassociate)) {
    ASSERT_EQ(p.inputs.size(), 1u);
    EXPECT_TRUE(Validate(gram, model, WideDevice(), p).ok());
    packed += p.inputs[0].strip_dimension == 0;
  }
  EXPECT_GT(packed, 0);
}

TEST(TileChoiceTest, WithoutLanesThereAreNone) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "64"}, {"J", "64"}, {"K", "64"}});
  for (const TileChoice& choice :
       RankTiles(matmul, OpenMpL3Model(), Avx2Device(), NumericsPolicy::kReassociate, 5)) {
    EXPECT_EQ(choice.vector_dimension, -1);
  }
}

TEST(TileChoiceTest, RowsThatPassCachesBeginAtVectorsOrAreLong) {
  const auto may_pass = [](const char* rows, const char* columns) {
    const Expression matmul = Shipped("matmul.mdh", {{"I", rows}, {"J", columns}, {"K", "16"}});
    return HasRowsOfVectors(matmul, /*v=*/1, /*lanes=*/16);
  };
  EXPECT_TRUE(may_pass("100", "64"));
  EXPECT_FALSE(may_pass("100", "100"));
  EXPECT_TRUE(may_pass("100", "1001"));
  const Expression columns = Shipped("matmul.mdh", {{"I", "64"}, {"J", "64"}, {"K", "16"}});
  EXPECT_FALSE(HasRowsOfVectors(columns, /*v=*/0, /*lanes=*/16));
}

// Counting cannot tell whether results that the last cache has room for had better pass it.
TEST(TileChoiceTest, SearchesBeginWithResultsThatPassCachesAndThatStay) {
  DeviceDescription device = WideDevice();
  device.l2_bytes = 1 << 20;
  device.l3_bytes = 256 << 20;
  const auto ways = [&](const char* elements) {
    std::set<bool> streams;
    for (const TuningParameters& p :
         StartingParameters(Shipped("map.mdh", {{"I", elements}}), OpenMpSimdRegistersModel(),
                            device, NumericsPolicy::kReassociate)) {
      streams.insert(p.streams_results);
    }
    return streams;
  };
  EXPECT_THAT(ways("1048576"), ElementsAre(false, true));
  EXPECT_THAT(ways("65536"), ElementsAre(false));
}

// Rows that divide an extent leave no smaller tiles over.
TEST(TileChoiceTest, TilesOfConvolutionsDivideWhatTheyCover) {
  const Expression conv = Shipped(
      "mcc.mdh",
      {{"N", "16"}, {"P", "14"}, {"Q", "14"}, {"K", "256"}, {"R", "3"}, {"S", "3"}, {"C", "256"}});
  bool has_sevens = false;
  for (const TileChoice& choice : RankTiles(conv, OpenMpSimdRegistersModel(), WideDevice(),
                                            NumericsPolicy::kReassociate, 10)) {
    const int64_t rows = choice.tile[1] * choice.tile[2];
    has_sevens |= choice.vector_dimension == 3 && choice.tile[3] == 32 && rows == 14;
  }
  EXPECT_TRUE(has_sevens);
}

// Results of rows of seven would be partly in caches, partly not.
TEST(TileChoiceTest, ShortRowsOfManyResultsStayInCaches) {
  const auto streams = [](const char* columns) {
    const Expression matmul = Shipped("matmul.mdh", {{"I", "2000000"}, {"J", columns}, {"K", "7"}});
    const TuningParameters p = DefaultParameters(matmul, OpenMpSimdRegistersModel(), WideDevice(),
                                                 NumericsPolicy::kReassociate);
    return p.streams_results;
  };
  EXPECT_FALSE(streams("7"));
  EXPECT_TRUE(streams("16"));
}

TEST(TileChoiceTest, OnlyWhatPointsUseOfBuffersCounts) {
  const Expression part = *ParseExpression(R"(
part := out_view<fp32>( y[100,8]: (i,j) -> (i,j) ) o md_hom<4,8>( f, (++, ++) ) o
  inp_view<fp32>( x[100,8]: (i,j) -> (i,j) )
where f(x) -> y { y = x })");
  EXPECT_EQ(part.inputs()[0].size_bytes(), 3200);
  EXPECT_EQ(BytesUsed(part, part.inputs()[0]), 128);
  EXPECT_EQ(BytesUsed(part, part.outputs()[0]), 128);
  const Expression whole = Shipped("matmul.mdh", {{"I", "8"}, {"J", "8"}, {"K", "8"}});
  EXPECT_EQ(BytesUsed(whole, whole.inputs()[0]), 256);
}

TEST(StartingParametersTest, AreValidAndDifferentForAllShippedExpressions) {
  const SystemModel model = OpenMpSimdRegistersModel();
  const DeviceDescription device = Avx2Device();
  const std::string folder = SourcePath("client/expressions");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".mdh") continue;
    const Expression expression = Shipped(entry.path().filename(), {});
    for (const NumericsPolicy numerics :
         {NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder, NumericsPolicy::kFixedTree}) {
      const std::vector<TuningParameters> starts =
          StartingParameters(expression, model, device, numerics, 4);
      EXPECT_GE(starts.size(), 1u);
      EXPECT_LE(starts.size(), 4u);
      for (size_t n = 0; n < starts.size(); ++n) {
        const Status status = Validate(expression, model, device, starts[n]);
        EXPECT_TRUE(status.ok()) << entry.path() << ": " << status;
        for (size_t m = 0; m < n; ++m) EXPECT_FALSE(starts[n] == starts[m]) << entry.path();
      }
      EXPECT_EQ(DefaultParameters(expression, model, device, numerics), starts[0]);
    }
  }
}

}  // namespace
}  // namespace mdh::tile_choice_test
