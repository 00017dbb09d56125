// One digest per meaning.
#include "core/expression/canonical.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/random_expression.h"
#include "tests/sanitized.h"

namespace mdh::canonical_test {
namespace {

constexpr char kMatVec[] = R"(
matvec :=
  out_view<fp32>( w: (i,k) -> (i) ) o
  md_hom<4,3>( f, (++, +) ) o
  inp_view<fp32,fp32>( M: (i,k) -> (i,k), v: (i,k) -> (k) )
where f(M, v) -> w { w = M * v }
)";

Expression Parse(const std::string& text) {
  const Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status() << "\n" << text;
  return *expression;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// If this fails and the canonical form was changed on purpose: raise its version, since all stored
// digests are void.
TEST(CanonicalTest, TheFormIsPinned) {
  EXPECT_EQ(CanonicalForm(Parse(kMatVec)),
            "mdh-canonical 1\n"
            "dimension 4\n"
            "dimension 3\n"
            "combine cc\n"
            "combine pw (fp32,fp32)->(fp32){1:fp32:0();1:fp32:1();40:fp32(0,1);=>2} identity "
            "0000000000000000\n"
            "input fp32[4,3](1,0+0|0,1+0)\n"
            "input fp32[3](0,1+0)\n"
            "output fp32[4](1,0+0)\n"
            "function (fp32,fp32)->(fp32){1:fp32:0();1:fp32:1();42:fp32(0,1);=>2}\n");
  EXPECT_EQ(Digest(Parse(kMatVec)),
            "d196a937020626de255785f48bd6ba15aab3619d8d461e6774e05587bfb51fb3");
}

TEST(CanonicalTest, WhatIsKeptMattersWhereItIsSomething) {
  const std::string larger = Replaced(kMatVec, "w: (i,k)", "w[6]: (i,k)");
  const std::string kept = Replaced(kMatVec, "w: (i,k)", "w[6] keep: (i,k)");
  EXPECT_NE(Digest(Parse(larger)), Digest(Parse(kept)));
  EXPECT_NE(CanonicalForm(Parse(kept)).find("\noutput fp32[6]keep(1,0+0)\n"), std::string::npos);
  EXPECT_EQ(Digest(Parse(Replaced(kMatVec, "w: (i,k)", "w[4] keep: (i,k)"))),
            Digest(Parse(kMatVec)));
}

TEST(CanonicalTest, EmptyDimensionsHaveAForm) {
  EXPECT_NE(
      CanonicalForm(Parse(Replaced(kMatVec, "<4,3>", "<4,0>"))).find("dimension 0\ncombine cc\n"),
      std::string::npos);
}

TEST(CanonicalTest, NamesDoNotMatter) {
  const std::string digest = Digest(Parse(kMatVec));
  EXPECT_EQ(Digest(Parse(R"(
other<T = fp32 | A = 4, B = 3> :=
  out_view<T>( result: (x,y) -> (x) ) o
  md_hom<A,B>( g, (cc, plus) ) o
  inp_view<T,T>( left[A,B]: (x,y) -> (x,y), right: (x,y) -> (y) )
where g(l, r) -> p { let q = r * l; p = q },
      plus(one, two) -> three identity (0) { three = two + one }
)")),
            digest);
}

TEST(CanonicalTest, EveryChangeOfMeaningMatters) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"<4,3>", "<5,3>"},
      {"(++, +)", "(++, *)"},
      {"(++, +)", "(++, max)"},
      {"M: (i,k) -> (i,k)", "M: (i,k) -> (k,i)"},
      {"M: (i,k) -> (i,k)", "M: (i,k) -> (i,k+1)"},
      {"M: (i,k) -> (i,k)", "M: (i,k) -> (i,2*k)"},
      {"M: (i,k) -> (i,k)", "M: (i,k) -> (i,2-k)"},
      {"M: (i,k) -> (i,k)", "M[4,5]: (i,k) -> (i,k)"},
      {"v: (i,k) -> (k)", "v: (i,k) -> ()"},
      {"w: (i,k) -> (i)", "w: (i,k) -> (i+1)"},
      {"w: (i,k) -> (i)", "w: (i,k) -> (2*i)"},
      {"M * v", "M + v"},
      {"M * v", "M - v"},
      {"M * v", "v - M"},
      {"M * v", "M * v + 1"},
      {"M * v", "M * v + 2"},
      {"M * v", "M * v - 0.0"},
      {"M * v", "M * v + -0.0"},
      {"M * v", "M"},
      {"M * v", "min(M, v)"},
      {"M * v", "fmin(M, v)"},
      {"M * v", "M * [1, 2][k]"},
      {"M * v", "M * [1, 3][k]"},
      {"M * v", "M * [1, 2][i]"},
      {"M * v", "M * [1, 2][int32(k)]"},
      {"M * v", "M * fp32(k)"},
      {"M * v", "M * fp32(i)"},
      {"M * v", "round(M)"},
      {"M * v", "trunc(M)"},
      {"M * v", "erf(M)"},
      {"M * v", "exp2(M)"},
      {"-> w { w = M * v", "-> (w: fp64) { w = fp64(M) * fp64(v)"},
      {"-> w { w = M * v", "-> (w: fp64) { w = fp64(M * v)"},
      {"-> w { w = M * v", "-> (w: fp16) { w = fp16(M * v)"},
      {"-> w { w = M * v", "-> (w: bf16) { w = bf16(M * v)"},
      {"w: (i,k) -> (i)", "w strides (2): (i,k) -> (i)"},
      {"M: (i,k) -> (i,k)", "M strides (1,4): (i,k) -> (i,k)"},
      {"M: (i,k) -> (i,k)", "M[4,3] else 0: (i,k) -> (i,k+1)"},
      {"M: (i,k) -> (i,k)", "M[4,3] else -0.0: (i,k) -> (i,k+1)"},
      {"M: (i,k) -> (i,k)", "M[4,3] else clamp: (i,k) -> (i,k+1)"},
      {"M * v }", "M * v }, g(a, b) -> c { c = a + b }"},
      {"M * v }", "M * v }, g(a, b) -> c identity (-0.0) { c = a + b }"},
  };
  std::map<std::string, std::string> texts = {{Digest(Parse(kMatVec)), kMatVec}};
  for (const auto& [from, to] : changes) {
    std::string text = Replaced(kMatVec, from, to);
    if (to.find("g(a, b)") != std::string::npos) text = Replaced(text, "(++, +)", "(++, g)");
    const auto [entry, is_new] = texts.emplace(Digest(Parse(text)), text);
    EXPECT_TRUE(is_new) << text << "\nhas the digest of\n" << entry->second;
  }
  std::string doubles = Replaced(kMatVec, "<fp32>", "<fp64>");
  doubles = Replaced(doubles, "<fp32,fp32>", "<fp64,fp64>");
  EXPECT_TRUE(texts.emplace(Digest(Parse(doubles)), doubles).second);
}

TEST(CanonicalTest, OrderOfLetsAndOfCommutativeOperandsDoesNotMatter) {
  const auto with_body = [](const std::string& body) {
    return Digest(Parse(Replaced(kMatVec, "w = M * v", body)));
  };
  EXPECT_EQ(with_body("let a = exp(M); let b = sin(v); w = a * b + a"),
            with_body("let b = sin(v); let a = exp(M); w = a + b * a"));
  EXPECT_EQ(with_body("w = exp(M) * exp(M)"),
            with_body("let e = exp(M); let dead = e + v; w = e * e"));
  EXPECT_NE(with_body("w = exp(M) - sin(v)"), with_body("w = sin(v) - exp(M)"));
}

TEST(CanonicalTest, RandomExpressionsKeepTheirDigestUnderRenaming) {
  Rng rng(11);
  for (int n = 0; n < TriedCases(300); ++n) {
    const Expression expression = RandomExpression(rng, {.exact = n % 2 == 0});
    ExpressionSpec spec = expression.spec();
    spec.name = "renamed";
    for (Dimension& dimension : spec.dimensions)
      dimension.name = absl::StrCat("r_", dimension.name);
    for (std::vector<Buffer>* buffers : BuffersOf(&spec)) {
      for (Buffer& buffer : *buffers) buffer.name = absl::StrCat("r_", buffer.name);
    }
    EXPECT_EQ(Digest(*Expression::Create(std::move(spec))), Digest(expression));
  }
}

}  // namespace
}  // namespace mdh::canonical_test
