// mdh: the command line of mdhd.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "client/commands/command.h"
#include "proto/endpoint.h"

namespace {

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

  CLI::App app{"mdh: tunes computations and fetches their kernels through the daemon mdhd.", "mdh"};
  app.footer(mdh::kExitCodesHelp);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--server", options.server, "unix:/path or HOST:PORT")
      ->envname("MDH_SERVER")
      ->capture_default_str();
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
  return static_cast<int>(selected());
}
