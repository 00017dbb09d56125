#include "tests/benchmarks/figure.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mdh {
namespace {

nlohmann::ordered_json NumberOrNull(const std::optional<double>& number) {
  return number.has_value() ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

std::string RatioText(const std::optional<double>& ratio) {
  return ratio.has_value() ? absl::StrFormat("%.2f", *ratio) : "-";
}

}  // namespace

std::string ToJson(const std::vector<Figure>& figures) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Figure& figure : figures) {
    list.push_back({{"case", figure.name},
                    {"metric", figure.metric},
                    {"value", figure.value},
                    {"unit", figure.unit},
                    {"peers", figure.peers},
                    {"ratio_to_best_peer", NumberOrNull(figure.ratio_to_best_peer)},
                    {"floor", NumberOrNull(figure.floor)},
                    {"ratio_to_floor", NumberOrNull(figure.ratio_to_floor)},
                    {"correct", figure.correct}});
    for (const auto& [name, value] : figure.search) list.back()[name] = value;
  }
  return list.dump(2) + "\n";
}

double SecondsToShare(const std::vector<std::pair<int64_t, int64_t>>& trials, double share) {
  int64_t best_ns = INT64_MAX;
  for (const auto& [elapsed_ns, time_ns] : trials) {
    if (time_ns > 0) best_ns = std::min(best_ns, time_ns);
  }
  for (const auto& [elapsed_ns, time_ns] : trials) {
    const bool is_enough = static_cast<double>(time_ns) * share <= static_cast<double>(best_ns);
    if (time_ns > 0 && is_enough) return 1e-9 * static_cast<double>(elapsed_ns);
  }
  return 0;
}

Status WriteJson(const std::vector<Figure>& figures, const std::string& path) {
  std::ofstream stream(path);
  stream << ToJson(figures);
  stream.close();
  if (!stream) return absl::FailedPreconditionError(absl::StrCat(path, " cannot be written"));
  return absl::OkStatus();
}

std::string FormatSeconds(double seconds) {
  if (seconds < 1e-3) return absl::StrFormat("%.3g us", seconds * 1e6);
  if (seconds < 1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g s", seconds);
}

std::string TableHeader() {
  return absl::StrFormat("%-26s %9s %9s %9s %8s  %s\n", "case", "time", "of peer", "of floor",
                         "correct", "peers");
}

std::string TableRow(const Figure& figure) {
  std::string peers;
  for (const auto& [name, value] : figure.peers) {
    absl::StrAppend(&peers, peers.empty() ? "" : ", ", name, " ", FormatSeconds(value));
  }
  return absl::StrFormat("%-26s %9s %9s %9s %8s  %s\n", figure.name, FormatSeconds(figure.value),
                         RatioText(figure.ratio_to_best_peer), RatioText(figure.ratio_to_floor),
                         figure.correct ? "yes" : "NO", peers);
}

}  // namespace mdh
