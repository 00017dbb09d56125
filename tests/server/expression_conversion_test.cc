#include "server/expression_conversion.h"

#include "core/canonical.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/matmul_expression.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;

class ExpressionConversionTest : public ::testing::Test {
 protected:
  void ExpectRefusal(absl::StatusCode code, const std::string& message) const {
    const Status status = FromProto(proto_, limits_).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }

  v1::Expression proto_ = ToProto(MatMulExpression(4, 5, 6));
  ExpressionLimits limits_;
};

TEST_F(ExpressionConversionTest, AnExpressionSurvivesTheWire) {
  const Expression matmul = MatMulExpression(4, 5, 6);
  const Result<Expression> back = FromProto(ToProto(matmul), limits_);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(CanonicalForm(*back), CanonicalForm(matmul));
  EXPECT_EQ(ToProto(*back).SerializeAsString(), ToProto(matmul).SerializeAsString());
}

TEST_F(ExpressionConversionTest, ExtentsMayBeLeftOut) {
  for (v1::Buffer& buffer : *proto_.mutable_inputs()) buffer.clear_extents();
  const Result<Expression> expression = FromProto(proto_, limits_);
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(expression->inputs()[1].extents, (std::vector<int64_t>{6, 5}));
}

TEST_F(ExpressionConversionTest, ConstantsOfEveryTypeSurviveTheWire) {
  for (const ScalarType type : {ScalarType::kBool, ScalarType::kInt8, ScalarType::kUint64,
                                ScalarType::kInt64, ScalarType::kFloat32, ScalarType::kFloat64}) {
    const ScalarValue value = type == ScalarType::kBool ? ScalarValue::Bool(true)
                              : IsFloatingPoint(type)   ? ScalarValue::Real(type, 0.75)
                              : IsSigned(type)          ? ScalarValue::Integer(type, -3)
                                                        : ScalarValue::Integer(type, -1);
    ScalarInstruction constant{ScalarOp::kConstant, type, {}};
    constant.constant = value;
    ExpressionSpec spec{"fill",
                        {{"i", 3}},
                        {},
                        {{"out", type, {}, {IndexFunction{{{{1}, 0}}}}}},
                        *ScalarFunction::Create("f", {}, {{"r", type}}, {constant}, {0}),
                        {CombineOperator::Concat()}};
    const Result<Expression> expression = Expression::Create(std::move(spec));
    ASSERT_TRUE(expression.ok()) << expression.status();
    const Result<Expression> back = FromProto(ToProto(*expression), limits_);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->function().instructions()[0].constant, value);
  }
}

TEST_F(ExpressionConversionTest, ACustomOperatorSurvivesTheWire) {
  const ScalarType type = ScalarType::kInt32;
  ScalarInstruction left{ScalarOp::kParameter, type, {}, 0};
  ScalarInstruction right{ScalarOp::kParameter, type, {}, 1};
  ScalarFunction function =
      *ScalarFunction::Create("larger", {{"l", type}, {"r", type}}, {{"m", type}},
                              {left, right, {ScalarOp::kMax, type, {0, 1}}}, {2});
  const CombineOperator larger = *CombineOperator::PointWise(
      std::move(function), std::vector<ScalarValue>{ScalarValue::Integer(type, -1000)});
  ScalarInstruction parameter{ScalarOp::kParameter, type, {}, 0};
  ExpressionSpec spec{"maximum",
                      {{"i", 10}},
                      {{"x", type, {}, {IndexFunction{{{{1}, 0}}}}}},
                      {{"m", type, {}, {IndexFunction{}}}},
                      *ScalarFunction::Create("f", {{"x", type}}, {{"m", type}}, {parameter}, {0}),
                      {larger}};
  const Result<Expression> expression = Expression::Create(std::move(spec));
  ASSERT_TRUE(expression.ok()) << expression.status();
  const Result<Expression> back = FromProto(ToProto(*expression), limits_);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(CanonicalForm(*back), CanonicalForm(*expression));
}

TEST_F(ExpressionConversionTest, ARequestWithoutExpressionIsInvalid) {
  EXPECT_EQ(FromProto(v1::ExpressionSource(), limits_).status().message(),
            "the request has no expression");
}

TEST_F(ExpressionConversionTest, MissingTypesAndOperationsAreNamed) {
  proto_.mutable_inputs(0)->set_type(v1::SCALAR_TYPE_UNSPECIFIED);
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "the type of buffer 'A' is missing");
  proto_ = ToProto(MatMulExpression(4, 5, 6));
  proto_.mutable_function()->mutable_instructions(2)->clear_op();
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "instruction 2 of function 'f'");
  proto_ = ToProto(MatMulExpression(4, 5, 6));
  proto_.mutable_combine_operators(2)->clear_kind();
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "a combine operator has no kind");
  proto_.mutable_combine_operators(2)->mutable_point_wise();
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "a pointwise combine operator has no kind");
}

TEST_F(ExpressionConversionTest, ConstantsMustFitTheirType) {
  v1::ScalarInstruction* constant = proto_.mutable_function()->add_instructions();
  constant->set_op(v1::SCALAR_OP_CONSTANT);
  constant->set_type(v1::SCALAR_TYPE_INT8);
  constant->mutable_constant()->set_type(v1::SCALAR_TYPE_INT8);
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "has no value of its type int8");
  constant->mutable_constant()->set_int_value(300);
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "does not fit in int8");
}

TEST_F(ExpressionConversionTest, WhatCoreRefusesIsRefused) {
  proto_.mutable_dimensions(0)->set_size(0);
  EXPECT_FALSE(FromProto(proto_, limits_).ok());
  proto_ = ToProto(MatMulExpression(4, 5, 6));
  proto_.mutable_function()->mutable_instructions(2)->set_operands(0, 17);
  EXPECT_EQ(FromProto(proto_, limits_).status().code(), absl::StatusCode::kInvalidArgument);
  proto_ = ToProto(MatMulExpression(4, 5, 6));
  proto_.mutable_function()->set_result_instructions(0, -1);
  EXPECT_EQ(FromProto(proto_, limits_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ExpressionConversionTest, LimitsHold) {
  limits_.dimensions = 2;
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "3 dimensions, at most 2");
  limits_ = {};
  limits_.buffers = 2;
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "3 buffers, at most 2");
  limits_ = {};
  limits_.accesses = 2;
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "3 accesses, at most 2");
  limits_ = {};
  limits_.instructions = 2;
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "3 instructions, at most 2");
  limits_ = {};
  limits_.buffer_bytes = 100;
  ExpectRefusal(absl::StatusCode::kResourceExhausted, "more than this daemon's limit of 100");
  limits_ = {};
  limits_.text_bytes = 10;
  v1::ExpressionSource text;
  text.mutable_text()->set_text("matmul and so on");
  EXPECT_THAT(std::string(FromProto(text, limits_).status().message()),
              HasSubstr("the text has 16 bytes, at most 10"));
}

}  // namespace
}  // namespace mdh
