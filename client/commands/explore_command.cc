// mdh explore: decides in the search space of an expression step by step.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/commands/call/command.h"
#include "client/commands/call/duration_argument.h"
#include "client/commands/call/expression_arguments.h"
#include "client/commands/call/restriction_arguments.h"
#include "client/commands/call/schedule_arguments.h"
#include "client/commands/explore_prompt.h"
#include "client/commands/lookup_command.h"
#include "client/commands/tune_command.h"
#include "client/text/terminal.h"
#include "client/wait_for_job.h"
#include "proto/pipeline_conversion.h"

namespace mdh {
namespace {

struct ExploreArguments {
  ExpressionArguments expression = {};
  ScheduleArguments schedule = {};
  DeviceArgument device = {};
  v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED;
  RestrictionArguments restrictions = {};
  std::string finish = {};  // empty: it is described
  uint64_t seed = 1;
  bool has_prompt = false;  // whatever standard input is
  std::optional<v1::BoundComparison> comparison = std::nullopt;
};

Result<v1::Candidate> CandidateOf(const ExploreArguments& arguments, const Expression& expression,
                                  const std::vector<v1::Restriction>& restrictions) {
  v1::Candidate candidate;
  *candidate.mutable_expression() = ToProto(ComputationView(expression));
  if (!arguments.device.text.empty()) *candidate.mutable_device() = arguments.device.selection;
  candidate.set_numerics_policy(arguments.numerics_policy);
  MDH_ASSIGN_OR_RETURN(*candidate.mutable_schedule(), LoadSchedule(arguments.schedule));
  candidate.mutable_restrictions()->Add(restrictions.begin(), restrictions.end());
  return candidate;
}

Status Finish(const GlobalOptions& options, const ExploreArguments& arguments, Client& client,
              const v1::Candidate& candidate) {
  MDH_ASSIGN_OR_RETURN(const v1::FinishRule by,
                       WithExitCode(ExitCode::kUsage, FinishRuleNamed(arguments.finish)));
  MDH_ASSIGN_OR_RETURN(const v1::FinishCandidateResponse finished,
                       client.FinishCandidate(candidate, by, arguments.seed));
  Show(options, finished, PrintFinished);
  return absl::OkStatus();
}

// A job for what remains of a candidate. Errors: InvalidArgument for what is no budget, and for
// devices that are known by their descriptions only.
Result<TuneOptions> SearchOf(const ExploreArguments& arguments, const v1::Candidate& candidate,
                             const std::string& budget) {
  TuneOptions tune;
  if (!arguments.device.is_attached) {
    return InvalidArgument(arguments.device.text,
                           " is not attached: nothing can be measured on it");
  }
  if (const std::string wrong = ParseDurationArgument(budget, tune.budget_ns); !wrong.empty()) {
    return InvalidArgument("finish search needs a budget: ", wrong);
  }
  if (!arguments.device.text.empty()) {
    tune.devices = {DeviceNameFromArgument(arguments.device.text)};
  }
  tune.numerics_policy = arguments.numerics_policy;
  tune.schedule = candidate.schedule();
  tune.restrictions = {candidate.restrictions().begin(), candidate.restrictions().end()};
  return tune;
}

Status Explore(const GlobalOptions& options, const ExploreArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::Restriction> restrictions,
                       RestrictionsOf(arguments.restrictions));
  MDH_ASSIGN_OR_RETURN(const Computation computation, LoadComputation(arguments.expression));
  const auto* const expression = std::get_if<Expression>(&computation);
  if (expression == nullptr) {
    return WithExitCode(ExitCode::kBadExpression,
                        InvalidArgument("search spaces are of single expressions, and ",
                                        std::string(ComputationView(computation).name()),
                                        " is a pipeline; explore its steps by themselves"));
  }
  MDH_ASSIGN_OR_RETURN(const v1::Candidate candidate,
                       CandidateOf(arguments, *expression, restrictions));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  const bool is_typed = isatty(STDIN_FILENO) == 1;
  const auto run = [&]() -> Status {
    if (!arguments.finish.empty()) return Finish(options, arguments, *client, candidate);
    if (!options.json && (arguments.has_prompt || (is_typed && isatty(STDOUT_FILENO) == 1))) {
      const ExploreCalls calls = {
          .describe = [&](const v1::Candidate& asked) { return client->DescribeCandidate(asked); },
          .compare =
              [&](const v1::Candidate& asked, const v1::BoundComparison& comparison) {
                return client->DescribeCandidate(asked, comparison);
              },
          .finish = [&](const v1::Candidate& asked, v1::FinishRule by,
                        uint64_t seed) { return client->FinishCandidate(asked, by, seed); },
          .search = [&](const v1::Candidate& asked, const std::string& budget) -> Status {
            MDH_ASSIGN_OR_RETURN(const TuneOptions tune, SearchOf(arguments, asked, budget));
            return TuneExpression(options, *client,
                                  {*expression, arguments.expression, arguments.schedule}, tune);
          }};
      return RunExplorePrompt(calls, candidate, std::cin, /*is_echoed=*/!is_typed);
    }
    MDH_ASSIGN_OR_RETURN(const v1::DescribeCandidateResponse described,
                         client->DescribeCandidate(candidate, arguments.comparison));
    Show(options, described, [](const v1::DescribeCandidateResponse& shown) {
      PrintCandidate(shown);
      if (shown.has_bounds()) PrintBounds(shown.bounds());
    });
    return absl::OkStatus();
  };
  return InScheduleFile(arguments.schedule, run());
}

}  // namespace

void AddExploreCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto arguments = std::make_shared<ExploreArguments>();
  CLI::App* explore = app.add_subcommand(
      "explore",
      "decide in the search space of an expression step by step: what remains, and what becomes of "
      "it; on a terminal with a prompt");
  AddExpressionArguments(*explore, arguments->expression,
                         "expression (.mdh, .teml, .c, .h, .binpb, .json); -: standard input");
  AddDeviceOption(*explore, arguments->device);
  AddNumericsOption(*explore, arguments->numerics_policy);
  AddScheduleOption(*explore, arguments->schedule,
                    "file with a schedule that the space keeps to; -: standard input");
  AddRestrictionOptions(*explore, arguments->restrictions);
  explore
      ->add_option("--finish", arguments->finish,
                   "take one of the configurations that remain: the one nearest to the rules, to a "
                   "record, or a random sample")
      ->check(CLI::IsMember({"rules", "record", "sample"}));
  explore->add_option("--seed", arguments->seed, "of --finish sample [1]")
      ->check(CLI::PositiveNumber);
  explore
      ->add_option_function<std::string>(
          "--bounds",
          [arguments](const std::string& time) {
            arguments->comparison = *ParseBoundComparison(time);
          },
          "also how many of the configurations that remain are shown to take longer than TIME, or "
          "than the record of the expression: a time such as 1.5ms, or record")
      ->type_name("TIME")
      ->check([](const std::string& time) {
        return std::string(ParseBoundComparison(time).status().message());
      });
  explore->add_flag("--prompt", arguments->has_prompt,
                    "read commands from standard input though it is no terminal");
  Select(explore, selected, [&options, arguments] { return Explore(options, *arguments); });
}

}  // namespace mdh
