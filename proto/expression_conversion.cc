#include "proto/expression_conversion.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "proto/pipeline_conversion.h"
#include "proto/scalar_conversion.h"

namespace mdh {
namespace {

// Enums of the wire have the numbers of core's, which this makes sure of.
static_assert(static_cast<int>(PointWiseKind::kCustom) == v1::POINT_WISE_KIND_CUSTOM);
static_assert(static_cast<int>(PointWiseKind::kMax) == v1::POINT_WISE_KIND_MAX);
static_assert(static_cast<int>(PointWiseKind::kOr) == v1::POINT_WISE_KIND_OR);
static_assert(static_cast<int>(PointWiseKind::kBitXor) == v1::POINT_WISE_KIND_BIT_XOR);
static_assert(static_cast<int>(PointWiseKind::kFmax) == v1::PointWiseKind_MAX);

IndexFunction IndexFunctionFromProto(const v1::IndexFunction& proto) {
  IndexFunction function;
  for (const v1::AffineIndex& index : proto.indices()) {
    function.indices.push_back(
        {{index.coefficients().begin(), index.coefficients().end()}, index.constant()});
  }
  return function;
}

Result<ElementType> ElementTypeFromProto(const v1::Buffer& proto) {
  const std::string of = absl::StrCat("buffer '", proto.name(), "'");
  if (proto.record().empty()) {
    MDH_ASSIGN_OR_RETURN(const ScalarType type, FromProto(proto.type(), of));
    return ElementType(type);
  }
  if (proto.type() != v1::SCALAR_TYPE_UNSPECIFIED) {
    return InvalidArgument(of, " has both a scalar type and a record");
  }
  MDH_ASSIGN_OR_RETURN(std::vector<TypedName> fields, FromProto(proto.record()));
  const Result<ElementType> record = ElementType::Record(std::move(fields));
  if (record.ok()) return record;
  return InvalidArgument(of, ": ", record.status().message());
}

Result<Boundary> BoundaryFromProto(const v1::Boundary& proto, const std::string& of) {
  switch (proto.kind_case()) {
    case v1::Boundary::kConstant: {
      Boundary boundary{Boundary::Kind::kConstant};
      MDH_ASSIGN_OR_RETURN(boundary.values, FromProto(proto.constant().values(), of));
      return boundary;
    }
    case v1::Boundary::kClamp:
      return Boundary{Boundary::Kind::kClamp};
    case v1::Boundary::KIND_NOT_SET:
      break;
  }
  return InvalidArgument(of, " has no kind, or an unknown one");
}

Result<Buffer> BufferFromProto(const v1::Buffer& proto) {
  MDH_RETURN_IF_ERROR(CheckNameLength(proto.name(), "a buffer"));
  Buffer buffer;
  buffer.name = proto.name();
  MDH_ASSIGN_OR_RETURN(buffer.type, ElementTypeFromProto(proto));
  buffer.extents.assign(proto.extents().begin(), proto.extents().end());
  buffer.extents_given = !buffer.extents.empty();
  buffer.given_strides.assign(proto.strides().begin(), proto.strides().end());
  buffer.keeps_unreached = proto.keeps_unreached();
  for (const v1::IndexFunction& access : proto.accesses()) {
    buffer.accesses.push_back(IndexFunctionFromProto(access));
  }
  if (proto.has_boundary()) {
    const std::string of = absl::StrCat("the boundary of buffer '", proto.name(), "'");
    MDH_ASSIGN_OR_RETURN(buffer.boundary, BoundaryFromProto(proto.boundary(), of));
  }
  return buffer;
}

Result<std::vector<Buffer>> BuffersFromProto(
    const google::protobuf::RepeatedPtrField<v1::Buffer>& buffers) {
  std::vector<Buffer> result;
  for (const v1::Buffer& buffer : buffers) {
    MDH_ASSIGN_OR_RETURN(Buffer converted, BufferFromProto(buffer));
    result.push_back(std::move(converted));
  }
  return result;
}

v1::Boundary BoundaryToProto(const Boundary& boundary) {
  v1::Boundary proto;
  if (boundary.kind == Boundary::Kind::kClamp) proto.mutable_clamp();
  if (boundary.kind == Boundary::Kind::kConstant) {
    v1::BoundaryConstant* constant = proto.mutable_constant();
    for (const ScalarValue& value : boundary.values) *constant->add_values() = ToProto(value);
  }
  return proto;
}

v1::Buffer BufferToProto(const Buffer& buffer) {
  v1::Buffer proto;
  proto.set_name(buffer.name);
  if (buffer.type.is_record()) {
    for (const ElementType::Field& field : buffer.type.fields()) {
      *proto.add_record() = ToProto(TypedName{field.name, field.type});
    }
  } else {
    proto.set_type(ToProto(buffer.type.scalar()));
  }
  proto.mutable_extents()->Add(buffer.extents.begin(), buffer.extents.end());
  proto.mutable_strides()->Add(buffer.given_strides.begin(), buffer.given_strides.end());
  proto.set_keeps_unreached(buffer.keeps_unreached);
  for (const IndexFunction& access : buffer.accesses) {
    v1::IndexFunction* to = proto.add_accesses();
    for (const AffineIndex& index : access.indices) {
      v1::AffineIndex* affine = to->add_indices();
      affine->mutable_coefficients()->Add(index.coefficients.begin(), index.coefficients.end());
      affine->set_constant(index.constant);
    }
  }
  if (buffer.boundary.kind != Boundary::Kind::kNone) {
    *proto.mutable_boundary() = BoundaryToProto(buffer.boundary);
  }
  return proto;
}

Result<PointWiseKind> KindFromProto(int kind) {
  if (kind == v1::POINT_WISE_KIND_UNSPECIFIED || !v1::PointWiseKind_IsValid(kind)) {
    return InvalidArgument("a pointwise combine operator has no kind, or an unknown one");
  }
  return static_cast<PointWiseKind>(kind);
}

Result<CombineOperator> CustomFromProto(const v1::PointWise& proto) {
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, FromProto(proto.function()));
  std::optional<std::vector<ScalarValue>> identity;
  if (!proto.identity().empty()) {
    const std::string of = absl::StrCat("a neutral element of '", function.name(), "'");
    MDH_ASSIGN_OR_RETURN(identity, FromProto(proto.identity(), of));
  }
  return CombineOperator::PointWise(std::move(function), std::move(identity));
}

Result<CombineOperator> PointWiseFromProto(const v1::PointWise& proto,
                                           const std::vector<ScalarType>& result_types) {
  if (proto.kinds().empty()) {
    MDH_ASSIGN_OR_RETURN(const PointWiseKind kind, KindFromProto(proto.kind()));
    if (kind == PointWiseKind::kCustom) return CustomFromProto(proto);
    return CombineOperator::PointWise(kind, result_types);
  }
  if (proto.kind() != v1::POINT_WISE_KIND_UNSPECIFIED) {
    return InvalidArgument(
        "a pointwise combine operator has both one kind and one kind per result");
  }
  std::vector<PointWiseKind> kinds;
  for (const int number : proto.kinds()) {
    MDH_ASSIGN_OR_RETURN(const PointWiseKind kind, KindFromProto(number));
    kinds.push_back(kind);
  }
  return CombineOperator::PointWise(kinds, result_types);
}

Result<CombineOperator> CombineFromProto(const v1::CombineOperator& proto,
                                         const std::vector<ScalarType>& result_types) {
  switch (proto.kind_case()) {
    case v1::CombineOperator::kConcat:
      return CombineOperator::Concat();
    case v1::CombineOperator::kPointWise:
      return PointWiseFromProto(proto.point_wise(), result_types);
    case v1::CombineOperator::kPrefixSum: {
      MDH_ASSIGN_OR_RETURN(const CombineOperator combine,
                           PointWiseFromProto(proto.prefix_sum(), result_types));
      return combine.AsPrefixSum();
    }
    case v1::CombineOperator::KIND_NOT_SET:
      break;
  }
  return InvalidArgument("a combine operator has no kind");
}

v1::CombineOperator CombineToProto(const CombineOperator& combine) {
  v1::CombineOperator proto;
  if (combine.is_concat()) {
    proto.mutable_concat();
    return proto;
  }
  v1::PointWise* to =
      combine.is_prefix_sum() ? proto.mutable_prefix_sum() : proto.mutable_point_wise();
  if (combine.kinds()[0] == PointWiseKind::kCustom) {
    to->set_kind(v1::POINT_WISE_KIND_CUSTOM);
    *to->mutable_function() = ToProto(combine.function());
    if (!combine.identity().has_value()) return proto;
    for (const ScalarValue& value : *combine.identity()) *to->add_identity() = ToProto(value);
  } else if (combine.kind() != PointWiseKind::kCustom) {
    to->set_kind(static_cast<v1::PointWiseKind>(combine.kind()));
  } else {
    for (const PointWiseKind kind : combine.kinds()) {
      to->add_kinds(static_cast<v1::PointWiseKind>(kind));
    }
  }
  return proto;
}

// Numbers of the parts of an expression, before or after conversion.
struct Counts {
  int64_t dimensions = 0;
  int64_t buffers = 0;
  int64_t accesses = 0;
  int64_t values = 0;
  int64_t instructions = 0;
  int64_t table_values = 0;
};

Status CheckLimits(const Counts& counts, const ExpressionLimits& limits) {
  const auto check = [](int64_t count, int64_t limit, const char* what) {
    if (count <= limit) return absl::OkStatus();
    return InvalidArgument("the expression has ", count, " ", what, ", at most ", limit,
                           " are allowed");
  };
  MDH_RETURN_IF_ERROR(check(counts.dimensions, limits.dimensions, "dimensions"));
  MDH_RETURN_IF_ERROR(check(counts.buffers, limits.buffers, "buffers"));
  MDH_RETURN_IF_ERROR(check(counts.accesses, limits.accesses, "accesses"));
  MDH_RETURN_IF_ERROR(check(counts.values, limits.values, "parameters and results"));
  MDH_RETURN_IF_ERROR(check(counts.instructions, limits.instructions, "instructions"));
  return check(counts.table_values, limits.table_values, "values in tables");
}

void CountParts(const google::protobuf::RepeatedPtrField<v1::Buffer>& buffers, Counts* counts) {
  counts->buffers += buffers.size();
  for (const v1::Buffer& buffer : buffers) {
    counts->accesses += buffer.accesses_size();
    counts->values += int64_t{buffer.accesses_size()} * std::max(1, buffer.record_size());
  }
}

void CountParts(const v1::ScalarFunction& function, Counts* counts) {
  counts->instructions += function.instructions_size();
  for (const v1::ScalarInstruction& instruction : function.instructions()) {
    counts->table_values += instruction.table_size();
  }
}

Counts CountParts(const v1::Expression& expression) {
  Counts counts;
  counts.dimensions = expression.dimensions_size();
  counts.values = expression.index_dimensions_size();
  CountParts(expression.inputs(), &counts);
  CountParts(expression.outputs(), &counts);
  CountParts(expression.function(), &counts);
  CountParts(expression.store().inputs(), &counts);
  CountParts(expression.store().function(), &counts);
  counts.values += expression.store().index_dimensions_size();
  for (const v1::CombineOperator& combine : expression.combine_operators()) {
    CountParts(combine.point_wise().function(), &counts);
    CountParts(combine.prefix_sum().function(), &counts);
  }
  return counts;
}

Result<std::optional<StoreFunction>> StoreFromProto(const v1::Expression& proto) {
  if (!proto.has_store()) return std::optional<StoreFunction>();
  const v1::StoreFunction& store = proto.store();
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, FromProto(store.function()));
  MDH_ASSIGN_OR_RETURN(std::vector<Buffer> inputs, BuffersFromProto(store.inputs()));
  return std::optional<StoreFunction>(
      {.function = std::move(function),
       .inputs = std::move(inputs),
       .index_dimensions = {store.index_dimensions().begin(), store.index_dimensions().end()}});
}

v1::StoreFunction StoreToProto(const StoreFunction& store) {
  v1::StoreFunction proto;
  *proto.mutable_function() = ToProto(store.function);
  for (const Buffer& buffer : store.inputs) *proto.add_inputs() = BufferToProto(buffer);
  proto.mutable_index_dimensions()->Add(store.index_dimensions.begin(),
                                        store.index_dimensions.end());
  return proto;
}

Status CheckBytes(const Expression& expression, const ExpressionLimits& limits) {
  const int64_t bytes = expression.CompulsoryBytes();
  if (bytes <= limits.buffer_bytes) return absl::OkStatus();
  return ResourceExhausted("the buffers of '", expression.name(), "' take ", bytes,
                           " bytes, more than the limit of ", limits.buffer_bytes);
}

Result<Expression> FromText(const v1::TextExpression& text, const ExpressionLimits& limits) {
  if (static_cast<int64_t>(text.text().size()) > limits.text_bytes) {
    return InvalidArgument("the text has ", text.text().size(), " bytes, at most ",
                           limits.text_bytes, " are allowed");
  }
  const Bindings bindings(text.bindings().begin(), text.bindings().end());
  MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(text.text(), bindings));
  MDH_RETURN_IF_ERROR(CheckLimits(CountParts(ToProto(expression)), limits));
  MDH_RETURN_IF_ERROR(CheckBytes(expression, limits));
  return expression;
}

Result<Expression> OnlyExpression(const v1::ExpressionSource& source,
                                  const ExpressionLimits& limits) {
  MDH_ASSIGN_OR_RETURN(const Pipeline pipeline, FromProto(source, PipelineLimits::Of(limits)));
  const Expression* const expression = pipeline.AsExpression();
  if (expression != nullptr) return *expression;
  return InvalidArgument("'", pipeline.name(), "' is a pipeline of ", pipeline.steps().size(),
                         pipeline.steps().size() == 1 ? " step" : " steps",
                         ", and only an expression is taken here: give each step by itself");
}

}  // namespace

ExpressionLimits ExpressionLimits::None() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  return {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
}

Result<Expression> FromProto(const v1::ExpressionSource& source, const ExpressionLimits& limits) {
  if (HoldsPipeline(source)) return OnlyExpression(source, limits);
  switch (source.source_case()) {
    case v1::ExpressionSource::kText:
      return FromText(source.text(), limits);
    case v1::ExpressionSource::kStructured:
      return FromProto(source.structured(), limits);
    case v1::ExpressionSource::kPipeline:
    case v1::ExpressionSource::SOURCE_NOT_SET:
      break;
  }
  return InvalidArgument("the request has no expression");
}

Result<Expression> FromProto(const v1::Expression& proto, const ExpressionLimits& limits) {
  MDH_RETURN_IF_ERROR(CheckLimits(CountParts(proto), limits));
  MDH_RETURN_IF_ERROR(CheckNameLength(proto.name(), "the expression"));
  std::vector<Dimension> dimensions;
  for (const v1::Dimension& dimension : proto.dimensions()) {
    MDH_RETURN_IF_ERROR(CheckNameLength(dimension.name(), "a dimension"));
    dimensions.push_back({dimension.name(), dimension.size()});
  }
  MDH_ASSIGN_OR_RETURN(std::vector<Buffer> inputs, BuffersFromProto(proto.inputs()));
  MDH_ASSIGN_OR_RETURN(std::vector<Buffer> outputs, BuffersFromProto(proto.outputs()));
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, FromProto(proto.function()));
  std::vector<ScalarType> result_types;
  for (const TypedName& result : function.results()) result_types.push_back(result.type);
  std::vector<CombineOperator> combine_operators;
  for (const v1::CombineOperator& combine : proto.combine_operators()) {
    MDH_ASSIGN_OR_RETURN(CombineOperator converted, CombineFromProto(combine, result_types));
    combine_operators.push_back(std::move(converted));
  }
  MDH_ASSIGN_OR_RETURN(std::optional<StoreFunction> store, StoreFromProto(proto));
  MDH_ASSIGN_OR_RETURN(
      Expression expression,
      Expression::Create({proto.name(),
                          std::move(dimensions),
                          std::move(inputs),
                          std::move(outputs),
                          std::move(function),
                          std::move(combine_operators),
                          {proto.index_dimensions().begin(), proto.index_dimensions().end()},
                          std::move(store)}));
  MDH_RETURN_IF_ERROR(CheckBytes(expression, limits));
  return expression;
}

v1::Expression ToProto(const Expression& expression) {
  v1::Expression proto;
  proto.set_name(expression.name());
  for (const Dimension& dimension : expression.dimensions()) {
    v1::Dimension* to = proto.add_dimensions();
    to->set_name(dimension.name);
    to->set_size(dimension.size);
  }
  for (const Buffer& buffer : expression.inputs()) *proto.add_inputs() = BufferToProto(buffer);
  for (const Buffer& buffer : expression.outputs()) *proto.add_outputs() = BufferToProto(buffer);
  *proto.mutable_function() = ToProto(expression.function());
  for (const CombineOperator& combine : expression.combine_operators()) {
    *proto.add_combine_operators() = CombineToProto(combine);
  }
  proto.mutable_index_dimensions()->Add(expression.index_dimensions().begin(),
                                        expression.index_dimensions().end());
  if (expression.store() != nullptr) *proto.mutable_store() = StoreToProto(*expression.store());
  return proto;
}

}  // namespace mdh
