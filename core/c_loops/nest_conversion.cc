// Evaluates the innermost body and puts the parts of the expression together.
#include "core/c_loops/nest_conversion.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/c_loops/accumulators.h"
#include "core/c_loops/buffers.h"
#include "core/c_loops/nest_function.h"
#include "core/c_loops/nest_operators.h"
#include "core/expression/expression_place.h"

namespace mdh {
namespace {

class NestConversion {
 public:
  NestConversion(const std::string& name, const Annotation& annotation,
                 const std::map<std::string, int64_t>& bound, ClangUnit* unit)
      : name_(name),
        annotation_(annotation),
        unit_(*unit),
        integers_(unit->source(), bound),
        memory_(unit, &integers_),
        evaluator_(unit, &builder_, &memory_) {}

  Result<ConvertedNest> Run(const CNode& loop) {
    MDH_ASSIGN_OR_RETURN(nest_, ParseLoopNest(loop, integers_));
    integers_.SetLoops(nest_.loops);
    memory_.FindOutputs(nest_);
    MDH_ASSIGN_OR_RETURN(accumulators_,
                         StartAccumulators(nest_, &evaluator_, &memory_, &integers_));
    MDH_RETURN_IF_ERROR(evaluator_.Run(*nest_.body));
    if (!nest_.has_after()) MDH_RETURN_IF_ERROR(OrderBuffers());
    MDH_ASSIGN_OR_RETURN(std::vector<NestResult> results, Results());
    const int all_loops = static_cast<int>(nest_.loops.size());
    const NestGuard guard = GuardOf(all_loops);
    MDH_RETURN_IF_ERROR(CheckNothingIsKept(guard));
    MDH_ASSIGN_OR_RETURN(NestOperators operators, NestOperatorsOf(annotation_, nest_.loops, results,
                                                                  guard, &evaluator_, &unit_));
    std::vector<int> stored;
    if (nest_.has_after()) {
      MDH_RETURN_IF_ERROR(RunBehind(results, operators.operators[nest_.outer]));
      MDH_RETURN_IF_ERROR(OrderBuffers());
      MDH_ASSIGN_OR_RETURN(stored, Stored(results));
    }
    MDH_ASSIGN_OR_RETURN(Expression expression, Assemble(results, std::move(operators), stored));
    std::vector<NestBuffer> inputs, outputs;
    for (const Buffer& input : expression.passed_inputs()) inputs.push_back(Named(input.name));
    for (const Buffer& output : expression.outputs()) outputs.push_back(Named(output.name));
    return ConvertedNest{std::move(expression), std::move(inputs), std::move(outputs)};
  }

 private:
  NestBuffer Named(const std::string& name) const {
    const auto found = std::ranges::find(memory_.buffers(), name, &CBuffer::name);
    return {found->declaration, found->offset};
  }

  Result<Expression> Assemble(const std::vector<NestResult>& results, NestOperators operators,
                              const std::vector<int>& stored) {
    const std::set<int> by_f = builder_.UsedParameters(operators.values);
    const std::set<int> by_store = builder_.UsedParameters(stored);
    // What stands before inner loops is read where it is used, or else by f.
    function_inputs_ = InputsWith([&](const CBuffer& buffer, const CAccess& access) {
      return access.is_in_body || IsUsed(buffer, access, by_f) ||
             (!access.is_behind && !IsUsed(buffer, access, by_store));
    });
    store_inputs_ = InputsWith([&](const CBuffer& buffer, const CAccess& access) {
      return access.is_behind || IsUsed(buffer, access, by_store);
    });
    const NestElements given = ResultElements();
    MDH_ASSIGN_OR_RETURN(NestFunction made,
                         MakeFunction("f", ElementsOf(function_inputs_), given, operators.values));
    ExpressionSpec spec{.name = name_,
                        .dimensions = {},
                        .inputs = {},
                        .outputs = {},
                        .function = std::move(made.function),
                        .combine_operators = std::move(operators.operators),
                        .index_dimensions = std::move(made.index_dimensions)};
    for (const Loop& dimension : nest_.loops) {
      spec.dimensions.push_back({dimension.name, dimension.size});
    }
    MDH_ASSIGN_OR_RETURN(spec.inputs, ToBuffers(function_inputs_));
    for (const CBuffer* buffer : outputs_) {
      MDH_ASSIGN_OR_RETURN(Buffer output, memory_.ToBuffer(*buffer));
      output.keeps_unreached = IsKept(buffer->name);
      spec.outputs.push_back(std::move(output));
    }
    if (nest_.has_after() && !IsStoredAsItIs(results, stored)) {
      NestElements taken = ElementsOf(store_inputs_);
      taken.insert(taken.begin(), given.begin(), given.end());
      MDH_ASSIGN_OR_RETURN(NestFunction store, MakeFunction("s", taken, OutputElements(), stored));
      spec.store = StoreFunction{.function = std::move(store.function),
                                 .index_dimensions = std::move(store.index_dimensions)};
      MDH_ASSIGN_OR_RETURN(spec.store->inputs, ToBuffers(store_inputs_));
    }
    Result<Expression> expression = Expression::Create(std::move(spec));
    if (expression.ok()) return expression;
    const Status& status = expression.status();
    return unit_.source().ErrorOfCode(status.code(), OffsetOf(PlaceOf(status)), status.message());
  }

  // Evaluates the statements behind the loops that are reduced.
  Status RunBehind(const std::vector<NestResult>& results, const CombineOperator& combine) {
    MDH_RETURN_IF_ERROR(FinishAccumulators(accumulators_, results, combine, &evaluator_, &unit_));
    for (const CBuffer& buffer : memory_.buffers()) {
      for (const CAccess& access : buffer.accesses) evaluator_.state().erase(access.state);
    }
    memory_.Enter(BufferMemory::Part::kBehind);
    integers_.EndLoops(nest_.outer);
    for (const CNode* statement : nest_.after) MDH_RETURN_IF_ERROR(evaluator_.Run(*statement));
    return absl::OkStatus();
  }

  // What is stored, one per field of each access of the outputs.
  Result<std::vector<int>> Stored(const std::vector<NestResult>& results) {
    std::vector<int> stored;
    std::set<int> formers;
    for (const NestResult& result : results) formers.insert(result.former);
    for (const CBuffer* buffer : outputs_) {
      const std::vector<ScalarType> types = buffer->element.ScalarTypes();
      for (const CAccess& access : buffer->accesses) {
        MDH_RETURN_IF_ERROR(CheckEveryLoopIsKept(*buffer, access));
        const auto written = evaluator_.state().find(access.state);
        const bool is_written = written != evaluator_.state().end();
        const CValue value = is_written ? written->second : memory_.Former(access.state);
        for (size_t n = 0; n < types.size(); ++n) {
          stored.push_back(builder_.Cast(types[n], value[n]));
          if (is_written || formers.count(value[n]) > 0) continue;
          return ReadElsewhere(*buffer, access);
        }
      }
    }
    const std::set<int> used = builder_.UsedParameters(stored);
    for (const CBuffer* buffer : outputs_) {
      for (const CAccess& access : buffer->accesses) {
        for (const int former : memory_.Former(access.state)) {
          if (formers.count(former) > 0 || used.count(builder_.at(former).parameter) == 0) continue;
          return ReadElsewhere(*buffer, access);
        }
      }
    }
    MDH_RETURN_IF_ERROR(CheckResultsAreUsed(results, used));
    return GuardedOutside(std::move(stored));
  }

  Status CheckEveryLoopIsKept(const CBuffer& buffer, const CAccess& access) const {
    const std::vector<bool> uses = UsesOf(access);
    for (size_t d = 0; d < uses.size(); ++d) {
      if (uses[d] == (d < nest_.outer)) continue;
      const std::string& name = nest_.loops[d].name;
      return unit_.source().ErrorAt(
          access.offset,
          uses[d] ? absl::StrCat("'", buffer.name, "' is indexed by '", name,
                                 "', but the statements behind that loop take it for reduced; they "
                                 "must stand in it")
                  : absl::StrCat("'", buffer.name, "' is assigned anew in every iteration of '",
                                 name, "', behind whose inner loops it stands"));
    }
    return absl::OkStatus();
  }

  Status CheckResultsAreUsed(const std::vector<NestResult>& results,
                             const std::set<int>& used) const {
    for (const NestResult& result : results) {
      const bool is_used = std::ranges::any_of(results, [&](const NestResult& field) {
        return field.buffer == result.buffer && field.offset == result.offset &&
               used.count(builder_.at(field.former).parameter) > 0;
      });
      if (is_used) continue;
      return unit_.source().ErrorAt(result.offset, "nothing behind the loop over '",
                                    nest_.loops[nest_.outer].name, "' uses what it makes of '",
                                    result.buffer, "'");
    }
    return absl::OkStatus();
  }

  // Elements for points that are no iterations of the outer loops are zero.
  std::vector<int> GuardedOutside(std::vector<int> stored) {
    const NestGuard guard = GuardOf(static_cast<int>(nest_.outer));
    if (guard.condition < 0) return stored;
    for (int& value : stored) {
      const int zero = builder_.Constant(ScalarValue::Zero(builder_.type(value)));
      value = builder_.Select(guard.condition, value, zero);
    }
    return stored;
  }

  // Whether storing does nothing but convert the results, so that it needs no function.
  bool IsStoredAsItIs(const std::vector<NestResult>& results,
                      const std::vector<int>& stored) const {
    return std::ranges::equal(results, stored, [&](const NestResult& result, int value) {
      const ScalarInstruction& last = builder_.at(value);
      return value == result.former ||
             (last.op == ScalarOp::kCast && last.operands[0] == result.former);
    });
  }

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
      const bool is_output = std::ranges::any_of(
          outputs_, [&](const CBuffer* output) { return output->name == name.name; });
      if (is_output) continue;
      return unit_.source().ErrorAt(name.offset, "'", name.name, "' is not assigned in the loops");
    }
    return absl::OkStatus();
  }

  // Whether a point is an iteration of the outermost `count` loops.
  NestGuard GuardOf(int count) {
    NestGuard all;
    for (int d = 0; d < count; ++d) {
      const Loop& loop = nest_.loops[d];
      for (const AffineIndex& guard : loop.guards) {
        const int holds = builder_.Binary(ScalarOp::kGe, ValueOf(guard), Int64(0));
        all.condition =
            all.condition < 0 ? holds : builder_.Binary(ScalarOp::kAnd, all.condition, holds);
        all.offset = loop.offset;
      }
    }
    return all;
  }

  // Errors: InvalidArgument if outputs are kept where a point is no iteration.
  Status CheckNothingIsKept(const NestGuard& guard) const {
    if (guard.condition < 0 || !annotation_.kept.has_value() || annotation_.kept->empty()) {
      return absl::OkStatus();
    }
    return unit_.source().ErrorAt(
        (*annotation_.kept)[0].offset, "'", (*annotation_.kept)[0].name,
        "' cannot be kept: the bounds of a loop depend on an outer one, and elements "
        "outside of them get a value, too");
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
    return std::ranges::any_of(*annotation_.kept,
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
      const auto buffer = std::ranges::find_if(
          buffers, [&](const CBuffer* candidate) { return candidate->name == name.name; });
      if (buffer == buffers.end()) {
        return unit_.source().ErrorAt(name.offset, "'", name.name, "' is not ", verb,
                                      " in the loops");
      }
      ordered.push_back(*buffer);
    }
    for (const CBuffer* buffer : buffers) {
      if (std::ranges::find(ordered, buffer) != ordered.end()) continue;
      return unit_.source().ErrorAt(
          buffer->offset, "'", buffer->name, "' is ", verb, ", but is not in ", clause, "(",
          absl::StrJoin(
              *names, ", ",
              [](std::string* out, const AnnotatedName& name) { absl::StrAppend(out, name.name); }),
          ")");
    }
    return ordered;
  }

  Status ReadElsewhere(const CBuffer& buffer, const CAccess& access) const {
    return unit_.source().ErrorAt(
        access.offset,

        "'", buffer.name,
        nest_.has_after()
            ? "' is read before it is assigned; former contents of outputs do not count"
            : "' is read at another element than those that are assigned; a buffer is "
              "read or written");
  }

  std::vector<bool> UsesOf(const CAccess& access) const {
    std::vector<bool> uses(nest_.loops.size(), false);
    for (const AffineIndex& index : access.index.indices) {
      for (size_t d = 0; d < uses.size(); ++d) uses[d] = uses[d] || index.coefficients[d] != 0;
    }
    return uses;
  }

  // What the innermost body gives: accumulators, then one per access of the outputs and field.
  Result<std::vector<NestResult>> Results() {
    std::vector<NestResult> results = ResultsOf(accumulators_, nest_, &evaluator_);
    std::vector<const CBuffer*> outputs = outputs_;
    for (const CBuffer& buffer : memory_.buffers()) {
      if (nest_.has_after() && buffer.is_output) outputs.push_back(&buffer);
    }
    for (const CBuffer* buffer : outputs) {
      const std::vector<ScalarType> types = buffer->element.ScalarTypes();
      for (const CAccess& access : buffer->accesses) {
        const auto value = evaluator_.state().find(access.state);
        if (value == evaluator_.state().end()) return ReadElsewhere(*buffer, access);
        if (nest_.has_after()) MDH_RETURN_IF_ERROR(CheckEveryLoopIsKept(*buffer, access));
        const CValue former = memory_.Former(access.state);
        for (size_t n = 0; n < types.size(); ++n) {
          results.push_back({buffer->name, access.offset, UsesOf(access), types[n],
                             builder_.Cast(types[n], value->second[n]), former[n]});
        }
      }
    }
    if (!results.empty()) return results;
    return unit_.source().ErrorAt(nest_.after[0]->begin, "nothing behind the loop over '",
                                  nest_.loops[nest_.outer].name, "' uses what it makes");
  }

  // Inputs with the accesses that `belongs` picks, if there are any.
  template <typename Predicate>
  NestInputs InputsWith(const Predicate& belongs) const {
    NestInputs inputs;
    for (const CBuffer* buffer : inputs_) {
      std::vector<const CAccess*> accesses;
      for (const CAccess& access : buffer->accesses) {
        if (belongs(*buffer, access)) accesses.push_back(&access);
      }
      if (!accesses.empty()) inputs.emplace_back(buffer, std::move(accesses));
    }
    return inputs;
  }

  Result<std::vector<Buffer>> ToBuffers(const NestInputs& inputs) const {
    std::vector<Buffer> buffers;
    for (const auto& [buffer, accesses] : inputs) {
      MDH_ASSIGN_OR_RETURN(Buffer input, memory_.ToBuffer(*buffer));
      input.accesses.clear();
      for (const CAccess* access : accesses) input.accesses.push_back(access->index);
      buffers.push_back(std::move(input));
    }
    return buffers;
  }

  NestElements OutputElements() const {
    NestElements elements;
    for (const CBuffer* buffer : outputs_) {
      std::vector<const CAccess*> accesses;
      for (const CAccess& access : buffer->accesses) accesses.push_back(&access);
      AddElements(*buffer, accesses, &elements);
    }
    return elements;
  }

  // In the order of Results().
  NestElements ResultElements() const {
    if (!nest_.has_after()) return OutputElements();
    NestElements elements;
    for (const Accumulator& accumulator : accumulators_) {
      elements.push_back(
          {accumulator.name, accumulator.type, builder_.at(accumulator.result[0]).parameter});
    }
    for (const CBuffer& buffer : memory_.buffers()) {
      std::vector<const CAccess*> accesses;
      for (const CAccess& access : buffer.accesses) {
        if (buffer.is_output && access.is_in_body) accesses.push_back(&access);
      }
      AddElements(buffer, accesses, &elements);
    }
    return elements;
  }

  Result<NestFunction> MakeFunction(std::string name, const NestElements& parameters,
                                    const NestElements& results,
                                    const std::vector<int>& values) const {
    Result<NestFunction> made =
        MakeNestFunction(std::move(name), parameters, results, values, nest_.loops, builder_);
    if (made.ok()) return made;
    return unit_.source().ErrorAt(annotation_.loop, made.status().message());
  }

  static size_t OffsetOf(const ExpressionPlace& place, const NestInputs& inputs) {
    const auto& [buffer, accesses] = inputs[place.number];
    return place.access < 0 ? buffer->offset : accesses[place.access]->offset;
  }

  size_t OffsetOf(const std::optional<ExpressionPlace>& place) const {
    if (!place.has_value()) return annotation_.loop;
    using Kind = ExpressionPlace::Kind;
    switch (place->kind) {
      case Kind::kDimension:
        return nest_.loops[place->number].offset;
      case Kind::kInput:
        return OffsetOf(*place, function_inputs_);
      case Kind::kStoreInput:
        return OffsetOf(*place, store_inputs_);
      case Kind::kOutput: {
        const CBuffer& buffer = *outputs_[place->number];
        return place->access < 0 ? buffer.offset : buffer.accesses[place->access].offset;
      }
      case Kind::kStoreFunction:
        return nest_.after[0]->begin;
      case Kind::kCombineOperator:
        if (annotation_.operators.has_value()) {
          return (*annotation_.operators)[place->number].offset;
        }
        return annotation_.loop;
      default:
        return annotation_.loop;
    }
  }

  const std::string& name_;
  const Annotation& annotation_;
  ClangUnit& unit_;
  IntegerEvaluator integers_;
  ScalarBuilder builder_;
  BufferMemory memory_;
  Evaluator evaluator_;
  CLoopNest nest_ = {};
  std::vector<Accumulator> accumulators_;
  std::vector<const CBuffer*> inputs_, outputs_;
  NestInputs function_inputs_, store_inputs_;  // what f and the store function read of inputs_
};

}  // namespace

Result<ConvertedNest> ConvertNest(const std::string& name, const CNode& loop,
                                  const Annotation& annotation,
                                  const std::map<std::string, int64_t>& bound, ClangUnit* unit) {
  return NestConversion(name, annotation, bound, unit).Run(loop);
}

}  // namespace mdh
