#include "tuner/run/search_turns.h"

namespace mdh {
namespace {

constexpr double kFarBehind = 1.5;  // times the other's best, measured, or else by the models
constexpr double kHopeless = 4;     // idem, by the models
constexpr int kEvery = 16;          // turns: one that is far behind has one of so many

}  // namespace

bool IsTurnOfSecond(const SearchStanding& first, const SearchStanding& second, int turn) {
  if (first.is_done || second.is_done) return first.is_done;
  const auto behind = [](const std::optional<double>& a, const std::optional<double>& b,
                         double factor) {
    return a.has_value() && b.has_value() && *a > factor * *b;
  };
  if (behind(second.expected, first.expected, kHopeless)) return false;
  if (behind(first.expected, second.expected, kHopeless)) return true;
  const bool are_measured = first.measured.has_value() && second.measured.has_value();
  const auto& of_first = are_measured ? first.measured : first.expected;
  const auto& of_second = are_measured ? second.measured : second.expected;
  const bool is_rare = turn % kEvery == kEvery - 1;
  if (behind(of_second, of_first, kFarBehind)) return is_rare;
  if (behind(of_first, of_second, kFarBehind)) return !is_rare;
  return turn % 2 == 1;
}

}  // namespace mdh
