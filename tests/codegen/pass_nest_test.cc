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

constexpr int kPrograms = 150, kAsynchronous = 25;
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
            found |= std::holds_alternative<ShuffleDown>(node.form);
          }});
  }
  return found;
}

bool HasAsyncCopies(const LoopProgram& program) {
  bool found = false;
  for (const Stage& stage : program.stages) {
    Visit(stage.body, {.statement = [&](const Statement& statement) {
            found |= std::holds_alternative<AsyncCopy>(statement.form);
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

// A random program, and what the passes make of it.
struct Optimized {
  std::string pair;  // expression and parameters
  LoopProgram before, after;
  ProgramMemory memory;
};

// nullopt: there is no configuration, or the evaluator cannot execute the program.
std::optional<Optimized> RandomProgram(uint64_t seed, bool is_cuda) {
  Rng rng(seed);
  const Expression expression = RandomExpression(rng, {.max_points = 300,
                                                       .max_buffer_elements = 2000,
                                                       .half_types = false,
                                                       .records = false,
                                                       .tables = false});
  const SystemModel model = is_cuda ? CudaModel() : OpenClModel();
  const DeviceDescription device = Device(is_cuda ? DeviceKind::kCuda : DeviceKind::kOpenCl);
  const auto parameters =
      RandomNestParameters(rng, expression, model, device, NumericsPolicy::kReassociate);
  if (!parameters.has_value()) return std::nullopt;
  const auto low_level = Lower(expression, model, device, *parameters);
  EXPECT_TRUE(low_level.ok()) << low_level.status();
  if (!low_level.ok()) return std::nullopt;
  const Result<LoopProgram> before = BuildNestProgram(*low_level, device);
  EXPECT_TRUE(before.ok()) << before.status();
  if (!before.ok() || HasShuffles(*before) || Threads(*before) > kMaxThreads) return std::nullopt;
  return Optimized{ToText(expression) + ToText(*parameters), *before,
                   Optimize(*before, {.unroll = parameters->unroll}),
                   MemoryOf(*low_level, *before)};
}

void ExpectTheSame(const Optimized& program, uint64_t seed) {
  EXPECT_EQ(Execute(program.before, program.memory, /*may_read_unwritten=*/true),
            Execute(program.after, program.memory, /*may_read_unwritten=*/true))
      << seed << "\n"
      << program.pair << "\n"
      << ToText(program.before) << "---- after ----\n"
      << ToText(program.after);
}

TEST(PassNestTest, RandomConfigurationsComputeTheSameWithoutRaces) {
  int checked = 0;
  for (uint64_t seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
    const std::optional<Optimized> program = RandomProgram(seed, /*is_cuda=*/seed % 3 != 0);
    if (!program.has_value()) continue;
    ExpectTheSame(*program, seed);
    ++checked;
  }
  EXPECT_GT(checked, kPrograms / 2);
}

TEST(PassNestTest, SoDoThoseWithAsynchronousCopies) {
  int checked = 0;
  for (uint64_t seed = 1000; checked < kAsynchronous && seed < 10000 && !HasFailure(); ++seed) {
    const std::optional<Optimized> program = RandomProgram(seed, /*is_cuda=*/true);
    if (!program.has_value() || !HasAsyncCopies(program->after)) continue;
    ExpectTheSame(*program, seed);
    ++checked;
  }
  EXPECT_EQ(checked, kAsynchronous);
}

}  // namespace
}  // namespace mdh
