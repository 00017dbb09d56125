#include "server/records/similar_records.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/device/system_model.h"
#include "server/records/translate_parameters.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {
namespace {

// As far as all sizes four times as large, in three dimensions.
constexpr double kOtherDevice = 6;
// With another clock, driver or memory.
constexpr double kSameModel = 1;
constexpr double kOtherLanguage = 1;

double Doublings(int64_t a, int64_t b) {
  if (a <= 0 || b <= 0) return a == b ? 0 : 1;
  return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

// The first word of a fingerprint: "cpu", "opencl", "cuda".
std::string DeviceKindOf(const std::string& fingerprint) {
  return fingerprint.substr(0, fingerprint.find(' '));
}

// "fp32[16,32]strides[64,1](..)" -> "fp32[]strides[](..)": brackets that hold only numbers. Adds
// the line to `text`.
void AppendWithoutExtents(absl::string_view line, std::string& text) {
  while (!line.empty()) {
    const size_t open = line.find('[');
    const size_t close = line.find(']', open);
    if (open == absl::string_view::npos || close == absl::string_view::npos) break;
    const absl::string_view inside = line.substr(open + 1, close - open - 1);
    const bool is_value = absl::EndsWith(line.substr(0, open), "constant");
    text.append(line.data(), open + 1);
    if (is_value) text.append(inside.data(), inside.size());
    text.push_back(']');
    line.remove_prefix(close + 1);
  }
  text.append(line.data(), line.size());
}

bool HasBlocks(const v1::DeviceDescription& device) {
  return device.kind() != v1::DEVICE_KIND_CPU && device.kind() != v1::DEVICE_KIND_UNSPECIFIED;
}

std::optional<double> DistanceOfModels(const v1::DeviceDescription& a,
                                       const v1::DeviceDescription& b) {
  if (a.kind() != b.kind()) {
    if (a.model() == b.model() && HasBlocks(a) && HasBlocks(b)) return kSameModel + kOtherLanguage;
    return std::nullopt;
  }
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

}  // namespace

std::optional<ExpressionShape> ExpressionShape::Of(std::string_view canonical_form) {
  ExpressionShape shape;
  shape.structure.reserve(canonical_form.size());
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(canonical_form.data(), canonical_form.size()), '\n')) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "dimension ")) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(rest, &size) || size < 1) return std::nullopt;
      shape.sizes.push_back(size);
    } else if (absl::StartsWith(line, "input ") || absl::StartsWith(line, "output ")) {
      AppendWithoutExtents(line, shape.structure);
      shape.structure.push_back('\n');
    } else {
      shape.structure.append(line.data(), line.size());
      shape.structure.push_back('\n');
    }
  }
  if (shape.sizes.empty()) return std::nullopt;
  return shape;
}

std::optional<double> DeviceDistance(const DeviceOfKey& wanted, const DeviceOfKey& known) {
  if (wanted.fingerprint == known.fingerprint) return 0;
  const bool are_described = wanted.description.kind() != v1::DEVICE_KIND_UNSPECIFIED &&
                             known.description.kind() != v1::DEVICE_KIND_UNSPECIFIED;
  if (are_described) return DistanceOfModels(wanted.description, known.description);
  // Records of earlier versions do not describe theirs.
  if (DeviceKindOf(wanted.fingerprint) != DeviceKindOf(known.fingerprint)) return std::nullopt;
  return kOtherDevice;
}

double SizeDistance(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  double distance = 0;
  for (size_t d = 0; d < a.size(); ++d) distance += Doublings(a[d], b[d]);
  return distance;
}

std::optional<double> DistanceTo(const v1::TuningRecord& record, const v1::KernelKey& key,
                                 const v1::DeviceDescription& device) {
  const std::optional<ExpressionShape> wanted = ExpressionShape::Of(key.canonical_form());
  const std::optional<ExpressionShape> known = ExpressionShape::Of(record.key().canonical_form());
  if (!wanted || !known || wanted->structure != known->structure ||
      wanted->sizes.size() != known->sizes.size()) {
    return std::nullopt;
  }
  const std::optional<double> of_devices = DeviceDistance(
      {key.device_fingerprint(), device}, {record.key().device_fingerprint(), record.device()});
  if (!of_devices) return std::nullopt;
  return *of_devices + SizeDistance(wanted->sizes, known->sizes);
}

Result<TuningParameters> ParametersFor(const DeviceDescription& device,
                                       const v1::TuningRecord& record) {
  MDH_ASSIGN_OR_RETURN(TuningParameters known, ParseTuningParameters(record.parameters()));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(known.system_model));
  if (model.kind == device.kind) return known;
  std::optional<TuningParameters> translated =
      TranslateParameters(known, model, TuningModel(device.kind), device);
  if (translated) return *std::move(translated);
  return absl::FailedPreconditionError("the record is for another kind of device");
}

}  // namespace mdh
