// Combine operators and their neutral elements.
#include "core/expression/combine_operator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/error_message.h"

namespace mdh::combine_operator_test {
namespace {

constexpr ScalarType kF32 = ScalarType::kFloat32;

std::vector<ScalarValue> Samples(ScalarType type) {
  if (type == ScalarType::kBool) return {ScalarValue::Bool(false), ScalarValue::Bool(true)};
  std::vector<ScalarValue> samples;
  for (int64_t number : {0, 1, 2, 100, 127, -1, -128}) {
    samples.push_back(IsFloatingPoint(type) ? ScalarValue::Real(type, static_cast<double>(number))
                                            : ScalarValue::Integer(type, number));
  }
  return samples;
}

TEST(CombineOperatorTest, IdentitiesAreNeutral) {
  int operators = 0;
  for (int kind = 2; kind <= 10; ++kind) {
    for (const ScalarTypeInfo& info : AllScalarTypes()) {
      const Result<CombineOperator> combine =
          CombineOperator::PointWise(static_cast<PointWiseKind>(kind), {info.type});
      if (!combine.ok()) continue;
      ++operators;
      ASSERT_TRUE(combine->identity().has_value());
      const ScalarValue identity = combine->identity()->at(0);
      for (const ScalarValue& value : Samples(info.type)) {
        EXPECT_EQ(combine->function().Evaluate({identity, value})[0], value)
            << combine->ToString() << " on " << info.name;
        EXPECT_EQ(combine->function().Evaluate({value, identity})[0], value)
            << combine->ToString() << " on " << info.name;
      }
    }
  }
  EXPECT_EQ(operators, 4 * 14 + 3 * 8 + 2);  // arithmetic, bits, logic
}

TEST(CombineOperatorTest, TuplesCombineComponentByComponent) {
  const Result<CombineOperator> sum =
      CombineOperator::PointWise(PointWiseKind::kAdd, {kF32, ScalarType::kInt8});
  ASSERT_TRUE(sum.ok()) << sum.status();
  const std::vector<ScalarValue> result = sum->function().Evaluate(
      {ScalarValue::Real(kF32, 1), ScalarValue::Integer(ScalarType::kInt8, 100),
       ScalarValue::Real(kF32, 2), ScalarValue::Integer(ScalarType::kInt8, 100)});
  EXPECT_EQ(result[0], ScalarValue::Real(kF32, 3));
  EXPECT_EQ(result[1], ScalarValue::Integer(ScalarType::kInt8, -56));
  EXPECT_EQ(sum->ToString(), "+");
}

Result<ScalarFunction> Sum(std::vector<TypedName> parameters, std::string name = "g") {
  const ScalarType type = parameters[0].type;
  return ScalarFunction::Create(std::move(name), std::move(parameters), {{"c", type}},
                                {{ScalarOp::kParameter, type, {}, 0},
                                 {ScalarOp::kParameter, type, {}, 1},
                                 {ScalarOp::kAdd, type, {0, 1}}},
                                {2});
}

// What starts from the identity gives the same as what starts from the first value.
TEST(CombineOperatorTest, IdentitiesAreNeutralForNanInfinitiesAndZeros) {
  for (const ScalarType type :
       {ScalarType::kFloat16, ScalarType::kBfloat16, ScalarType::kFloat32, ScalarType::kFloat64}) {
    for (const PointWiseKind kind : {PointWiseKind::kMin, PointWiseKind::kMax, PointWiseKind::kFmin,
                                     PointWiseKind::kFmax, PointWiseKind::kMul}) {
      const CombineOperator combine = *CombineOperator::PointWise(kind, {type});
      for (const double x : {double{NAN}, HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 1.5, -2.0}) {
        const ScalarValue value = ScalarValue::Real(type, x), identity = (*combine.identity())[0];
        EXPECT_EQ(combine.function().Evaluate({value, identity})[0], value) << combine.ToString();
        EXPECT_EQ(combine.function().Evaluate({identity, value})[0], value) << combine.ToString();
      }
    }
  }
}

TEST(CombineOperatorTest, FminAndFmaxAreForFloatingPoint) {
  for (const PointWiseKind kind : {PointWiseKind::kFmin, PointWiseKind::kFmax}) {
    EXPECT_FALSE(CombineOperator::PointWise(kind, {ScalarType::kInt32}).ok());
    EXPECT_FALSE(CombineOperator::PointWise(kind, {ScalarType::kBool}).ok());
  }
}

TEST(CombineOperatorTest, Errors) {
  EXPECT_EQ(ErrorMessage(CombineOperator::PointWise(PointWiseKind::kAnd, {kF32})),
            "operation '&&' does not exist for fp32, fp32");
  EXPECT_EQ(ErrorMessage(CombineOperator::PointWise(PointWiseKind::kCustom, {kF32})),
            "a custom combine operator needs a function");
  EXPECT_EQ(ErrorMessage(CombineOperator::PointWise(*Sum({{"a", kF32}, {"b", kF32}, {"d", kF32}}),
                                                    std::nullopt)),
            "combine operator 'g' with 1 results must have 2 parameters, not 3");
  EXPECT_EQ(
      ErrorMessage(CombineOperator::PointWise(*Sum({{"a", kF32}, {"b", kF32}}, "+"), std::nullopt)),
      "'+' is no name for a combine operator");
  const ScalarFunction g = *Sum({{"a", kF32}, {"b", kF32}});
  EXPECT_EQ(ErrorMessage(CombineOperator::PointWise(g, std::vector<ScalarValue>{})),
            "combine operator 'g' has 1 results but an identity of 0 values");
  EXPECT_EQ(ErrorMessage(
                CombineOperator::PointWise(g, std::vector<ScalarValue>{ScalarValue::Bool(false)})),
            "combine operator 'g': the identity of result 'c' has type bool, not fp32");
  const ScalarFunction comparison =
      *ScalarFunction::Create("less", {{"a", kF32}, {"b", kF32}}, {{"c", ScalarType::kBool}},
                              {{ScalarOp::kParameter, kF32, {}, 0},
                               {ScalarOp::kParameter, kF32, {}, 1},
                               {ScalarOp::kLt, ScalarType::kBool, {0, 1}}},
                              {2});
  EXPECT_EQ(
      ErrorMessage(CombineOperator::PointWise(comparison, std::nullopt)),
      "combine operator 'less': parameter 'a' has type fp32, but the result 'c' has type bool");
}

}  // namespace
}  // namespace mdh::combine_operator_test
