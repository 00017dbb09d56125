#include "codegen/program/kernel_names.h"

#include "codegen/program/c_names.h"

namespace mdh {

KernelNames NamesOf(const Expression& expression, NameAllocator& names) {
  KernelNames all;
  for (const Dimension& d : expression.dimensions()) {
    all.indices.push_back(names.Unique(CIdentifier(d.name)));
  }
  for (const Buffer& b : expression.inputs()) {
    all.inputs.push_back(names.Unique(CIdentifier(b.name)));
  }
  for (const Buffer& b : expression.outputs()) {
    all.outputs.push_back(names.Unique(CIdentifier(b.name)));
  }
  return all;
}

std::vector<KernelArgument> ArgumentsOf(const Expression& expression, const KernelNames& names) {
  std::vector<KernelArgument> arguments;
  for (size_t b = 0; b < names.inputs.size(); ++b) {
    arguments.push_back(ArgumentOf(names.inputs[b], expression.inputs()[b], false));
  }
  for (size_t b = 0; b < names.outputs.size(); ++b) {
    arguments.push_back(ArgumentOf(names.outputs[b], expression.outputs()[b], true));
  }
  return arguments;
}

std::vector<KernelArgument> ArgumentsOf(const LowLevelExpression& low_level) {
  NameAllocator names;
  return ArgumentsOf(low_level.given(), NamesOf(low_level.expression(), names));
}

}  // namespace mdh
