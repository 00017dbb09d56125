// Random numbers that are the same on every platform for the same generator.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <random>

#include "tuner/space/levels/wide_integer.h"

namespace mdh {

// Uniform below n. Expects n > 0.
inline uint64_t RandomBelow(std::mt19937_64& rng, uint64_t n) {
  Wide product = static_cast<Wide>(rng()) * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t uneven = -n % n;
    while (static_cast<uint64_t>(product) < uneven) product = static_cast<Wide>(rng()) * n;
  }
  return static_cast<uint64_t>(product >> 64);
}

// The same for numbers of any size.
mpz_class RandomBelow(std::mt19937_64& rng, const mpz_class& n);

}  // namespace mdh
