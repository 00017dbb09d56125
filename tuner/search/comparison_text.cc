// Compared techniques for people and as JSON.
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tuner/search/technique_comparison.h"

namespace mdh {
namespace {

std::string OrNull(const std::optional<int64_t>& value) {
  return value ? absl::StrCat(*value) : "null";
}
std::string OrNull(const Cost& cost) { return cost ? absl::StrFormat("%.6g", *cost) : "null"; }

std::string EvaluationsText(const std::optional<int64_t>& value) {
  return value ? absl::StrCat(*value) : "-";
}

// The best cost as a multiple of the table's best; costs that are not positive have no multiples.
std::string MultipleText(const TechniqueResult& result, const Cost& cost) {
  if (!cost) return "-";
  if (result.optimum() <= 0) return absl::StrFormat("%.4g", *cost);
  return absl::StrFormat("%.3g", *cost / result.optimum());
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<int>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string RowText(const TechniqueResult& result, const std::vector<int64_t>& reported) {
  std::string row = absl::StrFormat("  %-24s", result.technique());
  for (const double quantile : {0.25, 0.5, 0.75, 0.9}) {
    absl::StrAppendFormat(&row, "%8s", EvaluationsText(result.ToTarget(quantile)));
  }
  absl::StrAppendFormat(&row, "%7d |", result.never());
  for (const int64_t evaluations : reported) {
    absl::StrAppendFormat(&row, "%7s", MultipleText(result, result.BestAfter(evaluations, 0.5)));
  }
  return row + "\n";
}

std::string Heading(const TechniqueResult& result, const std::vector<int64_t>& reported) {
  std::string heading = absl::StrFormat("%s (best cost %.4g)\n  %-24s%8s%8s%8s%8s%7s |",
                                        result.table(), result.optimum(), "evaluations to 95 %",
                                        "25 %", "median", "75 %", "90 %", "never");
  for (const int64_t evaluations : reported) {
    absl::StrAppendFormat(&heading, "%7s", absl::StrCat("@", evaluations));
  }
  return heading + "\n";
}

}  // namespace

std::string ComparisonToText(const std::vector<TechniqueResult>& results) {
  std::string text;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<int64_t> reported = ReportedEvaluations(results[i].evaluations());
    if (i == 0 || results[i].table_position() != results[i - 1].table_position()) {
      if (i > 0) text += "\n";
      text += Heading(results[i], reported);
    }
    text += RowText(results[i], reported);
  }
  return text;
}

std::string ComparisonToJson(const std::vector<TechniqueResult>& results) {
  std::vector<std::string> objects;
  for (const TechniqueResult& result : results) {
    std::vector<std::string> best;
    for (const int64_t evaluations : ReportedEvaluations(result.evaluations())) {
      best.push_back(absl::StrCat("{\"evaluations\": ", evaluations,
                                  ", \"median\": ", OrNull(result.BestAfter(evaluations, 0.5)),
                                  ", \"q25\": ", OrNull(result.BestAfter(evaluations, 0.25)),
                                  ", \"q75\": ", OrNull(result.BestAfter(evaluations, 0.75)), "}"));
    }
    objects.push_back(absl::StrCat(
        "  {\"table\": ", Quoted(result.table()), ", \"technique\": ", Quoted(result.technique()),
        ",\n   \"optimum\": ", OrNull(Cost(result.optimum())), ", \"evaluations\": ",
        result.evaluations(), ",\n   \"to_target\": {\"median\": ", OrNull(result.ToTarget(0.5)),
        ", \"q25\": ", OrNull(result.ToTarget(0.25)), ", \"q75\": ", OrNull(result.ToTarget(0.75)),
        ", \"q90\": ", OrNull(result.ToTarget(0.9)), ", \"never\": ", result.never(),
        "},\n   \"best\": [", absl::StrJoin(best, ",\n            "), "]}"));
  }
  return absl::StrCat("[\n", absl::StrJoin(objects, ",\n"), "\n]\n");
}

}  // namespace mdh
