#include "tests/benchmarks/bounds/published_bounds.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/text/pipeline_parser.h"
#include "proto/device_conversion.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tuner/decompositions/mdh_bound.h"

namespace mdh {
namespace {

using nlohmann::json;

struct NamedCase {
  std::string expression;
  Bindings bindings;
  double flops = 0;
};

Result<json> ReadJson(const std::string& path) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  json content = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (content.is_discarded()) return absl::InvalidArgumentError(absl::StrCat(path, " is no JSON"));
  return content;
}

Result<std::map<std::string, NamedCase>> ReadCases(const std::string& root) {
  std::map<std::string, NamedCase> cases;
  for (const char* file : {"tests/cases/cases.json", "tests/benchmarks/gpu/cases.json",
                           "tests/benchmarks/cases.json"}) {
    MDH_ASSIGN_OR_RETURN(const json entries, ReadJson(root + file));
    for (const json& entry : entries) {
      NamedCase one{entry.at("expression"), {}, entry.at("flops")};
      for (const auto& [name, size] : entry.at("bindings").items()) {
        one.bindings[name] = absl::StrCat(size.get<int64_t>());
      }
      if (entry.contains("type")) one.bindings["T"] = entry.at("type").get<std::string>();
      cases.emplace(entry.at("id").get<std::string>(), std::move(one));
    }
  }
  return cases;
}

Result<std::map<std::string, DeviceDescription>> ReadGpus(const std::string& root) {
  std::map<std::string, DeviceDescription> devices;
  for (const auto& entry : std::filesystem::directory_iterator(root + "deploy/devices")) {
    MDH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(entry.path()));
    v1::DeviceDescription proto;
    if (!google::protobuf::util::JsonStringToMessage(text, &proto).ok()) {
      return absl::InvalidArgumentError(absl::StrCat(entry.path().string(), " is no description"));
    }
    MDH_ASSIGN_OR_RETURN(DeviceDescription device, FromProto(proto));
    if (!RunsOnHost(device)) devices.emplace(device.name, device);
  }
  return devices;
}

// The kept results say of processors which instructions there are, in the name of their file, and
// what share of its peak a kernel reaches.
DeviceDescription ProcessorOf(const std::string& file, const std::string& name) {
  DeviceDescription device;
  device.name = name.empty() ? file : name;
  device.cores = absl::StrContains(file, "1_core") ? 1 : 2;
  device.isa = absl::StrContains(file, "avx512") ? "x86-64 avx2 fma avx512f" : "x86-64 avx2 fma";
  return device;
}

MachinePeaks PeaksOf(const json& rows, const std::map<std::string, NamedCase>& cases,
                     DeviceDescription& device) {
  MachinePeaks peaks;
  for (const json& row : rows) {
    const auto one = cases.find(row.at("case").get<std::string>());
    if (one == cases.end() || !row.contains("floor") || row["floor"].is_null()) continue;
    peaks.fp32_flops_per_s =
        std::max(peaks.fp32_flops_per_s, one->second.flops / row["floor"].get<double>());
  }
  // Any clock: that of the peak is the larger one.
  device.clock_hz = 1;
  peaks.clock_hz = 1;
  return peaks;
}

// "0.97 us" among the facts of a machine; 0: it is not there.
double EmptyLaunchNs(const json& machine) {
  const std::string text = machine.value("empty launch", "");
  double us = 0;
  return absl::SimpleAtod(text.substr(0, text.find(' ')), &us) ? us * 1e3 : 0;
}

// What the bound says of the space.
void CountLeft(const Expression& expression, const BoundFacts& facts, int draws,
               PublishedRow& row) {
  const Result<MdhSpace> space =
      MdhSpace::Create(expression, TuningModel(facts.device.kind), facts.device);
  if (!space.ok()) return;
  const MdhBound bound(*space, expression, facts);
  if (space->space().is_lazy()) return;
  row.space = HistogramOf(space->space(), bound, row.time_ns, draws);
}

Result<Computation> ComputationOf(const std::string& root, const NamedCase& one) {
  MDH_ASSIGN_OR_RETURN(const std::string text,
                       ReadTextFile(root + "client/expressions/" + one.expression));
  MDH_ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(text, one.bindings, one.expression));
  return ToComputation(pipeline);
}

Result<std::optional<PublishedResults>> ReadFile(
    const std::string& root, int draws, const std::filesystem::path& path,
    const std::map<std::string, NamedCase>& cases,
    const std::map<std::string, DeviceDescription>& gpus) {
  MDH_ASSIGN_OR_RETURN(const json content, ReadJson(path));
  const json rows = content.is_array() ? content : content.value("figures", json());
  if (!rows.is_array()) return std::optional<PublishedResults>();
  const json machine =
      content.is_array() ? json::object() : content.value("machine", json::object());
  PublishedResults results{.file = path.stem(), .device = {}, .rows = {}, .left_out = {}};
  const std::string gpu = machine.value("gpu", "");
  DeviceDescription device;
  MachinePeaks peaks;
  if (const auto known = gpus.find(gpu); known != gpus.end()) {
    device = known->second;
    peaks.launch_overhead_ns = EmptyLaunchNs(machine);
  } else {
    device = ProcessorOf(results.file, machine.value("cpu", ""));
    peaks = PeaksOf(rows, cases, device);
    // Where rows have no floors, nothing says what the processor can do.
    if (peaks.fp32_flops_per_s == 0) return std::optional<PublishedResults>();
  }
  results.device = device.name;
  const DeviceRates rates = RatesOf(device, peaks);
  for (const json& row : rows) {
    const std::string name = row.at("case");
    const auto one = cases.find(name);
    if (one == cases.end() || !row.value("correct", false) || row["value"].is_null()) {
      results.left_out.push_back(name);
      continue;
    }
    MDH_ASSIGN_OR_RETURN(const Computation computation, ComputationOf(root, one->second));
    const BoundQuestion question = {.sets = row.value("sets", 1.0)};
    PublishedRow& added = results.rows.emplace_back();
    added.name = name;
    added.time_ns = row["value"].get<double>() * 1e9;
    added.bound = ProblemBoundOf(computation, device, rates, question);
    const auto* const expression = std::get_if<Expression>(&computation);
    if (expression != nullptr && draws > 0 && !RunsOnHost(device)) {
      CountLeft(*expression, {device, rates, question}, draws, added);
    }
  }
  return std::optional<PublishedResults>(std::move(results));
}

// What the bounds of configurations leave of spaces, given the time that is kept.
void AppendLeft(const PublishedResults& one, std::string& page) {
  if (one.MeanLeft() == 0) return;
  absl::StrAppendFormat(&page,
                        "\n## %s: what is left of spaces\n\nConfigurations whose bound is below "
                        "the time that is kept, of so many random ones, or of all; geometric mean "
                        "%.2g %%. Of random ones the share is within these limits with a "
                        "confidence of 95 %%. Then how many have a bound / time below 1/16, 1/8, "
                        "1/4, 1/2, 1, and from 1 on.\n\n"
                        "| case | looked at | left | share | within | < 1/16 | < 1/8 | < 1/4 | "
                        "< 1/2 | < 1 | >= 1 |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
                        one.file, 100 * one.MeanLeft());
  for (const PublishedRow& row : one.rows) {
    if (!row.space.has_value()) continue;
    const BoundHistogram& space = *row.space;
    const ShareInterval within = space.left_within();
    absl::StrAppendFormat(&page, "| %s | %s%d | %d | %.3g %% | %.3g to %.3g %% | %s |\n", row.name,
                          space.is_exact ? "all " : "", space.configurations, space.left,
                          100 * space.share_left(), 100 * within.low, 100 * within.high,
                          absl::StrJoin(space.counts, " | "));
  }
}

std::string Microseconds(double ns) { return absl::StrFormat("%.4g us", ns / 1e3); }

}  // namespace

double PublishedResults::GeometricMean() const {
  double logs = 0;
  int count = 0;
  for (const PublishedRow& row : rows) {
    if (row.bound.floors.empty()) continue;
    logs += std::log(row.ratio());
    ++count;
  }
  return count == 0 ? 0 : std::exp(logs / count);
}

double PublishedResults::MeanLeft() const {
  double logs = 0;
  int count = 0;
  for (const PublishedRow& row : rows) {
    if (!row.space.has_value()) continue;
    const auto looked_at = static_cast<double>(row.space->configurations);
    logs += std::log(std::max(row.space->share_left(), 0.5 / looked_at));
    ++count;
  }
  return count == 0 ? 0 : std::exp(logs / count);
}

Result<std::vector<PublishedResults>> ReadPublishedBounds(const std::string& source_path,
                                                          int draws) {
  const std::string root = source_path + "/";
  MDH_ASSIGN_OR_RETURN(const auto cases, ReadCases(root));
  MDH_ASSIGN_OR_RETURN(const auto gpus, ReadGpus(root));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root + "tests/benchmarks/results")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<PublishedResults> all;
  for (const std::filesystem::path& file : files) {
    MDH_ASSIGN_OR_RETURN(std::optional<PublishedResults> one,
                         ReadFile(root, draws, file, cases, gpus));
    if (one && !one->rows.empty()) all.push_back(*std::move(one));
  }
  return all;
}

std::string BoundsPage(const std::vector<PublishedResults>& results) {
  std::string page =
      "# Bounds\n\nWhat no kernel can be faster than (deploy/docs/bounds.md, version " +
      absl::StrCat(kBoundVersion) +
      "), divided by the times that are kept here: 1 is the\nbest that can be. Of processors "
      "only their arithmetic bounds times, as nobody knows the caches of their hosts.\n\n"
      "| results | device | cases | with a bound | bound / time, geometric mean | at least 1/1.5 "
      "|\n"
      "|---|---|--:|--:|--:|--:|\n";
  for (const PublishedResults& one : results) {
    const auto bounded = std::count_if(one.rows.begin(), one.rows.end(),
                                       [](const auto& row) { return !row.bound.floors.empty(); });
    const auto near = std::count_if(one.rows.begin(), one.rows.end(),
                                    [](const auto& row) { return row.ratio() >= 1 / 1.5; });
    absl::StrAppendFormat(&page, "| %s | %s | %d | %d | %.2f | %d |\n", one.file, one.device,
                          one.rows.size(), bounded, one.GeometricMean(), near);
  }
  for (const PublishedResults& one : results) AppendLeft(one, page);
  for (const PublishedResults& one : results) {
    absl::StrAppend(&page, "\n## ", one.file,
                    "\n\n| case | time | bound | bound / time | what binds |\n"
                    "|---|--:|--:|--:|---|\n");
    for (const PublishedRow& row : one.rows) {
      const bool has_bound = !row.bound.floors.empty();
      const std::string why = has_bound ? absl::StrCat(row.bound.floors.front().resource, ": ",
                                                       row.bound.floors.front().reason)
                                        : "";
      absl::StrAppendFormat(&page, "| %s | %s | %s | %s | %s |\n", row.name,
                            Microseconds(row.time_ns),
                            has_bound ? Microseconds(row.bound.time_ns()) : "",
                            has_bound ? absl::StrFormat("%.2f", row.ratio()) : "", why);
    }
    if (!one.left_out.empty()) {
      absl::StrAppend(&page, "\nLeft out: ", absl::StrJoin(one.left_out, ", "), ".\n");
    }
  }
  return page;
}

}  // namespace mdh
