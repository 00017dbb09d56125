#include "tests/random_joint.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/streamed_steps.h"

namespace mdh {
namespace {

// How an input of the pipeline has the common dimension.
struct CommonIndex {
  bool is_used;
  int64_t coefficient, constant, extent;
};

class DimensionAdder {
 public:
  DimensionAdder(Rng& rng, const Pipeline& pipeline, int64_t points)
      : rng_(rng), pipeline_(pipeline), points_(points) {
    for (int b = 0; b < std::ssize(pipeline.buffers()); ++b) {
      indices_.push_back(pipeline.writer(b) >= 0 ? CommonIndex{true, 1, 0, points} : OfInput());
    }
  }

  Result<Pipeline> Build() {
    PipelineSpec spec = pipeline_.spec();
    for (PipelineStep& step : spec.steps) MDH_RETURN_IF_ERROR(Add(&step));
    for (PipelineBuffer& buffer : spec.buffers) {
      buffer = {.name = buffer.name, .role = buffer.role};
    }
    return Pipeline::Create(std::move(spec));
  }

 private:
  CommonIndex OfInput() {
    switch (Below(rng_, 5)) {
      case 0:
        return {false, 0, 0, 0};
      case 1:
        return {true, 2, 1, 2 * points_ + Below(rng_, 2)};
      case 2:
        return {true, -1, points_ - 1, points_};
      default:
        return {true, 1, 0, points_};
    }
  }

  Status Add(PipelineStep* step) {
    const Expression& e = step->expression;
    const int at = static_cast<int>(Below(rng_, e.rank() + 1));
    ExpressionSpec spec = e.spec();
    spec.dimensions.insert(spec.dimensions.begin() + at, {"common", points_});
    spec.combine_operators.insert(spec.combine_operators.begin() + at, CombineOperator::Concat());
    for (size_t b = 0; b < spec.inputs.size(); ++b) AddTo(&spec.inputs[b], step->inputs[b], at);
    for (size_t b = 0; b < spec.outputs.size(); ++b) AddTo(&spec.outputs[b], step->outputs[b], at);
    for (int& d : spec.index_dimensions) d += d >= at;
    if (spec.store) {
      for (int b = 0; b < std::ssize(spec.store->inputs); ++b) {
        AddTo(&spec.store->inputs[b], step->inputs[e.passed_store_input(b)], at);
      }
      for (int& d : spec.store->index_dimensions) d += d >= at;
    }
    if (Below(rng_, 3) == 0) {
      UseIndex(&spec.function, &spec.index_dimensions, at);
    } else if (spec.store && Below(rng_, 2) == 0) {
      UseIndex(&spec.store->function, &spec.store->index_dimensions, at);
    }
    MDH_ASSIGN_OR_RETURN(step->expression, Expression::Create(std::move(spec)));
    return absl::OkStatus();
  }

  void AddTo(Buffer* view, int buffer, int at) const {
    const CommonIndex& index = indices_[buffer];
    const int64_t elements = std::max<int64_t>(view->elements(), 1);
    for (IndexFunction& access : view->accesses) {
      for (AffineIndex& one : access.indices) {
        one.coefficients.insert(one.coefficients.begin() + at, 0);
      }
    }
    view->mda_rank += 1;
    if (!index.is_used) return;
    for (IndexFunction& access : view->accesses) {
      AffineIndex own{std::vector<int64_t>(view->mda_rank, 0), index.constant};
      own.coefficients[at] = index.coefficient;
      access.indices.insert(access.indices.begin(), std::move(own));
    }
    view->extents.insert(view->extents.begin(), index.extent);
    view->extents_given = true;
    if (!view->given_strides.empty()) {
      view->given_strides.insert(view->given_strides.begin(), elements);
    }
  }

  // A result is 0 where the index is odd.
  static void UseIndex(ScalarFunction* f, std::vector<int>* index_dimensions, int at) {
    const auto place = std::lower_bound(index_dimensions->begin(), index_dimensions->end(), at);
    const auto position = static_cast<int>(f->parameters().size() - index_dimensions->size() +
                                           (place - index_dimensions->begin()));
    index_dimensions->insert(place, at);
    std::vector<TypedName> parameters = f->parameters();
    parameters.insert(parameters.begin() + position, {"common_index", ScalarType::kInt64});
    std::vector<ScalarInstruction> instructions;
    for (ScalarInstruction instruction : f->instructions()) {
      if (instruction.op == ScalarOp::kParameter) {
        instruction.parameter += instruction.parameter >= position;
      }
      instructions.push_back(std::move(instruction));
    }
    const auto append = [&](ScalarInstruction instruction) {
      instructions.push_back(std::move(instruction));
      return static_cast<int>(instructions.size()) - 1;
    };
    const auto integer = [&](int64_t value) {
      return append({ScalarOp::kConstant,
                     ScalarType::kInt64,
                     {},
                     -1,
                     ScalarValue::Integer(ScalarType::kInt64, value)});
    };
    const int index = append({ScalarOp::kParameter, ScalarType::kInt64, {}, position});
    const int one = integer(1), none = integer(0);
    const int bit = append({ScalarOp::kBitAnd, ScalarType::kInt64, {index, one}});
    const int is_even = append({ScalarOp::kEq, ScalarType::kBool, {bit, none}});
    std::vector<int> results = f->result_instructions();
    const ScalarType type = f->results()[0].type;
    const int zero = append({ScalarOp::kConstant, type, {}, -1, ScalarValue::Zero(type)});
    results[0] = append({ScalarOp::kSelect, type, {is_even, results[0], zero}});
    Result<ScalarFunction> used =
        ScalarFunction::Create(f->name(), std::move(parameters), f->results(),
                               std::move(instructions), std::move(results));
    if (used.ok()) {
      *f = *std::move(used);
    } else {
      index_dimensions->erase(std::find(index_dimensions->begin(), index_dimensions->end(), at));
    }
  }

  Rng& rng_;
  const Pipeline& pipeline_;
  const int64_t points_;
  std::vector<CommonIndex> indices_;  // per buffer
};

int64_t RandomDivisor(Rng& rng, int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return AnyOf(rng, divisors);
}

}  // namespace

Pipeline WithCommonDimension(Rng& rng, const Pipeline& pipeline, int64_t points) {
  Result<Pipeline> built = DimensionAdder(rng, pipeline, points).Build();
  return built.ok() ? *std::move(built) : pipeline;
}

std::vector<JointGroup> RandomJointGroups(Rng& rng, const Pipeline& pipeline) {
  std::vector<JointGroup> groups, offered = JointGroups(pipeline);
  for (size_t n = offered.size(); n > 1; --n) std::swap(offered[n - 1], offered[Below(rng, n)]);
  for (JointGroup& group : offered) {
    const bool meets = std::any_of(groups.begin(), groups.end(), [&](const JointGroup& other) {
      return group.first <= other.last && other.first <= group.last;
    });
    if (meets) continue;
    const std::vector<int64_t> extents = CommonExtents(pipeline, group);
    for (size_t k = 0; k < extents.size(); ++k) group.part[k] = RandomDivisor(rng, extents[k]);
    std::vector<JointGroup> streamed = StreamedGroups(pipeline, group);
    if (!streamed.empty() && Below(rng, 4) != 0) {
      group = AnyOf(rng, streamed);
      const int64_t extent = StreamedExtent(pipeline, group);
      if (Below(rng, 3) == 0) group.splits = RandomDivisor(rng, extent);
      group.chunk = RandomDivisor(rng, extent / group.splits);
    }
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(),
            [](const JointGroup& a, const JointGroup& b) { return a.first < b.first; });
  return groups;
}

}  // namespace mdh
