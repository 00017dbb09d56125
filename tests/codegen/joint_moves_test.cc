// The neighbourhood of joint groups: what it changes, what it leaves, and that there is code.
#include "codegen/joint_moves.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "codegen/pipeline_defaults.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/row_pipelines.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/source_path.h"

namespace mdh::joint_moves_test {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string Shipped(const std::string& name) {
  std::ifstream file(SourcePath("client/expressions/pipelines/" + name));
  std::stringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

class JointMovesTest : public ::testing::Test {
 protected:
  // Moves from what rules say; all of them are different and parse again, and of the first few some
  // have code.
  std::vector<PipelineParameters> MovesOf(const std::string& text, const Bindings& bindings,
                                          const SystemModel& model,
                                          const DeviceDescription& device) {
    const Result<Pipeline> pipeline = ParsePipeline(text, bindings);
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    const std::vector<Partition> partitions = PlanPartitions(*pipeline);
    const PipelineDefaults rules = DefaultPipelineParameters(partitions, model, device);
    from_ = rules.parameters;
    const Partition& partition = partitions[rules.partition];
    std::vector<PipelineParameters> moves = JointMoves(partition, from_, model, device);
    std::set<std::string> texts = {ToText(from_)};
    size_t with_code = 0, built = 0;
    for (const PipelineParameters& moved : moves) {
      EXPECT_TRUE(texts.insert(ToText(moved)).second) << ToText(moved);
      EXPECT_EQ(*ParsePipelineParameters(ToText(moved)), moved);
      EXPECT_EQ(moved.edges, from_.edges);
      if (++built > kBuilt) continue;
      with_code +=
          GeneratePipelineKernel(partition.pipeline, model, device, moved.steps, moved.groups).ok();
    }
    EXPECT_GT(with_code, 0U);
    return moves;
  }

  static constexpr size_t kBuilt = 8;
  PipelineParameters from_;
};

TEST_F(JointMovesTest, RowsChangeOneNumberOrWhereTheyAreKept) {
  const auto moves =
      MovesOf(kSoftMax, {{"M", "4096"}, {"N", "1024"}}, CudaModel(), *DescribeCudaArchitecture(90));
  ASSERT_THAT(from_.groups, SizeIs(1));
  const RowLayout rows = *from_.groups[0].rows;
  std::vector<RowLayout> layouts;
  for (const PipelineParameters& moved : moves) layouts.push_back(*moved.groups[0].rows);
  const auto with = [&](const auto& change) {
    RowLayout layout = rows;
    change(layout);
    return layout;
  };
  EXPECT_THAT(layouts,
              IsSupersetOf({with([](RowLayout& l) { l.threads *= 2; }),
                            with([](RowLayout& l) { l.rows *= 2; }),
                            with([](RowLayout& l) { l.vector /= 2; }),
                            with([](RowLayout& l) { l.keep = RowLayout::Keep::kNothing; })}));
}

TEST_F(JointMovesTest, PlanesChangePartsColumnsOrBlocks) {
  const auto moves =
      MovesOf(Shipped("jacobi3d_4.mdh"), {}, CudaModel(), *DescribeCudaArchitecture(90));
  ASSERT_THAT(from_.groups, SizeIs(1));
  ASSERT_TRUE(from_.groups[0].planes);
  std::set<int64_t> columns, blocks, parts;
  for (const PipelineParameters& moved : moves) {
    ASSERT_TRUE(moved.groups[0].planes);
    columns.insert(moved.groups[0].planes->column);
    blocks.insert(moved.groups[0].planes->resident);
    parts.insert(moved.groups[0].part[0]);
  }
  EXPECT_GT(columns.size(), 3U);
  EXPECT_GT(blocks.size(), 1U);
  EXPECT_THAT(parts, SizeIs(3));
}

TEST_F(JointMovesTest, StreamedGroupsChangeChunksThreadsAndLanes) {
  const Bindings sizes = {{"B", "4"}, {"H", "16"}, {"I", "1024"}, {"J", "1024"}, {"E", "64"}};
  const auto moves =
      MovesOf(Shipped("attention.mdh"), sizes, CudaModel(), *DescribeCudaArchitecture(90));
  ASSERT_THAT(from_.groups, SizeIs(1));
  std::set<int64_t> chunks, splits, parts;
  bool has_other_steps = false;
  for (const PipelineParameters& moved : moves) {
    const JointGroup& group = moved.groups[0];
    chunks.insert(group.chunk);
    splits.insert(group.splits);
    parts.insert(group.part.back());
    has_other_steps |= group == from_.groups[0] && moved.steps != from_.steps;
  }
  const int64_t chunk = from_.groups[0].chunk;
  EXPECT_THAT(chunks, UnorderedElementsAre(chunk / 2, chunk, 2 * chunk));
  EXPECT_GT(splits.size(), 1U);
  EXPECT_GT(parts.size(), 1U);
  EXPECT_TRUE(has_other_steps);
}

// Two contractions and what is between them in shared memory.
TEST_F(JointMovesTest, StepsAreDesignedInOtherWaysOneByOne) {
  const auto moves =
      MovesOf(Shipped("interp.mdh"), {{"E", "5000"}}, CudaModel(), *DescribeCudaArchitecture(90));
  ASSERT_THAT(from_.groups, SizeIs(1));
  const auto of_one_step = std::ranges::count_if(moves, [&](const PipelineParameters& moved) {
    int changed = 0;
    for (size_t s = 0; s < moved.steps.size(); ++s) changed += moved.steps[s] != from_.steps[s];
    return moved.groups == from_.groups && changed == 1;
  });
  EXPECT_GT(of_one_step, 2);
}

TEST_F(JointMovesTest, CoresChangePartsOrTheTileOfOneStep) {
  DeviceDescription cpu = *DescribeHostCpu();
  cpu.cores = 2;
  cpu.l2_bytes = 1 << 20;
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"M", "64"}, {"N", "32"}});
  const Partition partition = PlanPartitions(pipeline).front();
  const SystemModel model = TuningModel(DeviceKind::kCpu);
  const auto candidates = JointCandidates(partition, model, cpu);
  ASSERT_FALSE(candidates.empty());
  const PipelineParameters& from = candidates.front();
  const auto moves = JointMoves(partition, from, model, cpu);
  int of_parts = 0, of_steps = 0;
  for (const PipelineParameters& moved : moves) {
    EXPECT_EQ(64 % moved.groups[0].part[0], 0);
    int changed = 0;
    for (size_t s = 0; s < moved.steps.size(); ++s) {
      changed += moved.steps[s] != from.steps[s];
      EXPECT_EQ(moved.steps[s].compiler, from.steps[s].compiler);
      EXPECT_EQ(moved.steps[s].streams_results, from.steps[s].streams_results);
    }
    const bool keeps_parts = moved.groups == from.groups;
    EXPECT_TRUE(!keeps_parts || changed == 1) << ToText(moved);
    ++(keeps_parts ? of_steps : of_parts);
    EXPECT_TRUE(
        GeneratePipelineKernel(partition.pipeline, model, cpu, moved.steps, moved.groups).ok());
  }
  EXPECT_GT(of_parts, 0);
  EXPECT_GT(of_steps, 1);
}

TEST_F(JointMovesTest, WithoutGroupsThereAreNone) {
  const Pipeline pipeline = *ParsePipeline(kLayer, {{"M", "64"}, {"N", "51"}, {"K", "25"}});
  const Partition partition = PlanPartitions(pipeline).front();
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  PipelineParameters from = {.edges = partition.edges};
  from.steps = DefaultParameters(partition.pipeline, CudaModel(), device);
  EXPECT_THAT(JointMoves(partition, from, CudaModel(), device), IsEmpty());
}

}  // namespace
}  // namespace mdh::joint_moves_test
