#include "tuner/run/search_turns.h"

namespace mdh {
namespace {

constexpr double kFarBehind = 1.5;   // times the other's best, measured
constexpr double kHopeless = 4;      // idem, by the models
constexpr int kTurnsOfTheOther = 8;  // before one that is far behind has one

}  // namespace

bool IsTurnOfSecond(const SearchStanding& first, const SearchStanding& second, int turn) {
  if (first.is_done || second.is_done) return first.is_done;
  const auto behind = [](const std::optional<double>& a, const std::optional<double>& b,
                         double factor) { return a.has_value() && b.has_value() && *a > factor * *b; };
  if (behind(second.expected, first.expected, kHopeless)) return false;
  if (behind(first.expected, second.expected, kHopeless)) return true;
  const bool is_rare = turn % kTurnsOfTheOther == kTurnsOfTheOther - 1;
  if (behind(second.measured, first.measured, kFarBehind)) return is_rare;
  if (behind(first.measured, second.measured, kFarBehind)) return !is_rare;
  return turn % 2 == 1;
}

}  // namespace mdh
