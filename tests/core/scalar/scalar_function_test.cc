// Building, simplifying and comparing scalar functions.
#include "core/scalar/scalar_function.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/scalar/scalar_canonical.h"
#include "core/text/printer.h"
#include "tests/error_message.h"

namespace mdh::scalar_function_test {
namespace {

constexpr ScalarType kF32 = ScalarType::kFloat32;
constexpr ScalarType kI32 = ScalarType::kInt32;

ScalarInstruction Parameter(int number, ScalarType type = kF32) {
  return {ScalarOp::kParameter, type, {}, number};
}
ScalarInstruction Constant(double value) {
  return {ScalarOp::kConstant, kF32, {}, -1, ScalarValue::Real(kF32, value)};
}
ScalarInstruction Op(ScalarOp op, std::vector<int> operands, ScalarType type = kF32) {
  return {op, type, std::move(operands)};
}

Result<ScalarFunction> Make(std::vector<ScalarInstruction> instructions, int result,
                            ScalarType type = kF32) {
  return ScalarFunction::Create("f", {{"a", type}, {"b", type}}, {{"r", type}},
                                std::move(instructions), {result});
}

TEST(ScalarFunctionTest, EqualInstructionsAreSharedAndDeadOnesDropped) {
  const Result<ScalarFunction> f =
      Make({Parameter(0), Parameter(1), Op(ScalarOp::kMul, {0, 1}), Op(ScalarOp::kSub, {0, 1}),
            Parameter(0), Op(ScalarOp::kMul, {1, 4}), Op(ScalarOp::kAdd, {2, 5})},
           6);
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_EQ(f->instructions().size(), 4u);  // a, b, a*b, a*b + a*b
  EXPECT_EQ(ToText(*f), "{ let t1 = a * b; r = t1 + t1 }");
  EXPECT_EQ(f->FloatingPointOperations(), 2);
}

TEST(ScalarFunctionTest, ConversionToTheSameTypeIsDropped) {
  const Result<ScalarFunction> f = Make({Parameter(0), Op(ScalarOp::kCast, {0})}, 1);
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_EQ(f->instructions().size(), 1u);
}

TEST(ScalarFunctionTest, PositiveAndNegativeZeroAreDifferentConstants) {
  const Result<ScalarFunction> f =
      Make({Constant(0.0), Constant(-0.0), Op(ScalarOp::kDiv, {0, 1})}, 2);
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_EQ(f->instructions().size(), 3u);
}

TEST(ScalarFunctionTest, MinOfRealsInEitherOrderIsTheSame) {
  const Result<ScalarFunction> f = Make({Parameter(0), Parameter(1), Op(ScalarOp::kMin, {0, 1}),
                                         Op(ScalarOp::kMin, {1, 0}), Op(ScalarOp::kAdd, {2, 3})},
                                        4);
  EXPECT_EQ(f->instructions().size(), 4u);
}

TEST(ScalarFunctionTest, Evaluate) {
  const Result<ScalarFunction> f = ScalarFunction::Create(
      "f", {{"a", kF32}, {"b", kF32}}, {{"sum", kF32}, {"less", ScalarType::kBool}},
      {Parameter(0), Parameter(1), Op(ScalarOp::kAdd, {0, 1}),
       Op(ScalarOp::kLt, {0, 1}, ScalarType::kBool)},
      {2, 3});
  ASSERT_TRUE(f.ok()) << f.status();
  const std::vector<ScalarValue> results =
      f->Evaluate({ScalarValue::Real(kF32, 1.5), ScalarValue::Real(kF32, 2)});
  EXPECT_EQ(results[0], ScalarValue::Real(kF32, 3.5));
  EXPECT_EQ(results[1], ScalarValue::Bool(true));
}

TEST(ScalarFunctionTest, EquivalenceIgnoresNamesAndOrder) {
  const ScalarFunction f =
      *ScalarFunction::Create("f", {{"a", kF32}, {"b", kF32}}, {{"r", kF32}},
                              {Parameter(0), Parameter(1), Op(ScalarOp::kMul, {0, 1}),
                               Op(ScalarOp::kExp, {0}), Op(ScalarOp::kAdd, {2, 3})},
                              {4});
  const ScalarFunction g =
      *ScalarFunction::Create("g", {{"x", kF32}, {"y", kF32}}, {{"z", kF32}},
                              {Parameter(1), Parameter(0), Op(ScalarOp::kExp, {1}),
                               Op(ScalarOp::kMul, {0, 1}), Op(ScalarOp::kAdd, {2, 3})},
                              {4});
  EXPECT_TRUE(f.EquivalentTo(g)) << CanonicalForm(f) << "\n" << CanonicalForm(g);
}

TEST(ScalarFunctionTest, EquivalenceSeesOrderWhereItMatters) {
  const auto difference = [](int left, int right) {
    return *Make({Parameter(0), Parameter(1), Op(ScalarOp::kSub, {left, right})}, 2);
  };
  EXPECT_TRUE(difference(0, 1).EquivalentTo(difference(0, 1)));
  EXPECT_FALSE(difference(0, 1).EquivalentTo(difference(1, 0)));
}

TEST(ScalarFunctionTest, CanonicalFormOfALongChainIsFound) {
  std::vector<ScalarInstruction> chain = {Parameter(0)};
  for (int n = 1; n < 4096; ++n) chain.push_back(Op(ScalarOp::kAdd, {n - 1, 0}));
  const Result<ScalarFunction> f = Make(std::move(chain), 4095);
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_EQ(f->instructions().size(), 4096u);
  EXPECT_GT(CanonicalForm(*f).size(), 4096u);
}

TEST(ScalarFunctionTest, TheLimitCountsWhatRemains) {
  std::vector<ScalarInstruction> chain = {Parameter(0)};
  for (int n = 1; n <= 4096; ++n) chain.push_back(Op(ScalarOp::kAdd, {n - 1, 0}));
  EXPECT_EQ(ErrorMessage(Make(chain, 4096)),
            "function 'f' has 4097 instructions; at most 4096 are allowed");
  EXPECT_TRUE(Make(chain, 4095).ok());
  EXPECT_TRUE(Make(std::vector<ScalarInstruction>(65536, Parameter(0)), 0).ok());
}

TEST(ScalarFunctionTest, Errors) {
  EXPECT_EQ(ErrorMessage(Make({Parameter(0), Op(ScalarOp::kAdd, {0})}, 1)),
            "function 'f', instruction 1: operation '+' takes 2 operands, not 1");
  EXPECT_EQ(ErrorMessage(Make({Parameter(0), Op(ScalarOp::kAdd, {0, 1})}, 1)),
            "function 'f', instruction 1: operand 1 is no earlier instruction");
  EXPECT_EQ(ErrorMessage(Make({Parameter(0), Op(ScalarOp::kNeg, {-1})}, 1)),
            "function 'f', instruction 1: operand -1 is no earlier instruction");
  EXPECT_EQ(ErrorMessage(Make({Parameter(2)}, 0)),
            "function 'f', instruction 0: there is no parameter 2");
  EXPECT_EQ(ErrorMessage(Make({Parameter(0, kI32)}, 0)),
            "function 'f', instruction 0: 'parameter' has type fp32, not int32");
  EXPECT_EQ(ErrorMessage(Make({Parameter(0), Op(ScalarOp::kNot, {0})}, 1)),
            "function 'f', instruction 1: operation '!' does not exist for fp32");
  EXPECT_EQ(ErrorMessage(Make({Parameter(0), Op(ScalarOp::kLt, {0, 0}, ScalarType::kBool)}, 1)),
            "function 'f': result 'r' has type fp32 but its value has type bool");
  EXPECT_EQ(ErrorMessage(Make({Parameter(0)}, 1)),
            "function 'f': result 'r' is computed by instruction 1, which does not exist");
}

TEST(ScalarFunctionTest, ErrorsOfNamesAndCounts) {
  const auto create = [](std::vector<TypedName> parameters, std::vector<TypedName> results,
                         std::vector<int> result_instructions) {
    return std::string(ScalarFunction::Create("f", std::move(parameters), std::move(results),
                                              {Constant(1)}, std::move(result_instructions))
                           .status()
                           .message());
  };
  EXPECT_EQ(create({{"a", kF32}, {"a", kF32}}, {{"r", kF32}}, {0}),
            "function 'f' has two parameters or results called 'a'");
  EXPECT_EQ(create({{"a", kF32}}, {{"a", kF32}}, {0}),
            "function 'f' has two parameters or results called 'a'");
  EXPECT_EQ(create({{"1a", kF32}}, {{"r", kF32}}, {0}),
            "function 'f': '1a' is no name for a parameter or result");
  EXPECT_EQ(create({{"true", kF32}}, {{"r", kF32}}, {0}),
            "function 'f': 'true' is no name for a parameter or result");
  EXPECT_EQ(create({}, {}, {}), "function 'f' has no result");
  EXPECT_EQ(create({}, {{"r", kF32}}, {}), "function 'f' has 1 results but computes 0");
  EXPECT_EQ(ErrorMessage(Make(std::vector<ScalarInstruction>(65537, Parameter(0)), 0)),
            "function 'f' has 65537 instructions; at most 65536 are allowed");
}

TEST(Sha256HexTest, KnownValues) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace mdh::scalar_function_test
