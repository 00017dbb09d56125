// Kernels that are compared with each other where there are only samples.
#include "tuner/measure/trial/witness.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/hand_written.h"

namespace mdh::witness_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 3'000'000;  // several pieces

// Of out[i] = i, known at a few elements.
class WitnessTest : public ::testing::Test {
 protected:
  WitnessTest() {
    std::vector<ReferenceSample> samples;
    for (const int64_t e : {0, 17, 2'999'999}) samples.push_back(At(e));
    references_ = {MakeSampledReference(AddExpression(kElements), 0, std::move(samples))};
    right_.resize(kElements);
    for (int64_t e = 0; e < kElements; ++e) right_[e] = static_cast<float>(e);
  }

  static ReferenceSample At(int64_t element) {
    return {element, 0, ScalarValue::Real(ScalarType::kFloat32, static_cast<double>(element))};
  }

  Measurement Judge(const std::vector<float>& got) {
    RunRecord record;
    record.phase = RunRecord::Phase::kDone;
    record.times_ns = {1};
    const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(got.data()),
                                           got.size() * sizeof(float));
    record.first = Snapshot{std::byte{0xa5}, {bytes}};
    record.data_offsets = {0};
    CandidateRun run;
    run.outputs = {{"out", ScalarType::kFloat32, static_cast<int64_t>(bytes.size())}};
    return witness_.Judge(
        record, run,
        [this](size_t, int64_t element) -> std::optional<ReferenceBuffer> {
          asked_.push_back(element);
          if (!knows_all_) return std::nullopt;
          return MakeSampledReference(AddExpression(kElements), 0, {At(element)});
        },
        references_);
  }

  Witness witness_;
  std::vector<ReferenceBuffer> references_;
  std::vector<float> right_;
  std::vector<int64_t> asked_;
  bool knows_all_ = true;
};

TEST_F(WitnessTest, WhatDiffersFromARightKernelIsWrong) {
  EXPECT_EQ(Judge(right_).outcome, TrialOutcome::kOk);
  EXPECT_EQ(Judge(right_).check, ResultCheck::kSamples);
  EXPECT_TRUE(asked_.empty());
  for (const int64_t e : {int64_t{1}, int64_t{1'500'000}, kElements - 2}) {
    std::vector<float> wrong = right_;
    wrong[e] += 100'000;
    const Measurement measured = Judge(wrong);
    EXPECT_EQ(measured.outcome, TrialOutcome::kWrongResult) << e;
    EXPECT_THAT(measured.reason, HasSubstr(absl::StrCat("out[", e, "]")));
    ASSERT_FALSE(asked_.empty());
    EXPECT_EQ(asked_.back(), e);
  }
  EXPECT_EQ(Judge(right_).outcome, TrialOutcome::kOk);
}

// Nobody knew it, until another kernel differed.
TEST_F(WitnessTest, AWrongKernelThatCameFirstIsFoundOut) {
  std::vector<float> wrong = right_;
  wrong[2'000'000] = 1;
  EXPECT_EQ(Judge(wrong).outcome, TrialOutcome::kOk);
  EXPECT_EQ(Judge(right_).outcome, TrialOutcome::kOk);
  EXPECT_EQ(Judge(wrong).outcome, TrialOutcome::kWrongResult);
  wrong = right_;
  wrong[5] = 1'000'000;
  EXPECT_EQ(Judge(wrong).outcome, TrialOutcome::kWrongResult);
  EXPECT_EQ(Judge(right_).outcome, TrialOutcome::kOk);
}

TEST_F(WitnessTest, WhatBothMayBeOffIsNoDifference) {
  EXPECT_EQ(Judge(right_).outcome, TrialOutcome::kOk);
  std::vector<float> off = right_;
  for (float& value : off) value *= 1 + 2e-7F;
  EXPECT_EQ(Judge(off).outcome, TrialOutcome::kOk);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(WitnessTest, WhereNobodyKnowsBothAreTaken) {
  knows_all_ = false;
  EXPECT_EQ(Judge(right_).outcome, TrialOutcome::kOk);
  std::vector<float> other = right_;
  other[100] = -1;
  EXPECT_EQ(Judge(other).outcome, TrialOutcome::kOk);
  EXPECT_THAT(asked_, ::testing::ElementsAre(100));
}

TEST_F(WitnessTest, NanIsADifference) {
  EXPECT_EQ(Judge(right_).outcome, TrialOutcome::kOk);
  std::vector<float> wrong = right_;
  wrong[77] = std::nanf("");
  EXPECT_EQ(Judge(wrong).outcome, TrialOutcome::kWrongResult);
}

}  // namespace
}  // namespace mdh::witness_test
