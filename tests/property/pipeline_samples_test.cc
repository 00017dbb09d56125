// Samples of random pipelines: what only some points were computed for is what the interpreter
// says of all of them.
#include "tuner/measure/pipeline_samples.h"

#include <cstring>

#include "core/text/pipeline_printer.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/fresh_seed.h"
#include "tests/random_pipeline.h"
#include "tests/sanitized.h"
#include "tuner/measure/results/output_points.h"

namespace mdh::pipeline_samples_test {
namespace {

constexpr int64_t kTimeLimitNs = 120'000'000'000;

bool IsAt(const ReferenceBuffer& reference, const ReferenceSample& sample, const ScalarValue& value,
          const BufferBytes& bytes) {
  const ReferenceField& field = reference.fields[sample.field];
  std::byte stored[sizeof(uint64_t)];
  value.Store(stored);
  return std::memcmp(
             stored,
             bytes.data() + sample.element * reference.type.size_bytes() + field.offset_bytes,
             static_cast<size_t>(SizeBytes(field.type))) == 0;
}

TEST(PipelineSamplesTest, AreWhatTheInterpreterSays) {
  Rng rng(FreshSeed());
  RandomPipelineOptions options;
  options.expression.max_points = 1024;
  options.expression.max_rank = 4;
  options.expression.empty_one_in = 12;
  int64_t compared = 0;
  for (int n = 0; n < TriedCases(150); ++n) {
    const Pipeline pipeline = RandomPipeline(rng, options);
    SCOPED_TRACE(ToText(pipeline));
    const std::vector<BufferBytes> inputs = RandomInputs(rng, pipeline);
    std::vector<const std::byte*> pointers;
    for (const BufferBytes& input : inputs) pointers.push_back(input.data());
    const auto references =
        SamplePipeline(pipeline, pointers,
                       {.seed = rng(),
                        .time_limit_ns = kTimeLimitNs,
                        .most_results = 48,
                        .distinct = std::vector<std::vector<double>>(pipeline.steps().size()),
                        .tolerance_of = [](const Expression&) { return kDefaultTolerance; }});
    ASSERT_TRUE(references.ok()) << references.status();
    const auto wide = *InterpretPipeline(pipeline, inputs, Intermediates::kWide);
    const auto rounded = *InterpretPipeline(pipeline, inputs);
    ASSERT_EQ(references->size(), rounded.size());
    for (size_t b = 0; b < rounded.size(); ++b) {
      const ReferenceBuffer& reference = (*references)[b];
      ASSERT_GE(reference.variants.size(), 1u);
      ASSERT_EQ(reference.variants[0].values.size(), reference.samples.size());
      for (size_t s = 0; s < reference.samples.size(); ++s) {
        const ReferenceSample& sample = reference.samples[s];
        ASSERT_TRUE(IsAt(reference, sample, sample.value, wide[b]))
            << reference.name << " " << sample.element << " " << sample.value.ToString();
        ASSERT_TRUE(IsAt(reference, sample, reference.variants[0].values[s], rounded[b]))
            << reference.name << " " << sample.element;
        ++compared;
      }
      if (reference.contains_nan) continue;  // nothing but nan is right nowhere
      EXPECT_EQ(FirstMismatch(reference, rounded[b].data(), std::byte{0xa5}), std::nullopt);
      EXPECT_EQ(FirstMismatch(reference, wide[b].data(), std::byte{0xa5}), std::nullopt);
    }
  }
  EXPECT_GT(compared, TriedCases(150) * 10);
}

TEST(PipelineSamplesTest, PointsOfOutputsAreTheInverseOfTheirIndexFunctions) {
  Rng rng(FreshSeed());
  for (int n = 0; n < TriedCases(300); ++n) {
    const Expression expression = RandomExpression(rng, {.max_points = 512});
    SCOPED_TRACE(ToText(Pipeline::Of(expression)));
    for (int b = 0; b < std::ssize(expression.outputs()); ++b) {
      const Buffer& buffer = expression.outputs()[b];
      std::vector<std::optional<std::vector<int64_t>>> written(
          static_cast<size_t>(buffer.elements()));
      std::vector<int64_t> point(static_cast<size_t>(expression.rank()), 0);
      for (bool is_point = expression.result_points() > 0; is_point;) {
        for (int a = 0; a < std::ssize(buffer.accesses); ++a) {
          written[static_cast<size_t>(buffer.ElementAt(a, point))] = point;
        }
        int d = expression.rank() - 1;
        for (; d >= 0; --d) {
          if (expression.is_reduction(d)) continue;
          if (++point[d] < expression.dimensions()[d].size) break;
          point[d] = 0;
        }
        is_point = d >= 0;
      }
      const OutputPoints points(expression, b);
      for (int64_t e = 0; e < buffer.elements(); ++e) {
        const auto found = points.Find(e);
        ASSERT_TRUE(found.ok()) << found.status();
        EXPECT_EQ(*found, written[static_cast<size_t>(e)]) << e;
      }
    }
  }
}

}  // namespace
}  // namespace mdh::pipeline_samples_test
