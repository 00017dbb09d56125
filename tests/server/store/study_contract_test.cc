// What every store does with studies.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "tests/server/overwrite.h"
#include "tests/server/store/store_under_test.h"
#include "tests/server/study_specs.h"

namespace mdh::study_contract_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kNoLimit = int64_t{1} << 40;

v1::Study NewStudy(const std::string& request_id = "") {
  v1::Study study;
  *study.mutable_spec() = ProductSpec("evaluations(5)");
  study.set_state(v1::STUDY_STATE_ACTIVE);
  study.set_space_count("144");
  study.set_request_id(request_id);
  return study;
}

JournalTrial Leased(int64_t number) {
  JournalTrial trial;
  trial.asked_ns = 10 * number;
  trial.trial.set_number(number);
  trial.trial.mutable_lease_expire_time()->set_seconds(number);
  return trial;
}

JournalTrial Told(int64_t number, int64_t order) {
  JournalTrial trial;
  trial.asked_ns = 10 * number;
  trial.told_ns = 100 * number;
  trial.order = order;
  trial.trial.set_number(number);
  trial.trial.set_cost(static_cast<double>(number));
  return trial;
}

class StudyContract : public StoreContract {
 protected:
  int64_t Insert(const std::string& request_id = "") {
    const Result<int64_t> number = studies_->InsertStudy(NewStudy(request_id));
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(0);
  }
  std::vector<int64_t> ToldNumbers(int64_t study, int64_t after, int limit,
                                   int64_t max_bytes = kNoLimit) {
    std::vector<int64_t> numbers;
    const Result<std::vector<v1::StudyTrial>> trials =
        studies_->ToldTrials(study, after, limit, max_bytes);
    for (const v1::StudyTrial& trial : *trials) numbers.push_back(trial.number());
    return numbers;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, StudyContract, ::testing::ValuesIn(Engines()), EngineName);

TEST_P(StudyContract, WhatWasStoredIsThereAfterARestart) {
  EXPECT_EQ(Insert("r"), 1);
  v1::Study study = NewStudy("r");
  study.set_state(v1::STUDY_STATE_FINISHED);
  study.set_evaluations(2);
  ASSERT_TRUE(WriteTrials(*studies_, 1, study, {Leased(1), Leased(2), Leased(3)}).ok());
  ASSERT_TRUE(WriteTrials(*studies_, 1, study, {Told(3, 1), Told(1, 2)}).ok());
  Open();
  study.set_name("studies/1");
  EXPECT_EQ(studies_->GetStudy(1)->study.DebugString(), study.DebugString());
  EXPECT_EQ((*studies_->FindStudyByRequest("r"))->DebugString(), study.DebugString());
  const Result<std::vector<JournalTrial>> trials = ReadTrials(*studies_, 1);
  ASSERT_THAT(*trials, SizeIs(3));
  EXPECT_EQ(trials->at(0).trial.DebugString(), Told(1, 2).trial.DebugString());
  EXPECT_EQ(trials->at(0).asked_ns, 10);
  EXPECT_EQ(trials->at(0).told_ns, 100);
  EXPECT_EQ(trials->at(0).order, 2);
  EXPECT_EQ(trials->at(1).trial.lease_expire_time().seconds(), 2);
  EXPECT_EQ(trials->at(1).order, 0);
  EXPECT_EQ(trials->at(2).order, 1);
  EXPECT_EQ(ToldNumbers(1, 0, 10), std::vector<int64_t>({1, 3}));
}

TEST_P(StudyContract, ListsTheNewestFirstAndInBrief) {
  for (int number = 1; number <= 4; ++number) EXPECT_EQ(Insert(), number);
  const Result<std::vector<v1::Study>> studies = studies_->ListStudies(4, 2, kNoLimit);
  ASSERT_THAT(*studies, SizeIs(2));
  EXPECT_EQ(studies->at(0).name(), "studies/3");
  EXPECT_EQ(studies->at(1).name(), "studies/2");
  EXPECT_EQ(studies->at(0).spec().display_name(), "product");
  EXPECT_EQ(studies->at(0).spec().abort(), "evaluations(5)");
  EXPECT_THAT(studies->at(0).spec().parameters(), IsEmpty());
  EXPECT_THAT(*studies_->ListStudies(0, 10, kNoLimit), SizeIs(4));
  EXPECT_THAT(*studies_->ListStudies(0, 10, 1), SizeIs(1));
  EXPECT_THAT(*studies_->ListStudies(1, 10, kNoLimit), IsEmpty());
}

TEST_P(StudyContract, TrialsComeInPages) {
  const int64_t study = Insert();
  std::vector<JournalTrial> trials;
  for (int number = 1; number <= 9; ++number) trials.push_back(Told(number, 10 - number));
  trials[3] = Leased(4);
  ASSERT_TRUE(WriteTrials(*studies_, study, NewStudy(), trials).ok());
  EXPECT_EQ(ToldNumbers(study, 0, 4), std::vector<int64_t>({1, 2, 3, 5}));
  EXPECT_EQ(ToldNumbers(study, 5, 4), std::vector<int64_t>({6, 7, 8, 9}));
  EXPECT_EQ(ToldNumbers(study, 5, 4, 1), std::vector<int64_t>({6}));
  EXPECT_THAT(ToldNumbers(study, 9, 4), IsEmpty());
}

TEST_P(StudyContract, ARequestIdBelongsToOneStudy) {
  EXPECT_EQ(Insert("r"), 1);
  EXPECT_EQ(studies_->InsertStudy(NewStudy("r")).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Insert(), 2) << "what was refused has left nothing behind";
  EXPECT_FALSE(studies_->FindStudyByRequest("s")->has_value());
}

TEST_P(StudyContract, CountsThoseThatAreActive) {
  Insert();
  Insert();
  v1::Study study = NewStudy();
  study.set_state(v1::STUDY_STATE_CANCELLED);
  ASSERT_TRUE(WriteTrials(*studies_, 1, study, {}).ok());
  EXPECT_EQ(*studies_->CountActiveStudies(), 1);
}

TEST_P(StudyContract, DeletionTakesTheTrialsToo) {
  Insert("r");
  ASSERT_TRUE(WriteTrials(*studies_, 1, NewStudy("r"), {Told(1, 1)}).ok());
  ASSERT_TRUE(studies_->DeleteStudy(1).ok());
  EXPECT_EQ(ReadTrials(*studies_, 1).status(), absl::NotFoundError("there is no study 1"));
  EXPECT_FALSE(studies_->FindStudyByRequest("r")->has_value());
  EXPECT_EQ(Insert("r"), 2) << "names are not used again";
}

TEST_P(StudyContract, MissingStudiesAreNotFound) {
  EXPECT_EQ(studies_->GetStudy(7).status(), absl::NotFoundError("there is no study 7"));
  EXPECT_EQ(studies_->DeleteStudy(7), absl::NotFoundError("there is no study 7"));
  EXPECT_EQ(studies_->PutTrials(7, 1, NewStudy(), {Told(1, 1)}).status(),
            absl::NotFoundError("there is no study 7"));
  EXPECT_EQ(studies_->AllTrials(7, 1).status(), absl::NotFoundError("there is no study 7"));
}

TEST_P(StudyContract, OfTwoWritersOneReadsAgain) {
  Insert();
  EXPECT_EQ(studies_->GetStudy(1)->version, 1);
  EXPECT_EQ(*studies_->PutTrials(1, 1, NewStudy(), {Told(1, 1)}), 2);
  v1::Study late = NewStudy();
  late.set_evaluations(7);
  EXPECT_EQ(studies_->PutTrials(1, 1, late, {Told(1, 5)}).status().code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(studies_->AllTrials(1, 1).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(studies_->GetStudy(1)->study.evaluations(), 0);
  EXPECT_EQ(studies_->AllTrials(1, 2)->front().order, 1);
  Open();
  EXPECT_EQ(studies_->GetStudy(1)->version, 2);
  EXPECT_EQ(*studies_->PutTrials(1, 2, late, {}), 3);
}
}  // namespace
}  // namespace mdh::study_contract_test
