// mdh kernel: writes source, header and launch information.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/commands/command.h"
#include "client/commands/lookup_command.h"
#include "core/scalar_type.h"

namespace mdh {
namespace {

struct KernelArguments {
  LookupArguments lookup;
  std::string output = ".";
  std::string name;
};

nlohmann::ordered_json ArgumentJson(const v1::KernelArgument& argument) {
  nlohmann::ordered_json json = {{"name", argument.name()}};
  if (argument.record().empty()) {
    json["type"] = std::string(Name(static_cast<ScalarType>(argument.type())));
  } else {
    json["type"] = "record";
    for (const v1::TypedName& field : argument.record()) {
      json["fields"].push_back(
          {{"name", field.name()},
           {"type", std::string(Name(static_cast<ScalarType>(field.type())))}});
    }
  }
  json["elements"] = argument.elements();
  json["size_bytes"] = argument.size_bytes();
  json["is_output"] = argument.is_output();
  return json;
}

// Everything that is needed to compile and call the kernel.
nlohmann::ordered_json LaunchInformation(const std::string& name, const v1::Kernel& kernel,
                                         const v1::TuningRecord& record) {
  nlohmann::ordered_json arguments = nlohmann::ordered_json::array();
  for (const v1::KernelArgument& argument : kernel.arguments()) {
    arguments.push_back(ArgumentJson(argument));
  }
  std::string command = kernel.compiler();
  for (const std::string& option : kernel.compile_options()) absl::StrAppend(&command, " ", option);
  absl::StrAppend(&command, " -c ", name, ".c -o ", name, ".o");
  const v1::KernelKey& key = record.key();
  return {{"kernel", kernel.name()},
          {"language", kernel.language()},
          {"source", name + ".c"},
          {"header", name + ".h"},
          {"entry", kernel.entry()},
          {"body", kernel.entry() + "_body"},
          {"stages", kernel.stages()},
          {"arguments", arguments},
          {"scratch",
           {{"bytes_function", kernel.entry() + "_scratch_bytes"},
            {"alignment_bytes", kernel.scratch_alignment_bytes()}}},
          {"compiler", kernel.compiler()},
          {"compile_options", std::vector<std::string>(kernel.compile_options().begin(),
                                                       kernel.compile_options().end())},
          {"compile_command", command},
          {"threads", kernel.threads()},
          {"time_ns", record.time_ns()},
          {"parameters", record.parameters()},
          {"expression", record.expression_text()},
          {"expression_digest", key.expression_digest()},
          {"device", key.device_fingerprint()},
          {"compilers", key.compiler()},
          {"generator_version", key.generator_version()}};
}

Status WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (stream.fail()) return absl::InternalError(absl::StrCat("cannot write ", path.string()));
  return absl::OkStatus();
}

ExitCode WriteKernel(const GlobalOptions& options, const KernelArguments& arguments) {
  std::unique_ptr<Client> client;
  v1::LookupKernelResponse found;
  const ExitCode code = ConnectAndLookup(options, arguments.lookup, client, found);
  if (code != ExitCode::kOk) return code;
  const Result<v1::Kernel> kernel = client->GetKernel(found.record().name());
  if (!kernel.ok()) return Fail(kernel.status());

  const std::string name =
      arguments.name.empty() ? found.record().expression_name() : arguments.name;
  const std::filesystem::path folder = arguments.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Fail(ExitCode::kCannotWrite,
                absl::StrCat("cannot make folder ", folder.string(), ": ", error.message()));
  }
  const std::pair<std::filesystem::path, std::string> files[] = {
      {folder / (name + ".c"), kernel->source()},
      {folder / (name + ".h"), kernel->header()},
      {folder / (name + ".json"), LaunchInformation(name, *kernel, found.record()).dump(2) + "\n"}};
  nlohmann::ordered_json written = nlohmann::ordered_json::array();
  for (const auto& [path, text] : files) {
    if (const Status status = WriteFile(path, text); !status.ok()) {
      return Fail(ExitCode::kCannotWrite, std::string(status.message()));
    }
    written.push_back(path.string());
    if (!options.json) std::printf("%s\n", path.c_str());
  }
  if (options.json) {
    const nlohmann::ordered_json result = {{"kernel", kernel->name()}, {"files", written}};
    std::printf("%s\n", result.dump(2).c_str());
  }
  return ExitCode::kOk;
}

}  // namespace

void AddKernelCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto arguments = std::make_shared<KernelArguments>();
  CLI::App* kernel = app.add_subcommand(
      "kernel", "write the best known kernel: NAME.c, NAME.h and NAME.json, how to launch it");
  AddLookupArguments(*kernel, arguments->lookup);
  kernel->add_option("--output", arguments->output, "folder; made if it is not there")
      ->capture_default_str();
  kernel->add_option("--name", arguments->name, "name of the files [the expression's name]")
      ->check([](const std::string& name) {
        return name.find('/') == std::string::npos
                   ? std::string()
                   : absl::StrCat("'", name, "' is no name of a file");
      });
  kernel->callback([&options, &selected, arguments] {
    selected = [&options, arguments] { return WriteKernel(options, *arguments); };
  });
}

}  // namespace mdh
