// The text form: what is printed parses back to the same expression.
#include "core/text/printer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/expression/canonical.h"
#include "core/text/parser.h"
#include "tests/definition_header.h"
#include "tests/error_message.h"
#include "tests/random_expression.h"
#include "tests/sanitized.h"

namespace mdh::printer_test {
namespace {

constexpr ScalarType kF32 = ScalarType::kFloat32;

ScalarInstruction Op(ScalarOp op, std::vector<int> operands) {
  return {op, kF32, std::move(operands)};
}

void ExpectRoundTrip(const Expression& expression) {
  const std::string text = ToText(expression);
  const Result<Expression> again = ParseExpression(text);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  ASSERT_EQ(CanonicalForm(*again), CanonicalForm(expression)) << text;
  ASSERT_EQ(ToText(*again), text);
}

TEST(PrinterTest, RandomExpressionsParseBack) {
  Rng rng(21);
  for (int n = 0; n < TriedCases(400); ++n) {
    ExpectRoundTrip(RandomExpression(rng, {.max_operations = 1 + n % 30, .exact = n % 2 == 0}));
  }
}

TEST(PrinterTest, ReadsLikeThePaper) {
  const Result<Expression> expression = ParseExpression(R"(
mcc<T = fp32 | N = 2, P = 3, K = 4, R = 2, C = 3, STRIDE = 2> :=
  out_view<T>( out: (n,p,k,r,c) -> (n,p,k) ) o
  md_hom<N,P,K,R,C>( f, (cc, ++, cc, pw(+), +) ) o
  inp_view<T,T>( image[N, (P-1)*STRIDE + R, C]: (n,p,k,r,c) -> (n, STRIDE*p + r, c),
                 filter: (n,p,k,r,c) -> (k, R - 1 - r, C - (1 + c)) )
where f(image, filter) -> out { out = image * filter }
)");
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(*expression), R"(mcc :=
  out_view<fp32>( out: (n,p,k,r,c) -> (n, p, k) ) o
  md_hom<2,3,4,2,3>( f, (++, ++, ++, +, +) ) o
  inp_view<fp32,fp32>( image[2, 6, 3]: (n,p,k,r,c) -> (n, 2*p + r, c),
                       filter: (n,p,k,r,c) -> (k, -r + 1, -c + 2) )
where f(image, filter) -> out { out = image * filter }
)");
}

TEST(PrinterTest, CustomOperatorsAndSeveralResults) {
  const Result<Expression> expression = ParseExpression(R"(
both :=
  out_view<fp32,int8>( s: (i) -> (), n: (i) -> () ) o
  md_hom<8>( f, (pw(both)) ) o
  inp_view<fp32>( x: (i) -> (i), (i+1) )
where both(s1, n1, s2, n2) -> (s, n) identity (0, -128) { s = s1 + s2; n = max(n1, n2) },
      f(x, y) -> (s, n) { let d = x - y; s = d * d; n = d < 0 ? -1 : int8(d) }
)");
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(*expression), R"(both :=
  out_view<fp32,int8>( s: (i) -> (), n: (i) -> () ) o
  md_hom<8>( f, (both) ) o
  inp_view<fp32>( x: (i) -> (i), (i + 1) )
where f(x, y) -> (s, n) { let t1 = x - y; s = t1 * t1; n = t1 < 0 ? -1 : int8(t1) },
      both(s1, n1, s2, n2) -> (s, n) identity (0, -128) { s = s1 + s2; n = max(n1, n2) }
)");
  ExpectRoundTrip(*expression);
}

TEST(PrinterTest, RecordsLayoutsAndBoundariesParseBack) {
  const Result<Expression> expression = ParseExpression(R"(
best<P = {w: fp32, n: int8}, M = {j: int32, w: fp16} | I = 4, J = 3> :=
  out_view<M,bool>( m strides (2): (i,j) -> (i), any[I, 1] layout (1, 0): (i,j) -> (i, 0) ) o
  md_hom<I,J>( f, (++, best) ) o
  inp_view<P,fp32>( a[I] else {0, -1}: (i,j) -> (i-1), (i), b[J] strides (2) else clamp: (i,j) -> (j+1) )
where f(p, q, b) -> (m: {j: int32, w: fp32}, any) { m.w = p.w * b; m.j = int32(j); any = p == q },
      best(a, r, b, s) -> (x, y) identity ({2147483647, -inf}, false) {
        x = a.w > b.w || (a.w == b.w && a.j < b.j) ? a : b;
        y = r || s }
)");
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(*expression), R"(best :=
  out_view<{j: int32, w: fp16},bool>( m strides (2): (i,j) -> (i),
                                      any[4, 1] strides (1, 4): (i,j) -> (i, 0) ) o
  md_hom<4,3>( f, (++, best) ) o
  inp_view<{w: fp32, n: int8},fp32>( a[4] else {w: 0, n: -1}: (i,j) -> (i - 1), (i),
                                     b[3] strides (2) else clamp: (i,j) -> (j + 1) )
where f(p, q, b) -> (m: {j: int32, w: fp32}, any) { m = {j: int32(j), w: p.w * b}; any = p.w == q.w && p.n == q.n },
      best(a, r, b, s) -> (x, y) identity ({j: 2147483647, w: -inf}, false) { let t1 = a.w > b.w || a.w == b.w && a.j < b.j; x = {j: t1 ? a.j : b.j, w: t1 ? a.w : b.w}; y = r || s }
)");
  ExpectRoundTrip(*expression);
}

// With `operators` for the dimensions i and k; three results, the second is a record of two fields.
std::string Operators(const std::string& operators) {
  const Result<Expression> expression = ParseExpression(
      "e := out_view<int8,{x: int8, y: int8},int8>( a: (i,k) -> (i), b: (i,k) -> (i), c: (i,k) -> "
      "(i) ) o md_hom<4,3>( f, (" +
      operators +
      ") ) o inp_view<int8>( v: (i,k) -> (i,k) ) "
      "where f(v) -> (a, b, c) { a = v; b = {x: v, y: v}; c = v }");
  if (!expression.ok()) return ErrorMessage(expression);
  ExpectRoundTrip(*expression);
  const std::string text = ToText(*expression);
  const size_t start = text.find("f, (") + 4;
  return text.substr(start, text.find(") ) o", start) - start);
}

TEST(PrinterTest, OperatorsForEveryResultAndField) {
  EXPECT_EQ(Operators("cc, pw(+)"), "++, +");
  EXPECT_EQ(Operators("++, (+, +, +)"), "++, +");
  EXPECT_EQ(Operators("++, (+, max, +)"), "++, (+, max, +)");
  EXPECT_EQ(Operators("++, pw((+, max, max, +))"), "++, (+, max, +)");
  EXPECT_EQ(Operators("++, (+, max, min, +)"), "++, (+, max, min, +)");
  EXPECT_EQ(Operators("ps((+, max, min, +)), (+, max, min, +)"),
            "ps((+, max, min, +)), (+, max, min, +)");
  EXPECT_EQ(Operators("ps(+), +"), "ps(+), +");
}

// Prints the body of f after parsing it: (a, b) of fp32, (i, j) of int32, (p) of bool -> r of fp32.
std::string Body(const std::string& body) {
  const Result<Expression> expression = ParseExpression(
      "e := out_view<fp32>( r: (x) -> (x) ) o md_hom<2>( f, (++) ) o "
      "inp_view<fp32,int32,bool>( A: (x) -> (x), (x), I: (x) -> (x), (x), P: (x) -> (x) ) "
      "where f(a, b, i, j, p) -> r { " +
      body + " }");
  if (!expression.ok()) return ErrorMessage(expression);
  ExpectRoundTrip(*expression);
  return ToText(expression->function());
}

TEST(PrinterTest, OperatorsBindAsInC) {
  EXPECT_EQ(Body("r = a + b * a"), "{ r = a + b * a }");
  EXPECT_EQ(Body("r = (a + b) * a"), "{ r = (a + b) * a }");
  EXPECT_EQ(Body("r = a - b - a"), "{ r = a - b - a }");
  EXPECT_EQ(Body("r = a - (b - a)"), "{ r = a - (b - a) }");
  EXPECT_EQ(Body("r = a / (b * a)"), "{ r = a / (b * a) }");
  EXPECT_EQ(Body("r = fp32(i & 3 | j ^ 1)"), "{ r = fp32(i & 3 | j ^ 1) }");
  EXPECT_EQ(Body("r = fp32((i | j) & 3)"), "{ r = fp32((i | j) & 3) }");
  EXPECT_EQ(Body("r = p || a < b && i == j ? a : b"), "{ r = p || a < b && i == j ? a : b }");
  EXPECT_EQ(Body("r = (p || a < b) && i == j ? a : b"), "{ r = (p || a < b) && i == j ? a : b }");
  EXPECT_EQ(Body("r = p ? a : a < b ? b : 2"), "{ r = p ? a : a < b ? b : 2 }");
  EXPECT_EQ(Body("r = p ? (a < b ? b : 2) : a"), "{ r = p ? (a < b ? b : 2) : a }");
  EXPECT_EQ(Body("r = (p ? a : b) + 1"), "{ r = (p ? a : b) + 1 }");
  EXPECT_EQ(Body("r = -(a + b)"), "{ r = -(a + b) }");
  EXPECT_EQ(Body("r = - -a"), "{ r = -(-a) }");
  EXPECT_EQ(Body("r = !p && !(a < b) ? a : b"), "{ r = !p && !(a < b) ? a : b }");
  EXPECT_EQ(Body("r = fp32(i % j)"), "{ r = fp32(i % j) }");
}

TEST(PrinterTest, LiteralsAreTypedByTheirContext) {
  EXPECT_EQ(Body("r = 1"), "{ r = 1 }");
  EXPECT_EQ(Body("r = -1.50"), "{ r = -1.5 }");
  EXPECT_EQ(Body("r = a * (1.0 / 3)"), "{ r = a * (fp32(1) / 3) }");
  EXPECT_EQ(Body("r = 2 * a + 0.5"), "{ r = 2 * a + 0.5 }");
  EXPECT_EQ(Body("r = fp32(int8(1)) < a ? 1 : inf"), "{ r = fp32(int8(1)) < a ? fp32(1) : inf }");
  EXPECT_EQ(Body("r = fp32(1) < 2 ? a : -inf"), "{ r = fp32(1) < 2 ? a : -inf }");
  EXPECT_EQ(Body("r = fp32(i + 2147483647)"), "{ r = fp32(i + 2147483647) }");
  EXPECT_EQ(Body("r = fp32(i + -2147483648)"), "{ r = fp32(i + -2147483648) }");
  EXPECT_EQ(Body("r = -fp32(3)"), "{ r = -fp32(3) }");
  EXPECT_EQ(Body("r = -fp32(-3)"), "{ r = -fp32(-3) }");
  EXPECT_EQ(Body("r = a + nan"), "{ r = a + nan }");
  EXPECT_EQ(Body("r = a * 0.1"), "{ r = a * 0.1 }");
  EXPECT_EQ(Body("r = a * 1e-3 + 3e38"), "{ r = a * 0.001 + 3e+38 }");
  EXPECT_EQ(Body("r = p == true ? min(2, a) : pow(b, 0.5)"),
            "{ r = p == true ? min(2, a) : pow(b, 0.5) }");
  EXPECT_EQ(Body("r = max(1, 2) + sqrt(2) + fp32(abs(fp64(-2)))"),
            "{ r = max(fp32(1), 2) + sqrt(fp32(2)) + fp32(abs(fp64(-2))) }");
}

TEST(PrinterTest, TablesAreTypedByTheirContext) {
  EXPECT_EQ(Body("r = [1, -2.5, inf][i]"), "{ r = [1, -2.5, inf][i] }");
  EXPECT_EQ(Body("r = a * [1, 2][j] + [3, 4][x]"), "{ r = a * [1, 2][j] + [3, 4][x] }");
  EXPECT_EQ(Body("let w = [1, 2]; r = w[i] + w[j]"), "{ r = fp32([1, 2][i]) + [1, 2][j] }");
  EXPECT_EQ(Body("r = fp32([1, 2][i])"), "{ r = [1, 2][i] }");
  EXPECT_EQ(Body("let w = [1, 2]; r = w[i] * w[i]"), "{ let t1 = fp32([1, 2][i]); r = t1 * t1 }");
  EXPECT_EQ(Body("r = [1, 2][1]"), "{ r = [1, 2][int64(1)] }");
  EXPECT_EQ(Body("r = fp32(int8([1, 2][[0, 1][i] + uint8(1)]))"),
            "{ r = fp32(int8([1, 2][uint8([0, 1][i]) + 1])) }");
  EXPECT_EQ(Body("r = [true, false][i] ? a : b"), "{ r = [true, false][i] ? a : b }");
  EXPECT_EQ(Body("r = fp32(fp64([1, 2][i]) * 0.1)"), "{ r = fp32(fp64([1, 2][i]) * 0.1) }");
}

TEST(PrinterTest, IndicesAndSizes) {
  EXPECT_EQ(Body("r = a * fp32(x)"), "{ r = a * fp32(x) }");
  EXPECT_EQ(Body("let unused = x; r = a"), "{ r = a }");
  const Result<Expression> sizes = ParseExpression(
      "mean<| N = 8> := out_view<fp32>( y: (i) -> () ) o md_hom<N>( f, (+) ) o "
      "inp_view<fp32>( A: (i) -> (i) ) where f(a) -> y { y = a / N + fp32(-N) }");
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  EXPECT_EQ(ToText(sizes->function()), "{ y = a / 8 + -fp32(8) }");
}

TEST(PrinterTest, FunctionsOfTheirOwnTypes) {
  EXPECT_EQ(Body("r = fp32(half(a) + 0.1)"), "{ r = fp32(fp16(a) + 0.099975586) }");
  EXPECT_EQ(Body("r = fp32(bf16(a) * 3)"), "{ r = fp32(bf16(a) * 3) }");
  EXPECT_EQ(Body("r = round(a) + trunc(b) + erf(a) + exp2(b)"),
            "{ r = round(a) + trunc(b) + erf(a) + exp2(b) }");
}

TEST(PrinterTest, NamesThatTheTextCannotSayAreReplaced) {
  const ElementType record = *ElementType::Record({{"x", kF32}, {"n", kF32}});
  const IndexFunction element{{{{1}, 0}}};
  const auto parameter = [](int n) { return ScalarInstruction{ScalarOp::kParameter, kF32, {}, n}; };
  // The fields of the first have different names, the scalar is called as a field, and a parameter
  // as the dimension whose index f takes.
  ScalarFunction f = *ScalarFunction::Create(
      "f", {{"a.x", kF32}, {"b.n", kF32}, {"c.x", kF32}, {"i", kF32}, {"k", ScalarType::kInt64}},
      {{"v1", kF32}},
      {parameter(0),
       parameter(1),
       parameter(2),
       parameter(3),
       {ScalarOp::kParameter, ScalarType::kInt64, {}, 4},
       Op(ScalarOp::kSub, {0, 1}),
       Op(ScalarOp::kSub, {5, 2}),
       Op(ScalarOp::kSub, {6, 3}),
       Op(ScalarOp::kCast, {4}),
       Op(ScalarOp::kSub, {7, 8})},
      {9});
  const Result<Expression> expression = Expression::Create(
      {.name = "e",
       .dimensions = {{"i", 3}},
       .inputs = {{"r", record, {}, {element}}, {"s", kF32, {}, {element, element}}},
       .outputs = {{"y", kF32, {}, {element}}},
       .function = std::move(f),
       .combine_operators = {CombineOperator::Concat()},
       .index_dimensions = {0}});
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_NE(ToText(*expression)
                .find("where f(v2, v3, v4) -> v1 { v1 = v2.x - v2.n - v3 - v4 - "
                      "fp32(i) }"),
            std::string::npos)
      << ToText(*expression);
  ExpectRoundTrip(*expression);
}

TEST(PrinterTest, NamesOfLetsAreFree) {
  const Result<Expression> expression = ParseExpression(
      "e := out_view<fp32>( y: (x) -> (x) ) o md_hom<2>( f, (++) ) o "
      "inp_view<fp32>( A: (x) -> (x) ) where f(t1) -> t2 { let s = t1 + 1; t2 = s * s }");
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(expression->function()), "{ let t3 = t1 + 1; t2 = t3 * t3 }");
}

Expression OneDimensional(ScalarFunction f, CombineOperator combine) {
  const IndexFunction element{{{{1}, 0}}};
  const bool reduces = !combine.is_concat();
  return *Expression::Create({.name = "e",
                              .dimensions = {{"i", 3}},
                              .inputs = {{"x", kF32, {}, {element}}},
                              .outputs = {{"y", kF32, {}, {reduces ? IndexFunction{} : element}}},
                              .function = std::move(f),
                              .combine_operators = {std::move(combine)}});
}

TEST(PrinterTest, DeepFunctionsStayWithinTheParsersLimit) {
  std::vector<ScalarInstruction> chain = {{ScalarOp::kParameter, kF32, {}, 0}};
  for (int n = 1; n < 4000; ++n)
    chain.push_back(Op(n % 2 == 0 ? ScalarOp::kSub : ScalarOp::kAdd, {0, n - 1}));
  ExpectRoundTrip(OneDimensional(
      *ScalarFunction::Create("f", {{"x", kF32}}, {{"y", kF32}}, std::move(chain), {3999}),
      CombineOperator::Concat()));
}

TEST(PrinterTest, FunctionNamesThatTheTextFormKeepsAreReplaced) {
  const auto identity_named = [](const std::string& name) {
    return *ScalarFunction::Create(name, {{"x", kF32}}, {{"y", kF32}},
                                   {{ScalarOp::kParameter, kF32, {}, 0}}, {0});
  };
  const auto larger_named = [](const std::string& name) {
    return *CombineOperator::PointWise(
        *ScalarFunction::Create(name, {{"a", kF32}, {"b", kF32}}, {{"c", kF32}},
                                {{ScalarOp::kParameter, kF32, {}, 0},
                                 {ScalarOp::kParameter, kF32, {}, 1},
                                 Op(ScalarOp::kMax, {0, 1})},
                                {2}),
        std::nullopt);
  };
  ExpectRoundTrip(OneDimensional(identity_named("+"), CombineOperator::Concat()));
  ExpectRoundTrip(OneDimensional(identity_named("g"), larger_named("g")));
  ExpectRoundTrip(OneDimensional(identity_named("max"), larger_named("min")));
  ExpectRoundTrip(OneDimensional(identity_named("f"), larger_named("pw")));
}

TEST(PrinterTest, IndexFunctions) {
  const std::vector<Dimension> dimensions = {{"i", 4}, {"k", 5}};
  EXPECT_EQ(ToText(IndexFunction{{{{1, 0}, 0}, {{2, 1}, 1}}}, dimensions),
            "(i,k) -> (i, 2*i + k + 1)");
  EXPECT_EQ(ToText(IndexFunction{{{{-1, -3}, 7}, {{0, 0}, 5}, {{0, 1}, -2}}}, dimensions),
            "(i,k) -> (-i - 3*k + 7, 5, k - 2)");
  EXPECT_EQ(ToText(IndexFunction{}, dimensions), "(i,k) -> ()");
}

TEST(ParseHeaderTest, NamesParametersAndDefaults) {
  const Result<DefinitionHeader> header =
      ParseHeader("conv<T = fp32, U | I = 7, O = (I - 1) / 2, K> := anything");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->name, "conv");
  ASSERT_EQ(header->parameters.size(), 5u);
  EXPECT_EQ(header->parameters[0].name, "T");
  EXPECT_TRUE(header->parameters[0].is_type);
  EXPECT_EQ(header->parameters[0].default_value, "fp32");
  EXPECT_EQ(header->parameters[1].default_value, "");
  EXPECT_FALSE(header->parameters[3].is_type);
  EXPECT_EQ(header->parameters[3].default_value, "(I - 1) / 2");
  EXPECT_EQ(header->parameters[4].default_value, "");
}

TEST(ParseHeaderTest, HeadsWithoutParameters) {
  EXPECT_TRUE(ParseHeader("e :=")->parameters.empty());
  EXPECT_EQ(ParseHeader("e<T> :=")->parameters.size(), 1u);
  EXPECT_EQ(ParseHeader("e<| K> :=")->parameters.size(), 1u);
  EXPECT_EQ(ErrorMessage(ParseHeader("e<> :=", "e.mdh")),
            "e.mdh:1:3: expected a type parameter, found '>'\ne<> :=\n  ^");
}

TEST(ParserTest, DefaultsMayUseEarlierParameters) {
  const std::string text =
      "e<T = fp32, U = T | I = 6, J = 2*I - I/3> := out_view<U>( y: (i) -> (J - 1 - i) ) o "
      "md_hom<J>( f, (++) ) o inp_view<T>( x: (i) -> (i) ) where f(x) -> y { y = U(x) }";
  const Result<Expression> expression = ParseExpression(text);
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(expression->points(), 10);
  const Result<Expression> bound = ParseExpression(text, {{"I", "9"}, {"U", "int64"}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->points(), 15);
  EXPECT_EQ(bound->outputs()[0].type, ScalarType::kInt64);
}

TEST(ParserTest, AccessesMayRepeatTheNamesOfTheDimensions) {
  const auto canonical = [](const std::string& accesses) {
    const Result<Expression> expression = ParseExpression(
        "e := out_view<fp32>( y: (i) -> (i) ) o md_hom<4>( f, (++) ) o inp_view<fp32,fp32>( "
        "x: " +
        accesses + ", z: (i) -> () ) where f(a, b, c) -> y { y = a + b * c }");
    EXPECT_TRUE(expression.ok()) << expression.status();
    return CanonicalForm(*expression);
  };
  EXPECT_EQ(canonical("(i) -> (i), (i) -> (i+1)"), canonical("(i) -> (i), (i+1)"));
  // One plain name in parentheses is an access here, not the head of the next one.
  EXPECT_NE(canonical("(i) -> (i), (i)"), canonical("(i) -> (i), (i+1)"));
}

}  // namespace
}  // namespace mdh::printer_test
