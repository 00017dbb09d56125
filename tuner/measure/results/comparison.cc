// Element-wise comparison, one loop per element type.
#include "tuner/measure/results/comparison.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

#include "tuner/measure/results/parallel_ranges.h"
#include "tuner/measure/results/rounding_bound.h"

namespace mdh {
namespace {

// Of the elements of a variant so many are looked at, and of these what changes this part of them
// counts: where a value decides between two others, few change much.
constexpr int64_t kMostOfVariant = 65'536;
constexpr double kNearlyAll = 0.9;

ElementContent ContentOf(const ReferenceBuffer& reference, int64_t element) {
  return reference.contents.empty() ? ElementContent::kResult
                                    : reference.contents[static_cast<size_t>(element)];
}

bool IsResult(const ReferenceBuffer& reference, int64_t element) {
  return ContentOf(reference, element) == ElementContent::kResult;
}

const std::byte* At(const ReferenceBuffer& reference, const ReferenceField& field,
                    const std::byte* bytes, int64_t element) {
  return bytes + element * reference.type.size_bytes() + field.offset_bytes;
}

ScalarValue ValueAt(const ReferenceBuffer& reference, const ReferenceField& field,
                    const std::byte* bytes, int64_t element) {
  return ScalarValue::Load(field.type, At(reference, field, bytes, element));
}

bool IsClose(const ReferenceField& field, const ScalarValue& expected, const ScalarValue& got) {
  double x = expected.as_double(), y = got.as_double();
  if (!IsFloatingPoint(field.type)) {
    return expected == got || (field.rounds && std::abs(x - y) <= 1);
  }
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) && field.may_be_nan;
  if (std::isinf(x) && std::isinf(y)) return x == y;
  // One has been rounded to infinity, the other one not quite.
  x = WithoutInfinity(field.type, x);
  y = WithoutInfinity(field.type, y);
  return std::abs(y - x) <= field.tolerance * std::max(std::abs(x), field.rms);
}

// Whether a value is as near to the reference as one of its variants explains. `other`: the value
// of a variant in its place.
template <typename Other>
bool IsExplained(const ReferenceBuffer& reference, const ReferenceField& field,
                 const ScalarValue& expected, const ScalarValue& got, const Other& other_of) {
  double explained = 0;
  for (const ReferenceVariant& variant : reference.variants) {
    const ScalarValue other = other_of(variant);
    if (IsClose(field, other, got)) return true;
    explained =
        std::max(explained, variant.slack * std::abs(other.as_double() - expected.as_double()));
  }
  const double x = expected.as_double(), y = got.as_double();
  const bool is_finite = std::isfinite(explained) && std::isfinite(x) && std::isfinite(y);
  if (!IsFloatingPoint(field.type) || !is_finite) return false;
  return std::abs(y - x) <= field.tolerance * std::max(std::abs(x), field.rms) + explained;
}

bool IsNearby(const ReferenceBuffer& reference, int f, int64_t element, const ScalarValue& expected,
              const ScalarValue& got) {
  if (!reference.nearby) return false;
  const ReferenceField& field = reference.fields[f];
  double explained = 0;
  for (const ScalarValue& other : reference.nearby(element, f)) {
    if (IsClose(field, other, got)) return true;
    explained += std::abs(other.as_double() - expected.as_double());
  }
  const double x = expected.as_double(), y = got.as_double();
  if (!IsFloatingPoint(field.type) || !std::isfinite(explained) || !std::isfinite(y)) return false;
  return std::abs(y - x) <= field.tolerance * std::max(std::abs(x), field.rms) + explained;
}

// A bool must be 0 or 1, not just true.
bool IsStoredAs(const ScalarValue& value, ScalarType type, const std::byte* got) {
  std::byte stored[sizeof(uint64_t)];
  value.Store(stored);
  return std::memcmp(stored, got, static_cast<size_t>(SizeBytes(type))) == 0;
}

// Whether a value is right where there are results. `other_of`: the value of a variant there.
template <typename Other>
bool IsResultRight(const ReferenceBuffer& reference, int f, int64_t element,
                   const ScalarValue& expected, const std::byte* is, const Other& other_of) {
  const ReferenceField& field = reference.fields[f];
  if (!IsFloatingPoint(field.type) && !field.rounds) {
    const auto is_stored = [&](const ScalarValue& one) { return IsStoredAs(one, field.type, is); };
    if (is_stored(expected)) return true;
    for (const ReferenceVariant& variant : reference.variants) {
      if (is_stored(other_of(variant))) return true;
    }
    return reference.nearby && std::ranges::any_of(reference.nearby(element, f), is_stored);
  }
  const ScalarValue got = ScalarValue::Load(field.type, is);
  return IsClose(field, expected, got) || IsExplained(reference, field, expected, got, other_of) ||
         IsNearby(reference, f, element, expected, got);
}

bool AllAre(std::byte value, const std::byte* bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [&](std::byte b) { return b == value; });
}

bool IsRight(const ReferenceBuffer& reference, int f, const std::byte* got, std::byte poison,
             int64_t element) {
  const ReferenceField& field = reference.fields[f];
  const std::byte* is = At(reference, field, got, element);
  const auto size = static_cast<size_t>(SizeBytes(field.type));
  const ElementContent content = ContentOf(reference, element);
  if (content == ElementContent::kZero) return AllAre(std::byte{0}, is, size);
  if (content == ElementContent::kFormer) return AllAre(poison, is, size);
  const std::byte* expected = At(reference, field, reference.bytes.data(), element);
  if (std::memcmp(expected, is, size) == 0 && !reference.contains_nan) return true;
  return IsResultRight(reference, f, element, ScalarValue::Load(field.type, expected), is,
                       [&](const ReferenceVariant& variant) {
                         return ValueAt(reference, field, variant.bytes.data(), element);
                       });
}

// Whether the buffer is nothing but an array of T: the common case, which is worth a loop of its
// own.
template <typename T>
bool IsPlainArray(const ReferenceBuffer& reference) {
  const ScalarType type = sizeof(T) == 4 ? ScalarType::kFloat32 : ScalarType::kFloat64;
  return !reference.has_former && reference.fields.size() == 1 &&
         reference.fields[0].type == type &&
         reference.type.size_bytes() == static_cast<int64_t>(sizeof(T));
}

template <typename T>
double RealAt(const std::byte* bytes, int64_t element) {
  T value;
  std::memcpy(&value, bytes + element * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return static_cast<double>(value);
}

// Calls visit(value) for all results of a floating-point field in [begin, end).
template <typename Visit>
void VisitReals(const ReferenceBuffer& reference, const ReferenceField& field, int64_t begin,
                int64_t end, const Visit& visit) {
  const std::byte* bytes = reference.bytes.data();
  if (IsPlainArray<float>(reference) && reference.contents.empty()) {
    for (int64_t e = begin; e < end; ++e) visit(RealAt<float>(bytes, e));
    return;
  }
  for (int64_t e = begin; e < end; ++e) {
    if (IsResult(reference, e)) visit(ValueAt(reference, field, bytes, e).as_double());
  }
}

// What is to be known of all results of a floating-point field.
struct RealsSummary {
  double squares = 0;  // of the finite values
  int64_t finite = 0;
  bool has_nan = false, has_infinity = false;
};

RealsSummary Summarize(const ReferenceBuffer& reference, const ReferenceField& field) {
  if (!IsFloatingPoint(field.type)) return {};
  const int64_t count = reference.elements();
  std::vector<RealsSummary> pieces(static_cast<size_t>(CountRanges(count)));
  ForRanges(count, [&](int64_t piece, int64_t begin, int64_t end) {
    RealsSummary sum;
    VisitReals(reference, field, begin, end, [&](double value) {
      if (std::isfinite(value)) {
        sum.squares += value * value;
        ++sum.finite;
      } else {
        (std::isnan(value) ? sum.has_nan : sum.has_infinity) = true;
      }
    });
    pieces[static_cast<size_t>(piece)] = sum;
  });
  RealsSummary all;  // in the order of the pieces: the same on every machine
  for (const RealsSummary& piece : pieces) {
    all.squares += piece.squares;
    all.finite += piece.finite;
    all.has_nan |= piece.has_nan;
    all.has_infinity |= piece.has_infinity;
  }
  return all;
}

// Whether all elements in [begin, end) of an array of T are right: as IsRight says, which also
// decides about those that are not.
template <typename T>
bool AreClose(const ReferenceBuffer& reference, const std::byte* got, int64_t begin, int64_t end) {
  const ReferenceField& field = reference.fields[0];
  const std::byte* expected = reference.bytes.data();
  bool are_close = true;
  for (int64_t e = begin; e < end; ++e) {
    const double x = RealAt<T>(expected, e), y = RealAt<T>(got, e);
    are_close &=
        std::isfinite(x) && std::abs(y - x) <= field.tolerance * std::max(std::abs(x), field.rms);
  }
  for (int64_t e = begin; are_close && e < end && !reference.contents.empty(); ++e) {
    if (IsResult(reference, e)) continue;
    const auto size = static_cast<int64_t>(sizeof(T));
    are_close = AllAre(std::byte{0}, got + e * size, sizeof(T));
  }
  return are_close;
}

// The first element in [begin, end) of which a field is wrong, or `end`.
int64_t FirstWrong(const ReferenceBuffer& reference, const std::byte* got, std::byte poison,
                   int64_t begin, int64_t end) {
  if (IsPlainArray<float>(reference) && AreClose<float>(reference, got, begin, end)) return end;
  if (IsPlainArray<double>(reference) && AreClose<double>(reference, got, begin, end)) return end;
  for (int64_t e = begin; e < end; ++e) {
    for (int f = 0; f < std::ssize(reference.fields); ++f) {
      if (!IsRight(reference, f, got, poison, e)) return e;
    }
  }
  return end;
}

// Those of the samples, of a floating-point field.
RealsSummary SummarizeSamples(const ReferenceBuffer& reference, int field) {
  RealsSummary all;
  if (!IsFloatingPoint(reference.fields[field].type)) return all;
  for (const ReferenceSample& sample : reference.samples) {
    if (sample.field != field) continue;
    const double value = sample.value.as_double();
    if (std::isfinite(value)) {
      all.squares += value * value;
      ++all.finite;
    } else {
      (std::isnan(value) ? all.has_nan : all.has_infinity) = true;
    }
  }
  return all;
}

// Without contents.
ReferenceBuffer EmptyReference(const Expression& expression, int output, double tolerance,
                               double amplification, absl::Span<const double> distinct,
                               NumericsPolicy numerics) {
  const Buffer& buffer = expression.outputs()[output];
  ReferenceBuffer reference = {
      .name = buffer.name, .type = buffer.type, .bytes = {}, .contents = {}, .fields = {}};
  for (const ElementType::Field& field : buffer.type.fields()) {
    reference.fields.push_back({field.type, field.offset_bytes});
  }
  for (int r = 0; r < static_cast<int>(expression.stored().size()); ++r) {
    const Expression::AccessRef ref = expression.output_access(r);
    if (ref.buffer != output) continue;
    ReferenceField& field = reference.fields[ref.field];
    const ScalarType combined = CoarsestOf(expression, r);
    if (IsFloatingPoint(field.type)) {
      const double combining = amplification * ResultTolerance(expression, r, distinct, numerics);
      const double storing = field.type == combined ? 0 : 2 * Epsilon(field.type);
      field.tolerance = tolerance < 0 ? combining + storing : tolerance;
      field.rms = SmallestNormal(field.type);
    } else {
      field.rounds = IsFloatingPoint(combined) && tolerance != 0;
    }
  }
  return reference;
}

void TakeSummary(const RealsSummary& summary, ReferenceField& field, ReferenceBuffer& reference) {
  if (summary.finite > 0) {
    field.rms =
        std::max(field.rms, std::sqrt(summary.squares / static_cast<double>(summary.finite)));
  }
  field.may_be_nan = summary.has_nan && summary.finite > 0;
  field.is_nan = summary.has_nan && summary.finite == 0;
  reference.contains_nan |= summary.has_nan;
  reference.contains_infinity |= summary.has_infinity;
}

bool IsSampleRight(const ReferenceBuffer& reference, size_t number, const std::byte* buffer) {
  const ReferenceSample& sample = reference.samples[number];
  const std::byte* const is = At(reference, reference.fields[sample.field], buffer, sample.element);
  return IsResultRight(reference, sample.field, sample.element, sample.value, is,
                       [&](const ReferenceVariant& variant) { return variant.values[number]; });
}

std::optional<Mismatch> FirstMismatchOfSamples(const ReferenceBuffer& reference,
                                               const std::byte* got) {
  for (size_t n = 0; n < reference.samples.size(); ++n) {
    if (IsSampleRight(reference, n, got)) continue;
    const ReferenceSample& sample = reference.samples[n];
    return Mismatch{
        sample.element, reference.type.fields()[sample.field].name, sample.value.ToString(),
        ValueAt(reference, reference.fields[sample.field], got, sample.element).ToString()};
  }
  return std::nullopt;
}

// Calls visit(x, y) for some values of a field in the reference and in a variant.
template <typename Visit>
void VisitPairs(const ReferenceBuffer& reference, size_t f, const ReferenceVariant& variant,
                const Visit& visit) {
  const ReferenceField& field = reference.fields[f];
  for (size_t n = 0; n < reference.samples.size(); ++n) {
    const ReferenceSample& sample = reference.samples[n];
    if (sample.field != static_cast<int>(f)) continue;
    visit(sample.value.as_double(), variant.values[n].as_double());
  }
  const int64_t step = std::max<int64_t>(reference.elements() / kMostOfVariant, 1);
  for (int64_t e = 0; e < reference.elements(); e += step) {
    if (!IsResult(reference, e)) continue;
    visit(ValueAt(reference, field, reference.bytes.data(), e).as_double(),
          ValueAt(reference, field, variant.bytes.data(), e).as_double());
  }
}

// Whether every field has the same value in all samples, or the only one is zero.
bool AreSamplesConstant(const ReferenceBuffer& reference) {
  for (size_t f = 0; f < reference.fields.size(); ++f) {
    std::optional<ScalarValue> first;
    int64_t count = 0;
    for (const ReferenceSample& sample : reference.samples) {
      if (sample.field != static_cast<int>(f)) continue;
      if (!first) first = sample.value;
      if (!(sample.value == *first)) return false;
      ++count;
    }
    if (count == 1 && first->as_double() != 0) return false;
  }
  return true;
}

}  // namespace

int64_t ReductionLength(const Expression& expression) {
  int64_t length = 1;
  for (int d = 0; d < expression.rank(); ++d) {
    if (!expression.combine_operators()[d].is_concat()) length *= expression.dimensions()[d].size;
  }
  return length;
}

ReferenceBuffer MakeReference(const Expression& expression, int output,
                              std::vector<std::byte> bytes, double tolerance, double amplification,
                              absl::Span<const double> distinct, NumericsPolicy numerics) {
  ReferenceBuffer reference =
      EmptyReference(expression, output, tolerance, amplification, distinct, numerics);
  reference.bytes = std::move(bytes);
  reference.contents = ElementContents(expression, output);
  reference.has_former =
      std::ranges::find(reference.contents, ElementContent::kFormer) != reference.contents.end();
  for (ReferenceField& field : reference.fields) {
    TakeSummary(Summarize(reference, field), field, reference);
  }
  return reference;
}

ReferenceBuffer MakeSampledReference(const Expression& expression, int output,
                                     std::vector<ReferenceSample> samples, double tolerance,
                                     double amplification, absl::Span<const double> distinct,
                                     NumericsPolicy numerics) {
  ReferenceBuffer reference =
      EmptyReference(expression, output, tolerance, amplification, distinct, numerics);
  reference.check = samples.empty() ? ResultCheck::kNothing : ResultCheck::kSamples;
  reference.samples = std::move(samples);
  for (size_t f = 0; f < reference.fields.size(); ++f) {
    TakeSummary(SummarizeSamples(reference, static_cast<int>(f)), reference.fields[f], reference);
  }
  return reference;
}

void AddVariant(ReferenceVariant variant, ReferenceBuffer& reference) {
  for (size_t f = 0; f < reference.fields.size(); ++f) {
    ReferenceField& field = reference.fields[f];
    if (!IsFloatingPoint(field.type)) continue;
    std::vector<double> changes;  // as `tolerance`
    VisitPairs(reference, f, variant, [&](double x, double y) {
      const double change = std::abs(y - x) / std::max(std::abs(x), field.rms);
      if (std::isfinite(change)) changes.push_back(change);
    });
    if (changes.empty()) continue;
    const auto most = changes.begin() + static_cast<std::ptrdiff_t>(
                                            kNearlyAll * static_cast<double>(changes.size() - 1));
    std::nth_element(changes.begin(), most, changes.end());
    field.tolerance += variant.slack * *most;
  }
  reference.variants.push_back(std::move(variant));
}

std::optional<Mismatch> FirstMismatch(const ReferenceBuffer& reference, const std::byte* got,
                                      std::byte poison) {
  if (reference.check != ResultCheck::kWhole) return FirstMismatchOfSamples(reference, got);
  // Most results are equal bit by bit, since the inputs are small multiples of powers of two.
  if (reference.is_right_itself() &&
      std::memcmp(reference.bytes.data(), got, reference.bytes.size()) == 0) {
    return std::nullopt;
  }
  const int64_t count = reference.elements();
  std::atomic<int64_t> first{count};
  ForRanges(count, [&](int64_t, int64_t begin, int64_t end) {
    if (begin > first) return;
    const int64_t wrong = FirstWrong(reference, got, poison, begin, end);
    int64_t known = first;
    while (wrong < end && wrong < known && !first.compare_exchange_weak(known, wrong)) {
    }
  });
  const int64_t e = first;
  if (e == count) return std::nullopt;
  int f = 0;
  while (IsRight(reference, f, got, poison, e)) ++f;
  const auto print = [&](const std::byte* bytes) {
    return ValueAt(reference, reference.fields[f], bytes, e).ToString();
  };
  const auto expected = [&]() -> std::string {
    switch (ContentOf(reference, e)) {
      case ElementContent::kResult:
        return print(reference.bytes.data());
      case ElementContent::kZero:
        return "0, as no index function reaches it";
      case ElementContent::kFormer:
        break;
    }
    return "what was there";
  };
  return Mismatch{e, reference.type.fields()[f].name, expected(), print(got)};
}

std::optional<Mismatch> ElementMismatch(const ReferenceBuffer& reference, int64_t element,
                                        int field, const ScalarValue& expected) {
  const ScalarValue got =
      ValueAt(reference, reference.fields[field], reference.bytes.data(), element);
  if (IsClose(reference.fields[field], expected, got) ||
      IsNearby(reference, field, element, expected, got)) {
    return std::nullopt;
  }
  return Mismatch{element, reference.type.fields()[field].name, expected.ToString(),
                  got.ToString()};
}

bool ContainsNonFinite(const ReferenceBuffer& reference) {
  return reference.contains_nan || reference.contains_infinity;
}

bool IsConstant(const ReferenceBuffer& reference) {
  if (reference.check == ResultCheck::kNothing) return false;  // as far as one can say
  if (reference.check == ResultCheck::kSamples) return AreSamplesConstant(reference);
  int64_t first = -1;
  int64_t results = 0;
  for (int64_t e = 0; e < reference.elements(); ++e) {
    if (!IsResult(reference, e)) continue;
    if (first < 0) first = e;
    ++results;
    for (const ReferenceField& field : reference.fields) {
      const std::byte* bytes = reference.bytes.data();
      if (std::memcmp(At(reference, field, bytes, first), At(reference, field, bytes, e),
                      static_cast<size_t>(SizeBytes(field.type))) != 0) {
        return false;
      }
    }
  }
  if (results != 1) return true;
  return std::ranges::all_of(reference.fields, [&](const auto& field) {
    return AllAre(std::byte{0}, At(reference, field, reference.bytes.data(), first),
                  static_cast<size_t>(SizeBytes(field.type)));
  });
}

}  // namespace mdh
