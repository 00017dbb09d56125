#include "proto/expression_conversion.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/expression/canonical.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/matmul_expression.h"

namespace mdh::expression_conversion_test {
namespace {

using ::testing::HasSubstr;

class ExpressionConversionTest : public ::testing::Test {
 protected:
  void ExpectSurvival(ExpressionSpec spec) const {
    const Result<Expression> expression = Expression::Create(std::move(spec));
    ASSERT_TRUE(expression.ok()) << expression.status();
    const v1::Expression sent = ToProto(*expression);
    const Result<Expression> back = FromProto(sent, limits_);
    ASSERT_TRUE(back.ok()) << back.status() << sent.DebugString();
    EXPECT_EQ(CanonicalForm(*back), CanonicalForm(*expression));
    EXPECT_EQ(ToProto(*back).SerializeAsString(), sent.SerializeAsString());
  }

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
  for (const ScalarType type :
       {ScalarType::kBool, ScalarType::kInt8, ScalarType::kUint64, ScalarType::kInt64,
        ScalarType::kFloat16, ScalarType::kBfloat16, ScalarType::kFloat32, ScalarType::kFloat64}) {
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

// A parameter per entry of `types`, all of which are results.
ScalarFunction Copy(const std::vector<TypedName>& parameters,
                    const std::vector<TypedName>& results) {
  std::vector<ScalarInstruction> instructions;
  std::vector<int> result_instructions;
  for (const TypedName& parameter : parameters) {
    const int number = static_cast<int>(instructions.size());
    instructions.push_back({ScalarOp::kParameter, parameter.type, {}, number});
    result_instructions.push_back(number);
  }
  return *ScalarFunction::Create("f", parameters, results, std::move(instructions),
                                 std::move(result_instructions));
}

const std::vector<TypedName> kPoint = {{"x", ScalarType::kFloat16}, {"n", ScalarType::kInt64}};
const IndexFunction kPlain{{{{1}, 0}}};

// out[i] = in[i] of records, in which the input's border is clamped and both have gaps.
ExpressionSpec CopyOfRecords() {
  const ElementType point = *ElementType::Record(kPoint);
  Buffer in{"in", point, {5}, {{{{{1}, -1}}}}, true};
  in.given_strides = {3};
  in.boundary.kind = Boundary::Kind::kClamp;
  Buffer out{"out", point, {8}, {kPlain}, true};
  out.given_strides = {2};
  return {"copy",
          {{"i", 8}},
          {in},
          {out},
          Copy({{"in.x", kPoint[0].type}, {"in.n", kPoint[1].type}},
               {{"out.x", kPoint[0].type}, {"out.n", kPoint[1].type}}),
          {CombineOperator::Concat()}};
}

TEST_F(ExpressionConversionTest, RecordsStridesAndClampedBordersSurviveTheWire) {
  ExpectSurvival(CopyOfRecords());
  const v1::Expression sent = ToProto(*Expression::Create(CopyOfRecords()));
  EXPECT_EQ(sent.inputs(0).type(), v1::SCALAR_TYPE_UNSPECIFIED);
  EXPECT_EQ(sent.inputs(0).record(1).name(), "n");
  EXPECT_TRUE(sent.inputs(0).boundary().has_clamp());
  EXPECT_EQ(sent.outputs(0).strides(0), 2);
}

TEST_F(ExpressionConversionTest, KeptElementsAndEmptyDimensionsSurviveTheWire) {
  ExpressionSpec spec = CopyOfRecords();
  spec.outputs[0].extents = {9};
  spec.outputs[0].keeps_unreached = true;
  EXPECT_TRUE(ToProto(*Expression::Create(spec)).outputs(0).keeps_unreached());
  ExpectSurvival(spec);
  spec.dimensions[0].size = 0;
  ExpectSurvival(std::move(spec));
}

TEST_F(ExpressionConversionTest, ConstantsAroundBuffersSurviveTheWire) {
  ExpressionSpec spec = CopyOfRecords();
  spec.inputs[0].boundary = {
      Boundary::Kind::kConstant,
      {ScalarValue::Real(ScalarType::kFloat16, -0.5), ScalarValue::Integer(ScalarType::kInt64, 7)}};
  ExpectSurvival(std::move(spec));
}

TEST_F(ExpressionConversionTest, OneNamedOperatorPerResultSurvivesTheWire) {
  for (const bool is_prefix_sum : {false, true}) {
    const std::vector<PointWiseKind> kinds = {PointWiseKind::kMax, PointWiseKind::kAdd};
    CombineOperator combine =
        *CombineOperator::PointWise(kinds, std::vector<ScalarType>{kPoint[0].type, kPoint[1].type});
    if (is_prefix_sum) combine = combine.AsPrefixSum();
    ExpressionSpec spec = CopyOfRecords();
    spec.combine_operators = {combine};
    if (!is_prefix_sum) {
      spec.outputs[0] = {"out", spec.outputs[0].type, {}, {IndexFunction{}}};
    }
    ExpectSurvival(spec);
    const v1::CombineOperator sent =
        ToProto(*Expression::Create(std::move(spec))).combine_operators(0);
    EXPECT_EQ(sent.has_prefix_sum(), is_prefix_sum);
    EXPECT_EQ((is_prefix_sum ? sent.prefix_sum() : sent.point_wise()).kinds_size(), 2);
  }
}

// y[i] = table[i], stored as bf16 and computed in fp32.
ExpressionSpec TableOfIndices() {
  ScalarInstruction table{ScalarOp::kTable, ScalarType::kFloat32, {0}};
  for (const double value : {0.5, -1.0, 3.25}) {
    table.table.push_back(ScalarValue::Real(ScalarType::kFloat32, value));
  }
  return {"table",
          {{"i", 3}},
          {},
          {{"y", ScalarType::kBfloat16, {}, {kPlain}}},
          *ScalarFunction::Create("f", {{"i", ScalarType::kInt64}}, {{"r", ScalarType::kFloat32}},
                                  {{ScalarOp::kParameter, ScalarType::kInt64, {}, 0}, table}, {1}),
          {CombineOperator::Concat()},
          {0}};
}

TEST_F(ExpressionConversionTest, TablesIndicesAndTypesOfResultsSurviveTheWire) {
  ExpectSurvival(TableOfIndices());
  const v1::Expression sent = ToProto(*Expression::Create(TableOfIndices()));
  EXPECT_EQ(sent.index_dimensions(0), 0);
  EXPECT_EQ(sent.function().results(0).type(), v1::SCALAR_TYPE_FLOAT32);
  EXPECT_EQ(sent.outputs(0).type(), v1::SCALAR_TYPE_BFLOAT16);
}

TEST_F(ExpressionConversionTest, IncompleteRecordsAndBordersAreNamed) {
  const v1::Expression records = ToProto(*Expression::Create(CopyOfRecords()));
  const auto code = absl::StatusCode::kInvalidArgument;
  proto_ = records;
  proto_.mutable_inputs(0)->set_type(v1::SCALAR_TYPE_INT8);
  ExpectRefusal(code, "buffer 'in' has both a scalar type and a record");
  proto_ = records;
  proto_.mutable_inputs(0)->mutable_record(1)->set_name("x");
  ExpectRefusal(code, "buffer 'in': two fields of a record are called 'x'");
  proto_ = records;
  proto_.mutable_inputs(0)->mutable_record(1)->clear_type();
  ExpectRefusal(code, "the type of 'n' is missing or unknown");
  proto_ = records;
  proto_.mutable_inputs(0)->mutable_boundary()->clear_kind();
  ExpectRefusal(code, "the boundary of buffer 'in' has no kind");
  proto_.mutable_inputs(0)->mutable_boundary()->mutable_constant()->add_values();
  ExpectRefusal(code, "the type of the boundary of buffer 'in' is missing");
  proto_.mutable_inputs(0)->mutable_boundary()->mutable_constant()->clear_values();
  ExpectRefusal(code, "the values of its boundary are no {x: fp16, n: int64}");
  proto_ = records;
  proto_.mutable_inputs(0)->mutable_strides()->Add(1);
  ExpectRefusal(code, "input 'in' has 2 strides for 1 dimensions");
}

TEST_F(ExpressionConversionTest, IncompleteTablesAndIndicesAreNamed) {
  const v1::Expression table = ToProto(*Expression::Create(TableOfIndices()));
  const auto code = absl::StatusCode::kInvalidArgument;
  proto_ = table;
  proto_.mutable_function()->mutable_instructions(1)->clear_table();
  ExpectRefusal(code, "instruction 1: the table is empty");
  proto_ = table;
  proto_.mutable_function()->mutable_instructions(1)->mutable_table(2)->clear_value();
  ExpectRefusal(code, "instruction 1 of function 'f' has no value of its type fp32");
  proto_ = table;
  proto_.set_index_dimensions(0, 1);
  ExpectRefusal(code, "ascending numbers below 1, not (1)");
  proto_.set_index_dimensions(0, -1);
  ExpectRefusal(code, "ascending numbers below 1, not (-1)");
}

TEST_F(ExpressionConversionTest, KindsOfOperatorsAreUnambiguous) {
  const auto code = absl::StatusCode::kInvalidArgument;
  v1::PointWise* add = proto_.mutable_combine_operators(2)->mutable_point_wise();
  add->add_kinds(v1::POINT_WISE_KIND_ADD);
  ExpectRefusal(code, "both one kind and one kind per result");
  add->clear_kind();
  add->add_kinds(v1::POINT_WISE_KIND_ADD);
  ExpectRefusal(code, "2 operations for 1 results");
  add->mutable_kinds()->RemoveLast();
  EXPECT_TRUE(FromProto(proto_, limits_).ok());
  for (const int kind : {0, v1::PointWiseKind_MAX + 1, -1}) {
    add->set_kinds(0, static_cast<v1::PointWiseKind>(kind));
    ExpectRefusal(code, "has no kind, or an unknown one");
  }
  add->set_kinds(0, v1::POINT_WISE_KIND_CUSTOM);
  ExpectRefusal(code, "needs a function");
  add->clear_kinds();
  add->set_kind(v1::POINT_WISE_KIND_CUSTOM);
  add->add_identity();
  ExpectRefusal(code, "has no result");
}

TEST_F(ExpressionConversionTest, NamesThatNoNameCanBeAreNotRepeated) {
  const v1::Expression matmul = proto_;
  const std::string name(100'000, 'n');
  const auto expect = [&](const char* of) {
    ExpectRefusal(absl::StatusCode::kInvalidArgument,
                  absl::StrCat("the name of ", of, " has 100000 bytes, at most 257"));
    proto_ = matmul;
  };
  proto_.set_name(name);
  expect("the expression");
  proto_.mutable_dimensions(0)->set_name(name);
  expect("a dimension");
  proto_.mutable_inputs(0)->set_name(name);
  expect("a buffer");
  proto_.mutable_function()->set_name(name);
  expect("a function");
  proto_.mutable_function()->mutable_results(0)->set_name(name);
  expect("a parameter, a result or a field");
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
  proto_.mutable_dimensions(0)->set_size(-1);
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
  limits_.values = 2;
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "3 parameters and results, at most 2");
  limits_ = {};
  limits_.buffer_bytes = 100;
  ExpectRefusal(absl::StatusCode::kResourceExhausted, "more than the limit of 100");
  limits_ = {};
  limits_.text_bytes = 10;
  v1::ExpressionSource text;
  text.mutable_text()->set_text("matmul and so on");
  EXPECT_THAT(std::string(FromProto(text, limits_).status().message()),
              HasSubstr("the text has 16 bytes, at most 10"));
}

TEST_F(ExpressionConversionTest, LimitsHoldForTablesAndRecords) {
  proto_ = ToProto(*Expression::Create(TableOfIndices()));
  limits_.table_values = 2;
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "3 values in tables, at most 2");
  proto_ = ToProto(*Expression::Create(CopyOfRecords()));
  limits_.values = 3;
  ExpectRefusal(absl::StatusCode::kInvalidArgument, "4 parameters and results, at most 3");
  EXPECT_TRUE(FromProto(proto_, ExpressionLimits::None()).ok());
}

}  // namespace
}  // namespace mdh::expression_conversion_test
