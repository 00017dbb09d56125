// Matrix units without a GPU: multiplication by nothing but the digits of layouts, and the moves
// and reads of shared memory as NVIDIA's PTX manual defines them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "core/device/matrix_instruction.h"
#include "tests/core/device/fragment_layouts.h"

namespace mdh {

// What a group of lanes has in registers; numbers stand for elements of any type.
class Fragment {
 public:
  explicit Fragment(const FragmentLayout& layout)
      : layout_(layout),
        registers_(layout.Count(DigitPlace::kRegister)),
        packed_(layout.Count(DigitPlace::kPacked)),
        values_(layout.Count(DigitPlace::kLane) * registers_ * packed_) {}
  // Filled with what `element` gives at each point.
  Fragment(const FragmentLayout& layout, const std::function<int64_t(const MatrixPoint&)>& element)
      : Fragment(layout) {
    ForAll([&](const HeldAt& held) { at(held) = element(layout.At(held)); });
  }

  const FragmentLayout& layout() const { return layout_; }
  int64_t& at(const HeldAt& held) {
    return values_[(held.lane * registers_ + held.reg) * packed_ + held.packed];
  }
  int64_t at(const MatrixPoint& point) { return at(Holding(layout_, point).value()); }

  void ForAll(const std::function<void(const HeldAt&)>& visit) const {
    const int64_t lanes = layout_.Count(DigitPlace::kLane);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (int64_t reg = 0; reg < registers_; ++reg) {
        for (int64_t packed = 0; packed < packed_; ++packed) visit({lane, reg, packed});
      }
    }
  }

 private:
  FragmentLayout layout_;
  int64_t registers_, packed_;
  std::vector<int64_t> values_;
};

// An operand's element at a point, wherever it is.
using OperandElement = std::function<int64_t(const MatrixPoint&)>;

// c += a * b.
inline void Multiply(const MatrixInstruction& unit, const OperandElement& a,
                     const OperandElement& b, Fragment* c) {
  c->ForAll([&](const HeldAt& held) {
    const MatrixPoint at = c->layout().At(held);
    for (int64_t k = 0; k < unit.k; ++k) c->at(held) += a({at[0], 0, k}) * b({0, at[1], k});
  });
}

// Shared memory, by bytes.
class SharedMemory {
 public:
  explicit SharedMemory(int64_t bytes) : bytes_(bytes) {}

  void Write(int64_t address, int64_t value, int element_bytes) {
    std::memcpy(&bytes_.at(address), &value, element_bytes);
  }
  int64_t Read(int64_t address, int element_bytes) const {
    int64_t value = 0;
    std::memcpy(&value, &bytes_.at(address), element_bytes);
    return value;
  }

 private:
  std::vector<uint8_t> bytes_;
};

// The registers of a warp: [lane][register].
using WarpRegisters = std::vector<std::vector<uint32_t>>;

// ldmatrix.x{matrices}[.trans]: lane 8 i + j points to row j of matrix i, of which lane l gets the
// elements 2 (l % 4) and the next of row l / 4 in register i, or, transposed, those of column l
// / 4.
inline WarpRegisters LoadMatrices(const SharedMemory& memory, int matrices, bool is_transposed,
                                  const std::function<int64_t(int lane)>& pointer) {
  WarpRegisters registers(32, std::vector<uint32_t>(matrices));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < matrices; ++i) {
      for (int e = 0; e < 2; ++e) {
        const int pair = 2 * (lane % 4) + e;
        const int row = is_transposed ? pair : lane / 4, column = is_transposed ? lane / 4 : pair;
        const int64_t value = memory.Read(pointer(8 * i + row) + 2 * column, 2);
        registers[lane][i] |= static_cast<uint32_t>(value) << (16 * e);
      }
    }
  }
  return registers;
}

// stmatrix, the reverse.
inline void StoreMatrices(const WarpRegisters& registers, int matrices, bool is_transposed,
                          const std::function<int64_t(int lane)>& pointer, SharedMemory* memory) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < matrices; ++i) {
      for (int e = 0; e < 2; ++e) {
        const int pair = 2 * (lane % 4) + e;
        const int row = is_transposed ? pair : lane / 4, column = is_transposed ? lane / 4 : pair;
        memory->Write(pointer(8 * i + row) + 2 * column, registers[lane][i] >> (16 * e), 2);
      }
    }
  }
}

}  // namespace mdh
