// Pipelines: what is valid, what is not, and what they mean.
#include "core/pipeline/pipeline.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/pipeline_place.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"
#include "gtest/gtest.h"
#include "tests/core/buffer_values.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"
#include "tests/random_pipeline.h"
#include "tests/sanitized.h"

namespace mdh::pipeline_test {
namespace {

using Role = PipelineBuffer::Role;
using Kind = PipelinePlace::Kind;

// y = x + 1 on vectors.
Expression AddOne(const std::string& type = "fp32", const std::string& input = "x",
                  const std::string& output = "y", int size = 8) {
  return *ParseExpression(absl::StrCat("add_one := out_view<", type, ">( ", output,
                                       ": (i) -> (i) ) o md_hom<", size, ">( f, (++) ) o inp_view<",
                                       type, ">( ", input,
                                       ": (i) -> (i) ) where f(x) -> y { y = x + 1 }"));
}

// x -> h -> y, two times AddOne.
PipelineSpec TwoSteps() {
  return {.name = "p",
          .buffers = {{.name = "x", .role = Role::kInput},
                      {.name = "y", .role = Role::kOutput},
                      {.name = "h", .role = Role::kTemporary}},
          .steps = {{AddOne(), {0}, {2}}, {AddOne(), {2}, {1}}}};
}

void ExpectError(PipelineSpec spec, const std::string& message,
                 std::optional<PipelinePlace> place = std::nullopt) {
  const Result<Pipeline> pipeline = Pipeline::Create(std::move(spec));
  EXPECT_EQ(ErrorMessage(pipeline), message);
  EXPECT_EQ(PlaceOfPipeline(pipeline.status()), place) << message;
}

TEST(Pipeline, BuffersFollowFromTheSteps) {
  const Result<Pipeline> pipeline = Pipeline::Create(TwoSteps());
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  for (const PipelineBuffer& buffer : pipeline->buffers()) {
    EXPECT_EQ(buffer.extents, std::vector<int64_t>{8});
    EXPECT_EQ(buffer.type, ElementType(ScalarType::kFloat32));
    EXPECT_EQ(buffer.size_bytes(), 32);
  }
  EXPECT_EQ(pipeline->writer(0), -1);
  EXPECT_EQ(pipeline->writer(2), 0);
  EXPECT_EQ(pipeline->Readers(2), std::vector<int>{1});
  EXPECT_EQ(pipeline->BuffersOf(Role::kOutput), std::vector<int>{1});
  EXPECT_EQ(pipeline->FloatingPointOperations(), 16);
}

TEST(Pipeline, WrongNames) {
  PipelineSpec spec = TwoSteps();
  spec.name = "a pipeline";
  ExpectError(spec, "'a pipeline' is no name for a pipeline");
  spec = TwoSteps();
  spec.buffers[2].name = "1h";
  ExpectError(spec, "'1h' is no name for a buffer", PipelinePlace{Kind::kBuffer, 2});
  spec.buffers[2].name = "x";
  ExpectError(spec, "two buffers are called 'x'", PipelinePlace{Kind::kBuffer, 2});
}

TEST(Pipeline, WrongArguments) {
  PipelineSpec spec = TwoSteps();
  spec.steps[1].inputs = {2, 0};
  ExpectError(spec, "step 2 (add_one) takes 1 input (x), but 2 buffers are given for them",
              PipelinePlace{Kind::kStep, 1});
  spec.steps[1].inputs = {3};
  ExpectError(spec, "step 2 (add_one) reads buffer number 3, which does not exist",
              PipelinePlace{Kind::kStepInput, 1, 0});
}

TEST(Pipeline, EveryBufferHasOneWriterThatComesFirst) {
  PipelineSpec spec = TwoSteps();
  spec.steps.erase(spec.steps.begin());
  ExpectError(spec, "no step writes 'h'; make it an input, or the result of a step",
              PipelinePlace{Kind::kBuffer, 2});
  spec = TwoSteps();
  spec.steps[1].outputs = {0};
  spec.buffers[1].role = Role::kInput;
  ExpectError(spec, "step 2 (add_one) writes 'x', which is an input; give the result another name",
              PipelinePlace{Kind::kStepOutput, 1, 0});
  spec = TwoSteps();
  spec.steps.push_back({AddOne(), {0}, {2}});
  ExpectError(spec,
              "step 3 (add_one) writes 'h', which step 1 (add_one) has written already; give the "
              "result another name",
              PipelinePlace{Kind::kStepOutput, 2, 0});
  spec = TwoSteps();
  std::swap(spec.steps[0], spec.steps[1]);
  ExpectError(spec,
              "step 1 (add_one) reads 'h' before step 2 (add_one) writes it; a step reads inputs "
              "and what the steps before it have written",
              PipelinePlace{Kind::kStepInput, 0, 0});
  spec = TwoSteps();
  spec.steps[0].inputs = {2};
  ExpectError(spec, "step 1 (add_one) reads and writes 'h'; give the result another name",
              PipelinePlace{Kind::kStepInput, 0, 0});
}

TEST(Pipeline, BuffersThatNobodyReads) {
  PipelineSpec spec = TwoSteps();
  spec.steps[1].inputs = {0};
  ExpectError(spec, "no step reads the temporary 'h'; make it an output, or leave it out",
              PipelinePlace{Kind::kBuffer, 2});
  spec = TwoSteps();
  spec.buffers.push_back({.name = "z", .role = Role::kInput});
  ExpectError(spec, "no step reads the input 'z'; leave it out", PipelinePlace{Kind::kBuffer, 3});
  spec = TwoSteps();
  spec.buffers[1].role = Role::kTemporary;
  spec.steps.push_back({AddOne(), {1}, {3}});
  spec.buffers.push_back({.name = "z", .role = Role::kTemporary});
  ExpectError(spec, "no step reads the temporary 'z'; make it an output, or leave it out",
              PipelinePlace{Kind::kBuffer, 3});
  ExpectError({.name = "p", .buffers = {}, .steps = {}},
              "pipeline 'p' has 0 steps; it must have 1 to 64");
}

TEST(Pipeline, TypesExtentsAndStridesAgree) {
  PipelineSpec spec = TwoSteps();
  spec.steps[1].expression = AddOne("fp64");
  ExpectError(spec, "step 2 (add_one) reads 'h' as fp64, but step 1 (add_one) writes it as fp32",
              PipelinePlace{Kind::kStepInput, 1, 0});
  spec = TwoSteps();
  spec.steps[1].expression = AddOne("fp32", "x", "y", 9);
  ExpectError(spec,
              "step 2 (add_one) reads 'h' with the extents (9), but step 1 (add_one) writes it "
              "with (8)",
              PipelinePlace{Kind::kStepInput, 1, 0});
  spec.steps[1].expression = AddOne("fp32", "x[9]", "y", 8);
  ExpectError(spec,
              "step 2 (add_one) reads 'h' with the extents (9), but step 1 (add_one) writes it "
              "with (8)",
              PipelinePlace{Kind::kStepInput, 1, 0});
  spec.steps[1].expression = AddOne("fp32", "x strides (2)", "y", 8);
  ExpectError(spec, "step 2 (add_one) reads 'h' with the strides (2), but step 1 (add_one) has (1)",
              PipelinePlace{Kind::kStepInput, 1, 0});
  spec.steps[0].expression = *ParseExpression(
      "row := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<8,1>( f, (++,++) ) o inp_view<fp32>( x: "
      "(i,j) -> (i) ) where f(x) -> y { y = x }");
  ExpectError(spec,
              "step 2 (add_one) reads 'h' with 1 dimensions, but step 1 (row) writes it with 2",
              PipelinePlace{Kind::kStepInput, 1, 0});
}

TEST(Pipeline, ViewsMayReadAPart) {
  PipelineSpec spec = TwoSteps();
  spec.steps[1].expression = AddOne("fp32", "x", "y", 5);
  const Result<Pipeline> pipeline = Pipeline::Create(spec);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->steps()[1].expression.inputs()[0].extents, std::vector<int64_t>{8});
  EXPECT_EQ(pipeline->buffers()[1].extents, std::vector<int64_t>{5});
  // Of an input the largest part counts, unless a view gives the extents.
  spec.steps[1].inputs = {0};
  spec.buffers[2].role = Role::kOutput;
  EXPECT_EQ(Pipeline::Create(spec)->buffers()[0].extents, std::vector<int64_t>{8});
  spec.steps[1].expression = AddOne("fp32", "x[12]", "y", 5);
  EXPECT_EQ(Pipeline::Create(spec)->buffers()[0].extents, std::vector<int64_t>{12});
  spec.steps[1].expression = AddOne("fp32", "x[7]", "y", 5);
  ExpectError(spec,
              "step 1 (add_one) reads 'x' with the extents (8), but step 2 (add_one) reads it "
              "with (7)",
              PipelinePlace{Kind::kStepInput, 0, 0});
}

TEST(Pipeline, WhatIsKeptIsForTheCallerOnly) {
  PipelineSpec spec = TwoSteps();
  spec.steps[0].expression = AddOne("fp32", "x", "y[9] keep");
  spec.steps[1].expression = AddOne("fp32", "x", "y", 8);
  ExpectError(spec,
              "step 1 (add_one) keeps elements of 'h' that it does not write, so that no step can "
              "read it; leave out 'keep'",
              PipelinePlace{Kind::kStepOutput, 0, 0});
  spec.buffers[2].role = Role::kOutput;
  spec.steps[1].inputs = {0};
  EXPECT_TRUE(Pipeline::Create(spec).ok());
}

TEST(Pipeline, LimitsAreNamed) {
  PipelineSpec spec = TwoSteps();
  for (int n = 0; n < 63; ++n) {
    spec.buffers.push_back({.name = absl::StrCat("z", n), .role = Role::kOutput});
    spec.steps.push_back({AddOne(), {2}, {n + 3}});
  }
  ExpectError(spec, "pipeline 'p' has 65 steps; it must have 1 to 64");
  std::vector<std::string> views, names;
  for (int n = 0; n < 129; ++n) {
    views.push_back(absl::StrCat("a", n, ": (i) -> (i)"));
    names.push_back(absl::StrCat("a", n));
  }
  std::string types = "fp32", accesses, parameters;
  for (int n = 0; n < 129; ++n) {
    absl::StrAppend(&types, n > 0 ? ",fp32" : "");
    absl::StrAppend(&accesses, n > 0 ? ", " : "", views[n]);
    absl::StrAppend(&parameters, n > 0 ? ", " : "", names[n]);
  }
  const Expression wide = *ParseExpression(
      absl::StrCat("wide := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<",
                   types, ">( ", accesses, " ) where f(", parameters, ") -> y { y = a0 }"));
  spec = TwoSteps();
  spec.steps = {{AddOne(), {0}, {2}},
                {wide, std::vector<int>(129, 2), {1}},
                {wide, std::vector<int>(129, 2), {3}}};
  spec.buffers.push_back({.name = "z", .role = Role::kOutput});
  ExpectError(spec,
              "pipeline 'p' has 258 edges, which are inputs of steps that steps write; at most 256 "
              "are allowed");
}

Pipeline Parsed(const std::string& text) {
  const Result<Pipeline> pipeline = ParsePipeline(text);
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *pipeline;
}

TEST(PipelineCanonical, NamesAndTheOrderOfIndependentStepsDoNotMatter) {
  const Pipeline first = Parsed(kLayer);
  PipelineSpec spec = first.spec();
  spec.name = "other";
  for (PipelineBuffer& buffer : spec.buffers) buffer.name += "_";
  EXPECT_EQ(Digest(*Pipeline::Create(spec)), Digest(first));

  PipelineSpec two = {.name = "p",
                      .buffers = {{.name = "x", .role = Role::kInput},
                                  {.name = "a", .role = Role::kTemporary},
                                  {.name = "b", .role = Role::kTemporary},
                                  {.name = "y", .role = Role::kOutput},
                                  {.name = "z", .role = Role::kOutput}},
                      .steps = {{AddOne(), {0}, {1}},
                                {AddOne("fp32", "u"), {0}, {2}},
                                {AddOne(), {1}, {3}},
                                {AddOne(), {2}, {4}}}};
  const std::string digest = Digest(*Pipeline::Create(two));
  std::swap(two.steps[0], two.steps[1]);
  std::swap(two.steps[2], two.steps[3]);
  EXPECT_EQ(Digest(*Pipeline::Create(two)), digest);
  // Equal steps on equal buffers are one.
  const PipelineSpec shared = {
      .name = "p",
      .buffers = {{.name = "x", .role = Role::kInput},
                  {.name = "a", .role = Role::kTemporary},
                  {.name = "y", .role = Role::kOutput},
                  {.name = "z", .role = Role::kOutput}},
      .steps = {{AddOne(), {0}, {1}}, {AddOne(), {1}, {2}}, {AddOne(), {1}, {3}}}};
  EXPECT_EQ(Digest(*Pipeline::Create(shared)), digest);
}

TEST(PipelineCanonical, WiringMatters) {
  const Expression difference = *ParseExpression(
      "d := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<fp32,fp32>( a: (i) "
      "-> (i), b: (i) -> (i) ) where f(a, b) -> y { y = a - b }");
  PipelineSpec spec = TwoSteps();
  spec.steps[1] = {difference, {0, 2}, {1}};
  PipelineSpec swapped = spec;
  swapped.steps[1].inputs = {2, 0};
  EXPECT_NE(Digest(*Pipeline::Create(spec)), Digest(*Pipeline::Create(swapped)));
}

TEST(PipelineCanonical, OneStepIsItsExpression) {
  Rng rng(3);
  for (int n = 0; n < 50; ++n) {
    const Expression expression = RandomExpression(rng);
    EXPECT_EQ(CanonicalForm(Pipeline::Of(expression)), CanonicalForm(expression));
  }
  // But not with its inputs in another order, or with one buffer for both.
  const Expression product = *ParseExpression(
      "p := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<fp32,fp32>( a: (i) "
      "-> (i), b: (i) -> (i) ) where f(a, b) -> y { y = a * b }");
  PipelineSpec spec = Pipeline::Of(product).spec();
  spec.steps[0].inputs = {1, 0};
  EXPECT_NE(Digest(*Pipeline::Create(spec)), Digest(product));
  spec.steps[0].inputs = {0, 0};
  spec.steps[0].outputs = {1};
  spec.buffers.erase(spec.buffers.begin() + 1);
  EXPECT_NE(Digest(*Pipeline::Create(spec)), Digest(product));
}

TEST(PipelineInterpreter, StepsReadWhatWasWritten) {
  std::vector<float> x(24);
  for (int n = 0; n < 24; ++n) x[n] = static_cast<float>(n);
  const Result<std::vector<BufferBytes>> outputs =
      InterpretPipeline(Parsed(kCentred), {BytesOfValues(x)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ValuesOfBytes<float>((*outputs)[1]), (std::vector<float>{3.5, 11.5, 19.5}));
  EXPECT_EQ(ValuesOfBytes<float>((*outputs)[0])[0], -3.5);
  EXPECT_EQ(ValuesOfBytes<float>((*outputs)[0])[23], 3.5);
}

// fp16 holds 2049 as 2048: what is lost between steps.
TEST(PipelineInterpreter, IntermediatesAreRoundedOrKeptWide) {
  PipelineSpec spec = TwoSteps();
  for (PipelineStep& step : spec.steps) step.expression = AddOne("fp16", "x", "y", 1);
  spec.buffers[1].role = Role::kTemporary;
  spec.buffers.push_back({.name = "z", .role = Role::kOutput});
  spec.steps.push_back({*ParseExpression("wide := out_view<fp32>( y: (i) -> (i) ) o md_hom<1>( f, "
                                         "(++) ) o inp_view<fp16>( x: (i) -> (i) ) where f(x) -> y "
                                         "{ y = fp32(x) }"),
                        {1},
                        {3}});
  const Pipeline pipeline = *Pipeline::Create(spec);
  const BufferBytes x = BytesOfValues<uint16_t>({0x6800});  // 2048
  const auto value = [&](Intermediates intermediates) {
    return ValuesOfBytes<float>((*InterpretPipeline(pipeline, {x}, intermediates))[0])[0];
  };
  EXPECT_EQ(value(Intermediates::kRounded), 2048);
  EXPECT_EQ(value(Intermediates::kWide), 2050);
  EXPECT_TRUE(HasNarrowReals(pipeline));
}

// Then one run is enough.
TEST(PipelineInterpreter, WhatHasNoNarrowRealsIsTheSameKeptWide) {
  for (const auto& [type, is_narrow] :
       {std::pair("fp64", false), {"int32", false}, {"fp32", true}}) {
    PipelineSpec spec = TwoSteps();
    for (PipelineStep& step : spec.steps) step.expression = AddOne(type, "x", "y", 4);
    EXPECT_EQ(HasNarrowReals(*Pipeline::Create(spec)), is_narrow) << type;
  }
}

TEST(PipelineInterpreter, ExactPipelinesAreTheSameKeptWide) {
  Rng rng(11);
  RandomPipelineOptions options;
  options.expression.half_types = false;
  options.expression.result_types = false;
  options.expression.max_points = 512;
  int equal = 0;
  constexpr int kTried = TriedCases(60);
  for (int n = 0; n < kTried; ++n) {
    const Pipeline pipeline = RandomPipeline(rng, options);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, pipeline);
    const auto rounded = InterpretPipeline(pipeline, inputs);
    const auto wide = InterpretPipeline(pipeline, inputs, Intermediates::kWide);
    ASSERT_TRUE(rounded.ok() && wide.ok()) << rounded.status() << wide.status();
    equal += *rounded == *wide ? 1 : 0;
  }
  EXPECT_GE(equal, kTried - 5);
}

TEST(PipelineInterpreter, WrongInputs) {
  const Pipeline pipeline = Parsed(kCentred);
  EXPECT_EQ(ErrorMessage(InterpretPipeline(pipeline, {})),
            "pipeline 'centred' has 1 inputs, but 0 were given");
  EXPECT_EQ(ErrorMessage(InterpretPipeline(pipeline, {BufferBytes(4)})),
            "input 'x' has 96 bytes, but 4 were given");
}

TEST(PipelineInterpreter, RightValues) {
  EXPECT_TRUE(IsRightValue(1.0, 1.0, 1.5, 0));
  EXPECT_TRUE(IsRightValue(1.5, 1.0, 1.5, 0));
  EXPECT_TRUE(IsRightValue(3.5, 1.0, 1.5, 0));
  EXPECT_FALSE(IsRightValue(3.6, 1.0, 1.5, 0));
  EXPECT_FALSE(IsRightValue(1.1, 1.0, 1.0, 0));
  EXPECT_TRUE(IsRightValue(1.1, 1.0, 1.0, 0.2));
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_TRUE(IsRightValue(infinity, infinity, 4.0, 0));
  EXPECT_TRUE(IsRightValue(nan, 1.0, nan, 0));
  EXPECT_FALSE(IsRightValue(nan, 1.0, 1.0, 1));
}

}  // namespace
}  // namespace mdh::pipeline_test
