#include "tests/property/output_judge.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {

namespace {

// Calls `visit` for all indices below the extents.
template <typename Visit>
void ForEachIndex(const std::vector<int64_t>& extents, const Visit& visit) {
  if (std::count(extents.begin(), extents.end(), 0) > 0) return;
  std::vector<int64_t> index(extents.size(), 0);
  for (bool more = true; more;) {
    visit(index);
    more = false;
    for (size_t x = extents.size(); x-- > 0 && !more;) {
      more = ++index[x] < extents[x];
      if (!more) index[x] = 0;
    }
  }
}

}  // namespace

std::vector<std::vector<ElementContent>> ContentsOfOutputs(const Expression& expression) {
  std::vector<int64_t> sizes;
  for (int d = 0; d < expression.rank(); ++d) {
    sizes.push_back(expression.is_reduction(d) ? 1 : expression.dimensions()[d].size);
  }
  std::vector<std::vector<ElementContent>> all;
  for (const Buffer& buffer : expression.outputs()) {
    std::vector<ElementContent> contents(buffer.elements(), ElementContent::kFormer);
    const std::vector<int64_t> strides = buffer.strides();
    ForEachIndex(buffer.extents, [&](const std::vector<int64_t>& index) {
      int64_t element = 0;
      for (size_t x = 0; x < index.size(); ++x) element += index[x] * strides[x];
      if (!buffer.keeps_unreached) contents[element] = ElementContent::kZero;
    });
    ForEachIndex(sizes, [&](const std::vector<int64_t>& point) {
      for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
        contents[buffer.Linearized(a).Evaluate(point)] = ElementContent::kResult;
      }
    });
    all.push_back(std::move(contents));
  }
  return all;
}

std::vector<JudgedOutput> OutputsOf(const Expression& expression) {
  std::vector<std::vector<ElementContent>> contents = ContentsOfOutputs(expression);
  std::vector<JudgedOutput> outputs;
  for (size_t b = 0; b < contents.size(); ++b) {
    outputs.push_back({expression.outputs()[b], std::move(contents[b])});
  }
  return outputs;
}

std::vector<JudgedOutput> OutputsOf(const Pipeline& pipeline) {
  std::vector<JudgedOutput> outputs;
  for (const int b : pipeline.BuffersOf(PipelineBuffer::Role::kOutput)) {
    const PipelineStep& step = pipeline.steps()[pipeline.writer(b)];
    const auto found = std::find(step.outputs.begin(), step.outputs.end(), b);
    outputs.push_back(std::move(OutputsOf(step.expression)[found - step.outputs.begin()]));
    outputs.back().buffer.name = pipeline.buffers()[b].name;
  }
  return outputs;
}

std::string DifferenceOf(const Buffer& buffer, const std::byte* got, const std::byte* expected,
                         const std::vector<ElementContent>& contents, std::byte poison, int units) {
  const int size = buffer.type.size_bytes();
  for (int64_t n = 0; n < buffer.elements(); ++n) {
    const ElementContent content = contents[n];
    std::vector<bool> written(size, false);
    for (const ElementType::Field& field : buffer.type.fields()) {
      if (content != ElementContent::kResult) break;
      const int64_t offset = n * size + field.offset_bytes;
      std::fill_n(written.begin() + field.offset_bytes, SizeBytes(field.type), true);
      const ScalarValue value = ScalarValue::Load(field.type, got + offset);
      const ScalarValue want = ScalarValue::Load(field.type, expected + offset);
      // Zeros are equal: gcc turns a conversion to an integer and back into a truncation, which
      // keeps the sign.
      const bool is_real = IsFloatingPoint(field.type);
      if (value == want || (is_real && value.as_double() == want.as_double())) continue;
      if (is_real && std::abs(value.as_double() - want.as_double()) <=
                         units * Epsilon(field.type) * std::abs(want.as_double())) {
        continue;
      }
      return absl::StrCat(buffer.name, "[", n, "]", field.name.empty() ? "" : ".", field.name,
                          " is ", value.ToString(), ", expected ", want.ToString());
    }
    const bool is_zero = content == ElementContent::kZero;
    // The padding of a result is cleared where its surroundings are.
    const bool may_be_cleared = content == ElementContent::kResult;
    for (int byte = 0; byte < size; ++byte) {
      const std::byte found = got[n * size + byte];
      if (written[byte] || found == (is_zero ? std::byte{0} : poison)) continue;
      if (may_be_cleared && found == std::byte{0}) continue;
      return absl::StrCat(is_zero ? "did not clear byte " : "wrote byte ", byte, " of ",
                          buffer.name, "[", n, "], which no index function reaches");
    }
  }
  return "";
}

}  // namespace mdh
