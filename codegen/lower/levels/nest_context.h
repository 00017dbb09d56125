// What the builders of one loop nest share: the decomposition, names, and indices.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lower/levels/nest_plan.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/loop_program.h"
#include "codegen/program/record_views.h"
#include "codegen/program/store_function.h"
#include "core/expression/dependences.h"
#include "core/pipeline/wide_sums.h"

namespace mdh {

// Refers to `low_level`. Names are unique within the program that is built.
class NestContext {
 public:
  // `features`: of the device.
  NestContext(const LowLevelExpression& low_level, NestPlan plan, const DeviceFeatures& features);

  const LowLevelExpression& low_level() const { return low_level_; }
  const Expression& expression() const { return low_level_.expression(); }
  // With what results are combined by (WithWideSums).
  const Expression& sums() const { return sums_; }
  const NestShape& shape() const { return low_level_.shape(); }
  const NestPlan& plan() const { return plan_; }
  int count() const { return shape().count(); }
  const NestShape::Level& level(int n) const { return shape().levels()[n]; }
  int64_t size(int d) const { return expression().dimensions()[d].size; }
  bool has_blocks() const { return low_level_.model().memory == MemoryKind::kExplicit; }
  int64_t threads() const { return has_blocks() ? shape().ThreadsPerBlock() : 1; }
  bool is_sequential(int n) const { return !shape().is_parallel(n) && level(n).parts > 1; }
  const DeviceFeatures& features() const { return features_; }
  // Private arrays are registers, so that loops over them must be unrolled.
  bool unrolls() const { return features_.private_registers; }
  NumericsPolicy numerics() const { return low_level_.parameters().numerics; }

  // "k on DEV: 4 parts of 8 points."
  std::string Describe(int n) const;
  // Number of the part at place n: a variable, or 0 if there is only one.
  Index Part(int n) const;
  const std::string& variable(int n) const { return variables_[n]; }
  // Declares the parts at these places, of which the first vary fastest, by the number of all.
  // Gives how many there are.
  int64_t DeclareParts(const std::vector<int>& places, Index number, Block* block) const;
  // Sum over the places of factor(n) * Part(n); of a level whose parts overlap the factor is one of
  // its points, times its tile, and of the first point of the part at hand.
  Index Sum(const std::function<int64_t(int n)>& factor) const;
  // Index of the point at hand in dimension d, and that of its first point with all sequential
  // levels from `place` on at 0.
  Index Point(int d) const;
  Index FirstPoint(int d, int place) const;
  // Whether points at hand may lie outside of dimension d, and the condition that they do not.
  bool IsGuarded(int d) const { return shape().IsGuarded(d) && !is_whole_[d]; }
  void AppendGuard(int d, std::vector<Condition>* conditions) const;
  // Parts of the level begin where all of their points exist (OverlappingParts), from here on.
  void OverlapParts(int n);
  // The conditions that no part at hand of such a level has points of the one before it, and that
  // the point at hand is none of those.
  std::vector<Condition> PartsAreApart() const;
  std::vector<Condition> PointIsNew() const;
  // Declares the first points of the parts at hand of such levels.
  void DeclareFirstPoints(Block* block) const;
  // What the first points of the level's parts are multiples of, and the largest of them.
  int64_t Step(int n) const;
  int64_t LargestFirstPoint(int n) const;
  // Blocks compute results on and below the diagonal of two exchangeable dimensions, row and
  // column.
  void MirrorResults(ExchangeablePair mirror) { mirror_ = mirror; }
  const std::optional<ExchangeablePair>& mirror() const { return mirror_; }
  // The conditions that some point of the block is on or below the diagonal, and that the point at
  // hand is, or is below it.
  Condition BlockIsKept() const;
  Condition PointIsKept() const;
  Condition PointIsBelow() const;
  // The part at hand is whole in dimension d: nothing inside of it needs guards.
  void set_whole(int d, bool is_whole) { is_whole_[d] = is_whole; }

  const std::vector<std::string>& index_names() const { return kernel_names_.indices; }
  const std::string& input_name(int b) const { return kernel_names_.inputs[b]; }
  const std::vector<std::string>& output_names() const { return kernel_names_.outputs; }
  // Number of the thread in its block, all dimensions flattened.
  Index Thread() const;

  NameAllocator& names() { return names_; }
  // Of inputs and outputs; the program declares them.
  RecordViews& views() { return views_; }
  // To what the store function reads.
  mdh::StorePointers StorePointers() {
    return PointersOfStore(expression(), kernel_names_.inputs, views_);
  }

 private:
  const LowLevelExpression& low_level_;
  const Expression sums_;
  NestPlan plan_;
  const DeviceFeatures features_;
  NameAllocator names_;
  const KernelNames kernel_names_;
  std::vector<std::string> variables_;
  std::vector<std::string> first_points_;  // per place; empty: parts follow each other
  RecordViews views_{names_};
  std::vector<bool> is_whole_;
  std::optional<ExchangeablePair> mirror_;
};

}  // namespace mdh
