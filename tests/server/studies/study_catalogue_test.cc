#include "server/studies/study_catalogue.h"

#include <map>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/error_message.h"
#include "tests/server/overwrite.h"
#include "tests/server/study_specs.h"
#include "tests/server/temporary_directory.h"

namespace mdh::study_catalogue_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLease = absl::Minutes(10);

// Refuses to write while `status` is an error.
class FaultyStore : public StudyStore {
 public:
  explicit FaultyStore(StudyStore& store) : store_(store) {}
  Status status;

  Result<int64_t> InsertStudy(const v1::Study& study) override {
    MDH_RETURN_IF_ERROR(status);
    return store_.InsertStudy(study);
  }
  Result<StoredStudy> GetStudy(int64_t number) override { return store_.GetStudy(number); }
  Result<std::optional<v1::Study>> FindStudyByRequest(std::string_view request_id) override {
    return store_.FindStudyByRequest(request_id);
  }
  Result<std::vector<v1::Study>> ListStudies(int64_t before, int limit,
                                             int64_t max_bytes) override {
    return store_.ListStudies(before, limit, max_bytes);
  }
  Result<int64_t> CountActiveStudies() override { return store_.CountActiveStudies(); }
  Result<StudyTotals> Totals() override { return store_.Totals(); }
  Status DeleteStudy(int64_t number) override {
    MDH_RETURN_IF_ERROR(status);
    return store_.DeleteStudy(number);
  }
  Result<int64_t> PutTrials(int64_t number, int64_t version, const v1::Study& study,
                            absl::Span<const JournalTrial> trials) override {
    MDH_RETURN_IF_ERROR(status);
    return store_.PutTrials(number, version, study, trials);
  }
  Result<std::vector<JournalTrial>> AllTrials(int64_t number, int64_t version) override {
    return store_.AllTrials(number, version);
  }
  Result<std::vector<v1::StudyTrial>> ToldTrials(int64_t number, int64_t after, int limit,
                                                 int64_t max_bytes) override {
    return store_.ToldTrials(number, after, limit, max_bytes);
  }

 private:
  StudyStore& store_;
};

class StudyCatalogueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenSqliteStore({.path = path_});
    studies_ = *store_->OpenStudies();
    faulty_ = std::make_unique<FaultyStore>(*studies_);
    options_.now = [this] {
      absl::MutexLock lock(&clock_);
      return now_;
    };
    Restart();
  }
  // As a daemon that was killed and started again.
  void Restart() { catalogue_ = std::make_unique<StudyCatalogue>(*faulty_, options_); }
  void Wait(absl::Duration duration) {
    absl::MutexLock lock(&clock_);
    now_ += duration;
  }

  int64_t Create(const v1::StudySpec& spec = ProductSpec(), const std::string& request_id = "") {
    const Result<v1::Study> study = catalogue_->Create(spec, request_id);
    EXPECT_TRUE(study.ok()) << study.status();
    return study.ok() ? *ParseStudyName(study->name()) : 0;
  }
  std::vector<v1::StudyTrial> Ask(int64_t number, int count = 1, absl::Duration lease = kLease) {
    const Result<v1::AskTrialsResponse> response = catalogue_->Ask(number, count, lease);
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return {};
    return {response->trials().begin(), response->trials().end()};
  }
  Result<v1::Study> Tell(int64_t number, const std::vector<v1::StudyTrial>& outcomes) {
    v1::TellTrialsRequest request;
    for (const v1::StudyTrial& outcome : outcomes) *request.add_trials() = outcome;
    return catalogue_->Tell(number, request);
  }
  void TellCost(int64_t number, const v1::StudyTrial& trial) {
    const Result<v1::Study> study = Tell(number, {Outcome(trial)});
    EXPECT_TRUE(study.ok()) << study.status();
  }
  // Asks and tells until nothing is given out any more.
  void Finish(int64_t number) {
    while (true) {
      const std::vector<v1::StudyTrial> given = Ask(number);
      if (given.empty()) return;
      Wait(absl::Seconds(1));
      TellCost(number, given[0]);
    }
  }
  std::vector<std::string> Trace(int64_t number) {
    std::vector<std::string> trace;
    const Result<std::vector<v1::StudyTrial>> trials =
        studies_->ToldTrials(number, 0, 1'000, 1 << 30);
    for (const v1::StudyTrial& trial : *trials) trace.push_back(trial.DebugString());
    return trace;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
  absl::Mutex clock_;
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  StudyCatalogueOptions options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StudyStore> studies_;
  std::unique_ptr<FaultyStore> faulty_;
  std::unique_ptr<StudyCatalogue> catalogue_;
};

TEST_F(StudyCatalogueTest, SearchesUntilTheSpaceIsUsedUp) {
  const int64_t number = Create();
  Finish(number);
  const Result<v1::Study> study = studies_->GetStudy(number)->study;
  EXPECT_EQ(study->state(), v1::STUDY_STATE_FINISHED);
  EXPECT_EQ(study->state_reason(), "every configuration was evaluated");
  EXPECT_EQ(study->space_count(), std::to_string(study->evaluations()));
  EXPECT_LT(study->valid_evaluations(), study->evaluations());
  EXPECT_EQ(study->outstanding(), 0);
  EXPECT_EQ(study->best().cost(), 0.5);
  EXPECT_EQ(study->best().configuration().values().fields().at("a").number_value(), 3);
  EXPECT_EQ(study->best().configuration().values().fields().at("mode").string_value(), "fast");
  EXPECT_EQ(study->active_ns(), study->evaluations() * 1'000'000'000);
  EXPECT_EQ(study->spec().parameters_size(), 3);
  EXPECT_EQ(study->spec().technique(), "auc_bandit") << "defaults are filled in";
  EXPECT_EQ(study->update_time().seconds(), 1'000'000 + study->evaluations());
  EXPECT_EQ(study->create_time().seconds(), 1'000'000);
}

TEST_F(StudyCatalogueTest, LowerBoundsLeaveOut) {
  v1::StudySpec spec = ProductSpec();
  spec.set_lower_bound("(a - 3) ** 2 + (b - 7) ** 2");
  const int64_t number = Create(spec);
  TellCost(number, Ask(number)[0]);
  Restart();
  Finish(number);
  const Result<StoredStudy> stored = studies_->GetStudy(number);
  ASSERT_TRUE(stored.ok()) << stored.status();
  const v1::Study& study = stored->study;
  EXPECT_EQ(study.state_reason(),
            "no configuration is better than the best, as the lower bound shows");
  EXPECT_GT(study.left_out(), 0);
  EXPECT_LT(study.evaluations(), 100);
  EXPECT_EQ(study.best().cost(), 0.5);
  EXPECT_EQ(study.lower_bound_violation(), "");
}

TEST_F(StudyCatalogueTest, LowerBoundsThatAreWrongAreNamed) {
  v1::StudySpec spec = ProductSpec();
  spec.set_lower_bound("1000");
  const int64_t number = Create(spec);
  Finish(number);
  const Result<StoredStudy> stored = studies_->GetStudy(number);
  ASSERT_TRUE(stored.ok()) << stored.status();
  const v1::Study& study = stored->study;
  EXPECT_EQ(study.evaluations(), 144);
  EXPECT_EQ(study.left_out(), 0);
  EXPECT_THAT(study.lower_bound_violation(), HasSubstr("less than its lower bound of 1000, so "));
}

TEST_F(StudyCatalogueTest, GoesOnAfterARestartAtAnyPoint) {
  const int64_t alone = Create(ProductSpec("evaluations(25)"));
  Finish(alone);
  for (int restart = 0; restart <= 25; restart += 3) {
    const int64_t number = Create(ProductSpec("evaluations(25)"));
    for (int n = 0; n < restart; ++n) TellCost(number, Ask(number)[0]);
    const std::vector<v1::StudyTrial> lost = Ask(number, 2);
    Restart();
    Wait(kLease);
    Finish(number);
    EXPECT_EQ(Trace(number), Trace(alone)) << restart;
  }
}

TEST_F(StudyCatalogueTest, LeasesSurviveARestart) {
  const int64_t number = Create();
  const std::vector<v1::StudyTrial> given = Ask(number, 4);
  ASSERT_THAT(given, SizeIs(4));
  EXPECT_EQ(given[0].lease_expire_time().seconds(), 1'000'600);
  Restart();
  EXPECT_THAT(Ask(number, 4), IsEmpty()) << "all are with the client that asked first";
  TellCost(number, given[2]);
  Wait(kLease);
  const std::vector<v1::StudyTrial> again = Ask(number, 4);
  ASSERT_THAT(again, SizeIs(3));
  EXPECT_EQ(again[0].number(), given[0].number());
  EXPECT_EQ(again[0].configuration().DebugString(), given[0].configuration().DebugString());
  EXPECT_EQ(again[2].number(), given[3].number());
}

TEST_F(StudyCatalogueTest, StudiesLeaveMemoryAndComeBack) {
  options_.max_loaded = 3;
  Restart();
  std::vector<int64_t> numbers;
  for (int i = 0; i < 8; ++i) numbers.push_back(Create(ProductSpec("evaluations(12)")));
  EXPECT_EQ(catalogue_->loaded(), 3);
  for (int round = 0; round < 12; ++round) {
    for (const int64_t number : numbers) TellCost(number, Ask(number)[0]);
  }
  EXPECT_LE(catalogue_->loaded(), 3);
  for (const int64_t number : numbers) EXPECT_EQ(Trace(number), Trace(numbers[0]));
}

TEST_F(StudyCatalogueTest, TheirBytesAreBoundedToo) {
  options_.max_loaded_bytes = 1;
  Restart();
  const int64_t number = Create();
  EXPECT_EQ(catalogue_->loaded(), 0);
  EXPECT_THAT(Ask(number), SizeIs(1));
  EXPECT_EQ(catalogue_->loaded(), 0);
}

TEST_F(StudyCatalogueTest, AClientThatNeverTellsLeavesNothingInMemory) {
  const int64_t number = Create();
  Ask(number, 2);
  Wait(kLease - absl::Seconds(1));
  catalogue_->DropIdle();
  EXPECT_EQ(catalogue_->loaded(), 1);
  Wait(absl::Seconds(1));
  catalogue_->DropIdle();
  EXPECT_EQ(catalogue_->loaded(), 0);
  EXPECT_THAT(Ask(number, 2), SizeIs(2)) << "another client gets what the first did not evaluate";
}

TEST_F(StudyCatalogueTest, StudiesThatEndedNeedNoMemory) {
  const int64_t number = Create(ProductSpec("evaluations(3)"));
  Finish(number);
  Restart();
  const Result<v1::AskTrialsResponse> response = catalogue_->Ask(number, 1, kLease);
  EXPECT_EQ(response->state(), v1::STUDY_STATE_FINISHED);
  EXPECT_THAT(response->trials(), IsEmpty());
  EXPECT_EQ(catalogue_->Cancel(number)->state(), v1::STUDY_STATE_FINISHED);
  EXPECT_EQ(catalogue_->loaded(), 0);
}

TEST_F(StudyCatalogueTest, WhatCannotBeStoredHasNotHappened) {
  const int64_t number = Create();
  const std::vector<v1::StudyTrial> given = Ask(number, 2);
  faulty_->status = absl::ResourceExhaustedError("the disk is full");
  EXPECT_EQ(catalogue_->Ask(number, 1, kLease).status(), faulty_->status);
  EXPECT_EQ(Tell(number, {Outcome(given[0])}).status(), faulty_->status);
  EXPECT_EQ(catalogue_->Cancel(number).status(), faulty_->status);
  EXPECT_EQ(catalogue_->Delete(number), faulty_->status);
  EXPECT_EQ(catalogue_->Create(ProductSpec(), "").status(), faulty_->status);
  faulty_->status = absl::OkStatus();
  EXPECT_EQ(studies_->GetStudy(number)->study.evaluations(), 0);
  const std::vector<v1::StudyTrial> next = Ask(number);
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_EQ(next[0].number(), 3) << "the number that was not acknowledged";
  TellCost(number, given[0]);
  EXPECT_EQ(studies_->GetStudy(number)->study.evaluations(), 1);
}

TEST_F(StudyCatalogueTest, ManyClientsGetEachConfigurationOnce) {
  options_.max_loaded = 1;
  Restart();
  const int64_t numbers[] = {Create(), Create()};
  std::vector<std::thread> clients;
  for (int client = 0; client < 6; ++client) {
    clients.emplace_back([this, number = numbers[client % 2]] {
      while (true) {
        const Result<v1::AskTrialsResponse> response = catalogue_->Ask(number, 2, kLease);
        if (!response.ok() || response->state() != v1::STUDY_STATE_ACTIVE) break;
        for (const v1::StudyTrial& trial : response->trials()) TellCost(number, trial);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(studies_->GetStudy(numbers[0])->study.state(), v1::STUDY_STATE_FINISHED);
  EXPECT_EQ(Trace(numbers[0]), Trace(numbers[1]));
  EXPECT_EQ(std::to_string(Trace(numbers[0]).size()),
            studies_->GetStudy(numbers[0])->study.space_count());
}

TEST_F(StudyCatalogueTest, ARequestIdGivesTheSameStudy) {
  const int64_t number = Create(ProductSpec(), "mine");
  v1::StudySpec same = ProductSpec();
  same.set_technique("auc_bandit");  // the default, in words
  EXPECT_EQ(Create(same, "mine"), number);
  EXPECT_EQ(catalogue_->Create(ProductSpec("evaluations(1)"), "mine").status(),
            absl::InvalidArgumentError(
                "request_id 'mine' was used for another specification, by studies/1"));
  EXPECT_NE(Create(ProductSpec(), "yours"), number);
}

TEST_F(StudyCatalogueTest, BoundsTheNumberOfActiveStudies) {
  options_.max_active = 2;
  Restart();
  const int64_t first = Create();
  Create();
  const Status refusal = catalogue_->Create(ProductSpec(), "").status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ErrorMessage(refusal), HasSubstr("2 active studies"));
  ASSERT_TRUE(catalogue_->Cancel(first).ok());
  Create();
}

TEST_F(StudyCatalogueTest, BoundsTheNumberOfStoredStudies) {
  options_.max_stored = 2;
  Restart();
  const int64_t first = Create();
  ASSERT_TRUE(catalogue_->Cancel(Create()).ok());
  const Status refusal = catalogue_->Create(ProductSpec(), "").status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ErrorMessage(refusal), HasSubstr("2 may be stored"));
  const auto quota = DetailOf<google::rpc::QuotaFailure>(refusal);
  ASSERT_TRUE(quota.has_value());
  EXPECT_EQ(quota->violations(0).subject(), "studies");
  ASSERT_TRUE(catalogue_->Delete(first).ok());
  Create();
}

TEST_F(StudyCatalogueTest, BoundsTheBytesOfStoredStudies) {
  const int64_t number = Create();
  const int64_t before = studies_->Totals()->bytes;
  options_.max_stored_bytes = before + 1;
  Restart();
  const v1::StudyTrial asked = Ask(number)[0];
  const Status refusal = catalogue_->Ask(number, 1, kLease).status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(DetailOf<google::rpc::QuotaFailure>(refusal).has_value());
  EXPECT_EQ(catalogue_->Create(ProductSpec(), "").status().code(),
            absl::StatusCode::kResourceExhausted);
  // What is measured already is not lost.
  TellCost(number, asked);
  EXPECT_GT(studies_->Totals()->bytes, before);
  ASSERT_TRUE(catalogue_->Delete(number).ok());
  EXPECT_EQ(studies_->Totals()->bytes, 0);
  EXPECT_EQ(studies_->Totals()->studies, 0);
  Create();
}

TEST_F(StudyCatalogueTest, BoundsTheSizeOfSpecifications) {
  options_.max_spec_bytes = 20;
  Restart();
  EXPECT_THAT(ErrorMessage(catalogue_->Check(ProductSpec())), HasSubstr("more than 20"));
}

// Whoever was overtaken goes on from what the other process wrote.
TEST_F(StudyCatalogueTest, ProcessesThatShareAStoreGiveEachConfigurationOnce) {
  options_.is_shared = true;
  Restart();
  const int64_t number = Create();
  StudyCatalogue other(*studies_, options_);
  const std::vector<v1::StudyTrial> first = Ask(number);
  const v1::StudyTrial second = other.Ask(number, 1, kLease)->trials(0);
  EXPECT_EQ(second.number(), 2);
  // Each may tell what the other has given out.
  TellCost(number, second);
  v1::TellTrialsRequest request;
  *request.add_trials() = Outcome(first[0]);
  EXPECT_EQ(other.Tell(number, request)->evaluations(), 2);
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&, &catalogue = client % 2 == 0 ? *catalogue_ : other] {
      while (true) {
        const Result<v1::AskTrialsResponse> response = catalogue.Ask(number, 1, kLease);
        if (absl::IsAborted(response.status())) continue;
        ASSERT_TRUE(response.ok()) << response.status();
        if (response->state() != v1::STUDY_STATE_ACTIVE) break;
        v1::TellTrialsRequest outcomes;
        for (const v1::StudyTrial& trial : response->trials()) {
          *outcomes.add_trials() = Outcome(trial);
        }
        if (outcomes.trials().empty()) continue;
        Status told = absl::AbortedError("");
        while (absl::IsAborted(told)) told = catalogue.Tell(number, outcomes).status();
        EXPECT_TRUE(told.ok()) << told;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const v1::Study study = studies_->GetStudy(number)->study;
  EXPECT_EQ(study.state(), v1::STUDY_STATE_FINISHED);
  EXPECT_EQ(std::to_string(Trace(number).size()), study.space_count());
  ASSERT_TRUE(catalogue_->Delete(number).ok());
  EXPECT_EQ(other.Ask(number, 1, kLease).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StudyCatalogueTest, StudiesOfAnotherVersionCanBeReadAndEndedOnly) {
  const int64_t number = Create();
  for (int n = 0; n < 3; ++n) TellCost(number, Ask(number)[0]);
  std::vector<JournalTrial> trials = *ReadTrials(*studies_, number);
  trials[1].trial.mutable_configuration()->CopyFrom(trials[0].trial.configuration());
  ASSERT_TRUE(WriteTrials(*studies_, number, studies_->GetStudy(number)->study, trials).ok());
  Restart();
  const Status refusal = catalogue_->Ask(number, 1, kLease).status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ErrorMessage(refusal), HasSubstr("studies/1 cannot go on"));
  EXPECT_EQ(Tell(number, {Outcome(trials[0].trial)}).status(), refusal);
  EXPECT_EQ(catalogue_->Cancel(number)->state(), v1::STUDY_STATE_CANCELLED);
  EXPECT_THAT(ErrorMessage(catalogue_->Delete(number)), "no error");
}

TEST_F(StudyCatalogueTest, DeletedStudiesAreGone) {
  const int64_t number = Create();
  const std::vector<v1::StudyTrial> given = Ask(number);
  ASSERT_TRUE(catalogue_->Delete(number).ok());
  const Status gone = absl::NotFoundError("there is no study 1");
  EXPECT_EQ(catalogue_->Ask(number, 1, kLease).status(), gone);
  EXPECT_EQ(Tell(number, {Outcome(given[0])}).status(), gone);
  EXPECT_EQ(catalogue_->Cancel(number).status(), gone);
  EXPECT_EQ(catalogue_->Delete(number), gone);
  EXPECT_EQ(catalogue_->loaded(), 0);
}

}  // namespace
}  // namespace mdh::study_catalogue_test
