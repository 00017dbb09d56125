#include "tuner/space/random_number.h"

#include <vector>

namespace mdh {

mpz_class RandomBelow(std::mt19937_64& rng, const mpz_class& n) {
  const mpz_class greatest = n - 1;
  const size_t bits = mpz_sizeinbase(greatest.get_mpz_t(), 2);
  std::vector<uint64_t> words((bits + 63) / 64);
  mpz_class number;
  do {
    for (uint64_t& word : words) word = rng();
    if (bits % 64 != 0) words.back() >>= 64 - bits % 64;
    mpz_import(number.get_mpz_t(), words.size(), -1, sizeof(uint64_t), 0, 0, words.data());
  } while (number > greatest);
  return number;
}

}  // namespace mdh
