// One drawing function per kind of type.
#include "tuner/measure/results/random_inputs.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/scalar/scalar_value.h"
#include "tuner/measure/results/parallel_ranges.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// splitmix64: fast enough to fill gigabytes, and good enough for test data.
class Bits {
 public:
  explicit Bits(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>((Next() >> 1) % static_cast<uint64_t>(bound));
  }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }  // [0, 1)

 private:
  uint64_t state_;
};

// True about once in `length` draws, within bounds that let both values occur.
bool Rarely(Bits& bits, int64_t length) {
  return bits.Below(std::clamp<int64_t>(length, 4, 1024)) == 0;
}

// Parts of 1 that values of kFine are multiples of.
int64_t FineParts(ScalarType type) {
  switch (type) {
    case ScalarType::kFloat64:
      return int64_t{1} << 26;
    case ScalarType::kFloat32:
      return int64_t{1} << 12;
    case ScalarType::kFloat16:
      return int64_t{1} << 8;
    default:
      return 4;
  }
}

double DrawReal(InputDistribution distribution, ScalarType type, Bits& bits, int64_t length) {
  // Multiples of 1 / parts in [-2, 2].
  const auto fraction = [&](int64_t parts) {
    return static_cast<double>(bits.Below(4 * parts + 1) - 2 * parts) / static_cast<double>(parts);
  };
  switch (distribution) {
    case InputDistribution::kQuarters:
      return fraction(4);
    case InputDistribution::kFine:
      return fraction(FineParts(type));
    case InputDistribution::kPositive:
      return 0.25 + 2 * bits.Unit();
    case InputDistribution::kUnits: {
      const double sign = bits.Below(2) == 0 ? 1 : -1;
      if (!Rarely(bits, length)) return sign;
      return bits.Below(2) == 0 ? 2 * sign : sign / 2;
    }
    case InputDistribution::kSparse:
      return 0.25 + 0.25 * bits.Unit();
  }
  return 0;
}

// Truncated to the type by the caller.
int64_t DrawInteger(InputDistribution distribution, bool is_signed, Bits& bits, int64_t length) {
  switch (distribution) {
    case InputDistribution::kQuarters:
    case InputDistribution::kFine:
      return is_signed ? bits.Below(17) - 8 : bits.Below(9);
    case InputDistribution::kPositive:
      return static_cast<int64_t>(bits.Next());
    case InputDistribution::kUnits:
      return static_cast<int64_t>(bits.Next() | 1);
    case InputDistribution::kSparse:
      return Rarely(bits, length) ? 1 + bits.Below(7) : 0;
  }
  return 0;
}

bool DrawBool(InputDistribution distribution, Bits& bits, int64_t length) {
  switch (distribution) {
    case InputDistribution::kQuarters:
    case InputDistribution::kFine:
      return bits.Below(2) == 0;
    case InputDistribution::kPositive:
    case InputDistribution::kUnits:
      return !Rarely(bits, length);
    case InputDistribution::kSparse:
      return Rarely(bits, length);
  }
  return false;
}

template <typename T, typename Draw>
void Fill(const ValuesAt& to, const Draw& draw) {
  for (int64_t e = 0; e < to.count; ++e) {
    const T value = static_cast<T>(draw());
    std::memcpy(to.first + e * to.stride_bytes, &value, sizeof(T));
  }
}

void FillPiece(InputDistribution distribution, ScalarType type, const ValuesAt& to,
               int64_t reduction_length, uint64_t seed) {
  Bits bits(seed);
  const auto real = [&] { return DrawReal(distribution, type, bits, reduction_length); };
  const auto integer = [&] {
    return DrawInteger(distribution, IsSigned(type), bits, reduction_length);
  };
  if (type == ScalarType::kBool) {
    return Fill<bool>(to, [&] { return DrawBool(distribution, bits, reduction_length); });
  }
  if (type == ScalarType::kFloat32) return Fill<float>(to, real);
  if (type == ScalarType::kFloat64) return Fill<double>(to, real);
  if (IsStorageOnly(type)) {
    for (int64_t e = 0; e < to.count; ++e) {
      ScalarValue::Real(type, real()).Store(to.first + e * to.stride_bytes);
    }
    return;
  }
  switch (SizeBytes(type)) {
    case 1:
      return Fill<uint8_t>(to, integer);
    case 2:
      return Fill<uint16_t>(to, integer);
    case 4:
      return Fill<uint32_t>(to, integer);
    default:
      return Fill<uint64_t>(to, integer);
  }
}

// Fills [begin, end) with what the first `period` bytes say if they come again and again.
void RepeatBytes(std::byte* first, int64_t period, int64_t begin, int64_t end) {
  while (begin < end) {
    const int64_t from = begin % period;
    const int64_t length = std::min(end - begin, period - from);
    std::memcpy(first + begin, first + from, static_cast<size_t>(length));
    begin += length;
  }
}

}  // namespace

bool FillRandom(InputDistribution distribution, ScalarType type, const ValuesAt& to,
                int64_t reduction_length, uint64_t seed, int64_t give_up_ns) {
  std::atomic<bool> is_given_up = false;
  const auto for_pieces = [&](int64_t count, const auto& work) {
    ForRanges(count, [&](int64_t piece, int64_t begin, int64_t end) {
      if (give_up_ns != 0 && NowNs() > give_up_ns) is_given_up = true;
      if (!is_given_up) work(piece, begin, end);
    });
  };
  // Every piece has random numbers of its own; those of the first one are the seed's.
  constexpr uint64_t kPieceSeed = 0xD1B54A32D192ED03u;
  const int64_t drawn = std::min(to.count, kDrawnValues);
  for_pieces(drawn, [&](int64_t piece, int64_t begin, int64_t end) {
    FillPiece(distribution, type,
              {to.first + begin * to.stride_bytes, end - begin, to.stride_bytes}, reduction_length,
              seed + kPieceSeed * static_cast<uint64_t>(piece));
  });
  const int64_t size = SizeBytes(type);
  for_pieces(to.count - drawn, [&](int64_t, int64_t begin, int64_t end) {
    if (size == to.stride_bytes) {
      RepeatBytes(to.first, drawn * size, (drawn + begin) * size, (drawn + end) * size);
      return;
    }
    for (int64_t e = drawn + begin; e < drawn + end; ++e) {
      std::memcpy(to.first + e * to.stride_bytes, to.first + e % drawn * to.stride_bytes,
                  static_cast<size_t>(size));
    }
  });
  return !is_given_up;
}

}  // namespace mdh
