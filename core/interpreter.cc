// The reference interpreter.
#include "core/interpreter.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// All points of the reduced or of the other dimensions, in lexicographic order.
class Odometer {
 public:
  Odometer(const Expression& expression, bool over_reductions)
      : expression_(expression), over_reductions_(over_reductions) {}

  void Reset(std::vector<int64_t>* point) const {
    for (int d = 0; d < expression_.rank(); ++d) {
      if (expression_.is_reduction(d) == over_reductions_) (*point)[d] = 0;
    }
  }

  // False after the last point.
  bool Advance(std::vector<int64_t>* point) const {
    for (int d = expression_.rank(); d-- > 0;) {
      if (expression_.is_reduction(d) != over_reductions_) continue;
      if (++(*point)[d] < expression_.dimensions()[d].size) return true;
      (*point)[d] = 0;
    }
    return false;
  }

 private:
  const Expression& expression_;
  bool over_reductions_;
};

// An access, ready to be read or written: where its buffer is and how offsets are computed.
struct Access {
  int buffer;
  ScalarType type;
  AffineIndex offset;
};

std::vector<Access> AllAccesses(const std::vector<Buffer>& buffers) {
  std::vector<Access> accesses;
  for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
    for (int a = 0; a < static_cast<int>(buffers[b].accesses.size()); ++a) {
      accesses.push_back({b, buffers[b].type, buffers[b].Linearized(a)});
    }
  }
  return accesses;
}

class Machine {
 public:
  Machine(const Expression& expression, absl::Span<const std::byte* const> inputs)
      : expression_(expression),
        inputs_(inputs),
        input_accesses_(AllAccesses(expression.inputs())),
        reductions_(expression, /*over_reductions=*/true) {}

  // The combined results at the output point; the reduced entries of `point` are overwritten.
  std::vector<ScalarValue> ResultsAt(std::vector<int64_t>* point) {
    reductions_.Reset(point);
    std::vector<ScalarValue> results = Apply(*point);
    while (reductions_.Advance(point)) results = Combine(results, Apply(*point));
    return results;
  }

 private:
  // f at one point.
  std::vector<ScalarValue> Apply(const std::vector<int64_t>& point) {
    arguments_.clear();
    for (const Access& access : input_accesses_) {
      const std::byte* element =
          inputs_[access.buffer] + access.offset.Evaluate(point) * SizeBytes(access.type);
      arguments_.push_back(ScalarValue::Load(access.type, element));
    }
    return Call(expression_.function());
  }

  std::vector<ScalarValue> Combine(const std::vector<ScalarValue>& left,
                                   const std::vector<ScalarValue>& right) {
    arguments_ = left;
    arguments_.insert(arguments_.end(), right.begin(), right.end());
    return Call(expression_.reduction().function());
  }

  std::vector<ScalarValue> Call(const ScalarFunction& function) {
    function.EvaluateInto(arguments_, &values_);
    std::vector<ScalarValue> results;
    for (int instruction : function.result_instructions()) results.push_back(values_[instruction]);
    return results;
  }

  const Expression& expression_;
  absl::Span<const std::byte* const> inputs_;
  std::vector<Access> input_accesses_;
  Odometer reductions_;
  std::vector<ScalarValue> arguments_;  // kept to save allocations
  std::vector<ScalarValue> values_;
};

Status CheckInputs(const Expression& expression, absl::Span<const BufferBytes> inputs) {
  if (inputs.size() != expression.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("expression '", expression.name(), "' has ",
                                                   expression.inputs().size(), " inputs, but ",
                                                   inputs.size(), " were given"));
  }
  for (size_t b = 0; b < inputs.size(); ++b) {
    const Buffer& buffer = expression.inputs()[b];
    if (static_cast<int64_t>(inputs[b].size()) != buffer.size_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", buffer.name, "' has ",
                                                     buffer.size_bytes(), " bytes, but ",
                                                     inputs[b].size(), " were given"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Result<std::vector<BufferBytes>> Interpret(const Expression& expression,
                                           absl::Span<const BufferBytes> inputs) {
  MDH_RETURN_IF_ERROR(CheckInputs(expression, inputs));
  std::vector<const std::byte*> pointers;
  for (const BufferBytes& input : inputs) pointers.push_back(input.data());
  std::vector<BufferBytes> outputs;
  for (const Buffer& buffer : expression.outputs()) outputs.emplace_back(buffer.size_bytes());

  const std::vector<Access> output_accesses = AllAccesses(expression.outputs());
  const Odometer output_points(expression, /*over_reductions=*/false);
  Machine machine(expression, pointers);
  std::vector<int64_t> point(expression.rank(), 0);
  do {
    const std::vector<ScalarValue> results = machine.ResultsAt(&point);
    for (size_t r = 0; r < results.size(); ++r) {
      const Access& access = output_accesses[r];
      results[r].Store(outputs[access.buffer].data() +
                       access.offset.Evaluate(point) * SizeBytes(access.type));
    }
  } while (output_points.Advance(&point));
  return outputs;
}

std::vector<ScalarValue> InterpretAt(const Expression& expression,
                                     absl::Span<const std::byte* const> inputs,
                                     absl::Span<const int64_t> mda_index) {
  std::vector<int64_t> point(mda_index.begin(), mda_index.end());
  return Machine(expression, inputs).ResultsAt(&point);
}

}  // namespace mdh
