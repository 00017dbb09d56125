// Jobs on the command line: "17" or "tuningJobs/17".
#pragma once

#include <string>

namespace mdh {

inline std::string JobNameFromArgument(const std::string& argument) {
  return argument.find('/') == std::string::npos ? "tuningJobs/" + argument : argument;
}

}  // namespace mdh
