#include "tuner/space/sample_without_replacement.h"

#include <utility>

namespace mdh {
namespace {

constexpr int kRounds = 6;

// Mixes all bits (SplitMix64's finaliser).
uint64_t Mixed(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// The lowest `bits` bits of a keyed function of a half.
Count RoundFunction(const Count& half, uint64_t key, size_t bits) {
  uint64_t hash = Mixed(key);
  for (size_t limb = 0; limb < mpz_size(half.get_mpz_t()); ++limb) {
    hash = Mixed(hash ^ mpz_getlimbn(half.get_mpz_t(), static_cast<mp_size_t>(limb)));
  }
  Count result = 0;
  for (size_t done = 0; done < bits; done += 64) {
    result <<= 64;
    result += Mixed(hash + done);
  }
  Count cut;
  mpz_fdiv_r_2exp(cut.get_mpz_t(), result.get_mpz_t(), bits);
  return cut;
}

}  // namespace

SampleWithoutReplacement::SampleWithoutReplacement(SearchSpace space, uint64_t seed, Count drawn)
    : space_(std::move(space)), seed_(seed), drawn_(std::move(drawn)) {}

std::optional<Configuration> SampleWithoutReplacement::Next() {
  if (drawn_ >= space_.count()) return std::nullopt;
  Configuration configuration = space_.At(Permuted(drawn_));
  ++drawn_;
  return configuration;
}

// A Feistel network over the bits of the largest index; what it sends outside is sent on until it
// is inside again.
Count SampleWithoutReplacement::Permuted(const Count& n) const {
  const Count greatest = space_.count() - 1;
  if (greatest == 0) return n;
  const size_t bits = (mpz_sizeinbase(greatest.get_mpz_t(), 2) + 1) / 2;  // of a half
  Count index = n;
  do {
    Count left = index >> bits;
    Count right;
    mpz_fdiv_r_2exp(right.get_mpz_t(), index.get_mpz_t(), bits);
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t key = Mixed(seed_ + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(round + 1));
      Count mixed = left ^ RoundFunction(right, key, bits);
      left = std::move(right);
      right = std::move(mixed);
    }
    index = (left << bits) + right;
  } while (index > greatest);
  return index;
}

}  // namespace mdh
