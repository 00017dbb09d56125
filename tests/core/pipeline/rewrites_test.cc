// Rewrites: every legal one gives what the pipeline gives, and obstacles say what is in the way.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pipeline/absorb_reader.h"
#include "core/pipeline/inline_producer.h"
#include "core/pipeline/merge_contractions.h"
#include "core/pipeline/merge_siblings.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/split_contraction.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/random_contraction.h"
#include "tests/random_pipeline.h"
#include "tests/sanitized.h"

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
// compared, or as many times more as MDH_REWRITES in the environment says; fewer under a sanitizer.
void CheckPairs(const Rewrite& rewrite, int wanted, RandomPipelineOptions options) {
  Rng rng(FreshSeed());
  wanted = TriedCases(wanted);
  if (const char* const times = std::getenv("MDH_REWRITES"); times != nullptr) {
    wanted *= std::atoi(times);
  }
  options.max_steps = 4;
  options.expression.empty_one_in = 20;
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

// What a producer without points has in its buffer is zero.
TEST(InlineProducer, NoPoints) {
  const Pipeline without = Parsed(R"(p := pipeline(x) -> y { h = step(x); y = step(h) }
step := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<0,3>( f, (++,++) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x + 1 }
)");
  EXPECT_EQ(
      ErrorMessage(InlineProducer(without, 0, 1)),
      "which point of 'step' writes what 'step' reads of 'x' does not follow from its indices");
  const Pipeline zeros = Parsed(R"(p := pipeline(x) -> y { h = nothing(x); y = more(h) }
nothing := out_view<fp32>( h[1,3]: (i,j) -> (i + 1,j) ) o md_hom<0,3>( f, (++,++) ) o
  inp_view<fp32>( x: (i,j) -> (j) ) where f(x) -> h { h = x }
more := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<1,3>( f, (++,++) ) o
  inp_view<fp32>( h: (i,j) -> (i,j) ) where f(h) -> y { y = h + 1 }
)");
  EXPECT_EQ(
      ErrorMessage(InlineProducer(zeros, 0, 1)),
      "which point of 'nothing' writes what 'more' reads of 'h' does not follow from its indices");
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

TEST(AbsorbReader, BiasAndActivation) {
  const Result<Pipeline> absorbed = AbsorbReader(Parsed(kLayer), 0, 1);
  ASSERT_TRUE(absorbed.ok()) << absorbed.status();
  EXPECT_EQ(ToText(*absorbed), R"(layer := pipeline(x, w, b) -> y {
  y = matmul(x, w, b)
}

matmul :=
  out_view<fp32>( y: (i,j,k) -> (i, j) ) o
  md_hom<4,5,6>( f, (++, ++, +),
    store s<fp32>( b[5]: (i,j,k) -> (j) ) ) o
  inp_view<fp32,fp32>( x[4, 6]: (i,j,k) -> (i, k), w[6, 5]: (i,j,k) -> (k, j) )
where f(x1, x2) -> (r1: fp32) { r1 = x1 * x2 },
      s(r1, x1) -> y1 { y1 = max(r1 + x1, 0) }
)");
  Rng rng(6);
  ExpectSameResults(rng, Parsed(kLayer), *absorbed);
}

// Results in another order, an output that is needed, a temporary that rounds, and a second reader.
TEST(AbsorbReader, ChainsAndOutputs) {
  Rng rng(7);
  const std::string text = R"(p := pipeline(x, b) -> (t, z) {
  h = sums(x); t = turned(h, b); z = scaled(t, x)
}
sums := out_view<fp16>( h: (i,j,k) -> (i,j) ) o md_hom<3,4,8>( f, (++,++,+) ) o
  inp_view<fp32>( x: (i,j,k) -> (i,j,k) ) where f(x) -> (h: fp32) { h = x / 3 }
turned := out_view<fp32>( t: (a,b) -> (a,3-b) ) o md_hom<4,3>( f, (++,++) ) o
  inp_view<fp16,fp32>( h: (a,b) -> (b,a), s: (a,b) -> (b) )
where f(h, s) -> t { t = fp32(h) + s * fp32(a) }
scaled := out_view<fp32>( z: (a,b) -> (a,b) ) o md_hom<4,3>( f, (++,++) ) o
  inp_view<fp32,fp32>( t: (a,b) -> (a,b+1), x: (a,b) -> (b,a,0) ) where f(t, x) -> z { z = t * x }
)";
  const Pipeline pipeline = Parsed(text);
  const Result<Pipeline> one = AbsorbReader(pipeline, 0, 1);
  ASSERT_TRUE(one.ok()) << one.status();
  ExpectSameResults(rng, pipeline, *one);
  const Result<Pipeline> two = AbsorbReader(*one, 0, 1);
  ASSERT_TRUE(two.ok()) << two.status();
  ASSERT_EQ(two->steps().size(), 1u);
  ExpectSameResults(rng, pipeline, *two);
  // x is passed once, for f and for the store function.
  EXPECT_EQ(two->steps()[0].inputs.size(), 2u) << ToText(*two);
}

TEST(AbsorbReader, Obstacles) {
  EXPECT_EQ(ErrorMessage(AbsorbReader(Parsed(kTransposed), 0, 1)), "'product' combines points");
  EXPECT_EQ(ErrorMessage(AbsorbReader(Parsed(kLayer), 1, 0)),
            "'matmul' reads nothing of what 'activation' writes");
  // Every mean is read by a whole row.
  const std::string one_by_one = "the points of 'minus' are not the results of 'mean' one by one";
  EXPECT_EQ(ErrorMessage(AbsorbReader(Parsed(kCentred), 0, 1)), one_by_one);
  const auto reads = [](const std::string& size, const std::string& view) {
    return AbsorbReader(
        Parsed(absl::StrCat(
            "p := pipeline(x) -> y { h = mean(x); y = minus(h) }\n"
            "mean := out_view<fp32>( h: (i,k) -> (i) ) o md_hom<8,4>( f, (++,+) ) o "
            "inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> h { h = x }\n"
            "minus := out_view<fp32>( y: (i) -> (i) ) o md_hom<",
            size, ">( f, (++) ) o inp_view<fp32>( h", view, " ) where f(h) -> y { y = -h }\n")),
        0, 1);
  };
  EXPECT_TRUE(reads("8", ": (i) -> (7-i)").ok());
  EXPECT_EQ(ErrorMessage(reads("7", ": (i) -> (i)")), one_by_one);
  EXPECT_EQ(ErrorMessage(reads("4", ": (i) -> (2*i)")), one_by_one);
  EXPECT_EQ(ErrorMessage(reads("8", "[8] else 0: (i) -> (i+1)")), one_by_one);
  // What it reads besides needs the results.
  const Pipeline around =
      Parsed(R"(p := pipeline(x) -> y { h = total(x); g = half(h); y = sum(h, g) }
total := out_view<fp32>( h: (i,k) -> (i) ) o md_hom<8,4>( f, (++,+) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> h { h = x }
half := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x / 2 }
sum := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o
  inp_view<fp32,fp32>( a: (i) -> (i), b: (i) -> (7-i) ) where f(a, b) -> y { y = a + b }
)");
  EXPECT_EQ(ErrorMessage(AbsorbReader(around, 0, 2)), "a step would need its own result");
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

// A tensor times a matrix along each of its three dimensions, at once.
std::string Interpolation(const std::string& type) {
  return absl::StrCat("interpolation<T = ", type, R"(> :=
  out_view<T>( v: (a,b,c,i,j,k) -> (a,b,c) ) o
  md_hom<3,4,5,4,3,2>( f, (++,++,++,+,+,+) ) o
  inp_view<T,T,T,T>( u: (a,b,c,i,j,k) -> (i,j,k), A: (a,b,c,i,j,k) -> (a,i),
                     B: (a,b,c,i,j,k) -> (b,j), C: (a,b,c,i,j,k) -> (c,k) )
where f(u, A, B, C) -> v { v = u * A * B * C }
)");
}

int64_t Operations(const Pipeline& pipeline) { return pipeline.FloatingPointOperations(); }

TEST(SplitContraction, InterpolationTakesOneDimensionAtATime) {
  Rng rng(5);
  const Pipeline one = Parsed(Interpolation("fp32"));
  EXPECT_EQ(Operations(one), 4 * 3 * 4 * 5 * 4 * 3 * 2);
  const Result<Pipeline> split = SplitContraction(one, 0);
  ASSERT_TRUE(split.ok()) << split.status();
  ASSERT_EQ(split->steps().size(), 3u);
  EXPECT_EQ(Operations(*split), 2 * (3 * 4 * 3 * 2 + 3 * 4 * 3 * 2 + 3 * 4 * 5 * 2))
      << ToText(*split);
  const Pipeline exact = Parsed(Interpolation("int32"));
  const Pipeline parts = *SplitContraction(exact, 0);
  ExpectSameResults(rng, exact, parts);
  // And back: the same points, the factors in another order.
  Result<Pipeline> merged = MergeContractions(parts, 0, 1);
  ASSERT_TRUE(merged.ok()) << merged.status();
  merged = MergeContractions(*merged, 0, 1);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->steps()[0].expression.points(), exact.steps()[0].expression.points());
  ExpectSameResults(rng, exact, *merged);
  EXPECT_EQ(SplitContraction(*merged, 0)->steps().size(), 3u);
}

TEST(SplitContraction, Obstacles) {
  const auto error = [](const std::string& view, const std::string& f) {
    return ErrorMessage(SplitContraction(
        Parsed(absl::StrCat("s := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<4,8>( f, (++,+) ) o "
                            "inp_view<fp32,fp32,fp32>( a: (i,k) -> ",
                            view, ", b: (i,k) -> ", view, ", c: (i,k) -> ", view,
                            " ) where f(a, b, c) -> ", "y { y = ", f, " }")),
        0));
  };
  EXPECT_EQ(error("(k)", "a * b + c"), "the function of 's' is no product of what it reads");
  EXPECT_EQ(error("(k)", "a * b"), "not all that 's' reads is a factor of its result");
  EXPECT_EQ(error("(i)", "a * b * c"),
            "nothing that 's' reads depends on dimension 'k', over which it sums");
  EXPECT_EQ(error("(i,k)", "a * b * c"),
            "'s' has 96 operations; the best order of two factors at a time has 128");
  EXPECT_EQ(ErrorMessage(SplitContraction(Parsed(kLayer), 0)),
            "'matmul' is a product of 2 factors, not of 3 to 12");
}

// Of a sum of random products over random dimensions, in integers: the same, however it is split.
TEST(SplitContraction, RandomProducts) {
  Rng rng(FreshSeed());
  int split = 0;
  for (int n = 0; n < TriedCases(200); ++n) {
    const Pipeline pipeline = RandomProduct(rng);
    const Result<Pipeline> rewritten = SplitContraction(pipeline, 0);
    if (!rewritten.ok()) continue;
    ++split;
    ExpectSameResults(rng, pipeline, *rewritten);
    for (int s = 0; s + 1 < static_cast<int>(rewritten->steps().size()); ++s) {
      const int reader = rewritten->Readers(rewritten->steps()[s].outputs[0])[0];
      const Result<Pipeline> merged = MergeContractions(*rewritten, s, reader);
      if (merged.ok()) ExpectSameResults(rng, pipeline, *merged);
    }
    if (HasFailure()) return;
  }
  if (!kIsSanitized) {
    EXPECT_GE(split, 60);
  }
}

TEST(InlineProducer, RandomPipelines) { CheckPairs(InlineProducer, 60, {}); }

TEST(AbsorbReader, RandomPipelines) { CheckPairs(AbsorbReader, 30, {}); }

TEST(MergeSiblings, RandomPipelines) { CheckPairs(MergeSiblings, 60, {}); }

}  // namespace
}  // namespace mdh::rewrites_test
