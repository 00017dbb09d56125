// Rules of Validate at the lines of schedules that break them.
#include "core/schedule/broken_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/decomposition/parameter_place.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/decomposition/validate.h"
#include "core/device/backends.h"
#include "core/schedule/parameters_as_decisions.h"
#include "tests/core/schedule/matmul.h"
#include "tests/fresh_seed.h"
#include "tests/random_expression.h"
#include "tests/random_parameters.h"

namespace mdh::broken_rule_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

DeviceDescription Gpu() {
  DeviceDescription device = *DescribeCudaArchitecture(80);
  device.features = FeaturesOf(device);
  return device;
}

// What is wrong with the schedule that says these parameters and nothing else; empty: nothing.
std::string Broken(const TuningParameters& p, const Expression& e, const SystemModel& model,
                   const DeviceDescription& device) {
  const std::string text = Schedule::Of(p, e, model).CanonicalText();
  const Result<Schedule> schedule = Schedule::Parse(text, e, model, "s.sched");
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  const auto broken = FindBrokenRule(*schedule, device);
  return broken.has_value() ? ToText(*broken, *schedule) : "";
}

// Blocks of 8 x 8 threads, tiles of A and B in shared memory.
const Expression& Product() {
  static const auto* const product = new Expression(MatMulOf(64, 64, 64));
  return *product;
}
TuningParameters Blocks() {
  const Result<Schedule> schedule =
      Schedule::Parse("BLK: tile i=16, j=16", Product(), CudaModel(), "s.sched");
  EXPECT_TRUE(schedule.ok());
  Result<TuningParameters> p = ParseTuningParameters(
      "model=CUDA;parts=4,4,1|1,1,8|8,8,1|1,1,8|2,2,1;"
      "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,1)(2,2)(2,3)(4,1)(4,2)(4,3)(5,1)(5,2)(5,3);"
      "assign=(1,2)(1,1)(1,3)|(2,1)(2,2)(2,3)|(3,2)(3,1)(3,3)|(4,1)(4,2)(4,3)|(5,1)(5,2)(5,3);"
      "inputs=in_place:0,1:-1|in_place:0,1:-1;"
      "memory=0,0,0|0,0,0|0,0,0|1,1,1|1,1,1/0,0,0|0,0,0|0,0,0|1,1,1|1,1,1;"
      "results=0,0,0|0,0,2|0,0,0|2,2,2|2,2,2",
      Product());
  EXPECT_TRUE(p.ok()) << p.status();
  return *p;
}

TEST(BrokenRule, LimitsOfBlocksAreAtTheirLines) {
  ASSERT_EQ(Broken(Blocks(), Product(), CudaModel(), Gpu()), "");
  struct Case {
    std::function<void(TuningParameters&, DeviceDescription&)> change;
    const char *line, *rule;
  };
  const Case cases[] = {
      {[](auto&, auto& device) { device.blocks.max_threads_per_block = 32; }, "'THR: tile i=2'",
       "threads per block"},
      {[](auto&, auto& device) { device.blocks.max_grid[0] = 2; }, "'BLK: tile i=16'",
       "blocks of the grid along x: 4 > 2"},
      {[](auto&, auto& device) { device.blocks.shared_bytes_per_block = 512; }, "'input A: in SM",
       "bytes of shared memory of a block (D3, R3): 1024 > 512"},
      {[](auto&, auto& device) { device.blocks.registers_per_thread = 3; }, "'output C: in RM",
       "registers of a thread (D3, R3), in words of 32 bits: 4 > 3"},
      {[](auto& p, auto&) { p.inputs[1].padding = 99; }, "'input B: padding=99'",
       "padding of B: 99 is not in"},
      {[](auto& p, auto&) { p.inputs[0].copy_width = 3; }, "'input A: width=3'",
       "3 is no power of two"},
      {[](auto& p, auto&) { p.inputs[0].copy_stages = 9; }, "'input A: stages=9'",
       "stages of the copy of A: 9 is not in 1..2"},
      {[](auto& p, auto&) { p.combine_blocks = CombineBlocks::kAtomics; }, "'combine=atomics'",
       "reduced dimensions have 1 part"},
      {[](auto& p, auto& device) {
         p.resident_blocks = 32;
         device.blocks.registers_per_block = 2048;
       },
       "'resident=32'", "registers of a thread with resident=32"},
      {[](auto& p, auto&) {
         p.lanes = {8, 3, 1};
       },
       "lanes", "such a tile does not divide 32"},
  };
  for (const Case& one : cases) {
    TuningParameters p = Blocks();
    DeviceDescription device = Gpu();
    one.change(p, device);
    const std::string broken = Broken(p, Product(), CudaModel(), device);
    EXPECT_THAT(broken, StartsWith("s.sched:")) << one.rule;
    EXPECT_THAT(broken, HasSubstr(one.line)) << one.rule;
    EXPECT_THAT(broken, HasSubstr(one.rule));
  }
}

TEST(BrokenRule, LimitsOfRegisterTilesAreAtTheirLines) {
  const SystemModel model = OpenMpSimdRegistersModel();
  const Expression product = MatMulOf(300, 200, 100);
  TuningParameters p = SinglePoints(product, model, {});
  p.numerics = NumericsPolicy::kReassociate;
  p.tile = {{60, 200, 100}, {60, 200, 100}, {30, 100, 50}, {6, 5, 1}, {1, 5, 1}, {1, 1, 1}};
  EXPECT_THAT(Broken(p, product, model, DeviceDescription{}),
              HasSubstr("RM: tile j=5' breaks a rule: lanes must be a power of two up to 64"));
  p.tile[3] = p.tile[2];
  p.tile[4] = {1, 1, 1};
  EXPECT_THAT(Broken(p, product, model, DeviceDescription{}),
              HasSubstr("L1: tile i=30' breaks a rule: the register tile unrolls to"));
  p.tile[3] = {6, 4, 1};
  p.inputs[0].stage_layer = InputParameters::kWholeBuffer;
  EXPECT_EQ(Broken(p, product, model, DeviceDescription{}), "");
}

// The line and the word, not only the input or output.
TEST(BrokenRule, WordsAboutCopiesAreNamed) {
  const SystemModel model = OpenMpSimdRegistersModel();
  const Expression product = MatMulOf(300, 200, 100);
  TuningParameters valid = SinglePoints(product, model, {});
  valid.numerics = NumericsPolicy::kReassociate;
  valid.tile = {{60, 200, 100}, {60, 200, 100}, {30, 100, 50}, {6, 4, 1}, {1, 4, 1}, {1, 1, 1}};
  ASSERT_TRUE(Validate(product, model, DeviceDescription{}, valid).ok());
  struct Case {
    std::function<void(TuningParameters&, DeviceDescription&)> change;
    ParameterPlace place;
  };
  using Kind = ParameterPlace::Kind;
  const Case cases[] = {
      {[](auto& p, auto&) { p.inputs[1].strip_dimension = 1; },
       {.kind = Kind::kInput, .buffer = 1, .choice = "strips"}},
      {[](auto& p, auto&) { p.inputs[0].padding = 4; },
       {.kind = Kind::kInput, .buffer = 0, .choice = "padding"}},
      {[](auto& p, auto&) { p.inputs[1].copy_stages = 2; },
       {.kind = Kind::kInput, .buffer = 1, .choice = "stages"}},
      {[](auto& p, auto&) {
         p.inputs[0].layout = {0, 0};
       },
       {.kind = Kind::kInput, .buffer = 0, .choice = "layout"}},
      // B's copies are the larger ones.
      {[](auto& p, auto& device) {
         device.l2_bytes = 64;
         device.l3_bytes = 0;
         p.inputs[0].stage_layer = p.inputs[1].stage_layer = 1;
       },
       {.kind = Kind::kInput, .buffer = 1}},
      {[](auto& p, auto&) {
         p.lowering = Lowering::kLevels;
         p.outputs = {MemoryParameters{.regions = {}, .layouts = {}}};
         p.outputs[0].layouts.assign(6, {{0, 1}, {0, 1}, {1, 1}});
       },
       {.kind = Kind::kOutput, .buffer = 0, .choice = "layout"}},
  };
  for (const Case& one : cases) {
    TuningParameters p = valid;
    DeviceDescription device;
    one.change(p, device);
    const Status broken = Validate(product, model, device, p);
    ASSERT_FALSE(broken.ok()) << one.place.choice;
    ASSERT_TRUE(ParameterPlaceOf(broken).has_value()) << broken;
    EXPECT_EQ(*ParameterPlaceOf(broken), one.place) << broken;
  }
}

TEST(BrokenRule, WhatIsLeftOpenBreaksNone) {
  const Result<Schedule> schedule =
      Schedule::Parse("THR: parts i=64, j=64", Product(), CudaModel(), "s.sched");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_FALSE(FindBrokenRule(*schedule, Gpu()).has_value());
}

// Configurations of a large device on small ones: what Validate says is at a line.
TEST(BrokenRule, AllOfValidateIsAtALine) {
  Rng rng(FreshSeed());
  const SystemModel model = CudaModel();
  int broken = 0;
  for (int n = 0; n < 300; ++n) {
    const Expression e = RandomExpression(rng, {.max_rank = 3});
    DeviceDescription small = Gpu();
    const auto p = RandomNestParameters(rng, e, model, small, NumericsPolicy::kReassociate);
    if (!p.has_value() || e.is_empty() || ScheduleText(*p, e, model).empty()) continue;
    small.blocks.max_threads_per_block = 32;
    small.blocks.max_grid = {int64_t{1} << (rng() % 3), 1, 1};
    small.blocks.shared_bytes_per_block = 16 << (rng() % 4);
    small.blocks.registers_per_thread = 1 << (rng() % 3);
    const Status valid = Validate(e, model, small, *p);
    if (valid.ok()) continue;
    EXPECT_TRUE(ParameterPlaceOf(valid).has_value()) << valid;
    const std::string text = Broken(*p, e, model, small);
    if (text.empty()) continue;  // copies in several regions in front of one loop
    ++broken;
    EXPECT_THAT(text, HasSubstr(" breaks a rule: "));
    EXPECT_THAT(text, StartsWith("s.sched:")) << valid << "\n" << ToText(*p);
  }
  EXPECT_GT(broken, 50);
}

}  // namespace
}  // namespace mdh::broken_rule_test
