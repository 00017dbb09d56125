// Golden sources of generated kernels. MDH_UPDATE_GOLDEN=1 in the environment rewrites them; review
// their diff like code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/backends/backends.h"
#include "codegen/backends/loop_nest.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/program/kernel.h"
#include "core/text/parser.h"
#include "tests/source_path.h"

namespace mdh::generated_source_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = SourcePath("tests/codegen/golden/") + name;
  if (std::getenv("MDH_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text, ReadText(path)) << path;
}

std::string DefaultSource(const std::string& text) {
  const Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  const SystemModel model = OpenMpSimdRegistersModel();
  const DeviceDescription device = Avx2Device();
  const auto low = Lower(*expression, model, device, DefaultParameters(*expression, model, device));
  EXPECT_TRUE(low.ok()) << low.status();
  return GenerateOpenMp(*low, device)->source;
}

std::string Source(const std::string& text, const std::string& parameters) {
  const Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  const Result<TuningParameters> parsed = ParseTuningParameters(parameters);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const auto low =
      Lower(*expression, *SystemModelNamed(parsed->system_model), Avx2Device(), *parsed);
  EXPECT_TRUE(low.ok()) << low.status();
  return GenerateOpenMp(*low, Avx2Device())->source;
}

constexpr char kMatMul[] = R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<100,500,64>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(a, b) -> c { c = a * b }
)";

constexpr char kTransposed[] = R"(
matmul_transposed :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<10,500,68>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (j,k) )
where f(a, b) -> c { c = a * b }
)";

constexpr char kDot[] = R"(
dot :=
  out_view<fp32>( s: (k) -> () ) o
  md_hom<1000000>( f, (+) ) o
  inp_view<fp32,fp32>( x: (k) -> (k), y: (k) -> (k) )
where f(x, y) -> s { s = x * y }
)";

constexpr char kJacobi[] = R"(
jacobi1d :=
  out_view<fp32>( y: (i) -> (i) ) o
  md_hom<1000>( f, (++) ) o
  inp_view<fp32>( x: (i) -> (i), (i+1), (i+2) )
where f(a, b, c) -> y { y = 0.25 * a + 0.5 * b + 0.25 * c }
)";

constexpr char kCustom[] = R"(
larger :=
  out_view<int32,int32>( best: (i,k) -> (i), at: (i,k) -> (i) ) o
  md_hom<8,100>( f, (++, pick) ) o
  inp_view<int32,int32>( x: (i,k) -> (i,k), p: (i,k) -> (k) )
where f(x, p) -> (b, a) { b = x; a = p },
      pick(b1, a1, b2, a2) -> (b, a) {
        let left = b1 > b2 || (b1 == b2 && a1 <= a2);
        b = left ? b1 : b2;
        a = left ? a1 : a2
      }
)";

// Not commutative: the parts of the cores are combined from left to right.
constexpr char kRecurrence[] = R"(
recurrence :=
  out_view<fp32,fp32>( a: (i) -> (i), b: (i) -> (i) ) o
  md_hom<100000>( f, (ps(then)) ) o
  inp_view<fp32,fp32>( x: (i) -> (i), y: (i) -> (i) )
where f(x, y) -> (a, b) { a = x; b = y },
      then(a1, b1, a2, b2) -> (a, b) { a = a1 * a2; b = a2 * b1 + b2 }
)";

constexpr char kSummedArea[] = R"(
summed_area :=
  out_view<fp64>( s: (i,j) -> (i,j) ) o
  md_hom<200,300>( f, (ps(+), ps(+)) ) o
  inp_view<fp32>( image: (i,j) -> (i,j) )
where f(image) -> (s: fp32) { s = image }
)";

constexpr char kPadded[] = R"(
padded :=
  out_view<fp32>( y: (i,r) -> (i) ) o
  md_hom<1000,3>( f, (++, +) ) o
  inp_view<fp32,fp32>( x[1000] else 0: (i,r) -> (i+r-1), w: (i,r) -> (r) )
where f(x, w) -> y { y = x * w }
)";

constexpr char kHalfRecords[] = R"(
nearest<Point = { x: fp16, y: fp16, id: int32 }, Best = { distance: fp32, id: int32 } | I = 64, J = 500> :=
  out_view<Best>( best: (i,j) -> (i) ) o
  md_hom<I,J>( f, (++, closer) ) o
  inp_view<Point,Point>( a: (i,j) -> (i), b: (i,j) -> (j) )
where f(a, b) -> best {
        let dx = fp32(a.x) - fp32(b.x);
        let dy = fp32(a.y) - fp32(b.y);
        best.distance = dx * dx + dy * dy;
        best.id = b.id
      },
      closer(p, q) -> r {
        let is_nan = q.distance != q.distance && (p.distance == p.distance || p.id < q.id);
        r = p.distance < q.distance || (p.distance == q.distance && p.id < q.id) || is_nan ? p : q
      }
)";

TEST(GeneratedSourceTest, PrefixSumOverCores) {
  ExpectGolden("recurrence.c", DefaultSource(kRecurrence));
}
TEST(GeneratedSourceTest, PrefixSumsInTwoDimensionsStoredInAnotherType) {
  ExpectGolden("summed_area.c", DefaultSource(kSummedArea));
}
TEST(GeneratedSourceTest, TilesInsideAndAtTheBoundary) {
  ExpectGolden("padded.c", DefaultSource(kPadded));
}
TEST(GeneratedSourceTest, RecordsWithHalfTypes) {
  ExpectGolden("half_records.c", DefaultSource(kHalfRecords));
}
TEST(GeneratedSourceTest, MatMulWithDefaults) { ExpectGolden("matmul.c", DefaultSource(kMatMul)); }
TEST(GeneratedSourceTest, DotSplitsTheReductionOverLanesAndCores) {
  ExpectGolden("dot.c", DefaultSource(kDot));
}
TEST(GeneratedSourceTest, JacobiLoadsEachElementOnce) {
  ExpectGolden("jacobi1d.c", DefaultSource(kJacobi));
}
TEST(GeneratedSourceTest, CustomOperatorWithoutIdentity) {
  ExpectGolden("larger.c",
               Source(kCustom,
                      "model=OpenMP+SIMD+RM; tile=8,100|8,100|8,100|8,4|8,1|1,1; "
                      "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1|in_place:0:-1; "
                      "accumulate=registers; chains=one; compiler=gcc; threads=1"));
}
TEST(GeneratedSourceTest, LanesOfAnOperatorWithoutIdentitySayWhetherTheyHaveAnyPoint) {
  ExpectGolden("larger_lanes.c", DefaultSource(kCustom));
}

TEST(GeneratedSourceTest, PackedTilesOfBothInputs) {
  ExpectGolden("matmul_packed.c",
               Source(kMatMul,
                      "model=OpenMP+SIMD+RM; tile=48,500,64|48,96,32|12,48,32|6,16,2|1,8,1|1,1,1; "
                      "order=1,0,2|2,1,0|0,1,2|1,0,2|0,1,2|0,1,2; inputs=2:0,1:0|1:1,0:1; "
                      "accumulate=registers; chains=one; compiler=gcc"));
}

TEST(GeneratedSourceTest, ResultsThatAreFinalAreStreamed) {
  ExpectGolden("jacobi1d_streaming.c",
               Source(kJacobi,
                      "model=OpenMP+SIMD+RM; tile=512|512|512|16|8|1; order=0|0|0|0|0|0; "
                      "inputs=in_place:0:-1; accumulate=registers; chains=one; compiler=gcc; "
                      "stores=streaming"));
}

TEST(GeneratedSourceTest, ResultsThatAreAddedToAreRequestedBeforehandAndNotStreamed) {
  const std::string source =
      Source(kMatMul,
             "model=OpenMP+SIMD+RM; tile=48,500,64|48,96,32|12,48,32|2,16,4|1,8,1|1,1,1; "
             "order=1,0,2|2,1,0|0,1,2|1,0,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|1:1,0:1; "
             "accumulate=registers; chains=one; compiler=gcc; stores=streaming; prefetch=8");
  ExpectGolden("matmul_prefetch.c", source);
  EXPECT_THAT(source, Not(HasSubstr("stream_")));
  EXPECT_THAT(source, HasSubstr("__builtin_prefetch(C + i * 500 + j, 1);"));
  // A is read in place, 8 iterations of 4 points ahead; the packed copy of B is in caches.
  EXPECT_THAT(source, HasSubstr("__builtin_prefetch(A + A_at + 32, 0);"));
  EXPECT_THAT(source, Not(HasSubstr("__builtin_prefetch(B")));
}

// Lanes are added up as a tree, and lines beside each other lane by lane; what is no whole vector
// by itself.
TEST(GeneratedSourceTest, PrefixSumsAreInVectors) {
  const std::string sums =
      "s := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<5,44>( f, (OPERATORS) ) o "
      "inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x }";
  const std::string parameters =
      "model=OpenMP+SIMD+RM; tile=5,44|5,44|5,44|1,16|1,8|1,1; order=0,1|0,1|0,1|0,1|0,1|0,1; "
      "inputs=in_place:0,1:-1";
  const auto of = [&](const char* operators) {
    return Source(absl::StrReplaceAll(sums, {{"OPERATORS", operators}}), parameters);
  };
  ExpectGolden("prefix_sums.c", of("ps(+), ps(+)"));
  const std::string largest = of("++, ps(max)");
  EXPECT_THAT(largest, HasSubstr("later_by_4_f32x8(splat_f32x8(-__builtin_inff()), "));
  EXPECT_THAT(of("ps(+), ++"), HasSubstr("const f32x8 sum0 = before0 + here0;"));
  // Only those that may be added up in another order.
  const std::string in_order = Source(absl::StrReplaceAll(sums, {{"OPERATORS", "++, ps(+)"}}),
                                      parameters + "; numerics=exact");
  EXPECT_THAT(in_order, Not(HasSubstr("later_by_")));
}

// In the outputs, if these are as arrays of results would be, and from where f finds the terms, if
// it computes nothing.
TEST(GeneratedSourceTest, PrefixSumsNeedNoArraysOfTheirOwn) {
  const auto of = [&](const std::string& y, const std::string& x, const std::string& f) {
    return Source("s := out_view<fp32>( y: (i,j) -> " + y +
                      " ) o md_hom<40,44>( f, (ps(+), ps(+)) ) o inp_view<fp32>( x: (i,j) -> " + x +
                      " ) where f(x) -> y { y = " + f + " }",
                  "model=OpenMP+SIMD+RM; tile=10,44|10,44|10,44|1,16|1,8|1,1; "
                  "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1");
  };
  const std::string named = of("(i,j)", "(i,j)", "x");
  EXPECT_THAT(named, HasSubstr("const f32x8 here0 = load_f32x8(x + i * 44 + j);"));
  EXPECT_THAT(named, Not(HasSubstr("y_partial")));
  EXPECT_THAT(named, Not(HasSubstr("tile_")));
  const std::string computed = of("(i,j)", "(i,j)", "x * x");
  EXPECT_THAT(computed, HasSubstr("tile_"));
  EXPECT_THAT(computed, HasSubstr("const f32x8 here0 = load_f32x8(y + i * 44 + j);"));
  EXPECT_THAT(computed, Not(HasSubstr("y_partial")));
  const std::string from_columns = of("(i,j)", "(j,i)", "x");
  EXPECT_THAT(from_columns, HasSubstr("const f32x8 here0 = load_f32x8(y + i * 44 + j);"));
  EXPECT_THAT(of("(j,i)", "(i,j)", "x"), HasSubstr("y_partial"));
}

// A row and a diagonal: both read x[2][0] first, and then x[3][0] and x[3][1].
TEST(GeneratedSourceTest, VectorsThatOnlyBeginAtOneElementAreLoadedTwice) {
  const std::string source = Source(
      "m := out_view<fp32>( y: (i) -> (i) ) o md_hom<16>( f, (++) ) o "
      "inp_view<fp32>( x[18, 18]: (i) -> (i, 0), (i + 2, i) ) "
      "where f(a, b) -> y { y = a + b }",
      "model=OpenMP+SIMD+RM; tile=16|16|16|16|2|1; order=0|0|0|0|0|0; inputs=in_place:0,1:-1");
  EXPECT_THAT(source, HasSubstr("gather_f32x2(x + 36, 18)"));
  EXPECT_THAT(source, HasSubstr("gather_f32x2(x + 36, 19)"));
}

TEST(GeneratedSourceTest, LastTilesThatBeginEarlier) {
  const std::string parameters =
      "model=OpenMP+SIMD+RM; tile=54,500,64|54,500,64|54,500,64|6,16,4|1,8,1|1,1,1; "
      "order=1,0,2|2,1,0|0,1,2|1,0,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|in_place:0,1:-1; "
      "accumulate=registers; chains=one; compiler=gcc; remainder=";
  const std::string overlap = Source(kMatMul, parameters + "overlap");
  ExpectGolden("matmul_overlap.c", overlap);
  // 4 columns are left over: a tile of one vector instead of one with half a vector.
  const std::string vectors = Source(kMatMul, parameters + "vectors");
  EXPECT_THAT(vectors, HasSubstr("tile_i4_j8("));
  EXPECT_THAT(vectors, Not(HasSubstr("tile_i4_j4(")));
}

// What accumulates in memory would be added twice: only vectors of one tile may overlap.
TEST(GeneratedSourceTest, LastVectorsOfResultsThatAccumulateBeginEarlier) {
  const auto source = [](int columns) {
    return Source(
        kMatMul,
        absl::StrCat("model=OpenMP+SIMD+RM; tile=100,500,64|100,500,64|100,500,64|8,", columns,
                     ",8|1,8,1|1,1,1; order=1,0,2|2,1,0|0,1,2|2,1,0|0,1,2|0,1,2; "
                     "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=output; "
                     "chains=one; compiler=gcc; remainder=overlap"));
  };
  // 20 columns are left over.
  EXPECT_THAT(source(24), HasSubstr("tile_i4_j20"));
  EXPECT_THAT(source(24), HasSubstr("C_i3_j12 = "));
  // 4 are left over, and 4 of the tile before are computed with them; the whole tiles end with 480.
  EXPECT_THAT(source(16), HasSubstr("for (int64_t j = 0; j + 16 <= 480; j += 16)"));
  EXPECT_THAT(source(16), HasSubstr("const int64_t j = 480;"));
  EXPECT_THAT(source(16), HasSubstr("tile_i4_j12"));
  EXPECT_THAT(source(16), HasSubstr("const int64_t j = 492;"));
  EXPECT_THAT(source(16), HasSubstr("tile_i4_j8"));
}

// The last strip holds what the last tile reads.
TEST(GeneratedSourceTest, LastStripsBeginEarlier) {
  const std::string source =
      Source(kMatMul,
             "model=OpenMP+SIMD+RM; tile=100,500,64|100,500,64|100,500,64|6,16,4|1,8,1|1,1,1; "
             "order=1,0,2|2,1,0|0,1,2|1,0,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|whole:1,0:1; "
             "accumulate=registers; chains=one; compiler=gcc; remainder=vectors");
  EXPECT_THAT(source, HasSubstr("for (int64_t lane = 0; lane < 8; lane++)"));
  EXPECT_THAT(source, HasSubstr("at1 + lane - 4]"));
  EXPECT_THAT(source, HasSubstr("(j + 15) / 16 * 16"));
}

TEST(GeneratedSourceTest, ResultsInTheOutputWhenTheLoopOrderIsFree) {
  ExpectGolden(
      "matmul_output.c",
      Source(
          kMatMul,
          "model=OpenMP; tile=50,500,64|50,500,32|10,50,16|1,1,1; order=0,1,2|2,1,0|2,0,1|2,1,0; "
          "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=output; chains=one; compiler=gcc"));
}

// Rows of 8 neighbours and, at the edge, of 4; 68 points along the reduction leave 4 over.
TEST(GeneratedSourceTest, LanesOfNeighboursAreCombinedTogether) {
  ExpectGolden("matmul_transposed.c",
               Source(kTransposed,
                      "model=OpenMP+SIMD+RM; tile=10,500,68|10,500,68|10,500,68|1,8,8|1,1,8|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|"
                      "in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc"));
}

// Accumulators keep their registers; elements have no others.
TEST(GeneratedSourceTest, ExponentialsAreCalledBehindLoops) {
  const std::string product = DefaultSource(R"(
grown := out_view<fp32>( y: (i,j,k) -> (i,j) ) o
  md_hom<64,64,256>( f, (++, ++, +), store grow ) o
  inp_view<fp32,fp32>( x: (i,j,k) -> (i,k), w: (i,j,k) -> (k,j) )
where f(x, w) -> (c: fp32) { c = x * w }, grow(c) -> y { y = exp(c) })");
  EXPECT_THAT(product, HasSubstr("mdh_exp_f32x8_apart("));
  const std::string map = DefaultSource(R"(
grown := out_view<fp32>( y: (i) -> (i) ) o md_hom<4096>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = exp(x) })");
  EXPECT_THAT(map, HasSubstr("mdh_exp_f32x8("));
  EXPECT_THAT(map, Not(HasSubstr("_apart")));
}

constexpr char kSmallSum[] = R"(
total := out_view<fp32>( s: (i) -> () ) o md_hom<8>( f, (+) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> s { s = x }
)";
constexpr char kSmallSumParameters[] =
    "model=OpenMP+SIMD+RM; tile=8|8|8|8|1|1; order=0|0|0|0|0|0; inputs=in_place:0:-1; "
    "accumulate=registers; chains=one; compiler=gcc";

TEST(GeneratedSourceTest, OneThreadNeedsNoRuntime) {
  const std::string source = Source(kSmallSum, absl::StrCat(kSmallSumParameters, "; threads=1"));
  EXPECT_THAT(source, HasSubstr("#define MDH_MOST_THREADS 1\n"));
  EXPECT_THAT(source, Not(HasSubstr("omp_")));
  EXPECT_THAT(source, Not(HasSubstr("omp.h")));
  EXPECT_THAT(source, HasSubstr("  stage_0(x, s, (char*)scratch);\n  return 0;\n"));
  const Expression expression = *ParseExpression(kSmallSum);
  const auto low = Lower(expression, OpenMpSimdRegistersModel(), Avx2Device(),
                         *ParseTuningParameters(absl::StrCat(kSmallSumParameters, "; threads=1")));
  const Kernel kernel = *GenerateOpenMp(*low, Avx2Device());
  EXPECT_EQ(kernel.threads, 1);
  EXPECT_THAT(kernel.compile_options, Not(::testing::Contains("-fopenmp")));
  EXPECT_THAT(kernel.header, HasSubstr("Computes on the calling thread."));
  EXPECT_THAT(GenerateLoopNest(expression).source, Not(HasSubstr("omp_")));
}

// Lanes are a decision: compilers do not make them where there are none.
TEST(GeneratedSourceTest, TilesWithoutLanesAreComputedWithoutVectors) {
  const auto options = [](const char* text, const std::string& parameters) {
    const auto low = Lower(*ParseExpression(text), OpenMpSimdRegistersModel(), Avx2Device(),
                           *ParseTuningParameters(parameters));
    return GenerateOpenMp(*low, Avx2Device())->compile_options;
  };
  EXPECT_THAT(options(kSmallSum, kSmallSumParameters), ::testing::Contains("-fno-tree-vectorize"));
  const std::string with_lanes =
      absl::StrReplaceAll(kSmallSumParameters, {{"8|8|8|8|1|1", "8|8|8|8|8|1"}});
  EXPECT_THAT(options(kSmallSum, with_lanes), Not(::testing::Contains("-fno-tree-vectorize")));
  // Integers may be added up in any order, and no bound counts their operations.
  const std::string integers = absl::StrReplaceAll(kSmallSum, {{"fp32", "int32"}});
  EXPECT_THAT(options(integers.c_str(), kSmallSumParameters),
              Not(::testing::Contains("-fno-tree-vectorize")));
  // No lanes may change the order of what is added up.
  const std::string exact = absl::StrCat(kSmallSumParameters, "; numerics=exact");
  EXPECT_THAT(options(kSmallSum, exact), Not(::testing::Contains("-fno-tree-vectorize")));
}

TEST(GeneratedSourceTest, SomeThreadsAreAtMostThoseThatThereAre) {
  const std::string source = Source(kSmallSum, absl::StrCat(kSmallSumParameters, "; threads=3"));
  EXPECT_THAT(source, HasSubstr("#define MDH_MOST_THREADS 3\n"));
  EXPECT_THAT(source, HasSubstr("const int threads = (int)mdh_min(omp_get_max_threads(), "
                                "MDH_MOST_THREADS);"));
  EXPECT_THAT(Source(kSmallSum, kSmallSumParameters), Not(HasSubstr("MDH_MOST_THREADS")));
}

TEST(GeneratedSourceTest, PlainLoopNest) {
  ExpectGolden("matmul_loop_nest.c", GenerateLoopNest(*ParseExpression(kMatMul)).source);
}

// Rows of B are walked along, C's are shared among threads.
TEST(GeneratedSourceTest, ReferenceNest) {
  ExpectGolden("matmul_reference_nest.c", GenerateReferenceNest(*ParseExpression(kMatMul)).source);
}

TEST(GeneratedSourceTest, ReferenceNestKeepsReductionsInsideWhereThatReadsRows) {
  const Result<Expression> transposed =
      ParseExpression(R"(matmul_t<T = fp32 | I = 9, J = 5, K = 6> :=
    out_view<T>( C: (i,j,k) -> (i,j) ) o
    md_hom<I,J,K>( f, (++, ++, +) ) o
    inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (j,k) )
  where f(A, B) -> C { C = A * B })");
  ASSERT_TRUE(transposed.ok()) << transposed.status();
  const std::string source = GenerateReferenceNest(*transposed).source;
  EXPECT_LT(source.find("int64_t j = 0"), source.find("int64_t k = 0")) << source;
  const std::string plain = GenerateReferenceNest(*ParseExpression(kMatMul)).source;
  EXPECT_LT(plain.find("int64_t k = 0"), plain.rfind("int64_t j = 0")) << plain;
}

TEST(GeneratedSourceTest, HeaderDeclaresTheThreeFunctionsForCAndCxx) {
  const Kernel kernel = GenerateLoopNest(*ParseExpression(kMatMul));
  EXPECT_THAT(kernel.header, HasSubstr("extern \"C\""));
  EXPECT_THAT(kernel.header, HasSubstr("#define mdh_matmul_A_elements 6400\n"));
  EXPECT_THAT(kernel.header,
              HasSubstr("//   A: float[100][64], 6400 elements, aligned to 4 bytes, read\n"
                        "//   B: float[64][500], 32000 elements, aligned to 4 bytes, read\n"));
  EXPECT_THAT(kernel.header,
              HasSubstr("int mdh_matmul(const float A[MDH_ELEMENTS(mdh_matmul_A_elements)], "
                        "const float B[MDH_ELEMENTS(mdh_matmul_B_elements)], "
                        "float C[MDH_ELEMENTS(mdh_matmul_C_elements)], void* scratch);"));
  EXPECT_THAT(kernel.header, HasSubstr("int64_t mdh_matmul_scratch_bytes(int threads);"));
  EXPECT_THAT(kernel.header, HasSubstr("void mdh_matmul_body(int stage, int thread, int threads,"));
}

}  // namespace
}  // namespace mdh::generated_source_test
