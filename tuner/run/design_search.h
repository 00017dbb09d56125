// A search among designs for devices with blocks of threads, which knows what a cost model expects
// and learns from what is measured: where tuning starts before it searches the whole space.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "codegen/choose/block_candidates.h"
#include "codegen/choose/block_moves.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/schedule.h"

namespace mdh {

// First the designs that the model holds to be best, then, step by step, neighbours of the fastest
// ones: a neighbour is expected to take as much longer or shorter than what was measured as the
// model says. Now and then it is any neighbour, as the model errs. Refers to its arguments.
class DesignSearch {
 public:
  // Under a schedule, only those that are in it; after many that are not, it is done.
  DesignSearch(const Expression& expression, const SystemModel& model,
               const DeviceDescription& device, const Schedule* schedule = nullptr);

  // The next design to measure; several may be under way. nullopt: there is nothing to ask for,
  // for now or any more (is_done).
  std::optional<BlockCandidate> Ask();
  // What was measured of it; nullopt: it failed.
  void Tell(const BlockDesign& design, std::optional<double> cost);
  // Its kernel is that of a design that was asked for before: nothing was measured.
  void TellRepeated();
  // Whether there is no design left, or none has helped for long.
  bool is_done() const;

 private:
  struct Known {
    BlockDesign design;
    double cost;      // measured
    double expected;  // of the model
    bool is_expanded = false;
    std::vector<std::pair<double, BlockDesign>> neighbours;  // costs of the model, the best last
  };

  std::optional<BlockCandidate> Take(const BlockDesign& design);
  std::optional<BlockCandidate> NextRanked();
  std::optional<BlockCandidate> NextNeighbour();
  std::optional<BlockCandidate> AnyNeighbour();
  void Expand(Known* known) const;
  double Expected(const Known& known) const;
  bool HasLostPatience() const;

  const Expression& expression_;
  const SystemModel& model_;
  const DeviceDescription& device_;
  const Schedule* const schedule_;
  const BlockCostModel costs_;
  const BlockMoves moves_;
  std::vector<BlockCandidate> ranked_;
  size_t next_ranked_ = 0;
  std::vector<Known> known_;  // the fastest first
  absl::flat_hash_set<std::string> asked_;
  std::mt19937 random_{1};  // the same for every search
  int asks_ = 0, under_way_ = 0, without_gain_ = 0, outside_ = 0;
};

}  // namespace mdh
