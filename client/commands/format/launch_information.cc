#include "client/commands/format/launch_information.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "client/commands/format/explain_pipeline.h"
#include "client/text/formatting.h"
#include "client/text/text_table.h"
#include "core/base/wrap_lines.h"
#include "core/device/backends.h"
#include "core/scalar/scalar_type.h"

namespace mdh {
namespace {

using Json = nlohmann::ordered_json;

template <typename Values>
Json JsonList(const Values& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(value);
  return list;
}

Json ArgumentJson(const v1::KernelArgument& argument) {
  Json json = {{"name", argument.name()}};
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
  json["extents"] = JsonList(argument.extents());
  if (argument.strides_size() > 0) json["strides"] = JsonList(argument.strides());
  json["size_bytes"] = argument.size_bytes();
  json["is_output"] = argument.is_output();
  return json;
}

Json TensorMapJson(const v1::TensorMap& map) {
  return {{"argument", map.argument()},
          {"offset_bytes", map.offset_bytes()},
          {"element_bytes", map.element_bytes()},
          {"extents", JsonList(map.extents())},
          {"strides_bytes", JsonList(map.strides_bytes())},
          {"box", JsonList(map.box())},
          {"swizzle_bytes", map.swizzle_bytes()}};
}

bool HasLaunches(const v1::Kernel& kernel) { return kernel.launches_size() > 0; }

// What is called, and what it needs.
Json EntryJson(const v1::Kernel& kernel) {
  if (!HasLaunches(kernel)) {
    return {{"entry", kernel.entry()},
            {"body", kernel.entry() + "_body"},
            {"stages", kernel.stages()},
            {"scratch",
             {{"bytes_function", kernel.entry() + "_scratch_bytes"},
              {"alignment_bytes", kernel.scratch_alignment_bytes()}}}};
  }
  Json launches = Json::array();
  for (const v1::KernelLaunch& launch : kernel.launches()) {
    launches.push_back({{"function", launch.function()},
                        {"grid", JsonList(launch.grid())},
                        {"block", JsonList(launch.block())},
                        {"dynamic_shared_bytes", launch.dynamic_shared_bytes()},
                        {"starts_early", launch.starts_early()}});
    for (const v1::TensorMap& map : launch.tensor_maps()) {
      launches.back()["tensor_maps"].push_back(TensorMapJson(map));
    }
  }
  return {
      {"entry", kernel.entry()},
      {"stages", kernel.stages()},
      {"launches", launches},
      {"scratch",
       {{"bytes", kernel.scratch_bytes()}, {"alignment_bytes", kernel.scratch_alignment_bytes()}}}};
}

// What is known of the kernel's language; of one that a newer daemon has, what is known of C.
const BackendInfo& KnownBackend(const v1::Kernel& kernel) {
  const BackendInfo* known = FindBackend(kernel.language());
  return known == nullptr ? BackendOf(Language::kOpenMpC) : *known;
}

Json PipelineJson(const v1::PipelineKernel& pipeline) {
  Json steps = Json::array();
  for (const v1::PipelineKernelStep& step : pipeline.steps()) {
    Json json = {{"name", step.expression_name()},
                 {"expression_digest", step.expression_digest()},
                 {"made_from", step.record().empty() ? "rules" : step.record()},
                 {"parameters", step.parameters()}};
    if (step.time_ns() > 0) json["time_ns"] = step.time_ns();
    steps.push_back(std::move(json));
  }
  Json json = {{"partition", pipeline.partition().text()},
               {"is_measured", pipeline.is_measured()},
               {"steps", std::move(steps)}};
  if (pipeline.unfused_time_ns() > 0) json["unfused_time_ns"] = pipeline.unfused_time_ns();
  return json;
}

// Empty where drivers compile when the program is built. Libraries are for those who link the
// object: clang warns of them where nothing is linked.
std::string CompileCommand(const std::string& name, const v1::Kernel& kernel) {
  std::string options;
  for (const std::string& option : kernel.compile_options()) {
    if (!absl::StartsWith(option, "-l")) absl::StrAppend(&options, " ", option);
  }
  return absl::Substitute(KnownBackend(kernel).compile_command, kernel.compiler(), options, name);
}

Json CompileJson(const std::string& name, const v1::Kernel& kernel) {
  Json json = {{"compiler", kernel.compiler()},
               {"compile_options", JsonList(kernel.compile_options())}};
  if (const std::string command = CompileCommand(name, kernel); !command.empty()) {
    json["compile_command"] = command;
  }
  if (!HasLaunches(kernel)) json["threads"] = kernel.threads();
  return json;
}

std::string MatchName(v1::MatchKind match) {
  return absl::AsciiStrToLower(v1::MatchKind_Name(match).substr(std::string("MATCH_KIND_").size()));
}

// Text of users and devices in a comment: nothing may end its line, or go on with the next one.
std::string InComment(std::string text) {
  std::ranges::replace(text, '\\', '/');
  return Printable(std::move(text));
}

std::string Origin(const v1::GetKernelResponse& response) {
  const v1::TuningRecord& record = response.record();
  if (response.has_pipeline()) {
    std::vector<std::string> steps;
    for (const v1::PipelineKernelStep& step : response.pipeline().steps()) {
      steps.push_back(absl::StrCat(step.expression_name(), " ", OriginOfStep(step)));
    }
    return absl::StrCat("Pipeline, ", response.pipeline().partition().text(),
                        response.pipeline().is_measured()
                            ? "; measured as a whole: " + FormatTime(record.time_ns())
                            : "",
                        "; steps by themselves: ", absl::StrJoin(steps, "; "));
  }
  if (response.match() == v1::MATCH_KIND_PREDICTED) {
    return absl::StrCat("Not measured; made from ",
                        response.made_from().empty() ? "rules" : response.made_from());
  }
  std::string text = absl::StrCat("Measured: ", FormatTime(record.time_ns()));
  if (record.has_create_time()) {
    // "2026-11-26T10:47:00Z".
    const std::string time = google::protobuf::util::TimeUtil::ToString(record.create_time());
    absl::StrAppend(&text, ", ", time.substr(0, 10), " ", time.substr(11, 5), " UTC");
  }
  return absl::StrCat(text, ", ", record.name());
}

std::string CompileText(const std::string& name, const v1::Kernel& kernel) {
  const std::string command = CompileCommand(name, kernel);
  if (!command.empty()) return command;
  return absl::StrCat("when the program is built, with ",
                      kernel.compile_options().empty()
                          ? "no options"
                          : absl::StrJoin(kernel.compile_options(), " "));
}

// Lines of comment for the head of a kernel's files: for which device, from when, how to compile.
std::string HeadComment(const std::string& name, const v1::GetKernelResponse& response) {
  constexpr int kColumns = 77, kHang = 9;
  const v1::DeviceDescription& device = response.record().device();
  std::string comment;
  for (const std::string& line :
       {absl::StrCat("Device:  ", device.model(), device.isa().empty() ? "" : ", ", device.isa()),
        absl::StrCat("Origin:  ", Origin(response)),
        absl::StrCat("Compile: ", CompileText(name, response.kernel()))}) {
    const std::string wrapped = WrapLines(InComment(line), kColumns, kHang);
    for (const absl::string_view part : absl::StrSplit(wrapped, '\n')) {
      absl::StrAppend(&comment, "// ", part, "\n");
    }
  }
  return comment + "//\n";
}

}  // namespace

std::string SourceExtension(const v1::Kernel& kernel) {
  return std::string(KnownBackend(kernel).suffix);
}

nlohmann::ordered_json LaunchInformation(const std::string& name,
                                         const v1::GetKernelResponse& response) {
  const v1::Kernel& kernel = response.kernel();
  const v1::TuningRecord& record = response.record();
  Json json = {{"kernel", kernel.name()},
               {"match", MatchName(response.match())},
               {"language", kernel.language()},
               {"source", absl::StrCat(name, ".", SourceExtension(kernel))}};
  if (!kernel.header().empty()) json["header"] = name + ".h";
  json.update(EntryJson(kernel));
  json["arguments"] = Json::array();
  for (const v1::KernelArgument& argument : kernel.arguments()) {
    json["arguments"].push_back(ArgumentJson(argument));
  }
  json.update(CompileJson(name, kernel));
  if (response.has_pipeline()) {
    json["pipeline"] = PipelineJson(response.pipeline());
    if (record.time_ns() > 0) json["time_ns"] = record.time_ns();
  } else if (response.match() == v1::MATCH_KIND_PREDICTED) {
    json["made_from"] = response.made_from().empty() ? "rules" : response.made_from();
  } else {
    json["time_ns"] = record.time_ns();
  }
  const v1::KernelKey& key = record.key();
  json.update(Json{{"parameters", record.parameters()},
                   {"expression", record.expression_text()},
                   {"expression_digest", key.expression_digest()},
                   {"device", key.device_fingerprint()},
                   {"compilers", key.compiler()},
                   {"generator_version", key.generator_version()}});
  return json;
}

std::vector<std::pair<std::string, std::string>> KernelFiles(
    const std::string& name, const v1::GetKernelResponse& response) {
  const v1::Kernel& kernel = response.kernel();
  const std::string head = HeadComment(name, response);
  std::vector<std::pair<std::string, std::string>> files = {
      {absl::StrCat(name, ".", SourceExtension(kernel)), head + kernel.source()}};
  if (!kernel.header().empty()) files.emplace_back(name + ".h", head + kernel.header());
  files.emplace_back(name + ".json", LaunchInformation(name, response).dump(2) + "\n");
  return files;
}

}  // namespace mdh
