// Joint groups that stream: which dimensions can be, the algebra, and what the steps become.
#include "core/pipeline/plan/streamed_steps.h"

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/scaled_sums.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/pipeline/row_pipelines.h"
#include "tests/fresh_seed.h"
#include "tests/random_joint.h"
#include "tests/random_pipeline.h"
#include "tests/random_scaled.h"
#include "tests/sanitized.h"

namespace mdh::streamed_steps_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Role = PipelineBuffer::Role;

// Attention of 2 heads; what is in capitals is replaced.
constexpr char kStreamed[] = R"(attention := pipeline(q, k, v) -> o {
  s = scores(q, k);
  m = row_max(s);
  p = weights(s, m);
  l = row_sum(p);
  o = output(p, v, l)
}
scores := out_view<fp32>( s: (h,i,j,e) -> (h,i,j) ) o
  md_hom<2,8,24,4>( f, (++, ++, ++, +), store scaled ) o
  inp_view<fp32,fp32>( q: (h,i,j,e) -> (h,i,e), k: (h,i,j,e) -> (h,j,e) )
where f(q, k) -> (c: fp32) { c = q * k }, scaled(c) -> s { s = SCORE }
row_max := out_view<fp32>( m: (h,i,j) -> (h,i) ) o md_hom<2,8,24>( f, (++, ++, MAX) ) o
  inp_view<fp32>( s: (h,i,j) -> (h,i,j) )
where f(s) -> m { m = s }
weights := out_view<fp32>( p: (h,i,j) -> (h,i,j) ) o md_hom<2,8,24>( f, (++, ++, ++) ) o
  inp_view<fp32,fp32>( s: (h,i,j) -> (h,i,j), m: (h,i,j) -> (h,i) )
where f(s, m) -> p { p = WEIGHT }
row_sum := out_view<fp32>( l: (h,i,j) -> (h,i) ) o md_hom<2,8,24>( f, (++, ++, SUM) ) o
  inp_view<fp32>( p: (h,i,j) -> (h,i,j) )
where f(p) -> l { l = p }
output := out_view<fp32>( o: (h,i,e,j) -> (h,i,e) ) o
  md_hom<2,8,4,24>( f, (++, ++, ++, +), store share<fp32>( l: (h,i,e,j) -> (h,i) ) ) o
  inp_view<fp32,fp32>( p: (h,i,e,j) -> (h,i,j), v: (h,i,e,j) -> (h,j,e) )
where f(p, v) -> (c: fp32) { c = TERM }, share(c, l) -> o { o = c / l }
)";

struct Words {
  std::string score = "c / 2", max = "max", weight = "exp(s - m)", sum = "+", term = "p * v";
};

Pipeline Attention(const Words& words = {}) {
  const std::string text = absl::StrReplaceAll(kStreamed, {{"SCORE", words.score},
                                                           {"MAX", words.max},
                                                           {"WEIGHT", words.weight},
                                                           {"SUM", words.sum},
                                                           {"TERM", words.term}});
  const Result<Pipeline> pipeline = ParsePipeline(text);
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *pipeline;
}

JointGroup GroupOf(const Pipeline& pipeline, int64_t part = 4, int64_t chunk = 6) {
  JointGroup group = WithPart(pipeline, JointGroups(pipeline).at(0), part);
  group.streamed = {2, 2, 2, 2, 3};
  group.chunk = chunk;
  return group;
}

TEST(StreamedSteps, DimensionsAreFound) {
  const Pipeline pipeline = Attention();
  const std::vector<JointGroup> groups = StreamedGroups(pipeline, JointGroups(pipeline).at(0));
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_THAT(groups[0].streamed, ElementsAre(2, 2, 2, 2, 3));
  EXPECT_EQ(groups[0].chunk, 24);
  // The rows of a soft-max are wanted again once their sum is there.
  const Pipeline soft_max = *ParsePipeline(kSoftMax);
  EXPECT_THAT(StreamedGroups(soft_max, JointGroups(soft_max).at(0)), IsEmpty());
}

TEST(StreamedSteps, BodyAndWhatIsBehindIt) {
  const StreamedSteps streamed = *StreamedStepsOf(Attention(), GroupOf(Attention()));
  EXPECT_EQ(streamed.body, 5);
  EXPECT_THAT(streamed.given, ElementsAre(0, 1, 2, 3, 4, -1, -1));
  EXPECT_THAT(streamed.carried, SizeIs(3));
  for (const StreamedSteps::Carried& own : streamed.carried) {
    EXPECT_EQ(streamed.pipeline.buffers()[own.before].role, Role::kInput);
  }
  EXPECT_EQ(streamed.carried[0].neutral.ToString(), "-inf");
  EXPECT_THAT(streamed.bounds, IsEmpty());
  const JointPart part = *PartOf(streamed);
  // A chunk of scores, and keys that move by queries' heads and by points of the chunk.
  EXPECT_THAT(part.steps[0].expression.outputs()[0].extents, ElementsAre(1, 4, 6));
  EXPECT_THAT(part.steps[0].inputs[1].moves, ElementsAre(96, 0, 4));
}

TEST(StreamedSteps, SplitsAreCombined) {
  JointGroup group = GroupOf(Attention());
  group.splits = 2;
  const StreamedSteps streamed = *StreamedStepsOf(Attention(), group);
  ASSERT_TRUE(streamed.combination.has_value());
  EXPECT_EQ(streamed.group.last - streamed.group.first, 7);  // three more publish
  EXPECT_EQ(streamed.combination->first, 8);
  EXPECT_EQ(streamed.combination->last, 10);  // the maximum, the weights' sum, the output
  EXPECT_EQ(ComputedPipelineOf(Attention(), {group})->groups.size(), 2u);
}

TEST(StreamedSteps, MasksBoundThePoints) {
  const auto bounds = [](const std::string& condition) {
    const Pipeline pipeline = Attention({.score = condition + " ? c : fp32(-inf)"});
    return StreamedStepsOf(pipeline, GroupOf(pipeline))->bounds;
  };
  EXPECT_THAT(bounds("j <= i"), ElementsAre(StreamBound{{0, 1}, -1, 0}));
  EXPECT_THAT(bounds("j < 2 * i + 3"), ElementsAre(StreamBound{{0, 2}, -1, 2}));
  EXPECT_THAT(bounds("j <= i && j > i - 3"),
              ElementsAre(StreamBound{{0, 1}, -1, 0}, StreamBound{{0, -1}, 1, 2}));
  EXPECT_THAT(bounds("!(j > i || i > 2)"), ElementsAre(StreamBound{{0, 1}, -1, 0}));
  EXPECT_THAT(bounds("j <= i || j == 0"), IsEmpty());
  EXPECT_THAT(bounds("c < 1"), IsEmpty());
  // What stands for a masked score is no neutral element of the maximum.
  const Pipeline other = Attention({.score = "j <= i ? c : fp32(0)"});
  EXPECT_THAT(StreamedStepsOf(other, GroupOf(other))->bounds, IsEmpty());
}

std::string Refusal(const Words& words) {
  const Pipeline pipeline = Attention(words);
  const Status status = StreamedStepsOf(pipeline, GroupOf(pipeline)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  return std::string(status.message());
}

TEST(ScaledSums, TheLawDecidesNotTheName) {
  for (const char* weight : {"exp2(s - m)", "exp((s - m) * 0.5)", "1 / exp(m - s)", "-exp(s - m)",
                             "j <= 3 ? exp(s - m) * s : fp32(0)", "exp(s - m) / 3"}) {
    const Pipeline pipeline = Attention({.weight = weight});
    EXPECT_TRUE(StreamedStepsOf(pipeline, GroupOf(pipeline)).ok()) << weight;
  }
  const Pipeline least = Attention({.max = "min", .weight = "exp(m - s)"});
  EXPECT_TRUE(StreamedStepsOf(least, GroupOf(least)).ok());
  const std::string another_way = "uses a maximum along the streamed dimension in another way";
  for (const char* weight : {"s - m", "exp(s + m)", "exp(m - s)", "exp(s - m) + 1", "exp(s * m)",
                             "exp(s - m) * m", "exp(s - m) * exp(s - m)", "exp(2 * s - m)",
                             "exp(s - m) > 0.5 ? fp32(1) : fp32(0)", "exp(s) / m"}) {
    EXPECT_THAT(Refusal({.weight = weight}), HasSubstr(another_way)) << weight;
  }
}

TEST(StreamedSteps, RefusalsSayWhatIsWrong) {
  EXPECT_THAT(Refusal({.sum = "max"}),
              HasSubstr("step 4 (row_sum) does not add up what is scaled by a maximum"));
  EXPECT_THAT(Refusal({.max = "+"}),
              HasSubstr("step 3 (weights) reads all of what step 2 (row_max) reduces along the "
                        "streamed dimension, which is no maximum"));
  const Pipeline pipeline = Attention();
  const auto refusal = [&](const JointGroup& group) {
    const Status status = StreamedStepsOf(pipeline, group).status();
    EXPECT_EQ(ComputedExpressions(pipeline, {group}).status(), status);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(GroupOf(pipeline, 4, 5)),
              HasSubstr("chunks of 5 points do not divide 1 splits of the 24 points"));
  JointGroup group = GroupOf(pipeline);
  group.splits = 5;
  EXPECT_THAT(refusal(group), HasSubstr("do not divide 5 splits"));
  group = GroupOf(pipeline);
  group.streamed = {2, 2};
  EXPECT_THAT(refusal(group), HasSubstr("has a streamed dimension, or has none"));
  group.streamed = {-1, -1, -1, -1, -1};
  EXPECT_THAT(refusal(group), HasSubstr("no step of the joint group has"));
  group.streamed = {1, 2, 2, 2, 3};
  EXPECT_THAT(refusal(group), HasSubstr("another one than the common ones"));
  group.streamed = {2, 2, 2, 2, 2};
  EXPECT_THAT(refusal(group), HasSubstr("step 5 (output) has 4 points, that of others 24"));
  group.streamed = {2, 2, 2, -1, 3};
  EXPECT_THAT(refusal(group),
              HasSubstr("step 4 (row_sum) uses 'p' of step 3 (weights) by other indices"));
  const Pipeline soft_max = *ParsePipeline(kSoftMax);
  JointGroup rows = JointGroups(soft_max).at(0);
  rows.streamed = {1, 1, 1};
  rows.chunk = 64;
  EXPECT_THAT(std::string(StreamedStepsOf(soft_max, rows).status().message()),
              HasSubstr("step 3 (divide) reads all of what step 2 (row_sum) reduces"));
}

// As the pipeline's own steps, if all of the dimension is one chunk.
std::vector<BufferBytes> RunInOneChunk(const StreamedSteps& streamed,
                                       const std::vector<BufferBytes>& inputs) {
  std::vector<BufferBytes> all;
  size_t given = 0;
  const std::vector<PipelineBuffer>& buffers = streamed.pipeline.buffers();
  for (const int b : streamed.pipeline.BuffersOf(Role::kInput)) {
    const StreamedSteps::Carried* carried = nullptr;
    for (const StreamedSteps::Carried& own : streamed.carried) {
      if (own.before == b) carried = &own;
    }
    if (carried == nullptr) {
      all.push_back(inputs[given++]);
      continue;
    }
    BufferBytes& bytes = all.emplace_back(buffers[b].size_bytes());
    for (int64_t at = 0; at < std::ssize(bytes); at += buffers[b].type.size_bytes()) {
      carried->neutral.Store(bytes.data() + at);
    }
  }
  const auto results = InterpretPipeline(streamed.pipeline, all);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.value_or(std::vector<BufferBytes>());
}

TEST(StreamedSteps, RandomOnesMeanTheSame) {
  Rng rng(FreshSeed());
  int streamed_ones = 0;
  for (int n = 0; n < TriedCases(120); ++n) {
    const Pipeline pipeline = RandomScaledPipeline(rng);
    const auto inputs = RandomInputs(rng, pipeline);
    for (const JointGroup& group : RandomJointGroups(rng, pipeline)) {
      if (!group.is_streamed()) continue;
      ++streamed_ones;
      JointGroup whole = group;
      whole.splits = 1;
      whole.chunk = StreamedExtent(pipeline, group);
      const auto streamed = StreamedStepsOf(pipeline, whole);
      ASSERT_TRUE(streamed.ok()) << streamed.status();
      EXPECT_EQ(RunInOneChunk(*streamed, inputs), *InterpretPipeline(pipeline, inputs));
    }
  }
  if (!kIsSanitized) {
    EXPECT_GE(streamed_ones, 40);
  }
}

}  // namespace
}  // namespace mdh::streamed_steps_test
