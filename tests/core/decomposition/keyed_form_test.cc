// Which expressions have results by key, and what is taken from them.
#include "core/decomposition/keyed_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/error_message.h"
#include "tests/shipped_expression.h"

namespace mdh::keyed_form_test {
namespace {

using ::testing::HasSubstr;

Expression Parsed(const std::string& text) {
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status() << text;
  return *std::move(expression);
}

// Elements x[e] and bins b[k], combined by `op`, with that f.
Expression OfFunction(const std::string& f, const std::string& op = "+",
                      const std::string& type = "int32") {
  return Parsed(absl::StrCat("h := out_view<", type, ">( y: (e,k) -> (k) ) o md_hom<100,7>( f, (",
                             op,
                             ", ++) ) o inp_view<int32,int32>( x: (e,k) -> (e), b: (e,k) -> (k) )",
                             " where f(x, b) -> ", f));
}

// What is along which dimensions, and the functions, a line each.
std::string TextOf(const Expression& expression, const KeyedForm& form) {
  const auto along = [&](const char* what, const std::vector<int>& dimensions) {
    const auto name = [&](std::string* out, int d) { *out += expression.dimensions()[d].name; };
    return absl::StrCat(what, " along ",
                        dimensions.empty() ? "-" : absl::StrJoin(dimensions, ",", name));
  };
  return absl::StrCat(along("elements", form.elements), "; ", along("keys", form.keys), "; ",
                      along("batch", form.batch), "\nelement: ", ToText(form.element),
                      "\nresult: ", ToText(form.result), "\n");
}

std::string FormText(const Expression& expression) {
  const Result<KeyedForm> form = FindKeyedForm(expression);
  return form.ok() ? TextOf(expression, *form) : ErrorMessage(form);
}

TEST(KeyedFormTest, Histogram) {
  EXPECT_EQ(FormText(Shipped("histo.mdh")),
            "elements along e; keys along b; batch along -\n"
            "element: { key = element; value1 = 1 }\n"
            "result: { key = bin }\n");
  EXPECT_EQ(FormText(Shipped("gen_histo.mdh")),
            "elements along e; keys along b; batch along -\n"
            "element: { key = element.bin; value1 = element.value }\n"
            "result: { key = bin }\n");
}

TEST(KeyedFormTest, ParametersMayHaveAnyName) {
  const Expression expression = Parsed(
      "h := out_view<int32>( y: (e,k) -> (k) ) o md_hom<100,7>( f, (+, ++) ) o "
      "inp_view<int32,int32>( x: (e,k) -> (e), b: (e,k) -> (k) ) "
      "where f(key, value1) -> y { y = key == value1 ? 1 : 0 }");
  EXPECT_EQ(FormText(expression),
            "elements along e; keys along k; batch along -\n"
            "element: { key_ = key; value1_ = 1 }\n"
            "result: { key_ = value1 }\n");
}

TEST(KeyedFormTest, MirroredAndNegated) {
  const std::string form = FormText(OfFunction("y { y = x == b ? 2 * x : 0 }"));
  EXPECT_THAT(form, HasSubstr("element: { key = x; value1 = 2 * x }\nresult: { key = b }\n"));
  EXPECT_EQ(FormText(OfFunction("y { y = b == x ? 2 * x : 0 }")), form);
  EXPECT_EQ(FormText(OfFunction("y { y = b != x ? 0 : 2 * x }")), form);
  EXPECT_EQ(FormText(OfFunction("y { y = !(b != x) ? 2 * x : 0 }")), form);
  EXPECT_THAT(FormText(OfFunction("y { y = int32(x == b) }")),
              HasSubstr("element: { key = x; value1 = 1 }"));
  EXPECT_THAT(FormText(OfFunction("y { y = x / 2 == b + 1 ? x : 0 }")),
              HasSubstr("element: { key = x / 2; value1 = x }\nresult: { key = b + 1 }\n"));
}

TEST(KeyedFormTest, OtherConditionsAreOfValues) {
  EXPECT_THAT(FormText(OfFunction("y { y = x == b && x > 3 ? 1 : 0 }")),
              HasSubstr("element: { key = x; value1 = x > 3 ? int32(1) : 0 }"));
  EXPECT_THAT(FormText(OfFunction("y { y = x != b || x > 3 ? 0 : 1 }")),
              HasSubstr("element: { key = x; value1 = x > 3 ? int32(0) : 1 }"));
}

TEST(KeyedFormTest, IdentitiesOfOtherOperators) {
  EXPECT_THAT(FormText(OfFunction("y { y = x == b ? x : -2147483648 }", "max")),
              HasSubstr("value1 = x }"));
  EXPECT_THAT(FormText(OfFunction("y { y = x == b ? x : 1 }", "*")), HasSubstr("value1 = x }"));
  EXPECT_THAT(FormText(OfFunction("y { y = x == b ? fp32(x) : inf }", "min", "fp32")),
              HasSubstr("value1 = fp32(x) }"));
  EXPECT_EQ(FormText(OfFunction("y { y = x == b ? x : 0 }", "max")),
            "result y is no choice between a value and -2147483648, the identity of max");
}

TEST(KeyedFormTest, BatchesSeveralDimensionsAndResults) {
  const Expression batches = Parsed(R"(
    h := out_view<int32,fp32>( n: (i,e,g,k) -> (i,k), s: (i,e,g,k) -> (k,i) ) o
      md_hom<5,9,3,4>( f, (++, +, +, ++) ) o
      inp_view<int32,fp32,int32>( x: (i,e,g,k) -> (i,e + g), w: (i,e,g,k) -> (g),
                                  b: (i,e,g,k) -> (i,k) )
    where f(x, w, b) -> (n: int32, s: fp32) { n = x == b ? 1 : 0; s = b == x ? w : 0 })");
  EXPECT_EQ(FormText(batches),
            "elements along e,g; keys along k; batch along i\n"
            "element: { key = x; value1 = 1; value2 = w }\n"
            "result: { key = b }\n");
  const KeyedForm form = *FindKeyedForm(batches);
  EXPECT_EQ(form.key_type, ScalarType::kInt32);
  const KeyedCut cut = CutByKey(batches, form, {.threads = 4, .rounds = 2, .copies = 2});
  EXPECT_EQ(cut.batches, 5);
  EXPECT_EQ(cut.elements, 27);
  EXPECT_EQ(cut.keys, 4);
  EXPECT_EQ(cut.tile, 8);
  EXPECT_EQ(cut.parts, 4);
  EXPECT_EQ(cut.slots(), 8);
  EXPECT_EQ(cut.shared_bytes, 8 * (4 + 2 * (4 + 4)));
}

TEST(KeyedFormTest, IndicesAsKeys) {
  const Expression expression = Parsed(R"(
    h := out_view<int32>( y: (e,k) -> (k) ) o md_hom<100,7>( f, (+, ++) ) o
      inp_view<int64>( x: (e,k) -> (e) )
    where f(x) -> y { y = x == k ? 1 : 0 })");
  EXPECT_THAT(FormText(expression), HasSubstr("result: { key = k }"));
  EXPECT_EQ(TableKeyType(FindKeyedForm(expression)->key_type), ScalarType::kInt64);
}

TEST(KeyedFormTest, TablesHaveTwiceAsManySlots) {
  const auto slots = [](const std::string& keys) {
    const Expression e = Shipped("histo.mdh", {{"B", keys}});
    return CutByKey(e, *FindKeyedForm(e), {.threads = 32}).slots();
  };
  EXPECT_EQ(slots("2"), 4);
  EXPECT_EQ(slots("3"), 8);
  EXPECT_EQ(slots("256"), 512);
  EXPECT_EQ(slots("257"), 1024);
}

TEST(KeyedFormTest, VectorsOfInputs) {
  EXPECT_EQ(RunOfVectors(Shipped("histo.mdh")), 4);
  EXPECT_EQ(RunOfVectors(Shipped("histo.mdh", {{"T", "int8"}})), 16);
  EXPECT_EQ(RunOfVectors(Shipped("histo.mdh", {{"T", "int64"}})), 2);
}

TEST(KeyedFormTest, WhatHasNoKeys) {
  EXPECT_EQ(FormText(OfFunction("y { y = x * b }")),
            "result y is no choice between a value and 0, the identity of +");
  EXPECT_EQ(FormText(OfFunction("y { y = x == b ? 0 : 1 }")),
            "no result is chosen by the equality of two integers");
  EXPECT_EQ(FormText(OfFunction("y { y = x < b ? 1 : 0 }")),
            "no result is chosen by the equality of two integers");
  EXPECT_EQ(FormText(OfFunction("y { y = x == b ? b : 0 }")),
            "elements and their values depend on all dimensions that are kept");
  EXPECT_EQ(FormText(OfFunction("y { y = x + b == b ? 1 : 0 }")),
            "elements and their values depend on all dimensions that are kept");
  EXPECT_EQ(FormText(OfFunction("y { y = x == 2 * x ? 1 : 0 }")),
            "both sides of the equality depend on reduced dimensions");
  EXPECT_EQ(FormText(OfFunction("y { y = fp32(x) == fp32(b) ? 1 : 0 }")),
            "no result is chosen by the equality of two integers");
  EXPECT_EQ(FormText(Shipped("histo.mdh", {{"B", "1"}})),
            "elements and their values depend on all dimensions that are kept");
}

TEST(KeyedFormTest, OperatorsWithoutAName) {
  EXPECT_EQ(
      FormText(OfFunction("y { y = x == b ? 1 : 0 }, plus(a, b) -> c identity (0) { c = a + b }",
                          "pw(plus)")),
      "results are combined by plus, not by named operators");
}

TEST(KeyedFormTest, ResultsWithDifferentKeys) {
  EXPECT_EQ(FormText(Parsed(R"(
    h := out_view<int32,int32>( n: (e,k) -> (k), m: (e,k) -> (k) ) o md_hom<100,7>( f, (+, ++) ) o
      inp_view<int32,int32>( x: (e,k) -> (e), b: (e,k) -> (k) )
    where f(x, b) -> (n: int32, m: int32) { n = x == b ? 1 : 0; m = x == b + 1 ? 1 : 0 })")),
            "results n and m are chosen by different keys");
}

TEST(KeyedFormTest, NothingIsReduced) {
  const auto form_with = [](const std::string& op) {
    return FormText(
        Parsed(absl::StrCat("h := out_view<int32>( y: (e,k) -> (e,k) ) o md_hom<100,7>( f, (", op,
                            ", ++) ) o inp_view<int32,int32>( x: (e,k) -> (e), b: (e,k) -> (k) ) "
                            "where f(x, b) -> y { y = x == b ? 1 : 0 }")));
  };
  EXPECT_EQ(form_with("++"), "no dimension is reduced");
  EXPECT_EQ(form_with("ps(+)"), "there are prefix sums");
}

}  // namespace
}  // namespace mdh::keyed_form_test
