// The command line as a whole: it covers the API, and completions and manual pages say what it
// accepts.
#include "client/commands/command_line.h"

#include <google/protobuf/descriptor.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/command_line/completion.h"
#include "core/command_line/manual_page.h"
#include "core/command_line/suggestion.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/candidate.pb.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/expression.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/study.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "tests/server/temporary_directory.h"

namespace mdh::command_line_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

CommandEntry CommandLine() {
  CLI::App app;
  GlobalOptions options;
  std::string token_file;
  SelectedCommand selected;
  AddCommandLine(app, options, token_file, "1.2.3", selected);
  return ReadCommandTree(app);
}

const CommandEntry* Find(const CommandEntry& program, const std::string& path) {
  const CommandEntry* found = &program;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(path, ' '))) {
    const auto next = std::find_if(found->commands.begin(), found->commands.end(),
                                   [&](const CommandEntry& c) { return c.name == word; });
    if (next == found->commands.end()) return nullptr;
    found = &*next;
  }
  return found;
}

// Which command calls a method; those that begin with "-" are reasons why none does.
const std::map<std::string, std::string>& CommandsOfMethods() {
  static const auto* commands = new std::map<std::string, std::string>{
      {"AdminService.Backup", "admin backup"},
      {"AdminService.CheckIntegrity", "admin check"},
      {"AdminService.CollectGarbage", "admin gc"},
      {"AdminService.ExportBundle", "admin export"},
      {"AdminService.GetCapabilities", "admin capabilities"},
      {"AdminService.GetStatistics", "admin stats"},
      {"AdminService.ImportBundle", "admin import"},
      {"CandidateService.DescribeCandidate", "explore"},
      {"CandidateService.FinishCandidate", "explore"},
      {"DeviceService.GetDevice", "devices"},
      {"DeviceService.ListDevices", "devices"},
      {"DeviceService.ListKnownDevices", "devices"},
      {"ExpressionService.CheckExpression",
       "- mdh check says the same without a daemon; the method is for clients without the parser"},
      {"KernelService.BatchLookupKernels",
       "- gives what mdh lookup gives, for programs that have many keys at once"},
      {"KernelService.GetKernel", "kernel"},
      {"KernelService.InvalidateKernel", "forget"},
      {"KernelService.ListRecords", "records"},
      {"KernelService.LookupKernel", "lookup"},
      {"KernelService.PinKernel", "pin"},
      {"KernelService.PutKernel", "put"},
      {"KernelService.UnpinKernel", "unpin"},
      {"KernelService.WatchKernels", "records"},
      {"StudyService.AskTrials", "tune-program"},
      {"StudyService.CancelStudy", "study cancel"},
      {"StudyService.CreateStudy", "tune-program"},
      {"StudyService.DeleteStudy", "study delete"},
      {"StudyService.GetStudy", "study show"},
      {"StudyService.ListStudies", "study list"},
      {"StudyService.ListTrials", "study trials"},
      {"StudyService.TellTrials", "tune-program"},
      {"TuningService.CancelTuningJob", "cancel"},
      {"TuningService.CheckSchedule", "schedule check"},
      {"TuningService.CreateTuningJob", "tune"},
      {"TuningService.GetTuningJob", "watch"},
      {"TuningService.ListTuningJobs", "jobs"},
      {"TuningService.ListTuningTrials", "trials"},
      {"TuningService.PauseTuningJob", "pause"},
      {"TuningService.ResumeTuningJob", "resume"},
      {"TuningService.WatchTuningJob", "watch"}};
  return *commands;
}

TEST(CommandLineTest, EveryMethodOfTheApiHasACommandOrAReason) {
  const CommandEntry program = CommandLine();
  std::set<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::DescribeCandidateRequest::descriptor()->file(),
        v1::GetStatisticsRequest::descriptor()->file(), v1::GetDeviceRequest::descriptor()->file(),
        v1::CheckExpressionRequest::descriptor()->file(),
        v1::LookupKernelRequest::descriptor()->file(), v1::CreateStudyRequest::descriptor()->file(),
        v1::CreateTuningJobRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.insert(
            absl::StrCat(file->service(s)->name(), ".", file->service(s)->method(m)->name()));
      }
    }
  }
  for (const std::string& method : methods) {
    const auto command = CommandsOfMethods().find(method);
    ASSERT_NE(command, CommandsOfMethods().end()) << method << " has no command";
    if (command->second.starts_with("-")) continue;
    EXPECT_NE(Find(program, command->second), nullptr) << command->second;
  }
  for (const auto& [method, command] : CommandsOfMethods()) {
    EXPECT_TRUE(methods.contains(method)) << method << " is no method";
  }
}

TEST(CommandLineTest, TheTreeSaysWhatOptionsTake) {
  const CommandEntry program = CommandLine();
  EXPECT_EQ(program.name, "mdh");
  const CommandEntry& format = *Find(program, "study export");
  ASSERT_THAT(format.positionals, testing::SizeIs(1));
  EXPECT_EQ(format.positionals[0].value, "STUDY");
  EXPECT_TRUE(format.positionals[0].is_required);
  const auto option =
      std::find_if(format.options.begin(), format.options.end(),
                   [](const OptionEntry& o) { return o.names.back() == "--format"; });
  ASSERT_NE(option, format.options.end());
  EXPECT_THAT(option->choices, ElementsAre("csv", "json"));
  EXPECT_EQ(option->default_value, "csv");
  const auto server =
      std::find_if(program.options.begin(), program.options.end(),
                   [](const OptionEntry& o) { return o.environment == "MDH_SERVER"; });
  ASSERT_NE(server, program.options.end());
  EXPECT_EQ(server->value, "TEXT");
}

TEST(CommandLineTest, EveryCommandAndOptionSaysWhatItIs) {
  std::vector<std::string> silent;
  const std::function<void(const CommandEntry&)> look = [&](const CommandEntry& command) {
    if (command.description.empty()) silent.push_back(command.name);
    for (const auto* options : {&command.options, &command.positionals}) {
      for (const OptionEntry& option : *options) {
        if (option.description.empty()) silent.push_back(command.name + " " + option.value);
      }
    }
    for (const CommandEntry& inner : command.commands) look(inner);
  };
  look(CommandLine());
  EXPECT_THAT(silent, IsEmpty());
}

// What a command of a shell prints; empty with `ran` false if there is no such program.
std::string Output(const std::string& command, bool& ran) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  ran = pclose(pipe) == 0;
  return output;
}

bool HasProgram(const std::string& name) {
  return std::system(absl::StrCat("command -v ", name, " >/dev/null 2>&1").c_str()) == 0;
}

std::vector<std::string> CompletedByBash(const std::string& line) {
  const TemporaryDirectory directory;
  std::ofstream(directory.File("mdh")) << BashCompletion(CommandLine());
  std::ofstream(directory.File("script"))
      << "source " << directory.File("mdh") << "\ncd " << directory.File("") << "\nCOMP_WORDS=("
      << line << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_mdh\n"
      << "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  bool ran = false;
  const std::string output = Output("bash " + directory.File("script"), ran);
  EXPECT_TRUE(ran) << output;
  return absl::StrSplit(output, '\n', absl::SkipEmpty());
}

TEST(CompletionTest, BashCompletesCommandsOptionsChoicesAndFiles) {
  EXPECT_THAT(CompletedByBash("mdh tu"), ElementsAre("tune", "tune-program"));
  EXPECT_THAT(CompletedByBash("mdh admin ba"), ElementsAre("backup"));
  EXPECT_THAT(CompletedByBash("mdh --server unix:/x --json adm"), ElementsAre("admin"));
  EXPECT_THAT(CompletedByBash("mdh admin ''"), IsSupersetOf({"backup", "export", "gc", "--json"}));
  EXPECT_THAT(CompletedByBash("mdh jobs --st"), ElementsAre("--state"));
  EXPECT_THAT(CompletedByBash("mdh study export 1 --format ''"), ElementsAre("csv", "json"));
  EXPECT_THAT(CompletedByBash("mdh completion z"), ElementsAre("zsh"));
  EXPECT_THAT(CompletedByBash("mdh tune --caches ''"), ElementsAre("cold", "warm"));
  EXPECT_THAT(CompletedByBash("mdh kernel scr"), ElementsAre("script"));
  EXPECT_THAT(CompletedByBash("mdh --server m"), ElementsAre("mdh"));
}

TEST(CompletionTest, ZshAcceptsItsScript) {
  if (!HasProgram("zsh")) GTEST_SKIP() << "there is no zsh";
  const TemporaryDirectory directory;
  std::ofstream(directory.File("_mdh")) << ZshCompletion(CommandLine());
  bool ran = false;
  const std::string output = Output("zsh -n " + directory.File("_mdh") + " 2>&1", ran);
  EXPECT_TRUE(ran) << output;
}

// What fish offers for a line.
std::string CompletedByFish(const std::string& line) {
  const TemporaryDirectory directory;
  std::ofstream(directory.File("mdh.fish")) << FishCompletion(CommandLine());
  bool ran = false;
  return Output("cd " + directory.File("") + " && HOME=. fish -c \"source mdh.fish; complete -C '" +
                    line + "'\" 2>&1 | cut -f1",
                ran);
}

TEST(CompletionTest, FishCompletesCommandsOptionsAndChoices) {
  const std::string script = FishCompletion(CommandLine());
  EXPECT_THAT(script, HasSubstr("-n '__mdh_at \\'study export\\'' -l format -x -a 'csv json'"));
  if (!HasProgram("fish")) GTEST_SKIP() << "there is no fish";
  EXPECT_EQ(CompletedByFish("mdh tu"), "tune\ntune-program\n");
  EXPECT_EQ(CompletedByFish("mdh --server unix:/x --json adm"), "admin\n");
  EXPECT_EQ(CompletedByFish("mdh admin ba"), "backup\n");
  EXPECT_EQ(CompletedByFish("mdh jobs --sta"), "--state\n");
  EXPECT_EQ(CompletedByFish("mdh study export 1 --format "), "csv\njson\n");
  EXPECT_EQ(CompletedByFish("mdh completion z"), "zsh\n");
  EXPECT_EQ(CompletedByFish("mdh tune --caches "), "cold\nwarm\n");
  EXPECT_EQ(CompletedByFish("mdh kernel mdh.f"), "mdh.fish\n");
}

TEST(SuggestionTest, DistancesCountSlips) {
  EXPECT_EQ(EditDistance("tune", "tune"), 0);
  EXPECT_EQ(EditDistance("tuen", "tune"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kernl", "kernel"), 1);
  EXPECT_EQ(EditDistance("lokup", "lookups"), 2);
  EXPECT_EQ(EditDistance("ab", "cd"), 2);
}

TEST(SuggestionTest, TheFirstUnknownWordIsNamed) {
  const CommandEntry program = CommandLine();
  const auto explain = [&](const std::string& line) {
    return ExplainUnknownWord(program, absl::StrSplit(line, ' '));
  };
  EXPECT_EQ(explain("tuen a.mdh"), "mdh has no command 'tuen'; did you mean 'tune'?");
  EXPECT_EQ(explain("--server unix:/x loookup a.mdh"),
            "mdh has no command 'loookup'; did you mean 'lookup'?");
  EXPECT_EQ(explain("study exprot 1"), "mdh study has no command 'exprot'; did you mean 'export'?");
  EXPECT_EQ(explain("tune a.mdh --bugdet 3s"),
            "mdh tune has no option '--bugdet'; did you mean '--budget'?");
  EXPECT_EQ(explain("tune a.mdh --jsn"), "mdh tune has no option '--jsn'; did you mean '--json'?");
  EXPECT_EQ(explain("tune --budgte=3s"),
            "mdh tune has no option '--budgte'; did you mean '--budget'?");
  EXPECT_EQ(explain("frobnicate"), "mdh has no command 'frobnicate'");
  // Values of options and what a command takes are nobody's names.
  EXPECT_EQ(explain("tune tuen --budget --bugdet"), "");
  EXPECT_EQ(explain("tune a.mdh -- --bugdet"), "");
  EXPECT_EQ(explain("jobs --limit -3"), "");
}

// Every command and option with two letters exchanged or one left out is found again, or another
// one that is as near.
TEST(SuggestionTest, EverySlipIsMended) {
  const CommandEntry program = CommandLine();
  const std::function<void(const CommandEntry&, std::vector<std::string>)> look =
      [&](const CommandEntry& command, std::vector<std::string> path) {
        for (const OptionEntry& option : command.options) {
          const std::string& name = option.names.back();
          if (name.size() < 6) continue;
          std::vector<std::string> words = path;
          words.push_back(name.substr(0, 4) + name.substr(5));
          EXPECT_THAT(ExplainUnknownWord(program, words), HasSubstr("did you mean '--")) << name;
        }
        for (const CommandEntry& inner : command.commands) {
          std::vector<std::string> words = path;
          words.push_back(inner.name);
          look(inner, words);
          std::swap(words.back()[0], words.back()[1]);
          if (inner.name[0] == inner.name[1]) continue;
          EXPECT_THAT(ExplainUnknownWord(program, words), HasSubstr("did you mean '"))
              << inner.name;
        }
      };
  look(program, {});
}

TEST(ManualPageTest, HasCommandsOptionsAndSections) {
  const std::string page =
      ManualPage(CommandLine(), {.section = 1,
                                 .version = "mdhd 1.2.3",
                                 .sections = {{"exit status", "0 success\n\n  2  wrong"}},
                                 .see_also = "mdhd(8)"});
  EXPECT_THAT(page, testing::StartsWith(".TH MDH 1 "));
  EXPECT_THAT(page, HasSubstr(".SS \"mdh study export\""));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-format\\fR"));
  EXPECT_THAT(page, HasSubstr("one of csv, json"));
  EXPECT_THAT(page, HasSubstr(".SH \"EXIT STATUS\""));
  EXPECT_THAT(page, HasSubstr("environment MDH_SERVER"));
  // No text begins a line as a command would.
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(page, '\n'))) {
    if (!line.starts_with('.')) continue;
    EXPECT_THAT(line.substr(0, 3), testing::AnyOf(".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"));
  }
}

TEST(ManualPageTest, PassesTheLint) {
  if (!HasProgram("mandoc")) GTEST_SKIP() << "there is no mandoc";
  const TemporaryDirectory directory;
  std::ofstream(directory.File("mdh.1"))
      << ManualPage(CommandLine(), {.section = 1,
                                    .version = "mdhd 1.2.3",
                                    .sections = {{"exit status", "0 success\n\n  2  wrong"}},
                                    .see_also = "mdhd(8)"});
  bool ran = false;
  // Without a date, the page of a version is the same whenever it is made.
  const std::string output = Output(
      "mandoc -T lint -W warning " + directory.File("mdh.1") + " 2>&1 | grep -v 'missing date'",
      ran);
  EXPECT_EQ(output, "");
}

TEST(ManualPageTest, TextsThatLookLikeCommandsAreText) {
  CommandEntry program;
  program.name = "x";
  program.description = "x: does.";
  OptionEntry option;
  option.names = {"--a"};
  option.description = ".so /etc/passwd \\n";
  program.options = {option};
  const std::string page = ManualPage(program, {});
  EXPECT_THAT(page, HasSubstr("\n\\&.so /etc/passwd \\en\n"));
  EXPECT_THAT(page, Not(HasSubstr("\n.so")));
}

}  // namespace
}  // namespace mdh::command_line_test
