// Copies in strips of register tiles, with tiles at edges of which there are few (those are
// generated differently): configurations of which random ones are hardly ever, and searches often.
#include "codegen/backends/backends.h"
#include "codegen/program/kernel.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/property/kernel_judge.h"
#include "tests/random_expression.h"

namespace mdh::strips_test {
namespace {

constexpr char kProduct[] = R"(
product<T = fp32 | I = 61, J = 53, K = 47> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(A, B) -> C { C = A * B }
)";

// B transposed, so that packing it for vectors along j takes other neighbours than memory has.
constexpr char kTransposed[] = R"(
product<T = fp32 | I = 11, J = 107, K = 69> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<T,T>( A: (i,j,k) -> (k,i), B: (i,j,k) -> (j,k) )
where f(A, B) -> C { C = A * B }
)";

// Compiles the kernel that these parameters give, and compares its results with the interpreter's.
void ExpectRight(const char* text, const Bindings& bindings, const char* parameters_text) {
  const auto expression = ParseExpression(text, bindings);
  ASSERT_TRUE(expression.ok()) << expression.status();
  const auto parameters = ParseTuningParameters(parameters_text, *expression);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  DeviceDescription device;
  device.cores = 2;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.compiler = "gcc";
  const auto low_level = Lower(*expression, OpenMpSimdRegistersModel(), device, *parameters);
  ASSERT_TRUE(low_level.ok()) << low_level.status();
  const Result<Kernel> kernel = GenerateOpenMp(*low_level, device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  Rng rng(1);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, *expression);
  const auto expected = Interpret(*expression, inputs, AccumulationOf(parameters->numerics));
  ASSERT_TRUE(expected.ok()) << expected.status();
  const TemporaryDirectory directory;
  ASSERT_EQ(ErrorMessage(CompileKernel(*kernel, directory.path(), "kernel")), "no error");
  EXPECT_EQ(ErrorMessage(JudgeKernel(*expression, *kernel, directory.path() + "/kernel.so", inputs,
                                     *expected)),
            "no error");
}

class StripsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(StripsTest, ComputeWhatTheInterpreterComputes) { ExpectRight(kProduct, {}, GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    OfReductions, StripsTest,
    ::testing::Values(
        // of A, packed as a whole and per part of a layer
        "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,47|32,53,47|8,48,4|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=whole:1,0:1|in_place:0,1:-1; "
        "accumulate=registers; chains=one; compiler=gcc",
        "model=OpenMP+SIMD+RM; tile=56,32,47|56,32,47|56,32,47|14,16,3|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=2:1,0:1|in_place:0,1:-1; "
        "accumulate=registers; chains=one; compiler=gcc",
        "model=OpenMP+SIMD+RM; tile=61,53,47|32,53,47|32,53,47|8,12,4|1,4,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=1:1,0:1|in_place:0,1:-1; "
        "accumulate=registers; chains=one; compiler=gcc; prefetch=32",
        // of a width of which a tile of one row is left when it is transposed
        "model=OpenMP+SIMD+RM; tile=30,53,47|30,53,47|30,53,47|5,16,4|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=whole:0,1:0|in_place:0,1:-1; "
        "accumulate=registers; chains=one; compiler=gcc",
        // of B
        "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,47|32,53,47|8,48,11|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=in_place:0,1:-1|2:0,1:0; "
        "accumulate=registers; chains=one; compiler=gcc; prefetch=32",
        // the reduction in parts, the last one incomplete
        "model=OpenMP+SIMD+RM; tile=61,53,47|32,53,24|32,53,24|8,48,4|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=2:1,0:1|in_place:0,1:-1; "
        "accumulate=registers; chains=one; compiler=gcc"));

class TransposedCopiesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TransposedCopiesTest, ComputeWhatTheInterpreterComputes) {
  for (const char* type : {"fp32", "fp64", "fp16", "int8"}) {
    SCOPED_TRACE(type);
    ExpectRight(kTransposed, {{"T", type}}, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfPackedInputs, TransposedCopiesTest,
    ::testing::Values(
        // strips as wide as the tile, of which the last one is not full; rows that are left over
        "model=OpenMP+SIMD+RM; tile=11,64,69|11,64,69|11,64,69|5,32,3|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|whole:0,1:0; "
        "accumulate=registers; chains=one; compiler=gcc",
        // strips of several tiles, one of which is narrower
        "model=OpenMP+SIMD+RM; tile=11,96,69|11,48,69|11,48,69|1,24,3|1,8,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|2:0,1:0; "
        "accumulate=registers; chains=one; compiler=gcc",
        "model=OpenMP+SIMD+RM; tile=11,80,69|11,40,32|11,40,32|2,20,4|1,4,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|2:0,1:0; "
        "accumulate=registers; chains=one; compiler=clang",
        // no strips: the other order of dimensions
        "model=OpenMP+SIMD+RM; tile=11,64,69|11,64,69|11,64,23|5,16,23|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|whole:1,0:-1; "
        "accumulate=registers; chains=one; compiler=gcc",
        "model=OpenMP+SIMD+RM; tile=11,64,69|11,64,32|11,64,32|5,16,32|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|2:1,0:-1; "
        "accumulate=registers; chains=one; compiler=gcc",
        // a last tile that begins earlier
        "model=OpenMP+SIMD+RM; tile=11,107,69|11,107,69|11,107,69|4,16,3|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|whole:0,1:0; "
        "accumulate=registers; chains=one; compiler=gcc; remainder=overlap"));

// Accesses of one buffer that move apart: of those with lanes along the strips there are copies.
constexpr char kApart[] = R"(
apart<T = fp32 | N = 53> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<N,N,N>( f, (++, ++, +) ) o
  inp_view<T>( A: (i,j,k) -> (i,k), (i,j,k) -> (j,k), (i,j,k) -> (k,j) )
where f(row, column, turned) -> C { C = row * column + turned }
)";

class SeparateStripsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SeparateStripsTest, ComputeWhatTheInterpreterComputes) {
  for (const char* type : {"fp32", "fp64", "int8"}) {
    SCOPED_TRACE(type);
    ExpectRight(kApart, {{"T", type}}, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfOneInput, SeparateStripsTest,
    ::testing::Values(
        // of the second access, as a whole and where it is used
        "model=OpenMP+SIMD+RM; tile=32,53,53|32,53,53|32,53,53|4,32,4|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=whole:0,1:0; "
        "accumulate=registers; chains=one; compiler=gcc",
        "model=OpenMP+SIMD+RM; tile=53,32,53|53,32,24|53,32,24|5,16,3|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=2:0,1:0; "
        "accumulate=registers; chains=one; compiler=clang; remainder=vectors",
        // of the third one, and of the first one
        "model=OpenMP+SIMD+RM; tile=53,32,53|53,32,53|53,32,53|5,16,3|1,16,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=2:0,1:1; "
        "accumulate=registers; chains=one; compiler=gcc",
        "model=OpenMP+SIMD+RM; tile=32,53,53|32,53,53|32,53,53|16,5,3|16,1,1|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=2:0,1:0; "
        "accumulate=registers; chains=one; compiler=gcc",
        // lanes along the reduction: of two of them
        "model=OpenMP+SIMD+RM; tile=32,53,53|32,53,53|32,53,53|4,3,16|1,1,16|1,1,1; "
        "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; inputs=whole:0,1:1; "
        "accumulate=registers; chains=one; compiler=gcc"));

// Strips of groups of neighbours, as filters of grouped convolutions have them.
constexpr char kGroups[] = R"(
groups<T = fp32 | I = 11, G = 5, K = 21, C = 9> :=
  out_view<T>( y: (i,g,k,c) -> (i, K*g + k) ) o
  md_hom<I,G,K,C>( f, (++, ++, ++, +) ) o
  inp_view<T,T>( x: (i,g,k,c) -> (i, C*g + c), w: (i,g,k,c) -> (K*g + k, c) )
where f(x, w) -> y { y = x * w }
)";

class StripsOfGroupsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(StripsOfGroupsTest, ComputeWhatTheInterpreterComputes) {
  for (const char* type : {"fp32", "fp64", "int8"}) {
    SCOPED_TRACE(type);
    ExpectRight(kGroups, {{"T", type}}, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfFilters, StripsOfGroupsTest,
    ::testing::Values(
        // of all groups, and of those that a core or a cache has
        "model=OpenMP+SIMD+RM; tile=11,5,21,9|11,5,21,9|11,5,21,9|4,1,21,3|1,1,16,1|1,1,1,1; "
        "order=0,1,2,3|0,1,2,3|0,1,2,3|1,2,0,3|0,1,2,3|0,1,2,3; "
        "inputs=in_place:0,1:-1|whole:0,1:0; accumulate=registers; chains=one; compiler=gcc; "
        "remainder=vectors",
        "model=OpenMP+SIMD+RM; tile=11,3,21,9|11,3,21,9|6,1,21,3|2,1,21,3|1,1,8,1|1,1,1,1; "
        "order=0,1,2,3|0,1,2,3|0,1,2,3|1,2,0,3|0,1,2,3|0,1,2,3; "
        "inputs=in_place:0,1:-1|2:0,1:0; accumulate=registers; chains=one; compiler=clang",
        // several groups in a tile, in the other order
        "model=OpenMP+SIMD+RM; tile=6,4,21,9|6,4,21,9|6,4,21,9|1,2,21,1|1,1,16,1|1,1,1,1; "
        "order=0,1,2,3|0,1,2,3|0,1,2,3|1,2,0,3|0,1,2,3|0,1,2,3; "
        "inputs=in_place:0,1:-1|1:1,0:0; accumulate=registers; chains=one; compiler=gcc"));

}  // namespace
}  // namespace mdh::strips_test
