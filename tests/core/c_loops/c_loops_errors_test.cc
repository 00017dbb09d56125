// What is said of wrong C loops: golden/bad_loops.txt has a case per kind of error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/core/c_loops/c_loops_text.h"
#include "tests/core/expect_same.h"
#include "tests/source_path.h"

namespace mdh::c_loops_errors_test {
namespace {

constexpr char kGoldenFile[] = "tests/core/c_loops/golden/bad_loops.txt";

struct Case {
  std::string title;
  std::string text;
  std::string error;
};

std::vector<Case> ReadCases() {
  std::vector<Case> cases;
  const std::vector<std::string> parts = absl::StrSplit(ReadFileOf(kGoldenFile), "==== ");
  for (size_t n = 1; n < parts.size(); ++n) {
    const size_t line = parts[n].find('\n') + 1;
    const size_t error = parts[n].find("---- error\n", line);
    cases.push_back({parts[n].substr(0, line - 1), parts[n].substr(line, error - line),
                     parts[n].substr(error + 11)});
  }
  return cases;
}

// MDH_UPDATE_GOLDEN=1 in the environment rewrites the errors of the golden file.
TEST(CLoopsErrorsTest, GoldenTexts) {
  const std::vector<Case> cases = ReadCases();
  EXPECT_GE(cases.size(), 80u);
  const bool updates = std::getenv("MDH_UPDATE_GOLDEN") != nullptr;
  std::string updated;
  for (const Case& one : cases) {
    const std::string error =
        absl::StrCat(ErrorMessage(ParseCLoops(one.text, {}, "bad.c")), "\n\n");
    absl::StrAppend(&updated, "==== ", one.title, "\n", one.text, "---- error\n", error);
    EXPECT_NE(error, "no error\n\n") << one.title;
    if (updates) continue;
    EXPECT_EQ(error, one.error) << one.title << "\n" << one.text;
  }
  if (updates) std::ofstream(SourcePath(kGoldenFile)) << updated;
}

constexpr char kMatvec[] = R"(#ifndef I
#define I 4
#endif
#define K 3
#define MADD(s, a, b) (s) += (a) * (b)
static const int offset = 0;
static float same(float x) { return x; }
void matvec(int unused, const float M[I][K], const float v[K], float w[I]) {
#pragma mdh out(w) inp(M, v) combine_ops(cc, pw(+))
  for (int i = 0; i < I; ++i)
    for (int k = 0; k < K; ++k) {
      const float x = k < 2 ? M[i][k] : same(M[i][k + offset]);
      MADD(w[i], x, v[k]);
    }
}
)";

TEST(CLoopsErrorsTest, Bindings) {
  const auto error = [](const Bindings& bindings, const std::string& function = "") {
    return ErrorMessage(ParseCLoops(kMatvec, {.bindings = bindings, .function = function}, "m.c"));
  };
  EXPECT_EQ(error({{"I", "8"}}), "no error");
  EXPECT_EQ(error({{"K", "8"}}),
            "m.c:4:9: 'K' macro redefined; it has a value from outside, so define it between "
            "#ifndef and #endif\n#define K 3\n        ^");
  EXPECT_EQ(error({{"J", "8"}}), "m.c: 'J' has a value, but does not occur");
  EXPECT_EQ(error({{"I", "many"}}),
            "the value 'many' of 'I' is neither a 64-bit integer nor a type");
  EXPECT_EQ(error({{"I", "fp8e4m3"}}), "C has no type fp8e4m3, the value of 'I'");
  EXPECT_EQ(error({{"I;", "1"}}), "'I;' is no name");
  EXPECT_EQ(
      error({{"offset", "1"}}),
      "'offset' cannot have the value '1': the file declares it as a variable with a value of its "
      "own");
  EXPECT_EQ(error({{"w", "1"}}),
            "'w' cannot have the value '1': the file declares it as a variable of another type");
  EXPECT_EQ(error({}, "same"), "m.c: there are no annotated loops in 'same', only in matvec");
}

TEST(CLoopsErrorsTest, SeveralFunctions) {
  const std::string one = "(float *y) {\n#pragma mdh\n  for (int i = 0; i < 4; ++i) y[i] = 1;\n}\n";
  const std::string text = absl::StrCat("void f", one, "void g", one);
  EXPECT_EQ(ErrorMessage(ParseCLoops(text, {}, "two.c")),
            "two.c: there are 2 annotated loops; name the function of those that are meant: f, g");
  EXPECT_TRUE(ParseCLoops(text, {.bindings = {}, .function = "g"}, "two.c").ok());
}

TEST(CLoopsErrorsTest, Codes) {
  EXPECT_EQ(ParseCLoops("int x;").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ParseCLoops("int x").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseCLoops(std::string(300'000, ' ')).status().message(),
            "the C file has 300000 bytes; at most 262144 are allowed");
}

std::string Repeated(const std::string& text, int times) {
  std::string result;
  for (int n = 0; n < times; ++n) result += text;
  return result;
}

TEST(CLoopsLimitsTest, DeepAndLongTexts) {
  const auto error = [](const std::string& value) {
    return ErrorMessage(ParseCLoops(
        absl::StrCat("void f(float *x, float *y) {\n#pragma mdh\nfor (int i = 0; i < 4; ++i) {\n"
                     "y[i] = ",
                     value, ";\n}\n}\n"),
        {}, "deep.c"));
  };
  EXPECT_EQ(error(Repeated("(", 100) + "x[i]" + Repeated(")", 100)), "no error");
  EXPECT_TRUE(absl::StrContains(error(Repeated("(", 900) + "1" + Repeated(")", 900)),
                                "bracket nesting level"));
  EXPECT_TRUE(absl::StrContains(error(Repeated("1 + ", 900) + "1"), "nested deeper than"));
  for (const char* deep : {"- ", "!", "~"}) {
    EXPECT_TRUE(absl::StrContains(error(Repeated(deep, 1900) + "1"), "nested deeper than")) << deep;
    EXPECT_TRUE(absl::StrContains(error(Repeated(deep, 2100) + "1"), "more than 2000 tokens"))
        << deep;
  }
  for (const char* long_one : {"(int)", "x[i] > 0 ? 1 : ", "x[i] + ", "1 + ", "if (x[i]) "}) {
    EXPECT_TRUE(absl::StrContains(error("1; y[i] = " + Repeated(long_one, 2100) + "x[i]"),
                                  "more than 2000 tokens"))
        << long_one;
  }
  EXPECT_TRUE(absl::StrContains(error("1; " + Repeated("for (;;) ", 2100) + "y[i] = 2"),
                                "more than 2000 tokens"));
  EXPECT_TRUE(absl::StrContains(error("1; " + Repeated("if (x[i]) ;else ", 1100)),
                                "more than 1000 'else'"));
  EXPECT_FALSE(error("1; " + Repeated("if (x[i]) ;else ", 900) + "y[i] = 2").empty());
  EXPECT_EQ(error("1; " + Repeated("/* else + - */ y[i] = '\\'';", 5000) + "y[i] = 2"), "no error");
  // Functions that call each other twice.
  std::string text = "static float f0(float x) { return x; }\n";
  for (int n = 1; n < 40; ++n) {
    absl::StrAppend(&text, "static float f", n, "(float x) { return f", n - 1, "(x) + f", n - 1,
                    "(x * 2); }\n");
  }
  text +=
      "void f(float *x, float *y) {\n#pragma mdh\nfor (int i = 0; i < 4; ++i) y[i] = f39(x[i]);}";
  EXPECT_TRUE(absl::StrContains(ErrorMessage(ParseCLoops(text)), "is too long"));
}

constexpr char kBehind[] = R"(
void rows(const float x[4][3], const float v[4], float w[4]) {
#pragma mdh
  for (int i = 0; i < 4; ++i) {
    const float scale = v[i];
    float c = 0, d = 1;
    for (int k = 0; k < 3; ++k) { c += x[i][k] * scale; d *= x[i][k]; }
    w[i] = c > 0 ? c : d; if (d < 0) w[i] += v[3 - i];
  }
}
)";

// Damaged texts are parsed or refused.
class CLoopsDamageTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Texts, CLoopsDamageTest, testing::Values(kMatvec, kBehind));

TEST_P(CLoopsDamageTest, IsNoDanger) {
  const std::string text = GetParam();
  ASSERT_TRUE(ParseCLoops(text).ok()) << ParseCLoops(text).status();
  std::mt19937 random(1);
  const auto below = [&](size_t limit) { return random() % limit; };
  const std::string bytes = "(){}[];,.+-*/%<>=&|^!~?:#\"' \n0129ikwMvxIK";
  int parsed = 0;
  for (int n = 0; n < 300; ++n) {
    std::string damaged = text;
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(damaged.size());
      switch (below(4)) {
        case 0:
          damaged[at] = bytes[below(bytes.size())];
          break;
        case 1:
          damaged.erase(at, 1 + below(8));
          break;
        case 2:
          damaged.insert(at, 1, bytes[below(bytes.size())]);
          break;
        default:
          damaged.insert(at, text.substr(below(text.size()), 1 + below(20)));
      }
    }
    const Result<Expression> expression = ParseCLoops(damaged, {}, "damaged.c");
    EXPECT_TRUE(expression.ok() || !expression.status().message().empty());
    parsed += expression.ok() ? 1 : 0;
  }
  EXPECT_GT(parsed, 0);
}

}  // namespace
}  // namespace mdh::c_loops_errors_test
