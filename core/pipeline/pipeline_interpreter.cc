// Pipelines, one step after the other.
#include "core/pipeline/pipeline_interpreter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/expression/canonical.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

ScalarType WideScalar(ScalarType type) {
  return IsFloatingPoint(type) ? ScalarType::kFloat64 : type;
}

void WidenBuffer(Buffer* buffer) {
  buffer->type = WideType(buffer->type);
  for (ScalarValue& value : buffer->boundary.values) {
    if (IsFloatingPoint(value.type())) {
      value = ScalarValue::Real(ScalarType::kFloat64, value.as_double());
    }
  }
}

CombineOperator WideOperator(const CombineOperator& combine) {
  if (combine.is_concat()) return combine;
  const ScalarFunction function = combine.function().Widened();
  std::vector<ScalarType> types;
  for (const TypedName& result : function.results()) types.push_back(result.type);
  std::optional<std::vector<ScalarValue>> identity = combine.identity();
  if (identity.has_value()) {
    for (ScalarValue& value : *identity) {
      if (IsFloatingPoint(value.type())) {
        value = ScalarValue::Real(ScalarType::kFloat64, value.as_double());
      }
    }
  }
  const CombineOperator wide = combine.kinds()[0] == PointWiseKind::kCustom
                                   ? *CombineOperator::PointWise(function, std::move(identity))
                                   : *CombineOperator::PointWise(combine.kinds(), types);
  return combine.is_prefix_sum() ? wide.AsPrefixSum() : wide;
}

}  // namespace

ElementType WideType(const ElementType& type) {
  if (!type.is_record()) return WideScalar(type.scalar());
  std::vector<TypedName> fields;
  for (const ElementType::Field& field : type.fields()) {
    fields.push_back({field.name, WideScalar(field.type)});
  }
  return *ElementType::Record(std::move(fields));
}

Expression WideStep(const Expression& expression) {
  ExpressionSpec spec = expression.spec();
  for (std::vector<Buffer>* buffers : BuffersOf(&spec)) {
    for (Buffer& buffer : *buffers) WidenBuffer(&buffer);
  }
  if (spec.store.has_value()) spec.store->function = spec.store->function.Widened();
  spec.function = spec.function.Widened();
  for (CombineOperator& combine : spec.combine_operators) combine = WideOperator(combine);
  return Expression::Unchecked(std::move(spec));
}

void ConvertElement(const std::byte* from, const ElementType& from_type, const ElementType& to_type,
                    std::byte* to) {
  for (size_t f = 0; f < to_type.fields().size(); ++f) {
    const ElementType::Field& at = from_type.fields()[f];
    const ScalarValue value = ScalarValue::Load(at.type, from + at.offset_bytes);
    const ScalarType type = to_type.fields()[f].type;
    (value.type() == type ? value : Apply(ScalarOp::kCast, type, {value}))
        .Store(to + to_type.fields()[f].offset_bytes);
  }
}

namespace {

// The elements of a buffer in another type with the same fields.
BufferBytes ConvertedElements(const BufferBytes& bytes, const ElementType& from,
                              const ElementType& to) {
  if (from == to) return bytes;
  const size_t elements = bytes.size() / from.size_bytes();
  BufferBytes converted(elements * to.size_bytes());
  for (size_t e = 0; e < elements; ++e) {
    ConvertElement(bytes.data() + e * from.size_bytes(), from, to,
                   converted.data() + e * to.size_bytes());
  }
  return converted;
}

}  // namespace

Result<std::vector<BufferBytes>> RunPipeline(const Pipeline& pipeline,
                                             absl::Span<const BufferBytes> inputs,
                                             Intermediates intermediates, const RunStep& run) {
  const std::vector<int> given = pipeline.BuffersOf(Role::kInput);
  if (inputs.size() != given.size()) {
    return InvalidArgument("pipeline '", pipeline.name(), "' has ", given.size(), " inputs, but ",
                           inputs.size(), " were given");
  }
  const bool is_wide = intermediates == Intermediates::kWide;
  std::vector<BufferBytes> contents(pipeline.buffers().size());
  for (size_t n = 0; n < given.size(); ++n) {
    const PipelineBuffer& buffer = pipeline.buffers()[given[n]];
    if (static_cast<int64_t>(inputs[n].size()) != buffer.size_bytes()) {
      return InvalidArgument("input '", buffer.name, "' has ", buffer.size_bytes(), " bytes, but ",
                             inputs[n].size(), " were given");
    }
    contents[given[n]] =
        is_wide ? ConvertedElements(inputs[n], buffer.type, WideType(buffer.type)) : inputs[n];
  }
  for (const PipelineStep& step : pipeline.steps()) {
    const Expression expression = is_wide ? WideStep(step.expression) : step.expression;
    std::vector<BufferBytes> arguments;
    for (const int b : step.inputs) arguments.push_back(contents[b]);
    MDH_ASSIGN_OR_RETURN(std::vector<BufferBytes> results, run(expression, arguments));
    for (size_t n = 0; n < results.size(); ++n) contents[step.outputs[n]] = std::move(results[n]);
  }
  std::vector<BufferBytes> outputs;
  for (const int b : pipeline.BuffersOf(Role::kOutput)) {
    const ElementType& type = pipeline.buffers()[b].type;
    outputs.push_back(is_wide ? ConvertedElements(contents[b], WideType(type), type)
                              : std::move(contents[b]));
  }
  return outputs;
}

bool HasNarrowReals(const Pipeline& pipeline) {
  return std::ranges::any_of(pipeline.steps(), [](const PipelineStep& step) {
    return CanonicalForm(WideStep(step.expression)) != CanonicalForm(step.expression);
  });
}

}  // namespace mdh
