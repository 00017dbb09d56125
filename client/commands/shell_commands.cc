// mdh completion, mdh manual: what shells and man(1) want to know of the command line.
#include <cstdio>
#include <memory>
#include <string>

#include "client/commands/call/command.h"
#include "core/command_line/completion.h"
#include "core/command_line/manual_page.h"

namespace mdh {
namespace {

void PrintCompletion(const CLI::App& app, const std::string& shell) {
  // Its own default is that of whoever makes the script.
  const CommandEntry program = ReadCommandTree(app);
  const std::string script = shell == "bash"  ? BashCompletion(program)
                             : shell == "zsh" ? ZshCompletion(program)
                                              : FishCompletion(program);
  std::fputs(script.c_str(), stdout);
}

void PrintManual(const CLI::App& app, const std::string& version) {
  CommandEntry program = ReadCommandTree(app);
  for (OptionEntry& option : program.options) {
    // Depends on the user who makes the page.
    if (option.environment == "MDH_SERVER") {
      option.default_value = "unix:$XDG_RUNTIME_DIR/mdhd.sock";
    }
  }
  ManualPageOptions options;
  options.version = "mdhd " + version;
  std::string exit_codes = program.footer;
  options.sections = {{"exit status", exit_codes.substr(exit_codes.find('\n') + 1)}};
  options.see_also = "mdhd(8)";
  std::fputs(ManualPage(program, options).c_str(), stdout);
}

}  // namespace

void AddShellCommands(CLI::App& app, const std::string& version, SelectedCommand& selected) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand(
      "completion",
      "print a script that completes this command line: source <(mdh completion bash)");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  Select(completion, selected, [&app, shell] {
    PrintCompletion(app, *shell);
    return absl::OkStatus();
  });
  Select(app.add_subcommand("manual", "print the manual page, for man: mdh manual | man -l -"),
         selected, [&app, version] {
           PrintManual(app, version);
           return absl::OkStatus();
         });
}

}  // namespace mdh
