// Programs that the level-by-level builder makes of random expressions and configurations: the same
// results before and after the passes, no races between threads, and aligned wide accesses.
#include "codegen/lower/nest_program.h"
#include "codegen/passes/passes.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/loop_program_walk.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/codegen/passes/pass_golden.h"
#include "tests/fresh_seed.h"
#include "tests/random_parameters.h"
#include "tests/sanitized.h"

namespace mdh::pass_nest_test {
namespace {

constexpr int kPrograms = TriedCases(60), kAsynchronous = TriedCases(10), kSeeds = 400,
              kCompared = TriedCases(16);
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
// Values of other threads, and keys, which the evaluator knows nothing of.
bool IsNotEvaluated(const LoopProgram& program) {
  bool found = false;
  for (const Stage& stage : program.stages) {
    Visit(stage.body, {.statement =
                           [&](const Statement& statement) {
                             found |= std::holds_alternative<CombineElement>(statement.form) ||
                                      std::holds_alternative<InsertKey>(statement.form);
                           },
                       .value =
                           [&](const ValueNode& node) {
                             found |= std::holds_alternative<ShuffleDown>(node.form) ||
                                      std::holds_alternative<ShuffleUp>(node.form);
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

std::vector<KernelArgument> ArgumentsOf(const LowLevelExpression& low_level) {
  NameAllocator names;
  return ArgumentsOf(low_level.given(), NamesOf(low_level.expression(), names));
}

ProgramMemory MemoryOf(const LowLevelExpression& low_level, const LoopProgram& program) {
  ProgramMemory memory;
  for (const KernelArgument& argument : ArgumentsOf(low_level)) {
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
  if (!before.ok() || IsNotEvaluated(*before) || Threads(*before) > kMaxThreads)
    return std::nullopt;
  return Optimized{
      ToText(expression) + ToText(*parameters), *before,
      Optimize(*before, {.unroll = parameters->unroll, .copy_overlap = parameters->copy_overlap}),
      MemoryOf(*low_level, *before)};
}

void ExpectTheSame(const Optimized& program, uint64_t seed) {
  EXPECT_EQ(Execute(program.before, program.memory, /*may_read_unwritten=*/true),
            Execute(program.after, program.memory, /*may_read_unwritten=*/true));
  if (!testing::Test::HasFailure()) return;
  // Races are failures in threads of the evaluator, which know no program.
  ADD_FAILURE() << seed << "\n"
                << program.pair << "\n"
                << ToText(program.before) << "---- after ----\n"
                << ToText(program.after);
}

TEST(PassNestTest, RandomConfigurationsComputeTheSameWithoutRaces) {
  int checked = 0;
  const uint64_t first = FreshSeed();
  for (uint64_t seed = first; seed < first + kSeeds && checked < kPrograms && !HasFailure();
       ++seed) {
    const std::optional<Optimized> program = RandomProgram(seed, /*is_cuda=*/seed % 3 != 0);
    if (!program.has_value()) continue;
    ExpectTheSame(*program, seed);
    ++checked;
  }
  EXPECT_EQ(checked, kPrograms);
}

// The outputs' elements after the program has run.
ProgramMemory Outputs(const LowLevelExpression& low_level, const LoopProgram& program) {
  ProgramMemory memory =
      Execute(program, MemoryOf(low_level, program), /*may_read_unwritten=*/true);
  std::erase_if(memory, [&](const auto& buffer) {
    const std::vector<KernelArgument> arguments = ArgumentsOf(low_level);
    return std::none_of(arguments.begin(), arguments.end(), [&](const KernelArgument& a) {
      return a.is_output && a.name == buffer.first;
    });
  });
  return memory;
}

// Random configurations of `text` in which blocks combine in that way, against the same ones with
// partial results that another stage combines. How many were compared.
int CompareWithPartials(const std::string& text, CombineBlocks how) {
  const auto expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  const SystemModel model = CudaModel();
  const DeviceDescription device = Device(DeviceKind::kCuda);
  int compared = 0;
  const uint64_t first = FreshSeed();
  for (uint64_t seed = first; expression.ok() && seed < first + kSeeds && compared < kCompared;
       ++seed) {
    Rng rng(seed);
    auto parameters =
        RandomNestParameters(rng, *expression, model, device, NumericsPolicy::kReassociate);
    if (!parameters || parameters->combine_blocks != how) continue;
    const auto adding = Lower(*expression, model, device, *parameters);
    parameters->combine_blocks = CombineBlocks::kPartials;
    const auto combining = Lower(*expression, model, device, *parameters);
    if (!adding.ok() || !combining.ok()) {
      ADD_FAILURE() << adding.status() << combining.status();
      break;
    }
    const LoopProgram program = *BuildNestProgram(*adding, device);
    if (IsNotEvaluated(program) || Threads(program) > kMaxThreads) continue;
    const LoopProgram optimized = Optimize(program, {.unroll = parameters->unroll});
    EXPECT_EQ(program.stages.size(), how == CombineBlocks::kCluster ? 1u : 2u);
    EXPECT_EQ(program.scratch.empty(), how != CombineBlocks::kLastBlock);
    EXPECT_EQ(Outputs(*adding, optimized),
              Outputs(*combining, *BuildNestProgram(*combining, device)))
        << seed << "\n"
        << ToText(*expression) << ToText(*parameters) << "\n"
        << ToText(optimized);
    ++compared;
    if (testing::Test::HasFailure()) break;
  }
  return compared;
}

constexpr char kProduct[] = R"(
    product := out_view<int32>( C: (i,j,k) -> (i,j) ) o
      md_hom<5,8,13>( f, (++, ++, +) ) o
      inp_view<int32,int32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
    where f(a, b) -> c { c = a * b })";
constexpr char kSums[] = R"(
    sums := out_view<int32,int64>( y[9,7]: (i,j,k) -> (8-j,2*i), z: (i,j,k) -> (j,i) ) o
      md_hom<4,6,12>( f, (++, ++, +) ) o
      inp_view<int32>( x: (i,j,k) -> (i,j,k) )
    where f(x) -> (s: int32, n: int64) { s = x; n = 1 })";
constexpr char kSum[] = R"(
    sum := out_view<uint32>( y: (k,l) -> (0) ) o
      md_hom<12,7>( f, (+, +) ) o
      inp_view<uint32>( x: (k,l) -> (k,l) )
    where f(x) -> s { s = x })";
TEST(PassNestTest, AtomicsComputeWhatPartialResultsDo) {
  for (const char* text : {kProduct, kSums, kSum}) {
    EXPECT_GT(CompareWithPartials(text, CombineBlocks::kAtomics), kCompared / 4) << text;
  }
}

TEST(PassNestTest, LastBlocksComputeWhatPartialResultsDo) {
  for (const char* text : {kProduct, kSums, kSum}) {
    EXPECT_GT(CompareWithPartials(text, CombineBlocks::kLastBlock), kCompared / 4) << text;
  }
}

TEST(PassNestTest, ClustersComputeWhatPartialResultsDo) {
  for (const char* text : {kProduct, kSums, kSum}) {
    EXPECT_GT(CompareWithPartials(text, CombineBlocks::kCluster), kCompared / 4) << text;
  }
}

// Expects of the configuration that blocks compute the same where they store what is below the
// diagonal twice as where they compute all; false where that is not to be compared.
bool CompareWithAll(const Expression& expression, const SystemModel& model,
                    const DeviceDescription& device, TuningParameters parameters) {
  parameters.mirrors = true;
  const auto half = Lower(expression, model, device, parameters);
  parameters.mirrors = false;
  const auto all = Lower(expression, model, device, parameters);
  if (!half.ok() || !all.ok()) return false;
  const LoopProgram program = *BuildNestProgram(*half, device);
  if (IsNotEvaluated(program) || Threads(program) > kMaxThreads) return false;
  if (ToText(program).find("on or below the diagonal") == std::string::npos) return false;
  const LoopProgram optimized = Optimize(program, {.unroll = parameters.unroll});
  EXPECT_EQ(Outputs(*half, optimized), Outputs(*all, *BuildNestProgram(*all, device)))
      << ToText(expression) << ToText(parameters) << "\n"
      << ToText(optimized);
  return true;
}

constexpr char kGram[] = R"(
    gram := out_view<int32>( y: (i,j,k) -> (i,j) ) o md_hom<11,11,6>( f, (++, ++, +) ) o
      inp_view<int32>( x: (i,j,k) -> (i,k), (i,j,k) -> (j,k) )
    where f(a, b) -> c { c = a * b })";
constexpr char kMirroredSums[] = R"(
    sums := out_view<int32,int64>( y[9,23]: (i,b,j) -> (8-j,2*i), z: (i,b,j) -> (j,i) ) o
      md_hom<9,2,9>( f, (++, +, ++) ) o inp_view<int32>( x: (i,b,j) -> (b,i), (i,b,j) -> (b,j) )
    where f(a, b) -> (s: int32, n: int64) { s = a + b; n = int64(max(a, b)) })";
TEST(PassNestTest, HalfOfEqualResultsIsWhatAllAre) {
  for (const char* text : {kGram, kMirroredSums}) {
    const Expression expression = *ParseExpression(text);
    const SystemModel model = CudaModel();
    const DeviceDescription device = Device(DeviceKind::kCuda);
    int compared = 0;
    const uint64_t first = FreshSeed();
    for (uint64_t seed = first; seed < first + kSeeds && compared < kCompared; ++seed) {
      Rng rng(seed);
      const auto parameters =
          RandomNestParameters(rng, expression, model, device, NumericsPolicy::kReassociate);
      if (!parameters) continue;
      if (CompareWithAll(expression, model, device, *parameters)) ++compared;
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_GE(compared, kCompared / 2) << text;
  }
}

// Threads with larger parts than the block's: i = 4 * thread + block.
TEST(PassNestTest, RowsOfABlockNeedNotBeNeighbours) {
  const Expression expression = *ParseExpression(kGram);
  const auto parameters = ParseTuningParameters(
      "model=CUDA; tile=4,1,6|4,1,6|1,1,5|1,1,5|1,1,1; order=2,0,1|2,0,1|1,0,2|0,2,1|0,1,2; "
      "inputs=in_place:0,1:-1; accumulate=registers; assign=(3,1)(1,2)(4,3)|(2,1)(2,2)(2,3)|"
      "(1,1)(3,2)(3,3)|(4,2)(4,1)(1,3)|(5,3)(5,2)(5,1); results=1,1,1|1,1,1|1,1,1|1,1,1|1,2,2",
      expression);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_TRUE(CompareWithAll(expression, CudaModel(), Device(DeviceKind::kCuda), *parameters));
}

// Rows of 8 elements of which the first and the last do not exist, or rows that are left at both
// ends.
std::string Windows(const std::string& image) {
  return R"(
    windows := out_view<int32>( y: (p,k,r,c) -> (p,k) ) o
      md_hom<7,3,3,8>( f, (++, ++, +, +) ) o
      inp_view<int32,int32>( x)" +
         image + R"(, w: (p,k,r,c) -> (k,r,c) )
    where f(x, w) -> y { y = x * w })";
}

// How borders are read.
struct BorderUses {
  int wide = 0, asynchronous = 0;

  void Add(const LoopProgram& program) {
    for (const Stage& stage : program.stages) {
      Visit(stage.body, {.statement =
                             [&](const Statement& statement) {
                               const auto* copy = std::get_if<AsyncCopy>(&statement.form);
                               asynchronous += copy != nullptr && !copy->all_of.empty();
                             },
                         .value =
                             [&](const ValueNode& node) {
                               wide += std::holds_alternative<LoadInside>(node.form) &&
                                       node.type.lanes > 1;
                             }});
    }
  }
};

// Random configurations of the same computation; borders are read in all of these ways.
BorderUses CompareConfigurations(const std::string& text, const BorderUses& least = {}) {
  BorderUses uses;
  const auto expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  if (!expression.ok()) return uses;
  const SystemModel model = CudaModel();
  const DeviceDescription device = Device(DeviceKind::kCuda);
  std::optional<ProgramMemory> expected;
  int compared = 0;
  const uint64_t first = FreshSeed();
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    if (compared >= 2 * kCompared && uses.wide >= least.wide &&
        uses.asynchronous >= least.asynchronous) {
      break;
    }

    Rng rng(seed);
    const auto parameters =
        RandomNestParameters(rng, *expression, model, device, NumericsPolicy::kReassociate);
    if (!parameters) continue;
    const auto low_level = Lower(*expression, model, device, *parameters);
    EXPECT_TRUE(low_level.ok()) << low_level.status();
    const LoopProgram program = *BuildNestProgram(*low_level, device);
    if (IsNotEvaluated(program) || Threads(program) > kMaxThreads) continue;
    if (!expected.has_value()) expected = Outputs(*low_level, program);
    const LoopProgram optimized = Optimize(program, {.unroll = parameters->unroll});
    uses.Add(optimized);
    EXPECT_EQ(Outputs(*low_level, optimized), *expected)
        << seed << "\n"
        << ToText(*expression) << ToText(*parameters) << "\n"
        << ToText(optimized);
    ++compared;
    if (testing::Test::HasFailure()) break;
  }
  return uses;
}

TEST(PassNestTest, BordersAreTheSameInAllConfigurations) {
  const BorderUses zero = CompareConfigurations(
      Windows("[6,8] else 0: (p,k,r,c) -> (p + r - 1, c)"), {.wide = 1, .asynchronous = 1});
  EXPECT_GT(zero.wide, 0);
  EXPECT_GT(zero.asynchronous, 0);
  for (const char* border : {"7", "clamp"}) {
    const BorderUses other = CompareConfigurations(
        Windows(std::string("[6,8] else ") + border + ": (p,k,r,c) -> (p + r - 1, c)"));
    EXPECT_EQ(other.asynchronous, 0);
  }
  // Pairs lie across the ends of rows, so that they are loaded one by one, but for those of a last
  // part that begins at an even element.
  for (const char* border : {"0", "-3", "clamp"}) {
    CompareConfigurations(
        Windows(std::string("[8,6] else ") + border + ": (p,k,r,c) -> (c, p + r - 1)"));
  }
  CompareConfigurations(R"(
    stencil := out_view<int32>( y: (i,j) -> (i,j) ) o md_hom<9,12>( f, (++, ++) ) o
      inp_view<int32>( x[7,12] else 5: (i,j) -> (i - 1,j), (i,j), (i + 1,j), (i,j - 1) )
    where f(a, b, c, d) -> y { y = a + 2*b + 3*c + 5*d })");
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

// What the interpreter computes of the elements that programs get.
ProgramMemory Interpreted(const LowLevelExpression& low_level) {
  std::vector<BufferBytes> inputs;
  for (const KernelArgument& argument : ArgumentsOf(low_level)) {
    if (argument.is_output) continue;
    const ScalarType type = argument.type.scalar();
    BufferBytes& bytes =
        inputs.emplace_back(static_cast<size_t>(argument.elements * SizeBytes(type)));
    for (int64_t n = 0; n < argument.elements; ++n) {
      InputElement(type, n).Store(bytes.data() + n * SizeBytes(type));
    }
  }
  const Result<std::vector<BufferBytes>> outputs = Interpret(low_level.expression(), inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  ProgramMemory memory;
  size_t output = 0;
  for (const KernelArgument& argument : ArgumentsOf(low_level)) {
    if (!argument.is_output || !outputs.ok()) continue;
    const BufferBytes& bytes = (*outputs)[output++];
    const ScalarType type = argument.type.scalar();
    for (int64_t n = 0; n < argument.elements; ++n) {
      memory[argument.name].push_back(ScalarValue::Load(type, bytes.data() + n * SizeBytes(type)));
    }
  }
  return memory;
}

// Parts of blocks that end with the dimension: whole parts in a loop, and a rest of some blocks.
TEST(PassNestTest, BlocksThatShareAReductionUnevenlyComputeWhatTheInterpreterDoes) {
  const Expression product = *ParseExpression(R"(
    product := out_view<int32>( C: (i,j,k) -> (i,j) ) o
      md_hom<5,6,53>( f, (++, ++, +) ) o
      inp_view<int32,int32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
    where f(a, b) -> c { c = a * b })");
  const SystemModel model = CudaModel();
  const DeviceDescription device = Device(DeviceKind::kCuda);
  int compared = 0;
  const uint64_t first = FreshSeed();
  for (uint64_t seed = first; seed < first + 40 * kSeeds && compared < kCompared && !HasFailure();
       ++seed) {
    Rng rng(seed);
    const auto parameters =
        RandomNestParameters(rng, product, model, device, NumericsPolicy::kReassociate);
    if (!parameters) continue;
    const Result<LowLevelExpression> low = Lower(product, model, device, *parameters);
    ASSERT_TRUE(low.ok()) << low.status();
    const LoopProgram program = *BuildNestProgram(*low, device);
    const bool is_cut = ToText(program).find("if (53 - ") != std::string::npos;
    if (!is_cut || IsNotEvaluated(program) || Threads(program) > kMaxThreads) continue;
    const LoopProgram optimized = Optimize(program, {.unroll = parameters->unroll});
    EXPECT_EQ(Outputs(*low, optimized), Interpreted(*low)) << seed << "\n"
                                                           << ToText(*parameters) << "\n"
                                                           << ToText(optimized);
    ++compared;
  }
  EXPECT_EQ(compared, kCompared);
}

}  // namespace
}  // namespace mdh::pass_nest_test
