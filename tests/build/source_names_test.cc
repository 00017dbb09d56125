// What is found of the names in a text: one form of declaration a test.
#include "tests/build/source_names.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/build/source_tokens.h"

namespace mdh::source_names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "3 F" for a name in line 3, "3 F own" for one of the file alone.
std::vector<std::string> Names(std::string_view text) {
  std::vector<std::string> names;
  for (const SourceName& name : NamesAtNamespaceScope(text)) {
    names.push_back(absl::StrCat(name.line, " ", name.name, name.is_own ? " own" : ""));
  }
  return names;
}

TEST(SourceTokens, HaveKindsAndLines) {
  std::vector<std::string> tokens;
  for (const SourceToken& token : SourceTokens("#define A \\\n  1\nint b = 1'000 /* c\n */; // d\n"
                                               "s->t(\"\\\"//\", R\"x(\n)\")x\", ':')::u # v\n")) {
    tokens.push_back(
        absl::StrCat(token.line, static_cast<int>(token.kind), std::string(token.text)));
  }
  EXPECT_THAT(tokens,
              ElementsAre("13#define A \\\n  1", "30int", "30b", "32=", "311'000", "42;", "50s",
                          "52->", "50t", "52(", "51\"\\\"//\"", "52,", "51R\"x(\n)\")x\"", "62,",
                          "61':'", "62)", "62::", "60u", "62#", "60v"));
}

TEST(SourceNames, OfFunctions) {
  EXPECT_THAT(
      Names("void F();\nstatic int G(int n) {\n  int h(n);\n  return h;\n}\n"
            "std::vector<std::pair<A, B>> H(\n    int n = f(1), T t = {}) { }\nauto I() -> J;"),
      ElementsAre("1 F", "2 G own", "6 H", "8 I"));
  EXPECT_THAT(Names("[[nodiscard]] int F();\n__attribute__((noinline)) int G();\n"
                    "template <typename T, int kN = (1 < 2)>\nT H(T);\ndecltype(F()) I() { }"),
              ElementsAre("1 F", "2 G", "4 H", "5 I"));
  EXPECT_THAT(Names("bool operator<(A a, A b);\nbool operator()(A);\nF::operator bool() { }"),
              ElementsAre("1 operator", "2 operator"));
}

TEST(SourceNames, OfVariables) {
  EXPECT_THAT(Names("const int a = 1;\nint b[2] = {1, F()};\nT c{1};\nstd::map<A, F(int)> d;\n"
                    "static const auto* e = [](int n) { return n; };\nT f(1);\nextern int g;"),
              ElementsAre("1 a", "2 b", "3 c", "4 d", "5 e own", "6 f", "7 g"));
}

TEST(SourceNames, OfTypesAndAliases) {
  EXPECT_THAT(Names("class A;\nclass B final : public A<int> {\n  void F();\n  struct C {};\n};\n"
                    "enum class D : int { kE };\nstruct alignas(64) E {} e;\nstruct F G();"),
              ElementsAre("2 B own", "6 D own", "7 E own", "8 G"));
  const std::vector<SourceName> aliases =
      NamesAtNamespaceScope("using A = B<C>;\nusing d::E;\nnamespace f = g::h;\nusing enum I;");
  ASSERT_EQ(aliases.size(), 3u);
  EXPECT_EQ(aliases[0].name, "A");
  EXPECT_EQ(aliases[0].alias, "usingA=B<C>");
  EXPECT_EQ(aliases[1].name, "E");
  EXPECT_EQ(aliases[1].alias, "usingd::E");
  EXPECT_EQ(aliases[2].name, "f");
  EXPECT_EQ(aliases[2].alias, "namespacef=g::h");
}

TEST(SourceNames, OfUnnamedNamespacesAreOwn) {
  EXPECT_THAT(Names("namespace a {\nint C();\nnamespace {\nint D();\nstruct E {\n};\n"
                    "}  // namespace\nint F() { if (G()) { } }\n}\nextern \"C\" {\nint H();\n}"),
              ElementsAre("2 C", "4 D own", "5 E own", "8 F", "11 H"));
}

TEST(SourceNames, OfInnerNamespacesAreLeftOut) {
  EXPECT_THAT(Names("namespace a::b {\nint C();\nnamespace {\nint D();\n}\n}\nint E();"),
              ElementsAre("7 E"));
}

TEST(SourceNames, OfMembersAreLeftOut) {
  EXPECT_THAT(Names("A::A(int n) : B<int>{n}, c_{n}, d_(F()) { G(); }\nA::~A() = default;\n"
                    "int A::F() const noexcept { }\nstruct A::B {\n};\nint A::c = 1;\nint D();"),
              ElementsAre("7 D"));
}

TEST(SourceNames, OfTestsAreLeftOut) {
  EXPECT_THAT(Names("namespace {\nTEST(A, B) { }\nTEST_F(C, D) {\n  int e;\n}\nint F();\n}"),
              ElementsAre("6 F own"));
}

TEST(SourceNames, OfMacrosThatStayDefined) {
  EXPECT_THAT(
      Names("#pragma once\n#include \"a.h\"\n#define B(c) c\n#define D\n#undef D\n"
            "#ifdef E\nstatic_assert(F(), \"{\");\n#endif\nint G(\n#ifdef E\nint n\n#endif\n);"),
      ElementsAre("3 B own", "9 G"));
  EXPECT_THAT(Names("// int A();\n/* int B(); */ const char c[] = R\"(int D();)\";"),
              ElementsAre("2 c"));
  EXPECT_THAT(Names(""), IsEmpty());
}

}  // namespace
}  // namespace mdh::source_names_test
