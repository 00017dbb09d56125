// Elements of less than 4 bytes in registers, as matrix units have them: the first one lowest; and
// what units make of fp32.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/scalar/scalar_value.h"
#include "tests/core/device/operand_tile.h"

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

// fp32 with 10 bits of fraction: `half` of a last place is added before the others are cut off. A
// value of another type is itself.
inline ScalarValue CutToTf32(const ScalarValue& value, uint32_t half = 0) {
  constexpr uint32_t kCutOff = (1u << 13) - 1;
  if (value.type() != ScalarType::kFloat32) return value;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value.as_double()));
  return ScalarValue::Real(ScalarType::kFloat32, std::bit_cast<float>((bits + half) & ~kCutOff));
}
inline ScalarValue RoundedToTf32(const ScalarValue& value) { return CutToTf32(value, 1u << 12); }

// Sum of the products of what units take.
inline double ProductOf(const std::vector<ScalarValue>& a, const std::vector<ScalarValue>& b) {
  double sum = 0;
  for (size_t k = 0; k < b.size(); ++k) {
    sum += CutToTf32(a[k]).as_double() * CutToTf32(b[k]).as_double();
  }
  return sum;
}

// Elements of shared memory with 32 bytes along k of row or column `point` of an operand.
inline std::vector<int64_t> PlacesAlongK(const MatrixDescriptor& operand, ScalarType type,
                                         int64_t point, bool is_across) {
  const auto bytes = static_cast<int>(SizeBytes(type));
  std::vector<int64_t> places;
  for (int64_t k = 0; k < 32 / bytes; ++k) {
    places.push_back(operand.Address(point, k, bytes, !is_across) / bytes);
  }
  return places;
}

// A sum of products of operands of a type, in that which units add up in.
inline ScalarValue SumOfUnit(ScalarType operands, double sum) {
  return IsInteger(operands) ? ScalarValue::Integer(ScalarType::kInt32, static_cast<int64_t>(sum))
                             : ScalarValue::Real(ScalarType::kFloat32, sum);
}

// Whether some of these bundles of multiplications add to element r of the array `sums`: else it is
// the thread's again.
template <typename Bundles>
bool AddTo(const Bundles& bundles, const std::string& sums, size_t r) {
  for (const auto& bundle : bundles) {
    for (const auto& [what, keeps, a, b] : bundle) {
      const auto first = static_cast<size_t>(what.first);
      if (what.sums == sums && r >= first && r < first + what.columns / 2) return true;
    }
  }
  return false;
}

// Lanes of vectors of which groups have halves.
inline std::vector<ScalarValue> LanesOfHalves(const GroupHalves& v,
                                              const std::vector<ScalarValue>& first,
                                              const std::vector<ScalarValue>& second) {
  const auto group = static_cast<size_t>(v.group), part = static_cast<size_t>(v.part);
  std::vector<ScalarValue> result;
  for (size_t begin = 0; begin < first.size(); begin += part) {
    for (const auto* vector : {&first, &second}) {
      for (size_t l = begin; l < begin + part && l < vector->size(); ++l) {
        if ((l % group >= group / 2) == v.is_upper) result.push_back((*vector)[l]);
      }
    }
  }
  return result;
}

}  // namespace mdh
