#include "proto/pipeline_conversion.h"

#include <string>

#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"

namespace mdh::pipeline_conversion_test {
namespace {

using ::testing::HasSubstr;

class PipelineConversionTest : public ::testing::Test {
 protected:
  void ExpectRefusal(absl::StatusCode code, const std::string& message) const {
    const Status status = FromProto(proto_, limits_).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }

  const Pipeline pipeline_ = *ParsePipeline(kLayer);
  v1::Pipeline proto_ = ToProto(pipeline_);
  PipelineLimits limits_;
};

TEST_F(PipelineConversionTest, APipelineSurvivesTheWire) {
  const Result<Pipeline> back = FromProto(proto_, limits_);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(CanonicalForm(*back), CanonicalForm(pipeline_));
  EXPECT_EQ(ToProto(*back).SerializeAsString(), proto_.SerializeAsString());
}

TEST_F(PipelineConversionTest, WhatFollowsFromTheStepsIsNotNeeded) {
  for (v1::PipelineBuffer& buffer : *proto_.mutable_buffers()) {
    buffer.set_type(v1::SCALAR_TYPE_BOOL);
    buffer.clear_extents();
  }
  EXPECT_EQ(CanonicalForm(*FromProto(proto_, limits_)), CanonicalForm(pipeline_));
}

TEST_F(PipelineConversionTest, Text) {
  v1::ExpressionSource source;
  EXPECT_EQ(ErrorMessage(FromProto(source, limits_)), "the request has no pipeline");
  source.mutable_text()->set_text(kLayer);
  (*source.mutable_text()->mutable_bindings())["M"] = "9";
  const Result<Pipeline> pipeline = FromProto(source, limits_);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->buffers()[0].extents, (std::vector<int64_t>{9, 6}));
  limits_.text_bytes = 100;
  EXPECT_THAT(ErrorMessage(FromProto(source, limits_)), HasSubstr("at most 100 are allowed"));
  limits_ = PipelineLimits();
  limits_.steps = 1;
  EXPECT_EQ(ErrorMessage(FromProto(source, limits_)),
            "the pipeline has 2 steps, at most 1 are allowed");
  source.mutable_text()->set_name("activation");
  (*source.mutable_text()->mutable_bindings()) = {};
  EXPECT_THAT(ErrorMessage(FromProto(source, limits_)), HasSubstr("parameter 'T' has no value"));
}

TEST_F(PipelineConversionTest, SourcesStandForExpressionsOrPipelines) {
  v1::ExpressionSource source;
  EXPECT_FALSE(HoldsPipeline(source));
  EXPECT_EQ(ErrorMessage(ReadComputation(source, {})), "the request has no expression");
  source.mutable_text()->set_text(kLayer);
  EXPECT_TRUE(HoldsPipeline(source));
  const Result<Computation> read = ReadComputation(source, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(CanonicalForm(std::get<Pipeline>(*read)), CanonicalForm(pipeline_));
  EXPECT_EQ(
      ErrorMessage(FromProto(source, ExpressionLimits())),
      "'layer' is a pipeline of 2 steps, and only an expression is taken here: give each step "
      "by itself");
  source = ToProto(ComputationView(*read));
  EXPECT_TRUE(source.has_pipeline());
  EXPECT_EQ(CanonicalForm(std::get<Pipeline>(*ReadComputation(source, {}))),
            CanonicalForm(pipeline_));
  // A step by itself, and a pipeline of one step, are expressions.
  const Expression& step = pipeline_.steps()[1].expression;
  EXPECT_FALSE(HoldsPipeline(ToProto(ComputationView(step))));
  *source.mutable_pipeline() = ToProto(Pipeline::Of(step));
  EXPECT_EQ(std::get<Expression>(*ReadComputation(source, {})).name(), "activation");
  EXPECT_EQ(FromProto(source, ExpressionLimits())->name(), "activation");
  // One whose step reads the inputs in another order is none.
  std::swap(*source.mutable_pipeline()->mutable_buffers(0),
            *source.mutable_pipeline()->mutable_buffers(1));
  source.mutable_pipeline()->mutable_steps(0)->set_inputs(0, 1);
  source.mutable_pipeline()->mutable_steps(0)->set_inputs(1, 0);
  ASSERT_TRUE(ReadComputation(source, {}).ok()) << ReadComputation(source, {}).status();
  EXPECT_TRUE(std::holds_alternative<Pipeline>(*ReadComputation(source, {})));
  ExpressionLimits small;
  small.buffer_bytes = 10;
  EXPECT_THAT(ErrorMessage(ReadComputation(source, small)), HasSubstr("limit of 10"));
}

TEST_F(PipelineConversionTest, TextsMayBeTemlPrograms) {
  v1::ExpressionSource source;
  source.mutable_text()->set_text("A = tensor([N, N])\nB = contract(A, A, [2, 1])\n");
  (*source.mutable_text()->mutable_bindings())["N"] = "8";
  EXPECT_TRUE(HoldsPipeline(source));
  // One step is an expression.
  const Result<Expression> one = FromProto(source, ExpressionLimits());
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->dimensions()[2].size, 8);
  ExpressionLimits small;
  small.buffer_bytes = 10;
  EXPECT_THAT(ErrorMessage(ReadComputation(source, small)), HasSubstr("limit of 10"));
  source.mutable_text()->mutable_text()->append("C = transpose(B, [[1, 2]])\n");
  EXPECT_EQ(std::get<Pipeline>(*ReadComputation(source, {})).steps().size(), 2u);
  source.mutable_text()->mutable_text()->append("D = transpose(B, [[1, 3]])\n");
  EXPECT_EQ(ErrorMessage(ReadComputation(source, {})),
            "<text>:4:23: transpose (32): there is no dimension 3; dimensions count from 1 to 2\n"
            "D = transpose(B, [[1, 3]])\n                      ^");
}

TEST_F(PipelineConversionTest, Limits) {
  limits_.edges = 3;
  ExpectRefusal(absl::StatusCode::kInvalidArgument,
                "the pipeline has 4 inputs of steps, at most 3 are allowed");
  limits_ = PipelineLimits();
  limits_.buffer_bytes = 200;
  ExpectRefusal(absl::StatusCode::kResourceExhausted,
                "the buffers of pipeline 'layer' up to 'w' have more bytes than the limit of 200");
  limits_ = PipelineLimits();
  limits_.step.dimensions = 2;
  ExpectRefusal(absl::StatusCode::kInvalidArgument,
                "step 1: the expression has 3 dimensions, at most 2 are allowed");
}

TEST_F(PipelineConversionTest, WrongMessages) {
  proto_.mutable_buffers(0)->clear_role();
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "buffer 'x' has no role, or an unknown one");
  proto_ = ToProto(pipeline_);
  proto_.mutable_buffers(0)->set_role(static_cast<v1::PipelineRole>(9));
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "buffer 'x' has no role, or an unknown one");
  proto_ = ToProto(pipeline_);
  proto_.mutable_steps(0)->set_inputs(0, -1);
  ExpectRefusal(absl::StatusCode::kInvalidArgument,
                "step 1 (matmul) reads buffer number -1, which does not exist");
  proto_ = ToProto(pipeline_);
  proto_.mutable_steps(1)->clear_expression();
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "step 2: ");
  proto_ = ToProto(pipeline_);
  proto_.set_name(std::string(1000, 'x'));
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "the pipeline");
  proto_ = ToProto(pipeline_);
  proto_.clear_steps();
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "pipeline 'layer' has 0 steps");
}

}  // namespace
}  // namespace mdh::pipeline_conversion_test
