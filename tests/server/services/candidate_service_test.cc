// Candidates on the wire: what remains of them, how they are finished, and jobs that keep to them.
#include <cmath>
#include <string>
#include <utility>

#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"
#include "proto/pipeline_conversion.h"
#include "tests/server/service_fixture.h"

namespace mdh::candidate_service_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::Restriction Restricted(const std::string& parameter, const std::string& value,
                           bool is_forbidden = false) {
  v1::Restriction restriction;
  restriction.set_parameter(parameter);
  restriction.add_values(value);
  restriction.set_is_forbidden(is_forbidden);
  return restriction;
}

class CandidateServiceTest : public ServiceTest {
 protected:
  static v1::Candidate CandidateOf(const std::vector<v1::Restriction>& restrictions = {},
                                   int64_t size = 64) {
    v1::Candidate candidate;
    *candidate.mutable_expression() = ToProto(ComputationView(MatMulExpression(size, size, size)));
    candidate.mutable_restrictions()->Add(restrictions.begin(), restrictions.end());
    return candidate;
  }
  // On a CPU of which it is known how it is clocked.
  static v1::Candidate Clocked(const std::vector<v1::Restriction>& restrictions = {}) {
    DeviceDescription cpu = FakeCpu();
    cpu.clock_hz = 3e9;
    v1::Candidate candidate = CandidateOf(restrictions, 512);
    *candidate.mutable_device()->mutable_description() = ToProto(cpu);
    return candidate;
  }
  static const v1::CandidateDecision& DecisionOn(const v1::DescribeCandidateResponse& described,
                                                 const std::string& parameter) {
    for (const v1::CandidateDecision& decision : described.decisions()) {
      if (decision.parameter() == parameter) return decision;
    }
    ADD_FAILURE() << "there is no " << parameter;
    return v1::CandidateDecision::default_instance();
  }
  static std::string CountOf(const v1::CandidateDecision& decision, const std::string& value) {
    for (const v1::RemainingValue& remaining : decision.remaining()) {
      if (remaining.value() == value) return remaining.count();
    }
    return "0";
  }
};

TEST_F(CandidateServiceTest, ComparesBoundsWithATime) {
  v1::BoundComparison comparison;
  EXPECT_TRUE(absl::IsNotFound(client_->DescribeCandidate(CandidateOf(), comparison).status()));
  Put(64, 5'000);
  EXPECT_EQ(client_->DescribeCandidate(CandidateOf(), comparison)->bounds().time_ns(), 5'000);
  comparison.set_time_ns(1e12);
  comparison.set_most_configurations(500);
  const auto slow = client_->DescribeCandidate(Clocked(), comparison);
  ASSERT_TRUE(slow.ok()) << slow.status();
  const v1::BoundHistogram& bounds = slow->bounds();
  EXPECT_FALSE(bounds.is_exact());
  EXPECT_EQ(bounds.configurations(), 500);
  EXPECT_EQ(bounds.left(), 500);
  EXPECT_EQ(bounds.counts(0), 500);
  EXPECT_EQ(bounds.left_share_high(), 1);
  EXPECT_GT(bounds.left_share_low(), 0.99);
  // Nothing is faster than a nanosecond.
  comparison.set_time_ns(1);
  const auto fast = client_->DescribeCandidate(Clocked(), comparison);
  ASSERT_TRUE(fast.ok()) << fast.status();
  EXPECT_EQ(fast->bounds().left(), 0);
  EXPECT_EQ(fast->bounds().counts(5), 500);
  EXPECT_FALSE(client_->DescribeCandidate(CandidateOf())->has_bounds());
}

TEST_F(CandidateServiceTest, ComparesOnlyWithWhatIsInRange) {
  for (const auto& [time, most] :
       {std::pair(-1.0, 10), {std::nan(""), 10}, {HUGE_VAL, 10}, {1.0, -1}, {1.0, 100'001}}) {
    v1::BoundComparison comparison;
    comparison.set_time_ns(time);
    comparison.set_most_configurations(most);
    const auto refused = client_->DescribeCandidate(CandidateOf(), comparison);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    EXPECT_EQ(FieldOf(refused.status()),
              most == 10 ? "comparison.time_ns" : "comparison.most_configurations");
  }
}

TEST_F(CandidateServiceTest, DescribesWhatRemains) {
  const auto open = client_->DescribeCandidate(CandidateOf());
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(open->count(), open->space_count());
  EXPECT_TRUE(open->is_exact());
  EXPECT_THAT(open->schedule(), IsEmpty());
  const v1::CandidateDecision& parts = DecisionOn(*open, "parts_L2_k");
  EXPECT_EQ(parts.meaning(), "into how many parts layer L2 cuts dimension k");
  EXPECT_EQ(parts.schedule(), "L2: parts k");
  EXPECT_FALSE(parts.is_restricted());
  Count sum = 0;
  for (const v1::RemainingValue& value : parts.remaining()) sum += Count(value.count());
  EXPECT_EQ(sum.get_str(), open->count());
  EXPECT_EQ(parts.remaining_values(), parts.remaining_size());

  const auto decided = client_->DescribeCandidate(CandidateOf({Restricted("parts_L2_k", "4")}));
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_EQ(decided->count(), CountOf(parts, "4"));
  EXPECT_EQ(decided->space_count(), open->count());
  EXPECT_TRUE(DecisionOn(*decided, "parts_L2_k").is_restricted());
  EXPECT_EQ(DecisionOn(*decided, "parts_L2_k").remaining_values(), 1);
  EXPECT_THAT(decided->schedule(), HasSubstr("L2: parts k=4"));
}

// That bounds hold of what is measured, bound_campaign judges.
TEST_F(CandidateServiceTest, SaysWhatNothingCanBeFasterThan) {
  const auto unknown = client_->DescribeCandidate(CandidateOf({}, 512));  // how it is clocked
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_EQ(unknown->bound_ns(), 0);
  const auto open = client_->DescribeCandidate(Clocked());
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_GT(open->bound_ns(), 0);
  EXPECT_THAT(open->binding_floor(), Not(IsEmpty()));
  EXPECT_THAT(open->bound_assumption(), HasSubstr("no core is clocked above"));
  bool rises = false;
  for (const v1::CandidateDecision& decision : open->decisions()) {
    for (const v1::RemainingValue& value : decision.remaining()) {
      EXPECT_GE(value.bound_ns(), open->bound_ns()) << decision.parameter();
      if (value.bound_ns() <= open->bound_ns() || rises) continue;
      rises = true;  // whoever decides so has the bound that was said
      const auto decided =
          client_->DescribeCandidate(Clocked({Restricted(decision.parameter(), value.value())}));
      ASSERT_TRUE(decided.ok()) << decided.status();
      EXPECT_GE(decided->bound_ns(), value.bound_ns()) << decision.parameter();
    }
  }
}

TEST_F(CandidateServiceTest, OrderMeansNothing) {
  const v1::Restriction a = Restricted("parts_L2_k", "4"), b = Restricted("stage_B", "never", true);
  const auto first = client_->DescribeCandidate(CandidateOf({a, b}));
  ASSERT_TRUE(first.ok()) << first.status();
  for (int n = 0; n < 2; ++n) {  // also from what is kept
    const auto second = client_->DescribeCandidate(CandidateOf({b, a}));
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(second->SerializeAsString(), first->SerializeAsString());
  }
}

TEST_F(CandidateServiceTest, KeepsToSchedules) {
  v1::Candidate candidate = CandidateOf({Restricted("stage_B", "never")});
  candidate.set_schedule("L2: tile k=16");
  const auto described = client_->DescribeCandidate(candidate);
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_THAT(described->schedule(), HasSubstr("k=16"));
  EXPECT_THAT(described->schedule(), HasSubstr("input B: copy never"));
  const auto finished = client_->FinishCandidate(candidate, v1::FINISH_RULE_SAMPLE);
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_THAT(finished->schedule(), HasSubstr("copy never"));
}

TEST_F(CandidateServiceTest, NamesTheDecisionThatEmptiesIt) {
  const v1::Restriction gcc = Restricted("compiler", "gcc");
  const Status nothing =
      client_->DescribeCandidate(CandidateOf({gcc, Restricted("compiler", "gcc", true)})).status();
  EXPECT_EQ(nothing.code(), absl::StatusCode::kFailedPrecondition) << nothing;
  EXPECT_THAT(nothing.message(),
              HasSubstr("no configuration remains after restricting 'compiler'"));
  const Status against =
      client_
          ->DescribeCandidate(
              CandidateOf({gcc, Restricted("vector_dimension", "j"), Restricted("lanes", "1")}))
          .status();
  EXPECT_EQ(against.code(), absl::StatusCode::kFailedPrecondition) << against;
  EXPECT_THAT(against.message(), HasSubstr("restricting 'lanes' to {1}, as that contradicts "
                                           "'vector_dimension' to {j}"));
  EXPECT_THAT(against.message(), Not(HasSubstr("compiler")));
}

TEST_F(CandidateServiceTest, SaysWhatThereIs) {
  const Status name =
      client_->DescribeCandidate(CandidateOf({Restricted("nonsense", "1")})).status();
  EXPECT_EQ(FieldOf(name), "candidate.restrictions");
  EXPECT_THAT(name.message(), HasSubstr("no parameter is named 'nonsense'; there are "));
  const Status value =
      client_->FinishCandidate(CandidateOf({Restricted("compiler", "tcc")}), v1::FINISH_RULE_RULES)
          .status();
  EXPECT_EQ(FieldOf(value), "candidate.restrictions");
  EXPECT_THAT(value.message(), HasSubstr("has no value 'tcc'; it has "));
}

TEST_F(CandidateServiceTest, RefusesTooMany) {
  v1::Candidate candidate = CandidateOf();
  for (int n = 0; n < 1'000'000; ++n) candidate.add_restrictions()->set_parameter("a");
  const Status refused = client_->DescribeCandidate(candidate).status();
  EXPECT_FALSE(refused.ok());
  candidate = CandidateOf();
  for (int n = 0; n < 10'001; ++n) *candidate.add_restrictions() = Restricted("compiler", "gcc");
  EXPECT_EQ(FieldOf(client_->DescribeCandidate(candidate).status()), "candidate.restrictions");
  candidate = CandidateOf({Restricted("compiler", "gcc")});
  for (int n = 0; n < 100'000; ++n) candidate.mutable_restrictions(0)->add_values("gcc");
  const Status values = client_->DescribeCandidate(candidate).status();
  EXPECT_THAT(values.message(), HasSubstr("1 restrictions of 100001 values are more than"));
}

TEST_F(CandidateServiceTest, WrongRequestsNameTheField) {
  v1::Candidate candidate = CandidateOf();
  candidate.mutable_device()->set_name("devices/cuda7");
  EXPECT_EQ(client_->DescribeCandidate(candidate).status().code(), absl::StatusCode::kNotFound);
  candidate = CandidateOf();
  candidate.set_numerics_policy(static_cast<v1::NumericsPolicy>(77));
  EXPECT_EQ(FieldOf(client_->DescribeCandidate(candidate).status()), "candidate.numerics_policy");
  candidate = CandidateOf();
  candidate.set_schedule("L9: tile k=1");
  EXPECT_EQ(FieldOf(client_->DescribeCandidate(candidate).status()), "candidate.schedule");
  candidate.clear_expression();
  EXPECT_EQ(FieldOf(client_->DescribeCandidate(candidate).status()), "candidate.expression");
  EXPECT_EQ(FieldOf(client_->FinishCandidate(CandidateOf(), v1::FINISH_RULE_UNSPECIFIED).status()),
            "by");
}

TEST_F(CandidateServiceTest, FinishesByRulesAndSamples) {
  const std::vector<v1::Restriction> restrictions = {Restricted("parts_L2_k", "4"),
                                                     Restricted("compiler", "gcc")};
  for (const v1::FinishRule by : {v1::FINISH_RULE_RULES, v1::FINISH_RULE_SAMPLE}) {
    const auto finished = client_->FinishCandidate(CandidateOf(restrictions), by, 3);
    ASSERT_TRUE(finished.ok()) << finished.status();
    EXPECT_THAT(finished->parameters(), HasSubstr("tile="));
    EXPECT_THAT(finished->kernel().source(), Not(IsEmpty()));
    EXPECT_THAT(finished->kernel().name(), IsEmpty());
    EXPECT_THAT(finished->schedule(), HasSubstr("compiler=gcc"));
    // It is what it says: its configuration leaves one.
    std::vector<v1::Restriction> all(finished->configuration().begin(),
                                     finished->configuration().end());
    const auto described = client_->DescribeCandidate(CandidateOf(all));
    ASSERT_TRUE(described.ok()) << described.status();
    EXPECT_EQ(described->count(), "1");
    EXPECT_EQ(described->schedule(), finished->schedule());
  }
  const auto one = client_->FinishCandidate(CandidateOf(restrictions), v1::FINISH_RULE_SAMPLE, 3);
  const auto two = client_->FinishCandidate(CandidateOf(restrictions), v1::FINISH_RULE_SAMPLE, 4);
  EXPECT_NE(one->parameters(), two->parameters());
}

TEST_F(CandidateServiceTest, FinishesNearARecord) {
  const v1::Candidate candidate = CandidateOf({Restricted("stage_B", "never")});
  const auto nothing = client_->FinishCandidate(candidate, v1::FINISH_RULE_NEAREST_RECORD);
  EXPECT_EQ(nothing.status().code(), absl::StatusCode::kNotFound) << nothing.status();
  const v1::TuningRecord record = Put(128, 1000);
  const auto finished = client_->FinishCandidate(candidate, v1::FINISH_RULE_NEAREST_RECORD);
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_EQ(finished->made_from(), record.name());
}

TEST_F(CandidateServiceTest, JobsKeepToRestrictions) {
  TuneOptions options;
  options.restrictions = {Restricted("parts_L2_k", "4")};
  const Expression expression = MatMulExpression(64, 64, 64);
  const auto created = client_->CreateJob(expression, options);
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_EQ(created->job().options().restrictions_size(), 1);
  EXPECT_EQ(created->job().options().restrictions(0).parameter(), "parts_L2_k");
  EXPECT_EQ(created->job().key().schedule(), "");
  // It is shared with equal requests only.
  EXPECT_TRUE(client_->CreateJob(expression, options)->joined());
  EXPECT_FALSE(client_->CreateJob(expression, {})->joined());

  options.restrictions = {Restricted("nonsense", "4")};
  EXPECT_EQ(FieldOf(client_->CreateJob(expression, options).status()), "options.restrictions");
  options.restrictions = {Restricted("compiler", "gcc"), Restricted("compiler", "gcc", true)};
  const Status nothing = client_->CreateJob(expression, options).status();
  EXPECT_EQ(nothing.code(), absl::StatusCode::kFailedPrecondition) << nothing;
  const Result<Pipeline> pipeline = ParsePipeline(R"(
two := pipeline(x) -> z { y = half(x); z = half(y) }
half := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x / 2 }
)");
  const Status refused = client_->CreateJob(*pipeline, options).status();
  EXPECT_EQ(FieldOf(refused), "options.restrictions") << refused;
}

// What is found with restrictions is measured though there is a record, which stays if it is
// faster, and no search stands behind it.
TEST_F(CandidateServiceTest, RecordsAreReplacedByFasterOnesOnly) {
  const Expression expression = MatMulExpression(64, 64, 64);
  tune_.time_ns = 5000;
  FinishJob(client_->CreateJob(expression, {.budget_ns = 1'000'000'000})->job().name());
  const v1::TuningRecord first = client_->Lookup(expression)->record();
  EXPECT_EQ(first.time_ns(), 5000);
  TuneOptions restricted;
  restricted.budget_ns = 1'000'000;
  restricted.restrictions = {Restricted("compiler", "gcc")};
  for (const int64_t time_ns : {9000, 4000}) {
    tune_.time_ns = time_ns;
    const auto created = client_->CreateJob(expression, restricted);
    ASSERT_TRUE(created.ok()) << created.status();
    EXPECT_EQ(created->job().state(), v1::TUNING_JOB_STATE_QUEUED);
    FinishJob(created->job().name());
    const v1::TuningRecord now = client_->Lookup(expression)->record();
    EXPECT_EQ(now.time_ns(), std::min<int64_t>(time_ns, 5000));
    EXPECT_EQ(now.total_search_time_ns(), first.total_search_time_ns());
    EXPECT_FALSE(now.is_provisional());
  }
}

}  // namespace
}  // namespace mdh::candidate_service_test
