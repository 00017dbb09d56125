#include "tuner/program/evaluator.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/shortened.h"

namespace mdh {
namespace {

constexpr size_t kExcerptLines = 5;
constexpr size_t kExcerptBytes = 800;

}  // namespace

std::string_view Name(FailureKind kind) {
  constexpr std::string_view kNames[] = {"compile error", "launch error", "time-out",  "crash",
                                         "wrong result",  "no cost",      "cannot run"};
  return kNames[static_cast<size_t>(kind)];
}

v1::EvaluateResponse FailedEvaluation(FailureKind kind, std::string_view what) {
  v1::EvaluateResponse response;
  response.set_failure(absl::StrCat(std::string(Name(kind)), ": ", ValidText(what)));
  return response;
}

v1::EvaluateResponse Evaluated(double cost) {
  if (!std::isfinite(cost)) return FailedEvaluation(FailureKind::kNoCost, "it is not finite");
  v1::EvaluateResponse response;
  response.set_cost(cost);
  return response;
}

bool IsOf(FailureKind kind, const v1::EvaluateResponse& response) {
  return absl::StartsWith(response.failure(), std::string(Name(kind)) + ":");
}

std::string Excerpt(std::string_view output) {
  std::vector<std::string> lines;
  const std::string text(output);
  for (const absl::string_view line : absl::StrSplit(text, absl::ByAnyChar("\r\n"))) {
    if (!absl::StripAsciiWhitespace(line).empty()) lines.emplace_back(line);
  }
  const auto error = std::ranges::find_if(lines, [](const std::string& line) {
    return absl::StrContains(absl::AsciiStrToLower(line), "error");
  });
  const size_t last = lines.size() - std::min(lines.size(), kExcerptLines);
  const size_t first = error == lines.end() ? last : static_cast<size_t>(error - lines.begin());
  const size_t end = std::min(lines.size(), first + kExcerptLines);
  std::string excerpt = absl::StrJoin(lines.begin() + static_cast<ptrdiff_t>(first),
                                      lines.begin() + static_cast<ptrdiff_t>(end), "\n");
  if (excerpt.size() > kExcerptBytes)
    excerpt = absl::StrCat(excerpt.substr(0, kExcerptBytes), "...");
  return excerpt;
}

}  // namespace mdh
