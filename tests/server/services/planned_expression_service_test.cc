// Expressions that the daemon searches as pipelines: tuned, looked up and kept under their own key.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/expression/canonical.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"
#include "core/text/printer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/service_fixture.h"

namespace mdh::planned_expression_service_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Expression Chain(int64_t size) {
  return *ParseExpression(absl::Substitute(
      "chain := out_view<fp32>( y: (i,j,k,l) -> (i,l) ) o md_hom<$0,$0,$0,$0>( f, (++, +, +, ++) ) "
      "o inp_view<fp32,fp32,fp32>( a: (i,j,k,l) -> (i,j), b: (i,j,k,l) -> (j,k), "
      "c: (i,j,k,l) -> (k,l) ) where f(a, b, c) -> y { y = a * b * c }",
      size));
}

class PlannedExpressionServiceTest : public ServiceTest {
 protected:
  // What could have been measured on the fake CPU of all that is searched.
  void PutSteps() {
    for (const SearchedStep& step : PlanSearch(Pipeline::Of(chain_)).steps) {
      const v1::KernelKey key = MakeKernelKey(step.expression, KeyEnvironment::Of(FakeCpu()));
      v1::TuningRecord record = PredictKernel(step.expression, FakeCpu(), key, {})->record;
      record.set_time_ns(700'000);
      const auto put = admin_client_->PutKernel(record);
      ASSERT_TRUE(put.ok()) << put.status();
    }
  }
  // The record of the expression, measured as the fake device does.
  v1::TuningRecord Tuned() {
    const auto created = client_->CreateJob(chain_, {});
    EXPECT_TRUE(created.ok()) << created.status();
    if (!created.ok()) return {};
    const std::string name = created->job().name();
    EXPECT_TRUE(client_->Watch(name, 0, {}).ok());
    const auto job = client_->GetJob(name);
    EXPECT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->job().state(), v1::TUNING_JOB_STATE_SUCCEEDED) << job->job().error().message();
    return job->record();
  }

  // Of which one nest is hopeless.
  const Expression chain_ = Chain(512);
};

TEST_F(PlannedExpressionServiceTest, ItHasJobsOfItsStepsAndOneThatAwaitsThem) {
  const Result<v1::CreateTuningJobResponse> created =
      client_->CreateJob(chain_, {.budget_ns = 20'000'000'000, .max_trials = 2});
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_THAT(created->note(), HasSubstr("chain two factors at a time"));
  // Both products of two have one form.
  ASSERT_THAT(created->step_jobs(), SizeIs(1));
  const v1::TuningJob& whole = created->whole_job().job();
  EXPECT_EQ(whole.key().expression_digest(), Digest(chain_));
  EXPECT_THAT(whole.awaited_jobs(), ElementsAre(created->step_jobs(0).job().name()));
  // A client that knows nothing of pipelines waits for the last one.
  EXPECT_EQ(created->job().name(), whole.name());
  EXPECT_THAT(JobsOf(*created), ElementsAre(created->step_jobs(0).job().name(), whole.name()));
  const auto again = client_->CreateJob(chain_, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->whole_job().joined());
  EXPECT_EQ(again->job().name(), whole.name());
}

TEST_F(PlannedExpressionServiceTest, OnlyCheckingCreatesNothing) {
  const auto checked = client_->CreateJob(chain_, {.validate_only = true});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_THAT(checked->step_jobs(), SizeIs(1));
  EXPECT_EQ(checked->job().name(), "");
  EXPECT_THAT(client_->ListJobs({})->jobs(), IsEmpty());
}

// What is asked about its loops, or forbids other orders, is asked about one nest.
TEST_F(PlannedExpressionServiceTest, SomeRequestsAreAboutItsLoops) {
  const auto is_one = [&](TuneOptions options) {
    options.validate_only = true;
    const auto created = client_->CreateJob(chain_, options);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() && !created->has_whole_job() && created->step_jobs().empty();
  };
  EXPECT_FALSE(is_one({}));
  EXPECT_TRUE(is_one({.numerics_policy = v1::NUMERICS_POLICY_EXACT_ORDER}));
  EXPECT_TRUE(is_one({.schedule = "L1: tile i=64"}));
  // A small one is not worth waiting for a step.
  const auto small = client_->CreateJob(Chain(8), {.validate_only = true});
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_FALSE(small->has_whole_job());
}

TEST_F(PlannedExpressionServiceTest, WhatIsMeasuredIsFoundByTheExpression) {
  PutSteps();
  EXPECT_EQ(client_->Lookup(Client::KeyOf(chain_)).status().code(), absl::StatusCode::kNotFound);
  const v1::TuningRecord record = Tuned();
  EXPECT_THAT(record.parameters(), HasSubstr("split"));
  EXPECT_EQ(record.key().expression_digest(), Digest(chain_));
  // Those of two products, not of one nest.
  EXPECT_LE(record.flops(), int64_t{4} * 512 * 512 * 512);
  const auto by_key = client_->Lookup(Client::KeyOf(chain_));
  ASSERT_TRUE(by_key.ok()) << by_key.status();
  EXPECT_EQ(by_key->record().name(), record.name());
  for (const v1::MatchKind weakest : {v1::MATCH_KIND_EXACT, v1::MATCH_KIND_PREDICTED}) {
    const auto best = client_->GetBestKernel(chain_, {}, weakest);
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_EQ(best->match(), v1::MATCH_KIND_EXACT);
    EXPECT_EQ(best->record().name(), record.name());
    EXPECT_TRUE(best->pipeline().is_measured());
    EXPECT_EQ(best->pipeline().partition().text(), "chain two factors at a time");
    EXPECT_THAT(best->kernel().arguments(), SizeIs(4));
  }
  const auto tuned = client_->GetKernelAndTune(chain_, {}, {});
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(tuned->tuning_job(), "");
  // What is known is not measured again.
  const auto again = client_->CreateJob(chain_, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(again->job().record(), record.name());
}

TEST_F(PlannedExpressionServiceTest, WhatWasNotMeasuredIsMadeOfSteps) {
  EXPECT_EQ(client_->GetBestKernel(chain_, {}, v1::MATCH_KIND_EXACT).status().code(),
            absl::StatusCode::kNotFound);
  const auto made = client_->GetBestKernel(chain_, {}, v1::MATCH_KIND_PREDICTED);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->match(), v1::MATCH_KIND_PREDICTED);
  EXPECT_THAT(made->pipeline().partition().text(), HasSubstr("two factors at a time"));
  const auto exact =
      client_->GetBestKernel(chain_, {}, v1::MATCH_KIND_PREDICTED, v1::NUMERICS_POLICY_EXACT_ORDER);
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_FALSE(exact->has_pipeline());
}

TEST_F(PlannedExpressionServiceTest, AKernelComesAtOnceWhileTuningBegins) {
  tune_.reports_its_trial = false;
  const auto first = client_->LookupAndTune(chain_, {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->match(), v1::MATCH_KIND_PREDICTED);
  ASSERT_THAT(first->pipeline().tuning_jobs(), SizeIs(2));
  EXPECT_EQ(first->tuning_job(), first->pipeline().tuning_jobs(1));
}

// As a step of another pipeline it is one nest, or in the steps of that pipeline's plan.
TEST_F(PlannedExpressionServiceTest, ItsRecordIsNoneOfAStep) {
  PutSteps();
  Tuned();
  const Result<Pipeline> both = ParsePipeline(absl::StrCat(
      "both := pipeline(a, b, c) -> z { y = chain(a, b, c); z = limited(y) } limited := "
      "out_view<fp32>( z: (i,l) -> (i,l) ) o md_hom<512,512>( f, (++, ++) ) o inp_view<fp32>( y: "
      "(i,l) -> (i,l) ) where f(y) -> z { z = max(y, 0) } ",
      ToText(chain_)));
  ASSERT_TRUE(both.ok()) << both.status();
  const Status missing = client_->Lookup(*both).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("chain"));
  const auto made = client_->GetBestKernel(*both, {}, v1::MATCH_KIND_PREDICTED);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->pipeline().partition().text(), HasSubstr("chain two factors at a time"));
}

TEST_F(PlannedExpressionServiceTest, ItsRecordIsTakenFromElsewhere) {
  PutSteps();
  const v1::TuningRecord record = Tuned();
  ASSERT_TRUE(admin_client_->Invalidate(record.name()).ok());
  EXPECT_EQ(client_->Lookup(Client::KeyOf(chain_)).status().code(), absl::StatusCode::kNotFound);
  const auto put = admin_client_->PutKernel(record);
  ASSERT_TRUE(put.ok()) << put.status();
  const auto found = client_->GetBestKernel(chain_, {}, v1::MATCH_KIND_EXACT);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->record().parameters(), record.parameters());
  EXPECT_EQ(found->record().flops(), record.flops());
  v1::TuningRecord wrong = record;
  wrong.set_parameters("nothing");
  EXPECT_FALSE(admin_client_->PutKernel(wrong).ok());
}

}  // namespace
}  // namespace mdh::planned_expression_service_test
