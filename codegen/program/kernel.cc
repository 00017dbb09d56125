#include "codegen/program/kernel.h"

namespace mdh {

namespace {

std::vector<std::string> NamesOf(const std::vector<KernelArgument>& arguments, bool outputs) {
  std::vector<std::string> names;
  for (const KernelArgument& argument : arguments) {
    if (argument.is_output == outputs) names.push_back(argument.name);
  }
  return names;
}

}  // namespace

std::vector<std::string> InputNames(const std::vector<KernelArgument>& arguments) {
  return NamesOf(arguments, /*outputs=*/false);
}

std::vector<std::string> OutputNames(const std::vector<KernelArgument>& arguments) {
  return NamesOf(arguments, /*outputs=*/true);
}

}  // namespace mdh
