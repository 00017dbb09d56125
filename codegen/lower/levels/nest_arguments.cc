#include "codegen/lower/levels/nest_arguments.h"

#include <algorithm>

#include "codegen/lower/levels/nest_context.h"

namespace mdh {

std::vector<KernelArgument> NestArguments(const LowLevelExpression& low_level) {
  const NestContext context(low_level, {}, {});
  const Expression& e = low_level.given();
  std::vector<KernelArgument> arguments;
  const std::vector<Buffer>& inputs = e.passed_inputs();
  for (size_t b = 0; b < inputs.size(); ++b) {
    arguments.push_back(ArgumentOf(context.input_name(static_cast<int>(b)), inputs[b], false));
  }
  for (size_t b = 0; b < e.outputs().size(); ++b) {
    arguments.push_back(ArgumentOf(context.output_names()[b], e.outputs()[b], true));
  }
  return arguments;
}

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

}  // namespace mdh
