// Tables in scalar functions, and functions with wider types.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/scalar/scalar_canonical.h"
#include "core/scalar/scalar_function.h"
#include "tests/error_message.h"

namespace mdh::scalar_table_test {
namespace {

constexpr ScalarType kF32 = ScalarType::kFloat32;

std::vector<ScalarValue> Reals(ScalarType type, const std::vector<double>& values) {
  std::vector<ScalarValue> table;
  for (const double value : values) table.push_back(ScalarValue::Real(type, value));
  return table;
}

ScalarInstruction Table(std::vector<ScalarValue> table, int index, ScalarType type = kF32) {
  ScalarInstruction instruction{ScalarOp::kTable, type, {index}};
  instruction.table = std::move(table);
  return instruction;
}

// r = table[n] for n of this type.
Result<ScalarFunction> Lookup(ScalarType index, std::vector<ScalarValue> table) {
  return ScalarFunction::Create("f", {{"n", index}}, {{"r", kF32}},
                                {{ScalarOp::kParameter, index, {}, 0}, Table(std::move(table), 0)},
                                {1});
}

TEST(ScalarTableTest, IndicesOutsideReadTheNearestElement) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (!IsInteger(info.type)) continue;
    const Result<ScalarFunction> f = Lookup(info.type, Reals(kF32, {0.5, 1.5, 2.5}));
    ASSERT_TRUE(f.ok()) << f.status();
    const auto at = [&](int64_t n) {
      return f->Evaluate({ScalarValue::Integer(info.type, n)})[0].as_double();
    };
    EXPECT_EQ(at(0), 0.5);
    EXPECT_EQ(at(1), 1.5);
    EXPECT_EQ(at(2), 2.5);
    EXPECT_EQ(at(3), 2.5);
    EXPECT_EQ(at(100), 2.5);
    // The largest value of an unsigned type, -1 of a signed one.
    EXPECT_EQ(at(-1), IsSigned(info.type) ? 0.5 : 2.5) << info.name;
  }
}

TEST(ScalarTableTest, EqualTablesAreShared) {
  const auto with = [](const std::vector<double>& first, const std::vector<double>& second) {
    return ScalarFunction::Create("f", {{"n", ScalarType::kInt32}}, {{"r", kF32}},
                                  {{ScalarOp::kParameter, ScalarType::kInt32, {}, 0},
                                   Table(Reals(kF32, first), 0),
                                   Table(Reals(kF32, second), 0),
                                   {ScalarOp::kAdd, kF32, {1, 2}}},
                                  {3});
  };
  EXPECT_EQ(with({1, 2}, {1, 2})->instructions().size(), 3u);
  EXPECT_EQ(with({1, 2}, {1, 3})->instructions().size(), 4u);
  EXPECT_EQ(with({0}, {-0.0})->instructions().size(), 4u);
  EXPECT_EQ(CanonicalForm(*with({1, 2}, {1, 3})), CanonicalForm(*with({1, 3}, {1, 2})));
  EXPECT_NE(CanonicalForm(*with({1, 2}, {1, 3})), CanonicalForm(*with({1, 2}, {1, 4})));
}

TEST(ScalarTableTest, Errors) {
  EXPECT_EQ(ErrorMessage(Lookup(kF32, Reals(kF32, {1}))),
            "function 'f', instruction 1: a table has an integer index, not fp32");
  EXPECT_EQ(ErrorMessage(Lookup(ScalarType::kBool, Reals(kF32, {1}))),
            "function 'f', instruction 1: a table has an integer index, not bool");
  EXPECT_EQ(ErrorMessage(Lookup(ScalarType::kInt8, {})),
            "function 'f', instruction 1: the table is empty");
  EXPECT_EQ(ErrorMessage(
                Lookup(ScalarType::kInt8, {ScalarValue::Real(kF32, 1), ScalarValue::Bool(true)})),
            "function 'f', instruction 1: the table has values of types fp32 and bool");
  EXPECT_EQ(ErrorMessage(Lookup(ScalarType::kInt8, Reals(ScalarType::kFloat64, {1}))),
            "function 'f', instruction 1: 'table' has type fp64, not fp32");
  EXPECT_TRUE(Lookup(ScalarType::kInt32, Reals(kF32, std::vector<double>(65536, 1))).ok());
  EXPECT_EQ(ErrorMessage(Lookup(ScalarType::kInt32, Reals(kF32, std::vector<double>(65537, 1)))),
            "the tables of function 'f' have 65537 values; at most 65536 are allowed");
}

TEST(WidenedTest, FloatingPointTypesBecomeDoubleAndOthersStay) {
  const ScalarFunction f = *ScalarFunction::Create(
      "f", {{"x", ScalarType::kFloat16}, {"n", ScalarType::kInt8}},
      {{"r", ScalarType::kFloat16}, {"m", ScalarType::kInt8}},
      {{ScalarOp::kParameter, ScalarType::kFloat16, {}, 0},
       {ScalarOp::kParameter, ScalarType::kInt8, {}, 1},
       Table(Reals(ScalarType::kFloat16, {1, 0.0999755859375}), 1, ScalarType::kFloat16),
       {ScalarOp::kAdd, ScalarType::kFloat16, {0, 2}},
       {ScalarOp::kAdd, ScalarType::kInt8, {1, 1}}},
      {3, 4});
  const ScalarFunction wide = f.Widened();
  EXPECT_EQ(wide.results()[0].type, ScalarType::kFloat64);
  EXPECT_EQ(wide.parameters()[0].type, ScalarType::kFloat64);
  EXPECT_EQ(wide.results()[1].type, ScalarType::kInt8);
  const std::vector<ScalarValue> results =
      wide.Evaluate({ScalarValue::Real(ScalarType::kFloat64, 2048),
                     ScalarValue::Integer(ScalarType::kInt8, 100)});
  // Constants are those of the narrow type; sums are not rounded to it; integers wrap as before.
  EXPECT_EQ(results[0], ScalarValue::Real(ScalarType::kFloat64, 2048.0999755859375));
  EXPECT_EQ(results[1], ScalarValue::Integer(ScalarType::kInt8, -56));
  EXPECT_EQ(f.Evaluate({ScalarValue::Real(ScalarType::kFloat16, 2048),
                        ScalarValue::Integer(ScalarType::kInt8, 100)})[0],
            ScalarValue::Real(ScalarType::kFloat16, 2048));
}

TEST(ScalarFunctionTest, FieldsOfRecordsHaveAPointInTheirName) {
  const auto create = [](const std::string& name) {
    return ErrorMessage(ScalarFunction::Create("f", {{name, kF32}}, {{"r", kF32}},
                                               {{ScalarOp::kParameter, kF32, {}, 0}}, {0}));
  };
  EXPECT_EQ(create("a.x"), "no error");
  for (const char* wrong : {".x", "a.", "a.x.y", "a.1"}) {
    EXPECT_EQ(create(wrong),
              absl::StrCat("function 'f': '", wrong, "' is no name for a parameter or result"));
  }
}

TEST(NewFunctionsTest, ValuesAreThoseOfTheMathematicalFunctions) {
  const auto apply = [](ScalarOp op, double x) {
    return Apply(op, ScalarType::kFloat64, {ScalarValue::Real(ScalarType::kFloat64, x)})
        .as_double();
  };
  EXPECT_EQ(apply(ScalarOp::kRound, 0.5), 0);
  EXPECT_EQ(apply(ScalarOp::kRound, 1.5), 2);
  EXPECT_EQ(apply(ScalarOp::kRound, 2.5), 2);
  EXPECT_EQ(apply(ScalarOp::kRound, -2.7), -3);
  EXPECT_TRUE(std::signbit(apply(ScalarOp::kRound, -0.2)));
  EXPECT_EQ(apply(ScalarOp::kTrunc, 2.7), 2);
  EXPECT_EQ(apply(ScalarOp::kTrunc, -2.7), -2);
  EXPECT_EQ(apply(ScalarOp::kExp2, 10), 1024);
  EXPECT_NEAR(apply(ScalarOp::kErf, 0.5), 0.5204998778130465, 1e-15);
  EXPECT_EQ(apply(ScalarOp::kErf, std::numeric_limits<double>::infinity()), 1);
}

}  // namespace
}  // namespace mdh::scalar_table_test
