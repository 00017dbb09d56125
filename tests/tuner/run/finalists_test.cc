// The turns of the finals on a device that does what the test says.
#include "tuner/run/finalists.h"

#include <deque>
#include <utility>

#include "core/text/parser.h"
#include "gtest/gtest.h"

namespace mdh::finalists_test {
namespace {

// Kernels take `time_ns` of what their entry is called, and those called "shaky" are disturbed.
class TurnRunner final : public Runner {
 public:
  explicit TurnRunner(DeviceDescription device) : device_(std::move(device)) {}
  const DeviceDescription& device() const override { return device_; }
  Status SetProblem(const ComputationView&, uint64_t, const Numerics&) override {
    return absl::OkStatus();
  }
  Result<int64_t> LoopNestTime() override { return 0; }
  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions&) override {
    Measurement measurement;
    measurement.times_ns = {1000, 1000, 1000};
    measurement.is_disturbed = kernel.entry == "shaky";
    submitted_.push_back({number, std::move(measurement)});
    return absl::OkStatus();
  }
  Result<Finished> Next() override {
    Finished finished = std::move(submitted_.front());
    submitted_.pop_front();
    return finished;
  }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{}; }
  void Interrupt() override {}

 private:
  const DeviceDescription device_;
  std::deque<Finished> submitted_;
};

std::vector<Measurement> FinalsOn(const DeviceDescription& device) {
  TurnRunner runner(device);
  const auto expression = ParseExpression(
      "e := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o "
      "inp_view<fp32>( x: (i) -> (i) ) where f(x) -> y { y = x }");
  EXPECT_TRUE(expression.ok()) << expression.status();
  std::vector<Finalist> finalists(2);
  finalists[0].kernel.entry = "steady";
  finalists[1].kernel.entry = "shaky";
  const auto times = MeasureFinalists(runner, *expression, {}, finalists, /*patience_ns=*/0, false);
  EXPECT_TRUE(times.ok()) << times.status();
  return {times->Final(0), times->Final(1)};
}

TEST(FinalistsTest, WhatWasDisturbedIsMarked) {
  DeviceDescription cpu;
  cpu.kind = DeviceKind::kCpu;
  const std::vector<Measurement> finals = FinalsOn(cpu);
  EXPECT_FALSE(finals[0].is_disturbed);
  EXPECT_TRUE(finals[1].is_disturbed);
}

TEST(FinalistsTest, OfADriverOnTheHostWhatDisturbsOneKernelOfATurnDisturbsAll) {
  DeviceDescription device;
  device.kind = DeviceKind::kOpenCl;
  device.blocks.warp_size = 1;
  EXPECT_TRUE(FinalsOn(device)[0].is_disturbed);
  device.blocks.warp_size = 32;
  EXPECT_FALSE(FinalsOn(device)[0].is_disturbed);
}

}  // namespace
}  // namespace mdh::finalists_test
