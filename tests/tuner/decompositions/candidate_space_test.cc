// Spaces of decompositions as people decide in them.
#include "tuner/decompositions/candidate_space.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "core/decomposition/validate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"

namespace mdh::candidate_space_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Decisions = std::vector<NamedDecision>;

Expression Shipped(const std::string& name, int64_t largest = 128) {
  return *ShippedExpression(SourcePath(), name, largest);
}

DeviceDescription Gpu() { return *DescribeCudaArchitecture(90); }

// Of a matrix multiplication. Rules for GPUs take their time, so that there is one for all tests.
const CandidateSpace& SpaceOn(const DeviceDescription& device) {
  const auto create = [](const DeviceDescription& on) {
    return new CandidateSpace(
        *CandidateSpace::Create(Shipped("matmul"), on, NumericsPolicy::kReassociate));
  };
  static const CandidateSpace* const cpu = create(CpuForSpaces());
  static const CandidateSpace* const gpu = create(Gpu());
  return device.kind == DeviceKind::kCpu ? *cpu : *gpu;
}

TEST(ParameterMeaning, IsKnownOfAllParameters) {
  for (const std::string name : {"matmul", "dot", "jacobi1d", "gen_histo", "ccsdt_gdab_efgc"}) {
    const Expression expression = Shipped(name, 16);
    for (const SpaceBackend& backend : SpaceBackends()) {
      const Result<MdhSpace> space =
          MdhSpace::Create(expression, backend.model, backend.device, NumericsPolicy::kReassociate,
                           {.max_bytes = 1 << 20});
      if (!space.ok()) continue;
      const std::vector<ParameterMeaning> meanings = space->Meanings();
      for (size_t n = 0; n < meanings.size(); ++n) {
        const TuningParameter& parameter = space->space().parameters()[n];
        EXPECT_THAT(meanings[n].text, Not(IsEmpty()))
            << parameter.name << " of " << name << " on " << backend.name;
        EXPECT_THAT(meanings[n].text, Not(HasSubstr("$")));
        ValueNames names = meanings[n].names;
        ASSERT_EQ(names.size(), parameter.range.size()) << parameter.name;
        std::sort(names.begin(), names.end());
        EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << parameter.name;
      }
    }
  }
}

TEST(ParameterMeaning, HasTheWordsOfSchedules) {
  const CandidateSpace& space = SpaceOn(CpuForSpaces());
  std::map<std::string, ParameterMeaning> by_name;
  for (size_t n = 0; n < space.meanings().size(); ++n) {
    by_name[space.space().space().parameters()[n].name] = space.meanings()[n];
  }
  EXPECT_EQ(by_name["parts_L2_k"].text, "into how many parts layer L2 cuts dimension k");
  EXPECT_EQ(by_name["parts_L2_k"].layer, "L2");
  EXPECT_EQ(by_name["parts_L2_k"].dimension, "k");
  EXPECT_EQ(by_name["parts_L2_k"].schedule, "L2: parts k");
  EXPECT_EQ(by_name["stage_B"].buffer, "B");
  EXPECT_EQ(by_name["stage_B"].schedule, "input B: copy");
  EXPECT_THAT(by_name["stage_B"].names, ::testing::Contains("never"));
  EXPECT_EQ(by_name["compiler"].schedule, "compiler");
  EXPECT_THAT(by_name["compiler"].names, ::testing::Contains("gcc"));
  EXPECT_THAT(by_name["vector_dimension"].names, ::testing::Contains("j"));
}

// Every configuration that decisions leave keeps to what is printed for them.
TEST(CandidateSpace, PrintsDecisionsAsASchedule) {
  for (const DeviceDescription& device : {CpuForSpaces(), Gpu()}) {
    const Expression expression = Shipped("matmul");
    const CandidateSpace& space = SpaceOn(device);
    const SystemModel model = TuningModel(device.kind);
    Rng rng(7);
    for (int round = 0; round < 20; ++round) {
      PartialConfiguration partial = space.open();
      for (int n = 0; n < 6; ++n) {
        const auto open = partial.Open();
        const int parameter = open[rng() % open.size()];
        const auto values = partial.Remaining(parameter);
        std::vector<int64_t> kept;
        for (const ValueCount& value : values) {
          if (rng() % 2 == 0) kept.push_back(value.code);
        }
        if (kept.empty()) kept.push_back(values[0].code);
        partial = *partial.Decide(parameter, kept);
      }
      const std::string text = space.ScheduleOf(partial);
      const Result<Schedule> schedule = Schedule::Parse(text, expression, model);
      ASSERT_TRUE(schedule.ok()) << schedule.status() << "\n" << text;
      for (int n = 0; n < 20; ++n) {
        const TuningParameters p = space.space().Decode(partial.Sample(rng));
        EXPECT_TRUE(schedule->Allows(p).ok()) << schedule->Allows(p) << "\n" << text;
      }
    }
  }
}

TEST(CandidateSpace, PrintsWhatIsCompleteCompletely) {
  const CandidateSpace& space = SpaceOn(CpuForSpaces());
  Rng rng(3);
  const Configuration sample = space.open().Sample(rng);
  PartialConfiguration partial = space.open();
  for (size_t n = 0; n < sample.size(); ++n) {
    partial = *partial.Decide(static_cast<int>(n), {sample[n]});
  }
  EXPECT_TRUE(partial.is_complete());
  EXPECT_EQ(space.ScheduleOf(partial), Schedule::Of(space.space().Decode(sample), Shipped("matmul"),
                                                    OpenMpSimdRegistersModel())
                                           .CanonicalText());
}

TEST(CandidateSpace, SaysWhatSchedulesCannotAsComments) {
  const CandidateSpace& space = SpaceOn(Gpu());
  const Result<PartialConfiguration> partial =
      space.With(Decisions{{"threads_combine", {"shared"}}, {"parts_THR_i", {"rest", "4"}}});
  ASSERT_TRUE(partial.ok()) << partial.status();
  const std::string text = space.ScheduleOf(*partial);
  EXPECT_THAT(text, HasSubstr("# threads_combine=shared\n"));
  EXPECT_THAT(text, HasSubstr("# parts_THR_i="));
}

TEST(CandidateSpace, TakesNamesAndNumbers) {
  const CandidateSpace& space = SpaceOn(CpuForSpaces());
  EXPECT_TRUE(*space.With(Decisions{{"stage_B", {"never"}}}) ==
              *space.With(Decisions{{"stage_B", {"-2"}}}));
  EXPECT_TRUE(*space.With(Decisions{{"parts_L2_k", {"rest"}}}) ==
              *space.With(Decisions{{"parts_L2_k", {"0"}}}));
  const Status unknown = space.With(Decisions{{"parts_L9_k", {"1"}}}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(unknown));
  EXPECT_THAT(std::string(unknown.message()),
              StartsWith("no parameter is named 'parts_L9_k'; there are "));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("parts_L2_k"));
  const Status no_value = space.With(Decisions{{"stage_B", {"L9"}}}).status();
  EXPECT_THAT(std::string(no_value.message()),
              StartsWith("parameter 'stage_B' has no value 'L9'; it has never"));
  EXPECT_THAT(space.With(Decisions{{"stage_B", {}}}).status().ToString(),
              HasSubstr("names no value"));
}

TEST(CandidateSpace, FinishesAsRulesWouldWhereItCan) {
  for (const DeviceDescription& device : {CpuForSpaces(), Gpu()}) {
    const Expression expression = Shipped("matmul");
    const CandidateSpace& space = SpaceOn(device);
    const SystemModel model = TuningModel(device.kind);
    const Result<FinishedCandidate> free = space.ByRules(space.open());
    ASSERT_TRUE(free.ok()) << free.status();
    const std::string dimension = device.kind == DeviceKind::kCpu ? "parts_L2_k" : "parts_DEV_k";
    const Result<PartialConfiguration> partial = space.With(Decisions{{dimension, {"8"}}});
    ASSERT_TRUE(partial.ok()) << partial.status();
    for (const Result<FinishedCandidate>& finished :
         {space.ByRules(*partial), space.Sample(*partial, 5),
          space.Near(*partial, DefaultParameters(expression, model, device))}) {
      ASSERT_TRUE(finished.ok()) << finished.status();
      EXPECT_TRUE(partial->Contains(finished->configuration));
      const TuningParameters p = space.space().Decode(finished->configuration);
      EXPECT_TRUE(Validate(expression, model, device, p).ok());
      EXPECT_GE(finished->changed, 0);
    }
    EXPECT_LE(free->changed, space.ByRules(*partial)->changed);
    EXPECT_NE(space.Sample(*partial, 5)->configuration, space.Sample(*partial, 6)->configuration);
  }
}

TEST(CandidateSpace, KeepsToItsSchedule) {
  const Expression expression = Shipped("matmul");
  const Result<Schedule> schedule = Schedule::Parse("L2: tile k=16\nrequire threads() <= 8",
                                                    expression, OpenMpSimdRegistersModel());
  ASSERT_TRUE(schedule.ok());
  const Result<CandidateSpace> space =
      CandidateSpace::Create(expression, CpuForSpaces(), NumericsPolicy::kReassociate, *schedule);
  ASSERT_TRUE(space.ok()) << space.status();
  const Result<PartialConfiguration> partial = space->With(Decisions{{"compiler", {"gcc"}}});
  ASSERT_TRUE(partial.ok()) << partial.status();
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Result<FinishedCandidate> finished = space->Sample(*partial, seed);
    ASSERT_TRUE(finished.ok()) << finished.status();
    EXPECT_TRUE(schedule->Allows(space->space().Decode(finished->configuration)).ok());
  }
  EXPECT_THAT(space->ScheduleOf(*partial), HasSubstr("tile k=16"));
  EXPECT_THAT(space->ScheduleOf(*partial), HasSubstr("compiler=gcc"));
}

TEST(MdhSpace, IsRestricted) {
  const Expression expression = Shipped("matmul");
  const Result<MdhSpace> space =
      MdhSpace::Create(expression, OpenMpSimdRegistersModel(), CpuForSpaces());
  ASSERT_TRUE(space.ok());
  const Result<MdhSpace> restricted =
      space->Restricted(Decisions{{"stage_B", {"never"}}, {"compiler", {"gcc"}, true}});
  ASSERT_TRUE(restricted.ok()) << restricted.status();
  EXPECT_LT(restricted->space().count(), space->space().count());
  Rng rng(1);
  for (int n = 0; n < 50; ++n) {
    const TuningParameters p = restricted->Decode(restricted->space().Sample(rng));
    EXPECT_EQ(p.inputs[1].stage_layer, InputParameters::kInPlace);
    EXPECT_THAT(ToText(p), HasSubstr("clang"));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(
      space->Restricted(Decisions{{"compiler", {"gcc", "clang"}, true}}).status()));
}

}  // namespace
}  // namespace mdh::candidate_space_test
