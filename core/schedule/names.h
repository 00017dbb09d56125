// The names that a schedule of an expression and a system model may use.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/cursor.h"

namespace mdh {

// Refers to both, which must outlive it. What is read is an error at its place, naming those that
// there are, where there is no such thing.
class ScheduleNames {
 public:
  ScheduleNames(const Expression& expression, const SystemModel& model)
      : expression_(expression), model_(model) {}

  const Expression& expression() const { return expression_; }
  const SystemModel& model() const { return model_; }
  bool is_explicit() const { return model_.memory == MemoryKind::kExplicit; }

  // By its name, or by what it is: cores, blocks, warps, threads, shared, registers, lanes.
  Result<int> Layer(ScheduleCursor* cursor) const;
  Result<int> Dimension(ScheduleCursor* cursor) const;
  // "LAYER.DIMENSION".
  Result<MdhLevel> Level(ScheduleCursor* cursor) const;
  Result<int> Buffer(bool is_output, ScheduleCursor* cursor) const;
  Result<int> Region(ScheduleCursor* cursor) const;
  // Of cores: "x", "0".
  Result<int> Axis(ScheduleCursor* cursor) const;
  // Of a buffer, by the dimension of the expression that indexes it, or by its number.
  Result<int> BufferDimension(int buffer, bool is_output, ScheduleCursor* cursor) const;
  // Of the options, those that the model has something to do with.
  Result<const Choice*> Option(ScheduleCursor* cursor) const;
  bool HasOption(const Choice& row) const;

  // Sizes as arithmetic over numbers and dimensions: "I/2" is half of dimension I. Without
  // `takes_factor`, a '*' is left where it stands.
  Result<int64_t> Size(ScheduleCursor* cursor, bool takes_factor = true) const;

  // The number of the layer with that name or role; -1: there is none.
  int LayerOf(absl::string_view name) const;
  const std::string& LayerName(int layer) const { return model_.layers[layer].name; }
  const std::string& DimensionName(int d) const { return expression_.dimensions()[d].name; }
  std::string LevelName(MdhLevel level) const;
  const mdh::Buffer& BufferAt(int buffer, bool is_output) const {
    return is_output ? expression_.outputs()[buffer] : expression_.inputs()[buffer];
  }
  std::string BufferDimensionName(int buffer, bool is_output, int x) const;
  // Of memory that threads of a block share; -1: there is none.
  int SharedRegion() const;

 private:
  Result<int64_t> Factor(ScheduleCursor* cursor) const;
  Result<int64_t> Term(ScheduleCursor* cursor, bool takes_factor) const;

  const Expression& expression_;
  const SystemModel& model_;
};

}  // namespace mdh
