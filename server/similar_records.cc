#include "server/similar_records.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mdh {
namespace {

// As far as all sizes four times as large, in three dimensions.
constexpr double kOtherDevice = 6;

// "fp32[16,32]strides[64,1](..)" -> "fp32[]strides[](..)": brackets that hold only numbers.
std::string WithoutExtents(absl::string_view line) {
  std::string text;
  while (!line.empty()) {
    const size_t open = line.find('[');
    const size_t close = line.find(']', open);
    if (open == absl::string_view::npos || close == absl::string_view::npos) break;
    const absl::string_view inside = line.substr(open + 1, close - open - 1);
    const bool is_value = absl::EndsWith(line.substr(0, open), "constant");
    absl::StrAppend(&text, std::string(line.substr(0, open + 1)),
                    is_value ? std::string(inside) : "", "]");
    line.remove_prefix(close + 1);
  }
  return absl::StrCat(text, std::string(line));
}

}  // namespace

std::optional<ExpressionShape> ExpressionShape::Of(const std::string& canonical_form) {
  ExpressionShape shape;
  for (const absl::string_view line : absl::StrSplit(canonical_form, '\n')) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "dimension ")) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(rest, &size) || size < 1) return std::nullopt;
      shape.sizes.push_back(size);
    } else if (absl::StartsWith(line, "input ") || absl::StartsWith(line, "output ")) {
      absl::StrAppend(&shape.structure, WithoutExtents(line), "\n");
    } else {
      absl::StrAppend(&shape.structure, line, "\n");
    }
  }
  if (shape.sizes.empty()) return std::nullopt;
  return shape;
}

std::optional<double> Distance(const ExpressionShape& wanted, const v1::KernelKey& wanted_key,
                               const ExpressionShape& known, const v1::KernelKey& known_key) {
  if (wanted.structure != known.structure || wanted.sizes.size() != known.sizes.size()) {
    return std::nullopt;
  }
  double distance =
      wanted_key.device_fingerprint() == known_key.device_fingerprint() ? 0 : kOtherDevice;
  for (size_t d = 0; d < wanted.sizes.size(); ++d) {
    distance += std::fabs(
        std::log2(static_cast<double>(wanted.sizes[d]) / static_cast<double>(known.sizes[d])));
  }
  return distance;
}

}  // namespace mdh
