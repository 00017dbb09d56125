// Pipelines through all services: checked, tuned step by step, looked up as one kernel.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/text/pipeline_parser.h"
#include "core/text/printer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/expression.grpc.pb.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/server/service_fixture.h"

namespace mdh::pipeline_service_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PipelineServiceTest : public ServiceTest {
 protected:
  // The jobs of a pipeline may all wait for the first one to begin.
  PipelineServiceTest() : ServiceTest(4) {}

  // A record of a step that could have been measured on the fake CPU.
  void PutStep(const Expression& expression, int64_t time_ns) {
    const v1::KernelKey key = MakeKernelKey(expression, KeyEnvironment::Of(FakeCpu()));
    v1::TuningRecord record = PredictKernel(expression, FakeCpu(), key, {})->record;
    record.set_time_ns(time_ns);
    const auto put = admin_client_->PutKernel(record);
    ASSERT_TRUE(put.ok()) << put.status();
  }
  void PutUnfused() {
    PutStep(layer_.steps()[0].expression, 700'000);
    PutStep(layer_.steps()[1].expression, 200'000);
  }
  void PutFused(int64_t time_ns) {
    PutStep(PlanSearch(layer_).partitions[0].pipeline.steps()[0].expression, time_ns);
  }
  std::vector<std::string> StatesOfJobs() {
    std::vector<std::string> states;
    const Result<v1::ListTuningJobsResponse> jobs = client_->ListJobs({});
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    for (const v1::TuningJob& job : jobs->jobs()) {
      states.push_back(v1::TuningJobState_Name(job.state()).substr(17));
    }
    return states;
  }
  Result<v1::CheckExpressionResponse> Check(const v1::ExpressionSource& source) {
    const auto stub = v1::ExpressionService::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
    v1::CheckExpressionRequest request;
    *request.mutable_expression() = source;
    grpc::ClientContext context;
    v1::CheckExpressionResponse response;
    const grpc::Status status = stub->CheckExpression(&context, request, &response);
    if (!status.ok()) return absl::InvalidArgumentError(status.error_message());
    return response;
  }

  const Pipeline layer_ = *ParsePipeline(kLayer);
};

// Each search for a large step may take two seconds more.
TEST_F(PipelineServiceTest, OfLargePipelinesFewerStepsAreSearched) {
  const Pipeline large = *ParsePipeline(kLayer, {{"M", "640"}, {"N", "512"}, {"K", "256"}});
  const Result<v1::CreateTuningJobResponse> created =
      client_->CreateJob(large, {.budget_ns = 12'000'000'000});
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_THAT(created->step_jobs(), SizeIs(2));
  EXPECT_THAT(created->note(), HasSubstr("the costliest 2 of 3 distinct steps"));
}

TEST_F(PipelineServiceTest, EveryDistinctStepOfThePartitionsHasAJob) {
  const Result<v1::CreateTuningJobResponse> created =
      client_->CreateJob(layer_, {.budget_ns = 12'000'000'000, .max_trials = 2});
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_FALSE(created->has_job());
  EXPECT_EQ(created->note(),
            "3 distinct steps of 2 partitions: activation in the epilogue of matmul; unfused");
  ASSERT_THAT(created->step_jobs(), SizeIs(3));
  EXPECT_THAT(created->whole_job().job().awaited_jobs(), SizeIs(3));
  EXPECT_EQ(created->whole_job().job().options().budget_ns(), 12'000'000'000);
  int64_t budget_ns = 0;
  for (const v1::PipelineStepJob& step : created->step_jobs()) {
    budget_ns += step.job().options().budget_ns();
    EXPECT_EQ(step.job().options().max_trials(), 1);
    EXPECT_FALSE(step.joined());
  }
  EXPECT_LE(budget_ns, 6'000'000'000);  // the rest is for whole kernels
  EXPECT_GT(budget_ns, 5'900'000'000);
  EXPECT_THAT(created->step_jobs(0).partitions(), ElementsAre(0));
  EXPECT_THAT(created->step_jobs(1).partitions(), ElementsAre(1));
  EXPECT_EQ(created->step_jobs(1).job().expression_name(), "matmul");
  ASSERT_THAT(created->partitions(), SizeIs(2));
  EXPECT_EQ(created->partitions(0).edges(0).kind(), v1::PIPELINE_EDGE_KIND_EPILOGUE);
  EXPECT_EQ(created->partitions(1).edges(0).kind(), v1::PIPELINE_EDGE_KIND_STAGE);
  // A step of its own is the job that there is.
  const auto of_step = client_->CreateJob(layer_.steps()[1].expression, {});
  ASSERT_TRUE(of_step.ok()) << of_step.status();
  EXPECT_TRUE(of_step->joined());
  const auto again = client_->CreateJob(layer_, {});
  ASSERT_TRUE(again.ok()) << again.status();
  for (const v1::PipelineStepJob& step : again->step_jobs()) EXPECT_TRUE(step.joined());
}

TEST_F(PipelineServiceTest, OnlyCheckingCreatesNothing) {
  const auto checked = client_->CreateJob(layer_, {.validate_only = true});
  ASSERT_TRUE(checked.ok()) << checked.status();
  ASSERT_THAT(checked->step_jobs(), SizeIs(3));
  EXPECT_EQ(checked->step_jobs(0).job().name(), "");
  EXPECT_EQ(checked->whole_job().job().name(), "");
  EXPECT_THAT(StatesOfJobs(), IsEmpty());
}

TEST_F(PipelineServiceTest, TheSameRequestIdGivesTheSameJobs) {
  const TuneOptions options = {.request_id = "mine"};
  const auto first = client_->CreateJob(layer_, options);
  const auto second = client_->CreateJob(layer_, options);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->step_jobs(2).job().request_id(), "mine/2");
  EXPECT_EQ(first->whole_job().job().request_id(), "mine/all");
  EXPECT_EQ(first->whole_job().job().name(), second->whole_job().job().name());
  for (int s = 0; s < 3; ++s) {
    EXPECT_EQ(first->step_jobs(s).job().name(), second->step_jobs(s).job().name());
  }
}

TEST_F(PipelineServiceTest, WrongRequestsNameTheField) {
  const std::pair<const char*, TuneOptions> cases[] = {
      {"options.budget_ns", {.budget_ns = -1}},
      {"request_id", {.request_id = std::string(61, 'r')}},
      {"devices", {.devices = {"devices/cpu", "devices/cuda0"}}}};
  for (const auto& [field, options] : cases) {
    const Status error = client_->CreateJob(layer_, options).status();
    EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument) << error;
    EXPECT_EQ(FieldOf(error), field) << error;
  }
  const Pipeline empty = *ParsePipeline(kLayer, {{"M", "0"}});
  const Status nothing = client_->CreateJob(empty, {}).status();
  EXPECT_EQ(nothing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(nothing.message()), HasSubstr("every step of layer has an empty"));
  EXPECT_THAT(StatesOfJobs(), IsEmpty());
}

// A chain of reductions cannot be fused: every step is one of its own.
TEST_F(PipelineServiceTest, IfOneJobIsRefusedTheOthersAreCancelled) {
  std::string text = "chain := pipeline(x0) -> x6 {";
  for (int s = 0; s < 6; ++s) {
    absl::StrAppend(&text, " x", s + 1, " = sums<| N = ", 16 - s, ">(x", s, ");");
  }
  absl::StrAppend(&text, R"( }
sums<| N> := out_view<fp32>( y: (i, j) -> (i) ) o md_hom<N - 1, 2>( f, (++, +) ) o
  inp_view<fp32>( x: (i, j) -> (i + j) ) where f(x) -> y { y = x }
)");
  const Result<Pipeline> chain = ParsePipeline(text);
  ASSERT_TRUE(chain.ok()) << chain.status();
  const Status refused = client_->CreateJob(*chain, {}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  // The first may have run already, and others once it was cancelled.
  const size_t jobs = StatesOfJobs().size();
  EXPECT_GE(jobs, 4);
  for (size_t j = 1; j <= jobs; ++j) {
    EXPECT_EQ(FinishJob(absl::StrCat("tuningJobs/", j)).state(), v1::TUNING_JOB_STATE_CANCELLED);
  }
}

TEST_F(PipelineServiceTest, ALookupWithoutRecordsNamesTheSteps) {
  PutStep(layer_.steps()[0].expression, 700'000);
  const Status missing = client_->Lookup(layer_).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(missing), "STEPS_WITHOUT_RECORDS");
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("no way to compute pipeline 'layer' has records for all of its steps on "
                        "the device; there is none for: activation, matmul"));
  EXPECT_EQ(client_->GetBestKernel(layer_, {}, v1::MATCH_KIND_EXACT).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(PipelineServiceTest, ThePartitionWithTheLeastSumOfTimesIsTaken) {
  PutUnfused();
  Result<v1::LookupKernelResponse> found = client_->Lookup(layer_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(found->provenance(), v1::KERNEL_PROVENANCE_MEASURED);
  EXPECT_EQ(found->pipeline().partition().text(), "unfused");
  EXPECT_EQ(found->pipeline().time_ns(), 900'000);
  EXPECT_EQ(found->pipeline().unfused_time_ns(), 900'000);
  ASSERT_THAT(found->pipeline().steps(), SizeIs(2));
  EXPECT_EQ(found->pipeline().steps(1).expression_name(), "activation");
  EXPECT_EQ(found->pipeline().steps(1).time_ns(), 200'000);
  EXPECT_THAT(found->pipeline().steps(1).record(), testing::StartsWith("records/"));
  ASSERT_THAT(found->kernel().arguments(), SizeIs(4));
  EXPECT_EQ(found->kernel().arguments(3).is_output(), true);
  EXPECT_EQ(found->kernel().name(), "");
  EXPECT_EQ(found->record().name(), "");
  EXPECT_EQ(found->record().key().expression_digest(), Digest(layer_));

  PutFused(950'000);
  EXPECT_EQ(client_->Lookup(layer_)->pipeline().partition().text(), "unfused");
  const Expression fused = PlanSearch(layer_).partitions[0].pipeline.steps()[0].expression;
  PutFused(400'000);
  found = client_->Lookup(layer_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->pipeline().partition().text(), "activation in the epilogue of matmul");
  EXPECT_EQ(found->record().time_ns(), 400'000);
  EXPECT_EQ(found->pipeline().unfused_time_ns(), 900'000);
  const auto best = client_->GetBestKernel(layer_, {}, v1::MATCH_KIND_EXACT);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->kernel().SerializeAsString(), found->kernel().SerializeAsString());
  EXPECT_EQ(best->pipeline().SerializeAsString(), found->pipeline().SerializeAsString());
}

TEST_F(PipelineServiceTest, StepsWithoutRecordsAreMadeFromRules) {
  const auto made = client_->GetBestKernel(layer_, {}, v1::MATCH_KIND_PREDICTED);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->match(), v1::MATCH_KIND_PREDICTED);
  EXPECT_EQ(made->provenance(), v1::KERNEL_PROVENANCE_RULES);
  EXPECT_EQ(made->pipeline().steps(0).record(), "");
  EXPECT_EQ(made->pipeline().time_ns(), 0);
  EXPECT_THAT(made->kernel().source(), HasSubstr("mdh_"));
  // For devices that are not attached, too.
  v1::DeviceSelection gpu;
  gpu.set_name("devices/cuda0");
  const auto for_gpu = client_->GetBestKernel(layer_, gpu, v1::MATCH_KIND_PREDICTED);
  ASSERT_TRUE(for_gpu.ok()) << for_gpu.status();
  EXPECT_EQ(for_gpu->kernel().language(), "CUDA C++");
}

TEST_F(PipelineServiceTest, AKernelComesAtOnceWhileTuningBegins) {
  tune_.reports_its_trial = false;
  const auto first = client_->GetKernelAndTune(layer_, {}, {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->match(), v1::MATCH_KIND_PREDICTED);
  EXPECT_THAT(first->pipeline().tuning_jobs(), SizeIs(4));
  EXPECT_THAT(StatesOfJobs(), SizeIs(4));
  const auto looked_up = client_->LookupAndTune(layer_, {});
  ASSERT_TRUE(looked_up.ok()) << looked_up.status();
  EXPECT_THAT(looked_up->pipeline().tuning_jobs(), SizeIs(4));
  EXPECT_THAT(StatesOfJobs(), SizeIs(4));
  const auto refused = client_->GetKernelAndTune(layer_, {}, {.budget_ns = -1});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->tuning_error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  PutUnfused();
  EXPECT_THAT(client_->GetKernelAndTune(layer_, {}, {})->pipeline().tuning_jobs(), IsEmpty());
}

TEST_F(PipelineServiceTest, AreCheckedInEitherForm) {
  v1::ExpressionSource source;
  source.mutable_text()->set_text(kLayer);
  const Result<v1::CheckExpressionResponse> checked = Check(source);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_FALSE(checked->has_expression());
  EXPECT_EQ(checked->pipeline().steps_size(), 2);
  EXPECT_EQ(checked->digest(), Digest(layer_));
  EXPECT_EQ(checked->temporary_bytes(), 4 * 5 * 4);
  EXPECT_EQ(checked->compulsory_bytes(), (4 * 6 + 6 * 5 + 5 + 4 * 5) * 4);
  ASSERT_THAT(checked->partitions(), SizeIs(2));
  EXPECT_LT(checked->partitions(0).bytes(), checked->partitions(1).bytes());
  v1::ExpressionSource structured;
  *structured.mutable_pipeline() = checked->pipeline();
  EXPECT_EQ(Check(structured)->digest(), checked->digest());
  // A definition of the text by its name.
  source.mutable_text()->set_name("matmul");
  for (const auto& [name, value] : {std::pair("T", "fp32"), {"I", "4"}, {"J", "5"}, {"K", "6"}}) {
    (*source.mutable_text()->mutable_bindings())[name] = value;
  }
  EXPECT_EQ(Check(source)->expression().name(), "matmul");
  source.mutable_text()->set_text("layer := pipeline(x) -> y { y = none(x) }");
  source.mutable_text()->clear_name();
  EXPECT_THAT(std::string(Check(source).status().message()), HasSubstr("none"));
}

TEST_F(PipelineServiceTest, TheKernelThatWasMeasuredAsAWholeIsTaken) {
  PutUnfused();
  PutFused(950'000);
  ASSERT_EQ(client_->Lookup(layer_)->pipeline().partition().text(), "unfused");
  const auto created = client_->CreateJob(layer_, {});
  ASSERT_TRUE(created.ok()) << created.status();
  for (const v1::PipelineStepJob& step : created->step_jobs()) {
    EXPECT_EQ(step.job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  }
  const std::string name = created->whole_job().job().name();
  ASSERT_TRUE(client_->Watch(name, 0, {}).ok());
  const auto job = client_->GetJob(name);
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->job().state(), v1::TUNING_JOB_STATE_SUCCEEDED) << job->job().error().message();
  EXPECT_EQ(job->record().pipeline().unfused_time_ns(), 900'000);

  // The fake device finds the fused one faster, whatever the steps' times.
  const auto found = client_->Lookup(layer_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(found->provenance(), v1::KERNEL_PROVENANCE_MEASURED);
  EXPECT_EQ(found->record().name(), job->record().name());
  EXPECT_TRUE(found->pipeline().is_measured());
  EXPECT_EQ(found->pipeline().partition().text(), "activation in the epilogue of matmul");
  EXPECT_EQ(found->pipeline().partition().edges_size(), 1);
  EXPECT_EQ(found->pipeline().time_ns(), job->record().time_ns());
  EXPECT_EQ(found->pipeline().unfused_time_ns(), 900'000);
  ASSERT_THAT(found->pipeline().steps(), SizeIs(1));
  EXPECT_EQ(found->kernel().arguments_size(), 4);
  const auto best = client_->GetBestKernel(layer_, {}, v1::MATCH_KIND_EXACT);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->kernel().SerializeAsString(), found->kernel().SerializeAsString());
  // Also by the key alone, as caches ask, and by the kernel's name.
  const auto by_key = client_->Lookup(Client::KeyOf(layer_));
  ASSERT_TRUE(by_key.ok()) << by_key.status();
  EXPECT_EQ(by_key->record().SerializeAsString(), found->record().SerializeAsString());
  EXPECT_EQ(client_->GetKernel(found->kernel().name())->source(), found->kernel().source());
  EXPECT_THAT(client_->GetKernelAndTune(layer_, {}, {})->pipeline().tuning_jobs(), IsEmpty());
  // Without it the records of the steps decide.
  ASSERT_TRUE(admin_client_->Invalidate(found->record().name()).ok());
  EXPECT_EQ(client_->Lookup(layer_)->pipeline().partition().text(), "unfused");
}

TEST_F(PipelineServiceTest, RecordsOfPipelinesAreTakenFromElsewhere) {
  PutUnfused();
  PutFused(950'000);
  const auto created = client_->CreateJob(layer_, {});
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(client_->Watch(created->whole_job().job().name(), 0, {}).ok());
  const v1::LookupKernelResponse found = *client_->Lookup(layer_);
  const v1::TuningRecord record = found.record();
  ASSERT_TRUE(admin_client_->Invalidate(record.name()).ok());
  const auto put = admin_client_->PutKernel(record);
  ASSERT_TRUE(put.ok()) << put.status();
  const v1::LookupKernelResponse again = *client_->Lookup(layer_);
  EXPECT_EQ(again.kernel().source(), found.kernel().source());
  EXPECT_EQ(again.pipeline().SerializeAsString(), found.pipeline().SerializeAsString());

  const auto expect_refused = [&](const char* field, auto change) {
    v1::TuningRecord other = record;
    change(other);
    const Status refused = admin_client_->PutKernel(other).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_EQ(FieldOf(refused), field) << refused;
  };
  expect_refused("record.parameters", [](auto& r) { r.set_parameters("edge 1 2 fused\n"); });
  expect_refused("record.parameters", [&](auto& r) {
    r.set_parameters(found.pipeline().steps(0).parameters());  // of an expression
  });
  expect_refused("record.key.expression_digest",
                 [](auto& r) { r.set_expression_text(std::string(kCentred)); });
}

}  // namespace
}  // namespace mdh::pipeline_service_test
