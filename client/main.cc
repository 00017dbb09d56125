// mdh: the command line of mdhd.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

#include "client/commands/command_line.h"
#include "proto/endpoint.h"

namespace {

// The first word of the file.
bool ReadToken(const std::string& path, std::string& token) {
  std::ifstream file(path);
  return static_cast<bool>(file >> token);
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
