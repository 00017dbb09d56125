// mdh: the command line of mdhd.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "client/commands/command.h"
#include "proto/endpoint.h"

namespace {

void AddSecurityOptions(CLI::App& app, mdh::ClientSecurity& security, std::string& token_file) {
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
  app.add_flag("--allow-token-in-clear", security.allow_token_in_clear,
               "send the token to other machines without TLS, too");
}

// The first word of the file.
bool ReadToken(const std::string& path, std::string& token) {
  std::ifstream file(path);
  return static_cast<bool>(file >> token);
}

void AddVersionCommand(CLI::App& app, const mdh::GlobalOptions& options,
                       mdh::SelectedCommand& selected) {
  CLI::App* version = app.add_subcommand("version", "print the version of this program");
  version->callback([&options, &selected] {
    selected = [&options] {
      const nlohmann::json json = {{"version", MDH_VERSION}};
      std::printf("%s\n", options.json ? json.dump(2).c_str() : "mdh " MDH_VERSION);
      return mdh::ExitCode::kOk;
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const char* runtime_directory = std::getenv("XDG_RUNTIME_DIR");
  mdh::GlobalOptions options;
  options.server =
      mdh::DefaultEndpoint(runtime_directory == nullptr ? "" : runtime_directory, getuid());
  mdh::SelectedCommand selected;
  std::string token_file;

  CLI::App app{"mdh: tunes computations and fetches their kernels through the daemon mdhd.", "mdh"};
  app.footer(mdh::kExitCodesHelp);
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
  AddRecordCommands(app, options, selected);
  AddAdminCommand(app, options, selected);
  AddDeviceCommand(app, options, selected);
  AddStudyCommand(app, options, selected);
  AddTuneProgramCommand(app, options, selected);
  AddEvaluateProgramCommand(app, selected);
  AddCompareTechniquesCommand(app, options, selected);
  AddExpressionCommands(app, options, selected);
  AddVersionCommand(app, options, selected);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return static_cast<int>(mdh::Fail(mdh::ExitCode::kUsage, error.what()));
  }
  if (const char* token = std::getenv("MDH_TOKEN"); token != nullptr && token_file.empty()) {
    options.client.security.token = token;
  } else if (!token_file.empty() && !ReadToken(token_file, options.client.security.token)) {
    return static_cast<int>(mdh::Fail(mdh::ExitCode::kUsage, "there is no token in " + token_file));
  }
  return static_cast<int>(selected());
}
