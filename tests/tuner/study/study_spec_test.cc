// Specifications of studies: what they define, defaults, limits, and an error for every field.
#include "tuner/study/study_spec.h"

#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/error_message.h"
#include "tests/tuner/study/every_kind.h"
#include "tuner/space/formula/formula_text.h"

namespace mdh::study_spec_test {
namespace {

v1::StudySpec Spec(const std::string& text) {
  v1::StudySpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

std::string Error(const v1::StudySpec& spec) { return ErrorMessage(ReadStudySpec(spec)); }
std::string Error(const std::string& text) { return Error(Spec(text)); }

const char* const kSaxpy = R"(
  display_name: "saxpy"
  parameters { name: "WPT" interval { first: 1 last: 1024 } }
  parameters { name: "LS" interval { first: 1 last: 1024 } }
  definitions { key: "N" value: "1024" }
  definitions { key: "GS" value: "N // WPT" }
  constraints: "N % WPT == 0"
  constraints: "GS % LS == 0"
)";

TEST(StudySpec, Saxpy) {
  const auto study = ReadStudySpec(Spec(kSaxpy));
  ASSERT_TRUE(study.ok()) << study.status();
  ASSERT_EQ(study->parameters.size(), 2);
  EXPECT_EQ(study->parameters[0].name, "WPT");
  EXPECT_EQ(study->parameters[1].range.ToText(), "1..1024");
  ASSERT_EQ(study->constraints.size(), 2);
  EXPECT_EQ(study->constraints[1].name, "GS % LS == 0");
  EXPECT_EQ(study->constraints[1].formula.ToText(), "1024 // WPT % LS == 0");
  EXPECT_EQ(study->definitions.at("GS").ToText(), "1024 // WPT");
  EXPECT_EQ(study->search.technique, "auc_bandit");
  EXPECT_EQ(study->search.seed, 1);
  EXPECT_EQ(study->search.lookahead, 4);
  EXPECT_TRUE(study->search.start.empty());
  EXPECT_FALSE(study->abort.has_value());
}

TEST(StudySpec, Restrictions) {
  const auto count_with = [](const std::string& restrictions) -> Result<std::string> {
    MDH_ASSIGN_OR_RETURN(const StudyDefinition study, ReadStudySpec(Spec(kSaxpy + restrictions)));
    MDH_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(study));
    return space.count().get_str();
  };
  EXPECT_EQ(*count_with(""), "66");
  const std::string few = R"(restrictions { parameter: "WPT" values: "2" values: "4" })";
  EXPECT_EQ(*count_with(few), "19");
  EXPECT_EQ(*count_with(few + R"(restrictions { parameter: "LS" values: "1" is_forbidden: true })"),
            "17");
  EXPECT_EQ(ErrorMessage(count_with(R"(restrictions { parameter: "wpt" values: "2" })")),
            "study.restrictions: no parameter is named 'wpt'; there are WPT, LS");
  EXPECT_EQ(ErrorMessage(count_with(R"(restrictions { parameter: "LS" values: "0" })")),
            "study.restrictions: parameter 'LS' has no value '0'; it has 1..1024");
  EXPECT_EQ(ErrorMessage(count_with(few + R"(restrictions { parameter: "LS" values: "1024" })")),
            "no configuration remains after restricting 'LS' to {1024}, as that contradicts 'WPT' "
            "to {2, 4}");
  v1::StudySpec many = Spec(kSaxpy);
  for (int n = 0; n <= 10'000; ++n) many.add_restrictions();
  EXPECT_EQ(Error(many),
            "study.restrictions: 10001 restrictions of 0 values are more than 10000 of 100000");
}

TEST(StudySpec, EveryKindOfRange) {
  const auto study = ReadStudySpec(Spec(kEveryKind));
  ASSERT_TRUE(study.ok()) << study.status();
  std::string text;
  for (const TuningParameter& parameter : study->parameters) {
    text += parameter.name + " " + std::string(Name(parameter.range.type())) + " " +
            parameter.range.ToText() + "\n";
  }
  EXPECT_EQ(text,
            "n integer 0..10 step 2\n"
            "p integer {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}\n"
            "s integer {8, 2}\n"
            "r real {0.5, 2.0}\n"
            "w real {1.0, 2.0}\n"
            "b bool {true, false}\n"
            "m string {\"fast\", \"slow\"}\n"
            "o permutation permutations of i, j, k\n");
}

TEST(StudySpec, GivenSearchAndAbort) {
  const auto study = ReadStudySpec(Spec(std::string(kSaxpy) + R"spec(
    technique: "random" seed: 7 lookahead: 9 abort: "evaluations(10) or duration(5s)"
    start { values { fields { key: "WPT" value { number_value: 5000 } }
                     fields { key: "LS" value { number_value: 3 } } } })spec"));
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(study->search.technique, "random");
  EXPECT_EQ(study->search.seed, 7);
  EXPECT_EQ(study->search.lookahead, 9);
  ASSERT_EQ(study->search.start.size(), 1);
  EXPECT_EQ(study->search.start[0], (Configuration{5000, 3}));
  ASSERT_TRUE(study->abort.has_value());
  EXPECT_EQ(study->abort->ToText(), "evaluations(10) or duration(5s)");
}

TEST(StudySpec, LowerBounds) {
  const auto study =
      ReadStudySpec(Spec(std::string(kSaxpy) + R"(lower_bound: "GS / LS + 0.5" gap: 0.125)"));
  ASSERT_TRUE(study.ok()) << study.status();
  ASSERT_NE(study->search.bound, nullptr);
  EXPECT_EQ(study->search.gap, 0.125);
  EXPECT_EQ(study->search.bound->OfOne({2, 4}), 128.5);
  EXPECT_EQ(ReadStudySpec(Spec(kSaxpy))->search.bound, nullptr);
  const auto error = [](const std::string& more) { return Error(kSaxpy + more); };
  EXPECT_EQ(error("lower_bound: \"GS +\""),
            "study.lower_bound: column 5: expected a value, but found the end");
  EXPECT_EQ(error("lower_bound: \"GSS\""),
            "study.lower_bound: there is no parameter or definition 'GSS'; did you mean 'GS'?");
  EXPECT_EQ(error("lower_bound: \"GS > 3\""),
            "study.lower_bound: is of type bool, but integer or real is expected");
  EXPECT_EQ(error("lower_bound: \"1\" gap: 1"), "study.gap: 1 is not at least 0 and less than 1");
  EXPECT_EQ(error("lower_bound: \"1\" gap: -0.5"),
            "study.gap: -0.5 is not at least 0 and less than 1");
  EXPECT_EQ(error("lower_bound: \"1\" gap: nan"),
            "study.gap: nan is not at least 0 and less than 1");
  EXPECT_EQ(error("gap: 0.5"), "study.gap: it is about a lower bound, but there is none");
  EXPECT_EQ(error(R"(parameters { name: "X" interval { last: 1048575 } } lower_bound: "X")"),
            "study.lower_bound: the parameters have 1050624 values together, but at most 1048576 "
            "may be bounded");
}

TEST(StudySpec, Defaults) {
  const v1::StudySpec spec = WithDefaults(Spec(kSaxpy));
  EXPECT_EQ(spec.technique(), "auc_bandit");
  EXPECT_EQ(spec.seed(), 1);
  EXPECT_EQ(spec.lookahead(), 4);
  EXPECT_EQ(spec.parameters(0).interval().step(), 1);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(WithDefaults(spec), spec));
}

TEST(StudySpec, ErrorsOfNames) {
  EXPECT_EQ(Error(""), "study.parameters: there are none");
  EXPECT_EQ(Error(R"(parameters { name: "1a" interval { } })"),
            "study.parameters[0].name: \"1a\" is no name; names are C identifiers of at most 128 "
            "characters that are no words of formulas");
  EXPECT_EQ(Error(R"(parameters { name: "a" interval { } } parameters { name: "a" interval { } })"),
            "study.parameters[1].name: the name 'a' is that of parameter 0, too");
  EXPECT_EQ(Error(R"(parameters { name: "N" interval { } } definitions { key: "N" value: "1" })"),
            "study.parameters[0].name: there is a definition of the name 'N', too");
  EXPECT_EQ(Error(R"(parameters { name: "a" })"),
            "study.parameters[0]: 'a' has no range; give an interval, a set or a permutation");
}

// The error of one parameter, without the beginning that all have.
std::string RangeError(const std::string& range) {
  const std::string message = Error("parameters { name: \"a\" " + range + " }");
  const std::string field = "study.parameters[0].";
  EXPECT_EQ(message.substr(0, field.size()), field) << message;
  return message.substr(std::min(message.size(), field.size()));
}

TEST(StudySpec, ErrorsOfIntervalsAndPermutations) {
  EXPECT_EQ(RangeError("interval { first: 2 last: 1 }"), "interval: the interval 2..1 is empty");
  EXPECT_EQ(RangeError("interval { last: 1 step: -1 }"),
            "interval: the step is -1, but must be positive");
  EXPECT_EQ(RangeError("interval { last: 4294967295 }"),
            "interval: the interval 0..4294967295 has more than 4294967295 values");
  EXPECT_EQ(RangeError("permutation { }"), "permutation: a permutation needs at least one item");
  EXPECT_EQ(RangeError(R"(permutation { items: "i" items: "i" })"),
            "permutation: the item \"i\" is given twice");
}

TEST(StudySpec, ErrorsOfSets) {
  EXPECT_EQ(RangeError("set { }"), "set: there are no values");
  EXPECT_EQ(RangeError("set { values { number_value: 1 } values { number_value: 1 } }"),
            "set: the value 1 is given twice");
  EXPECT_EQ(RangeError("set { values { null_value: NULL_VALUE } }"),
            "set: values are bools, numbers or strings, but the first is null");
  EXPECT_EQ(RangeError("set { values { list_value { } } }"),
            "set: values are bools, numbers or strings, but the first is a list");
  EXPECT_EQ(RangeError("set { values { number_value: 1 } values { string_value: \"2\" } }"),
            "set.values[1]: \"2\" is of another type than 1");
  EXPECT_EQ(RangeError("set { values { bool_value: true } values { struct_value { } } }"),
            "set.values[1]: an object is of another type than true");
  EXPECT_EQ(RangeError("set { real: true values { string_value: \"a\" } }"),
            "set: 'real' is for numbers, but not all values are");
  EXPECT_EQ(RangeError("set { values { number_value: 9007199254740994 } }"),
            "set.values[0]: 9007199254740994 is beyond 2^53, where numbers in messages are not "
            "exact; use an interval");
  EXPECT_EQ(RangeError("set { values { number_value: 1 } values { number_value: inf } }"),
            "set: the value inf is not finite");
  EXPECT_EQ(RangeError("set { values { number_value: nan } }"), "set: the value nan is not finite");
}

TEST(StudySpec, GeneratorsUseConstants) {
  const auto study = ReadStudySpec(Spec(R"(
    parameters { name: "a" interval { first: 1 last: 5 step: 2 generator: "a * STEP + 1" } }
    definitions { key: "STEP" value: "4 * UNIT" } definitions { key: "UNIT" value: "8" })"));
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(study->parameters[0].range.ToText(), "{33, 97, 161}");
}

TEST(StudySpec, ErrorsOfGenerators) {
  const auto error = [](const std::string& generator) {
    return RangeError("interval { first: 1 last: 9 generator: \"" + generator + "\" }");
  };
  EXPECT_EQ(error("a +"), "interval.generator: column 4: expected a value, but found the end");
  EXPECT_EQ(error("a // 2"), "interval.generator: the generator gives 1 for 2 and for 3");
  EXPECT_EQ(error("a / 2"),
            "interval.generator: is of type real, but values of an interval are integers");
  EXPECT_EQ(error("a == 2"),
            "interval.generator: is of type bool, but values of an interval are integers");
  EXPECT_EQ(error("a and a"),
            "interval.generator: in 'a and a': and takes conditions, but 'a' is of type integer");
  EXPECT_EQ(error("10 // (a - 3)"),
            "interval.generator: division by zero in '10 // (a - 3)' with a = 3");
  EXPECT_EQ(error("10 ** (a * 3)"), "interval.generator: overflow in '10 ** (a * 3)' with a = 7");
  EXPECT_EQ(error("b"),
            "interval.generator: there is no name 'b'; a generator may use 'a' and constants only");
  EXPECT_EQ(RangeError("interval { last: 1048576 generator: \"a\" }"),
            "interval.generator: the interval 0..1048576 has more than 1048576 values");
}

TEST(StudySpec, GeneratorsThatReferToParameters) {
  EXPECT_EQ(Error(R"(parameters { name: "a" interval { last: 4 generator: "a * b" } }
                     parameters { name: "b" interval { last: 4 } })"),
            "study.parameters[0].interval.generator: refers to the parameter 'b'; a generator may "
            "use 'a' and constants only");
  EXPECT_EQ(Error(R"(parameters { name: "a" interval { last: 4 generator: "a * b" } }
                     parameters { name: "b" interval { last: 4 generator: "c" } }
                     parameters { name: "c" interval { last: 4 generator: "S" } }
                     definitions { key: "S" value: "a + c" })"),
            "study.parameters[0].interval.generator: generators form a cycle: a -> b -> c -> a");
  EXPECT_EQ(Error(R"(parameters { name: "a" interval { last: 4 generator: "S" } }
                     parameters { name: "b" interval { last: 4 generator: "a" } }
                     definitions { key: "S" value: "a + 1" })"),
            "study.parameters[0].interval.generator: the definition 'S' depends on the parameter "
            "'a'; a generator may use 'a' and constants only");
}

TEST(StudySpec, ErrorsOfDefinitions) {
  const auto error = [](const std::string& definitions) {
    return Error("parameters { name: \"a\" interval { } } " + definitions);
  };
  EXPECT_EQ(error(R"(definitions { key: "S" value: "T" } definitions { key: "T" value: "S" })"),
            "study.definitions: definitions form a cycle: S -> T -> S");
  EXPECT_EQ(error(R"(definitions { key: "S" value: "1 +" })"),
            "study.definitions: in the definition of 'S': column 4: expected a value, but found "
            "the end");
  EXPECT_EQ(error(R"(definitions { key: "S" value: "b + 1" })"),
            "study.definitions['S']: there is no parameter or definition 'b'; did you mean 'a'?");
  EXPECT_EQ(error(R"(definitions { key: "in" value: "1" })"),
            "study.definitions: the name of a definition is a C identifier that is no word of "
            "formulas, but 'in' is given");
}

TEST(StudySpec, ErrorsOfConstraints) {
  const auto error = [](const std::string& constraint) {
    v1::StudySpec spec = Spec(kSaxpy);
    spec.add_constraints(constraint);
    return Error(spec);
  };
  EXPECT_EQ(error("WPT %"), "study.constraints[2]: column 6: expected a value, but found the end");
  EXPECT_EQ(error(""), "study.constraints[2]: column 1: expected a value, but found the end");
  EXPECT_EQ(error("WPT + 1"), "study.constraints[2]: is of type integer, but bool is expected");
  EXPECT_EQ(error("WTP == 1"),
            "study.constraints[2]: there is no parameter or definition 'WTP'; did you mean 'WPT'?");
  EXPECT_EQ(error("WPT == 'a'"),
            "study.constraints[2]: in 'WPT == \"a\"': 'WPT' is of type integer and '\"a\"' of type "
            "string, which do not compare");
}

TEST(StudySpec, LongConstraintsHaveNoName) {
  v1::StudySpec spec = Spec(kSaxpy);
  std::string text = "WPT >= 0";
  while (text.size() < 300) text += " and WPT >= 0";
  spec.add_constraints(text);
  const auto study = ReadStudySpec(spec);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(study->constraints.back().name, "");
  EXPECT_EQ(study->constraints.back().formula.ToText(), text);
}

TEST(StudySpec, Tables) {
  v1::StudySpec spec = Spec(R"(
    parameters { name: "a" set { values { number_value: 7 } values { number_value: 3 } } }
    parameters { name: "b" interval { first: 1 last: 5 } }
    tables { text: "a goes with b" parameters: "b" parameters: "a" })");
  // Bit b' * 2 + a': (1, 3), (3, 7), (5, 3).
  *spec.mutable_tables(0)->mutable_satisfied() = std::string("\x12\x02", 2);
  const auto study = ReadStudySpec(spec);
  ASSERT_TRUE(study.ok()) << study.status();
  ASSERT_EQ(study->constraints.size(), 1);
  std::string satisfied;
  for (const int64_t a : {7, 3}) {
    for (int64_t b = 1; b <= 5; ++b) {
      const auto holds =
          Evaluate(study->constraints[0].formula, study->parameters, Configuration{a, b});
      ASSERT_TRUE(holds.ok()) << holds.status();
      if (std::get<bool>(*holds)) satisfied += std::to_string(a) + "," + std::to_string(b) + " ";
    }
  }
  EXPECT_EQ(satisfied, "7,3 3,1 3,5 ");
  EXPECT_EQ(study->constraints[0].formula.ToText(), "a goes with b");
  spec.mutable_tables(0)->clear_text();
  EXPECT_EQ(ReadStudySpec(spec)->constraints[0].formula.ToText(), "table of b, a");
}

TEST(StudySpec, ErrorsOfTables) {
  const auto error = [](const std::string& table) {
    return Error(R"(parameters { name: "a" interval { last: 4095 } }
                    parameters { name: "b" interval { last: 4096 } } tables { )" +
                 table + " }");
  };
  EXPECT_EQ(error(""), "study.tables[0].parameters: there are none");
  EXPECT_EQ(error(R"(parameters: "a" parameters: "a")"),
            "study.tables[0].parameters[1]: 'a' is given twice");
  EXPECT_EQ(error(R"(parameters: "a" parameters: "c")"),
            "study.tables[0].parameters[1]: there is no parameter 'c'; did you mean 'a'?");
  EXPECT_EQ(error(R"(parameters: "a" parameters: "b")"),
            "study.tables[0].parameters: there are more than 16777216 tuples");
  EXPECT_EQ(error(R"(parameters: "b" satisfied: "1234")"),
            "study.tables[0].satisfied: 4097 tuples take 513 bytes, but 4 are given");
}

TEST(StudySpec, ErrorsOfSearch) {
  const auto error = [](const std::string& more) { return Error(kSaxpy + more); };
  EXPECT_EQ(error("technique: \"anealing\"").find("study.technique: "), 0);
  EXPECT_EQ(error("lookahead: -1"), "study.lookahead: -1 is not between 1 and 1024");
  EXPECT_EQ(error("lookahead: 1025"), "study.lookahead: 1025 is not between 1 and 1024");
  EXPECT_EQ(error("abort: \"evaluations\"").find("study.abort: "), 0)
      << error("abort: \"evaluations\"");
  EXPECT_EQ(error("start { values { fields { key: \"LS\" value { number_value: 3 } } } }"),
            "study.start[0]: parameter 'WPT': there is no value");
}

TEST(StudySpec, Limits) {
  v1::StudySpec spec = Spec(kSaxpy);
  spec.set_display_name(std::string(65, 'a'));
  EXPECT_EQ(Error(spec), "study.display_name: has 65 characters, but at most 64 are allowed");
  std::string accents;
  for (int i = 0; i < 64; ++i) accents += "é";
  spec.set_display_name(accents);
  EXPECT_TRUE(ReadStudySpec(spec).ok());

  spec = Spec(kSaxpy);
  for (int i = 0; i < kMaxStudyParameters; ++i) {
    spec.add_parameters()->set_name("p" + std::to_string(i));
  }
  EXPECT_EQ(Error(spec), "study.parameters: there are 1002, but at most 1000 are allowed");

  spec = Spec(kSaxpy);
  for (int i = 0; i < kMaxStudyDefinitions; ++i) {
    (*spec.mutable_definitions())["d" + std::to_string(i)] = "1";
  }
  EXPECT_EQ(Error(spec), "study.definitions: there are 10002, but at most 10000 are allowed");

  spec = Spec(kSaxpy);
  for (int i = 0; i < kMaxStudyConstraints; ++i) spec.add_tables();
  EXPECT_EQ(Error(spec),
            "study.constraints and study.tables: there are 10002, but at most 10000 are allowed");

  spec = Spec(kSaxpy);
  for (int i = 0; i <= kMaxStudyStarts; ++i) spec.add_start();
  EXPECT_EQ(Error(spec), "study.start: there are 1001, but at most 1000 are allowed");

  spec = Spec(kSaxpy);
  spec.add_constraints(std::string(kMaxStudyTextBytes, ' '));
  EXPECT_EQ(
      Error(spec),
      "study: definitions, constraints and generators have 1048615 bytes of text, but at most "
      "1048576 are allowed");

  spec = Spec("parameters { name: \"a\" set { } }");
  for (int64_t i = 0; i <= kMaxSetValues; ++i) {
    spec.mutable_parameters(0)->mutable_set()->add_values()->set_number_value(
        static_cast<double>(i));
  }
  EXPECT_EQ(Error(spec),
            "study.parameters[0].set: there are 1048577 values, but at most 1048576 are allowed");
}

TEST(StudySpec, TextThatGrowsInPlaceHasLimits) {
  v1::StudySpec spec = Spec(kSaxpy);
  (*spec.mutable_definitions())["d00"] = "WPT + 1";
  for (int i = 1; i < 17; ++i) {
    const auto name = [](int n) { return (n < 10 ? "d0" : "d") + std::to_string(n); };
    (*spec.mutable_definitions())[name(i)] = name(i - 1) + " * " + name(i - 1);
  }
  ASSERT_TRUE(ReadStudySpec(spec).ok()) << ReadStudySpec(spec).status();
  v1::StudySpec many = spec;
  for (int i = 0; i < 10; ++i) many.add_constraints("d16 > 0");
  EXPECT_EQ(Error(many),
            "study.constraints[5]: constraints up to here, with definitions written in place, have "
            "more than 1048576 operations and operands");
  for (int i = 0; i < 10; ++i) (*spec.mutable_definitions())["e" + std::to_string(i)] = "d15";
  EXPECT_EQ(Error(spec),
            "study.definitions: with those that they use written in place, they have more than "
            "1048576 operations and operands");
}

TEST(StudySpec, FurtherFormulas) {
  const auto study = ReadStudySpec(Spec(kSaxpy));
  ASSERT_TRUE(study.ok()) << study.status();
  const auto formula = ReadStudyFormula("ceil_div(GS, LS) * LS", *study, {ValueType::kInteger});
  ASSERT_TRUE(formula.ok()) << formula.status();
  EXPECT_EQ(formula->ToText(), "ceil_div(1024 // WPT, LS) * LS");
  EXPECT_EQ(
      ErrorMessage(ReadStudyFormula("GS / LS", *study, {ValueType::kInteger, ValueType::kBool})),
      "is of type real, but integer or bool is expected");
  EXPECT_EQ(ErrorMessage(ReadStudyFormula("GS /", *study, {ValueType::kInteger})),
            "column 5: expected a value, but found the end");
  EXPECT_EQ(ErrorMessage(ReadStudyFormula("GZ", *study, {ValueType::kInteger})),
            "there is no parameter or definition 'GZ'; did you mean 'GS'?");
}

}  // namespace
}  // namespace mdh::study_spec_test
