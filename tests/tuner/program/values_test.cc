// Templates, types of arguments, formulas over elements, texts of failures.
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tuner/program/argument_type.h"
#include "tuner/program/element_formula.h"
#include "tuner/program/evaluator.h"
#include "tuner/program/text_template.h"
#include "tuner/space/formula/formula_text.h"

namespace mdh::values_test {
namespace {

using ::testing::HasSubstr;

TEST(TextTemplate, FillsNames) {
  const auto text = TextTemplate::Parse("cc -DN={N} {{x} {N}{M}}", {"N", "M"});
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(text->Fill({{"N", "4"}, {"M", "a b"}}), "cc -DN=4 {x} 4a b}");
  EXPECT_TRUE(text->Uses("M"));
  EXPECT_FALSE(text->Uses("x"));
  EXPECT_TRUE(TextTemplate().empty());
}

// Folders have blanks and quotes; the shell reads them as they are, wherever they stand.
TEST(TextTemplate, PathsInCommandsAreOneWord) {
  const auto filled = [](const char* command, const std::string& path) {
    return TextTemplate::Parse(command, {"spec", "V"})
        ->FillForShell({{"spec", path}, {"V", "-O3 -g"}}, {"spec"});
  };
  EXPECT_EQ(filled("cc {V} {spec}/a.c", "/home/me"), "cc -O3 -g /home/me/a.c");
  EXPECT_EQ(filled("cc {V} {spec}/a.c", "/my files"), "cc -O3 -g '/my files'/a.c");
  for (const std::string path :
       {"/my files", "/it's", "/a\"b", "/$HOME", "/`x`", "/a\\b", "/;x&"}) {
    for (const char* command :
         {"printf %s {spec}", "printf %s \"{spec}\"", "printf %s '{spec}'",
          "printf %s ''{spec}\"\"", "printf %s \"$(printf %s {spec})\"",
          "printf %s \"$(printf %s \"{spec}\")\"", "printf %s \"\\\"{spec}\" | tail -c +2"}) {
      FILE* const pipe = popen(filled(command, path).c_str(), "r");
      char read[64] = {};
      const size_t size = fread(read, 1, sizeof read - 1, pipe);
      pclose(pipe);
      EXPECT_EQ(std::string(read, size), path) << filled(command, path);
    }
  }
}

TEST(TextTemplate, Errors) {
  EXPECT_THAT(ErrorMessage(TextTemplate::Parse("{N", {"N"})), HasSubstr("column 1 has no }"));
  EXPECT_THAT(ErrorMessage(TextTemplate::Parse("{}", {"N"})), HasSubstr("{} is no parameter"));
  EXPECT_THAT(ErrorMessage(TextTemplate::Parse("{size}", {"SIZE"})),
              HasSubstr("did you mean 'SIZE'?"));
}

TEST(PlainText, OfEveryType) {
  EXPECT_EQ(PlainText(true), "1");
  EXPECT_EQ(PlainText(false), "0");
  EXPECT_EQ(PlainText(int64_t{-3}), "-3");
  EXPECT_EQ(PlainText(0.5), "0.5");
  EXPECT_EQ(PlainText(std::string("a b")), "a b");
  EXPECT_EQ(PlainText(std::vector<std::string>{"i", "k"}), "i,k");
}

// What a number of `type` reads as after it was stored.
template <typename T>
std::string Stored(const T& number, const std::string& type_name) {
  const ArgumentType type = *ArgumentTypeNamed(type_name);
  std::byte bytes[8] = {};
  const Status status = StoreNumber(Value(number), type, bytes);
  if (!status.ok()) return std::string(status.message());
  if (IsReal(type)) return ToText(Value(LoadReal(type, bytes)));
  const std::optional<int64_t> integer = LoadInteger(type, bytes);
  return integer ? std::to_string(*integer) : "too large";
}

TEST(ArgumentType, HoldsWhatFits) {
  for (const char* type : {"int8", "int16", "int32", "int64"}) {
    EXPECT_EQ(Stored(int64_t{-128}, type), "-128") << type;
  }
  for (const char* type : {"uint8", "uint16", "uint32", "uint64"}) {
    EXPECT_EQ(Stored(int64_t{255}, type), "255") << type;
    EXPECT_EQ(Stored(int64_t{-1}, type), std::string("-1 is no ") + type);
  }
  EXPECT_EQ(Stored(int64_t{128}, "int8"), "128 is no int8");
  EXPECT_EQ(Stored(int64_t{65536}, "uint16"), "65536 is no uint16");
  EXPECT_EQ(Stored(int64_t{1} << 32, "uint32"), "4294967296 is no uint32");
  EXPECT_EQ(Stored(2.0, "int32"), "2");
  EXPECT_EQ(Stored(2.5, "int32"), "2.5 is no int32");
  EXPECT_EQ(Stored(1e300, "int64"), "1e+300 is no int64");
  EXPECT_EQ(Stored(0.5, "float32"), "0.5");
  EXPECT_EQ(Stored(int64_t{3}, "float64"), "3.0");
  EXPECT_EQ(Stored(std::string("x"), "float64"), "\"x\" is no number");
}

TEST(ArgumentType, LargeIntegersWithoutSign) {
  const uint64_t large = std::numeric_limits<uint64_t>::max();
  const auto* bytes = reinterpret_cast<const std::byte*>(&large);
  EXPECT_FALSE(LoadInteger(ArgumentType::kUint64, bytes));
  EXPECT_EQ(LoadReal(ArgumentType::kUint64, bytes), 0x1p64);
}

TEST(ArgumentType, NamesAreTheOnesThatAreParsed) {
  EXPECT_EQ(Name(*ArgumentTypeNamed("float32")), "float32");
  EXPECT_EQ(SizeBytes(*ArgumentTypeNamed("uint16")), 2);
  EXPECT_THAT(ErrorMessage(ArgumentTypeNamed("float")), HasSubstr("there is no type 'float'"));
}

// Of x and y, with a = 2.
std::string ElementAt(const std::string& formula, Number x, Number y = Number(int64_t{5})) {
  const ElementFormula elements(*ParseFormula(formula), {"x", "y"}, {{"a", Number(int64_t{2})}});
  const Result<Number> value = elements.At({x, y});
  if (!value.ok()) return std::string(value.status().message());
  return value->is_real ? ToText(Value(value->real)) : std::to_string(value->integer);
}

TEST(ElementFormula, IsThatOfFormulas) {
  EXPECT_EQ(ElementAt("a * x + y", Number(int64_t{3})), "11");
  EXPECT_EQ(ElementAt("a * x + y", Number(0.25)), "5.5");
  EXPECT_EQ(ElementAt("-x // a", Number(int64_t{3})), "-2");
  EXPECT_EQ(ElementAt("x / a", Number(int64_t{3})), "1.5");
  EXPECT_EQ(ElementAt("max(x, y, a) - min(x, y)", Number(int64_t{9})), "4");
  EXPECT_EQ(ElementAt("abs(x)", Number(-0.5)), "0.5");
  EXPECT_EQ(ElementAt("x if x > y and not x == 7 else a", Number(int64_t{7})), "2");
  EXPECT_EQ(ElementAt("x if x > y or x == 3 else a", Number(int64_t{3})), "3");
  EXPECT_EQ(ElementAt("1 if 2 <= x < y else 0", Number(int64_t{4})), "1");
  EXPECT_EQ(ElementAt("1 if x != y else 0", Number(5.0)), "0");
  EXPECT_EQ(ElementAt("1 if x >= y else 0", Number(5.0)), "1");
}

TEST(ElementFormula, EvaluatesNoMoreThanItNeeds) {
  EXPECT_EQ(ElementAt("0 if x == 0 else y // x", Number(int64_t{0})), "0");
  EXPECT_EQ(ElementAt("1 if x == 0 or y // x > 0 else 0", Number(int64_t{0})), "1");
}

TEST(ElementFormula, Errors) {
  EXPECT_EQ(ElementAt("y // x", Number(int64_t{0})), "division by zero");
  EXPECT_EQ(ElementAt("1 if y % x == 0 else 0", Number(int64_t{0})), "division by zero");
  EXPECT_EQ(ElementAt("x * x * x", Number(int64_t{1} << 40)), "overflow");
}

TEST(Failure, BeginsWithItsKindAndIsValidText) {
  const v1::EvaluateResponse failed =
      FailedEvaluation(FailureKind::kWrongResult, "a\xC3\xA4\xFF\xED\xA0\x80\xF0\x9F\x98\x80\xC3");
  EXPECT_EQ(failed.failure(), "wrong result: a\xC3\xA4????\xF0\x9F\x98\x80?");
  EXPECT_FALSE(failed.has_cost());
  EXPECT_TRUE(IsOf(FailureKind::kWrongResult, failed));
  EXPECT_FALSE(IsOf(FailureKind::kNoCost, failed));
}

TEST(Failure, OfCostsThatAreNotFinite) {
  EXPECT_EQ(Evaluated(std::nan("")).failure(), "no cost: it is not finite");
  EXPECT_EQ(Evaluated(INFINITY).failure(), "no cost: it is not finite");
  EXPECT_EQ(Evaluated(-1.5).cost(), -1.5);
}

TEST(Excerpt, IsWhatSaysMost) {
  EXPECT_EQ(Excerpt("a\n\nb\r\nfile.c:1: error: x\nc\nd\ne\nf\ng\n"),
            "file.c:1: error: x\nc\nd\ne\nf");
  EXPECT_EQ(Excerpt("1\n2\n3\n4\n5\n6\n7\n"), "3\n4\n5\n6\n7");
  EXPECT_EQ(Excerpt(""), "");
  EXPECT_EQ(Excerpt(std::string(5000, 'x')).size(), 803u);
}

}  // namespace
}  // namespace mdh::values_test
