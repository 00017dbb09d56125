#include "tuner/measure/trial/witness.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "tuner/measure/results/parallel_ranges.h"
#include "tuner/measure/trial/verdict.h"

namespace mdh {
namespace {

// Of one buffer after one call, and of one problem: rounding alone makes few elements differ so
// much, but where it does, right kernels must not take for ever.
constexpr int kMostOfBuffer = 4, kMostOfProblem = 64;

// Both are off, and what variants explain is not known.
constexpr double kOfBoth = 2;

bool AreAlike(const ReferenceField& field, double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) && std::isinf(y)) return x == y;
  x = WithoutInfinity(field.type, x);
  y = WithoutInfinity(field.type, y);
  return std::abs(y - x) <=
         kOfBoth * field.tolerance * std::max({std::abs(x), std::abs(y), field.rms});
}

bool AreAlike(const ReferenceField& field, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<size_t>(SizeBytes(field.type))) == 0) return true;
  if (!IsFloatingPoint(field.type) && !field.rounds) return false;
  const double x = ScalarValue::Load(field.type, a).as_double();
  const double y = ScalarValue::Load(field.type, b).as_double();
  return IsFloatingPoint(field.type) ? AreAlike(field, x, y) : std::abs(x - y) <= 2;
}

// The common case: whether all elements of arrays of T are alike, finite ones only.
template <typename T>
bool AreAllAlike(const ReferenceField& field, const std::byte* a, const std::byte* b, int64_t begin,
                 int64_t end) {
  bool are_alike = true;
  for (int64_t e = begin; e < end; ++e) {
    T values[2];
    std::memcpy(&values[0], a + e * static_cast<int64_t>(sizeof(T)), sizeof(T));
    std::memcpy(&values[1], b + e * static_cast<int64_t>(sizeof(T)), sizeof(T));
    const double x = values[0], y = values[1];
    const double size = std::max({std::abs(x), std::abs(y), field.rms});
    are_alike &= std::abs(y - x) <= kOfBoth * field.tolerance * size;
  }
  return are_alike;
}

bool AreAllAlike(const ReferenceBuffer& reference, const std::byte* a, const std::byte* b,
                 int64_t begin, int64_t end) {
  const ReferenceField& field = reference.fields[0];
  const int64_t size = reference.type.size_bytes();
  if (std::memcmp(a + begin * size, b + begin * size, static_cast<size_t>((end - begin) * size)) ==
      0) {
    return true;
  }
  if (reference.fields.size() != 1) return false;
  if (field.type == ScalarType::kFloat32) return AreAllAlike<float>(field, a, b, begin, end);
  if (field.type == ScalarType::kFloat64) return AreAllAlike<double>(field, a, b, begin, end);
  return false;
}

const std::byte* DataOf(const RunRecord& record, const Snapshot& snapshot, size_t output) {
  return snapshot.accessible[output].data() + record.data_offsets[output];
}

}  // namespace

int64_t FirstDifference(const ReferenceBuffer& reference, const std::byte* a, const std::byte* b,
                        int64_t from, int64_t elements) {
  const int64_t size = reference.type.size_bytes();
  std::atomic<int64_t> first{elements};
  ForRanges(elements - from, [&](int64_t /*piece*/, int64_t begin, int64_t end) {
    if (from + begin > first || AreAllAlike(reference, a, b, from + begin, from + end)) return;
    for (int64_t e = from + begin; e < from + end; ++e) {
      const bool are_alike =
          std::ranges::all_of(reference.fields, [&](const ReferenceField& field) {
            return AreAlike(field, a + e * size + field.offset_bytes,
                            b + e * size + field.offset_bytes);
          });
      if (are_alike) continue;
      int64_t known = first;
      while (e < known && !first.compare_exchange_weak(known, e)) {
      }
      return;
    }
  });
  return first;
}

void AddSamples(const ReferenceBuffer& more, ReferenceBuffer& reference) {
  reference.samples.insert(reference.samples.end(), more.samples.begin(), more.samples.end());
  for (size_t v = 0; v < reference.variants.size(); ++v) {
    std::vector<ScalarValue>& values = reference.variants[v].values;
    values.insert(values.end(), more.variants[v].values.begin(), more.variants[v].values.end());
  }
}

void Witness::Keep(const RunRecord& record, const CandidateRun& run) {
  outputs_.clear();
  for (size_t b = 0; b < run.outputs.size(); ++b) {
    const std::byte* const data = DataOf(record, *record.first, b);
    outputs_.emplace_back(data, data + run.outputs[b].size_bytes);
  }
}

// Whether the outputs that are kept are still right.
bool Witness::Compare(size_t output, const std::byte* got, const Arbiter& arbiter,
                      ReferenceBuffer& reference) {
  const std::byte* const kept = outputs_[output].data();
  const int64_t elements = std::ssize(outputs_[output]) / reference.type.size_bytes();
  int64_t from = 0;
  for (int n = 0; n < kMostOfBuffer && arbitrations_ < kMostOfProblem; ++n) {
    const int64_t e = FirstDifference(reference, kept, got, from, elements);
    if (e == elements) break;
    ++arbitrations_;
    const std::optional<ReferenceBuffer> right = arbiter(output, e);
    if (!right) break;
    AddSamples(*right, reference);
    if (FirstMismatch(reference, kept, std::byte{0})) return false;
    if (FirstMismatch(reference, got, std::byte{0})) break;
    from = e + 1;
  }
  return true;
}

Measurement Witness::Judge(const RunRecord& record, const CandidateRun& run, const Arbiter& arbiter,
                           std::vector<ReferenceBuffer>& references) {
  Measurement measurement = mdh::Judge(record, run, references);
  if (measurement.outcome != TrialOutcome::kOk || !record.first) return measurement;
  if (measurement.check != ResultCheck::kSamples) return measurement;
  bool is_kept_right = !outputs_.empty();
  for (size_t b = 0; b < outputs_.size(); ++b) {
    if (references[b].check != ResultCheck::kSamples) continue;
    for (const std::optional<Snapshot>& snapshot : {record.first, record.last}) {
      if (!snapshot) continue;
      is_kept_right &= Compare(b, DataOf(record, *snapshot, b), arbiter, references[b]);
    }
  }
  // There may be more samples by now.
  measurement = mdh::Judge(record, run, references);
  if (!is_kept_right) outputs_.clear();
  if (outputs_.empty() && measurement.outcome == TrialOutcome::kOk) Keep(record, run);
  return measurement;
}

}  // namespace mdh
