// Random TeML programs: what their loops compute, iteration by iteration, is what the pipeline of
// their assignments means. MDH_TEML_PROGRAMS says how many are tried.
#include "tests/random_teml.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/teml/teml_judge.h"
#include "tests/fresh_seed.h"
#include "tests/sanitized.h"

namespace mdh::random_teml_test {
namespace {

using Role = PipelineBuffer::Role;

// What a run of random programs has tried.
struct Tried {
  int steps = 0, fused = 0, unrolled = 0, parallel = 0, sums = 0;
};

void Count(const LoopTrees& trees, Tried* tried) {
  if (trees.size() > 1) ++tried->unrolled;
  for (const LoopTree& tree : trees) {
    if (tree->loop() == nullptr) continue;
    if (tree->loop()->is_parallel || tree->loop()->is_vector) ++tried->parallel;
    Count(tree->loop()->body, tried);
  }
}

void CheckProgram(const std::string& text, Rng& rng, Tried* tried) {
  const Result<TemlProgram> program = ParseTemlProgram(text, {}, "random.teml");
  ASSERT_TRUE(program.ok()) << program.status() << "\n" << text;
  const Result<Pipeline> pipeline = ToPipeline(*program, "random");
  // Whether an output element is written twice is known there only.
  if (!pipeline.ok()) {
    EXPECT_NE(pipeline.status().message().find("writes"), std::string::npos)
        << pipeline.status() << "\n"
        << text;
    return;
  }
  // Also what is read for values only that are overwritten.
  TensorContents contents;
  for (const TensorPointer& tensor : program->tensors) {
    int64_t elements = 1;
    for (const int64_t extent : tensor->shape) elements *= extent;
    contents.emplace(tensor->name, RandomContents(rng, tensor->type, elements));
  }
  std::vector<BufferBytes> given;
  for (const int b : pipeline->BuffersOf(Role::kInput)) {
    given.push_back(contents.at(pipeline->buffers()[b].name));
  }
  const Result<std::vector<BufferBytes>> expected = InterpretPipeline(*pipeline, given);
  const Result<TensorContents> loops = InterpretLoops(*program, contents);
  ASSERT_TRUE(expected.ok() && loops.ok()) << expected.status() << loops.status() << "\n" << text;
  const std::vector<int> outputs = pipeline->BuffersOf(Role::kOutput);
  for (size_t n = 0; n < outputs.size(); ++n) {
    const std::string& name = pipeline->buffers()[outputs[n]].name;
    ASSERT_EQ(ValuesOfBytes<int64_t>(loops->at(name)), ValuesOfBytes<int64_t>((*expected)[n]))
        << name << "\n"
        << text << "\n"
        << ToText(*program) << "\n"
        << ToText(*pipeline);
  }
  const Result<Pipeline> again = ParsePipeline(ToText(*pipeline));
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << ToText(*pipeline);
  EXPECT_EQ(Digest(*again), Digest(*pipeline));
  tried->steps += static_cast<int>(pipeline->steps().size());
  if (program->loops.size() < program->assignments.size()) ++tried->fused;
  if (pipeline->steps().size() > program->assignments.size()) ++tried->sums;
  for (const LoopTrees& trees : program->loops) Count(trees, tried);
}

TEST(RandomTeml, LoopsComputeWhatThePipelineMeans) {
  const char* const wanted = std::getenv("MDH_TEML_PROGRAMS");
  const int programs = wanted != nullptr ? std::atoi(wanted) : TriedCases(500);
  Rng rng(FreshSeed());
  Tried tried;
  for (int n = 0; n < programs && !testing::Test::HasFailure(); ++n) {
    CheckProgram(RandomTemlProgram(rng), rng, &tried);
  }
  std::printf(
      "%d programs: %d steps, %d with fused nests, %d lists of several trees, %d flags, %d with "
      "sums of their own\n",
      programs, tried.steps, tried.fused, tried.unrolled, tried.parallel, tried.sums);
  if (wanted != nullptr || kIsSanitized || testing::Test::HasFailure()) return;
  EXPECT_GT(tried.steps, 1000);
  EXPECT_GT(tried.fused, 50);
  EXPECT_GT(tried.unrolled, 50);
  EXPECT_GT(tried.parallel, 20);
  EXPECT_GT(tried.sums, 3);
}

}  // namespace
}  // namespace mdh::random_teml_test
