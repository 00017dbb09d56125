#include "tests/property/output_judge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mdh {

std::vector<std::vector<bool>> ReachedElements(const Expression& expression) {
  std::vector<std::vector<bool>> reached;
  for (const Buffer& buffer : expression.outputs()) reached.emplace_back(buffer.elements(), false);
  std::vector<int64_t> at(expression.rank(), 0);
  for (bool more = true; more;) {
    for (size_t b = 0; b < expression.outputs().size(); ++b) {
      const Buffer& buffer = expression.outputs()[b];
      for (size_t a = 0; a < buffer.accesses.size(); ++a) {
        reached[b][buffer.Linearized(static_cast<int>(a)).Evaluate(at)] = true;
      }
    }
    more = false;
    for (int d = expression.rank(); d-- > 0 && !more;) {
      if (expression.is_reduction(d)) continue;
      if (++at[d] < expression.dimensions()[d].size)
        more = true;
      else
        at[d] = 0;
    }
  }
  return reached;
}

std::string DifferenceOf(const Buffer& buffer, const std::byte* got, const std::byte* expected,
                         const std::vector<bool>& reached, std::byte poison) {
  const int size = buffer.type.size_bytes();
  for (int64_t n = 0; n < buffer.elements(); ++n) {
    std::vector<bool> written(size, false);
    for (const ElementType::Field& field : buffer.type.fields()) {
      if (!reached[n]) break;
      const int64_t offset = n * size + field.offset_bytes;
      std::fill_n(written.begin() + field.offset_bytes, SizeBytes(field.type), true);
      const ScalarValue value = ScalarValue::Load(field.type, got + offset);
      const ScalarValue want = ScalarValue::Load(field.type, expected + offset);
      // Zeros are equal: gcc turns a conversion to an integer and back into a truncation, which
      // keeps the sign.
      const bool is_real = IsFloatingPoint(field.type);
      if (value == want || (is_real && value.as_double() == want.as_double())) continue;
      return absl::StrCat(buffer.name, "[", n, "]", field.name.empty() ? "" : ".", field.name,
                          " is ", value.ToString(), ", expected ", want.ToString());
    }
    for (int byte = 0; byte < size; ++byte) {
      if (written[byte] || got[n * size + byte] == poison) continue;
      return absl::StrCat("wrote byte ", byte, " of ", buffer.name, "[", n,
                          "], which no index function reaches");
    }
  }
  return "";
}

}  // namespace mdh
