// Several nests in an annotated block mean the same as a pipeline of the text form.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "gmock/gmock.h"
#include "tests/core/c_loops/c_loops_text.h"
#include "tests/core/expect_same.h"
#include "tests/core/pipeline/sample_pipelines.h"

namespace mdh::c_pipelines_test {
namespace {

Result<Computation> ParsedC(const std::string& text, const Bindings& bindings = {}) {
  return ParseCComputation(text, {.bindings = bindings, .function = ""}, "steps.c");
}

void ExpectSamePipeline(const std::string& c, const std::string& text) {
  const Result<Computation> found = ParsedC(c);
  ASSERT_TRUE(found.ok()) << found.status();
  const Pipeline* const pipeline = std::get_if<Pipeline>(&*found);
  ASSERT_NE(pipeline, nullptr);
  const Result<Pipeline> expected = ParsePipeline(text);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(Digest(*pipeline), Digest(*expected)) << ToText(*pipeline);
  EXPECT_EQ(Digest(*ParsePipeline(ToText(*pipeline))), Digest(*expected));
}

std::string NamesOf(const Pipeline& pipeline) {
  std::string names;
  for (const PipelineBuffer& buffer : pipeline.buffers()) {
    absl::StrAppend(&names, names.empty() ? "" : " ", buffer.name, ":",
                    static_cast<int>(buffer.role));
  }
  return names;
}

TEST(CPipelinesTest, LocalArraysLieBetweenNests) {
  ExpectSamePipeline(R"(#include <math.h>
void layer(const float x[4][6], const float w[6][5], const float b[5], float y[4][5]) {
#pragma mdh out(y) inp(x, w, b)
  {
    float h[4][5];
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 5; ++j)
        for (int k = 0; k < 6; ++k) h[i][j] += x[i][k] * w[k][j];
#pragma mdh combine_ops(cc, cc)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 5; ++j) {
        const float z = h[i][j] + b[j];
        y[i][j] = z > 0 || z != z ? z : 0;
      }
  }
}
)",
                     R"(layer := pipeline(x, w, b) -> y { h = matmul(x, w); y = activation(h, b) }
matmul := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<4,5,6>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }
activation := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<4,5>( f, (++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j) -> (i,j), b: (i,j) -> (j) )
where f(x, b) -> y { let z = x + b; y = z > 0 || z != z ? z : 0 }
)");
}

// Blocks with a loop are nests as well; a value without dimensions lies between them. An output is
// read by a later nest.
TEST(CPipelinesTest, BlocksValuesAndOutputsThatAreRead) {
  ExpectSamePipeline(R"(#include <math.h>
void unit(const float x[8], float *length, float y[8], float twice[8]) {
#pragma mdh out(length, y, twice)
  {
    float largest = 0;
    ;
#pragma mdh combine_ops(pw(+))
    for (int k = 0; k < 8; ++k) largest += fabsf(x[k]);
    {
      float c = 0;
      for (int k = 0; k < 8; ++k) c += x[k] * x[k];
      *length = sqrtf(c);
    }
    for (int k = 0; k < 8; ++k) y[k] = x[k] / *length + largest;
    for (int k = 0; k < 8; ++k) twice[k] = 2 * y[k];
  }
}
)",
                     R"(unit := pipeline(x) -> (length, y, twice) {
  largest = sum(x); length = root(x); y = quotient(x, length, largest); twice = doubled(y)
}
sum := out_view<fp32>( s: (k) -> () ) o md_hom<8>( f, (+) ) o inp_view<fp32>( x: (k) -> (k) )
where f(x) -> s { s = abs(x) }
root := out_view<fp32>( s: (k) -> () ) o md_hom<8>( f, (+), store r ) o inp_view<fp32>( x: (k) -> (k) )
where f(x) -> c { c = x * x }, r(c) -> s { s = sqrt(c) }
quotient := out_view<fp32>( y: (k) -> (k) ) o md_hom<8>( f, (++) ) o
  inp_view<fp32,fp32,fp32>( x: (k) -> (k), l: (k) -> (), m: (k) -> () )
where f(x, l, m) -> y { y = x / l + m }
doubled := out_view<fp32>( z: (k) -> (k) ) o md_hom<8>( f, (++) ) o inp_view<fp32>( y: (k) -> (k) )
where f(y) -> z { z = 2 * y }
)");
}

TEST(CPipelinesTest, OrderOfBuffersIsThatOfAppearanceWithoutClauses) {
  const Result<Computation> computation = ParsedC(R"(
void f(float *b, const float a[4], const float d[4]) {
#pragma mdh
  {
    float t[4] = {0}, s[4];
    for (int i = 0; i < 4; ++i) t[i] = a[i] + 1;
    for (int i = 0; i < 4; ++i) s[i] = t[i] * d[i];
    for (int i = 0; i < 4; ++i) b[i] = s[i] + t[i];
  }
}
)");
  ASSERT_TRUE(computation.ok()) << computation.status();
  const Pipeline& pipeline = std::get<Pipeline>(*computation);
  EXPECT_EQ(NamesOf(pipeline), "a:1 d:1 b:2 t:3 s:3");
  EXPECT_EQ(pipeline.name(), "f");
  EXPECT_EQ(pipeline.steps()[1].expression.name(), "f_2");
}

// Each of the outputs of a nest starts at what its own operation starts at.
TEST(CPipelinesTest, InitialValuesAreThoseOfTheirResults) {
  const auto parsed = [](const std::string& declared) {
    return ErrorMessage(ParsedC(R"(
void f(const int x[4][5], int y[4]) {
#pragma mdh
  {
    int )" + declared + R"(;
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 5; ++k) { s[i] += x[i][k]; p[i] *= x[i][k]; }
    for (int i = 0; i < 4; ++i) y[i] = s[i] + p[i];
  }
}
)"));
  };
  EXPECT_EQ(parsed("s[4] = {0}, p[4]"), "no error");
  EXPECT_THAT(parsed("s[4], p[4] = {0}"),
              ::testing::HasSubstr("'p' lies between nests: results start at the neutral element"));
}

// One nest in a block is an expression, and so is a function with one annotation beside a pipeline.
TEST(CPipelinesTest, OneNestIsAnExpression) {
  const std::string text = R"(
void one(const float x[4], float *y) {
#pragma mdh
  { float c = 0; for (int i = 0; i < 4; ++i) c += x[i]; *y = c / 4; }
}
void two(const float x[4], float y[4]) {
#pragma mdh
  {
    float t[4];
    for (int i = 0; i < 4; ++i) t[i] = 2 * x[i];
    for (int i = 0; i < 4; ++i) y[i] = t[3 - i];
  }
}
)";
  const auto parse = [&](const std::string& function) {
    return ParseCComputation(text, {.bindings = {}, .function = function}, "two.c");
  };
  EXPECT_TRUE(std::holds_alternative<Expression>(*parse("one")));
  EXPECT_TRUE(std::holds_alternative<Pipeline>(*parse("two")));
  EXPECT_EQ(ErrorMessage(ParseCLoops(text, {.bindings = {}, .function = "two"}, "two.c")),
            "two.c: the loops are a pipeline of 2 nests; here one nest is wanted");
  EXPECT_EQ(ErrorMessage(parse("")),
            "two.c: there are 2 annotated loops; name the function of those that are meant: one, "
            "two");
}

}  // namespace
}  // namespace mdh::c_pipelines_test
