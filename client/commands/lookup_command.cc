// mdh lookup.
#include "client/commands/lookup_command.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/strip.h"
#include "client/commands/format/explain_pipeline.h"
#include "client/commands/format/record_format.h"
#include "client/text/terminal.h"
#include "client/text/text_table.h"
#include "core/expression/numerics.h"

namespace mdh {
namespace {

constexpr size_t kDigestDigits = 64;

// The words that make another command find the same record. `digest`: of the expression.
std::vector<std::string> NamingWords(const LookupArguments& arguments, const std::string& digest) {
  std::vector<std::string> words = WordsOf(arguments.expression);
  if (words.empty()) words.push_back(digest);
  const auto add = [&words](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (arguments.numerics_policy != v1::NUMERICS_POLICY_UNSPECIFIED) {
    add("--numerics", std::string(Name(static_cast<NumericsPolicy>(arguments.numerics_policy))));
  }
  if (!arguments.device.text.empty()) add("--device", arguments.device.text);
  if (arguments.compatible) words.emplace_back("--compatible");
  // Nothing names what came from standard input.
  const std::string& schedule = arguments.schedule.file;
  if (!schedule.empty() && schedule != "-") add("--schedule", schedule);
  return words;
}

// What jobs there were is asked of the database, which a lookup does not wait for.
constexpr int64_t kPatienceForJob = 300'000'000;

// The newest job that has ended with this record; empty if the daemon has none, or does not say so
// at once.
std::string JobOf(Client& client, const v1::TuningRecord& record) {
  v1::ListTuningJobsRequest request;
  request.set_expression(record.key().expression_digest());
  const Result<v1::ListTuningJobsResponse> jobs = client.ListJobs(request, kPatienceForJob);
  if (!jobs.ok()) return "";
  for (const v1::TuningJob& job : jobs->jobs()) {
    if (job.record() == record.name()) return job.name();
  }
  return "";
}

Status Lookup(const GlobalOptions& options, const LookupArguments& arguments, RecordDetail detail) {
  MDH_ASSIGN_OR_RETURN(const LookupResult result, ConnectAndLookup(options, arguments));
  Show(options, result.found, [&](const v1::LookupKernelResponse& found) {
    if (found.has_pipeline()) {
      PrintWrapped(FormatPipelineKernel(found.record().expression_name(), found.pipeline()), 4);
      return;
    }
    if (found.match() == v1::MATCH_KIND_COMPATIBLE) {
      std::printf("compatible, not exact: compiler %s, generator version %d\n",
                  found.record().key().compiler().c_str(),
                  found.record().key().generator_version());
    }
    PrintRecord(found.record(), detail, arguments, JobOf(*result.client, found.record()));
  });
  return absl::OkStatus();
}

}  // namespace

bool IsDigest(const std::string& text) {
  return text.size() == kDigestDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos &&
         !std::filesystem::exists(text);
}

void AddTableOption(CLI::App& command, RecordDetail& detail) {
  command.add_flag_callback(
      "--table", [&detail] { detail = RecordDetail::kTable; },
      "also show the search and the low-level expression as a table of all levels");
}

void PrintRecord(const v1::TuningRecord& record, RecordDetail detail,
                 const LookupArguments& arguments, const std::string& job) {
  constexpr int kHang = 15;
  const int columns = ColumnsOfOutput(STDOUT_FILENO);
  PrintWrapped(FormatRecord(record), kHang);
  if (detail == RecordDetail::kTable) {
    // The paper's table is as wide as it is.
    std::printf("%s", FormatRecordDetails(record, columns).c_str());
    return;
  }
  const std::vector<std::string> words = NamingWords(arguments, record.key().expression_digest());
  std::vector<std::vector<std::string>> next = {{"mdh", "kernel"}};
  next[0].insert(next[0].end(), words.begin(), words.end());
  if (!job.empty()) {
    next.push_back({"mdh", "report", std::string(absl::StripPrefix(job, "tuningJobs/"))});
  }
  std::printf("%s", FormatNextCommands(next, columns).c_str());
}

std::vector<std::string> KernelCommand(const LookupArguments& arguments) {
  std::vector<std::string> words = NamingWords(arguments, "");
  if (words.front().empty()) return {};
  words.insert(words.begin(), {"mdh", "kernel"});
  return words;
}

void AddNumericsOption(CLI::App& command, v1::NumericsPolicy& policy) {
  static_assert(static_cast<int>(NumericsPolicy::kFixedTree) == v1::NUMERICS_POLICY_FIXED_TREE);
  static_assert(static_cast<int>(NumericsPolicy::kFp8) == v1::NUMERICS_POLICY_FP8);
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
          "default), exact (the order of the plain loop nest), tree (the same bits everywhere), "
          "or, in any order, products of fp32 that matrix units compute: tf32, bf16x3 or bf16x6, "
          "and sums of products of fp8: fp8")
      ->type_name("POLICY");
}

void AddLookupArguments(CLI::App& command, LookupArguments& arguments) {
  AddExpressionArguments(
      command, arguments.expression,
      "expression or pipeline, or the digest of an expression; -: standard input");
  command.add_flag("--compatible", arguments.compatible,
                   "accept results of another compiler or generator version");
  AddNumericsOption(command, arguments.numerics_policy);
  AddDeviceOption(command, arguments.device);
  AddScheduleOption(command, arguments.schedule,
                    "file with a schedule: the record of a search that kept to it; -: standard "
                    "input");
}

namespace {

Result<v1::LookupKernelResponse> LookupScheduled(Client& client, const LookupArguments& arguments,
                                                 const std::optional<Computation>& computation,
                                                 v1::MatchKind weakest) {
  if (!computation) {
    return WithExitCode(ExitCode::kUsage,
                        "--schedule is for an expression or a pipeline, not for a digest");
  }
  MDH_ASSIGN_OR_RETURN(const std::string schedule, LoadSchedule(arguments.schedule));
  Result<v1::LookupKernelResponse> found = client.LookupScheduled(
      *computation, schedule, weakest, arguments.device.selection, arguments.numerics_policy);
  if (!found.ok()) return InScheduleFile(arguments.schedule, found.status());
  return found;
}

}  // namespace

Result<LookupResult> ConnectAndLookup(const GlobalOptions& options,
                                      const LookupArguments& arguments) {
  std::optional<Computation> computation;
  if (!IsDigest(arguments.expression.file)) {
    MDH_ASSIGN_OR_RETURN(computation, LoadComputation(arguments.expression));
  }
  LookupResult result;
  MDH_ASSIGN_OR_RETURN(result.client, ConnectTo<Client>(options));
  const v1::MatchKind weakest =
      arguments.compatible ? v1::MATCH_KIND_COMPATIBLE : v1::MATCH_KIND_EXACT;
  const v1::DeviceSelection& device = arguments.device.selection;
  if (!arguments.schedule.file.empty()) {
    MDH_ASSIGN_OR_RETURN(result.found,
                         LookupScheduled(*result.client, arguments, computation, weakest));
    return result;
  }
  const auto* const pipeline = computation ? std::get_if<Pipeline>(&*computation) : nullptr;
  if (pipeline != nullptr) {
    MDH_ASSIGN_OR_RETURN(
        result.found, result.client->Lookup(*pipeline, weakest, device, arguments.numerics_policy));
    return result;
  }
  v1::KernelKey key;
  if (computation) {
    key = Client::KeyOf(std::get<Expression>(*computation), arguments.numerics_policy);
  } else {
    key.set_numerics_policy(arguments.numerics_policy);
    key.set_expression_digest(arguments.expression.file);
  }
  MDH_ASSIGN_OR_RETURN(result.found, result.client->Lookup(key, weakest, device));
  return result;
}

void AddLookupCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto arguments = std::make_shared<LookupArguments>();
  CLI::App* lookup =
      app.add_subcommand("lookup", "show the best known result for an expression or a pipeline");
  AddLookupArguments(*lookup, *arguments);
  auto detail = std::make_shared<RecordDetail>(RecordDetail::kShort);
  AddTableOption(*lookup, *detail);
  Select(lookup, selected,
         [&options, arguments, detail] { return Lookup(options, *arguments, *detail); });
}

}  // namespace mdh
