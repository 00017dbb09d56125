#include "codegen/lower/tiles/tile_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace mdh {
namespace {

// Sums and their like; of what users write it is known by samples only that it commutes.
bool IsAnyOrderAllowed(const LoopPlan& plan) {
  const Expression& e = plan.expression();
  if (!Reassociates(plan.numerics()) || !e.has_reduction()) return false;
  const CombineOperator& reduction = e.reduction();
  const auto& kinds = reduction.kinds();
  return reduction.identity().has_value() &&
         std::ranges::find(kinds, PointWiseKind::kCustom) == kinds.end();
}

class Orders {
 public:
  Orders(const LoopPlan& plan, const std::vector<TilePoint>& steps,
         const std::vector<TilePoint>& points)
      : plan_(plan), steps_(steps), points_(points) {
    for (int p = 0; p < std::ssize(plan.expression().function().parameters()); ++p) {
      if (!plan.expression().is_index(p)) NumberPlaces(p);
    }
  }

  std::vector<TileVisit> StepByStep(const std::vector<size_t>& steps) const {
    std::vector<TileVisit> order;
    for (const size_t step : steps) {
      for (size_t point = 0; point < points_.size(); ++point) order.push_back({step, point});
    }
    return order;
  }

  // Some place is read by several steps.
  bool HaveSharedPlaces() const {
    for (const Places& places : places_) {
      std::vector<size_t> reader(places.count, SIZE_MAX);
      for (size_t step = 0; step < steps_.size(); ++step) {
        for (size_t point = 0; point < points_.size(); ++point) {
          size_t& other = reader[Place(places, {step, point})];
          // What all points share needs no order: it is one place in every one.
          if (other != SIZE_MAX && other != step) return true;
          other = step;
        }
      }
    }
    return false;
  }

  // The order in which the fewest places that were read wait to be read again.
  std::vector<TileVisit> Best(const std::vector<std::vector<size_t>>& step_orders) const {
    std::vector<TileVisit> best;
    Waiting fewest{SIZE_MAX, SIZE_MAX};
    const auto consider = [&](std::vector<TileVisit> order) {
      const Waiting waiting = CountWaiting(order);
      if (!(waiting < fewest)) return;
      fewest = waiting;
      best = std::move(order);
    };
    for (const std::vector<size_t>& steps : step_orders) {
      const std::vector<TileVisit> plain = StepByStep(steps);
      consider(plain);
      for (const Places& places : places_) consider(Grouped(plain, places));
    }
    return best;
  }

  // The steps with their dimensions in every order of varying.
  std::vector<std::vector<size_t>> StepOrders() const {
    std::vector<int> dimensions;
    for (int d = 0; d < plan_.rank(); ++d) {
      const auto differs = [&](const TilePoint& step) {
        return step.pieces[d].offset != steps_.front().pieces[d].offset;
      };
      if (std::ranges::any_of(steps_, differs)) dimensions.push_back(d);
    }
    constexpr size_t kMostPermuted = 3;
    std::vector<std::vector<size_t>> orders;
    do {
      std::vector<size_t> order(steps_.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        for (const int d : dimensions) {
          const int64_t x = steps_[a].pieces[d].offset, y = steps_[b].pieces[d].offset;
          if (x != y) return x < y;
        }
        return false;
      });
      orders.push_back(std::move(order));
    } while (dimensions.size() <= kMostPermuted &&
             std::next_permutation(dimensions.begin(), dimensions.end()));
    return orders;
  }

 private:
  // What one parameter of f reads: the number of the place of every step and point.
  struct Places {
    std::vector<size_t> of;
    size_t count = 0;
  };
  // At most, and summed up over all visits.
  using Waiting = std::pair<size_t, size_t>;

  size_t Place(const Places& places, const TileVisit& visit) const {
    return places.of[visit.step * points_.size() + visit.point];
  }

  void NumberPlaces(int parameter) {
    const Expression::AccessRef ref = plan_.expression().input_access(parameter);
    const AffineIndex linear =
        plan_.expression().inputs()[ref.buffer].Linearized(ref.access, ref.field);
    const int v = plan_.vector_dimension();
    const auto offset = [&](const TilePoint& point) {
      int64_t sum = 0;
      for (int d = 0; d < plan_.rank(); ++d) sum += linear.coefficients[d] * point.pieces[d].offset;
      return sum;
    };
    const auto width = [&](const TilePoint& point) {
      return v >= 0 && linear.coefficients[v] != 0 ? point.pieces[v].width : 1;
    };
    // Of pieces in reduced and in concatenated dimensions, one is at offset 0 and of width 1.
    std::vector<std::pair<int64_t, int>> of_points;
    for (const TilePoint& point : points_) of_points.push_back({offset(point), width(point)});
    Places places;
    absl::flat_hash_map<std::pair<int64_t, int>, size_t> numbers;
    for (const TilePoint& step : steps_) {
      const int64_t at = offset(step);
      const int lanes = width(step);
      for (const auto& [point_at, point_lanes] : of_points) {
        const auto [known, is_new] =
            numbers.try_emplace({at + point_at, lanes * point_lanes}, places.count);
        places.count += is_new ? 1 : 0;
        places.of.push_back(known->second);
      }
    }
    places_.push_back(std::move(places));
  }

  // All visits of a place in turn, places in the order of their first visit.
  std::vector<TileVisit> Grouped(std::vector<TileVisit> order, const Places& places) const {
    std::vector<size_t> rank(places.count, SIZE_MAX);
    size_t next = 0;
    for (const TileVisit& visit : order) {
      size_t& own = rank[Place(places, visit)];
      if (own == SIZE_MAX) own = next++;
    }
    std::ranges::stable_sort(order, [&](const TileVisit& a, const TileVisit& b) {
      return rank[Place(places, a)] < rank[Place(places, b)];
    });
    return order;
  }

  Waiting CountWaiting(const std::vector<TileVisit>& order) const {
    std::vector<int> change(order.size() + 1, 0);
    for (const Places& places : places_) {
      std::vector<size_t> last(places.count, SIZE_MAX);
      for (size_t n = 0; n < order.size(); ++n) {
        size_t& previous = last[Place(places, order[n])];
        if (previous != SIZE_MAX) {
          // From one visit to the next, so that the sum is that from the first to the last.
          ++change[previous];
          --change[n];
        }
        previous = n;
      }
    }
    Waiting waiting{0, 0};
    size_t now = 0;
    for (const int c : change) {
      now += static_cast<size_t>(static_cast<int64_t>(c));
      waiting.first = std::max(waiting.first, now);
      waiting.second += now;
    }
    return waiting;
  }

  const LoopPlan& plan_;
  const std::vector<TilePoint>& steps_;
  const std::vector<TilePoint>& points_;
  std::vector<Places> places_;
};

}  // namespace

std::vector<TileVisit> OrderOfTile(const LoopPlan& plan, const std::vector<TilePoint>& steps,
                                   const std::vector<TilePoint>& points) {
  const Orders orders(plan, steps, points);
  const bool have_shared_places = orders.HaveSharedPlaces();
  if (steps.size() > 1 && IsAnyOrderAllowed(plan) && have_shared_places) {
    return orders.Best(orders.StepOrders());
  }
  std::vector<size_t> in_order(steps.size());
  std::iota(in_order.begin(), in_order.end(), size_t{0});
  // Every place is read in one step: whatever the order of points, each result's steps keep theirs.
  if (plan.expression().has_reduction() && !have_shared_places) return orders.Best({in_order});
  return orders.StepByStep(in_order);
}

}  // namespace mdh
