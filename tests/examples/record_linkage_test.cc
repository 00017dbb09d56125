// Figure 16, subfigure 5: probabilistic record linkage, against loops over C++ structures.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/examples/example.h"

namespace mdh::record_linkage_test {
namespace {

constexpr int kFields = 14, kDay = 9, kMonth = 10, kYear = 11, kMunicipality = 13;
using Person = std::array<int, kFields>;

struct Probabilities {
  double m, u;
};
const std::array<Probabilities, kFields> kProbabilities = {{{0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.975, 0.01},
                                                            {0.99, 1.0 / 31},
                                                            {0.99, 1.0 / 12},
                                                            {0.99, 1.0 / 100},
                                                            {0.999, 0.5},
                                                            {0.9, 0.001}}};

bool Agree(const Person& a, const Person& b, std::initializer_list<int> fields) {
  for (const int f : fields) {
    if (a[f] == -1 || a[f] != b[f]) return false;
  }
  return true;
}

bool InOneBlock(const Person& a, const Person& b) {
  return Agree(a, b, {0, 3, kDay, kMonth, kYear}) || Agree(a, b, {0, 3, kMunicipality}) ||
         Agree(a, b, {6, kDay, kMonth, kYear});
}

double Weight(const Person& a, const Person& b) {
  if (!InOneBlock(a, b)) return 0;
  double weight = 0;
  for (int f = 0; f < kFields; ++f) {
    const auto [m, u] = kProbabilities[f];
    if (a[f] == -1 || b[f] == -1) continue;
    weight += a[f] == b[f] ? std::log2(m / u) : std::log2((1 - m) / (1 - u));
  }
  return weight;
}

struct Lists {
  std::vector<Person> first, second;
};

// Half of the second list are copies of records of the first, with up to five fields changed or
// missing.
Lists RandomLists(int I, int J) {
  std::mt19937_64 rng(7);
  const auto random_person = [&] {
    Person person;
    for (int& field : person) field = static_cast<int>(rng() % 10) - 1;
    return person;
  };
  Lists lists;
  for (int i = 0; i < I; ++i) lists.first.push_back(random_person());
  for (int j = 0; j < J; ++j) {
    lists.second.push_back(random_person());
    if (j % 2 == 1) continue;
    lists.second.back() = lists.first[rng() % I];
    for (size_t n = rng() % 6; n > 0; --n) {
      lists.second.back()[rng() % kFields] = static_cast<int>(rng() % 4) - 1;
    }
  }
  return lists;
}

struct Matches {
  std::vector<double> j, weight, status;
};

Matches BestPartners(const Lists& lists) {
  Matches matches;
  for (const Person& person : lists.first) {
    int best = -1;
    double largest = -std::numeric_limits<double>::infinity();
    for (int j = 0; j < static_cast<int>(lists.second.size()); ++j) {
      const double weight = Weight(person, lists.second[j]);
      if (weight <= largest) continue;
      best = j;
      largest = weight;
    }
    matches.j.push_back(best);
    matches.weight.push_back(largest);
    matches.status.push_back(largest > 45 ? 2 : largest > 15 ? 1 : 0);
  }
  return matches;
}

void ExpectMatches(const Example& example, const Matches& expected) {
  ExpectOutput(example, expected.j, 0, 0, 0);
  ExpectOutput(example, expected.weight, 1e-12, 0, 1);
  ExpectOutput(example, expected.status, 0, 0, 2);
}

constexpr int kI = 31, kJ = 37;

TEST(RecordLinkageExamples, ListsOfRecords) {
  const Lists lists = RandomLists(kI, kJ);
  Example example("prl", {{"I", "31"}, {"J", "37"}});
  for (int f = 0; f < kFields; ++f) {
    std::vector<double> first, second;
    for (const Person& person : lists.first) first.push_back(person[f]);
    for (const Person& person : lists.second) second.push_back(person[f]);
    example.SetInput(0, first, f);
    example.SetInput(1, second, f);
  }
  const Matches expected = BestPartners(lists);
  for (const double status : {0, 1, 2}) {
    EXPECT_NE(std::count(expected.status.begin(), expected.status.end(), status), 0) << status;
  }
  ExpectMatches(example, expected);
}

TEST(RecordLinkageExamples, ListsOfFields) {
  const Lists lists = RandomLists(kI, kJ);
  Example example("prl_soa", {{"I", "31"}, {"J", "37"}});
  std::vector<double> first, second;
  for (int f = 0; f < kFields; ++f) {
    for (const Person& person : lists.first) first.push_back(person[f]);
    for (const Person& person : lists.second) second.push_back(person[f]);
  }
  example.SetInput(0, first);
  example.SetInput(1, second);
  ExpectMatches(example, BestPartners(lists));
}

}  // namespace
}  // namespace mdh::record_linkage_test
