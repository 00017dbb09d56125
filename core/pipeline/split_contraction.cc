#include "core/pipeline/split_contraction.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/expression/dependences.h"
#include "core/expression/progression.h"
#include "core/pipeline/pairwise_order.h"
#include "core/pipeline/product_form.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

constexpr DimensionSet Only(int d) { return DimensionSet{1} << d; }

DimensionSet DimensionsOf(const IndexFunction& access) {
  DimensionSet set = 0;
  for (const AffineIndex& index : access.indices) {
    for (size_t d = 0; d < index.coefficients.size(); ++d) {
      if (index.coefficients[d] != 0) set |= Only(static_cast<int>(d));
    }
  }
  return set;
}

// The cheapest way to contract factors pairwise.
class ContractionOrder {
 public:
  ContractionOrder(const Expression& expression, std::vector<DimensionSet> factors)
      : expression_(expression),
        factors_(std::move(factors)),
        kept_(KeptOf(expression)),
        left_(LeftOfSets()),
        order_(
            factors_.size(), [this](int n) { return OperationsOfOne(n); },
            [this](FactorSet a, FactorSet b) {
              return MultiplyOrLargest(2, Points(Left(a) | Left(b)));
            },
            [](int64_t a, int64_t b) { return AddOrLargest(a, b); }) {}

  FactorSet all() const { return order_.all(); }
  DimensionSet kept() const { return kept_; }
  // Of the dimensions on which the factors depend those that are left: kept ones, and those on
  // which other factors depend.
  DimensionSet Left(FactorSet set) const { return left_[set]; }
  // One of the two sets that are contracted last; 0 for a single factor.
  FactorSet Part(FactorSet set) const { return order_.Part(set); }
  // Additions and multiplications.
  int64_t Operations(FactorSet set) const { return order_.cost(set); }

 private:
  static DimensionSet KeptOf(const Expression& expression) {
    DimensionSet kept = 0;
    for (int d = 0; d < expression.rank(); ++d) {
      if (!expression.is_reduction(d)) kept |= Only(d);
    }
    return kept;
  }

  std::vector<DimensionSet> LeftOfSets() const {
    std::vector<DimensionSet> left(size_t{1} << factors_.size());
    for (FactorSet set = 0; set < left.size(); ++set) {
      DimensionSet inside = 0, outside = kept_;
      for (size_t n = 0; n < factors_.size(); ++n) {
        ((set >> n & 1) != 0 ? inside : outside) |= factors_[n];
      }
      left[set] = inside & outside;
    }
    return left;
  }

  // What only this factor depends on is summed over by itself.
  int64_t OperationsOfOne(int n) const {
    const DimensionSet dimensions = factors_[static_cast<size_t>(n)];
    return Left(FactorSet{1} << n) == dimensions ? 0 : Points(dimensions);
  }

  int64_t Points(DimensionSet set) const {
    int64_t points = 1;
    for (int d = 0; d < expression_.rank(); ++d) {
      if ((set & Only(d)) != 0) {
        points = MultiplyOrLargest(points, expression_.dimensions()[d].size);
      }
    }
    return points;
  }

  const Expression& expression_;
  const std::vector<DimensionSet> factors_;
  const DimensionSet kept_;
  const std::vector<DimensionSet> left_;  // of every set of factors
  const PairwiseOrder<int64_t> order_;
};

// Makes the steps of an order.
class ContractionSplitter {
 public:
  ContractionSplitter(const Pipeline& pipeline, int step, std::vector<ProductFactor> factors,
                      const ContractionOrder& order)
      : spec_(pipeline.spec()),
        step_(pipeline.steps()[step]),
        expression_(step_.expression),
        factors_(std::move(factors)),
        order_(order) {
    spec_.steps.erase(spec_.steps.begin() + step);
    for (const PipelineBuffer& buffer : spec_.buffers) names_.insert(buffer.name);
  }

  Result<Pipeline> Split() {
    MDH_RETURN_IF_ERROR(Contract(order_.all()).status());
    return Reordered(std::move(spec_));
  }

 private:
  // What a set of factors has become: a factor, or a temporary with an index per dimension.
  struct Operand {
    int factor = -1;
    int buffer = -1;
    std::vector<int> dimensions = {};
  };

  Result<Operand> Contract(FactorSet set) {
    std::vector<Operand> operands;
    DimensionSet dimensions = 0;
    if (IsSingle(set)) {
      const int n = std::countr_zero(set);
      dimensions = DimensionsOf(AccessOf(factors_[n]));
      if (order_.Left(set) == dimensions) return Operand{.factor = n};
      operands.push_back({.factor = n});
    } else {
      for (const FactorSet part : {order_.Part(set), set ^ order_.Part(set)}) {
        MDH_ASSIGN_OR_RETURN(Operand operand, Contract(part));
        operands.push_back(std::move(operand));
        dimensions |= order_.Left(part);
      }
    }
    const bool is_last = set == order_.all();
    if (is_last) dimensions |= order_.kept();
    return AppendStep(operands, Members(dimensions), Members(order_.Left(set)), is_last);
  }

  const IndexFunction& AccessOf(const ProductFactor& factor) const {
    return expression_.inputs()[factor.buffer].accesses[factor.access];
  }

  // An index function of the whole step, in the dimensions of a part of it.
  static IndexFunction Restricted(const IndexFunction& access, const std::vector<int>& dimensions) {
    IndexFunction restricted;
    for (const AffineIndex& index : access.indices) {
      AffineIndex part{{}, index.constant};
      for (const int d : dimensions) part.coefficients.push_back(index.coefficients[d]);
      restricted.indices.push_back(std::move(part));
    }
    return restricted;
  }

  // The index function that takes these of the dimensions, in order.
  static IndexFunction Plain(const std::vector<int>& taken, const std::vector<int>& dimensions) {
    IndexFunction access;
    for (const int one : taken) {
      AffineIndex index{{}, 0};
      for (const int d : dimensions) index.coefficients.push_back(d == one ? 1 : 0);
      access.indices.push_back(std::move(index));
    }
    return access;
  }

  int ValueOf(const Operand& operand, const std::vector<int>& dimensions,
              FunctionBuilder* builder) {
    if (operand.factor < 0) {
      return builder->Read(operand.buffer, {}, Plain(operand.dimensions, dimensions))[0];
    }
    const ProductFactor& factor = factors_[operand.factor];
    const Buffer& view = expression_.inputs()[factor.buffer];
    const std::vector<int> fields = builder->Read(step_.inputs[factor.buffer], view.boundary,
                                                  Restricted(AccessOf(factor), dimensions));
    std::vector<int> arguments(factor.function.parameters().size(), -1);
    for (int p = 0; p < expression_.input_parameters(); ++p) {
      const Expression::AccessRef ref = expression_.input_access(p);
      if (ref.buffer == factor.buffer && ref.access == factor.access) {
        arguments[p] = fields[ref.field];
      }
    }
    return builder->Apply(factor.function, arguments)[0];
  }

  Result<Operand> AppendStep(const std::vector<Operand>& operands,
                             const std::vector<int>& dimensions, const std::vector<int>& left,
                             bool is_last) {
    const ScalarType type = expression_.function().results()[0].type;
    const int output = is_last ? step_.outputs[0] : NewTemporary(type, left);
    std::vector<Dimension> sizes;
    std::vector<CombineOperator> operators;
    for (const int d : dimensions) {
      sizes.push_back(expression_.dimensions()[d]);
      const bool is_kept = is_last ? !expression_.is_reduction(d) : std::ranges::count(left, d) > 0;
      operators.push_back(is_kept ? CombineOperator::Concat()
                                  : *CombineOperator::PointWise(PointWiseKind::kAdd, {type}));
    }
    Buffer view{"", type, spec_.buffers[output].extents, {Plain(left, dimensions)}, true};
    if (is_last) {
      view = expression_.outputs()[0];
      view.accesses[0] = Restricted(view.accesses[0], dimensions);
    }
    StepBuilder builder(spec_.buffers, std::move(sizes));
    int product = ValueOf(operands[0], dimensions, &builder.f());
    if (operands.size() > 1) {
      const int other = ValueOf(operands[1], dimensions, &builder.f());
      product = builder.f().Append({ScalarOp::kMul, type, {product, other}});
    }
    const std::string name = is_last ? expression_.name()
                                     : absl::StrCat(expression_.name().substr(0, 60), "_",
                                                    spec_.buffers[output].name.substr(0, 60));
    MDH_ASSIGN_OR_RETURN(PipelineStep step, builder.Finish(name, {{std::move(view)}, {output}},
                                                           {product}, std::move(operators)));
    spec_.steps.push_back(std::move(step));
    return Operand{.buffer = output, .dimensions = left};
  }

  int NewTemporary(ScalarType type, const std::vector<int>& dimensions) {
    PipelineBuffer buffer{.name = "", .role = PipelineBuffer::Role::kTemporary, .type = type};
    for (const int d : dimensions) buffer.extents.push_back(expression_.dimensions()[d].size);
    for (int n = 1; buffer.name.empty(); ++n) {
      const std::string name = absl::StrCat("part", n);
      if (names_.insert(name).second) buffer.name = name;
    }
    spec_.buffers.push_back(std::move(buffer));
    return static_cast<int>(spec_.buffers.size()) - 1;
  }

  PipelineSpec spec_;
  const PipelineStep step_;
  const Expression& expression_;
  const std::vector<ProductFactor> factors_;
  const ContractionOrder& order_;
  std::set<std::string> names_;  // of buffers
};

// The number of operations of the step as it is, or why it cannot be split.
Result<int64_t> OperationsAsOne(const Expression& expression,
                                const std::vector<ProductFactor>& factors) {
  const std::string& name = expression.name();
  const auto count = static_cast<int64_t>(factors.size());
  if (count < 3 || count > kMaxFactors) {
    return Obstacle("'", name, "' is a product of ", count, " factors, not of 3 to ", kMaxFactors);
  }
  if (expression.is_empty()) return Obstacle("'", name, "' has an empty dimension");
  DimensionSet used = 0;
  for (const ProductFactor& factor : factors) {
    used |= DimensionsOf(expression.inputs()[factor.buffer].accesses[factor.access]);
  }
  for (int d = 0; d < expression.rank(); ++d) {
    if (!expression.is_reduction(d) || (used & Only(d)) != 0) continue;
    return Obstacle("nothing that '", name, "' reads depends on dimension '",
                    expression.dimensions()[d].name, "', over which it sums");
  }
  return MultiplyOrLargest(count - (expression.has_reduction() ? 0 : 1), expression.points());
}

}  // namespace

Result<Pipeline> SplitContraction(const Pipeline& pipeline, int step) {
  const Expression& expression = pipeline.steps()[step].expression;
  MDH_ASSIGN_OR_RETURN(std::vector<ProductFactor> factors, ProductForm(expression));
  MDH_ASSIGN_OR_RETURN(const int64_t as_one, OperationsAsOne(expression, factors));
  std::vector<DimensionSet> dimensions;
  for (const ProductFactor& factor : factors) {
    dimensions.push_back(DimensionsOf(expression.inputs()[factor.buffer].accesses[factor.access]));
  }
  const ContractionOrder order(expression, std::move(dimensions));
  if (order.Operations(order.all()) >= as_one) {
    return Obstacle("'", expression.name(), "' has ", as_one,
                    " operations; the best order of two factors at a time has ",
                    order.Operations(order.all()));
  }
  return ContractionSplitter(pipeline, step, std::move(factors), order).Split();
}

bool IsRoundedByOrder(const Expression& expression) {
  return IsFloatingPoint(expression.function().results()[0].type);
}

}  // namespace mdh
