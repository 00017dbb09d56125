// Parameters that rules give: for large products, and where extents are as large as numbers go:
// nothing may overflow, or loop until it does.
#include "codegen/choose/default_parameters.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/nest_shape.h"
#include "core/text/parser.h"
#include "tests/shipped_expression.h"

namespace mdh::default_parameters_test {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kDoublesPast = int64_t{3} << 61;  // the next doubling does not fit

// Three kinds of dimension that may be so long: reduced, kept and scanned.
constexpr char kReduced[] =
    "m<T = fp32 | I = 1, K = 1> := out_view<fp32>( C: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) ) o "
    "inp_view<fp32>( A: (i,k) -> (i) ) where f(A) -> C { C = A }";
constexpr char kReducedAndRead[] =
    "m<T = fp32 | I = 1, K = 1> := out_view<fp32>( C: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) ) o "
    "inp_view<int8>( A: (i,k) -> (i,k) ) where f(A) -> C { C = fp32(A) }";
constexpr char kKept[] =
    "m<T = fp32 | I = 1, K = 1> := out_view<int8>( C: (i,k) -> (i,k) ) o md_hom<I,K>( f, (++, ++) "
    ") o "
    "inp_view<int8>( A: (i,k) -> (i) ) where f(A) -> C { C = A }";
constexpr char kScanned[] =
    "m<T = fp32 | I = 1, K = 1> := out_view<int8>( C: (i,k) -> (i,k) ) o md_hom<I,K>( f, (++, "
    "ps(+)) ) o "
    "inp_view<int8>( A: (i,k) -> (i,k) ) where f(A) -> C { C = A }";
constexpr char kProduct[] =
    "m<T = fp32 | I = 1, J = 1, K = 1> := out_view<int8>( C: (i,j,k) -> (i,j) ) o "
    "md_hom<I,J,K>( f, (++, ++, +) ) o inp_view<int8,int8>( A: (i,j,k) -> (i,k), "
    "B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }";

constexpr char kSmallProduct[] =
    "m<T = fp32 | I = 1, J = 1, K = 1> := out_view<T>( C: (i,j,k) -> (i,j) ) o "
    "md_hom<I,J,K>( f, (++, ++, +) ) o inp_view<T,T>( A: (i,j,k) -> (i,k), "
    "B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }";

DeviceDescription Cpu() {
  DeviceDescription device;
  device.name = "test";
  device.cores = 96;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.l3_bytes = 32 << 20;
  device.compiler = "gcc and clang";
  return device;
}

DeviceDescription OpenClCpu() {
  DeviceDescription device = Cpu();
  device.kind = DeviceKind::kOpenCl;
  device.blocks.multiprocessors = device.cores;
  device.blocks.max_threads_per_block = 4096;
  device.blocks.max_block = {4096, 4096, 4096};
  device.blocks.max_grid = {kLargest, kLargest, kLargest};
  device.blocks.warp_size = 1;
  device.blocks.shared_bytes_per_block = 1 << 20;
  device.blocks.memory_bytes = kLargest;
  device.features = FeaturesOf(device);
  return device;
}

struct Target {
  std::string name;
  SystemModel model;
  DeviceDescription device;
};

std::vector<Target> Targets() {
  const DeviceDescription gpu = *DescribeCudaArchitecture(90);
  DeviceDescription opencl_gpu = gpu;
  opencl_gpu.kind = DeviceKind::kOpenCl;
  opencl_gpu.features = FeaturesOf(opencl_gpu);
  return {{"OpenMP", OpenMpModel(), Cpu()},
          {"OpenMP with level 3", OpenMpL3Model(), Cpu()},
          {"OpenMP with registers", OpenMpSimdRegistersModel(), Cpu()},
          {"CUDA", CudaModel(), gpu},
          {"CUDA with warps", CudaWarpModel(), gpu},
          {"OpenCL on a GPU", OpenClModel(), opencl_gpu},
          {"OpenCL on a CPU", OpenClModel(), OpenClCpu()}};
}

// A device that cannot count so far has no valid parameters for it, and nowhere is there room for
// prefix sums so long. What there is then must at least be whole: tiles of one point to all.
void ExpectSane(const std::string& text, const Bindings& sizes) {
  const Result<Expression> expression = ParseExpression(text, sizes);
  ASSERT_TRUE(expression.ok()) << expression.status();
  for (const Target& target : Targets()) {
    for (const NumericsPolicy numerics :
         {NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder, NumericsPolicy::kFixedTree}) {
      SCOPED_TRACE(testing::Message()
                   << target.name << ", numerics " << static_cast<int>(numerics));
      const std::vector<TuningParameters> starts =
          StartingParameters(*expression, target.model, target.device, numerics);
      ASSERT_FALSE(starts.empty());
      const bool has_room = target.device.kind == DeviceKind::kCpu && !expression->has_prefix_sum();
      for (const TuningParameters& parameters : starts) {
        const Status status = Validate(*expression, target.model, target.device, parameters);
        EXPECT_TRUE(status.ok() || !has_room) << status;
        for (const std::vector<int64_t>& tile : parameters.tile) {
          for (int d = 0; d < expression->rank(); ++d) {
            EXPECT_GE(tile[d], 1) << d;
            EXPECT_LE(tile[d], expression->dimensions()[d].size) << d;
          }
        }
      }
    }
  }
}

class HugeExtentsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  std::string longest() const { return std::to_string(GetParam()); }
};

TEST_P(HugeExtentsTest, Reduced) { ExpectSane(kReduced, {{"K", longest()}}); }

TEST_P(HugeExtentsTest, ReducedAndRead) { ExpectSane(kReducedAndRead, {{"K", longest()}}); }

TEST_P(HugeExtentsTest, Kept) { ExpectSane(kKept, {{"K", longest()}}); }

TEST_P(HugeExtentsTest, Scanned) { ExpectSane(kScanned, {{"K", longest()}}); }

TEST_P(HugeExtentsTest, ReducedBesideSeven) {
  ExpectSane(kReduced, {{"I", "7"}, {"K", std::to_string(GetParam() / 7)}});
}

TEST_P(HugeExtentsTest, KeptBesideSeven) {
  ExpectSane(kKept, {{"I", "7"}, {"K", std::to_string(GetParam() / 7)}});
}

INSTANTIATE_TEST_SUITE_P(All, HugeExtentsTest,
                         ::testing::Values(kDoublesPast, kLargest, kLargest / 2 + 1));

TEST(DefaultParametersTest, AnyDimensionOfAProductMayBeHuge) {
  for (const char* dimension : {"I", "J", "K"}) {
    SCOPED_TRACE(dimension);
    Bindings sizes = {{"I", "3"}, {"J", "2"}, {"K", "4"}};
    sizes[dimension] = std::to_string(kDoublesPast / 12);
    ExpectSane(kProduct, sizes);
  }
}

// 495 leaves 15 columns over beside whole vectors, which are four narrower ones, also where the
// sums of a long reduction are added up in memory; 500 leaves 4, which are one.
TuningParameters OfProduct(const std::string& i, const std::string& j, const std::string& k) {
  const Expression expression = *ParseExpression(kSmallProduct, {{"I", i}, {"J", j}, {"K", k}});
  DeviceDescription device = Cpu();
  device.cores = 2;
  return DefaultParameters(expression, OpenMpSimdRegistersModel(), device);
}

// Rows of A that are whole pages apart share a set of the first-level cache.
// From work against what a parallel region costs.
TEST(DefaultParametersTest, TinyProblemsHaveOneThreadAndLargeOnesAll) {
  const auto threads = [](int64_t size, int cores) {
    DeviceDescription device = Cpu();
    device.cores = cores;
    const std::string i = std::to_string(size);
    const Expression product = *ParseExpression(kSmallProduct, {{"I", i}, {"J", i}, {"K", i}});
    return DefaultParameters(product, OpenMpSimdRegistersModel(), device).threads;
  };
  for (const int cores : {1, 2, 96}) EXPECT_EQ(threads(8, cores), 1) << cores;
  EXPECT_EQ(threads(1000, 2), TuningParameters::kAllThreads);
  EXPECT_EQ(threads(1000, 96), TuningParameters::kAllThreads);
  const int some = threads(128, 96);
  EXPECT_GT(some, 1);
  EXPECT_LT(some, 96);
}

TEST(DefaultParametersTest, RowsThatCrowdACacheSetArePacked) {
  const TuningParameters crowded = OfProduct("4096", "4096", "4096");
  EXPECT_EQ(crowded.inputs[0].stage_layer, InputParameters::kWholeBuffer);
  EXPECT_EQ(crowded.inputs[0].strip_dimension, 0);
  const TuningParameters spread = OfProduct("4000", "4000", "4000");
  EXPECT_NE(spread.inputs[0].stage_layer, InputParameters::kWholeBuffer);
  // Too few columns that a copy would be read for.
  const TuningParameters narrow = OfProduct("4096", "64", "4096");
  EXPECT_NE(narrow.inputs[0].stage_layer, InputParameters::kWholeBuffer);
}

// Results are taken up again the less often.
TEST(DefaultParametersTest, ReductionsOverPackedStripsAreLong) {
  const TuningParameters parameters = OfProduct("4000", "4000", "4000");
  const std::vector<int64_t>& cache = parameters.tile[parameters.tile.size() - 4];
  EXPECT_GE(cache[2], 250) << ToText(parameters);
}

// A copy of all of a large input would be written to memory and read from there.
TEST(DefaultParametersTest, StripsOfLargeInputsArePackedInCaches) {
  const TuningParameters large = OfProduct("64", "4096", "4096");
  const int innermost = static_cast<int>(large.tile.size()) - 3;
  EXPECT_EQ(large.inputs[1].stage_layer, innermost - 1) << ToText(large);
  EXPECT_EQ(large.tile[innermost - 1][1], large.tile[innermost][1]);  // one strip
  EXPECT_EQ(large.tile[innermost - 1][0], 64);                        // for all rows
  EXPECT_EQ(OrderOfLayer(large.phase, 1).front(), 2);                 // of a part of the reduction
  const TuningParameters small = OfProduct("256", "192", "256");
  EXPECT_EQ(small.inputs[1].stage_layer, InputParameters::kWholeBuffer) << ToText(small);
}

TEST(DefaultParametersTest, RowsThatAreStripsAreNotCopied) {
  for (const char* const columns : {"64", "96"}) {
    const TuningParameters rows = OfProduct("256", columns, "256");
    EXPECT_EQ(rows.inputs[1].stage_layer, InputParameters::kInPlace) << ToText(rows);
  }
}

// Half of 1024 rows are 103 register tiles of five, a prime number: one more has divisors.
TEST(DefaultParametersTest, PartsOfCoresHaveDivisors) {
  const Expression product =
      *ParseExpression(kSmallProduct, {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  DeviceDescription device = Cpu();
  device.cores = 2;
  device.l1_bytes = 48 << 10;
  device.l2_bytes = 2 << 20;
  device.l3_bytes = int64_t{480} << 20;
  const TuningParameters parameters =
      DefaultParameters(product, OpenMpSimdRegistersModel(), device);
  const std::vector<int64_t>& core = parameters.tile[0];
  const std::vector<int64_t>& cache = parameters.tile[parameters.tile.size() - 4];
  const int64_t rows = parameters.tile[parameters.tile.size() - 3][0];
  EXPECT_LT(core[0], 1024);
  EXPECT_LE(core[0], 512 + 512 / 32) << ToText(parameters);  // still balanced
  EXPECT_EQ(core[0] % cache[0], 0) << ToText(parameters);
  EXPECT_GE(cache[0], 8 * rows) << ToText(parameters);
}

// A cache keeps the rows of windows that the next row of tiles reads again, so that blocks of them
// would only break up long rows. They are what is left where windows are larger than a register
// tile takes, or rows longer than the cache.
TEST(DefaultParametersTest, WindowsSlideAlongWholeRows) {
  DeviceDescription device = Cpu();
  device.cores = 2;
  const auto cache_tile = [&](const std::string& q, const std::string& window) {
    const Expression conv =
        Shipped("conv2d.mdh", {{"P", "4096"}, {"Q", q}, {"R", window}, {"S", window}});
    const TuningParameters parameters = DefaultParameters(conv, OpenMpSimdRegistersModel(), device);
    return parameters.tile[parameters.tile.size() - 4];
  };
  EXPECT_EQ(cache_tile("4096", "5")[1], 4096);
  EXPECT_LT(cache_tile("4096", "64")[1], 4096);
  EXPECT_LT(cache_tile("1000000", "5")[1], 1000000);
}

TEST(DefaultParametersTest, WholeVectorsWhereTheyAreFewerThanNarrowOnes) {
  const auto remainder = [](const std::string& j, const std::string& k) {
    const auto expression = ParseExpression(kSmallProduct, {{"I", "10"}, {"J", j}, {"K", k}});
    DeviceDescription device = Cpu();
    device.cores = 1;
    return DefaultParameters(*expression, OpenMpSimdRegistersModel(), device).remainder;
  };
  EXPECT_EQ(remainder("495", "64"), Remainder::kVectors);
  EXPECT_EQ(remainder("500", "64"), Remainder::kVariants);
  EXPECT_EQ(remainder("512", "64"), Remainder::kVariants);
  EXPECT_EQ(remainder("495", "100000"), Remainder::kVectors);
}

// A vector of work-items a block, without copies in what is no faster memory. They share a
// reduction only where there are too few results, and then neighbours read neighbours.
// On a GPU: the reduction's contiguous dimension belongs to neighbouring threads, as in reductions
// without prefix sums, and blocks have enough threads to keep memory busy.
TEST(DefaultParametersTest, ReductionsBeforePrefixSumsAreAsWithoutThem) {
  const DeviceDescription gpu = *DescribeCudaArchitecture(90);
  const SystemModel model = TuningModel(DeviceKind::kCuda);
  for (const char* rows : {"8192", "300", "7"}) {
    const Expression sums = Shipped("mbbs.mdh", {{"I", rows}, {"J", "8192"}});
    const TuningParameters p = DefaultParameters(sums, model, gpu);
    ASSERT_TRUE(Validate(sums, model, gpu, p).ok()) << ToText(p);
    const NestShape shape(sums, model, p);
    int64_t threads = 1, along_rows = 1;
    for (int n = 0; n < shape.count(); ++n) {
      if (!shape.is_thread(n)) continue;
      threads *= shape.levels()[n].parts;
      if (shape.is_reduced(n)) along_rows *= shape.levels()[n].parts;
    }
    EXPECT_GE(threads, 128) << ToText(p);
    EXPECT_GE(along_rows, 32) << ToText(p);
  }
}

// Where a line fits into a block of twice the threads, no block waits for another one.
TEST(DefaultParametersTest, BlocksHaveRoomForWholeLines) {
  const DeviceDescription gpu = *DescribeCudaArchitecture(90);
  const auto scan = [&](const char* text, const char* rows, const char* length) {
    const Expression lines = *ParseExpression(text, {{"I", rows}, {"K", length}}, "test");
    const TuningParameters p = DefaultParameters(lines, TuningModel(DeviceKind::kCuda), gpu);
    EXPECT_TRUE(Validate(lines, TuningModel(DeviceKind::kCuda), gpu, p).ok()) << ToText(p);
    return std::array{p.scan.threads, p.scan.rounds, p.scan.run};
  };
  constexpr char kLines[] =
      "m<|I = 1, K = 1> := out_view<fp32>( y: (i,k) -> (i,k) ) o md_hom<I,K>( f, (++, ps(+)) ) o "
      "inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> y { y = x }";
  EXPECT_EQ(scan(kLines, "13", "1000"), (std::array{256, 1, 4}));
  EXPECT_EQ(scan(kLines, "13", "2288"), (std::array{256, 4, 4}));
  EXPECT_EQ(scan(kLines, "13", "4624"), (std::array{512, 4, 4}));
  EXPECT_EQ(scan(kLines, "13", "8193"), (std::array{256, 1, 4}));
  EXPECT_EQ(scan(kLines, "4096", "6000"), (std::array{512, 4, 4}));
  EXPECT_EQ(scan(kLines, "1", "16777216"), (std::array{256, 4, 4}));
}

TEST(DefaultParametersTest, WorkItemsAreLanesOnCpusUnderOpenCl) {
  using Three = std::array<int64_t, 3>;
  const SystemModel model = OpenClModel();
  DeviceDescription device = OpenClCpu();
  device.blocks.multiprocessors = 2;
  const Expression product =
      *ParseExpression(kSmallProduct, {{"I", "64"}, {"J", "64"}, {"K", "64"}});
  const TuningParameters tiles = DefaultParameters(product, model, device);
  const NestShape blocks(product, model, tiles);
  EXPECT_EQ(blocks.Block(), (Three{16, 1, 1}));
  EXPECT_GE(blocks.Grid()[0] * blocks.Grid()[1], 8);
  EXPECT_EQ(tiles.tile[0], (std::vector<int64_t>{16, 16, 64}));
  for (const InputParameters& input : tiles.inputs) EXPECT_TRUE(input.memory.regions.empty());
  const Expression dot = Shipped("dot.mdh", {{"K", "1000000"}});
  const TuningParameters lanes = DefaultParameters(dot, model, device);
  const NestShape shares(dot, model, lanes);
  EXPECT_EQ(shares.Block(), (Three{16, 1, 1}));
  EXPECT_EQ(shares.Grid(), (Three{2, 1, 1}));
  EXPECT_EQ(lanes.tile[2], std::vector<int64_t>{1});
}

// Poolings and depthwise convolutions read and write rows of all channels, whose windows are small.
TEST(DefaultParametersTest, RowsOfWindowsAreWhole) {
  DeviceDescription device = Cpu();
  device.cores = 1;
  const SystemModel model = OpenMpSimdRegistersModel();
  const auto channels = [&](const char* of) {
    const Result<Expression> depthwise = ParseExpression(
        "m<| C = 1> := out_view<fp32>( y: (p,q,c,r,s) -> (p,q,c) ) o "
        "md_hom<218,218,C,3,3>( f, (++, ++, ++, +, +) ) o inp_view<fp32,fp32>( "
        "x: (p,q,c,r,s) -> (p+r,q+s,c), w: (p,q,c,r,s) -> (r,s,c) ) "
        "where f(x, w) -> y { y = x * w }",
        {{"C", of}});
    const TuningParameters p = DefaultParameters(*depthwise, model, device);
    return p.tile[InnermostMemoryLayer(model) - 1][2];
  };
  EXPECT_EQ(channels("117"), 117);
  EXPECT_EQ(channels("1000"), 1000);
  EXPECT_LT(channels("100000"), 100000);  // caches would keep no other row
}

// As those of convolutions that are said to be depthwise: tiles have lanes along channels, and the
// filters, whose channels are far apart, are packed in strips of them.
TEST(DefaultParametersTest, FiltersOfGroupsWithOneChannelArePacked) {
  DeviceDescription device = Cpu();
  device.cores = 1;
  const SystemModel model = OpenMpSimdRegistersModel();
  for (const char* groups : {"64", "200"}) {
    const Result<Expression> grouped = ParseExpression(
        "m<| G = 1, K = 1, C = 1> := out_view<fp32>( y: (p,q,g,k,r,s,c) -> (p,q,K*g+k) ) o "
        "md_hom<56,56,G,K,3,3,C>( f, (++, ++, ++, ++, +, +, +) ) o inp_view<fp32,fp32>( "
        "x: (p,q,g,k,r,s,c) -> (p+r,q+s,C*g+c), w: (p,q,g,k,r,s,c) -> (K*g+k,r,s,c) ) "
        "where f(x, w) -> y { y = x * w }",
        {{"G", groups}});
    ASSERT_TRUE(grouped.ok()) << grouped.status();
    const TuningParameters p = DefaultParameters(*grouped, model, device);
    EXPECT_EQ(LaneDimension(model, p), 2) << groups;
    EXPECT_EQ(p.inputs[1].strip_dimension, 0) << groups << ": " << ToText(p);
  }
}

// Strips of bytes that few rows use once: of as many points as there are pages that are found fast.
TEST(DefaultParametersTest, NarrowStripsThatAreUsedOnceAreOfFewPages) {
  DeviceDescription device = Cpu();
  device.cores = 1;
  device.isa = "x86-64 avx512_vnni amx_int8";
  device.features = FeaturesOf(device);
  for (const auto& [columns, points] : {std::pair<int64_t, int64_t>{4096, 64}, {2048, 128}}) {
    const Result<Expression> expression = ParseExpression(
        "m<T = int32 | I = 1, J = 1, K = 1> := out_view<T>( C: (i,j,k) -> (i,j) ) o "
        "md_hom<I,J,K>( f, (++, ++, +) ) o inp_view<uint8,int8>( A: (i,j,k) -> (i,k), "
        "B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = T(A) * T(B) }",
        {{"I", "16"}, {"J", std::to_string(columns)}, {"K", "4096"}});
    ASSERT_TRUE(expression.ok()) << expression.status();
    const SystemModel model = OpenMpSimdRegistersModel();
    const TuningParameters p =
        DefaultParameters(*expression, model, device, NumericsPolicy::kReassociate);
    ASSERT_EQ(p.dot_unit, DotUnit::kTiles);
    EXPECT_EQ(p.tile[InnermostMemoryLayer(model) - 1][2], points) << ToText(p);
  }
}

// Tiles request what they read in place of rows that are far apart, if that is more than a
// second-level cache keeps: fewer rows ahead where their lines share a set of the first level.
TEST(DefaultParametersTest, LinesOfFarRowsAreRequestedAhead) {
  const auto ahead = [](const char* left, const char* rows) {
    DeviceDescription device = Cpu();
    device.cores = 1;
    const Expression product = *ParseExpression(
        std::string("m<| I = 1> := out_view<fp64>( C: (i,j,k) -> (i,j) ) o md_hom<I,I,1000>( f, "
                    "(++, ++, +) ) o inp_view<fp64,fp64>( A: (i,j,k) -> ") +
            left + ", B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }",
        {{"I", rows}});
    const SystemModel model = OpenMpSimdRegistersModel();
    const TuningParameters p =
        DefaultParameters(product, model, device, NumericsPolicy::kReassociate);
    return p.prefetch * p.tile[InnermostMemoryLayer(model)][2];
  };
  EXPECT_EQ(ahead("(k,i)", "1000"), 32);
  EXPECT_EQ(ahead("(k,i)", "1024"), 4);
  EXPECT_EQ(ahead("(k,i)", "250"), 0);
  EXPECT_EQ(ahead("(i,k)", "1000"), 0);
}

// Of results that are equal to others rules compute one where a sum is long; their threads have as
// many parts from both ends of the diagonal.
TEST(DefaultParameters, ComputeHalfOfEqualResultsWhereThatPays) {
  const auto rules = [](int64_t rows, int64_t points, const DeviceDescription& device) {
    const Expression gram = *ParseExpression(
        "gram<T = fp32 | N = 1, K = 1> := out_view<T>( y: (i,j,k) -> (i,j) ) o "
        "md_hom<N,N,K>( f, (++, ++, +) ) o inp_view<T>( x: (i,j,k) -> (i,k), (i,j,k) -> (j,k) ) "
        "where f(a, b) -> y { y = a * b }",
        {{"N", std::to_string(rows)}, {"K", std::to_string(points)}});
    return DefaultParameters(gram, OpenMpSimdRegistersModel(), device,
                             NumericsPolicy::kReassociate);
  };
  DeviceDescription device = Cpu();
  EXPECT_FALSE(rules(2000, 2, device).mirrors);
  EXPECT_FALSE(rules(2, 1000, device).mirrors);
  for (const int cores : {1, 2, 8}) {
    device.cores = cores;
    const TuningParameters p = rules(1000, 1000, device);
    EXPECT_TRUE(p.mirrors) << cores;
    const int64_t parts = CeilDivide(1000, p.tile[0][0]) * CeilDivide(1000, p.tile[0][1]);
    EXPECT_GE(parts, cores == 1 ? 1 : 2 * cores - 1) << ToText(p);
    EXPECT_EQ(p.tile[0][2], 1000);
  }
  // Of parts along columns the last, which may have fewer, has least below the diagonal.
  device.cores = 2;
  const TuningParameters few = rules(130, 3000, device);
  EXPECT_TRUE(few.mirrors);
  EXPECT_EQ(few.tile[0][0], 130);
  EXPECT_LT(few.tile[0][1], 130);
}

}  // namespace
}  // namespace mdh::default_parameters_test
