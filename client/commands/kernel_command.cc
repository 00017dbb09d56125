// mdh kernel: writes source, header and launch information.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/commands/call/bundle_argument.h"
#include "client/commands/call/command.h"
#include "client/commands/call/output_file.h"
#include "client/commands/format/explain_pipeline.h"
#include "client/commands/format/launch_information.h"
#include "client/commands/lookup_command.h"

namespace mdh {
namespace {

struct KernelArguments {
  LookupArguments lookup;
  std::string output = ".";
  std::string name;
  std::string bundle;
  bool unmeasured = false;
  bool tune = false;
};

// A kernel that may not be measured: the best that is known of the device, attached or not.
Result<v1::GetKernelResponse> GetUnmeasured(const GlobalOptions& options,
                                            const KernelArguments& kernel_arguments) {
  const LookupArguments& arguments = kernel_arguments.lookup;
  if (IsDigest(arguments.expression.file)) {
    return WithExitCode(ExitCode::kUsage,
                        "a kernel that was not measured needs the expression itself");
  }
  if (!arguments.schedule.file.empty()) {
    return WithExitCode(ExitCode::kUsage,
                        "a kernel that was not measured keeps to no schedule: mdh tune --schedule "
                        "measures one");
  }
  MDH_ASSIGN_OR_RETURN(const Computation computation, LoadComputation(arguments.expression));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  return kernel_arguments.tune
             ? client->GetKernelAndTune(computation, arguments.device.selection, {},
                                        arguments.numerics_policy)
             : client->GetBestKernel(computation, arguments.device.selection,
                                     v1::MATCH_KIND_PREDICTED, arguments.numerics_policy);
}

Result<v1::GetKernelResponse> GetFromBundle(const KernelArguments& kernel_arguments) {
  const LookupArguments& arguments = kernel_arguments.lookup;
  if (IsDigest(arguments.expression.file)) {
    return WithExitCode(ExitCode::kUsage,
                        "a kernel of a bundle needs the expression itself, not its digest");
  }
  MDH_ASSIGN_OR_RETURN(const Computation computation, LoadComputation(arguments.expression));
  return FindInBundle(kernel_arguments.bundle, computation, arguments.numerics_policy,
                      arguments.device);
}

Result<v1::GetKernelResponse> GetMeasured(const GlobalOptions& options,
                                          const LookupArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(LookupResult lookup, ConnectAndLookup(options, arguments));
  v1::GetKernelResponse found;
  found.set_match(lookup.found.match());
  if (lookup.found.has_pipeline()) {
    found.mutable_kernel()->Swap(lookup.found.mutable_kernel());
    found.mutable_pipeline()->Swap(lookup.found.mutable_pipeline());
  } else {
    MDH_ASSIGN_OR_RETURN(*found.mutable_kernel(),
                         lookup.client->GetKernel(lookup.found.record().name()));
  }
  found.mutable_record()->Swap(lookup.found.mutable_record());
  return found;
}

Status WriteFiles(const GlobalOptions& options, const KernelArguments& arguments,
                  const v1::GetKernelResponse& found) {
  const std::string name =
      arguments.name.empty() ? found.record().expression_name() : arguments.name;
  const std::filesystem::path folder = arguments.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return WithExitCode(ExitCode::kCannotWrite, absl::StrCat("cannot make folder ", folder.string(),
                                                             ": ", error.message()));
  }
  nlohmann::ordered_json written = nlohmann::ordered_json::array();
  for (const auto& [file, text] : KernelFiles(name, found)) {
    const std::filesystem::path path = folder / file;
    MDH_RETURN_IF_ERROR(WriteOutputFile(path, text));
    written.push_back(path.string());
    if (!options.json) std::printf("%s\n", path.c_str());
  }
  if (options.json) {
    nlohmann::ordered_json result = {{"kernel", found.kernel().name()}, {"files", written}};
    if (found.has_pipeline()) {
      result["pipeline"] = nlohmann::ordered_json::parse(ToJson(found.pipeline()));
    }
    std::printf("%s\n", result.dump(2).c_str());
  }
  return absl::OkStatus();
}

Status WriteKernel(const GlobalOptions& options, const KernelArguments& arguments) {
  const bool may_be_unmeasured =
      arguments.unmeasured || arguments.tune || !arguments.lookup.device.is_attached;
  MDH_ASSIGN_OR_RETURN(const v1::GetKernelResponse found,
                       !arguments.bundle.empty() ? GetFromBundle(arguments)
                       : may_be_unmeasured       ? GetUnmeasured(options, arguments)
                                                 : GetMeasured(options, arguments.lookup));
  if (found.has_pipeline() && !options.json) {
    std::printf("%s",
                FormatPipelineKernel(found.record().expression_name(), found.pipeline()).c_str());
  } else if (found.match() == v1::MATCH_KIND_PREDICTED && !options.json) {
    std::printf("not measured on this device: made from %s\n",
                found.made_from().empty() ? "rules" : found.made_from().c_str());
  }
  if (!found.tuning_job().empty() && !options.json) {
    std::printf("tuning goes on: %s\n", found.tuning_job().c_str());
  }
  for (const std::string& job : found.pipeline().tuning_jobs()) {
    if (!options.json) std::printf("tuning goes on: %s\n", job.c_str());
  }
  if (found.has_tuning_error()) {
    std::fprintf(stderr, "mdh: no tuning: %s\n", found.tuning_error().message().c_str());
  }
  return WriteFiles(options, arguments, found);
}

}  // namespace

void AddKernelCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto arguments = std::make_shared<KernelArguments>();
  CLI::App* kernel =
      app.add_subcommand("kernel",
                         "write the best known kernel of an expression or a pipeline: NAME.c and "
                         "NAME.h, NAME.cu or NAME.cl, and NAME.json, how to "
                         "launch it");
  AddLookupArguments(*kernel, arguments->lookup);
  kernel->add_flag("--unmeasured", arguments->unmeasured,
                   "accept a kernel that was not measured on the device: made from the record of a "
                   "similar one, or from rules; always so for devices that are not attached");
  kernel->add_flag("--tune", arguments->tune,
                   "do not wait for a measured kernel: take what --unmeasured gives, and let the "
                   "daemon tune in the background");
  CLI::Option* const bundle = kernel->add_option(
      "--bundle", arguments->bundle,
      "bundle that has it (mdh admin export): no daemon is asked, and the same "
      "files come from the same bundle; --device is then cpu or a file, and what "
      "is not given the CPU of this machine, or the one device of the bundle");
  for (const char* other : {"--unmeasured", "--tune", "--schedule", "--compatible"}) {
    bundle->excludes(other);
  }
  kernel->add_option("--output", arguments->output, "folder; made if it is not there")
      ->capture_default_str();
  kernel->add_option("--name", arguments->name, "name of the files [the expression's name]")
      ->check([](const std::string& name) {
        return name.find('/') == std::string::npos
                   ? std::string()
                   : absl::StrCat("'", name, "' is no name of a file");
      });
  Select(kernel, selected, [&options, arguments] { return WriteKernel(options, *arguments); });
}

}  // namespace mdh
