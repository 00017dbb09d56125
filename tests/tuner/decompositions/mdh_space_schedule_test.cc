// Schedules and spaces: found parameters print as schedules that allow what means the same, and
// nothing else; pinned spaces hold what is left of free ones, and what experts pin besides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "core/decomposition/low_level_expression.h"
#include "core/schedule/complete_parameters.h"
#include "core/schedule/facts.h"
#include "core/schedule/parameters_as_decisions.h"
#include "core/schedule/schedule.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/random_expression.h"
#include "tests/random_parameters.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh::mdh_space_schedule_test {
namespace {

MdhProblem ProblemOf(const Expression& expression, const SpaceBackend& target) {
  std::vector<int64_t> sizes;
  for (const Dimension& d : expression.dimensions()) sizes.push_back(d.size);
  return {expression, {}, sizes, target.model, target.device, NumericsPolicy::kReassociate};
}

// What is wrong with the schedule of p; empty: nothing.
std::string JudgePrinted(const MdhProblem& problem, const TuningParameters& p,
                         const std::vector<TuningParameters>& others) {
  const Schedule schedule = Schedule::Of(p, problem.expression, problem.model);
  const std::string text = schedule.CanonicalText();
  const Result<Schedule> again = Schedule::Parse(text, problem.expression, problem.model);
  if (!again.ok()) return absl::StrCat("does not read back: ", ErrorMessage(again), "\n", text);
  if (again->CanonicalText() != text) {
    return absl::StrCat("reads as something else:\n", text, "\n", again->CanonicalText());
  }
  const Status allowed = again->Allows(p);
  if (!allowed.ok()) return absl::StrCat("does not allow itself: ", allowed.ToString(), "\n", text);
  for (const TuningParameters& q : others) {
    if (again->Allows(q).ok() == MeanTheSame(problem, p, q)) continue;
    return absl::StrCat("differs from MeanTheSame:\n", text, ToText(q), "\n",
                        again->Allows(q).ToString());
  }
  return "";
}

// Of other expressions in every run; MDH_SCHEDULES in the environment says how many configurations
// of each model (10,000 once in a while).
TEST(SchedulesOfRecordsTest, AllowWhatMeansTheSame) {
  const char* const asked = std::getenv("MDH_SCHEDULES");
  const int expressions = asked == nullptr ? 2 : 20,
            judged = (asked == nullptr ? 80 : std::atoi(asked)) / expressions;
  // Long runs compare each configuration with fewer others.
  const uint64_t compared = asked == nullptr ? 4 : 32;  // one of so many neighbours
  Rng rng(FreshSeed());
  const std::vector<std::string> names = ShippedExpressionNames(SourcePath());
  for (int k = 0; k < expressions; ++k) {
    const std::string& name = names[rng() % names.size()];
    const Result<Expression> expression = ShippedExpression(SourcePath(), name, 24);
    ASSERT_TRUE(expression.ok()) << expression.status();
    for (const SpaceBackend& target : SpaceBackends()) {
      const auto space = MdhSpace::Create(*expression, target.model, target.device);
      ASSERT_TRUE(space.ok()) << space.status();
      const MdhProblem problem = ProblemOf(*expression, target);
      for (int n = 0; n < judged; ++n) {
        const Configuration c = space->space().Sample(rng);
        std::vector<TuningParameters> others = {space->Decode(space->space().Sample(rng))};
        for (const Change& change : space->space().Neighbours(c)) {
          if (rng() % compared != 0) continue;
          Configuration changed = c;
          changed[change.parameter] = change.code;
          others.push_back(space->Decode(changed));
        }
        ASSERT_EQ(JudgePrinted(problem, space->Decode(c), others), "")
            << name << " on " << target.name << "\n"
            << ToText(space->Decode(c));
      }
    }
  }
}

// A configuration that differs a little: one choice, or extents of a dimension.
TuningParameters Changed(TuningParameters p, const Expression& e, Rng& rng) {
  switch (rng() % 4) {
    case 0:
      std::swap(p.phase.order[rng() % p.phase.order.size()], p.phase.order.back());
      break;
    case 1:
      p.unroll = p.unroll == 8 ? 16 : 8;
      break;
    case 2: {
      const size_t d = rng() % static_cast<size_t>(e.rank());
      const size_t l = rng() % p.tile.size();
      p.tile[l][d] = l == 0 ? e.dimensions()[d].size : p.tile[l - 1][d];
      break;
    }
    default:
      if (!p.inputs.empty()) p.inputs[rng() % p.inputs.size()].memory = {};
  }
  return p;
}

// Orders that are not nested, threads in any place, copies in several regions: more than spaces
// have, on all models.
TEST(SchedulesOfRecordsTest, AllowWhatMeansTheSameAsAnyConfiguration) {
  const char* const asked = std::getenv("MDH_SCHEDULES");
  const int judged = asked == nullptr ? 120 : std::atoi(asked);
  int printed = 0, completed = 0;
  Rng rng(FreshSeed());
  for (const SystemModel& model : {OpenMpModel(), OpenMpL3Model(), OpenMpL3SimdModel(), CudaModel(),
                                   CudaWarpModel(), OpenClModel(), *SystemModelNamed("HIP")}) {
    DeviceDescription device =
        model.kind == DeviceKind::kCpu ? CpuForSpaces() : *DescribeCudaArchitecture(80);
    device.kind = model.kind;
    device.features = FeaturesOf(device);
    Expression e = RandomExpression(rng, {.max_rank = 3});
    for (int n = 0; n < judged; ++n) {
      // Of long runs, several configurations are of one expression.
      if (asked == nullptr || n % 8 == 0) e = RandomExpression(rng, {.max_rank = 3});
      const auto p = RandomNestParameters(rng, e, model, device, NumericsPolicy::kReassociate);
      if (!p.has_value() || e.is_empty() || ScheduleText(*p, e, model).empty()) continue;
      ++printed;
      const MdhProblem problem = ProblemOf(e, {model.name, model, device});
      std::vector<TuningParameters> others;
      for (int k = 0; k < 6; ++k) {
        const TuningParameters q = Changed(*p, e, rng);
        if (HasFusedPhases(q) && Validate(e, model, device, q).ok()) others.push_back(q);
      }
      ASSERT_EQ(JudgePrinted(problem, *p, others), "") << model.name << "\n" << ToText(*p);
      // What is printed says a configuration completely, which is made of it again unless buffers
      // are in regions between which no loop is.
      const Schedule schedule = Schedule::Of(*p, e, model);
      const auto complete = CompleteParameters(schedule, device);
      if (!complete.has_value()) continue;
      ++completed;
      ASSERT_TRUE(MeanTheSame(problem, *p, *complete)) << ToText(*p) << "\n" << ToText(*complete);
    }
  }
  EXPECT_GT(printed, judged);
  EXPECT_GT(completed * 10, printed * 8);
}

TEST(SchedulesOfRecordsTest, HaveAtMostTwelveLinesForMatMul) {
  const Expression product = *ShippedExpression(SourcePath(), "matmul", 48);
  Rng rng(FreshSeed());
  for (const SpaceBackend& target : SpaceBackends()) {
    const auto space = MdhSpace::Create(product, target.model, target.device);
    ASSERT_TRUE(space.ok()) << space.status();
    for (int n = 0; n < 20; ++n) {
      const TuningParameters p = space->Decode(space->space().Sample(rng));
      const std::string text = Schedule::Of(p, product, target.model).CanonicalText();
      EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12) << text;
    }
  }
}

// Formulas over all that limits can be about, with what the configuration has.
Decision RandomLimit(const TuningParameters& p, const Schedule& whole, Rng& rng) {
  using Op = Limit::Op;
  const auto layer = static_cast<int>(rng() % whole.model().layers.size());
  const auto d = static_cast<int>(rng() % static_cast<size_t>(whole.expression().rank()));
  const std::vector<Limit> leaves = {
      {.op = Op::kTile, .layer = layer, .dimension = d},
      {.op = Op::kParts, .layer = layer, .dimension = d},
      {.op = Op::kBytes, .layer = layer, .buffer = 0},
      {.op = Op::kBytes, .layer = layer, .buffer = 0, .is_output = true},
      {.op = Op::kThreads},
      {.op = Op::kRegisters}};
  const bool has_registers = whole.model().memory == MemoryKind::kExplicit ||
                             whole.model().LayerWith(LayerRole::kRegisters) >= 0 ||
                             whole.model().LayerWith(LayerRole::kLanes) >= 0;
  const Limit leaf = leaves[rng() % (leaves.size() - (has_registers ? 0 : 1))];
  const ScheduleFacts facts(whole.expression(), whole.model(), p);
  Decision decision{.kind = Decision::Kind::kRequire};
  decision.limit = {.op = rng() % 2 == 0 ? Op::kLessEqual : Op::kEqual,
                    .operands = {leaf, {.number = *Evaluate(leaf, facts)}}};
  return decision;
}

// A few decisions of a configuration, some of which are turned round.
Schedule RandomPart(const Schedule& whole, Rng& rng) {
  std::vector<Decision> decisions;
  for (const Decision& decision : whole.decisions()) {
    if (rng() % 4 != 0) continue;
    decisions.push_back(decision);
    Decision& added = decisions.back();
    if (rng() % 3 == 0 && !added.values.spans().empty()) {
      added.values = ValueSet(added.values.spans(), /*is_negated=*/true);
    }
    if (added.kind == Decision::Kind::kOrder && rng() % 2 == 0 && added.before.size() > 2) {
      added.after = {added.before.back()};
      added.before = {added.before.front()};
      added.has_others = true;
    }
  }
  return whole.With(std::move(decisions));
}

// Spaces of tiny expressions have millions of members: a part of the decisions makes them small,
// others are then compared with what they leave of these.
Schedule SmallPart(const Schedule& whole, const SpaceBackend& target, Rng& rng) {
  constexpr int kMost = 1'000;
  std::vector<Decision> decisions(whole.decisions().begin(), whole.decisions().end());
  std::shuffle(decisions.begin(), decisions.end(), rng);
  while (!decisions.empty()) {
    const Decision last = decisions.back();
    decisions.pop_back();
    const Schedule part = whole.With(decisions);
    const auto space = MdhSpace::Create(whole.expression(), target.model, target.device,
                                        NumericsPolicy::kReassociate, {}, {}, &part);
    if (space.ok() && space->space().count() <= kMost) continue;
    decisions.push_back(last);
    break;
  }
  return whole.With(decisions);
}

void ExpectFiltered(const Expression& expression, const SpaceBackend& target, Rng& rng) {
  const auto create = [&](const Schedule* schedule) {
    return MdhSpace::Create(expression, target.model, target.device, NumericsPolicy::kReassociate,
                            {}, {}, schedule);
  };
  const auto free = create(nullptr);
  ASSERT_TRUE(free.ok()) << free.status();
  const auto any_schedule = [&] {
    return Schedule::Of(free->Decode(free->space().Sample(rng)), expression, target.model);
  };
  const Schedule base = SmallPart(any_schedule(), target, rng);
  const auto small = create(&base);
  ASSERT_TRUE(small.ok()) << small.status();
  std::vector<TuningParameters> all;
  small->space().Enumerate([&](const Configuration& c) {
    all.push_back(small->Decode(c));
    return true;
  });
  for (const TuningParameters& p : all) {
    ASSERT_TRUE(base.Allows(p).ok()) << base.Allows(p) << "\n" << base.CanonicalText() << ToText(p);
    if (rng() % 16 != 0) continue;
    ASSERT_TRUE(free->Encode(p).has_value()) << free->WhyNot(p);
  }
  for (int n = 0; n < 4; ++n) {
    const TuningParameters& p = all[rng() % all.size()];
    const Schedule whole = Schedule::Of(p, expression, target.model);
    const Schedule some = RandomPart(whole, rng);
    std::vector<Decision> added(some.decisions().begin(), some.decisions().end());
    added.push_back(RandomLimit(p, whole, rng));
    const Schedule more = whole.With(std::move(added));
    std::vector<Decision> decisions(base.decisions().begin(), base.decisions().end());
    decisions.insert(decisions.end(), more.decisions().begin(), more.decisions().end());
    const Schedule both = base.With(std::move(decisions));
    const auto left = std::count_if(all.begin(), all.end(),
                                    [&](const TuningParameters& q) { return more.Allows(q).ok(); });
    const auto pinned = create(&both);
    ASSERT_EQ(pinned.ok(), left > 0) << pinned.status() << "\n" << both.CanonicalText();
    if (left == 0) continue;
    ASSERT_EQ(pinned->space().count(), left) << target.name << "\n" << both.CanonicalText();
    EXPECT_TRUE(pinned->has_exactly_schedule());
  }
}

Expression Parsed(const std::string& text) { return *ParseExpression(text, {}, "expression"); }

// Sizes of which all numbers of parts are offered, so that pinned spaces offer nothing more.
TEST(PinnedSpacesTest, HoldWhatIsLeftOfFreeOnes) {
  const Expression expressions[] = {
      Parsed("sums := out_view<fp32>( s: (i,j) -> (i) ) o md_hom<3,4>( f, (++, +) ) o "
             "inp_view<fp32>( A: (i,j) -> (i,j) ) where f(a) -> s { s = a }"),
      Parsed("turned := out_view<fp32>( B: (i,j) -> (j,i) ) o md_hom<4,3>( f, (++, ++) ) o "
             "inp_view<fp32>( A: (i,j) -> (i,j) ) where f(a) -> b { b = a }")};
  Rng rng(FreshSeed());
  for (const SpaceBackend& target : SpaceBackends()) {
    ExpectFiltered(expressions[rng() % 2], target, rng);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace mdh::mdh_space_schedule_test
