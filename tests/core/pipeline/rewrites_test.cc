// Rewrites: every legal one gives what the pipeline gives, and obstacles say what is in the way.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/pipeline_interpreter.h"
#include "core/pipeline/rewrites/inline_producer.h"
#include "core/pipeline/rewrites/merge_siblings.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/random_pipeline.h"

namespace mdh::rewrites_test {
namespace {

using Role = PipelineBuffer::Role;

Pipeline Parsed(const std::string& text) {
  const Result<Pipeline> pipeline = ParsePipeline(text);
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *pipeline;
}

// Expects the same bytes from both: the rewrite computes the same in the same order.
void ExpectSameResults(Rng& rng, const Pipeline& before, const Pipeline& after) {
  const std::vector<BufferBytes> inputs = RandomInputs(rng, before);
  const auto expected = InterpretPipeline(before, inputs);
  const auto found = InterpretPipeline(after, inputs);
  ASSERT_TRUE(expected.ok() && found.ok()) << expected.status() << found.status();
  for (size_t n = 0; n < expected->size(); ++n) {
    EXPECT_TRUE((*expected)[n] == (*found)[n]) << "output " << n << " differs:\n"
                                               << ToText(before) << "\nrewritten:\n"
                                               << ToText(after);
  }
}

using Rewrite = std::function<Result<Pipeline>(const Pipeline&, int, int)>;

// Random pipelines of small steps, each with all pairs of its steps: `wanted` legal rewrites are
// compared.
void CheckPairs(const Rewrite& rewrite, int wanted, RandomPipelineOptions options) {
  Rng rng(FreshSeed());
  options.max_steps = 4;
  options.expression.max_points = 256;
  options.expression.max_rank = 3;
  int legal = 0;
  for (int tries = 0; legal < wanted && tries < 200 * wanted; ++tries) {
    const Pipeline pipeline = RandomPipeline(rng, options);
    const int steps = static_cast<int>(pipeline.steps().size());
    for (int a = 0; a < steps; ++a) {
      for (int b = a + 1; b < steps; ++b) {
        const Result<Pipeline> rewritten = rewrite(pipeline, a, b);
        if (!rewritten.ok()) {
          EXPECT_EQ(rewritten.status().code(), absl::StatusCode::kFailedPrecondition);
          continue;
        }
        ++legal;
        ExpectSameResults(rng, pipeline, *rewritten);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GE(legal, wanted);
}

// A transposition, and a product with it.
constexpr char kTransposed[] = R"(p := pipeline(x, w) -> y {
  t = transpose(x);
  y = product(t, w);
}
transpose := out_view<fp32>( t: (i,j) -> (j,i) ) o md_hom<4,6>( f, (++,++) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> t { t = x + 1 }
product := out_view<fp32>( y: (i,j,k) -> (i,j) ) o md_hom<6,5,4>( f, (++,++,+) ) o
  inp_view<fp32,fp32>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) ) where f(a, b) -> y { y = a * b }
)";

TEST(InlineProducer, ComposesIndicesAndFunctions) {
  const Result<Pipeline> rewritten = InlineProducer(Parsed(kTransposed), 0, 1);
  ASSERT_TRUE(rewritten.ok()) << rewritten.status();
  EXPECT_EQ(ToText(*rewritten), R"(p := pipeline(x, w) -> y {
  y = product(x, w)
}

product :=
  out_view<fp32>( y: (i,j,k) -> (i, j) ) o
  md_hom<6,5,4>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( x[4, 6]: (i,j,k) -> (k, i), w[4, 5]: (i,j,k) -> (k, j) )
where f(x1, x2) -> y1 { y1 = (x1 + 1) * x2 }
)");
}

// What others need is still written; the rounding of the temporary is kept.
TEST(InlineProducer, KeepsWhatOthersNeedAndRounds) {
  PipelineSpec spec = Parsed(kTransposed).spec();
  spec.buffers[3].role = Role::kOutput;
  const Result<Pipeline> output = InlineProducer(*Pipeline::Create(spec), 0, 1);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->steps().size(), 2u);
  const Pipeline rounds = Parsed(R"(p := pipeline(x) -> y { h = third(x); y = sum(h) }
third := out_view<fp16>( h: (i) -> (i) ) o md_hom<64>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> (h: fp32) { h = x / 3 }
sum := out_view<fp32>( y: (i) -> () ) o md_hom<64>( f, (+) ) o inp_view<fp16>( h: (i) -> (i) )
where f(h) -> y { y = fp32(h) }
)");
  const Result<Pipeline> rewritten = InlineProducer(rounds, 0, 1);
  ASSERT_TRUE(rewritten.ok()) << rewritten.status();
  EXPECT_TRUE(absl::StrContains(ToText(*rewritten), "y1 = fp32(fp16(x1 / 3))"))
      << ToText(*rewritten);
  Rng rng(1);
  ExpectSameResults(rng, rounds, *rewritten);
}

std::string Stencil(const std::string& view) {
  return absl::StrCat(R"(p := pipeline(x) -> y { h = twice(x); y = around(h) }
twice := out_view<fp32>( h: (i) -> (i) ) o md_hom<9>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> h { h = 2 * x }
around := out_view<fp32>( y: (i) -> (i) ) o md_hom<7>( f, (++) ) o inp_view<fp32>( )",
                      view, R"( ) where f(a, b, c) -> y { y = a + b - c }
)");
}

TEST(InlineProducer, StencilsAndBorders) {
  Rng rng(2);
  const Pipeline inside = Parsed(Stencil("h: (i) -> (i), (i+1), (i+2)"));
  ExpectSameResults(rng, inside, *InlineProducer(inside, 0, 1));
  EXPECT_EQ(InlineProducer(inside, 0, 1)->steps()[0].expression.inputs()[0].accesses.size(), 3u);
  const Pipeline constant = Parsed(Stencil("h[9] else 5: (i) -> (i-1), (i+1), (2*i)"));
  const Result<Pipeline> chosen = InlineProducer(constant, 0, 1);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  ExpectSameResults(rng, constant, *chosen);
  const Pipeline clamped = Parsed(Stencil("h[9] else clamp: (i) -> (i-1), (i), (i+1)"));
  EXPECT_EQ(ErrorMessage(InlineProducer(clamped, 0, 1)),
            "'around' reads 'h' clamped at its border, which is no affine index");
}

TEST(InlineProducer, Obstacles) {
  EXPECT_EQ(ErrorMessage(InlineProducer(Parsed(kLayer), 0, 1)), "'matmul' combines points");
  EXPECT_EQ(ErrorMessage(InlineProducer(Parsed(kLayer), 1, 0)),
            "'matmul' reads nothing of what 'activation' writes");
  const auto spread = [](const std::string& written, const std::string& read) {
    return Parsed(absl::StrCat(
        "p := pipeline(x) -> y { h = spread(x); y = copy(h) }\nspread := out_view<fp32>( h",
        written,
        " ) o md_hom<8>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) ) where f(x) -> h { h = x }\n",
        "copy := out_view<fp32>( y: (i) -> (i) ) o md_hom<4>( f, (++) ) o inp_view<fp32>( h", read,
        " ) where f(h) -> y { y = h }\n"));
  };
  const std::string unknown =
      "which point of 'spread' writes what 'copy' reads of 'h' does not follow from its indices";
  // Every second element is zero; the first two are zero.
  EXPECT_EQ(ErrorMessage(InlineProducer(spread(": (i) -> (2*i)", ": (i) -> (i)"), 0, 1)), unknown);
  EXPECT_EQ(ErrorMessage(InlineProducer(spread("[12]: (i) -> (i+2)", ": (i) -> (i)"), 0, 1)),
            unknown);
  Rng rng(3);
  for (const Pipeline& legal :
       {spread("[12]: (i) -> (i+2)", ": (i) -> (i+2)"), spread(": (i) -> (7-i)", ": (i) -> (2*i)"),
        spread(": (i) -> (3, i)", ": (i) -> (3, i)")}) {
    const Result<Pipeline> rewritten = InlineProducer(legal, 0, 1);
    ASSERT_TRUE(rewritten.ok()) << rewritten.status();
    ExpectSameResults(rng, legal, *rewritten);
  }
}

TEST(MergeSiblings, SumAndMaximum) {
  const Pipeline pipeline =
      Parsed(R"(p := pipeline(x, w) -> (s, m) { s = sum(x); m = largest(w, x) }
sum := out_view<fp32>( s: (i,k) -> (i) ) o md_hom<4,8>( f, (++,+) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> s { s = x }
largest := out_view<fp32>( m: (i,k) -> (i) ) o md_hom<4,8>( f, (++,max) ) o
  inp_view<fp32,fp32>( w: (i,k) -> (k), x: (i,k) -> (i,k) ) where f(w, x) -> m { m = w * x }
)");
  const Result<Pipeline> merged = MergeSiblings(pipeline, 0, 1);
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_EQ(merged->steps().size(), 1u);
  EXPECT_TRUE(absl::StrContains(ToText(*merged), "( f, (++, (+, max)) )")) << ToText(*merged);
  EXPECT_EQ(merged->steps()[0].inputs.size(), 2u);
  Rng rng(4);
  ExpectSameResults(rng, pipeline, *merged);
}

TEST(MergeSiblings, Obstacles) {
  EXPECT_EQ(ErrorMessage(MergeSiblings(Parsed(kLayer), 0, 1)),
            "one of 'matmul' and 'activation' needs what the other writes");
  const auto two = [](const std::string& md_hom, const std::string& index) {
    return Parsed(absl::StrCat(R"(p := pipeline(x) -> (s, t) { s = a(x); t = b(x) }
a := out_view<fp32>( s: (i,k) -> (i) ) o md_hom<4,8>( f, (++,+) ) o
  inp_view<fp32>( x[4,8]: (i,k) -> (i,k) ) where f(x) -> s { s = x }
b := out_view<fp32>( s: (i,k) -> )",
                               index, " ) o ", md_hom,
                               " o inp_view<fp32>( x[4,8]: (i,k) -> (i,k) ) "
                               "where f(x) -> s { s = x }\n"));
  };
  EXPECT_EQ(ErrorMessage(MergeSiblings(two("md_hom<4,7>( f, (++,+) )", "(i)"), 0, 1)),
            "dimension 2 has the sizes 8 and 7");
  EXPECT_EQ(ErrorMessage(MergeSiblings(two("md_hom<4,8>( f, (++,++) )", "(i,k)"), 0, 1)),
            "dimension 2 is combined by + and by ++");
}

TEST(InlineProducer, RandomPipelines) { CheckPairs(InlineProducer, 150, {}); }

TEST(MergeSiblings, RandomPipelines) {
  RandomPipelineOptions options;
  CheckPairs(MergeSiblings, 60, options);
}

}  // namespace
}  // namespace mdh::rewrites_test
