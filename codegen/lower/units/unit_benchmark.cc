#include "codegen/lower/units/unit_benchmark.h"

#include <algorithm>

#include "codegen/lower/units/unit_context.h"

namespace mdh {
namespace {

constexpr int64_t kThreads = 256, kBlocksOfMultiprocessor = 4;
constexpr double kCycles = 1e6;  // of a multiprocessor
constexpr int64_t kStepsOfOperand = kOperandRowBytes / kMultipliedBytes;
// Of a warp, in different sums, so that none waits for the one before; and those in one iteration.
constexpr int64_t kWarpTiles = 8, kWarpRounds = 4;

class UnitBenchmarkBuilder {
 public:
  UnitBenchmarkBuilder(const MatrixInstruction& instruction, const DeviceDescription& device,
                       int64_t outputs)
      : instruction_(instruction),
        device_(device),
        outputs_(outputs),
        is_of_warps_(instruction.unit == MatrixUnit::kWarp) {}

  UnitBenchmark Build() const {
    Stage stage;
    stage.comment = "Multiplies what is in registers or shared memory again and again.";
    stage.launch = {{device_.blocks.multiprocessors * kBlocksOfMultiprocessor, 1, 1},
                    {kThreads, 1, 1}};
    stage.body.push_back({HardwareIndex{"tid", HardwareIndex::Kind::kThread, 0}});
    if (is_of_warps_) {
      OfWarps(&stage.body);
    } else {
      OfGroups(&stage.body);
    }
    StoreSums(&stage.body);
    const double blocks = static_cast<double>(stage.launch.grid[0]);
    LoopProgram program;
    program.stages.push_back(std::move(stage));
    return {std::move(program), 2 * OfIteration() * static_cast<double>(Iterations()) * blocks};
  }

 private:
  // Multiply-adds of a block.
  double OfIteration() const {
    const int64_t at_once = kThreads / instruction_.lanes;
    const int64_t each = is_of_warps_ ? kWarpTiles * kWarpRounds : kStepsOfOperand;
    return static_cast<double>(at_once * each * instruction_.multiply_adds());
  }
  int64_t Iterations() const {
    const double cycles = OfIteration() / MultiplyAddsPerCycle(instruction_, device_);
    return std::max<int64_t>(1, static_cast<int64_t>(kCycles / kBlocksOfMultiprocessor / cycles));
  }
  int64_t SumsOfTile() const { return instruction_.c_layout.Count(DigitPlace::kRegister); }
  int64_t Sums() const { return SumsOfTile() * (is_of_warps_ ? kWarpTiles : 1); }

  static Index Thread() { return Index::Variable("tid"); }
  static Statement Rolled(const std::string& variable, Index begin, int64_t end, int64_t step,
                          Block body) {
    return {For{.variable = variable,
                .begin = std::move(begin),
                .end = Index(end),
                .step = step,
                .whole_steps = false,
                .body = ShareBlock(std::move(body)),
                .unroll_by = 1}};
  }

  void DeclareSums(Block* block) const {
    block->push_back(
        {DeclareArray{"sums", instruction_.accumulator, Sums(), MemorySpace::kPrivate}});
  }

  // Operands are what the compiler does not know: nothing is left out because it is always 0.
  void OfWarps(Block* block) const {
    const ScalarType held = SizeBytes(instruction_.a) < 4 ? ScalarType::kUint32 : instruction_.a;
    const auto fill = [&](const char* array, ScalarType type, int64_t count) {
      LoopValue value = MakeLoad("out", Thread() % outputs_, {ScalarType::kFloat32, 1}, 1);
      if (type != ScalarType::kFloat32) {
        value = MakeOperation(ScalarOp::kCast, type, {std::move(value)});
      }
      block->push_back(Unrolled(
          "r", count, {{StoreElements{array, Index::Variable("r"), std::move(value), 1}}}));
    };
    const auto declare = [&](const char* array, const FragmentLayout& layout) {
      const int64_t registers = layout.Count(DigitPlace::kRegister);
      block->push_back({DeclareArray{array, held, registers, MemorySpace::kPrivate}});
      fill(array, held, registers);
    };
    declare("a", instruction_.a_layout);
    declare("b", instruction_.b_layout);
    DeclareSums(block);
    fill("sums", instruction_.accumulator, Sums());
    Block body;
    for (int64_t n = 0; n < kWarpTiles * kWarpRounds; ++n) {
      body.push_back({WarpMultiply{&instruction_,
                                   {"sums", Index(n % kWarpTiles * SumsOfTile())},
                                   {"a", Index(0)},
                                   {"b", Index(0)}}});
    }
    block->push_back(Rolled("step", Index(0), Iterations(), 1, std::move(body)));
  }

  void OfGroups(Block* block) const {
    const int64_t words = (instruction_.m + instruction_.n) * kOperandRowBytes / 4;
    block->push_back({DeclareArray{"operands", ScalarType::kUint32, words, MemorySpace::kShared,
                                   kOperandAlignment}});
    const LoopValue zero = MakeLiteral(ScalarValue::Zero(ScalarType::kUint32));
    block->push_back(Rolled("at", Thread(), words, kThreads,
                            {{StoreElements{"operands", Index::Variable("at"), zero, 1}}}));
    block->push_back({UnitFence{}});
    block->push_back({Barrier{}});
    constexpr int64_t kEightRows = 8 * kOperandRowBytes;
    const auto declare = [&](const char* name, int64_t first_row) {
      block->push_back({DeclareOperand{name, "operands", Index(first_row * kOperandRowBytes / 4),
                                       /*leading_bytes=*/16, kEightRows}});
    };
    declare("a", 0);
    declare("b", instruction_.m);
    DeclareSums(block);
    Block body = {{GroupFence{}}};
    for (int64_t n = 0; n < kStepsOfOperand; ++n) {
      body.push_back({GroupMultiply{static_cast<int>(instruction_.n), "sums", 0,
                                    UnitOperand{"a", instruction_.a, n * kMultipliedBytes, false},
                                    UnitOperand{"b", instruction_.b, n * kMultipliedBytes, false},
                                    n == 0 ? Index::Variable("step") : Index(1)}});
    }
    body.push_back({CommitMultiplies{}});
    body.push_back({WaitForMultiplies{1}});
    block->push_back(Rolled("step", Index(0), Iterations(), 1, std::move(body)));
    block->push_back({WaitForMultiplies{0}});
  }

  // All of them: of what nobody reads the compiler would compute nothing.
  void StoreSums(Block* block) const {
    const ScalarType type = instruction_.accumulator;
    const auto sum = [&](const Index& at) { return MakeLoad("sums", at, {type, 1}, 1); };
    const Index next = Index::Variable("n") + Index(1);
    block->push_back(Unrolled(
        "n", Sums() - 1,
        {{StoreElements{"sums", Index(0),
                        MakeOperation(ScalarOp::kAdd, type, {sum(Index(0)), sum(next)}), 1}}}));
    LoopValue result = sum(Index(0));
    if (type != ScalarType::kFloat32) {
      result = MakeOperation(ScalarOp::kCast, ScalarType::kFloat32, {std::move(result)});
    }
    block->push_back({If{{Less(Thread(), Index(outputs_))},
                         ShareBlock({{StoreElements{"out", Thread(), std::move(result), 1}}}),
                         nullptr}});
  }

  const MatrixInstruction& instruction_;
  const DeviceDescription& device_;
  const int64_t outputs_;
  const bool is_of_warps_;
};

}  // namespace

UnitBenchmark BuildUnitBenchmark(const MatrixInstruction& instruction,
                                 const DeviceDescription& device, int64_t outputs) {
  return UnitBenchmarkBuilder(instruction, device, outputs).Build();
}

}  // namespace mdh
