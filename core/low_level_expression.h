// The low-level representation (paper, Section 3, Figure 19): one decomposition of one expression.
#pragma once

#include <string>
#include <vector>

#include "core/expression.h"
#include "core/system_model.h"
#include "core/tuning_parameters.h"

namespace mdh {

// One row of Figures 20-23: the operators of one MDH level in the three phases. D1, S1, R1
// coincide, and so do D2, S2, R2: the phases are one fused loop nest (appendix F, loop fusion).
struct LowLevelOperator {
  int64_t parts;                                // 0: #PRT; ceil(outer tile / tile)
  int64_t tile;                                 // extent of one part in points
  MdhLevel level;                               // D1 = S1 = R1
  int asm_layer;                                // D2 = S2 = R2: layer of the system model
  int asm_dimension;                            //               dimension of that layer
  std::vector<std::string> input_memory;        // D3, per input buffer
  std::vector<std::vector<int>> input_layout;   // D4, per input buffer, one-based
  std::vector<std::string> output_memory;       // R3, per output buffer
  std::vector<std::vector<int>> output_layout;  // R4
};

// Immutable; built only by Lower.
class LowLevelExpression {
 public:
  const Expression& expression() const { return expression_; }
  const SystemModel& model() const { return model_; }
  const TuningParameters& parameters() const { return parameters_; }
  const std::vector<LowLevelOperator>& operators() const { return operators_; }  // in order D1
  const std::string& scalar_input_memory(int buffer) const {
    return scalar_input_memory_[buffer];
  }                                                                                  // S3
  const std::string& scalar_output_memory() const { return scalar_output_memory_; }  // S5

  // The table of Figures 20-23: a header and one row per MDH level.
  std::string ToTable() const;

 private:
  friend Result<LowLevelExpression> Lower(const Expression&, const SystemModel&,
                                          const DeviceDescription&, const TuningParameters&);
  LowLevelExpression(Expression expression, SystemModel model, TuningParameters parameters)
      : expression_(std::move(expression)),
        model_(std::move(model)),
        parameters_(std::move(parameters)) {}
  Expression expression_;
  SystemModel model_;
  TuningParameters parameters_;
  std::vector<LowLevelOperator> operators_;
  std::vector<std::string> scalar_input_memory_;
  std::string scalar_output_memory_;
};

// Lowering (paper, Section 4): inserts the parameters into the generic low-level expression.
// Expects anything; ensures that `parameters` are valid for expression, model and device.
// Errors: what Validate says.
Result<LowLevelExpression> Lower(const Expression& expression, const SystemModel& model,
                                 const DeviceDescription& device,
                                 const TuningParameters& parameters);

}  // namespace mdh
