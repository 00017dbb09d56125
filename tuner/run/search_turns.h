// Whose turn it is of two searches for the same expression.
#pragma once

#include <optional>

namespace mdh {

// What is known of one of them: costs in a unit that both have, and whether it has anything to ask.
struct SearchStanding {
  std::optional<double> measured;  // of its best
  std::optional<double> expected;  // by its model, of its best before anything was measured
  bool is_done = false;
};

// By turns, as long as neither is far behind; else the one that is has few turns, and none if the
// models alone say that it is hopeless. `turn` counts from 0.
bool IsTurnOfSecond(const SearchStanding& first, const SearchStanding& second, int turn);

}  // namespace mdh
