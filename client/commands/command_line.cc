#include "client/commands/command_line.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace mdh {
namespace {

void AddSecurityOptions(CLI::App& app, ClientSecurity& security, std::string& token_file) {
  app.add_option("--tls-ca", security.tls_ca,
                 "use TLS, with a daemon whose certificate comes from the authority in this file")
      ->envname("MDH_TLS_CA");
  app.add_option("--tls-certificate", security.tls_certificate, "file with a certificate of mine")
      ->envname("MDH_TLS_CERTIFICATE");
  app.add_option("--tls-key", security.tls_key, "file with the key of --tls-certificate")
      ->envname("MDH_TLS_KEY");
  app.add_option("--token-file", token_file,
                 "file with the token that says who I am; else $MDH_TOKEN is one")
      ->envname("MDH_TOKEN_FILE");
  app.add_option("--trusted-users", security.trusted_users,
                 "whose Unix sockets are trusted beside mine, root's and the system service's: "
                 "names, separated by commas; \"*\": everybody's")
      ->envname("MDH_TRUSTED_USERS");
  app.add_flag("--allow-token-in-clear", security.allow_token_in_clear,
               "send the token to other machines without TLS, too");
}

void AddVersionCommand(CLI::App& app, const GlobalOptions& options, const std::string& version,
                       SelectedCommand& selected) {
  Select(app.add_subcommand("version", "print the version of this program"), selected,
         [&options, version] {
           const nlohmann::json json = {{"version", version}};
           const std::string plain = "mdh " + version;
           std::printf("%s\n", options.json ? json.dump(2).c_str() : plain.c_str());
           return absl::OkStatus();
         });
}

}  // namespace

void AddCommandLine(CLI::App& app, GlobalOptions& options, std::string& token_file,
                    const std::string& version, SelectedCommand& selected) {
  app.name("mdh");
  app.description("mdh: tunes computations and fetches their kernels through the daemon mdhd.");
  app.footer(kExitCodesHelp);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--server", options.server, "unix:/path or HOST:PORT")
      ->envname("MDH_SERVER")
      ->capture_default_str();
  AddSecurityOptions(app, options.client.security, token_file);
  app.add_flag("--json", options.json, "print JSON to standard output");
  AddTuneCommands(app, options, selected);
  AddLookupCommand(app, options, selected);
  AddKernelCommand(app, options, selected);
  AddJobCommands(app, options, selected);
  AddTrialsCommand(app, options, selected);
  AddReportCommand(app, options, selected);
  AddTopCommand(app, options, selected);
  AddRecordCommands(app, options, selected);
  AddAdminCommand(app, options, selected);
  AddDeviceCommand(app, options, selected);
  AddStudyCommand(app, options, selected);
  AddTuneProgramCommand(app, options, selected);
  AddEvaluateProgramCommand(app, selected);
  AddCompareTechniquesCommand(app, options, selected);
  AddScheduleCommand(app, options, selected);
  AddExploreCommand(app, options, selected);
  AddExpressionCommands(app, options, selected);
  AddShellCommands(app, version, selected);
  AddVersionCommand(app, options, version, selected);
}

}  // namespace mdh
