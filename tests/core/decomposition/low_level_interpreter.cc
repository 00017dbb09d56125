// The low-level interpreter: the three phases of Figure 19, one after the other, each level by
// level (appendix E, Listings 17-19).
#include "tests/core/decomposition/low_level_interpreter.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/core/decomposition/low_level_mda.h"

namespace mdh {
namespace {

// The parts that are chosen on a way through the levels of a phase: p(l, d) of those before a
// place.
class Parts {
 public:
  explicit Parts(const LowLevelExpression& low, PhaseKind phase)
      : low_(low), order_(low.Order(phase)), first_(low.expression().rank(), 0) {}

  int count() const { return static_cast<int>(order_.size()); }
  MdhLevel level(int n) const { return order_[n]; }
  const std::vector<int64_t>& first() const { return first_; }  // point of the part

  // Calls visit for every part of the level at place n that has points, from left to right.
  template <typename Visit>
  void ForEach(int n, const Visit& visit) {
    const LowLevelOperator& row = low_.at(order_[n]);
    const int d = row.level.dimension;
    for (int64_t p = 0; p < row.parts; ++p) {
      first_[d] += p * row.tile;
      // Sizes that tiles do not divide leave parts without points.
      if (first_[d] < low_.expression().dimensions()[d].size) visit();
      first_[d] -= p * row.tile;
    }
  }

  // A box around the points of the part that levels from place n on cut.
  IndexBox Around(int n) const {
    IndexBox box{first_, first_};
    for (int m = n; m < count(); ++m) {
      const LowLevelOperator& row = low_.at(order_[m]);
      box.last[row.level.dimension] += (row.parts - 1) * row.tile;
    }
    for (size_t d = 0; d < box.last.size(); ++d) {
      box.last[d] = std::min(box.last[d], low_.expression().dimensions()[d].size - 1);
    }
    return box;
  }

 private:
  const LowLevelExpression& low_;
  const std::vector<MdhLevel> order_;
  std::vector<int64_t> first_;
};

// Values of f's parameters or results at every point: the fully partitioned low-level MDAs.
class Singletons {
 public:
  explicit Singletons(const Expression& expression)
      : expression_(expression), values_(static_cast<size_t>(expression.points())) {}

  std::vector<ScalarValue>& at(const std::vector<int64_t>& point) {
    int64_t number = 0;
    for (size_t d = 0; d < point.size(); ++d) {
      number = number * expression_.dimensions()[d].size + point[d];
    }
    return values_[number];
  }

 private:
  const Expression& expression_;
  std::vector<std::vector<ScalarValue>> values_;
};

// 1. Listing 17.
class Decomposition {
 public:
  Decomposition(const LowLevelExpression& low, absl::Span<const BufferBytes> inputs)
      : low_(low), e_(low.expression()), parts_(low, PhaseKind::kDecomposition), arguments_(e_) {
    for (size_t b = 0; b < e_.inputs().size(); ++b) {  // those of the store function are whole
      const Buffer& buffer = e_.inputs()[b];
      sources_.push_back({0, RowMajor(buffer), UserInput(buffer, inputs[b])});
    }
  }

  Singletons Run() {
    Partition(0);
    return std::move(arguments_);
  }

 private:
  // What a buffer's parts are read from, with the region and layout that it has (D3, D4).
  struct Source {
    int region;
    std::vector<int> layout;
    std::unique_ptr<LowLevelInput> input;
  };

  void Partition(int n) {
    if (n == parts_.count()) return ReadSingleton();
    // Copies for this level and those inside of it, which the sources outside come back after.
    std::vector<std::pair<size_t, Source>> outside;
    const LowLevelOperator& row = low_.at(parts_.level(n));
    for (size_t b = 0; b < sources_.size(); ++b) {
      Source& source = sources_[b];
      if (source.region == row.input_region[b] && source.layout == row.input_layout[b]) continue;
      const Buffer& buffer = e_.inputs()[b];
      Source copy = {row.input_region[b], row.input_layout[b],
                     CopiedInput(buffer, IndicesOf(buffer, parts_.Around(n)), row.input_layout[b],
                                 *source.input)};
      outside.emplace_back(b, std::exchange(source, std::move(copy)));
    }
    parts_.ForEach(n, [&] { Partition(n + 1); });
    for (auto& [b, source] : outside) sources_[b] = std::move(source);
  }

  void ReadSingleton() {
    const std::vector<int64_t>& point = parts_.first();
    std::vector<ScalarValue>& arguments = arguments_.at(point);
    for (int p = 0; p < static_cast<int>(e_.function().parameters().size()); ++p) {
      arguments.push_back(
          e_.is_index(p) ? ScalarValue::Integer(ScalarType::kInt64, point[e_.index_dimension(p)])
                         : Read(e_.input_access(p), point));
    }
  }

  ScalarValue Read(const Expression::AccessRef& ref, const std::vector<int64_t>& point) const {
    const Buffer& buffer = e_.inputs()[ref.buffer];
    std::vector<int64_t> index;
    for (const AffineIndex& one : buffer.accesses[ref.access].indices) {
      index.push_back(one.Evaluate(point));
    }
    const ElementType::Field& field = buffer.type.fields()[ref.field];
    return ScalarValue::Load(field.type,
                             sources_[ref.buffer].input->Read(index) + field.offset_bytes);
  }

  const LowLevelExpression& low_;
  const Expression& e_;
  Parts parts_;
  std::vector<Source> sources_;
  Singletons arguments_;
};

void Convert(const std::vector<TypedName>& to, Results* values) {
  for (size_t r = 0; r < values->size(); ++r) {
    ScalarValue& value = (*values)[r];
    if (value.type() != to[r].type) value = Apply(ScalarOp::kCast, to[r].type, {value});
  }
}

// 2. Listing 18: f at every point, in the types that are combined. Its operands are single
// elements, which are the same in every region and layout (S3-S6).
class ScalarPhase {
 public:
  ScalarPhase(const LowLevelExpression& low, Singletons arguments,
              const std::optional<ScalarFunction>& combine)
      : e_(low.expression()),
        combine_(combine),
        parts_(low, PhaseKind::kScalar),
        arguments_(std::move(arguments)),
        results_(e_) {}

  Singletons Run() {
    Visit(0);
    return std::move(results_);
  }

 private:
  void Visit(int n) {
    if (n < parts_.count()) return parts_.ForEach(n, [&] { Visit(n + 1); });
    Results results = e_.function().Evaluate(arguments_.at(parts_.first()));
    if (combine_) Convert(combine_->results(), &results);
    results_.at(parts_.first()) = std::move(results);
  }

  const Expression& e_;
  const std::optional<ScalarFunction>& combine_;
  Parts parts_;
  Singletons arguments_, results_;
};

// 3. Listing 19.
class Recomposition {
 public:
  Recomposition(const LowLevelExpression& low, Singletons results,
                const std::optional<ScalarFunction>& function)
      : low_(low),
        e_(low.expression()),
        parts_(low, PhaseKind::kRecomposition),
        results_(std::move(results)) {
    if (function) {
      combine_ = [&function](const Results& left, const Results& right) {
        Results operands = left;
        operands.insert(operands.end(), right.begin(), right.end());
        return function->Evaluate(operands);
      };
    }
    for (int d = 0; d < e_.rank(); ++d) sums_late_.push_back(e_.is_prefix_sum(d) && !InOrder(d));
  }

  ResultMda Run() {
    ResultMda mda = Combine(0);
    for (int d = 0; d < e_.rank(); ++d) {
      if (sums_late_[d]) SumAlong(&mda, d, combine_);
    }
    return mda;
  }

 private:
  // The prefix sum's operator combines parts that follow each other. They do at every level if R1
  // takes the levels of the dimension layer by layer; else parts have gaps in between, are
  // concatenated and summed up when all are there.
  bool InOrder(int d) const {
    int layer = -1;
    for (int n = 0; n < parts_.count(); ++n) {
      if (parts_.level(n).dimension != d) continue;
      if (parts_.level(n).layer < layer) return false;
      layer = parts_.level(n).layer;
    }
    return true;
  }

  ResultMda Combine(int n) {
    if (n == parts_.count()) {
      ResultMda singleton;
      for (const int64_t index : parts_.first()) singleton.index_sets.push_back({index});
      singleton.values.push_back(results_.at(parts_.first()));
      return singleton;
    }
    std::vector<ResultMda> parts;
    parts_.ForEach(n, [&] { parts.push_back(Combine(n + 1)); });
    const int d = parts_.level(n).dimension;
    ResultMda mda = e_.is_reduction(d) ? CombinePointWise(std::move(parts), combine_)
                    : e_.is_prefix_sum(d) && !sums_late_[d]
                        ? CombinePrefixSums(std::move(parts), d, combine_)
                        : Concatenate(std::move(parts), d);
    const LowLevelOperator& row = low_.at(parts_.level(n));
    return IsSameAsInside(n) ? mda : ThroughBuffers(e_, mda, row.output_layout);
  }

  // Whether the level inside combines in the same buffers (R3, R4).
  bool IsSameAsInside(int n) const {
    const LowLevelOperator& row = low_.at(parts_.level(n));
    if (n + 1 == parts_.count()) {
      for (size_t b = 0; b < row.output_region.size(); ++b) {
        const ScalarMemory& inside = low_.scalar_outputs()[b];
        if (inside.region != row.output_region[b] || inside.layout != row.output_layout[b]) {
          return false;
        }
      }
      return true;
    }
    const LowLevelOperator& inside = low_.at(parts_.level(n + 1));
    return inside.output_region == row.output_region && inside.output_layout == row.output_layout;
  }

  const LowLevelExpression& low_;
  const Expression& e_;
  Parts parts_;
  Singletons results_;
  CombineFunction combine_;
  std::vector<bool> sums_late_;
};

// The output view: results in the types in which they are stored.
std::vector<BufferBytes> StoreResults(const Expression& e, absl::Span<const BufferBytes> inputs,
                                      const ResultMda& mda) {
  std::vector<const std::byte*> pointers;
  for (const BufferBytes& input : inputs) pointers.push_back(input.data());
  std::vector<BufferBytes> outputs;
  for (const Buffer& buffer : e.outputs()) outputs.emplace_back(buffer.size_bytes());
  ForEachPoint(mda, [&](const std::vector<int64_t>& point, size_t place) {
    const Results stored = StoredValues(e, pointers, point, mda.values[place]);
    for (int r = 0; r < static_cast<int>(stored.size()); ++r) {
      const Expression::AccessRef ref = e.output_access(r);
      const Buffer& buffer = e.outputs()[ref.buffer];
      stored[r].Store(outputs[ref.buffer].data() +
                      buffer.ElementAt(ref.access, point) * buffer.type.size_bytes() +
                      buffer.type.fields()[ref.field].offset_bytes);
    }
  });
  return outputs;
}

}  // namespace

Result<std::vector<BufferBytes>> InterpretLowLevel(const LowLevelExpression& low_level,
                                                   absl::Span<const BufferBytes> inputs,
                                                   Accumulation accumulation) {
  const Expression& e = low_level.expression();
  MDH_RETURN_IF_ERROR(CheckInputs(e, inputs));
  if (e.is_empty()) return Interpret(e, inputs, accumulation);  // nothing is decomposed
  std::optional<ScalarFunction> combine;
  if (e.has_reduction() || e.has_prefix_sum()) {
    const ScalarFunction& declared = e.reduction().function();
    combine = accumulation == Accumulation::kWide ? declared.Widened() : declared;
  }
  Singletons arguments = Decomposition(low_level, inputs).Run();
  Singletons results = ScalarPhase(low_level, std::move(arguments), combine).Run();
  return StoreResults(e, inputs, Recomposition(low_level, std::move(results), combine).Run());
}

}  // namespace mdh
