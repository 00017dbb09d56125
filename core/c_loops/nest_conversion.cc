// Evaluates the innermost body and puts the parts of the expression together.
#include "core/c_loops/nest_conversion.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/c_loops/buffers.h"
#include "core/c_loops/combine_function.h"
#include "core/c_loops/nest_operators.h"
#include "core/expression/expression_place.h"

namespace mdh {
namespace {

class NestConversion {
 public:
  NestConversion(const CFunction& function, const Annotation& annotation,
                 const std::map<std::string, int64_t>& bound, ClangUnit* unit)
      : function_(function),
        annotation_(annotation),
        unit_(*unit),
        integers_(unit->source(), bound),
        memory_(unit, &integers_),
        evaluator_(unit, &builder_, &memory_) {}

  Result<Expression> Run(const CNode& loop) {
    MDH_ASSIGN_OR_RETURN(const CLoopNest nest, ParseLoopNest(loop, integers_));
    integers_.SetLoops(nest.loops);
    memory_.FindOutputs(*nest.body);
    MDH_RETURN_IF_ERROR(evaluator_.Run(*nest.body));
    MDH_RETURN_IF_ERROR(OrderBuffers());
    MDH_ASSIGN_OR_RETURN(std::vector<NestResult> results, Results());
    MDH_ASSIGN_OR_RETURN(const NestGuard guard, Guard());
    MDH_ASSIGN_OR_RETURN(NestOperators operators,
                         NestOperatorsOf(annotation_, integers_.loops(), std::move(results), guard,
                                         &evaluator_, &unit_));
    MDH_ASSIGN_OR_RETURN(Function made, MakeFunction(operators.values));
    ExpressionSpec spec{.name = function_.name,
                        .dimensions = {},
                        .inputs = {},
                        .outputs = {},
                        .function = std::move(made.function),
                        .combine_operators = std::move(operators.operators),
                        .index_dimensions = std::move(made.index_dimensions)};
    for (const Loop& dimension : integers_.loops()) {
      spec.dimensions.push_back({dimension.name, dimension.size});
    }
    for (const CBuffer* buffer : inputs_) {
      MDH_ASSIGN_OR_RETURN(Buffer input, memory_.ToBuffer(*buffer));
      spec.inputs.push_back(std::move(input));
    }
    for (const CBuffer* buffer : outputs_) {
      MDH_ASSIGN_OR_RETURN(Buffer output, memory_.ToBuffer(*buffer));
      output.keeps_unreached = IsKept(buffer->name);
      spec.outputs.push_back(std::move(output));
    }
    Result<Expression> expression = Expression::Create(std::move(spec));
    if (expression.ok()) return expression;
    const Status& status = expression.status();
    return unit_.source().ErrorAt(OffsetOf(PlaceOf(status)), status.message(), status.code());
  }

 private:
  struct Function {
    ScalarFunction function;
    std::vector<int> index_dimensions;
  };

  Status OrderBuffers() {
    std::vector<const CBuffer*> inputs, outputs;
    for (const CBuffer& buffer : memory_.buffers()) {
      (buffer.is_output ? outputs : inputs).push_back(&buffer);
    }
    if (outputs.empty()) {
      return unit_.source().ErrorAt(annotation_.loop, "the loops assign to no buffer");
    }
    MDH_ASSIGN_OR_RETURN(inputs_, Ordered(inputs, annotation_.inputs, "inp", "read"));
    MDH_ASSIGN_OR_RETURN(outputs_, Ordered(outputs, annotation_.outputs, "out", "assigned"));
    if (!annotation_.kept.has_value()) return absl::OkStatus();
    for (const AnnotatedName& name : *annotation_.kept) {
      const bool is_output =
          std::any_of(outputs_.begin(), outputs_.end(),
                      [&](const CBuffer* output) { return output->name == name.name; });
      if (is_output) continue;
      return unit_.source().ErrorAt(name.offset,
                                    absl::StrCat("'", name.name, "' is not assigned in the loops"));
    }
    return absl::OkStatus();
  }

  // Whether a point is an iteration. Errors: InvalidArgument if outputs are kept where none is.
  Result<NestGuard> Guard() {
    NestGuard all;
    for (const Loop& loop : integers_.loops()) {
      for (const AffineIndex& guard : loop.guards) {
        const int holds = builder_.Binary(ScalarOp::kGe, ValueOf(guard), Int64(0));
        all.condition =
            all.condition < 0 ? holds : builder_.Binary(ScalarOp::kAnd, all.condition, holds);
        all.offset = loop.offset;
      }
    }
    if (all.condition < 0 || !annotation_.kept.has_value() || annotation_.kept->empty()) return all;
    return unit_.source().ErrorAt(
        (*annotation_.kept)[0].offset,
        absl::StrCat("'", (*annotation_.kept)[0].name,
                     "' cannot be kept: the bounds of a loop depend on an outer one, and elements "
                     "outside of them get a value, too"));
  }

  int Int64(int64_t value) {
    return builder_.Constant(ScalarValue::Integer(ScalarType::kInt64, value));
  }

  // Of the indices of the dimensions.
  int ValueOf(const AffineIndex& index) {
    int sum = Int64(index.constant);
    for (size_t d = 0; d < index.coefficients.size(); ++d) {
      if (index.coefficients[d] == 0) continue;
      const int point = builder_.Parameter(ScalarType::kInt64,
                                           BufferMemory::kIndexParameters + static_cast<int>(d));
      const int term = index.coefficients[d] == 1
                           ? point
                           : builder_.Binary(ScalarOp::kMul, Int64(index.coefficients[d]), point);
      sum = builder_.Binary(ScalarOp::kAdd, sum, term);
    }
    return sum;
  }

  bool IsKept(const std::string& output) const {
    if (!annotation_.kept.has_value()) return false;
    return std::any_of(annotation_.kept->begin(), annotation_.kept->end(),
                       [&](const AnnotatedName& name) { return name.name == output; });
  }

  // In the order of the annotation, which must name the same buffers.
  Result<std::vector<const CBuffer*>> Ordered(
      const std::vector<const CBuffer*>& buffers,
      const std::optional<std::vector<AnnotatedName>>& names, absl::string_view clause,
      absl::string_view verb) const {
    if (!names.has_value()) return buffers;
    std::vector<const CBuffer*> ordered;
    for (const AnnotatedName& name : *names) {
      const auto buffer =
          std::find_if(buffers.begin(), buffers.end(),
                       [&](const CBuffer* candidate) { return candidate->name == name.name; });
      if (buffer == buffers.end()) {
        return unit_.source().ErrorAt(
            name.offset, absl::StrCat("'", name.name, "' is not ", verb, " in the loops"));
      }
      ordered.push_back(*buffer);
    }
    for (const CBuffer* buffer : buffers) {
      if (std::find(ordered.begin(), ordered.end(), buffer) != ordered.end()) continue;
      return unit_.source().ErrorAt(
          buffer->offset,
          absl::StrCat("'", buffer->name, "' is ", verb, ", but is not in ", clause, "(",
                       absl::StrJoin(*names, ", ",
                                     [](std::string* out, const AnnotatedName& name) {
                                       absl::StrAppend(out, name.name);
                                     }),
                       ")"));
    }
    return ordered;
  }

  // One per access of the outputs and field.
  Result<std::vector<NestResult>> Results() {
    std::vector<NestResult> results;
    for (const CBuffer* buffer : outputs_) {
      const std::vector<ScalarType> types = buffer->element.ScalarTypes();
      for (const CAccess& access : buffer->accesses) {
        const auto value = evaluator_.state().find(access.state);
        if (value == evaluator_.state().end()) {
          return unit_.source().ErrorAt(
              access.offset, absl::StrCat("'", buffer->name,
                                          "' is read at another element than "
                                          "those that are assigned; a buffer is read or written"));
        }
        const CValue former = memory_.Former(access.state);
        for (size_t n = 0; n < types.size(); ++n) {
          results.push_back({buffer->name, &access, types[n],
                             builder_.Cast(types[n], value->second[n]), former[n]});
        }
      }
    }
    return results;
  }

  void Parameters(const CBuffer& buffer, std::set<std::string>* used, std::vector<TypedName>* names,
                  std::map<int, int>* positions) const {
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      const std::string base =
          buffer.accesses.size() == 1 ? buffer.name : absl::StrCat(buffer.name, a + 1);
      const std::vector<ScalarType> types = buffer.element.ScalarTypes();
      const std::string name = UniqueName(base, used);
      for (size_t n = 0; n < types.size(); ++n) {
        (*positions)[buffer.accesses[a].first_parameter + static_cast<int>(n)] =
            static_cast<int>(names->size());
        const bool is_record = buffer.element.is_record();
        names->push_back(
            {is_record ? absl::StrCat(name, ".", buffer.element.fields[n].name) : name, types[n]});
      }
    }
  }

  Result<Function> MakeFunction(const std::vector<int>& values) const {
    std::vector<int> index_dimensions;
    std::set<std::string> used;
    std::vector<TypedName> parameters, results;
    std::map<int, int> positions, unused;
    for (const CBuffer* buffer : inputs_) Parameters(*buffer, &used, &parameters, &positions);
    for (const CBuffer* buffer : outputs_) Parameters(*buffer, &used, &results, &unused);
    for (const int parameter : builder_.UsedParameters(values)) {
      if (parameter < BufferMemory::kIndexParameters) continue;
      const int d = parameter - BufferMemory::kIndexParameters;
      positions[parameter] = static_cast<int>(parameters.size());
      parameters.push_back({UniqueName(integers_.loops()[d].name, &used), ScalarType::kInt64});
      index_dimensions.push_back(d);
    }
    Result<ScalarFunction> function =
        builder_.Finish("f", std::move(parameters), std::move(results), values, positions);
    if (!function.ok()) {
      return unit_.source().ErrorAt(annotation_.loop, function.status().message());
    }
    return Function{*std::move(function), std::move(index_dimensions)};
  }

  size_t OffsetOf(const std::optional<ExpressionPlace>& place) const {
    if (!place.has_value()) return annotation_.loop;
    using Kind = ExpressionPlace::Kind;
    const bool is_input = place->kind == Kind::kInput;
    switch (place->kind) {
      case Kind::kDimension:
        return integers_.loops()[place->number].offset;
      case Kind::kInput:
      case Kind::kOutput: {
        const CBuffer& buffer = *(is_input ? inputs_ : outputs_)[place->number];
        return place->access < 0 ? buffer.offset : buffer.accesses[place->access].offset;
      }
      case Kind::kCombineOperator:
        if (annotation_.operators.has_value()) {
          return (*annotation_.operators)[place->number].offset;
        }
        return annotation_.loop;
      default:
        return annotation_.loop;
    }
  }

  const CFunction& function_;
  const Annotation& annotation_;
  ClangUnit& unit_;
  IntegerEvaluator integers_;
  ScalarBuilder builder_;
  BufferMemory memory_;
  Evaluator evaluator_;
  std::vector<const CBuffer*> inputs_, outputs_;
};

}  // namespace

Result<Expression> ConvertNest(const CFunction& function, const CNode& loop,
                               const Annotation& annotation,
                               const std::map<std::string, int64_t>& bound, ClangUnit* unit) {
  return NestConversion(function, annotation, bound, unit).Run(loop);
}

}  // namespace mdh
