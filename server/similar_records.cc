#include "server/similar_records.h"

#include <algorithm>
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
// With another clock, driver or memory.
constexpr double kSameModel = 1;

double Doublings(int64_t a, int64_t b) {
  if (a <= 0 || b <= 0) return a == b ? 0 : 1;
  return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

// The first word of a fingerprint: "cpu", "opencl", "cuda".
std::string KindOf(const std::string& fingerprint) {
  return fingerprint.substr(0, fingerprint.find(' '));
}

// Of devices with different fingerprints. Records of earlier versions do not describe theirs.
std::optional<double> DistanceOfDevices(const RecordPurpose& wanted, const RecordPurpose& known) {
  if (KindOf(wanted.key.device_fingerprint()) != KindOf(known.key.device_fingerprint())) {
    return std::nullopt;
  }
  const bool are_described = wanted.device.kind() != v1::DEVICE_KIND_UNSPECIFIED &&
                             known.device.kind() != v1::DEVICE_KIND_UNSPECIFIED;
  return are_described ? DeviceDistance(wanted.device, known.device) : kOtherDevice;
}

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

std::optional<double> DeviceDistance(const v1::DeviceDescription& a,
                                     const v1::DeviceDescription& b) {
  if (a.kind() != b.kind()) return std::nullopt;
  if (a.model() == b.model()) return kSameModel;
  double distance = kSameModel;
  if (a.kind() == v1::DEVICE_KIND_CPU) {
    distance += Doublings(a.cores(), b.cores()) + Doublings(a.simd_bytes(), b.simd_bytes()) +
                Doublings(a.l2_bytes(), b.l2_bytes());
  } else {
    distance +=
        Doublings(a.blocks().multiprocessors(), b.blocks().multiprocessors()) +
        Doublings(a.blocks().shared_bytes_per_block(), b.blocks().shared_bytes_per_block()) +
        (a.isa() == b.isa() ? 0 : 1);
  }
  return std::min(distance, kOtherDevice);
}

std::optional<double> Distance(const RecordPurpose& wanted, const RecordPurpose& known) {
  const size_t rank = wanted.shape.sizes.size();
  if (wanted.shape.structure != known.shape.structure || rank != known.shape.sizes.size()) {
    return std::nullopt;
  }
  double distance = 0;
  if (wanted.key.device_fingerprint() != known.key.device_fingerprint()) {
    const std::optional<double> of_devices = DistanceOfDevices(wanted, known);
    if (!of_devices) return std::nullopt;
    distance = *of_devices;
  }
  for (size_t d = 0; d < rank; ++d) {
    distance += Doublings(wanted.shape.sizes[d], known.shape.sizes[d]);
  }
  return distance;
}

std::optional<double> DistanceTo(const v1::TuningRecord& record, const v1::KernelKey& key,
                                 const v1::DeviceDescription& device) {
  const std::optional<ExpressionShape> wanted = ExpressionShape::Of(key.canonical_form());
  const std::optional<ExpressionShape> known = ExpressionShape::Of(record.key().canonical_form());
  if (!wanted || !known) return std::nullopt;
  return Distance({*wanted, key, device}, {*known, record.key(), record.device()});
}

}  // namespace mdh
