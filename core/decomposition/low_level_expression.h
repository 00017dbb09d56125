// The low-level representation (paper, Section 3, Figure 19): one decomposition of one expression.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/decomposition/nest_shape.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

enum class PhaseKind : uint8_t { kDecomposition, kScalar, kRecomposition };

// One row of Figures 20-23: what the low-level combine operators (Definition 15) of one MDH level
// do in the three phases.
struct LowLevelOperator {
  MdhLevel level;
  int64_t parts;  // 0: #PRT; ceil(extent of the enclosing part / tile)
  int64_t tile;   // extent of one part in points
  // Per phase: place in the order, counted from 0 (printed as in the figures, D1, S1, R1), and the
  // ASM level (D2, S2, R2).
  int position[3];
  AsmLevel assigned[3];
  std::vector<int> input_region;                // D3, per input buffer
  std::vector<std::vector<int>> input_layout;   // D4, per input buffer
  std::vector<int> output_region;               // R3, per output buffer
  std::vector<std::vector<int>> output_layout;  // R4, per output buffer
};

// Immutable; built only by Lower. Copies share what it is made of.
class LowLevelExpression {
 public:
  // Its dimensions are fused as the parameters say.
  const Expression& expression() const { return parts_->expression; }
  // As Lower got it, whose buffers are those of the caller: before dimensions were fused.
  const Expression& given() const { return parts_->given ? *parts_->given : parts_->expression; }
  const SystemModel& model() const { return parts_->model; }
  const TuningParameters& parameters() const { return parts_->parameters; }
  // What its levels are as loops, cores and copies; of an expression with an empty dimension, those
  // of one point.
  const NestShape& shape() const { return *parts_->shape; }
  // By MDH level: layer by layer, dimension by dimension.
  const std::vector<LowLevelOperator>& operators() const { return parts_->operators; }
  const LowLevelOperator& at(MdhLevel level) const;
  // The levels in the order of a phase, outermost first.
  std::vector<MdhLevel> Order(PhaseKind phase) const;
  // Whether the three phases are one loop nest (appendix F, loop fusion).
  bool is_fused() const;
  const std::vector<ScalarMemory>& scalar_inputs() const {
    return parts_->scalar_inputs;
  }  // S3, S4
  const std::vector<ScalarMemory>& scalar_outputs() const {
    return parts_->scalar_outputs;
  }  // S5, S6

  // The table of Figures 20-23: a header and one row per MDH level. D1, S1 and R1 of a level say at
  // which place in the phase's order it comes, as the MDH level that has this place in
  // lexicographic order.
  std::string ToTable() const;

 private:
  friend Result<LowLevelExpression> Lower(const Expression&, const SystemModel&,
                                          const DeviceDescription&, const TuningParameters&);
  friend LowLevelExpression LowerUnchecked(const Expression&, const SystemModel&,
                                           const TuningParameters&);
  struct Parts {
    Expression expression;
    SystemModel model;
    TuningParameters parameters;
    std::optional<Expression> given = {};  // if it is another one
    std::optional<NestShape> shape = {};   // refers to those above
    std::vector<LowLevelOperator> operators = {};
    std::vector<ScalarMemory> scalar_inputs = {}, scalar_outputs = {};
  };
  // Expects all but what the parameters are inserted into: operators and memory of operands.
  static LowLevelExpression Insert(std::shared_ptr<Parts> parts);
  explicit LowLevelExpression(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

// Lowering (paper, Section 4): inserts the parameters into the generic low-level expression.
// Expects anything; ensures that `parameters` are valid for expression, model and device.
// Of an expression with an empty dimension, levels and parameters are those of WithOnePoint.
// Errors: what Validate says.
Result<LowLevelExpression> Lower(const Expression& expression, const SystemModel& model,
                                 const DeviceDescription& device,
                                 const TuningParameters& parameters);

// The same without checks, of an expression whose dimensions are fused already: for phases of a
// low-level expression that was checked as a whole.
LowLevelExpression LowerUnchecked(const Expression& expression, const SystemModel& model,
                                  const TuningParameters& parameters);

}  // namespace mdh
