// --decide and --forbid PARAMETER=VALUE,.. on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/restriction.pb.h"

namespace mdh {

struct RestrictionArguments {
  std::vector<std::string> decide = {}, forbid = {};
};

void AddRestrictionOptions(CLI::App& command, RestrictionArguments& arguments);

// "PARAMETER=VALUE,VALUE". Errors: InvalidArgument if it is none.
Result<v1::Restriction> ParseRestriction(const std::string& text, bool is_forbidden);
// All that are given. Errors: with ExitCode::kUsage.
Result<std::vector<v1::Restriction>> RestrictionsOf(const RestrictionArguments& arguments);

}  // namespace mdh
