// Register tiles on dot instructions: what the interpreter computes, with copies and without, words
// that are not whole, all pairs of signs, lanes along either operand, and batches.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/program/kernel.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/property/kernel_judge.h"
#include "tests/random_expression.h"

namespace mdh::dots_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProduct[] = R"(
product<T = SUM | I = 13, J = 45, K = 47> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<TA,TB>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(A, B) -> C { C = SUM(A) * SUM(B) }
)";

// Both operands contiguous along k.
constexpr char kTransposed[] = R"(
product<T = SUM | I = 13, J = 45, K = 47> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<TA,TB>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (j,k) )
where f(A, B) -> C { C = SUM(A) * SUM(B) }
)";

constexpr char kConvolution[] = R"(
conv<T = SUM | P = 5, Q = 6, O = 19, R = 3, S = 3, C = 7> :=
  out_view<T>( y: (p,q,o,r,s,c) -> (p,q,o) ) o
  md_hom<P,Q,O,R,S,C>( f, (++, ++, ++, +, +, +), store s<T>( bias: (p,q,o,r,s,c) -> (o) ) ) o
  inp_view<TA,TB>( x[5,6,7] else 0: (p,q,o,r,s,c) -> (p+r-1,q+s-1,c),
                   w: (p,q,o,r,s,c) -> (r,s,c,o) )
where f(x, w) -> a { a = SUM(x) * SUM(w) },
      s(a, bias) -> y { y = max(a + bias, 0) }
)";

constexpr char kBatches[] = R"(
batches<T = SUM | B = 3, I = 12, J = 45, K = 42> :=
  out_view<T>( C: (b,i,j,k) -> (b,i,j) ) o
  md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o
  inp_view<TA,TB>( A: (b,i,j,k) -> (b,k,i), W: (b,i,j,k) -> (b,k,j) )
where f(A, W) -> C { C = SUM(A) * SUM(W) }
)";

struct Types {
  const char* a;
  const char* b;
  const char* sum;
};
constexpr Types kTypes[] = {{"bf16", "bf16", "fp32"},
                            {"uint8", "int8", "int32"},
                            {"int8", "uint8", "int32"},
                            {"int8", "int8", "int32"},
                            {"uint8", "uint8", "int32"}};

Expression ExpressionOf(const char* text, const Types& types) {
  const std::string typed =
      absl::StrReplaceAll(text, {{"TA", types.a}, {"TB", types.b}, {"SUM", types.sum}});
  Result<Expression> expression = ParseExpression(typed, {});
  EXPECT_TRUE(expression.ok()) << expression.status() << typed;
  return *std::move(expression);
}

DeviceDescription Device() {
  DeviceDescription device;
  device.cores = 2;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.isa = "x86-64 avx512_vnni avx512_bf16";
  device.features = FeaturesOf(device);
  device.compiler = "gcc, clang";
  return device;
}

// With tile registers, which kernels do without where the machine has none.
DeviceDescription DeviceWithTiles() {
  DeviceDescription device = Device();
  device.isa += " amx_bf16 amx_int8";
  device.features = FeaturesOf(device);
  return device;
}

void ExpectRight(const Expression& expression, const TuningParameters& parameters,
                 const std::vector<std::string>& further_options = {}) {
  const bool on_tiles = parameters.dot_unit == DotUnit::kTiles;
  const DeviceDescription device = on_tiles ? DeviceWithTiles() : Device();
  const auto low = Lower(expression, OpenMpSimdRegistersModel(), device, parameters);
  ASSERT_TRUE(low.ok()) << low.status();
  Result<Kernel> kernel = GenerateOpenMp(*low, device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_THAT(kernel->source, HasSubstr(on_tiles ? "mdh_configure_tiles" : "mdh_add_dots"));
  for (const std::string& option : further_options) kernel->compile_options.push_back(option);
  Rng rng(1);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
  const auto expected = Interpret(expression, inputs, AccumulationOf(parameters.numerics));
  ASSERT_TRUE(expected.ok()) << expected.status();
  const TemporaryDirectory directory;
  ASSERT_EQ(ErrorMessage(CompileKernel(*kernel, directory.path(), "kernel")), "no error");
  EXPECT_EQ(ErrorMessage(JudgeKernel(expression, *kernel, directory.path() + "/kernel.so", inputs,
                                     *expected)),
            "no error");
}

struct DotsCase {
  const char* expression;
  const char* parameters;
};
class DotsTest : public ::testing::TestWithParam<DotsCase> {};

TEST_P(DotsTest, ComputeWhatTheInterpreterComputes) {
  for (const Types& types : kTypes) {
    const Expression expression = ExpressionOf(GetParam().expression, types);
    SCOPED_TRACE(absl::StrCat(types.a, " ", types.b));
    const auto parameters = ParseTuningParameters(GetParam().parameters, expression);
    ASSERT_TRUE(parameters.ok()) << parameters.status();
    ExpectRight(expression, *parameters);
  }
}

#define NESTED "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
INSTANTIATE_TEST_SUITE_P(
    OfProducts, DotsTest,
    ::testing::Values(
        // in place, words at the end that are not whole
        DotsCase{
            kProduct,
            "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|4,32,8|1,16,1|1,1,1; " NESTED
            "inputs=in_place:0,1:-1|in_place:0,1:-1; dot=3"},
        // copied as a whole, in strips, and per part with the reduction cut
        DotsCase{kProduct,
                 "model=OpenMP+SIMD+RM; tile=8,45,47|8,45,47|8,45,47|4,32,4|1,16,1|1,1,1; " NESTED
                 "inputs=whole:0,1:0|whole:1,0:1; dot=3; remainder=overlap"},
        DotsCase{kProduct,
                 "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,16|13,45,16|3,16,8|1,8,1|1,1,1; " NESTED
                 "inputs=2:0,1:-1|2:0,1:1; dot=3; remainder=vectors"},
        // lanes along A's dimension
        DotsCase{kTransposed,
                 "model=OpenMP+SIMD+RM; tile=13,45,24|13,45,24|13,45,24|8,5,8|4,1,1|1,1,1; " NESTED
                 "inputs=1:0,1:0|in_place:0,1:-1; dot=3"},
        DotsCase{
            kTransposed,
            "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|2,32,16|1,16,1|1,1,1; " NESTED
            "inputs=in_place:0,1:-1|whole:0,1:0; dot=3; chains=independent"},
        // rows innermost, which share what flipped signs add, in parts of the reduction
        DotsCase{kProduct,
                 "model=OpenMP+SIMD+RM; tile=13,45,47|12,45,16|6,45,16|3,32,8|1,16,1|1,1,1; "
                 "order=0,1,2|2,0,1|0,1,2|1,0,2|0,1,2|0,1,2; "
                 "inputs=in_place:0,1:-1|2:1,0:1; dot=3; remainder=vectors"},
        DotsCase{kTransposed,
                 "model=OpenMP+SIMD+RM; tile=10,45,47|10,45,47|10,45,47|5,45,12|1,16,1|1,1,1; "
                 "order=0,1,2|0,1,2|0,1,2|1,0,2|0,1,2|0,1,2; "
                 "inputs=in_place:0,1:-1|whole:0,1:0; dot=3; remainder=overlap"},
        // more lanes than vectors with such instructions have
        DotsCase{
            kProduct,
            "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|3,32,8|1,32,1|1,1,1; " NESTED
            "inputs=in_place:0,1:-1|whole:1,0:1; dot=3"},
        // results in memory
        DotsCase{kTransposed,
                 "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|2,16,12|1,16,1|1,1,1; "
                 "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; "
                 "inputs=in_place:0,1:-1|in_place:0,1:-1; dot=3; accumulate=output; chains=one"}));
#undef NESTED

// ---- Tile registers ----

constexpr char kLong[] = R"(
product<T = SUM | I = 37, J = 50, K = 333> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<TA,TB>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(A, B) -> C { C = SUM(A) * SUM(B) }
)";

#define NESTED "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
#define TILES "dot=3; dot_unit=tiles"
INSTANTIATE_TEST_SUITE_P(
    OnTiles, DotsTest,
    ::testing::Values(
        // rows in place, k that fills no tile, and lanes that fill none
        DotsCase{
            kProduct,
            "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|13,32,47|1,16,1|1,1,1; " NESTED
            "inputs=in_place:0,1:-1|whole:1,0:1; " TILES},
        // rows copied, fewer in the last tiles
        DotsCase{
            kProduct,
            "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|5,16,47|1,16,1|1,1,1; " NESTED
            "inputs=whole:0,1:-1|whole:1,0:1; " TILES "; remainder=vectors"},
        DotsCase{
            kTransposed,
            "model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|4,45,47|1,16,1|1,1,1; " NESTED
            "inputs=in_place:0,1:-1|whole:0,1:0; " TILES "; remainder=overlap"},
        // two by two tiles, parts of k that are added to what is in memory, and of cores
        DotsCase{kLong,
                 "model=OpenMP+SIMD+RM; tile=37,50,333|37,50,128|37,50,64|32,32,64|1,16,1|1,1,1; "
                 "order=0,1,2|2,0,1|0,1,2|1,0,2|0,1,2|0,1,2; "
                 "inputs=in_place:0,1:-1|2:1,0:1; " TILES},
        DotsCase{
            kLong,
            "model=OpenMP+SIMD+RM; tile=37,50,192|37,50,192|37,50,64|16,48,64|1,16,1|1,1,1; " NESTED
            "inputs=2:0,1:-1|2:1,0:1; " TILES},
        // all lanes of tiles, of which there are more than of rows
        DotsCase{kLong,
                 "model=OpenMP+SIMD+RM; "
                 "tile=32,50,333|32,50,333|32,50,333|16,50,128|1,16,1|1,1,1; " NESTED
                 "inputs=in_place:0,1:-1|whole:1,0:1; " TILES "; threads=2"}));
#undef NESTED
INSTANTIATE_TEST_SUITE_P(
    OnTilesOfRowsBesideOthers, DotsTest,
    ::testing::Values(
        // an image with a border, two rows of it, and a store function
        DotsCase{kConvolution,
                 "model=OpenMP+SIMD+RM; tile=5,6,19,3,3,7|5,6,19,3,3,7|5,6,19,3,3,7|2,6,19,1,3,7|"
                 "1,1,16,1,1,1|1,1,1,1,1,1; order=0,1,2,3,4,5|0,1,2,3,4,5|0,1,2,3,4,5|0,1,2,3,4,5|"
                 "0,1,2,3,4,5|0,1,2,3,4,5; inputs=2:0,1,2:-1|whole:3,0,1,2:3; dot=6; "
                 "dot_unit=tiles"},
        DotsCase{kBatches,
                 "model=OpenMP+SIMD+RM; tile=3,12,45,42|3,12,45,42|3,12,45,42|1,12,32,42|1,1,16,1|"
                 "1,1,1,1; order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; "
                 "inputs=whole:0,2,1:-1|whole:2,0,1:2; dot=4; dot_unit=tiles"}));

// What a compiler makes of them whose target has no tile registers.
TEST(TilesTest, AreInMemoryElsewhere) {
  for (const Types& types : kTypes) {
    const Expression expression = ExpressionOf(kLong, types);
    const auto parameters = ParseTuningParameters(
        "model=OpenMP+SIMD+RM; tile=37,50,333|37,50,128|37,50,64|32,32,64|1,16,1|1,1,1; "
        "order=0,1,2|2,0,1|0,1,2|1,0,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|2:1,0:1; " TILES,
        expression);
    ASSERT_TRUE(parameters.ok()) << parameters.status();
    ExpectRight(expression, *parameters, {"-mno-amx-tile"});
  }
}
#undef TILES

TEST(TilesTest, RulesHaveThemAndAreRight) {
  for (const char* text : {kLong, kTransposed, kConvolution, kBatches}) {
    for (const Types& types : {kTypes[0], kTypes[3]}) {
      const Expression expression = ExpressionOf(text, types);
      SCOPED_TRACE(absl::StrCat(text, types.a, " ", types.b));
      for (const TuningParameters& start :
           StartingParameters(expression, OpenMpSimdRegistersModel(), DeviceWithTiles(),
                              NumericsPolicy::kReassociate, /*most=*/20)) {
        if (start.dot_unit != DotUnit::kTiles || !start.fused.empty()) continue;
        ExpectRight(expression, start);
        break;
      }
    }
  }
  // Of an image with few channels, whose rows have no words but along these.
  const Expression few = ExpressionOf(
      "conv<T = SUM | P = 11, Q = 18, O = 32, R = 7, S = 7, C = 3> := out_view<T>( y: "
      "(p,q,o,r,s,c) -> (p,q,o) ) o md_hom<P,Q,O,R,S,C>( f, (++, ++, ++, +, +, +) ) o "
      "inp_view<TA,TB>( x: (p,q,o,r,s,c) -> (2*p+r,2*q+s,c), w: (p,q,o,r,s,c) -> (r,s,c,o) )\n"
      "where f(x, w) -> a { a = SUM(x) * SUM(w) }",
      kTypes[0]);
  const TuningParameters of_few =
      DefaultParameters(few, OpenMpSimdRegistersModel(), DeviceWithTiles());
  EXPECT_GT(of_few.dot, 0);
  const Expression large = *ParseExpression(
      absl::StrReplaceAll(kLong, {{"TA", "bf16"}, {"TB", "bf16"}, {"SUM", "fp32"}}),
      {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const auto unit_of = [&](const DeviceDescription& device) {
    return DefaultParameters(large, OpenMpSimdRegistersModel(), device).dot_unit;
  };
  EXPECT_EQ(unit_of(DeviceWithTiles()), DotUnit::kTiles);
  EXPECT_EQ(unit_of(Device()), DotUnit::kVectors);
  // Nor do spaces of models without registers have them.
  for (const TuningParameters& start :
       StartingParameters(large, OpenMpL3SimdModel(), DeviceWithTiles())) {
    EXPECT_EQ(start.dot_unit, DotUnit::kVectors);
  }
}

// Only where signs are flipped, and tiles with the same words follow each other.
TEST(DotSourceTest, WhatFlippedSignsAddIsCountedInTheFirstOfTilesThatShareIt) {
  const auto source = [](const Types& types, absl::string_view order) {
    const Expression expression = ExpressionOf(kProduct, types);
    const auto parameters = ParseTuningParameters(
        absl::StrCat("model=OpenMP+SIMD+RM; tile=13,45,47|13,45,47|13,45,47|4,32,8|1,16,1|1,1,1; "
                     "order=0,1,2|0,1,2|0,1,2|",
                     order, "|0,1,2|0,1,2; inputs=in_place:0,1:-1|whole:1,0:1; dot=3"),
        expression);
    EXPECT_TRUE(parameters.ok()) << parameters.status();
    const auto low = Lower(expression, OpenMpSimdRegistersModel(), Device(), *parameters);
    EXPECT_TRUE(low.ok()) << low.status();
    return GenerateOpenMp(*low, Device())->source;
  };
  const Types alike = {"int8", "int8", "int32"}, different = {"uint8", "int8", "int32"};
  EXPECT_THAT(source(alike, "1,0,2"), HasSubstr("const int uncounted = i == 0;"));
  EXPECT_THAT(source(alike, "0,1,2"), Not(HasSubstr("uncounted")));
  EXPECT_THAT(source(different, "1,0,2"), Not(HasSubstr("uncounted")));
}

// What rules choose.
TEST(DotDefaultsTest, HaveThemAndAreRight) {
  for (const char* text : {kProduct, kTransposed, kConvolution, kBatches}) {
    for (const Types& types : kTypes) {
      const Expression expression = ExpressionOf(text, types);
      SCOPED_TRACE(absl::StrCat(text, types.a, " ", types.b));
      const TuningParameters parameters =
          DefaultParameters(expression, OpenMpSimdRegistersModel(), Device());
      EXPECT_GT(parameters.dot, 0);
      if (parameters.dot > 0) ExpectRight(expression, parameters);
    }
  }
  DeviceDescription without = Device();
  without.features = {};
  const Expression expression = ExpressionOf(kProduct, kTypes[0]);
  EXPECT_EQ(DefaultParameters(expression, OpenMpSimdRegistersModel(), without).dot, 0);
}

}  // namespace
}  // namespace mdh::dots_test
