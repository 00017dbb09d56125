// Search for integer solutions of linear equations on a box.
#include "core/expression/integer_points.h"

#include <algorithm>
#include <utility>

namespace mdh {
namespace {

// Sums of products of 64-bit numbers.
__extension__ typedef __int128 Wide;

using Box = std::vector<IntegerInterval>;

Wide FloorDiv(Wide a, Wide b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
Wide CeilDiv(Wide a, Wide b) { return a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0); }
Wide Modulo(Wide a, Wide m) { return a - FloorDiv(a, m) * m; }

Wide Gcd(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

// The inverse of a modulo m, for gcd(a, m) = 1 and m > 1.
Wide Inverse(Wide a, Wide m) {
  Wide r = m, next_r = Modulo(a, m), t = 0, next_t = 1;
  while (next_r != 0) {
    const Wide quotient = r / next_r;
    r = std::exchange(next_r, r - quotient * next_r);
    t = std::exchange(next_t, t - quotient * next_t);
  }
  return Modulo(t, m);
}

bool IsFixed(const IntegerInterval& interval) { return interval.lowest == interval.highest; }

// Values of one variable that are left to try: first, first + step, ... <= last.
struct Candidates {
  Wide first, last, step;
  Wide count() const { return last < first ? 0 : (last - first) / step + 1; }
};

class Search {
 public:
  Search(const std::vector<LinearEquation>& equations, int64_t* steps)
      : equations_(equations), steps_(steps) {}

  // Narrows `box` to a single point and returns true, or returns false.
  Result<bool> Solve(Box* box) {
    if (--*steps_ < 0) return ResourceExhausted("the search for integer solutions was given up");
    if (!Propagate(box)) return false;
    int variable = -1;
    Candidates best{};
    for (size_t v = 0; v < box->size(); ++v) {
      if (IsFixed((*box)[v])) continue;
      const Candidates candidates = CandidatesOf(*box, v);
      if (variable < 0 || candidates.count() < best.count()) {
        variable = static_cast<int>(v);
        best = candidates;
      }
    }
    if (variable < 0) return true;
    for (Wide value = best.first; value <= best.last; value += best.step) {
      Box next = *box;
      next[variable] = {static_cast<int64_t>(value), static_cast<int64_t>(value)};
      MDH_ASSIGN_OR_RETURN(const bool found, Solve(&next));
      if (!found) continue;
      *box = std::move(next);
      return true;
    }
    return false;
  }

 private:
  // Shrinks intervals to what the equations leave of them; false if nothing is left.
  bool Propagate(Box* box) const {
    constexpr int kRounds = 16;  // bounds may creep together; branching then takes over
    bool changed = true;
    for (int round = 0; changed && round < kRounds; ++round) {
      changed = false;
      for (const LinearEquation& equation : equations_) {
        if (!PropagateOne(equation, box, &changed)) return false;
      }
    }
    return std::ranges::all_of(
        equations_, [&](const LinearEquation& equation) { return IsDivisible(equation, *box); });
  }

  static bool PropagateOne(const LinearEquation& equation, Box* box, bool* changed) {
    Wide smallest = 0, largest = 0;
    for (size_t v = 0; v < box->size(); ++v) {
      const auto [low, high] = Term(equation, *box, v);
      smallest += low;
      largest += high;
    }
    if (equation.value < smallest || equation.value > largest) return false;
    for (size_t v = 0; v < box->size(); ++v) {
      const Wide a = equation.coefficients[v];
      if (a == 0 || IsFixed((*box)[v])) continue;
      const auto [low, high] = Term(equation, *box, v);
      // a * x lies between what the other terms leave over.
      const Wide least = equation.value - (largest - high);
      const Wide most = equation.value - (smallest - low);
      const Wide from = a > 0 ? CeilDiv(least, a) : CeilDiv(most, a);
      const Wide to = a > 0 ? FloorDiv(most, a) : FloorDiv(least, a);
      IntegerInterval& interval = (*box)[v];
      if (from <= interval.lowest && to >= interval.highest) continue;
      const Wide lowest = std::max<Wide>(from, interval.lowest);
      const Wide highest = std::min<Wide>(to, interval.highest);
      if (lowest > highest) return false;
      interval = {static_cast<int64_t>(lowest), static_cast<int64_t>(highest)};
      const auto [new_low, new_high] = Term(equation, *box, v);
      smallest += new_low - low;
      largest += new_high - high;
      *changed = true;
    }
    return true;
  }

  static std::pair<Wide, Wide> Term(const LinearEquation& equation, const Box& box, size_t v) {
    const Wide a = equation.coefficients[v];
    const Wide x = a * box[v].lowest, y = a * box[v].highest;
    return {std::min(x, y), std::max(x, y)};
  }

  // What the fixed variables leave of the value, and the gcd of the coefficients of the others but
  // `except`.
  static std::pair<Wide, Wide> Remainder(const LinearEquation& equation, const Box& box,
                                         size_t except) {
    Wide value = equation.value, gcd = 0;
    for (size_t v = 0; v < box.size(); ++v) {
      if (v == except) continue;
      if (IsFixed(box[v])) {
        value -= Wide{equation.coefficients[v]} * box[v].lowest;
      } else {
        gcd = Gcd(gcd, equation.coefficients[v]);
      }
    }
    return {value, gcd};
  }

  static bool IsDivisible(const LinearEquation& equation, const Box& box) {
    const auto [value, gcd] = Remainder(equation, box, box.size());
    return gcd == 0 ? value == 0 : value % gcd == 0;
  }

  // The interval of variable v, thinned by the equation with the largest modulus for it:
  // a * x = value (mod gcd of the others).
  Candidates CandidatesOf(const Box& box, size_t v) const {
    Candidates result{box[v].lowest, box[v].highest, 1};
    bool occurs = false;
    for (const LinearEquation& equation : equations_) {
      const Wide a = equation.coefficients[v];
      if (a == 0) continue;
      occurs = true;
      const auto [value, gcd] = Remainder(equation, box, v);
      if (gcd == 0) continue;
      const Wide common = Gcd(a, gcd);  // divides value: IsDivisible
      const Wide modulus = gcd / common;
      if (modulus <= result.step) continue;
      const Wide residue =
          Modulo(Modulo(value / common, modulus) * Inverse(a / common, modulus), modulus);
      result.step = modulus;
      result.first = box[v].lowest + Modulo(residue - box[v].lowest, modulus);
    }
    if (!occurs) result.last = result.first;  // any value will do
    return result;
  }

  const std::vector<LinearEquation>& equations_;
  int64_t* steps_;
};

}  // namespace

Result<std::optional<std::vector<int64_t>>> FindIntegerPoint(
    const std::vector<LinearEquation>& equations, std::vector<IntegerInterval> box,
    int64_t* steps) {
  for (const IntegerInterval& interval : box) {
    if (interval.lowest > interval.highest) return std::optional<std::vector<int64_t>>();
  }
  MDH_ASSIGN_OR_RETURN(const bool found, Search(equations, steps).Solve(&box));
  if (!found) return std::optional<std::vector<int64_t>>();
  std::vector<int64_t> point;
  for (const IntegerInterval& interval : box) point.push_back(interval.lowest);
  return std::optional<std::vector<int64_t>>(std::move(point));
}

}  // namespace mdh
