// Configurations by name and as codes.
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "tests/error_message.h"
#include "tests/tuner/study/every_kind.h"
#include "tuner/study/study_spec.h"

namespace mdh::study_spec_configuration_test {
namespace {

std::vector<TuningParameter> Kinds() {
  v1::StudySpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kEveryKind, &spec));
  return ReadStudySpec(spec)->parameters;
}

TEST(NamedConfiguration, RoundTrip) {
  const std::vector<TuningParameter> parameters = Kinds();
  for (uint32_t i = 0; i < 24; ++i) {
    Configuration configuration;
    for (const TuningParameter& parameter : parameters) {
      configuration.push_back(parameter.range.CodeAt(i % parameter.range.size()));
    }
    const auto named = NamedFromConfiguration(configuration, parameters);
    const auto again = ConfigurationFromNamed(named, parameters);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, configuration);
    EXPECT_EQ(*WantedFromNamed(named, parameters), configuration);
  }
}

TEST(NamedConfiguration, LargeIntegersAreStrings) {
  const int64_t large = (int64_t{1} << 53) + 3;
  const std::vector<TuningParameter> parameters = {{"a", *Range::Interval(large - 10, large + 10)}};
  const auto named = NamedFromConfiguration({large}, parameters);
  EXPECT_EQ(named.values().fields().at("a").string_value(), "9007199254740995");
  EXPECT_EQ(*ConfigurationFromNamed(named, parameters), Configuration{large});
  const auto exact = NamedFromConfiguration({large - 3}, parameters);
  EXPECT_EQ(exact.values().fields().at("a").number_value(), 9007199254740992.0);
  EXPECT_EQ(*ConfigurationFromNamed(exact, parameters), Configuration{large - 3});
}

// The error for one value that is changed.
std::string ValueError(const std::string& name, const std::string& value) {
  const std::vector<TuningParameter> parameters = Kinds();
  Configuration configuration;
  for (const TuningParameter& parameter : parameters) {
    configuration.push_back(parameter.range.CodeAt(0));
  }
  auto named = NamedFromConfiguration(configuration, parameters);
  google::protobuf::Value changed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(value, &changed));
  (*named.mutable_values()->mutable_fields())[name] = changed;
  return ErrorMessage(ConfigurationFromNamed(named, parameters));
}

TEST(NamedConfiguration, Errors) {
  EXPECT_EQ(ValueError("n", "number_value: 1"),
            "parameter 'n': 1 is not in the range 0..10 step 2");
  EXPECT_EQ(ValueError("n", "number_value: 1.5"), "parameter 'n': 1.5 is no integer");
  EXPECT_EQ(ValueError("n", "number_value: inf"), "parameter 'n': inf is no integer");
  EXPECT_EQ(ValueError("n", "number_value: nan"), "parameter 'n': nan is no integer");
  EXPECT_EQ(ValueError("n", "number_value: 9007199254740994"),
            "parameter 'n': 9007199254740994 is beyond 2^53, where numbers in messages are not "
            "exact; use a string");
  EXPECT_EQ(ValueError("n", "string_value: \"4x\""),
            "parameter 'n': \"4x\" is no integer of 64 bits");
  EXPECT_EQ(ValueError("n", "string_value: \"4\""), "no error");
  EXPECT_EQ(ValueError("n", "bool_value: true"), "parameter 'n': true is no integer");
  EXPECT_EQ(ValueError("n", ""), "parameter 'n': null is no integer");
  EXPECT_EQ(ValueError("r", "number_value: 0.25"),
            "parameter 'r': 0.25 is not in the range {0.5, 2.0}");
  EXPECT_EQ(ValueError("r", "string_value: \"0.5\""), "parameter 'r': \"0.5\" is no number");
  EXPECT_EQ(ValueError("b", "number_value: 1"), "parameter 'b': 1 is no bool");
  EXPECT_EQ(ValueError("m", "string_value: \"fats\""),
            "parameter 'm': \"fats\" is not in the range {\"fast\", \"slow\"}");
  EXPECT_EQ(ValueError("m", "list_value { }"), "parameter 'm': a list is no string");
  EXPECT_EQ(ValueError("o", "string_value: \"ijk\""),
            "parameter 'o': \"ijk\" is no permutation, which is a list of strings");
  EXPECT_EQ(ValueError("o", "list_value { values { number_value: 1 } }"),
            "parameter 'o': 1 is no item of a permutation, which is a string");
  EXPECT_EQ(ValueError("o", "list_value { values { string_value: \"i\" } }"),
            R"(parameter 'o': ["i"] is not in the range permutations of i, j, k)");
  EXPECT_EQ(ValueError("nn", "number_value: 1"), "there is no parameter 'nn'; did you mean 'n'?");
  EXPECT_EQ(ErrorMessage(ConfigurationFromNamed({}, Kinds())), "parameter 'n': there is no value");
}

TEST(NamedConfiguration, WantedMayLeaveRanges) {
  v1::NamedConfiguration named;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(values {
      fields { key: "n" value { number_value: 77 } }
      fields { key: "p" value { number_value: 3 } }
      fields { key: "s" value { number_value: 2 } }
      fields { key: "r" value { number_value: 7.5 } }
      fields { key: "w" value { number_value: 2 } }
      fields { key: "b" value { bool_value: true } }
      fields { key: "m" value { string_value: "other" } }
      fields { key: "o" value { list_value { values { string_value: "x" } } } } })",
                                                            &named));
  const auto wanted = WantedFromNamed(named, Kinds());
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  EXPECT_EQ(*wanted, (Configuration{77, 3, 2, -1, 1, 1, -1, -1}));
  const std::vector<TuningParameter> always = {{"b", *Range::Of({Value(true)})}};
  v1::NamedConfiguration off;
  (*off.mutable_values()->mutable_fields())["b"].set_bool_value(false);
  EXPECT_EQ(*WantedFromNamed(off, always), Configuration{0});
  EXPECT_FALSE(ConfigurationFromNamed(off, always).ok());
  (*off.mutable_values()->mutable_fields())["b"].set_number_value(0);
  EXPECT_EQ(ErrorMessage(WantedFromNamed(off, always)), "parameter 'b': 0 is no bool");
}

}  // namespace
}  // namespace mdh::study_spec_configuration_test
