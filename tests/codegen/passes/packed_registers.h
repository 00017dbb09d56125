// Elements of less than 4 bytes in registers, as matrix units have them: the first one lowest.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/scalar/scalar_value.h"

namespace mdh {

// As uint32; a value of 4 bytes or more is itself.
inline ScalarValue Packed(const std::vector<ScalarValue>& values) {
  if (values.size() == 1) return values[0];
  std::array<std::byte, 4> bytes{};
  for (size_t e = 0; e < values.size(); ++e) {
    values[e].Store(bytes.data() + e * bytes.size() / values.size());
  }
  return ScalarValue::Load(ScalarType::kUint32, bytes.data());
}

inline ScalarValue Unpacked(const ScalarValue& held, ScalarType type, int64_t number) {
  if (SizeBytes(type) >= 4) return held;
  std::array<std::byte, 4> bytes{};
  held.Store(bytes.data());
  return ScalarValue::Load(type, bytes.data() + number * SizeBytes(type));
}

}  // namespace mdh
