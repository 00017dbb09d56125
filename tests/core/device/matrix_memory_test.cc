// Shared memory of matrix units: swizzles, ldmatrix and stmatrix, descriptors.
#include "core/device/matrix_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/core/device/matrix_emulator.h"
#include "tests/core/device/operand_tile.h"
#include "tests/error_message.h"

namespace mdh::matrix_memory_test {
namespace {

constexpr Swizzle kSwizzles[] = {Swizzle::k32, Swizzle::k64, Swizzle::k128};

// Different for neighbours, in as many bits as an element has.
int64_t ValueAt(const MatrixPoint& point, int bytes) {
  const auto hash = static_cast<uint64_t>(point[0] * 7919 + point[1] * 104'729 + point[2] * 613);
  return static_cast<int64_t>((hash * 0x9e3779b97f4a7c15) >> (64 - 8 * bytes));
}

TEST(SwizzleTest, ChunksOfRows) {
  for (int64_t row = 0; row < 16; ++row) {
    for (int64_t c = 0; c < 8; ++c) {
      EXPECT_EQ(Swizzled(row * 128 + c * 16 + 5, Swizzle::k128),
                row * 128 + ((c ^ (row % 8)) << 4) + 5);
    }
    for (int64_t c = 0; c < 4; ++c) {
      EXPECT_EQ(Swizzled(row * 64 + c * 16, Swizzle::k64), row * 64 + ((c ^ (row / 2 % 4)) << 4));
    }
    for (int64_t c = 0; c < 2; ++c) {
      EXPECT_EQ(Swizzled(row * 32 + c * 16, Swizzle::k32), row * 32 + ((c ^ (row / 4 % 2)) << 4));
    }
  }
  EXPECT_EQ(Swizzled(4711, Swizzle::kNone), 4711);
}

// Eight rows that are read at once are in different banks.
TEST(SwizzleTest, EightRowsDoNotMeet) {
  for (const Swizzle swizzle : kSwizzles) {
    for (int64_t chunk = 0; chunk < Bytes(swizzle) / 16; ++chunk) {
      std::set<int64_t> banks;
      for (int64_t row = 0; row < 8; ++row) {
        banks.insert(Swizzled(row * Bytes(swizzle) + 16 * chunk, swizzle) % 128 / 16);
      }
      EXPECT_EQ(banks.size(), 8U) << Bytes(swizzle);
    }
  }
}

// ---- ldmatrix and stmatrix ----

TEST(MatrixMoveTest, OfOperandsAsTheManualHasThem) {
  const MatrixInstruction mma = InstructionNamed("mma.m16n8k16.bf16");
  const std::optional<MatrixMove> a = MoveOf(mma.a_layout, 2, MatrixAxis::kK);
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->matrices, 4);
  EXPECT_EQ(a->moves, 1);
  EXPECT_FALSE(a->transposed);
  for (int64_t l = 0; l < 32; ++l) {
    EXPECT_EQ(a->rows.At({l, 0, 0}), (MatrixPoint{l % 8 + 8 * (l / 8 % 2), 0, 8 * (l / 16)}));
  }
  // Two fragments of B side by side, from memory that is contiguous along n.
  FragmentLayout pair = mma.b_layout;
  pair.digits.push_back({DigitPlace::kRegister, MatrixAxis::kN, 8, 2});
  const std::optional<MatrixMove> b = MoveOf(pair, 2, MatrixAxis::kN);
  ASSERT_TRUE(b.has_value());
  EXPECT_TRUE(b->transposed);
  for (int64_t l = 0; l < 32; ++l) {
    EXPECT_EQ(b->rows.At({l, 0, 0}), (MatrixPoint{0, 8 * (l / 16), l % 8 + 8 * (l / 8 % 2)}));
  }
}

TEST(MatrixMoveTest, OfResultsAsMeasured) {
  const FragmentLayout c = Packed(InstructionNamed("wgmma.m64n256k16.bf16").c_layout, 2);
  const std::optional<MatrixMove> move = MoveOf(c, 2, MatrixAxis::kN);
  ASSERT_TRUE(move.has_value());
  EXPECT_EQ(move->matrices, 4);
  EXPECT_EQ(move->moves, 16);
  for (int64_t l = 0; l < 128; ++l) {
    for (int64_t q = 0; q < 16; ++q) {
      EXPECT_EQ(move->rows.At({l, q, 0}),
                (MatrixPoint{l / 32 * 16 + l % 16, 16 * q + l % 32 / 16 * 8, 0}));
    }
  }
}

TEST(MatrixMoveTest, ThereAreNone) {
  EXPECT_FALSE(
      MoveOf(InstructionNamed("mma.m16n8k16.f64").a_layout, 8, MatrixAxis::kK).has_value());
  EXPECT_FALSE(
      MoveOf(InstructionNamed("mma.m16n8k8.tf32").b_layout, 4, MatrixAxis::kN).has_value());
  EXPECT_FALSE(MoveOf(InstructionNamed("mma.m16n8k32.s8").a_layout, 1, MatrixAxis::kM).has_value());
  EXPECT_FALSE(
      MoveOf(InstructionNamed("dot.m1n16k2.bf16").b_layout, 2, MatrixAxis::kN).has_value());
}

// The axes of a matrix, of which memory is contiguous along the second.
struct Stored {
  MatrixAxis across, along;
};

// Rows of a matrix in swizzled shared memory: points of `across` after each other.
class StoredMatrix {
 public:
  StoredMatrix(const FragmentLayout& layout, int bytes, Stored axes, Swizzle swizzle)
      : axes_(axes),
        bytes_(bytes),
        swizzle_(swizzle),
        row_(Bytes(swizzle) / bytes),
        rows_(layout.Extent(axes.across)) {}

  int64_t Offset(const MatrixPoint& point) const {
    const int64_t along = point[static_cast<size_t>(axes_.along)],
                  across = point[static_cast<size_t>(axes_.across)];
    return Swizzled(((along / row_ * rows_ + across) * row_ + along % row_) * bytes_, swizzle_);
  }

 private:
  Stored axes_;
  int bytes_;
  Swizzle swizzle_;
  int64_t row_, rows_;
};

// Loads a fragment by ldmatrix and compares it with what its layout says.
void ExpectLoads(const std::string& name, const FragmentLayout& layout, int bytes, Stored axes,
                 Swizzle swizzle) {
  const std::optional<MatrixMove> move = MoveOf(layout, bytes, axes.along);
  ASSERT_TRUE(move.has_value()) << name;
  const StoredMatrix stored(layout, bytes, axes, swizzle);
  SharedMemory memory(1 << 16);
  Fragment expected(layout, [&](const MatrixPoint& point) { return ValueAt(point, bytes); });
  expected.ForAll([&](const HeldAt& held) {
    memory.Write(stored.Offset(layout.At(held)), expected.at(held), bytes);
  });
  const int64_t warps = layout.Count(DigitPlace::kLane) / 32;
  const int64_t packed = 4 / bytes;
  for (int64_t warp = 0; warp < warps; ++warp) {
    for (int q = 0; q < move->moves; ++q) {
      const WarpRegisters registers =
          LoadMatrices(memory, move->matrices, move->transposed, [&](int lane) {
            return stored.Offset(move->rows.At({32 * warp + lane, q, 0}));
          });
      for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < move->matrices; ++i) {
          for (int64_t e = 0; e < packed; ++e) {
            const uint32_t got = registers[lane][i] >> (8 * bytes * e);
            const uint64_t mask = (uint64_t{1} << (8 * bytes)) - 1;
            ASSERT_EQ(got & mask, static_cast<uint64_t>(expected.at(
                                      HeldAt{32 * warp + lane, q * move->matrices + i, e})))
                << name << " lane " << lane << " matrix " << i << " element " << e;
          }
        }
      }
    }
  }
}

TEST(MatrixMoveTest, LoadsEveryOperandThatItCan) {
  int loaded = 0;
  for (const MatrixInstruction& unit : MatrixInstructions()) {
    const int bytes = SizeBytes(unit.a);
    for (const auto& [layout, points] :
         {std::pair(&unit.a_layout, MatrixAxis::kM), std::pair(&unit.b_layout, MatrixAxis::kN)}) {
      for (const Stored axes : {Stored{points, MatrixAxis::kK}, Stored{MatrixAxis::kK, points}}) {
        if (unit.lanes == 1 || layout->digits.empty()) continue;
        const bool can = bytes == 2 || (bytes < 8 && axes.along == MatrixAxis::kK);
        ASSERT_EQ(MoveOf(*layout, bytes, axes.along).has_value(), can) << unit.name;
        if (!can) continue;
        for (const Swizzle swizzle : kSwizzles) {
          ExpectLoads(unit.name, *layout, bytes, axes, swizzle);
          ++loaded;
        }
      }
    }
  }
  EXPECT_GT(loaded, 50);
}

TEST(MatrixMoveTest, StoresResults) {
  for (const char* name : {"mma.m16n8k16.bf16", "wgmma.m64n8k16.f16", "wgmma.m64n24k16.bf16",
                           "wgmma.m64n256k16.bf16"}) {
    const FragmentLayout c = Packed(InstructionNamed(name).c_layout, 2);
    for (const Stored axes :
         {Stored{MatrixAxis::kM, MatrixAxis::kN}, Stored{MatrixAxis::kN, MatrixAxis::kM}}) {
      const std::optional<MatrixMove> move = MoveOf(c, 2, axes.along);
      ASSERT_TRUE(move.has_value()) << name;
      EXPECT_EQ(move->transposed, axes.along == MatrixAxis::kM);
      const StoredMatrix stored(c, 2, axes, Swizzle::k128);
      SharedMemory memory(1 << 16);
      Fragment fragment(c, [](const MatrixPoint& point) { return ValueAt(point, 2); });
      for (int64_t warp = 0; warp < c.Count(DigitPlace::kLane) / 32; ++warp) {
        for (int q = 0; q < move->moves; ++q) {
          WarpRegisters registers(32, std::vector<uint32_t>(move->matrices));
          for (int lane = 0; lane < 32; ++lane) {
            for (int i = 0; i < move->matrices; ++i) {
              for (int e = 0; e < 2; ++e) {
                registers[lane][i] |= static_cast<uint32_t>(fragment.at(
                                          HeldAt{32 * warp + lane, q * move->matrices + i, e}))
                                      << (16 * e);
              }
            }
          }
          StoreMatrices(
              registers, move->matrices, move->transposed,
              [&](int lane) {
                return stored.Offset(move->rows.At({32 * warp + lane, q, 0}));
              },
              &memory);
        }
      }
      fragment.ForAll([&](const HeldAt& held) {
        EXPECT_EQ(memory.Read(stored.Offset(c.At(held)), 2), fragment.at(held)) << name;
      });
    }
  }
}

// ---- Tiles and descriptors ----

OperandTile Tile(int64_t points, int64_t depth, int bytes, bool is_k_major, Swizzle swizzle) {
  Result<OperandTile> tile = OperandTile::Create(points, depth, bytes, is_k_major, swizzle);
  EXPECT_TRUE(tile.ok()) << tile.status();
  return *std::move(tile);
}

// The figures that were measured to work.
TEST(OperandTileTest, FieldsOfDescriptors) {
  const OperandTile a = Tile(128, 64, 2, true, Swizzle::k128);
  EXPECT_EQ(DescriptorOf(a, 0, 0, 0).bits(),
            uint64_t{1} << 62 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 16);
  EXPECT_EQ(DescriptorOf(a, 0, 0, 16).bits() - DescriptorOf(a, 0, 0, 0).bits(), 2U);
  EXPECT_EQ(DescriptorOf(a, 0, 64, 0).bits() - DescriptorOf(a, 0, 0, 0).bits(), 512U);
  const OperandTile tf32 = Tile(64, 32, 4, true, Swizzle::k128);
  EXPECT_EQ(DescriptorOf(tf32, 0, 0, 8).bits() - DescriptorOf(tf32, 0, 0, 0).bits(), 2U);
  const OperandTile b = Tile(256, 64, 2, false, Swizzle::k128);
  EXPECT_EQ(DescriptorOf(b, 0, 0, 0).bits(),
            uint64_t{1} << 62 | uint64_t{1024 >> 4} << 32 | uint64_t{8192 >> 4} << 16);
  EXPECT_EQ(DescriptorOf(b, 0, 0, 16).bits() - DescriptorOf(b, 0, 0, 0).bits(), 128U);
  EXPECT_EQ(b.size_bytes(), 32'768);
}

TEST(OperandTileTest, EveryByteIsUsedOnce) {
  for (const Swizzle swizzle : kSwizzles) {
    for (const int bytes : {1, 2, 4}) {
      for (const bool is_k_major : {true, false}) {
        const OperandTile tile = Tile(128, 128, bytes, is_k_major, swizzle);
        std::set<int64_t> offsets;
        for (int64_t point = 0; point < 128; ++point) {
          for (int64_t k = 0; k < 128; ++k) offsets.insert(tile.Offset(point, k));
        }
        EXPECT_EQ(offsets.size(), 128U * 128);
        EXPECT_EQ(*offsets.rbegin(), tile.size_bytes() - bytes);
      }
    }
  }
}

TEST(OperandTileTest, WhatIsNoMultiple) {
  EXPECT_EQ(ErrorMessage(OperandTile::Create(64, 48, 2, true, Swizzle::k128)),
            "k of a tile of an operand: 48 is no multiple of 64");
  EXPECT_EQ(ErrorMessage(OperandTile::Create(60, 64, 2, true, Swizzle::k128)),
            "points of a tile of an operand: 60 is no multiple of 8");
  EXPECT_EQ(ErrorMessage(OperandTile::Create(96, 64, 2, false, Swizzle::k128)),
            "points of a tile of an operand: 96 is no multiple of 64");
  EXPECT_EQ(ErrorMessage(OperandTile::Create(64, 64, 2, true, Swizzle::kNone)),
            "tiles of operands are swizzled");
  EXPECT_EQ(ErrorMessage(OperandTile::Create(0, 64, 2, true, Swizzle::k32)),
            "a tile of 0 x 64 elements of 2 bytes");
}

TEST(OperandTileTest, PartsThatADescriptorReaches) {
  const OperandTile a = Tile(128, 128, 2, true, Swizzle::k128);
  EXPECT_TRUE(a.FitsPart(64, 16, 64, 16));
  EXPECT_TRUE(a.FitsPart(0, 64, 128, 64));
  EXPECT_FALSE(a.FitsPart(0, 56, 64, 16));  // beyond a row of 64
  EXPECT_FALSE(a.FitsPart(4, 0, 64, 16));
  EXPECT_FALSE(a.FitsPart(0, 4, 64, 16));
  EXPECT_FALSE(a.FitsPart(96, 0, 64, 16));
  const OperandTile b = Tile(128, 64, 2, false, Swizzle::k128);
  EXPECT_TRUE(b.FitsPart(64, 8, 64, 16));
  EXPECT_FALSE(b.FitsPart(32, 0, 64, 16));
  EXPECT_FALSE(b.FitsPart(0, 4, 64, 16));
}

// Products by descriptors, of tiles of several instructions each, against plain products.
void ExpectMultiplies(const MatrixInstruction& unit, bool a_k_major, bool b_k_major,
                      Swizzle swizzle) {
  const int bytes = SizeBytes(unit.a);
  const int64_t depth = std::max<int64_t>(Bytes(swizzle) / bytes, 2 * unit.k);
  const int64_t row = Bytes(swizzle) / bytes;
  const auto whole = [&](int64_t points, bool is_k_major) {
    return is_k_major ? points : (points + row - 1) / row * row;
  };
  const OperandTile a = Tile(whole(2 * unit.m, a_k_major), depth, bytes, a_k_major, swizzle),
                    b = Tile(whole(unit.n, b_k_major), depth, bytes, b_k_major, swizzle);
  // Starts within a cluster's shared memory have the block's number in bits that are not theirs.
  constexpr int64_t kBlock = int64_t{3} << 24;
  const int64_t b_start = 2048 + (a.size_bytes() + 1023) / 1024 * 1024;
  SharedMemory memory(b_start + b.size_bytes());
  std::mt19937_64 rng(7);
  const auto fill = [&](const OperandTile& tile, int64_t start) {
    std::vector<std::vector<int64_t>> values(tile.points(), std::vector<int64_t>(depth));
    for (int64_t point = 0; point < tile.points(); ++point) {
      for (int64_t k = 0; k < depth; ++k) {
        values[point][k] = static_cast<int64_t>(rng() % 100);
        memory.Write(start + tile.Offset(point, k), values[point][k], bytes);
      }
    }
    return values;
  };
  const std::vector<std::vector<int64_t>> as = fill(a, 2048), bs = fill(b, b_start);
  const auto read = [&](const OperandTile& tile, int64_t start, int64_t point, int64_t k,
                        int64_t points) {
    EXPECT_TRUE(tile.FitsPart(point, k, points, unit.k)) << unit.name;
    const MatrixDescriptor descriptor =
        MatrixDescriptor::FromBits(DescriptorOf(tile, kBlock + start, point, k).bits());
    return [=, &memory, &tile](int64_t p, int64_t depth_of_part) {
      return memory.Read(descriptor.Address(p, depth_of_part, bytes, tile.is_k_major()), bytes);
    };
  };
  for (const int64_t m : {int64_t{0}, unit.m}) {
    if (!a_k_major && m % row != 0) continue;
    Fragment c(unit.c_layout);
    for (int64_t k = 0; k < depth; k += unit.k) {
      const auto a_at = read(a, 2048, m, k, unit.m), b_at = read(b, b_start, 0, k, unit.n);
      Multiply(
          unit, [&](const MatrixPoint& p) { return a_at(p[0], p[2]); },
          [&](const MatrixPoint& p) { return b_at(p[1], p[2]); }, &c);
    }
    for (int64_t i = 0; i < unit.m; ++i) {
      for (int64_t j = 0; j < unit.n; ++j) {
        int64_t sum = 0;
        for (int64_t k = 0; k < depth; ++k) sum += as[m + i][k] * bs[j][k];
        ASSERT_EQ(c.at(MatrixPoint{i, j, 0}), sum) << unit.name << " " << i << " " << j;
      }
    }
  }
}

TEST(MatrixDescriptorTest, MultiplyWhatTheyPointTo) {
  int multiplied = 0;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    if (row.unit != MatrixUnit::kWarpGroup || row.a != row.b) continue;
    for (const int64_t n : {8, 24, 72}) {
      if (n == 72 && row.a != ScalarType::kBfloat16) continue;  // more than a row: once
      for (const Swizzle swizzle : kSwizzles) {
        for (const bool a_k_major : {true, false}) {
          for (const bool b_k_major : {true, false}) {
            if (!row.takes_transposed && !(a_k_major && b_k_major)) continue;
            ExpectMultiplies(WithN(row, n), a_k_major, b_k_major, swizzle);
            ++multiplied;
          }
        }
      }
    }
  }
  EXPECT_GT(multiplied, 80);
}

TEST(MatrixDescriptorTest, BitsBeyondAStartAreDropped) {
  const MatrixDescriptor descriptor{(int64_t{1} << 24) + 4096, 16, 1024, Swizzle::k128};
  EXPECT_EQ(descriptor.bits() >> 16 & 0x3fff, 1U);
  EXPECT_EQ(MatrixDescriptor::FromBits(descriptor.bits()).start, 4096);
}

}  // namespace
}  // namespace mdh::matrix_memory_test
