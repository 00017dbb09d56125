// What front ends take: one md_hom, or several.
#pragma once

#include <string>
#include <variant>

#include "core/expression/expression.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// A pipeline that is one expression (Pipeline::AsExpression) is given as that.
using Computation = std::variant<Expression, Pipeline>;

inline Computation ToComputation(Pipeline pipeline) {
  if (const Expression* const only = pipeline.AsExpression(); only != nullptr) return *only;
  return pipeline;
}

// A computation that is somewhere else in memory, and outlives this.
class ComputationView {
 public:
  // Implicit, so that functions take either.
  ComputationView(const Expression& expression) : expression_(&expression) {}
  ComputationView(const Pipeline& pipeline) : pipeline_(&pipeline) {}
  ComputationView(const Computation& computation)
      : expression_(std::get_if<Expression>(&computation)),
        pipeline_(std::get_if<Pipeline>(&computation)) {}

  // One of both is nullptr.
  const Expression* expression() const { return expression_; }
  const Pipeline* pipeline() const { return pipeline_; }
  const std::string& name() const {
    return pipeline_ == nullptr ? expression_->name() : pipeline_->name();
  }

 private:
  const Expression* expression_ = nullptr;
  const Pipeline* pipeline_ = nullptr;
};

}  // namespace mdh
