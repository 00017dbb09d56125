#include "core/device/warp_accesses.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sanitized.h"

namespace mdh::warp_accesses_test {
namespace {

struct Axis {
  int64_t step, threads;
};

WarpThreads WarpOf(const std::vector<Axis>& axes, int count) {
  WarpThreads warp(count);
  for (const auto& [step, threads] : axes) warp.Add(step, threads);
  return warp;
}

std::vector<int64_t> PlacesOf(const std::vector<Axis>& axes, int count) {
  std::vector<int64_t> places;
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n, place = 0;
    for (const auto& [step, threads] : axes) {
      place += rest % threads * step;
      rest /= threads;
    }
    places.push_back(place);
  }
  return places;
}

double CountLines(const std::vector<int64_t>& places, int64_t last, int64_t line) {
  std::set<int64_t> lines;
  for (const int64_t place : places) lines.insert((place + last) / line);
  return static_cast<double>(lines.size());
}

double CountBankCycles(const std::vector<int64_t>& places, size_t words) {
  const size_t group = 32 / words;
  double cycles = 0;
  for (size_t first = 0; first < places.size(); first += group) {
    std::map<size_t, std::set<int64_t>> banks;
    for (size_t n = first; n < std::min(first + group, places.size()); ++n) {
      banks[static_cast<size_t>(places[n]) / words % group].insert(places[n]);
    }
    size_t most = 0;
    for (const auto& [bank, different] : banks) most = std::max(most, different.size());
    cycles += static_cast<double>(most);
  }
  return cycles;
}

TEST(WarpAccessesTest, NeighboursShareLinesAndNoBank) {
  const WarpThreads warp = WarpOf({{4, 32}}, kWarp);
  EXPECT_EQ(warp.TouchedLines<128>(0), 1);
  EXPECT_EQ(warp.TouchedLines<32>(0), 4);
  EXPECT_EQ(WarpOf({{1, 32}}, kWarp).BankCycles(1), 1);
}

TEST(WarpAccessesTest, ColumnsAreLinesOfTheirOwnInOneBank) {
  EXPECT_EQ(WarpOf({{4096, 32}}, kWarp).TouchedLines<128>(0), 32);
  EXPECT_EQ(WarpOf({{32, 32}}, kWarp).BankCycles(1), 32);
  // A padded row moves each to the next bank.
  EXPECT_EQ(WarpOf({{33, 32}}, kWarp).BankCycles(1), 1);
}

TEST(WarpAccessesTest, ThreadsThatReadTheSameDoNotWaitForEachOther) {
  const WarpThreads warp = WarpOf({{0, 8}, {32, 4}}, kWarp);
  EXPECT_EQ(warp.BankCycles(1), 4);
  EXPECT_EQ(warp.TouchedLines<32>(0), 4);
}

TEST(WarpAccessesTest, RandomWarpsCostWhatCountingSays) {
  std::mt19937 random(1);
  const auto any = [&](const std::vector<int64_t>& values) {
    return values[std::uniform_int_distribution<size_t>(0, values.size() - 1)(random)];
  };
  for (int n = 0; n < TriedCases(20000); ++n) {
    std::vector<Axis> axes;
    int64_t threads = 1;
    for (int64_t count = any({1, 2, 3, 4}); count > 0; --count) {
      axes.push_back({any({0, 1, 2, 3, 4, 8, 12, 20, 32, 33, 36, 128, 144, 1000, 4096}),
                      any({1, 2, 3, 4, 5, 6, 8, 16, 24, 32, 64})});
      threads *= axes.back().threads;
    }
    const int count = static_cast<int>(std::min<int64_t>(threads, kWarp));
    const std::vector<int64_t> places = PlacesOf(axes, count);
    const WarpThreads warp = WarpOf(axes, count);
    for (const int64_t last : {0, 4, 12, 31}) {
      ASSERT_EQ(warp.TouchedLines<32>(last), CountLines(places, last, 32)) << n;
      ASSERT_EQ(warp.TouchedLines<128>(last), CountLines(places, last, 128)) << n;
    }
    for (const int words : {1, 2, 3, 4}) {
      ASSERT_EQ(warp.BankCycles(words), CountBankCycles(places, static_cast<size_t>(words))) << n;
    }
  }
}

}  // namespace
}  // namespace mdh::warp_accesses_test
