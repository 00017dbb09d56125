#include "server/services/study_service.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/overwrite.h"
#include "tests/server/study_specs.h"
#include "tests/server/temporary_directory.h"

namespace mdh::study_service_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StudyServiceTest : public ::testing::Test {
 protected:
  StudyServiceTest()
      : store_(*OpenSqliteStore({.path = path_})),
        studies_(*store_->OpenStudies()),
        catalogue_(*studies_),
        service_(catalogue_, *studies_, access_) {}

  grpc::Status Create(const v1::StudySpec& spec, const std::string& request_id = "",
                      bool validate_only = false) {
    v1::CreateStudyRequest request;
    *request.mutable_spec() = spec;
    request.set_request_id(request_id);
    request.set_validate_only(validate_only);
    v1::CreateStudyResponse response;
    const grpc::Status status = service_.CreateStudy(&context_, &request, &response);
    created_ = response.study();
    return status;
  }
  grpc::Status Ask(const v1::AskTrialsRequest& request) {
    asked_.Clear();
    return service_.AskTrials(&context_, &request, &asked_);
  }
  grpc::Status Ask(const std::string& name, int count) {
    v1::AskTrialsRequest request;
    request.set_name(name);
    request.set_count(count);
    return Ask(request);
  }
  grpc::Status Tell(const std::string& name, const std::vector<v1::StudyTrial>& outcomes) {
    v1::TellTrialsRequest request;
    request.set_name(name);
    for (const v1::StudyTrial& outcome : outcomes) *request.add_trials() = outcome;
    v1::TellTrialsResponse response;
    const grpc::Status status = service_.TellTrials(&context_, &request, &response);
    told_ = response.study();
    return status;
  }
  grpc::Status List(int page_size, const std::string& token) {
    v1::ListStudiesRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    listed_.Clear();
    return service_.ListStudies(&context_, &request, &listed_);
  }
  grpc::Status Trials(const std::string& name, int page_size, const std::string& token) {
    v1::ListTrialsRequest request;
    request.set_name(name);
    request.set_page_size(page_size);
    request.set_page_token(token);
    trials_.Clear();
    return service_.ListTrials(&context_, &request, &trials_);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
  std::unique_ptr<Store> store_;
  std::unique_ptr<StudyStore> studies_;
  StudyCatalogue catalogue_;
  const AccessControl access_{{.anonymous_local = Role::kAdmin, .anonymous_remote = Role::kAdmin}};
  StudyServiceImpl service_;
  grpc::ServerContext context_;
  v1::Study created_;
  v1::AskTrialsResponse asked_;
  v1::Study told_;
  v1::ListStudiesResponse listed_;
  v1::ListTrialsResponse trials_;
};

void ExpectError(const grpc::Status& status, grpc::StatusCode code, const std::string& message) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(message));
}

constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
constexpr auto kNotFound = grpc::StatusCode::NOT_FOUND;

TEST_F(StudyServiceTest, AsksAndTells) {
  ASSERT_TRUE(Create(ProductSpec("evaluations(6)")).ok());
  EXPECT_EQ(created_.name(), "studies/1");
  EXPECT_EQ(created_.state(), v1::STUDY_STATE_ACTIVE);
  EXPECT_EQ(created_.spec().lookahead(), 4);
  EXPECT_FALSE(created_.has_best());
  ASSERT_TRUE(Ask("studies/1", 0).ok());
  ASSERT_THAT(asked_.trials(), SizeIs(1)) << "0 stands for 1";
  EXPECT_EQ(asked_.state(), v1::STUDY_STATE_ACTIVE);
  ASSERT_TRUE(Tell("studies/1", {Outcome(asked_.trials(0))}).ok());
  EXPECT_EQ(told_.evaluations(), 1);
  EXPECT_EQ(told_.outstanding(), 0);
  EXPECT_THAT(told_.spec().parameters(), IsEmpty());
  ASSERT_TRUE(Ask("studies/1", 1'000'000).ok());
  ASSERT_THAT(asked_.trials(), SizeIs(4)) << "the lookahead";

  v1::GetStudyRequest get;
  get.set_name("studies/1");
  v1::GetStudyResponse got;
  ASSERT_TRUE(service_.GetStudy(&context_, &get, &got).ok());
  EXPECT_EQ(got.study().outstanding(), 4);
  EXPECT_THAT(got.study().spec().parameters(), SizeIs(3));
}

TEST_F(StudyServiceTest, ChecksWithoutStoring) {
  ASSERT_TRUE(Create(ProductSpec(), "", /*validate_only=*/true).ok());
  EXPECT_EQ(created_.name(), "");
  EXPECT_EQ(created_.space_count(), "144");
  EXPECT_EQ(created_.spec().technique(), "auc_bandit");
  ASSERT_TRUE(List(10, "").ok());
  EXPECT_THAT(listed_.studies(), IsEmpty());
  v1::StudySpec wrong = ProductSpec();
  wrong.add_constraints("c > 1");
  ExpectError(Create(wrong, "", true), kInvalid, "constraints[1]");
}

TEST_F(StudyServiceTest, SaysWhatIsWrongWithASpecification) {
  v1::StudySpec unknown = ProductSpec();
  unknown.set_technique("magic");
  ExpectError(Create(unknown), kInvalid, "magic");
  v1::StudySpec empty = ProductSpec();
  empty.add_constraints("a > 10 * b + 9");
  ExpectError(Create(empty), grpc::StatusCode::FAILED_PRECONDITION, "a > 10 * b + 9");
  ExpectError(Create(ProductSpec("evaluations(5) and")), kInvalid, "abort");
  ExpectError(Create(v1::StudySpec()), kInvalid, "parameters");
  ExpectError(Create(ProductSpec(), std::string(65, 'r')), kInvalid, "longer than 64");
}

TEST_F(StudyServiceTest, TellsOfDivisionsByZero) {
  v1::StudySpec spec = ProductSpec();
  spec.add_constraints("10 % (a - 3) == 0");
  ASSERT_TRUE(Create(spec).ok());
  ASSERT_THAT(created_.notices(), SizeIs(1));
  EXPECT_THAT(created_.notices(0), HasSubstr("10 % (a - 3)"));
}

TEST_F(StudyServiceTest, TakesLeasesWithinBounds) {
  ASSERT_TRUE(Create(ProductSpec()).ok());
  v1::AskTrialsRequest request;
  request.set_name("studies/1");
  request.mutable_lease();
  ExpectError(Ask(request), kInvalid, "lease: 0 is not between");
  request.mutable_lease()->set_seconds(-1);
  ExpectError(Ask(request), kInvalid, "lease: -1s");
  request.mutable_lease()->set_seconds(24 * 3600);
  EXPECT_TRUE(Ask(request).ok());
  request.mutable_lease()->set_nanos(1);
  ExpectError(Ask(request), kInvalid, "lease: 24h");
  ExpectError(Ask("studies/1", -1), kInvalid, "count: -1 is negative");
}

TEST_F(StudyServiceTest, TakesCostsAndFailuresOnly) {
  ASSERT_TRUE(Create(ProductSpec()).ok());
  ASSERT_TRUE(Ask("studies/1", 2).ok());
  v1::StudyTrial neither;
  neither.set_number(1);
  ExpectError(Tell("studies/1", {neither}), kInvalid, "trials[0]: trial 1 has neither");
  v1::StudyTrial both = neither;
  both.set_cost(1);
  both.set_failure("no");
  ExpectError(Tell("studies/1", {both}), kInvalid, "trials[0]: trial 1 has both");
  v1::StudyTrial unknown;
  unknown.set_number(9);
  unknown.set_cost(1);
  ExpectError(Tell("studies/1", {unknown}), kNotFound, "trial 9 was not asked for");
  v1::StudyTrial other;
  other.set_number(1);
  other.set_cost(1);
  ASSERT_TRUE(Tell("studies/1", {other}).ok());
  EXPECT_TRUE(Tell("studies/1", {other}).ok());
  other.set_cost(2);
  ExpectError(Tell("studies/1", {other}), grpc::StatusCode::ALREADY_EXISTS, "trial 1");
}

TEST_F(StudyServiceTest, CutsLongFailures) {
  ASSERT_TRUE(Create(ProductSpec()).ok());
  ASSERT_TRUE(Ask("studies/1", 1).ok());
  v1::StudyTrial failure;
  failure.set_number(1);
  std::string text = "x";
  for (int i = 0; i < 3'000; ++i) text += "ö";
  failure.set_failure(text);
  ASSERT_TRUE(Tell("studies/1", {failure}).ok());
  ASSERT_TRUE(Trials("studies/1", 0, "").ok());
  EXPECT_EQ(trials_.trials(0).failure(), text.substr(0, 4095)) << "no half character";
  EXPECT_FALSE(trials_.trials(0).has_cost());
}

TEST_F(StudyServiceTest, ListsInPages) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Create(ProductSpec()).ok());
  ASSERT_TRUE(List(2, "").ok());
  EXPECT_EQ(listed_.studies(0).name(), "studies/5");
  ASSERT_TRUE(List(2, listed_.next_page_token()).ok());
  EXPECT_EQ(listed_.studies(0).name(), "studies/3");
  ASSERT_TRUE(List(2, listed_.next_page_token()).ok());
  ASSERT_THAT(listed_.studies(), SizeIs(1));
  EXPECT_EQ(listed_.next_page_token(), "");
  ExpectError(List(-1, ""), kInvalid, "page_size");
  ExpectError(List(1, "x"), kInvalid, "page_token");
}

TEST_F(StudyServiceTest, ListsTrialsInPages) {
  ASSERT_TRUE(Create(ProductSpec()).ok());
  for (int n = 0; n < 7; ++n) {
    ASSERT_TRUE(Ask("studies/1", 1).ok());
    ASSERT_TRUE(Tell("studies/1", {Outcome(asked_.trials(0))}).ok());
  }
  std::vector<int64_t> numbers;
  std::string token;
  do {
    ASSERT_TRUE(Trials("studies/1", 3, token).ok());
    for (const v1::StudyTrial& trial : trials_.trials()) numbers.push_back(trial.number());
    token = trials_.next_page_token();
  } while (!token.empty());
  EXPECT_EQ(numbers, std::vector<int64_t>({1, 2, 3, 4, 5, 6, 7}));
  ExpectError(Trials("studies/1", -1, ""), kInvalid, "page_size");
  ExpectError(Trials("studies/1", 1, "-4"), kInvalid, "page_token");
  ExpectError(Trials("studies/2", 1, ""), kNotFound, "there is no study 2");
}

TEST_F(StudyServiceTest, PagesOfLongTrialsAreSmaller) {
  ASSERT_TRUE(Create(ProductSpec("", 1'024)).ok());
  ASSERT_TRUE(Ask("studies/1", 1'024).ok());
  std::vector<JournalTrial> journal;
  for (int number = 1; number <= 2'000; ++number) {
    JournalTrial trial;
    trial.order = number;
    trial.trial.set_number(number);
    trial.trial.set_failure(std::string(4'000, 'x'));
    journal.push_back(std::move(trial));
  }
  ASSERT_TRUE(WriteTrials(*studies_, 1, studies_->GetStudy(1)->study, journal).ok());
  ASSERT_TRUE(Trials("studies/1", 2'000, "").ok());
  EXPECT_LT(trials_.trials_size(), 2'000);
  EXPECT_LT(trials_.ByteSizeLong(), 3u << 20);
  EXPECT_EQ(trials_.next_page_token(), std::to_string(trials_.trials_size()));
}

TEST_F(StudyServiceTest, CancelsAndDeletes) {
  ASSERT_TRUE(Create(ProductSpec()).ok());
  v1::CancelStudyRequest cancel;
  cancel.set_name("studies/1");
  v1::CancelStudyResponse cancelled;
  ASSERT_TRUE(service_.CancelStudy(&context_, &cancel, &cancelled).ok());
  EXPECT_EQ(cancelled.study().state(), v1::STUDY_STATE_CANCELLED);
  ASSERT_TRUE(Ask("studies/1", 1).ok());
  EXPECT_THAT(asked_.trials(), IsEmpty());
  EXPECT_EQ(asked_.state(), v1::STUDY_STATE_CANCELLED);
  v1::DeleteStudyRequest remove;
  remove.set_name("studies/1");
  v1::DeleteStudyResponse removed;
  EXPECT_TRUE(service_.DeleteStudy(&context_, &remove, &removed).ok());
  ExpectError(service_.DeleteStudy(&context_, &remove, &removed), kNotFound, "there is no study 1");
  ExpectError(service_.CancelStudy(&context_, &cancel, &cancelled), kNotFound, "study 1");
  ExpectError(Ask("studies/1", 1), kNotFound, "there is no study 1");
  ExpectError(Tell("studies/1", {}), kNotFound, "there is no study 1");
}

TEST_F(StudyServiceTest, NamesHaveAForm) {
  for (const char* name : {"", "1", "studies/", "studies/x", "studies/-1", "tuningJobs/1"}) {
    ExpectError(Ask(name, 1), kInvalid, name);
    ExpectError(Tell(name, {}), kInvalid, name);
    ExpectError(Trials(name, 1, ""), kInvalid, name);
  }
}

}  // namespace
}  // namespace mdh::study_service_test
