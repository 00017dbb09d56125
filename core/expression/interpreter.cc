// The reference interpreter.
#include "core/expression/interpreter.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace mdh {
namespace {

// Smallest and largest index of every dimension.
struct PointBox {
  std::vector<int64_t> first, last;
};

PointBox WholeBox(const Expression& expression) {
  PointBox box;
  for (const Dimension& dimension : expression.dimensions()) {
    box.first.push_back(0);
    box.last.push_back(dimension.size - 1);
  }
  return box;
}

// Walks through the points of a box in some dimensions, in lexicographic order.
class Odometer {
 public:
  explicit Odometer(std::vector<int> dimensions) : dimensions_(std::move(dimensions)) {}

  void Reset(const PointBox& box, std::vector<int64_t>* point) const {
    for (const int d : dimensions_) (*point)[d] = box.first[d];
  }
  // False after the last point.
  bool Advance(const PointBox& box, std::vector<int64_t>* point) const {
    for (size_t n = dimensions_.size(); n-- > 0;) {
      const int d = dimensions_[n];
      if (++(*point)[d] <= box.last[d]) return true;
      (*point)[d] = box.first[d];
    }
    return false;
  }

 private:
  std::vector<int> dimensions_;
};

template <typename Predicate>
std::vector<int> DimensionsWith(const Expression& expression, const Predicate& predicate) {
  std::vector<int> dimensions;
  for (int d = 0; d < expression.rank(); ++d) {
    if (predicate(d)) dimensions.push_back(d);
  }
  return dimensions;
}

ScalarValue Converted(const ScalarValue& value, ScalarType type) {
  return value.type() == type ? value : mdh::Apply(ScalarOp::kCast, type, {value});
}
void Convert(const std::vector<TypedName>& to, std::vector<ScalarValue>* values) {
  for (size_t r = 0; r < values->size(); ++r) (*values)[r] = Converted((*values)[r], to[r].type);
}

// element < 0: the boundary's.
ScalarValue Read(const Buffer& buffer, const std::byte* bytes, int field, int64_t element) {
  if (element < 0) return buffer.boundary.values[field];
  const ElementType::Field& at = buffer.type.fields()[field];
  return ScalarValue::Load(at.type, bytes + element * buffer.type.size_bytes() + at.offset_bytes);
}

// Argument number `parameter` of the store function, which is no result.
ScalarValue StoreArgument(const Expression& e, absl::Span<const std::byte* const> inputs,
                          absl::Span<const int64_t> point, int parameter) {
  if (e.store_parameter(parameter) == Expression::StoreParameter::kIndex) {
    return ScalarValue::Integer(ScalarType::kInt64, point[e.store_index_dimension(parameter)]);
  }
  const Expression::AccessRef ref = e.store_access(parameter);
  const Buffer& buffer = e.store()->inputs[ref.buffer];
  return Read(buffer, inputs[e.passed_store_input(ref.buffer)], ref.field,
              buffer.ElementAt(ref.access, point));
}

class Machine {
 public:
  Machine(const Expression& expression, absl::Span<const std::byte* const> inputs,
          Accumulation accumulation)
      : expression_(expression),
        inputs_(inputs),
        accumulation_(accumulation),
        combines_(expression.has_reduction() || expression.has_prefix_sum()) {
    for (int p = 0; p < expression.input_parameters(); ++p) {
      const Expression::AccessRef ref = expression.input_access(p);
      linear_.push_back(expression.inputs()[ref.buffer].Linearized(ref.access));
    }
    if (!combines_) return;
    const ScalarFunction& combine = expression.reduction().function();
    combine_ = accumulation == Accumulation::kWide ? combine.Widened() : combine;
  }

  // left = left combined with right.
  void Combine(const std::vector<ScalarValue>& right, std::vector<ScalarValue>& left) {
    arguments_.assign(left.begin(), left.end());
    arguments_.insert(arguments_.end(), right.begin(), right.end());
    Call(*combine_, left);
  }

  // f combined over the box in `dimensions`, at `point` in the other ones; of no point, the
  // identity.
  std::vector<ScalarValue> Fold(const Odometer& dimensions, PointBox box,
                                std::vector<int64_t>* point) {
    if (expression_.is_empty()) return *expression_.reduction().identity();
    const int cut = accumulation_ == Accumulation::kFixedTree ? CutReduction() : -1;
    if (cut < 0) return FoldPart(dimensions, box, point);
    const int64_t part = FixedTreePart(expression_, cut), end = box.last[cut];
    box.last[cut] = std::min(end, part - 1);
    std::vector<ScalarValue> total = FoldPart(dimensions, box, point);
    while (box.last[cut] < end) {
      box.first[cut] += part;
      box.last[cut] = std::min(end, box.last[cut] + part);
      Combine(FoldPart(dimensions, box, point), total);
    }
    return total;
  }

  // Points of one part of a prefix sum.
  int64_t PrefixPart(int d) const {
    return accumulation_ == Accumulation::kFixedTree ? FixedTreePart(expression_, d)
                                                     : expression_.dimensions()[d].size;
  }

 private:
  // Of all that is done at every point nothing allocates memory.
  std::vector<ScalarValue> FoldPart(const Odometer& dimensions, const PointBox& box,
                                    std::vector<int64_t>* point) {
    dimensions.Reset(box, point);
    std::vector<ScalarValue> total;
    Apply(*point, total);
    while (dimensions.Advance(box, point)) {
      Apply(*point, next_);
      Combine(next_, total);
    }
    return total;
  }
  // f at one point, in the types that are combined.
  void Apply(const std::vector<int64_t>& point, std::vector<ScalarValue>& results) {
    arguments_.clear();
    for (int p = 0; p < static_cast<int>(expression_.function().parameters().size()); ++p) {
      arguments_.push_back(Argument(p, point));
    }
    Call(expression_.function(), results);
    if (combines_) Convert(combine_->results(), &results);
  }
  // The reduced dimension that a fixed tree cuts, -1 if there is none.
  int CutReduction() const {
    for (int d = 0; d < expression_.rank(); ++d) {
      const bool is_cut = FixedTreePart(expression_, d) < expression_.dimensions()[d].size;
      if (expression_.is_reduction(d) && is_cut) return d;
    }
    return -1;
  }

  ScalarValue Argument(int parameter, const std::vector<int64_t>& point) const {
    if (expression_.is_index(parameter)) {
      return ScalarValue::Integer(ScalarType::kInt64,
                                  point[expression_.index_dimension(parameter)]);
    }
    const Expression::AccessRef ref = expression_.input_access(parameter);
    const Buffer& buffer = expression_.inputs()[ref.buffer];
    const int64_t element = buffer.boundary.kind == Boundary::Kind::kNone
                                ? linear_[parameter].Evaluate(point)
                                : buffer.ElementAt(ref.access, point);
    return Read(buffer, inputs_[ref.buffer], ref.field, element);
  }

  // The function of arguments_.
  void Call(const ScalarFunction& function, std::vector<ScalarValue>& results) {
    function.EvaluateInto(arguments_, &values_);
    results.clear();
    for (const int instruction : function.result_instructions()) {
      results.push_back(values_[instruction]);
    }
  }

  const Expression& expression_;
  absl::Span<const std::byte* const> inputs_;
  const Accumulation accumulation_;
  const bool combines_;
  std::vector<AffineIndex> linear_;  // element offsets of accesses without a boundary
  std::optional<ScalarFunction> combine_;
  std::vector<ScalarValue> arguments_, values_, next_;  // kept to save allocations
};

// Results at all points of the prefix sums' dimensions, for one point of the concatenated ones.
class PrefixSums {
 public:
  PrefixSums(const Expression& expression, Machine& machine)
      : expression_(expression),
        machine_(machine),
        dimensions_(DimensionsWith(expression, [&](int d) { return expression.is_prefix_sum(d); })),
        odometer_(dimensions_),
        reductions_(DimensionsWith(expression, [&](int d) { return expression.is_reduction(d); })),
        box_(WholeBox(expression)) {}

  // Calls visit(point, results) for every point, the results of which are not yet finished.
  template <typename Visit>
  void ForEach(std::vector<int64_t>* point, const Visit& visit) {
    results_.clear();
    odometer_.Reset(box_, point);
    do {
      results_.push_back(machine_.Fold(reductions_, box_, point));
    } while (odometer_.Advance(box_, point));
    int64_t stride = 1;
    for (size_t n = dimensions_.size(); n-- > 0;) {
      Sum(stride, expression_.dimensions()[dimensions_[n]].size,
          machine_.PrefixPart(dimensions_[n]));
      stride *= expression_.dimensions()[dimensions_[n]].size;
    }
    size_t number = 0;
    odometer_.Reset(box_, point);
    do {
      visit(*point, results_[number++]);
    } while (odometer_.Advance(box_, point));
  }

 private:
  // Example 15 in one dimension, whose indices are `stride` apart: every part by itself, then what
  // comes before it is combined with all of a part.
  void Sum(int64_t stride, int64_t size, int64_t part) {
    const auto along = [&](size_t n) { return static_cast<int64_t>(n) / stride % size; };
    for (size_t n = 0; n < results_.size(); ++n) {
      if (along(n) % part == 0) continue;
      CombineWith(n - stride, n);
    }
    for (size_t n = 0; n < results_.size(); ++n) {
      if (along(n) < part) continue;
      const int64_t back = along(n) % part + 1;  // to the last point of the part before
      CombineWith(n - back * stride, n);
    }
  }

  void CombineWith(size_t before, size_t n) {
    std::vector<ScalarValue> sum = results_[before];
    machine_.Combine(results_[n], sum);
    results_[n] = std::move(sum);
  }

  const Expression& expression_;
  Machine& machine_;
  std::vector<int> dimensions_;
  Odometer odometer_, reductions_;
  PointBox box_;
  std::vector<std::vector<ScalarValue>> results_;
};

}  // namespace

std::vector<ScalarValue> StoredValues(const Expression& expression,
                                      absl::Span<const std::byte* const> inputs,
                                      absl::Span<const int64_t> mda_index,
                                      std::vector<ScalarValue> results) {
  Convert(expression.function().results(), &results);
  if (const StoreFunction* store = expression.store()) {
    while (results.size() < store->function.parameters().size()) {
      results.push_back(
          StoreArgument(expression, inputs, mda_index, static_cast<int>(results.size())));
    }
    results = store->function.Evaluate(results);
  }
  for (size_t r = 0; r < results.size(); ++r) {
    results[r] = Converted(results[r], expression.stored_type(static_cast<int>(r)));
  }
  return results;
}

Status CheckInputs(const Expression& expression, absl::Span<const BufferBytes> inputs) {
  const std::vector<Buffer>& buffers = expression.passed_inputs();
  if (inputs.size() != buffers.size()) {
    return InvalidArgument("expression '", expression.name(), "' has ", buffers.size(),
                           " inputs, but ", inputs.size(), " were given");
  }
  for (size_t b = 0; b < inputs.size(); ++b) {
    const Buffer& buffer = buffers[b];
    if (static_cast<int64_t>(inputs[b].size()) != buffer.size_bytes()) {
      return InvalidArgument("input '", buffer.name, "' has ", buffer.size_bytes(), " bytes, but ",
                             inputs[b].size(), " were given");
    }
  }
  return absl::OkStatus();
}

Accumulation AccumulationOf(NumericsPolicy policy) {
  switch (policy) {
    case NumericsPolicy::kExactOrder:
      return Accumulation::kDeclared;
    case NumericsPolicy::kFixedTree:
      return Accumulation::kFixedTree;
    default:
      return Accumulation::kWide;
  }
}

Result<std::vector<BufferBytes>> Interpret(const Expression& expression,
                                           absl::Span<const BufferBytes> inputs,
                                           Accumulation accumulation) {
  MDH_RETURN_IF_ERROR(CheckInputs(expression, inputs));
  std::vector<const std::byte*> pointers;
  for (const BufferBytes& input : inputs) pointers.push_back(input.data());
  std::vector<BufferBytes> outputs;
  for (const Buffer& buffer : expression.outputs()) outputs.emplace_back(buffer.size_bytes());

  if (expression.result_points() == 0) return outputs;

  Machine machine(expression, pointers, accumulation);
  PrefixSums sums(expression, machine);
  const auto store = [&](const std::vector<int64_t>& point, std::vector<ScalarValue> results) {
    results = StoredValues(expression, pointers, point, std::move(results));
    for (int r = 0; r < static_cast<int>(results.size()); ++r) {
      const Expression::AccessRef ref = expression.output_access(r);
      const Buffer& buffer = expression.outputs()[ref.buffer];
      results[r].Store(outputs[ref.buffer].data() +
                       buffer.ElementAt(ref.access, point) * buffer.type.size_bytes() +
                       buffer.type.fields()[ref.field].offset_bytes);
    }
  };
  const Odometer concatenated(DimensionsWith(
      expression, [&](int d) { return expression.combine_operators()[d].is_concat(); }));
  const PointBox box = WholeBox(expression);
  std::vector<int64_t> point = box.first;
  do {
    sums.ForEach(&point, store);
  } while (concatenated.Advance(box, &point));
  return outputs;
}

PointInterpreter::PointInterpreter(const Expression& expression,
                                   absl::Span<const std::byte* const> inputs,
                                   Accumulation accumulation)
    : expression_(expression), inputs_(inputs.begin(), inputs.end()) {
  // std::function asks for what can be copied.
  const auto machine = std::make_shared<Machine>(expression, inputs_, accumulation);
  const Odometer combined(DimensionsWith(
      expression, [&](int d) { return !expression.combine_operators()[d].is_concat(); }));
  results_at_ = [this, machine, combined](absl::Span<const int64_t> mda_index) {
    std::vector<int64_t> point(mda_index.begin(), mda_index.end());
    PointBox box = WholeBox(expression_);
    for (int d = 0; d < expression_.rank(); ++d) {
      if (expression_.is_prefix_sum(d)) box.last[d] = mda_index[d];
    }
    return machine->Fold(combined, std::move(box), &point);
  };
}

std::vector<ScalarValue> ResultsAt(const Expression& expression,
                                   absl::Span<const std::byte* const> inputs,
                                   absl::Span<const int64_t> mda_index, Accumulation accumulation) {
  return PointInterpreter(expression, inputs, accumulation).ResultsAt(mda_index);
}

std::vector<ScalarValue> InterpretAt(const Expression& expression,
                                     absl::Span<const std::byte* const> inputs,
                                     absl::Span<const int64_t> mda_index,
                                     Accumulation accumulation) {
  return PointInterpreter(expression, inputs, accumulation).InterpretAt(mda_index);
}

}  // namespace mdh
