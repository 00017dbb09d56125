// Sums of short integers in longer ones, with the largest and smallest values there are, extremes
// of fp16 and bf16, with few nan, and sums of these in themselves, on sizes around whole vectors
// and blocks: what the interpreter computes.
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/lower/tiles/narrow_reduction.h"
#include "codegen/program/kernel.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "tests/drawn.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/property/judged_case.h"
#include "tests/property/kernel_judge.h"
#include "tests/random_expression.h"

namespace mdh::narrow_reductions_test {
namespace {

constexpr char kSum[] =
    "e<R, A | I> := out_view<R>( c: (i) -> () ) o md_hom<I>( f, (+) ) o "
    "inp_view<A>( a: (i) -> (i) ) where f(a) -> c { c = R(a) }";
constexpr char kDot[] =
    "e<R, A, B | I> := out_view<R>( c: (i) -> () ) o md_hom<I>( f, (+) ) o "
    "inp_view<A,B>( a: (i) -> (i), b: (i) -> (i) ) where f(a, b) -> c { c = R(a) * R(b) }";
constexpr char kRows[] =
    "e<R, A, B | I, K> := out_view<R>( c: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) ) o "
    "inp_view<A,B>( a: (i,k) -> (i,k), b: (i,k) -> (k) ) where f(a, b) -> c { c = R(a) * R(b) }";
constexpr char kColumns[] =
    "e<R, A | I, K> := out_view<R>( c: (i,k) -> (k) ) o md_hom<I,K>( f, (+, ++) ) o "
    "inp_view<A>( a: (i,k) -> (i,k) ) where f(a) -> c { c = R(a) }";

constexpr char kExtreme[] =
    "e<R, A | I> := out_view<R>( c: (i) -> () ) o md_hom<I>( f, (OP) ) o "
    "inp_view<A>( a: (i) -> (i) ) where f(a) -> c { c = R(a) }";
constexpr char kExtremeOfRows[] =
    "e<R, A | I, K> := out_view<R>( c: (i,k) -> (i) ) o md_hom<I,K>( f, (++, OP) ) o "
    "inp_view<A>( a: (i,k) -> (i,k) ) where f(a) -> c { c = a }";

DeviceDescription Device() {
  DeviceDescription device;
  device.cores = 2;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.compiler = "gcc";
  return device;
}

// Of floating-point types: negative and positive infinity, both zeros in turn, and anything; then
// anything, but of nan only -nan and nan at two places.
enum class Fill { kSmallest, kLargest, kInTurn, kAny, kFewNan };

// One of fp16 or bf16, by its bits.
uint16_t FilledHalf(ScalarType type, Fill fill, size_t n, size_t count, Rng& rng) {
  const uint16_t infinity = type == ScalarType::kFloat16 ? 0x7c00 : 0x7f80;
  if (fill == Fill::kSmallest) return infinity | 0x8000;
  if (fill == Fill::kLargest) return infinity;
  if (fill == Fill::kInTurn) return n % 2 == 0 ? 0x8000 : 0;
  const auto any = static_cast<uint16_t>(Below(rng, 65536));
  if (fill == Fill::kAny) return any % infinity;  // no nan, nothing negative
  if (n == count / 3) return infinity | 0x8001;
  if (n == count - 1) return infinity | 1;
  return (any & 0x8000) | (any & 0x7fff) % infinity;
}

// Bools stay 0 or 1.
std::vector<BufferBytes> Filled(const Expression& e, Fill fill) {
  Rng rng(3);
  std::vector<BufferBytes> inputs;
  for (const Buffer& buffer : e.inputs()) {
    const int size = buffer.type.size_bytes();
    const bool is_bool = buffer.type.scalar() == ScalarType::kBool;
    const bool is_signed = IsSigned(buffer.type.scalar());
    BufferBytes bytes(static_cast<size_t>(buffer.size_bytes()));
    if (IsStorageOnly(buffer.type.scalar())) {
      for (size_t n = 0; n < bytes.size() / 2; ++n) {
        const uint16_t half = FilledHalf(buffer.type.scalar(), fill, n, bytes.size() / 2, rng);
        std::memcpy(&bytes[2 * n], &half, sizeof half);
      }
      inputs.push_back(std::move(bytes));
      continue;
    }
    for (size_t n = 0; n < bytes.size(); ++n) {
      const bool is_top = n % static_cast<size_t>(size) == static_cast<size_t>(size) - 1;
      const unsigned smallest = is_signed && is_top ? 0x80 : 0;
      const unsigned largest = is_signed && is_top ? 0x7f : 0xff;
      const bool odd = n / static_cast<size_t>(size) % 2 == 1;
      const unsigned value = fill == Fill::kSmallest  ? smallest
                             : fill == Fill::kLargest ? largest
                             : fill == Fill::kInTurn  ? (odd ? smallest : largest)
                                                      : static_cast<unsigned>(Below(rng, 256));
      bytes[n] = static_cast<std::byte>(is_bool ? value & 1 : value);
    }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

struct NarrowCase {
  const char* text;
  Bindings bindings;
  const char* parameters = "";  // empty: those of rules
  const char* op = "";          // OP in the text
};

class NarrowReductionsTest : public ::testing::TestWithParam<NarrowCase> {};

TEST_P(NarrowReductionsTest, AreThoseOfTheInterpreter) {
  const auto expression = ParseExpression(
      absl::StrReplaceAll(GetParam().text, {{"OP", GetParam().op}}), GetParam().bindings);
  ASSERT_TRUE(expression.ok()) << expression.status();
  const std::string given = GetParam().parameters;
  const auto parameters = given.empty() ? DefaultParameters(*expression, OpenMpSimdRegistersModel(),
                                                            Device(), NumericsPolicy::kReassociate)
                                        : ParseTuningParameters(given, *expression);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const auto low_level = Lower(*expression, OpenMpSimdRegistersModel(), Device(), *parameters);
  ASSERT_TRUE(low_level.ok()) << low_level.status();
  const Result<Kernel> kernel = GenerateOpenMp(*low_level, Device());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const TemporaryDirectory directory;
  ASSERT_EQ(ErrorMessage(CompileKernel(*kernel, directory.path(), "kernel")), "no error");
  for (const Fill fill :
       {Fill::kSmallest, Fill::kLargest, Fill::kInTurn, Fill::kAny, Fill::kFewNan}) {
    SCOPED_TRACE(static_cast<int>(fill));
    const std::vector<BufferBytes> inputs = Filled(*expression, fill);
    const auto expected = Interpret(*expression, inputs, Accumulation::kWide);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(ErrorMessage(JudgeKernel(*expression, *kernel, directory.path() + "/kernel.so",
                                       inputs, *expected)),
              "no error");
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfRules, NarrowReductionsTest,
    ::testing::Values(
        NarrowCase{kSum, {{"R", "int64"}, {"A", "int8"}, {"I", "4099"}}},
        NarrowCase{kSum, {{"R", "int64"}, {"A", "uint8"}, {"I", "1031"}}},
        NarrowCase{kSum, {{"R", "uint64"}, {"A", "int16"}, {"I", "2053"}}},
        NarrowCase{kSum, {{"R", "uint32"}, {"A", "uint16"}, {"I", "511"}}},
        NarrowCase{kSum, {{"R", "int32"}, {"A", "bool"}, {"I", "513"}}},
        NarrowCase{kDot, {{"R", "int64"}, {"A", "int8"}, {"B", "int8"}, {"I", "4099"}}},
        NarrowCase{kDot, {{"R", "int32"}, {"A", "uint8"}, {"B", "int8"}, {"I", "1023"}}},
        NarrowCase{kDot, {{"R", "uint32"}, {"A", "uint8"}, {"B", "uint8"}, {"I", "127"}}},
        NarrowCase{kDot, {{"R", "int64"}, {"A", "int16"}, {"B", "int16"}, {"I", "2053"}}},
        NarrowCase{kDot, {{"R", "int64"}, {"A", "uint8"}, {"B", "int16"}, {"I", "769"}}},
        NarrowCase{kDot, {{"R", "int64"}, {"A", "uint16"}, {"B", "int16"}, {"I", "769"}}},
        NarrowCase{kRows, {{"R", "int32"}, {"A", "int8"}, {"B", "int8"}, {"I", "7"}, {"K", "523"}}},
        NarrowCase{kColumns, {{"R", "int64"}, {"A", "uint8"}, {"I", "259"}, {"K", "67"}}}));

INSTANTIATE_TEST_SUITE_P(
    OfOtherParameters, NarrowReductionsTest,
    ::testing::Values(
        NarrowCase{kRows,
                   {{"R", "int64"}, {"A", "int8"}, {"B", "uint8"}, {"I", "5"}, {"K", "523"}},
                   "model=OpenMP+SIMD+RM; tile=5,256|5,256|5,256|3,32|1,16|1,1; "
                   "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1|in_place:0:-1; "
                   "accumulate=output; chains=independent; compiler=gcc"},
        NarrowCase{kRows,
                   {{"R", "uint32"}, {"A", "int16"}, {"B", "int16"}, {"I", "5"}, {"K", "523"}},
                   "model=OpenMP+SIMD+RM; tile=5,523|5,523|5,128|2,64|1,32|1,1; "
                   "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1|in_place:0:-1; "
                   "accumulate=registers; chains=one; compiler=gcc"},
        NarrowCase{kSum,
                   {{"R", "int64"}, {"A", "int16"}, {"I", "131"}},
                   "model=OpenMP+SIMD+RM; tile=131|131|131|131|64|1; order=0|0|0|0|0|0; "
                   "inputs=in_place:0:-1; accumulate=registers; chains=independent; "
                   "compiler=gcc"}));

constexpr char kTwoTiles[] =
    "model=OpenMP+SIMD+RM; tile=5,523|5,523|5,128|2,64|1,32|1,1; order=0,1|0,1|0,1|0,1|0,1|0,1; "
    "inputs=in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc";
constexpr char kInOutput[] =
    "model=OpenMP+SIMD+RM; tile=5,256|5,256|5,256|3,32|1,16|1,1; order=0,1|0,1|0,1|0,1|0,1|0,1; "
    "inputs=in_place:0,1:-1; accumulate=output; chains=independent; compiler=gcc";

INSTANTIATE_TEST_SUITE_P(
    OfHalves, NarrowReductionsTest,
    ::testing::Values(
        NarrowCase{kExtreme, {{"R", "fp16"}, {"A", "fp16"}, {"I", "4099"}}, "", "max"},
        NarrowCase{kExtreme, {{"R", "fp16"}, {"A", "fp16"}, {"I", "131"}}, "", "min"},
        NarrowCase{kExtreme, {{"R", "fp32"}, {"A", "fp16"}, {"I", "1031"}}, "", "min"},
        NarrowCase{kExtreme, {{"R", "bf16"}, {"A", "bf16"}, {"I", "2053"}}, "", "max"},
        NarrowCase{kExtreme, {{"R", "fp32"}, {"A", "bf16"}, {"I", "64"}}, "", "max"},
        NarrowCase{kExtreme, {{"R", "fp16"}, {"A", "fp16"}, {"I", "515"}}, "", "fmax"},
        NarrowCase{
            kExtremeOfRows, {{"R", "bf16"}, {"A", "bf16"}, {"I", "7"}, {"K", "523"}}, "", "min"},
        NarrowCase{kExtremeOfRows,
                   {{"R", "fp16"}, {"A", "fp16"}, {"I", "5"}, {"K", "523"}},
                   kTwoTiles,
                   "max"},
        NarrowCase{kExtremeOfRows,
                   {{"R", "fp16"}, {"A", "fp16"}, {"I", "5"}, {"K", "523"}},
                   kInOutput,
                   "min"}));

// What is added up for f: "int8 * uint8 in int32"; "nothing" if f is not such a sum.
std::string Found(const std::string& type, const std::string& result, const std::string& value,
                  const std::string& op = "+") {
  const auto expression = ParseExpression(absl::StrCat(
      "e := out_view<", result, ">( c: (i) -> () ) o md_hom<64>( f, (", op, ") ) o inp_view<", type,
      ",uint8>( a: (i) -> (i), b: (i) -> (i) ) where f(a, b) -> c { c = ", value, " }"));
  EXPECT_TRUE(expression.ok()) << expression.status();
  const std::optional<NarrowReduction> narrow = NarrowReductionOf(*expression);
  if (!narrow.has_value()) return "nothing";
  std::string text;
  for (const TypedName& operand : narrow->operands.results()) {
    absl::StrAppend(&text, text.empty() ? "" : " * ", std::string(Name(operand.type)));
  }
  return absl::StrCat(text, " in ", std::string(Name(narrow->sum)));
}

TEST(NarrowReductionTest, FindsTheShortestValues) {
  EXPECT_EQ(Found("int8", "int64", "int64(a)"), "int8 in int32");
  EXPECT_EQ(Found("int8", "uint32", "uint32(int64(a))"), "int8 in uint32");
  EXPECT_EQ(Found("int8", "uint32", "uint32(int64(a) * int64(b))"), "int8 * uint8 in uint32");
  EXPECT_EQ(Found("int8", "int64", "int64(a) * int64(b)"), "int8 * uint8 in int32");
  EXPECT_EQ(Found("int16", "int64", "int64(a) * int64(a)"), "int16 * int16 in int64");
  EXPECT_EQ(Found("int16", "int64", "int64(a) * int64(b)"), "int16 * int16 in int64");
  EXPECT_EQ(Found("int16", "int32", "int32(a) * int32(a)"), "int16 * int16 in int32");
  EXPECT_EQ(Found("int16", "int64", "int64(int32(a) * int32(b))"), "int16 * int16 in int64");
  EXPECT_EQ(Found("fp32", "int64", "int64(a > 1)"), "bool in int32");
}

TEST(NarrowReductionTest, KeepsWhatWrapsOrIsLonger) {
  EXPECT_EQ(Found("int8", "int64", "int64(a * a)"), "int8 in int32") << "the product wraps";
  EXPECT_EQ(Found("int8", "int64", "int64(uint32(a) * uint32(b))"), "nothing")
      << "a negative a is not the same as uint32";
  EXPECT_EQ(Found("int32", "int64", "int64(a)"), "nothing");
  EXPECT_EQ(Found("int32", "int64", "int64(int8(a))"), "int8 in int32");
  EXPECT_EQ(Found("uint16", "int64", "int64(a) * int64(b)"), "nothing");
  EXPECT_EQ(Found("int8", "int64", "int64(a) + 1"), "nothing");
  EXPECT_EQ(Found("int8", "int16", "int16(a)"), "nothing");
  EXPECT_EQ(Found("int8", "int64", "int64(a)", "max"), "nothing");
  EXPECT_EQ(Found("uint8", "int64", "int64(bool(a))"), "bool in int32") << "not its value";
}

TEST(NarrowReductionTest, FindsExtremesOfHalves) {
  const auto is_found = [](const char* type, const char* result, const char* value,
                           const char* op) { return Found(type, result, value, op) != "nothing"; };
  EXPECT_TRUE(is_found("fp16", "fp16", "a", "max"));
  EXPECT_TRUE(is_found("bf16", "bf16", "a", "min"));
  EXPECT_TRUE(is_found("bf16", "fp32", "fp32(a)", "max"));
  EXPECT_FALSE(is_found("fp32", "fp16", "fp16(a)", "max"));
  EXPECT_FALSE(is_found("fp16", "bf16", "bf16(a)", "max")) << "it is rounded";
  EXPECT_FALSE(is_found("fp16", "fp16", "-a", "max"));
  EXPECT_FALSE(is_found("fp16", "fp16", "a", "fmax")) << "which ignores nan";
  EXPECT_FALSE(is_found("fp16", "fp16", "a", "+"));
}

// Squares of multiples of a quarter, whose sums fp32 holds and halves do not: those that are
// rounded once, when they are stored, are the interpreter's, which adds up in fp64.
std::vector<JudgedCase> SumsOfHalves(int random) {
  const std::string rows =
      "e<T | I, K> := out_view<T>( c: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) ) o "
      "inp_view<T>( a: (i,k) -> (i,k) ) where f(a) -> c { c = a * a }";
  const std::string columns =
      "e<T | I, K> := out_view<T>( c: (k,i) -> (i) ) o md_hom<K,I>( f, (+, ++) ) o "
      "inp_view<T,T>( a: (k,i) -> (k,i), b: (k,i) -> (k) ) where f(a, b) -> c { "
      "c = a < b ? a * a : 2 }";
  const std::string prefixes =
      "e<T | I, K> := out_view<T>( c: (i,k) -> (i,k) ) o md_hom<I,K>( f, (++, ps(+)) ) o "
      "inp_view<T>( a: (i,k) -> (i,k) ) where f(a) -> c { c = a * a }";
  const std::string stored =
      "e<T | I, K> := out_view<T,T>( y: (i,k) -> (i), z: (i,k) -> (i) ) o "
      "md_hom<I,K>( f, (++, (+, max)), store s ) o inp_view<T>( a: (i,k) -> (i,k) ) "
      "where f(a) -> (c: T, m: T) { c = a * a; m = abs(a) }, s(c, m) -> (y, z) { y = c * 2; z = m "
      "}";
  std::vector<JudgedCase> cases;
  const uint64_t seed = FreshSeed();
  for (const std::string& expression : {rows, columns, prefixes, stored}) {
    for (const char* type : {"bf16", "fp16"}) {
      for (int n = 0; n < random; ++n) {
        cases.push_back({expression,
                         {{"T", type}, {"I", n % 2 == 0 ? "3" : "17"}, {"K", "2051"}},
                         nullptr,
                         seed + cases.size(),
                         type});
      }
    }
  }
  return cases;
}

TEST(SumsOfHalvesTest, AreRoundedOnceOnCpus) { JudgeOn(Backend::kOpenMp, SumsOfHalves(2)); }
TEST(SumsOfHalvesTest, AreRoundedOnceOnOpenCl) {
  const std::vector<JudgedCase> cases = SumsOfHalves(3);
  JudgeOn(Backend::kOpenCl, Drawn(cases, 5));
}
TEST(SumsOfHalvesTest, AreRoundedOnceOnCuda) { JudgeOn(Backend::kCuda, SumsOfHalves(8)); }

}  // namespace
}  // namespace mdh::narrow_reductions_test
