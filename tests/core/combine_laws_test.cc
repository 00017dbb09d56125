// Operators that may not be applied in any order are refused with a counterexample.
#include "core/combine_laws.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "tests/error_message.h"

namespace mdh {
namespace {

// The message about `g(a, b) -> c <definition>` as a reduction of values of `type`, or "no error".
std::string MessageFor(const std::string& type, const std::string& definition) {
  const std::string message = ErrorMessage(ParseExpression(absl::StrCat(
      "e := out_view<", type, ">( s: (i) -> () ) o md_hom<4>( f, (g) ) o inp_view<", type,
      ">( x: (i) -> (i) )\nwhere f(x) -> s { s = x },\ng(a, b) -> c ", definition)));
  return message.substr(0, message.find('\n'));
}

TEST(CombineLawsTest, OrdersThatMatterAreRefused) {
  EXPECT_EQ(MessageFor("fp32", "{ c = a - b }"),
            "<text>:3:1: combine operator 'g' is not commutative: g(0, 1) is -1, but g(1, 0) is 1");
  EXPECT_EQ(MessageFor("int32", "{ c = a }"),
            "<text>:3:1: combine operator 'g' is not commutative: g(0, 1) is 0, but g(1, 0) is 1");
  EXPECT_EQ(MessageFor("fp64", "{ c = (a + b) / 2 }"),
            "<text>:3:1: combine operator 'g' is not associative: g(g(0, 0), 1) is 0.5, but "
            "g(0, g(0, 1)) is 0.25");
  EXPECT_EQ(MessageFor("bool", "{ c = !(a && b) }"),
            "<text>:3:1: combine operator 'g' is not associative: g(g(false, false), true) is "
            "false, but g(false, g(false, true)) is true");
}

TEST(CombineLawsTest, WrongIdentitiesAreRefused) {
  EXPECT_EQ(MessageFor("fp32", "identity (1) { c = a + b }"),
            "<text>:3:1: 1 is no identity of combine operator 'g': g(1, 0) is 1");
  EXPECT_EQ(MessageFor("uint8", "identity (0) { c = a * b }"),
            "<text>:3:1: 0 is no identity of combine operator 'g': g(0, 1) is 0");
}

TEST(CombineLawsTest, LawfulOperatorsPass) {
  for (const char* type : {"fp32", "fp64"}) {
    EXPECT_EQ(MessageFor(type, "identity (0) { c = sqrt(a*a + b*b) }"), "no error");
    EXPECT_EQ(MessageFor(type, "identity (-inf) { c = log(exp(a) + exp(b)) }"), "no error");
    EXPECT_EQ(MessageFor(type, "identity (inf) { c = a * b / (a + b) }"), "no error");
    EXPECT_EQ(MessageFor(type, "{ c = (a + b) / (1 + a * b) }"), "no error");
  }
  for (const char* type : {"int8", "uint16", "int64"}) {
    EXPECT_EQ(MessageFor(type, "identity (0) { c = a + b - a * b }"), "no error");
    EXPECT_EQ(MessageFor(type, "identity (0) { c = (a + b) % 3 }"), "no error");
    EXPECT_EQ(MessageFor(type, "{ c = min(a + b, 100) }"), "no error");
  }
  EXPECT_EQ(MessageFor("bool", "identity (false) { c = a != b }"), "no error");
}

}  // namespace
}  // namespace mdh
