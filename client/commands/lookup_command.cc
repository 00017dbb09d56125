// mdh lookup.
#include "client/commands/lookup_command.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "client/commands/formatting.h"
#include "core/numerics.h"

namespace mdh {
namespace {

constexpr size_t kDigestDigits = 64;

ExitCode Lookup(const GlobalOptions& options, const LookupArguments& arguments) {
  std::unique_ptr<Client> client;
  v1::LookupKernelResponse found;
  const ExitCode code = ConnectAndLookup(options, arguments, client, found);
  if (code != ExitCode::kOk) return code;
  if (options.json) {
    PrintJson(found);
    return ExitCode::kOk;
  }
  if (found.match() == v1::MATCH_KIND_COMPATIBLE) {
    std::printf("compatible, not exact: compiler %s, generator version %d\n",
                found.record().key().compiler().c_str(), found.record().key().generator_version());
  }
  std::printf("%s", FormatRecord(found.record()).c_str());
  return ExitCode::kOk;
}

}  // namespace

bool IsDigest(const std::string& text) {
  return text.size() == kDigestDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos &&
         !std::filesystem::exists(text);
}

void AddNumericsOption(CLI::App& command, v1::NumericsPolicy& policy) {
  static_assert(static_cast<int>(NumericsPolicy::kFixedTree) == v1::NUMERICS_POLICY_FIXED_TREE);
  command
      .add_option_function<std::string>(
          "--numerics",
          [&policy](const std::string& name) {
            const Result<NumericsPolicy> parsed = ParseNumericsPolicy(name);
            if (!parsed.ok()) {
              throw CLI::ValidationError("--numerics", std::string(parsed.status().message()));
            }
            policy = static_cast<v1::NumericsPolicy>(*parsed);
          },
          "what a kernel may change in floating-point results: reassociate (combine in any order; "
          "the "
          "default), exact (the order of the plain loop nest) or tree (the same bits everywhere)")
      ->type_name("POLICY");
}

void AddLookupArguments(CLI::App& command, LookupArguments& arguments) {
  AddExpressionArguments(command, arguments.expression,
                         "expression, or the digest of one; -: standard input");
  command.add_flag("--compatible", arguments.compatible,
                   "accept results of another compiler or generator version");
  AddNumericsOption(command, arguments.numerics_policy);
  AddDeviceOption(command, arguments.device);
}

ExitCode ConnectAndLookup(const GlobalOptions& options, const LookupArguments& arguments,
                          std::unique_ptr<Client>& client, v1::LookupKernelResponse& found) {
  v1::KernelKey key;
  key.set_numerics_policy(arguments.numerics_policy);
  if (IsDigest(arguments.expression.file)) {
    key.set_expression_digest(arguments.expression.file);
  } else {
    const Result<Expression> expression = LoadExpression(arguments.expression);
    if (!expression.ok()) {
      return Fail(ExitCode::kBadExpression, std::string(expression.status().message()));
    }
    key = Client::KeyOf(*expression, arguments.numerics_policy);
  }
  Result<std::unique_ptr<Client>> connected = Client::Connect(options.server, options.client);
  if (!connected.ok()) {
    return Fail(ExitCode::kCannotConnect, std::string(connected.status().message()));
  }
  client = *std::move(connected);
  Result<v1::LookupKernelResponse> response =
      client->Lookup(key, arguments.compatible ? v1::MATCH_KIND_COMPATIBLE : v1::MATCH_KIND_EXACT,
                     arguments.device.selection);
  if (!response.ok()) return Fail(response.status());
  found = *std::move(response);
  return ExitCode::kOk;
}

void AddLookupCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto arguments = std::make_shared<LookupArguments>();
  CLI::App* lookup = app.add_subcommand("lookup", "show the best known result for an expression");
  AddLookupArguments(*lookup, *arguments);
  lookup->callback([&options, &selected, arguments] {
    selected = [&options, arguments] { return Lookup(options, *arguments); };
  });
}

}  // namespace mdh
