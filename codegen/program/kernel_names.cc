#include "codegen/program/kernel_names.h"

#include <map>

#include "codegen/program/c_names.h"

namespace mdh {

KernelNames NamesOf(const Expression& expression, NameAllocator& names) {
  KernelNames all;
  for (const Dimension& d : expression.dimensions()) {
    all.indices.push_back(names.Unique(CIdentifier(d.name)));
  }
  std::map<std::string, std::string> inputs;  // those with one name are one argument
  for (const Buffer& b : expression.passed_inputs()) {
    const auto [known, is_new] = inputs.try_emplace(b.name);
    if (is_new) known->second = names.Unique(CIdentifier(b.name));
    all.inputs.push_back(known->second);
  }
  for (const Buffer& b : expression.outputs()) {
    all.outputs.push_back(names.Unique(CIdentifier(b.name)));
  }
  return all;
}

std::vector<KernelArgument> ArgumentsOf(const Expression& expression, const KernelNames& names) {
  std::vector<KernelArgument> arguments;
  const auto add = [&](const std::vector<Buffer>& buffers, const std::vector<std::string>& of,
                       bool are_outputs) {
    for (size_t b = 0; b < of.size(); ++b) {
      arguments.push_back({of[b], buffers[b].type, buffers[b].elements(), are_outputs,
                           buffers[b].extents, buffers[b].given_strides});
    }
  };
  add(expression.passed_inputs(), names.inputs, false);
  add(expression.outputs(), names.outputs, true);
  return arguments;
}

}  // namespace mdh
