// mdh: the command line of mdhd.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "client/commands/command_line.h"
#include "client/text/text_table.h"
#include "core/command_line/suggestion.h"
#include "proto/endpoint.h"

namespace {

// The first word of the file.
bool ReadToken(const std::string& path, std::string& token) {
  std::ifstream file(path);
  return static_cast<bool>(file >> token);
}

// Help, in lines that fit the terminal.
int PrintHelp(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream help;
  const int code = app.exit(error, help, help);
  constexpr int kColumnOfDescriptions = 30;
  mdh::PrintWrapped(help.str(), kColumnOfDescriptions);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const char* runtime_directory = std::getenv("XDG_RUNTIME_DIR");
  mdh::GlobalOptions options;
  options.server =
      mdh::DefaultServer(runtime_directory == nullptr ? "" : runtime_directory, getuid());
  mdh::SelectedCommand selected;
  std::string token_file;

  CLI::App app;
  mdh::AddCommandLine(app, options, token_file, MDH_VERSION, selected);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return PrintHelp(app, error);
    const std::string unknown =
        mdh::ExplainUnknownWord(mdh::ReadCommandTree(app), {argv + 1, argv + argc});
    return static_cast<int>(mdh::Report(mdh::WithExitCode(
        mdh::ExitCode::kUsage, unknown.empty() ? std::string(error.what()) : unknown)));
  }
  if (const char* token = std::getenv("MDH_TOKEN"); token != nullptr && token_file.empty()) {
    options.client.security.token = token;
  } else if (!token_file.empty() && !ReadToken(token_file, options.client.security.token)) {
    return static_cast<int>(mdh::Report(
        mdh::WithExitCode(mdh::ExitCode::kUsage, "there is no token in " + token_file)));
  }
  return static_cast<int>(mdh::Report(selected()));
}
