// Programs that the level-by-level builder makes of random expressions and configurations: the same
// results before and after the passes, no races between threads, and aligned wide accesses.
#include "codegen/loop_program_walk.h"
#include "codegen/nest_program.h"
#include "codegen/passes.h"
#include "core/text/printer.h"
#include "tests/codegen/pass_golden.h"
#include "tests/random_parameters.h"

namespace mdh {
namespace {

constexpr int kPrograms = 150;
constexpr int64_t kMaxThreads = 3000;  // of all stages

// A GPU with small blocks.
DeviceDescription Device(DeviceKind kind) {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.kind = kind;
  device.blocks.max_threads_per_block = 32;
  device.blocks.max_block = {32, 32, 32};
  return device;
}

// Shuffles exchange values without memory: the evaluator has none.
bool HasShuffles(const LoopProgram& program) {
  bool found = false;
  for (const Stage& stage : program.stages) {
    Visit(stage.body, {.value = [&](const ValueNode& node) {
            found |= std::holds_alternative<ShuffleDown>(node.form) ||
                     std::holds_alternative<ShuffleUp>(node.form);
          }});
  }
  return found;
}

int64_t Threads(const LoopProgram& program) {
  int64_t threads = 0;
  for (const Stage& stage : program.stages) {
    const auto& grid = stage.launch.grid;
    threads += grid[0] * grid[1] * grid[2] * stage.launch.threads_per_block();
  }
  return threads;
}

ScalarValue InputElement(ScalarType type, int64_t n) {
  if (type == ScalarType::kBool) return ScalarValue::Bool(n % 3 == 0);
  if (IsFloatingPoint(type)) return ScalarValue::Real(type, static_cast<double>(n * n % 7 - 2));
  return ScalarValue::Integer(type, n * n % 7);
}

ProgramMemory MemoryOf(const LowLevelExpression& low_level, const LoopProgram& program) {
  ProgramMemory memory;
  for (const KernelArgument& argument : NestArguments(low_level)) {
    auto& elements = memory[argument.name];
    elements.resize(static_cast<size_t>(argument.elements));
    for (int64_t n = 0; n < argument.elements && !argument.is_output; ++n) {
      elements[static_cast<size_t>(n)] = InputElement(argument.type.scalar(), n);
    }
  }
  for (const ScratchBuffer& buffer : program.scratch) {
    memory[buffer.name].resize(static_cast<size_t>(buffer.elements));
  }
  return memory;
}

TEST(PassNestTest, RandomConfigurationsComputeTheSameWithoutRaces) {
  const RandomExpressionOptions options = {.max_points = 300,
                                           .max_buffer_elements = 2000,
                                           .half_types = false,
                                           .records = false,
                                           .tables = false};
  int checked = 0;
  for (uint64_t seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Expression expression = RandomExpression(rng, options);
    const bool is_cuda = seed % 3 != 0;
    const SystemModel model = is_cuda ? CudaModel() : OpenClModel();
    const DeviceDescription device = Device(is_cuda ? DeviceKind::kCuda : DeviceKind::kOpenCl);
    const auto parameters =
        RandomNestParameters(rng, expression, model, device, NumericsPolicy::kReassociate);
    if (!parameters.has_value()) continue;
    const auto low_level = Lower(expression, model, device, *parameters);
    ASSERT_TRUE(low_level.ok()) << low_level.status();
    const Result<LoopProgram> before = BuildNestProgram(*low_level, device);
    ASSERT_TRUE(before.ok()) << before.status();
    if (HasShuffles(*before) || Threads(*before) > kMaxThreads) continue;
    const LoopProgram after = Optimize(*before, {.unroll = parameters->unroll});
    const ProgramMemory memory = MemoryOf(*low_level, *before);
    EXPECT_EQ(Execute(*before, memory, /*may_read_unwritten=*/true),
              Execute(after, memory, /*may_read_unwritten=*/true))
        << seed << "\n"
        << ToText(expression) << ToText(*parameters) << "\n"
        << ToText(*before) << "---- after ----\n"
        << ToText(after);
    ++checked;
  }
  EXPECT_GT(checked, kPrograms / 2);
}

}  // namespace
}  // namespace mdh
