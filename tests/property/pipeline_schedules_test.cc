// Random pipelines in random partitions, with groups and configurations of any kind: all print as
// schedules that allow them and nothing else.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/said_pipeline.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/parameters_as_decisions.h"
#include "tests/fresh_seed.h"
#include "tests/property/block_pairs.h"
#include "tests/property/pipeline_pairs.h"

namespace mdh::pipeline_schedules_test {
namespace {

struct Tally {
  int pairs = 0, fused = 0, groups = 0, complete = 0;
};

// Whether schedules speak of all that the steps have: random walks also exchange layers.
bool HasSchedules(const PipelinePair& pair) {
  for (size_t s = 0; s < pair.computed.size(); ++s) {
    const TuningParameters& p = pair.parameters[s];
    if (ScheduleText(p, pair.computed[s], pair.model).empty() && p.fused.empty()) return false;
    if (!Schedule::Of(p, pair.computed[s], pair.model).Allows(p).ok()) return false;
  }
  return true;
}

// "" or what is wrong.
std::string Problem(const PipelinePair& pair, Tally* tally) {
  const std::optional<Partition> partition = PartitionWith(pair.given, pair.edges);
  if (!partition) return "the plan does not find the partition again";
  const PipelineParameters parameters = {pair.edges, pair.groups, pair.parameters};
  const std::string text = PipelineSchedule::TextOf(pair.given, *partition, parameters, pair.model);
  const Result<PipelineSchedule> read = PipelineSchedule::Parse(text, pair.given, pair.model);
  if (!read.ok()) return text + std::string(read.status().message());
  if (const Status allowed = read->Allows(parameters); !allowed.ok()) {
    return text + std::string(allowed.message());
  }
  if (read->CanonicalText() != text) return text + "is canonically\n" + read->CanonicalText();
  const Result<PipelineSchedule> of_key =
      PipelineSchedule::OfKey(read->KeyText(), pair.given, pair.model);
  if (!of_key.ok()) return read->KeyText() + std::string(of_key.status().message());
  if (of_key->KeyText() != read->KeyText() || of_key->CanonicalText() != text) {
    return text + "comes back from its key as\n" + of_key->CanonicalText();
  }
  if (const Status allowed = of_key->Allows(parameters); !allowed.ok()) {
    return read->KeyText() + std::string(allowed.message());
  }
  ++tally->pairs;
  tally->fused += partition->is_unfused() ? 0 : 1;
  tally->groups += pair.groups.empty() ? 0 : 1;
  const auto complete = CompleteParameters(*read, pair.device);
  if (!complete) return "";  // as of single expressions, some are in search spaces only
  ++tally->complete;
  const std::string again = PipelineSchedule::TextOf(pair.given, *partition, *complete, pair.model);
  return again == text ? "" : text + "is completed to\n" + again;
}

// The lines but for some. Without lines about groups of dimensions and of steps, others would be
// about something else.
std::string SomeLines(Rng& rng, const std::string& text) {
  std::string some;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    bool is_kept = false;
    for (const char* word : {"step ", "fuse", "separate", "together"}) {
      is_kept = is_kept || absl::StartsWith(line, word);
    }
    if (is_kept || rng() % 4 != 0) absl::StrAppend(&some, line, "\n");
  }
  return some;
}

// "" or what is wrong with a schedule of which lines were deleted.
std::string ProblemOfSome(Rng& rng, const PipelinePair& pair) {
  const std::optional<Partition> partition = PartitionWith(pair.given, pair.edges);
  const PipelineParameters parameters = {pair.edges, pair.groups, pair.parameters};
  const std::string text =
      SomeLines(rng, PipelineSchedule::TextOf(pair.given, *partition, parameters, pair.model));
  const Result<PipelineSchedule> some = PipelineSchedule::Parse(text, pair.given, pair.model);
  if (!some.ok()) return text + std::string(some.status().message());
  if (const Status allowed = some->Allows(parameters); !allowed.ok()) {
    return text + std::string(allowed.message());
  }
  const Result<PipelineSchedule> again =
      PipelineSchedule::Parse(some->CanonicalText(), pair.given, pair.model);
  const Result<PipelineSchedule> of_key =
      PipelineSchedule::OfKey(some->KeyText(), pair.given, pair.model);
  if (!again.ok() || !of_key.ok()) return some->CanonicalText() + some->KeyText() + "is not read";
  if (again->CanonicalText() != some->CanonicalText()) {
    return text + "is canonically\n" + some->CanonicalText() + "comes back as\n" +
           again->CanonicalText();
  }
  for (const PipelineSchedule* other : {&*again, &*of_key}) {
    if (other->KeyText() == some->KeyText()) continue;
    return some->KeyText() + "comes back as\n" + other->KeyText();
  }
  return "";
}

Tally Print(Backend backend, int pairs) {
  Tally tally;
  BackendOptions options;
  options.backend = backend;
  const auto opened = JudgedBackend::Open(options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  const uint64_t seed = FreshSeed();
  for (int n = 0; opened.ok() && n < pairs; ++n) {
    const auto pair = RandomPipelinePair(**opened, seed + n);
    EXPECT_TRUE(pair.ok()) << pair.status();
    if (!pair.ok() || !pair->has_value() || !HasSchedules(**pair)) continue;
    std::string problem = Problem(**pair, &tally);
    Rng rng(seed + n);
    if (problem.empty()) problem = ProblemOfSome(rng, **pair);
    EXPECT_EQ(problem, "") << "seed " << seed + n << Reproduction(**pair);
  }
  return tally;
}

TEST(PipelineSchedulesTest, ConfigurationsOfCpusPrintAndParse) {
  const Tally tally = Print(Backend::kOpenMp, 100);
  EXPECT_GT(tally.pairs, 40);
  EXPECT_GT(tally.fused, 5);
  EXPECT_GT(tally.groups, 10);
  EXPECT_GT(tally.complete, 20);
}

TEST(PipelineSchedulesTest, ConfigurationsOfGpusPrintAndParse) {
  BackendOptions options;
  options.backend = Backend::kNvrtc;
  if (const auto name = FindBackend(options); !name.ok()) GTEST_SKIP() << name.status().message();
  const Tally tally = Print(Backend::kNvrtc, 60);
  EXPECT_GT(tally.pairs, 15);
  EXPECT_GT(tally.groups, 5);
}

}  // namespace
}  // namespace mdh::pipeline_schedules_test
