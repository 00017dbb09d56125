// The interpreter against hand-written loop nests.
#include "core/expression/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text/parser.h"
#include "tests/core/buffer_values.h"
#include "tests/error_message.h"
#include "tests/random_expression.h"
#include "tests/sanitized.h"

namespace mdh::interpreter_test {
namespace {

Expression Parse(const std::string& text, const Bindings& bindings = {}) {
  const Result<Expression> expression = ParseExpression(text, bindings);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *expression;
}

template <typename T>
std::vector<T> RandomValues(Rng& rng, size_t count) {
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(Below(rng, 2001) - 1000) / T(8);
  return values;
}

std::vector<BufferBytes> Outputs(const Expression& expression,
                                 const std::vector<BufferBytes>& inputs) {
  const Result<std::vector<BufferBytes>> outputs = Interpret(expression, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *outputs;
}

TEST(InterpreterTest, MatMul) {
  constexpr int kI = 5, kJ = 7, kK = 6;
  const Expression expression = Parse(R"(
      matmul<| I = 5, J = 7, K = 6> :=
        out_view<fp32>( C: (i,j,k) -> (i,j) ) o
        md_hom<I,J,K>( f, (++, ++, +) ) o
        inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
      where f(A, B) -> C { C = A * B })");
  Rng rng(1);
  const std::vector<float> a = RandomValues<float>(rng, kI * kK);
  const std::vector<float> b = RandomValues<float>(rng, kK * kJ);
  std::vector<float> c(kI * kJ);
  for (int i = 0; i < kI; ++i) {
    for (int j = 0; j < kJ; ++j) {
      float sum = a[i * kK] * b[j];
      for (int k = 1; k < kK; ++k) {
        const float product = a[i * kK + k] * b[k * kJ + j];
        sum = sum + product;
      }
      c[i * kJ + j] = sum;
    }
  }
  EXPECT_EQ(ValuesOfBytes<float>(Outputs(expression, {BytesOfValues(a), BytesOfValues(b)})[0]), c);
}

TEST(InterpreterTest, StencilWithSeveralAccesses) {
  const Expression expression = Parse(R"(
      jacobi :=
        out_view<fp64>( y: (i) -> (i) ) o
        md_hom<10>( f, (++) ) o
        inp_view<fp64>( x: (i) -> (i), (i+1), (i+2) )
      where f(l, c, r) -> y { y = (l + 2 * c + r) / 4 })");
  Rng rng(2);
  const std::vector<double> x = RandomValues<double>(rng, 12);
  std::vector<double> y(10);
  for (int i = 0; i < 10; ++i) y[i] = (x[i] + 2 * x[i + 1] + x[i + 2]) / 4;
  EXPECT_EQ(ValuesOfBytes<double>(Outputs(expression, {BytesOfValues(x)})[0]), y);
}

TEST(InterpreterTest, TwoResultsReducedTogether) {
  const Expression expression = Parse(R"(
      argmax :=
        out_view<fp32,int64>( value: (i,k) -> (i), position: (i,k) -> (i) ) o
        md_hom<3,9>( f, (++, larger) ) o
        inp_view<fp32,int64>( M: (i,k) -> (i,k), columns: (i,k) -> (k) )
      where f(M, columns) -> (value, position) { value = M; position = columns },
            larger(v1, p1, v2, p2) -> (v, p) {
              let first = v1 > v2 || (v1 == v2 && p1 < p2);
              v = first ? v1 : v2; p = first ? p1 : p2 })");
  Rng rng(3);
  const std::vector<float> m = RandomValues<float>(rng, 27);
  std::vector<int64_t> columns(9);
  for (int64_t k = 0; k < 9; ++k) columns[k] = k;
  const std::vector<BufferBytes> outputs =
      Outputs(expression, {BytesOfValues(m), BytesOfValues(columns)});
  for (int i = 0; i < 3; ++i) {
    const auto row = m.begin() + 9 * i;
    const auto largest = std::max_element(row, row + 9);
    EXPECT_EQ(ValuesOfBytes<float>(outputs[0])[i], *largest);
    EXPECT_EQ(ValuesOfBytes<int64_t>(outputs[1])[i], largest - row);
  }
}

// The order is that of the MDA's points: floating-point sums show it.
TEST(InterpreterTest, PointsAreCombinedInLexicographicOrder) {
  const Expression expression = Parse(R"(
      sum :=
        out_view<fp32>( s: (i,j) -> () ) o
        md_hom<4,5>( f, (+, +) ) o
        inp_view<fp32>( x: (i,j) -> (j,i) )
      where f(x) -> s { s = x })");
  std::vector<float> x(20);
  for (int n = 0; n < 20; ++n) x[n] = 1.0f / static_cast<float>(n * n * n + 1);
  float sum = x[0];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) {
      if (i + j > 0) sum += x[j * 4 + i];
    }
  }
  EXPECT_EQ(ValuesOfBytes<float>(Outputs(expression, {BytesOfValues(x)})[0]),
            std::vector<float>{sum});
}

TEST(InterpreterTest, ElementsThatAreNotReachedAreZero) {
  const Expression expression = Parse(R"(
      spread :=
        out_view<int16>( y[7]: (i) -> (2*i + 1) ) o
        md_hom<3>( f, (++) ) o
        inp_view<int16>( x: (i) -> (2 - i) )
      where f(x) -> y { y = x * x })");
  EXPECT_EQ(ValuesOfBytes<int16_t>(Outputs(expression, {BytesOfValues<int16_t>({2, 3, 4})})[0]),
            (std::vector<int16_t>{0, 16, 0, 9, 0, 4, 0}));
}

TEST(InterpreterTest, NoInputs) {
  const Expression expression = Parse(R"(
      ones :=
        out_view<bool>( y: (i) -> (i) ) o
        md_hom<3>( f, (++) ) o
        inp_view()
      where f() -> y { y = true })");
  EXPECT_EQ(ValuesOfBytes<uint8_t>(Outputs(expression, {})[0]), (std::vector<uint8_t>{1, 1, 1}));
}

TEST(InterpreterTest, SinglePointsAgreeWithTheWhole) {
  Rng rng(4);
  for (int n = 0; n < TriedCases(200); ++n) {
    const Expression expression = RandomExpression(rng);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
    const std::vector<BufferBytes> outputs = Outputs(expression, inputs);
    std::vector<const std::byte*> pointers;
    for (const BufferBytes& input : inputs) pointers.push_back(input.data());
    std::vector<int64_t> point;
    for (const Dimension& dimension : expression.dimensions()) {
      point.push_back(Below(rng, dimension.size));
    }
    const std::vector<ScalarValue> results = InterpretAt(expression, pointers, point);
    for (size_t r = 0; r < results.size(); ++r) {
      const Expression::AccessRef ref = expression.output_access(static_cast<int>(r));
      const Buffer& buffer = expression.outputs()[ref.buffer];
      const ScalarType type = expression.stored_type(static_cast<int>(r));
      const std::byte* element =
          outputs[ref.buffer].data() +
          buffer.Linearized(ref.access, ref.field).Evaluate(point) * SizeBytes(type);
      EXPECT_EQ(ScalarValue::Load(type, element), results[r]);
    }
  }
}

// What RandomExpression promises of exact expressions: reversing a reduction changes no bit.
TEST(RandomExpressionTest, ExactExpressionsDoNotDependOnTheOrder) {
  Rng rng(5);
  int reductions = 0;
  for (int n = 0; n < TriedCases(400); ++n) {
    const Expression expression = RandomExpression(rng);
    if (!expression.has_reduction()) continue;
    // What depends on an index is not the same at the other end.
    const std::vector<int>& indices = expression.index_dimensions();
    if (std::any_of(indices.begin(), indices.end(),
                    [&](int d) { return expression.is_reduction(d); })) {
      continue;
    }
    ++reductions;
    ExpressionSpec spec = expression.spec();
    for (int d = 0; d < expression.rank(); ++d) {
      if (!expression.is_reduction(d)) continue;
      for (Buffer& buffer : spec.inputs) {
        for (IndexFunction& access : buffer.accesses) {
          for (AffineIndex& index : access.indices) {
            index.constant += index.coefficients[d] * (expression.dimensions()[d].size - 1);
            index.coefficients[d] = -index.coefficients[d];
          }
        }
      }
    }
    const std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
    EXPECT_EQ(Outputs(*Expression::Create(std::move(spec)), inputs), Outputs(expression, inputs))
        << n;
  }
  EXPECT_GT(reductions, TriedCases(100));
}

TEST(InterpreterTest, AReductionOfNothingIsTheIdentity) {
  const auto outputs = [](const std::string& combine, const std::string& sizes) {
    const std::string product = ",\nproduct(a, b) -> c identity (1) { c = a * b }";
    const Expression e = Parse("e := out_view<int32>( w[4]: (i,k) -> (i) ) o md_hom<" + sizes +
                               ">( f, (++, " + combine + ") ) o\n" +
                               "inp_view<int32>( M: (i,k) -> (i,k) ) where f(M) -> w { w = M }" +
                               (combine == "product" ? product : ""));
    EXPECT_EQ(e.inputs()[0].elements(), 0);
    return ValuesOfBytes<int32_t>(Outputs(e, {BufferBytes()})[0]);
  };
  EXPECT_EQ(outputs("+", "3,0"), (std::vector<int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(outputs("*", "3,0"), (std::vector<int32_t>{1, 1, 1, 0}));
  EXPECT_EQ(outputs("max", "3,0"), (std::vector<int32_t>{INT32_MIN, INT32_MIN, INT32_MIN, 0}));
  EXPECT_EQ(outputs("product", "3,0"), (std::vector<int32_t>{1, 1, 1, 0}));
  EXPECT_EQ(outputs("*", "0,3"), (std::vector<int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(outputs("*", "0,0"), (std::vector<int32_t>{0, 0, 0, 0}));
}

TEST(InterpreterTest, APrefixSumOfNothingIsEmpty) {
  const Expression e = Parse(
      "e := out_view<int32>( y: (i,k) -> (i,k) ) o md_hom<3,0>( f, (++, ps(+)) ) o\n"
      "inp_view<int32>( x: (i,k) -> (i,k) ) where f(x) -> y { y = x }");
  EXPECT_EQ(e.outputs()[0].extents, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(Outputs(e, {BufferBytes()})[0], BufferBytes());
}

TEST(InterpreterTest, Errors) {
  const Expression expression = Parse(R"(
      copy :=
        out_view<fp32>( y: (i) -> (i) ) o
        md_hom<3>( f, (++) ) o
        inp_view<fp32>( x: (i) -> (i) )
      where f(x) -> y { y = x })");
  EXPECT_EQ(ErrorMessage(Interpret(expression, {})),
            "expression 'copy' has 1 inputs, but 0 were given");
  const std::vector<BufferBytes> short_inputs = {BufferBytes(11)};
  EXPECT_EQ(ErrorMessage(Interpret(expression, short_inputs)),
            "input 'x' has 12 bytes, but 11 were given");
}

}  // namespace
}  // namespace mdh::interpreter_test
