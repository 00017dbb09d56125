#include "codegen/backends/build_program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/lower/finish/fill_unreached.h"
#include "codegen/lower/tiles/build_loop_program.h"
#include "codegen/passes/passes.h"
#include "codegen/print/c_unit.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/presence.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/low_level_summary.h"
#include "core/device/backends.h"
#include "core/expression/dependences.h"
#include "core/schedule/parameters_as_decisions.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

// Whether some index of the program does not fit in 32 bits.
bool NeedsWideIndices(const Expression& expression, const LoopProgram& program) {
  constexpr int64_t kLargest = int64_t{1} << 31;
  int64_t largest = 0;
  const auto add = [&](const Buffer& buffer) {
    for (const ElementType::Field& field : buffer.type.fields()) {
      largest = std::max(largest, buffer.size_bytes() / SizeBytes(field.type));
    }
  };
  for (const Buffer& buffer : expression.passed_inputs()) add(buffer);
  for (const Buffer& buffer : expression.outputs()) add(buffer);
  // Tiles may reach beyond a dimension, by less than its size: indices are computed before guards.
  for (const Dimension& d : expression.dimensions()) largest = std::max(largest, 2 * d.size);
  for (const ScratchBuffer& buffer : program.scratch) largest = std::max(largest, buffer.elements);
  for (const Stage& stage : program.stages) {
    largest = std::max(largest, stage.launch.grid[0] * stage.launch.grid[1] * stage.launch.grid[2] *
                                    stage.launch.threads_per_block());
  }
  return 2 * largest >= kLargest;
}

LoopProgram LoweredTiles(const LowLevelExpression& low_level,
                         const std::optional<ExchangeablePair>& mirror) {
  if (HasSeparateStrips(low_level.expression(), low_level.parameters())) {
    const Expression separate = WithSeparateAccesses(low_level.expression());
    const SystemModel& model = low_level.model();
    return LoweredTiles(LowerUnchecked(separate, model,
                                       WithSeparateStrips(low_level.parameters(), separate, model)),
                        mirror);
  }
  const bool may_be_empty = low_level.shape().NeedsPresence();
  return BuildLoopProgram(LoopPlan(may_be_empty ? WithPresence(low_level) : low_level, mirror));
}

// All but what FillUnreached adds.
Result<LoopProgram> Lowered(const LowLevelExpression& low_level, const DeviceDescription& device,
                            StoredResults stored) {
  if (low_level.parameters().lowering == Lowering::kLevels) {
    return BuildNestProgram(low_level, device, stored);
  }
  return LoweredTiles(low_level, MirrorOf(low_level, stored));
}

// Stages whose threads do nothing but share items have fewer of them in a block where the device
// has no room for as many as usual.
void KeepToDevice(const DeviceDescription& device, LoopProgram* program) {
  const int64_t most = device.blocks.max_threads_per_block;
  for (Stage& stage : program->stages) {
    const int64_t threads = stage.launch.threads_per_block();
    if (most <= 0 || threads <= most) continue;
    bool has_places = false;
    Visit(stage.body, {.statement = [&](const Statement& statement) {
            has_places |= std::holds_alternative<HardwareIndex>(statement.form);
          }});
    if (has_places) continue;
    const std::array<int64_t, 3>& grid = stage.launch.grid;
    const int64_t fewer = RoundDownToPowerOfTwo(most);
    stage.launch = {{CeilDivide(grid[0] * grid[1] * grid[2] * threads, fewer), 1, 1},
                    {fewer, 1, 1}};
  }
}

// Two blanks in front of every line of the schedule that says the configuration.
std::string DescribeSchedule(const LowLevelExpression& low_level) {
  const std::string text =
      ScheduleText(low_level.parameters(), low_level.expression(), low_level.model());
  if (text.empty()) return "";
  std::string indented = "Schedule:\n";
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&indented, "  ", line, "\n");
  }
  return absl::StrCat(indented, "\n");
}

}  // namespace

Result<KernelProgram> BuildProgram(const LowLevelExpression& low_level,
                                   const DeviceDescription& device, ProgramForm form,
                                   StoredResults stored) {
  const Expression& expression = low_level.expression();
  const ItemSharing sharing = BackendOf(low_level.model().kind).has_blocks
                                  ? ItemSharing::kInterleaved
                                  : ItemSharing::kContiguous;
  NameAllocator allocator;
  const KernelNames names = NamesOf(expression, allocator);
  KernelProgram built = {.arguments = ArgumentsOf(low_level.given(), names), .program = {}};
  if (expression.is_empty()) {
    built.program = EmptyProgram(expression, names.outputs, sharing, names.inputs);
  } else {
    MDH_ASSIGN_OR_RETURN(built.program, Lowered(low_level, device, stored));
    KeepToDevice(device, &built.program);
    if (form == ProgramForm::kOptimized) {
      built.program = Optimize(std::move(built.program),
                               {.lowering = low_level.parameters().lowering,
                                .unroll = low_level.parameters().unroll,
                                .private_arrays_in_registers = device.features.private_registers,
                                .copy_overlap = low_level.parameters().copy_overlap});
    }
  }
  FillUnreached(expression, names.outputs, sharing, &built.program);
  KeepToDevice(device, &built.program);
  built.wide_indices = NeedsWideIndices(expression, built.program);
  return built;
}

std::string DescribeGenerator() {
  return absl::StrCat("Generated by mdhd, generator version ", kGeneratorVersion, ".\n\n");
}

std::string DescribeLowering(const LowLevelExpression& low_level,
                             const std::vector<KernelArgument>& arguments) {
  return absl::StrCat("Index map:\n", DescribeIndexMap(low_level.expression(), arguments),
                      "\nConfiguration:\n  ", ToText(low_level.parameters()), "\n\n",
                      DescribeSchedule(low_level), DescribeDecomposition(low_level));
}

std::string DescribeKernel(const LowLevelExpression& low_level,
                           const std::vector<KernelArgument>& arguments) {
  return absl::StrCat(DescribeGenerator(), ToText(low_level.expression()), "\n",
                      DescribeLowering(low_level, arguments));
}

}  // namespace mdh
