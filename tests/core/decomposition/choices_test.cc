// The table of code-level parameters: how they are spelled, where they can be had and what is
// offered.
#include "core/decomposition/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "tests/source_path.h"

namespace mdh::choices_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPlain[] = "model=CUDA; tile=1|1|1|1|1; order=0|0|0|0|0; inputs=in_place:0:-1";

Expression Sum() {
  return *ParseExpression(
      "sum := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<4,4096>( f, (++, +) ) o "
      "inp_view<fp32>( x: (i,k) -> (i,k) ) where f(a) -> s { s = a }");
}

Expression PrefixSums() {
  return *ParseExpression(
      "sums := out_view<fp32>( y: (i) -> (i) ) o md_hom<65536>( f, (ps(+)) ) o "
      "inp_view<fp32>( x: (i) -> (i) ) where f(a) -> s { s = a }");
}

std::string ParseError(const std::string& field) {
  return std::string(ParseTuningParameters(absl::StrCat(kPlain, "; ", field)).status().message());
}

// As versions before this table printed them: records, databases and bundles hold such texts.
TEST(ChoicesTest, TextsOfEarlierVersionsReadBackToTheLetter) {
  std::ifstream file(SourcePath("tests/core/decomposition/parameter_texts.txt"));
  int texts = 0;
  for (std::string text; std::getline(file, text); ++texts) {
    const Result<TuningParameters> parameters = ParseTuningParameters(text);
    ASSERT_TRUE(parameters.ok()) << parameters.status() << "\n" << text;
    EXPECT_EQ(ToText(*parameters), text);
  }
  EXPECT_GT(texts, 10);
}

// A value of every kind of row, other than the default.
ChoiceValue OtherValue(const Choice& choice) {
  if (choice.has_words()) return {choice.first_word + 1};
  if (!choice.has_several()) return {choice.get(TuningParameters())[0] + 1};
  const int64_t count = std::count(choice.form.begin(), choice.form.end(), choice.separator) + 1;
  ChoiceValue value;
  for (int64_t n = 0; n < count; ++n) value.push_back(n + 2);
  return value;
}

TEST(ChoicesTest, EveryRowIsPrintedAndReadBack) {
  std::set<std::string> keys;
  for (const Choice& choice : Choices()) {
    const std::string key(choice.key);
    EXPECT_TRUE(keys.insert(key).second) << key;
    EXPECT_EQ(&ChoiceOf(choice.key), &choice);
    EXPECT_NE(choice.lowerings, 0) << key;
    TuningParameters p = *ParseTuningParameters(kPlain);
    EXPECT_TRUE(choice.is_default(p)) << key;
    choice.set(OtherValue(choice), &p);
    EXPECT_FALSE(choice.is_default(p)) << key;
    EXPECT_EQ(choice.get(p), OtherValue(choice)) << key;
    EXPECT_EQ(*choice.Parse(choice.Text(OtherValue(choice))), OtherValue(choice)) << key;
    EXPECT_THAT(ToText(p), HasSubstr(absl::StrCat(key, "=", choice.Text(OtherValue(choice)))));
    EXPECT_EQ(*ParseTuningParameters(ToText(p)), p) << key;
    if (choice.get_of_blocks == nullptr) continue;
    BlockChoices blocks;
    choice.set_of_blocks(OtherValue(choice)[0], &blocks);
    EXPECT_EQ(blocks, static_cast<BlockChoices>(p)) << key;
    EXPECT_EQ(choice.get_of_blocks(blocks), OtherValue(choice)[0]) << key;
  }
}

TEST(ChoicesTest, UnknownValuesNameTheRowAndWhatThereIs) {
  for (const Choice& choice : Choices()) {
    const std::string error = ParseError(absl::StrCat(choice.key, "=quite_other"));
    EXPECT_THAT(error, HasSubstr(absl::StrCat("tuning parameters: ", std::string(choice.key))));
    for (size_t n = 0; n < choice.words.size() && !choice.words[n].empty(); ++n) {
      EXPECT_THAT(error, HasSubstr(absl::StrCat("'", choice.words[n], "'")));
    }
  }
  EXPECT_EQ(ParseError("stores=past"),
            "tuning parameters: stores is 'past', expected 'cached' or 'streaming'");
  EXPECT_EQ(ParseError("resident=3.5"),
            "tuning parameters: resident: '3.5' is no integer, expected one in 0..32");
  EXPECT_EQ(ParseError("threads=99999999999"),
            "tuning parameters: threads: '99999999999' is no integer, expected one in 0..");
  EXPECT_EQ(ParseError("scan=128:1:"), "tuning parameters: scan: '' is no integer");
  EXPECT_THAT(ParseError("block=1"), HasSubstr("unknown field 'block'; the fields are model, "));
}

// The default can be had by everyone; what is offered can be had.
TEST(ChoicesTest, DefaultsAndWhatIsOfferedHaveNoObstacles) {
  const DeviceDescription gpu = *DescribeCudaArchitecture(90);
  DeviceDescription cpu;
  for (const Expression& expression : {Sum(), PrefixSums()}) {
    for (const LoweringTarget lowering :
         {LoweringTarget::kRegisterTiles, LoweringTarget::kCacheLevels, LoweringTarget::kBlocks}) {
      const ChoiceTarget target = {expression, lowering == LoweringTarget::kBlocks ? gpu : cpu,
                                   lowering};
      for (const Choice& choice : Choices()) {
        TuningParameters p;
        EXPECT_EQ(choice.Obstacle(target, p), "") << choice.key;
        for (const auto numerics : {NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder}) {
          p.numerics = numerics;
          for (const ChoiceValue& value : choice.Offers(target, numerics)) {
            choice.set(value, &p);
            EXPECT_EQ(choice.Obstacle(target, p), "") << choice.key << "=" << choice.Text(value);
          }
        }
      }
    }
  }
}

TEST(ChoicesTest, OffersAreForTheLoweringTheDeviceAndTheExpression) {
  const Expression sum = Sum(), scan = PrefixSums();
  const DeviceDescription gpu = *DescribeCudaArchitecture(90);
  DeviceDescription opencl = gpu, cpu;
  opencl.kind = DeviceKind::kOpenCl;
  opencl.features = FeaturesOf(opencl);
  const auto offers = [](const char* key, const ChoiceTarget& target,
                         NumericsPolicy numerics = NumericsPolicy::kReassociate) {
    std::vector<std::string> texts;
    for (const ChoiceValue& value : ChoiceOf(key).Offers(target, numerics)) {
      texts.push_back(ChoiceOf(key).Text(value));
    }
    return texts;
  };
  const ChoiceTarget blocks = {sum, gpu, LoweringTarget::kBlocks},
                     tiles = {sum, cpu, LoweringTarget::kRegisterTiles};
  EXPECT_THAT(offers("early", blocks), ElementsAre("stages", "calls", "none"));
  EXPECT_THAT(offers("early", {sum, opencl, LoweringTarget::kBlocks}), ElementsAre("stages"));
  EXPECT_THAT(offers("early", tiles), IsEmpty());
  EXPECT_THAT(offers("combine", blocks), ElementsAre("partials", "atomics"));
  EXPECT_THAT(offers("combine", blocks, NumericsPolicy::kExactOrder), ElementsAre("partials"));
  EXPECT_THAT(offers("combine", {scan, gpu, LoweringTarget::kBlocks}), ElementsAre("partials"));
  EXPECT_THAT(offers("chains", tiles), ElementsAre("one", "independent"));
  EXPECT_THAT(offers("chains", tiles, NumericsPolicy::kExactOrder), ElementsAre("one"));
  EXPECT_THAT(offers("prefetch", {scan, cpu, LoweringTarget::kRegisterTiles}), ElementsAre("0"));
  EXPECT_THAT(offers("scan", blocks), IsEmpty());
  EXPECT_GT(offers("scan", {scan, gpu, LoweringTarget::kBlocks}).size(), 10u);
  EXPECT_THAT(offers("keyed", blocks), IsEmpty());
}

}  // namespace
}  // namespace mdh::choices_test
