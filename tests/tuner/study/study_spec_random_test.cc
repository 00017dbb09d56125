// Whatever a message says, reading it ends with a definition or an error that names the field.
#include <gtest/gtest.h>

#include <random>

#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "tests/tuner/study/every_kind.h"
#include "tuner/study/study_spec.h"

namespace mdh::study_spec_random_test {
namespace {

v1::StudySpec Seed() {
  v1::StudySpec spec;
  const std::string text = std::string(kEveryKind) + R"spec(
    definitions { key: "N" value: "64" }
    definitions { key: "S" value: "n * N" }
    constraints: "S % (p + 1) == 0 and (b or m == 'fast')"
    constraints: "position(o, 'i') < 2"
    tables { parameters: "b" parameters: "m" satisfied: "\006" }
    technique: "random" lookahead: 2 abort: "evaluations(10) or duration(5s)"
    start { values { fields { key: "n" value { number_value: 2 } } } })spec";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

TEST(StudySpecRandom, ChangedBytes) {
  // The reader of messages reports every text that is no UTF-8.
  const google::protobuf::LogSilencer silencer;
  const std::string seed = Seed().SerializeAsString();
  std::mt19937_64 rng(1);
  int parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = seed;
    const size_t changes = 1 + rng() % 3;
    for (size_t j = 0; j < changes; ++j) bytes[rng() % bytes.size()] = static_cast<char>(rng());
    v1::StudySpec spec;
    if (!spec.ParseFromString(bytes)) continue;
    ++parsed;
    const auto study = ReadStudySpec(spec);
    if (study.ok()) continue;
    ASSERT_TRUE(absl::IsInvalidArgument(study.status())) << study.status();
    ASSERT_EQ(study.status().message().substr(0, 5), "study") << study.status();
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace mdh::study_spec_random_test
