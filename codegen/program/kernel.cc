#include "codegen/program/kernel.h"

namespace mdh {

std::vector<std::string> OutputNames(const std::vector<KernelArgument>& arguments) {
  std::vector<std::string> names;
  for (const KernelArgument& argument : arguments) {
    if (argument.is_output) names.push_back(argument.name);
  }
  return names;
}

}  // namespace mdh
