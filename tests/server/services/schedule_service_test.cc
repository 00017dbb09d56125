// Schedules on the wire: checked, in jobs and keys, and the record of what keeps to them.
#include <string>

#include "core/schedule/schedule_key.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/service_fixture.h"

namespace mdh::schedule_service_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPinned = "L2: tile k=16";

class ScheduleServiceTest : public ServiceTest {
 protected:
  Result<v1::CreateTuningJobResponse> Create(const TuneOptions& options) {
    return client_->CreateJob(MatMulExpression(64, 64, 64), options);
  }
  Result<v1::CheckScheduleResponse> Check(const std::string& schedule,
                                          const std::string& vary = "") {
    return client_->CheckSchedule(MatMulExpression(64, 64, 64), schedule, {}, {}, vary);
  }
  v1::KernelKey FreeKeyOf() const {
    return MakeKernelKey(MatMulExpression(64, 64, 64), KeyEnvironment::Of(FakeCpu()));
  }
};

TEST_F(ScheduleServiceTest, CheckSaysWhatIsLeft) {
  const Result<v1::CheckScheduleResponse> free = Check("");
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_EQ(free->canonical(), "");
  EXPECT_EQ(free->key_schedule(), "");
  const Result<v1::CheckScheduleResponse> pinned = Check("# a comment\nL2 : tile k = 16");
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_THAT(pinned->canonical(), HasSubstr("k=16"));
  EXPECT_THAT(pinned->key_schedule(), HasSubstr("d3=16"));
  EXPECT_EQ(pinned->canonical(), Check(kPinned)->canonical());
  EXPECT_NE(pinned->count(), "0");
  EXPECT_LT(pinned->count().size(), free->count().size() + 1);
  EXPECT_THAT(pinned->example(), HasSubstr("tile="));
}

TEST_F(ScheduleServiceTest, CheckNamesWhatContradicts) {
  const Result<v1::CheckScheduleResponse> none = Check("L2: tile k=16\nL1: tile k=32");
  // What cannot be is known from the lines alone, or when the space is built.
  if (none.ok()) {
    EXPECT_EQ(none->count(), "0");
    ASSERT_EQ(none->conflicts_size(), 1);
    EXPECT_THAT(none->conflicts(0), HasSubstr("contradict"));
  } else {
    EXPECT_EQ(FieldOf(none.status()), "schedule");
  }
}

TEST_F(ScheduleServiceTest, CheckCountsAlternatives) {
  const Result<v1::CheckScheduleResponse> tiles = Check("", "tile.L2.k");
  ASSERT_TRUE(tiles.ok()) << tiles.status();
  ASSERT_EQ(tiles->alternatives_size(), 7);  // 1, 2, 4, .., 64
  EXPECT_EQ(tiles->alternatives(0).value(), "1");
  EXPECT_EQ(tiles->alternatives(4).count(), Check(kPinned)->count());
  const Result<v1::CheckScheduleResponse> words = Check(kPinned, "remainder");
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(words->alternatives(0).value(), "variants");
  for (const char* wrong : {"tile.L2", "tile.L2.x", "tile.L9.k", "nonsense", "order.L2.k"}) {
    EXPECT_EQ(FieldOf(Check("", wrong).status()), "vary") << wrong;
  }
}

TEST_F(ScheduleServiceTest, WrongRequestsNameTheField) {
  const Status unknown = Check("L9: tile k=16").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(unknown), "schedule");
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("<schedule>:1:1: "));
  EXPECT_EQ(FieldOf(Check(std::string(100'000, '#')).status()), "schedule");
  v1::DeviceSelection nowhere;
  nowhere.set_name("devices/cuda7");
  EXPECT_EQ(client_->CheckSchedule(MatMulExpression(4, 4, 4), "", nowhere).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(FieldOf(client_
                        ->CheckSchedule(MatMulExpression(4, 4, 4), "", {},
                                        static_cast<v1::NumericsPolicy>(9))
                        .status()),
            "numerics_policy");
  for (const bool validate_only : {false, true}) {
    const Status refused =
        Create({.schedule = "L2: tile q=2", .validate_only = validate_only}).status();
    EXPECT_EQ(FieldOf(refused), "options.schedule") << refused;
  }
}

TEST_F(ScheduleServiceTest, PipelinesSayWhatIsFused) {
  const Result<Pipeline> pipeline = ParsePipeline(R"(
two := pipeline(x) -> z { y = half(x); z = half(y) }
half := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x / 2 }
)");
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const Status refused = client_->CreateJob(*pipeline, {.schedule = kPinned}).status();
  EXPECT_EQ(FieldOf(refused), "options.schedule");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("in front of lines of a step"));
  const std::string fused = "edge y -> z = inline";
  const Result<v1::CheckScheduleResponse> check = client_->CheckSchedule(*pipeline, fused);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->canonical(), "edge y -> z = inline\n");
  EXPECT_EQ(check->key_schedule(), "edge 1 -> 2 = inline\n");
  EXPECT_NE(check->count(), "0");
  EXPECT_THAT(check->example(), HasSubstr("edge 1 2 inline"));
  const Result<v1::CheckScheduleResponse> varied =
      client_->CheckSchedule(*pipeline, "", {}, {}, "edge.y.z");
  ASSERT_TRUE(varied.ok()) << varied.status();
  ASSERT_EQ(varied->alternatives_size(), 4);
  EXPECT_EQ(varied->alternatives(1).count(), check->count());
  EXPECT_EQ(varied->alternatives(2).count(), "0");  // an epilogue would be the same
  const Result<v1::CheckScheduleResponse> none =
      client_->CheckSchedule(*pipeline, "edge y -> z = contraction");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->count(), "0");
  ASSERT_EQ(none->conflicts_size(), 1);
  EXPECT_THAT(none->conflicts(0), HasSubstr("combines nothing"));
  EXPECT_EQ(
      FieldOf(client_->CreateJob(*pipeline, {.schedule = "edge 1 -> 2 = contraction"}).status()),
      "options.schedule");
  // Nothing was measured under it.
  const Status missed =
      client_->GetBestKernel(*pipeline, {}, v1::MATCH_KIND_EXACT, {}, fused).status();
  EXPECT_TRUE(absl::IsNotFound(missed)) << missed;
  const Status made =
      client_->GetBestKernel(*pipeline, {}, v1::MATCH_KIND_PREDICTED, {}, fused).status();
  EXPECT_EQ(FieldOf(made), "schedule") << made;
}

TEST_F(ScheduleServiceTest, JobsAreOfTheirSchedules) {
  const v1::TuningJob free = Create({})->job();
  EXPECT_EQ(free.key().schedule(), "");
  const v1::TuningJob pinned = Create({.schedule = kPinned})->job();
  EXPECT_THAT(pinned.key().schedule(), HasSubstr("d3=16"));
  EXPECT_THAT(pinned.options().schedule(), HasSubstr("k=16"));
  EXPECT_NE(pinned.name(), free.name());
  EXPECT_NE(KernelId(pinned.key()), KernelId(free.key()));
  EXPECT_TRUE(Create({.schedule = "L2 : tile k=16 # the same"})->joined());
  // A schedule that says nothing is none.
  EXPECT_EQ(Create({.schedule = "# nothing"})->job().name(), free.name());
}

TEST_F(ScheduleServiceTest, WhatIsFoundIsTheFreeRecordUntilThatIsSearched) {
  const v1::TuningJob pinned = FinishJob(Create({.schedule = kPinned})->job().name());
  ASSERT_EQ(pinned.state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  const v1::TuningRecord own = *table_.FindRecord(pinned.key());
  EXPECT_FALSE(own.is_provisional());
  EXPECT_THAT(own.schedule(), HasSubstr("order"));
  const Result<v1::TuningRecord> free = table_.FindRecord(FreeKeyOf());
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_TRUE(free->is_provisional());
  EXPECT_EQ(free->parameters(), own.parameters());
  EXPECT_EQ(client_->GetKernel(free->name())->source(), "int fake;");
  // A free search begins, and replaces it.
  tune_.time_ns = 2'000'000;
  const v1::TuningJob searched = FinishJob(Create({})->job().name());
  EXPECT_EQ(searched.progress().trials(), 1);
  EXPECT_EQ(table_.FindRecord(FreeKeyOf())->time_ns(), 2'000'000);
  EXPECT_FALSE(table_.FindRecord(FreeKeyOf())->is_provisional());
  EXPECT_EQ(table_.FindRecord(pinned.key())->time_ns(), 1'000'000);
}

TEST_F(ScheduleServiceTest, WhatIsFasterBecomesTheFreeRecordAndNothingElse) {
  ASSERT_EQ(FinishJob(Create({})->job().name()).state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  const v1::TuningRecord before = *table_.FindRecord(FreeKeyOf());
  tune_.time_ns = 1'500'000;
  FinishJob(Create({.schedule = kPinned})->job().name());
  EXPECT_EQ(table_.FindRecord(FreeKeyOf())->time_ns(), 1'000'000);
  tune_.time_ns = 500'000;
  const v1::TuningJob faster = FinishJob(Create({.schedule = "L2: tile k=8"})->job().name());
  const v1::TuningRecord after = *table_.FindRecord(FreeKeyOf());
  EXPECT_EQ(after.time_ns(), 500'000);
  EXPECT_FALSE(after.is_provisional());
  EXPECT_EQ(after.total_search_time_ns(), before.total_search_time_ns());
  // Of the first schedule nothing is known but its own search.
  const Result<v1::CreateTuningJobResponse> again = Create({.schedule = kPinned});
  EXPECT_EQ(again->job().progress().best_time_ns(), 1'500'000);
  EXPECT_EQ(table_.FindRecord(faster.key())->time_ns(), 500'000);
}

TEST_F(ScheduleServiceTest, LookupsByKeyKnowSchedules) {
  const v1::TuningJob pinned = FinishJob(Create({.schedule = kPinned})->job().name());
  v1::KernelKey key = Client::KeyOf(MatMulExpression(64, 64, 64));
  key.set_schedule(pinned.key().schedule());
  const Result<v1::LookupKernelResponse> found = client_->Lookup(key);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->record().name(), pinned.record());
  key.set_schedule("L2: tile d3=4");
  const Status missed = client_->Lookup(key).status();
  EXPECT_EQ(missed.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(missed), "MISS_REASON_OTHER_SCHEDULE");
}

TEST_F(ScheduleServiceTest, LookupsByExpressionKnowSchedules) {
  const Expression product = MatMulExpression(64, 64, 64);
  FinishJob(Create({})->job().name());
  tune_.time_ns = 2'000'000;
  const v1::TuningJob pinned = FinishJob(Create({.schedule = kPinned})->job().name());
  const auto find = [&](const std::string& schedule) {
    return client_->LookupScheduled(product, schedule);
  };
  const auto own = find("# the same\nL2 : tile k = 4*4");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->record().name(), pinned.record());
  EXPECT_EQ(find("L2: tile k=?")->record().time_ns(), 1'000'000);
  EXPECT_EQ(ReasonOf(find("L2: tile k=4").status()), "MISS_REASON_OTHER_SCHEDULE");
  EXPECT_EQ(FieldOf(find("L9: tile k=16").status()), "schedule");
  const auto best = [&](v1::MatchKind weakest, const std::string& schedule) {
    return client_->GetBestKernel(product, {}, weakest, {}, schedule);
  };
  const auto kernel = best(v1::MATCH_KIND_COMPATIBLE, kPinned);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->record().name(), pinned.record());
  EXPECT_EQ(kernel->match(), v1::MATCH_KIND_EXACT);
  EXPECT_TRUE(absl::IsNotFound(best(v1::MATCH_KIND_EXACT, "L2: tile k=4").status()));
  // What was not measured keeps to none.
  EXPECT_EQ(FieldOf(best(v1::MATCH_KIND_PREDICTED, kPinned).status()), "schedule");
  EXPECT_EQ(FieldOf(client_->LookupScheduled(product, kPinned, v1::MATCH_KIND_NEAREST).status()),
            "schedule");
}

TEST_F(ScheduleServiceTest, ResultsFromElsewhereKeepToTheirSchedule) {
  v1::TuningRecord record = RecordFor(64, 1000);
  record.mutable_key()->set_schedule("L2: tile d3=3");
  const Status refused = admin_client_->PutKernel(record).status();
  EXPECT_THAT(FieldOf(refused), HasSubstr("record.")) << refused;
  record.mutable_key()->set_schedule("nonsense");
  EXPECT_EQ(FieldOf(admin_client_->PutKernel(record).status()), "record.key.schedule");
}

// Names of dimensions and buffers are no part of a key.
TEST(ScheduleKey, IsTheSameForOtherNames) {
  const Expression one = MatMulExpression(8, 16, 32);
  const SystemModel model = OpenMpSimdRegistersModel();
  const Result<Schedule> schedule = Schedule::Parse(kPinned, one, model);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const std::string key = KeyScheduleOf(*schedule);
  const Result<Schedule> again = ScheduleOfKey(key, one, model);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->CanonicalText(), schedule->CanonicalText());
  EXPECT_EQ(KeyScheduleOf(*again), key);
  EXPECT_FALSE(ScheduleOfKey("L2: tile k=16", one, model).ok());
}

}  // namespace
}  // namespace mdh::schedule_service_test
