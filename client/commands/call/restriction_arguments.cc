#include "client/commands/call/restriction_arguments.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "client/commands/call/command.h"

namespace mdh {

void AddRestrictionOptions(CLI::App& command, RestrictionArguments& arguments) {
  command
      .add_option("--decide", arguments.decide,
                  "keep only these values of a parameter of the search space, which mdh explore "
                  "lists; repeatable")
      ->expected(1)
      ->take_all()
      ->type_name("PARAMETER=VALUE,..");
  command
      .add_option("--forbid", arguments.forbid, "leave these values of a parameter out; repeatable")
      ->expected(1)
      ->take_all()
      ->type_name("PARAMETER=VALUE,..");
}

Result<v1::Restriction> ParseRestriction(const std::string& text, bool is_forbidden) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return InvalidArgument("'", text,
                           "' is no decision; write PARAMETER=VALUE or PARAMETER=VALUE,..");
  }
  v1::Restriction restriction;
  restriction.set_parameter(text.substr(0, equals));
  for (const auto value : absl::StrSplit(text.substr(equals + 1), ',')) {
    restriction.add_values(std::string(value));
  }
  restriction.set_is_forbidden(is_forbidden);
  return restriction;
}

Result<std::vector<v1::Restriction>> RestrictionsOf(const RestrictionArguments& arguments) {
  std::vector<v1::Restriction> restrictions;
  for (const bool is_forbidden : {false, true}) {
    for (const std::string& text : is_forbidden ? arguments.forbid : arguments.decide) {
      MDH_ASSIGN_OR_RETURN(v1::Restriction restriction,
                           WithExitCode(ExitCode::kUsage, ParseRestriction(text, is_forbidden)));
      restrictions.push_back(std::move(restriction));
    }
  }
  return restrictions;
}

}  // namespace mdh
