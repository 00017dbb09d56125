// Studies through a real daemon: asking, telling, losing clients and daemons, and mdh study.
#include <google/protobuf/util/message_differencer.h>

#include <map>
#include <set>

#include "client/client.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/error_message.h"
#include "tests/server/study_specs.h"

namespace mdh::study_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int64_t kLongLease = 3'600'000'000'000;

class StudyTest : public DaemonTest {
 protected:
  void SetUp() override { Start(); }
  void Start() {
    StartDaemon();
    client_ = Connect();
  }
  void KillDaemon() {
    daemon_->Signal(SIGKILL);
    daemon_->Wait();
    daemon_.reset();
    // Clients of one process share connections; the next one must not get the one that has ended.
    client_.reset();
  }
  std::unique_ptr<Client> Connect() const {
    Result<std::unique_ptr<Client>> client = Client::Connect(address_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  Result<v1::Study> Create(const v1::StudySpec& spec, const std::string& request_id = "",
                           bool validate_only = false) const {
    v1::CreateStudyRequest request;
    *request.mutable_spec() = spec;
    request.set_request_id(request_id);
    request.set_validate_only(validate_only);
    return client_->CreateStudy(request);
  }
  std::string CreatedName(const v1::StudySpec& spec) const {
    const Result<v1::Study> study = Create(spec);
    EXPECT_TRUE(study.ok()) << study.status();
    return study.ok() ? study->name() : "";
  }
  static std::vector<v1::StudyTrial> Ask(Client& client, const std::string& name, int count = 1,
                                         int64_t lease_ns = kLongLease) {
    const Result<v1::AskTrialsResponse> response = client.AskTrials(name, count, lease_ns);
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return {};
    return {response->trials().begin(), response->trials().end()};
  }
  static Result<v1::Study> Tell(Client& client, const std::string& name,
                                const v1::StudyTrial& outcome) {
    v1::TellTrialsRequest request;
    request.set_name(name);
    *request.add_trials() = outcome;
    return client.TellTrials(request);
  }
  // Asks and tells until nothing is given out any more, or `most` costs were told.
  static void Search(Client& client, const std::string& name, int most = 1'000) {
    for (int n = 0; n < most; ++n) {
      const std::vector<v1::StudyTrial> given = Ask(client, name);
      if (given.empty()) return;
      const Result<v1::Study> study = Tell(client, name, Outcome(given[0]));
      ASSERT_TRUE(study.ok()) << study.status();
    }
  }
  std::vector<v1::StudyTrial> Trials(const std::string& name) const {
    const Result<v1::ListTrialsResponse> page = client_->ListTrials(name, 10'000, "");
    EXPECT_TRUE(page.ok()) << page.status();
    EXPECT_EQ(page->next_page_token(), "");
    return {page->trials().begin(), page->trials().end()};
  }
  void ExpectSameTrace(const std::string& name, const std::string& other) const {
    const std::vector<v1::StudyTrial> trace = Trials(name);
    const std::vector<v1::StudyTrial> expected = Trials(other);
    ASSERT_EQ(trace.size(), expected.size());
    for (size_t i = 0; i < trace.size(); ++i) {
      EXPECT_EQ(trace[i].DebugString(), expected[i].DebugString());
    }
  }

  std::unique_ptr<Client> client_;
};

TEST_F(StudyTest, FindsTheBestOfAProgram) {
  const std::string name = CreatedName(ProductSpec());
  Search(*client_, name);
  const Result<v1::Study> study = client_->GetStudy(name);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(study->state(), v1::STUDY_STATE_FINISHED);
  EXPECT_EQ(study->evaluations(), 144);
  EXPECT_EQ(study->best().cost(), 0.5);
  EXPECT_GT(study->active_ns(), 0);
  std::set<std::string> configurations;
  for (const v1::StudyTrial& trial : Trials(name)) {
    configurations.insert(trial.configuration().DebugString());
  }
  EXPECT_THAT(configurations, SizeIs(144)) << "nothing was evaluated twice";
}

TEST_F(StudyTest, ADaemonThatIsKilledForgetsNothing) {
  const std::string alone = CreatedName(ProductSpec("evaluations(60)"));
  Search(*client_, alone);
  const std::string name = CreatedName(ProductSpec("evaluations(60)"));
  Search(*client_, name, 20);
  const std::vector<v1::StudyTrial> running = Ask(*client_, name, 3);
  ASSERT_THAT(running, SizeIs(3));
  KillDaemon();
  Start();
  // The client was measuring all the while.
  for (const v1::StudyTrial& trial : running) {
    ASSERT_TRUE(Tell(*client_, name, Outcome(trial)).ok());
  }
  Search(*client_, name, 10);
  KillDaemon();
  Start();
  Search(*client_, name);
  ExpectSameTrace(name, alone);
  EXPECT_EQ(client_->GetStudy(name)->state_reason(), "the abort condition holds: evaluations(60)");
}

TEST_F(StudyTest, TwoClientsShareAStudy) {
  const std::string alone = CreatedName(ProductSpec());
  Search(*client_, alone);
  const std::string name = CreatedName(ProductSpec());
  const auto work = [&](Client& client) {
    while (true) {
      const Result<v1::AskTrialsResponse> response = client.AskTrials(name, 2, kLongLease);
      ASSERT_TRUE(response.ok()) << response.status();
      if (response->state() != v1::STUDY_STATE_ACTIVE) return;
      for (const v1::StudyTrial& trial : response->trials()) {
        ASSERT_TRUE(Tell(client, name, Outcome(trial)).ok());
      }
    }
  };
  const std::unique_ptr<Client> second = Connect();
  std::thread other([&] { work(*second); });
  work(*client_);
  other.join();
  ExpectSameTrace(name, alone);
}

TEST_F(StudyTest, WhatAClientLostAnotherGets) {
  const std::string name = CreatedName(ProductSpec());
  const std::vector<v1::StudyTrial> lost = Ask(*client_, name, 4, /*lease_ns=*/1);
  ASSERT_THAT(lost, SizeIs(4));
  const std::unique_ptr<Client> second = Connect();
  const std::vector<v1::StudyTrial> found = Ask(*second, name, 4);
  ASSERT_THAT(found, SizeIs(4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(found[i].number(), lost[i].number());
    EXPECT_EQ(found[i].configuration().DebugString(), lost[i].configuration().DebugString());
  }
  EXPECT_THAT(Ask(*client_, name, 4), IsEmpty());
  EXPECT_EQ(client_->GetStudy(name)->outstanding(), 4);
}

TEST_F(StudyTest, ErrorsNameTheField) {
  v1::StudySpec unknown = ProductSpec();
  unknown.add_constraints("a * bb < 3");
  EXPECT_THAT(ErrorMessage(Create(unknown)), HasSubstr("constraints[1]"));
  EXPECT_THAT(ErrorMessage(Create(unknown)), HasSubstr("bb"));
  v1::StudySpec backwards = ProductSpec();
  backwards.mutable_parameters(1)->mutable_interval()->set_first(11);
  EXPECT_THAT(ErrorMessage(Create(backwards)), HasSubstr("parameters[1]"));
  v1::StudySpec cyclic = ProductSpec();
  (*cyclic.mutable_definitions())["limit"] = "limit + 1";
  EXPECT_THAT(ErrorMessage(Create(cyclic)), HasSubstr("limit"));
  v1::StudySpec technique = ProductSpec();
  technique.set_technique("magic");
  EXPECT_THAT(ErrorMessage(Create(technique)), HasSubstr("technique"));
  for (const Status& status : {Create(unknown).status(), Create(backwards).status(),
                               Create(cyclic).status(), Create(technique).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST_F(StudyTest, EmptySpacesNameTheirConstraint) {
  v1::StudySpec spec = ProductSpec();
  spec.add_constraints("a + b > 30");
  const Status status = Create(spec).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ErrorMessage(status), HasSubstr("a + b > 30"));
}

TEST_F(StudyTest, ContradictoryAbortConditionsAreRefused) {
  const Status useless = Create(ProductSpec("evaluations(5) or evaluations(10)")).status();
  EXPECT_EQ(useless.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorMessage(useless), HasSubstr("'evaluations(10)' never decides"));
  const Status negative = Create(ProductSpec("duration(-1s)")).status();
  EXPECT_EQ(negative.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorMessage(negative), HasSubstr("abort"));
}

TEST_F(StudyTest, DivisionsByZeroAreTold) {
  v1::StudySpec spec = ProductSpec();
  spec.add_constraints("12 % (a - 2) == 0");
  const Result<v1::Study> study = Create(spec);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_THAT(study->notices(), Each(HasSubstr("12 % (a - 2)")));
  EXPECT_THAT(study->notices(), SizeIs(1));
}

TEST_F(StudyTest, CheckingStoresNothing) {
  const Result<v1::Study> study = Create(ProductSpec(), "", /*validate_only=*/true);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(study->space_count(), "144");
  EXPECT_EQ(study->name(), "");
  EXPECT_THAT(client_->ListStudies(10, "")->studies(), IsEmpty());
}

TEST_F(StudyTest, ARequestIdSurvivesTheDaemon) {
  const std::string name = Create(ProductSpec(), "build 17")->name();
  KillDaemon();
  Start();
  EXPECT_EQ(Create(ProductSpec(), "build 17")->name(), name);
  EXPECT_EQ(Create(ProductSpec("evaluations(1)"), "build 17").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(StudyTest, TheCommandLineShowsIt) {
  const std::string name = CreatedName(ProductSpec("evaluations(20)"));
  Search(*client_, name);
  const Ended list = Mdh({"study", "list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("studies/1"));
  EXPECT_THAT(list.out, HasSubstr("finished"));
  EXPECT_THAT(list.out, HasSubstr("product"));
  const Ended show = Mdh({"study", "show", "1"});
  EXPECT_THAT(show.out, HasSubstr("the abort condition holds: evaluations(20)"));
  EXPECT_THAT(show.out, HasSubstr("144 configurations of 3 parameters"));
  EXPECT_THAT(show.out, HasSubstr("    mode = \""));
  EXPECT_EQ(MdhJson({"study", "show", name})["evaluations"], "20");
  EXPECT_THAT(Mdh({"study", "trials", name, "--limit", "3"}).out, HasSubstr("a="));
  EXPECT_THAT(MdhJson({"study", "trials", name})["trials"], SizeIs(20));

  const Ended csv = Mdh({"study", "export", name});
  EXPECT_THAT(csv.out, StartsWith("number,cost,failure,a,b,mode\n1,"));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 21);
  const nlohmann::json json =
      nlohmann::json::parse(Mdh({"study", "export", name, "--format", "json"}).out);
  ASSERT_THAT(json, SizeIs(20));
  const std::vector<v1::StudyTrial> trials = Trials(name);
  for (size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(json[i]["number"], trials[i].number());
    EXPECT_EQ(json[i]["cost"].is_null(), !trials[i].has_cost());
    if (trials[i].has_cost()) {
      EXPECT_EQ(json[i]["cost"], trials[i].cost());
    }
    EXPECT_EQ(json[i]["configuration"]["a"],
              trials[i].configuration().values().fields().at("a").number_value());
  }
}

TEST_F(StudyTest, TheCommandLineEndsIt) {
  const std::string name = CreatedName(ProductSpec());
  EXPECT_THAT(Mdh({"study", "cancel", name}).out, HasSubstr("cancelled"));
  EXPECT_THAT(Ask(*client_, name), IsEmpty());
  EXPECT_EQ(Mdh({"study", "delete", name}).code, 0);
  for (const char* word : {"show", "trials", "export", "cancel", "delete"}) {
    const Ended ended = Mdh({"study", word, "1"});
    EXPECT_EQ(ended.code, 4) << word;
    EXPECT_THAT(ended.err, HasSubstr("there is no study 1"));
  }
  EXPECT_EQ(Mdh({"study"}).code, 2);
  EXPECT_EQ(Mdh({"study", "show"}).code, 2);
  EXPECT_EQ(RunProgram({ProgramPath("mdh"), "--server", address_ + "-not", "study", "list"}).code,
            5);
}

}  // namespace
}  // namespace mdh::study_test
