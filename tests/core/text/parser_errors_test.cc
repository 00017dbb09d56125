// What the parser says of wrong texts: golden/bad_expressions.txt has a case per kind of error.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/core/golden_errors.h"
#include "tests/error_message.h"

namespace mdh::parser_errors_test {
namespace {

TEST(ParserErrorsTest, GoldenTexts) {
  const int cases = CheckGoldenErrors("bad_expressions.txt", [](const std::string& text) {
    return ErrorMessage(ParseExpression(text, {}, "bad.mdh"));
  });
  EXPECT_GE(cases, 200);
}

constexpr char kDot[] = R"(dot<T = fp32 | K> :=
  out_view<T>( s: (k) -> () ) o
  md_hom<K>( f, (+) ) o
  inp_view<T,T>( x: (k) -> (k), y: (k) -> (k) )
where f(x, y) -> s { s = x * y })";

TEST(ParserErrorsTest, Bindings) {
  const auto error = [](const Bindings& bindings) {
    return ErrorMessage(ParseExpression(kDot, bindings, "dot.mdh"));
  };
  const std::string line = "\ndot<T = fp32 | K> :=\n";
  EXPECT_EQ(error({{"K", "8"}, {"T", "int16"}}), "no error");
  EXPECT_EQ(error({}), "dot.mdh:1:16: parameter 'K' has no value" + line + "               ^");
  EXPECT_EQ(error({{"K", "8"}, {"J", "8"}}),
            "dot.mdh:1:1: 'dot' has no parameter 'J'; its parameters are T, K" + line + "^");
  EXPECT_EQ(error({{"K", "eight"}}),
            "dot.mdh:1:16: the value 'eight' of parameter 'K' is no 64-bit integer" + line +
                "               ^");
  EXPECT_EQ(error({{"K", "9223372036854775808"}}),
            "dot.mdh:1:16: the value '9223372036854775808' of parameter 'K' is no 64-bit integer" +
                line + "               ^");
  EXPECT_EQ(error({{"K", "8"}, {"T", "half"}}), "no error");
  EXPECT_TRUE(absl::StrContains(error({{"K", "8"}, {"T", "{x: fp32, n: int8}"}}),
                                "operation '*' does not exist for records"));
  for (const char* wrong : {"{x: fp32", "{x: T}", "fp32 fp32", "{}", ""}) {
    EXPECT_TRUE(absl::StrContains(error({{"K", "8"}, {"T", wrong}}), "of parameter 'T' is no type"))
        << wrong;
  }
  EXPECT_EQ(error({{"K", "8"}, {"T", "quarter"}}),
            "dot.mdh:1:5: the value 'quarter' of parameter 'T' is no type" + line + "    ^");
}

TEST(ParserErrorsTest, CodesAreThoseOfExpressions) {
  const auto code = [](const Bindings& bindings) {
    return ParseExpression(kDot, bindings).status().code();
  };
  EXPECT_EQ(code({{"K", "-1"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"K", "9223372036854775807"}}), absl::StatusCode::kOutOfRange);
}

std::string Repeated(const std::string& text, int times) {
  std::string result;
  for (int n = 0; n < times; ++n) result += text;
  return result;
}

std::string WithBody(const std::string& body) {
  return absl::StrCat(std::string(kDot, sizeof(kDot) - 1 - 11), " s = ", body, " }");
}

std::string FirstLine(const Status& status) {
  return std::string(std::string(status.message()).substr(0, ErrorMessage(status).find('\n')));
}

Status ErrorOfBody(const std::string& body) {
  return ParseExpression(WithBody(body), {{"K", "8"}}).status();
}

TEST(ParserLimitsTest, LargeTexts) {
  const std::string text = Repeated("# a comment\n", 100'000);
  EXPECT_EQ(ErrorMessage(ParseExpression(text)),
            "the text has 1200000 bytes; at most 1048576 are allowed");
  EXPECT_TRUE(ParseExpression(text.substr(0, 600'000) + kDot, {{"K", "8"}}).ok());
}

TEST(ParserLimitsTest, Nesting) {
  EXPECT_TRUE(ErrorOfBody(Repeated("(", 150) + "x" + Repeated(")", 150)).ok());
  for (const std::string& deep :
       {Repeated("(", 100'000), Repeated("-", 100'000), Repeated("!", 100'000),
        Repeated("abs(", 100'000), Repeated("x < y ? x : ", 50'000), Repeated("x < y ? ", 50'000),
        Repeated("- -(", 50'000)}) {
    const Status status = ErrorOfBody(deep);
    EXPECT_TRUE(absl::StrContains(FirstLine(status), "nested deeper than 200 levels"))
        << FirstLine(status);
  }
  for (const std::string& deep :
       {Repeated("(", 100'000) + "1" + Repeated(")", 100'000), Repeated("-", 100'000) + "1"}) {
    const Status status = ParseExpression(absl::StrCat("e<|K = ", deep, "> := out_view")).status();
    EXPECT_TRUE(absl::StrContains(FirstLine(status), "nested deeper than 200 levels"))
        << FirstLine(status);
  }
}

std::string Chain(int length) { return absl::StrCat(Repeated("y + ", length), "x"); }

TEST(ParserLimitsTest, LongChains) {
  EXPECT_TRUE(ErrorOfBody(Chain(4000)).ok());
  EXPECT_TRUE(absl::StrContains(FirstLine(ErrorOfBody(Chain(5000))),
                                "instructions; at most 4096 are allowed"));
  EXPECT_TRUE(
      absl::StrContains(FirstLine(ErrorOfBody(Chain(200'000))), "function 'f' is too long"));
}

TEST(ParserLimitsTest, ManyDimensionsAndAccesses) {
  std::vector<std::string> names;
  for (int d = 0; d < 65; ++d) names.push_back(absl::StrCat("i", d));
  const std::string tuple = absl::StrCat("(", absl::StrJoin(names, ","), ")");
  const Status dimensions = ParseExpression("e := out_view<fp32>( w: " + tuple + " -> ()").status();
  EXPECT_TRUE(absl::StrContains(FirstLine(dimensions), "more than 64 dimensions"));
  const Status rank =
      ParseExpression("e := out_view<fp32>( w: (i) -> (" + Repeated("i,", 100) + "i)").status();
  EXPECT_TRUE(absl::StrContains(FirstLine(rank), "a buffer of more than 64 dimensions"));
  const Status accesses =
      ParseExpression("e := out_view<fp32>( w: (i) -> (i)" + Repeated(",(i)", 9000)).status();
  EXPECT_TRUE(absl::StrContains(FirstLine(accesses), "more than 8192 accesses"));
}

// Short texts that stand for much: memory and time stay within bounds.
TEST(ParserLimitsTest, LargeRecordsInManyPlaces) {
  std::vector<std::string> fields;
  for (int f = 0; f < 256; ++f) fields.push_back(absl::StrCat("f", f, ": int8"));
  const std::string head = absl::StrCat("e<R = {", absl::StrJoin(fields, ", "), "}");
  const auto first_line = [&](const std::string& rest) {
    return FirstLine(ParseExpression(absl::StrCat(head, rest)).status());
  };
  const std::string types = Repeated("R, ", 100'000);
  EXPECT_TRUE(absl::StrContains(first_line("> := out_view<" + types + "R>( y: (i) -> (i) )"),
                                "out_view has 100001 types for 1 buffers"));
  std::string parameters;
  for (int n = 0; n < 2000; ++n) absl::StrAppend(&parameters, ", A", n, " = R");
  EXPECT_TRUE(
      absl::StrContains(first_line(parameters + "> := out_view"), "more than 1024 parameters"));
  const std::string view =
      "> := out_view<R>( y: (i) -> (i) ) o md_hom<4>( f, (++) ) o "
      "inp_view<R,bool>( x: (i) -> (i), c: (i) -> (i) ) where f(x, c) -> ";
  std::string results;
  for (int n = 0; n < 9000; ++n) absl::StrAppend(&results, "r", n, ": R, ");
  EXPECT_TRUE(absl::StrContains(first_line(view + "(" + results + "s) {"),
                                "function 'f' has more than 8192 results"));
  std::string lets = "let v0 = x; ";
  for (int n = 1; n < 2000; ++n) {
    absl::StrAppend(&lets, "let v", n, " = c ? v", n - 1, " : x; ");
  }
  EXPECT_TRUE(absl::StrContains(first_line(view + "y { " + lets + "y = v1999 }"),
                                "function 'f' is too long: more than 65536 operations on fields"));
  EXPECT_EQ(first_line(view + "y { let d = c ? x : x; y = d == x && !c ? x : d }"), "");
}

TEST(ParserLimitsTest, ManyFunctionsAndBrackets) {
  EXPECT_TRUE(absl::StrContains(FirstLine(ErrorOfBody(Repeated("[1][", 50'000))),
                                "nested deeper than 200 levels"));
  EXPECT_TRUE(absl::StrContains(FirstLine(ErrorOfBody(Repeated("{a: ", 50'000))),
                                "nested deeper than 200 levels"));
  EXPECT_TRUE(absl::StrContains(FirstLine(ErrorOfBody("x" + Repeated(".a", 50'000))),
                                "function 'f' is too long"));
  EXPECT_TRUE(absl::StrContains(FirstLine(ErrorOfBody("[" + Repeated("1, ", 70'000) + "1][0]")),
                                "a table of more than 65536 values"));
}

// Uses everything that the language has.
constexpr char kEverything[] =
    R"(e<R = {x: fp32, n: int8}, T = fp16 | K = 3> := out_view<R,T>( s strides (2): (i,k) -> (i),
  t: (i,k) -> (i) ) o md_hom<2,K>( f, (++, g) ) o inp_view<R,T>( a[2,K] layout (1,0) else {0, n: -1}:
  (i,k) -> (i-1, k), (i, k), b[2] else clamp: (i,k) -> (i+1) ) where f(p, q, c) -> (s, t: fp32) {
  let w = [1, -2.5, inf]; s = {x: p == q ? w[k] : p.x, n: q.n}; t = round(fp32(c)) * K },
  g(a, u, b, v) -> (s, t) identity ({x: -inf, n: 0}, 0) { s.x = max(a.x, b.x); s.n = a.n | b.n;
  t = u + v })";

// Every prefix of a text, and every text with a byte changed, is parsed or refused.
TEST(ParserLimitsTest, DamagedTextsAreNoDanger) {
  const std::string everything = kEverything;
  for (size_t length = 0; length < everything.size(); ++length) {
    EXPECT_FALSE(ParseExpression(everything.substr(0, length)).ok());
    std::string damaged = everything;
    for (const char byte : {'{', '}', '[', ']', '.', ',', 'x', '0', '\0'}) {
      damaged[length] = byte;
      const Result<Expression> expression = ParseExpression(damaged);
      if (!expression.ok()) continue;
      EXPECT_TRUE(ParseExpression(ToText(*expression)).ok()) << damaged;
    }
  }
  const std::string text = kDot;
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseExpression(text.substr(0, length), {{"K", "8"}}).ok());
  }
  int parsed = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(byte);
      parsed += ParseExpression(damaged, {{"K", "8"}}).ok() ? 1 : 0;
    }
  }
  EXPECT_GT(parsed, 0);
}

}  // namespace
}  // namespace mdh::parser_errors_test
