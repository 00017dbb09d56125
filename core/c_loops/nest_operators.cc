// Dimensions that no output uses are reduced, the others concatenated.
#include "core/c_loops/nest_operators.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/c_loops/combine_function.h"
#include "core/c_loops/reduction.h"

namespace mdh {
namespace {

using OperatorKind = AnnotatedOperator::Kind;

// What the code does: an operation per result, or a call of one function for all of them.
struct CodeReduction {
  std::vector<std::optional<PointWiseKind>> kinds;  // nullopt: a plain assignment
  std::string function;
  std::vector<int> values;
};

class OperatorDerivation {
 public:
  OperatorDerivation(const Annotation& annotation, const std::vector<Loop>& loops,
                     std::vector<NestResult> results, Evaluator* evaluator, ClangUnit* unit)
      : annotation_(annotation),
        loops_(loops),
        results_(std::move(results)),
        evaluator_(*evaluator),
        unit_(*unit) {
    for (const NestResult& result : results_) types_.push_back(result.type);
  }

  Result<NestOperators> Run() {
    MDH_RETURN_IF_ERROR(FindReduced());
    MDH_RETURN_IF_ERROR(CheckAnnotation());
    if (!combines_) {
      MDH_RETURN_IF_ERROR(CheckNoReduction());
      NestOperators made{std::vector<CombineOperator>(loops_.size(), CombineOperator::Concat()),
                         {}};
      for (const NestResult& result : results_) made.values.push_back(result.value);
      return made;
    }
    return annotation_.operators.has_value() ? Annotated() : Derived();
  }

 private:
  template <typename... Parts>
  Status ErrorAt(size_t offset, const Parts&... message) const {
    return unit_.source().ErrorAt(offset, message...);
  }

  Status FindReduced() {
    for (int d = 0; d < static_cast<int>(loops_.size()); ++d) {
      const bool used = results_[0].uses[d];
      for (const NestResult& result : results_) {
        if (result.uses[d] == used) continue;
        return ErrorAt(result.offset, "'", results_[0].buffer, "' and '", result.buffer,
                       "' differ: the index of only one of them uses '", loops_[d].name, "'");
      }
      is_reduced_.push_back(!used);
      combines_ = combines_ || !used;
    }
    return absl::OkStatus();
  }

  Status CheckAnnotation() {
    if (!annotation_.operators.has_value()) return absl::OkStatus();
    const std::vector<AnnotatedOperator>& operators = *annotation_.operators;
    if (operators.size() != loops_.size()) {
      return ErrorAt(operators[0].offset, "combine_ops has ", operators.size(), " operators for ",
                     loops_.size(), " loops");
    }
    for (size_t d = 0; d < loops_.size(); ++d) {
      const AnnotatedOperator& combine = operators[d];
      if (combine.kind == OperatorKind::kPointWise && !is_reduced_[d]) {
        return ErrorAt(combine.offset, "'", loops_[d].name, "' is reduced here, but '",
                       results_[0].buffer, "' is indexed by it");
      }
      if (combine.kind != OperatorKind::kPointWise && is_reduced_[d]) {
        return ErrorAt(combine.offset, "'", loops_[d].name, "' is not reduced here, but '",
                       results_[0].buffer, "' is not indexed by it");
      }
      combines_ = combines_ || combine.kind == OperatorKind::kPrefixSum;
    }
    return absl::OkStatus();
  }

  bool UsesFormer(int value, const NestResult& of) const {
    return DependsOn(evaluator_.builder(), value, of.former);
  }

  // The first result whose value uses the former value of any.
  const NestResult* ThatUsesFormer() const {
    for (const NestResult& result : results_) {
      for (const NestResult& other : results_) {
        if (UsesFormer(result.value, other)) return &result;
      }
    }
    return nullptr;
  }

  Status CheckNoReduction() const {
    const NestResult* result = ThatUsesFormer();
    if (result == nullptr) return absl::OkStatus();
    return ErrorAt(result->offset, "'", result->buffer,
                   "' keeps or uses its former value, but no loop "
                   "reduces; assign it in all cases, and from other buffers");
  }

  // A call f(former, value) that gives all results, or f(value, former).
  std::optional<CodeReduction> FindCall() const {
    std::vector<int> former, values;
    for (const NestResult& result : results_) {
      former.push_back(result.former);
      values.push_back(result.value);
    }
    for (const EvaluatedCall& call : evaluator_.calls()) {
      if (call.result != values || call.arguments.size() != 2) continue;
      for (const int side : {0, 1}) {
        if (call.arguments[side] != former || call.arguments[1 - side].size() != former.size()) {
          continue;
        }
        const std::vector<int>& operand = call.arguments[1 - side];
        const bool is_free = std::ranges::none_of(operand, [&](int value) {
          return std::ranges::any_of(
              results_, [&](const NestResult& result) { return UsesFormer(value, result); });
        });
        if (is_free) return CodeReduction{{}, call.function, operand};
      }
    }
    return std::nullopt;
  }

  // Errors: InvalidArgument if a value uses former values in another way.
  Result<CodeReduction> FindOperations() const {
    CodeReduction found;
    for (const NestResult& result : results_) {
      int value = result.value;
      std::optional<PointWiseKind> kind;
      if (UsesFormer(value, result)) {
        const std::optional<DerivedReduction> derived =
            DeriveReduction(&evaluator_.builder(), value, result.former);
        if (!derived.has_value()) return NotRecognised(result);
        value = derived->operand;
        kind = derived->kind;
      }
      for (const NestResult& other : results_) {
        if (UsesFormer(value, other)) return NotRecognised(result);
      }
      found.kinds.push_back(kind);
      found.values.push_back(value);
    }
    return found;
  }

  Status NotRecognised(const NestResult& result) const {
    return ErrorAt(result.offset, "the way in which '", result.buffer,
                   "' combines values is not recognised; assign the value of one "
                   "iteration with '=' and name the operator in combine_ops");
  }

  Result<NestOperators> Derived() const {
    Result<CodeReduction> code = FindOperations();
    if (!code.ok()) {
      const std::optional<CodeReduction> call = FindCall();
      if (!call.has_value()) return code.status();
      code = *call;
    }
    std::optional<CombineOperator> combine;
    if (!code->function.empty()) {
      MDH_ASSIGN_OR_RETURN(combine,
                           CombineFunction(code->function, results_[0].offset, types_, &unit_));
    } else {
      std::vector<PointWiseKind> kinds;
      for (size_t r = 0; r < results_.size(); ++r) {
        if (!code->kinds[r].has_value()) return NoOperator(results_[r]);
        kinds.push_back(*code->kinds[r]);
      }
      MDH_ASSIGN_OR_RETURN(combine, CombineOperator::PointWise(kinds, types_));
    }
    NestOperators made{{}, code->values};
    for (const bool is_reduced : is_reduced_) {
      made.operators.push_back(is_reduced ? *combine : CombineOperator::Concat());
    }
    return made;
  }

  Status NoOperator(const NestResult& result) const {
    const size_t d = std::ranges::find(is_reduced_, true) - is_reduced_.begin();
    return ErrorAt(result.offset, "'", result.buffer, "' is assigned anew in every iteration of '",
                   loops_[d].name,
                   "'; combine the values, as with +=, or name the operator in "
                   "combine_ops");
  }

  // The named operations, one per result; empty if it is a function of the file.
  Result<std::vector<PointWiseKind>> NamedOperations(const AnnotatedOperator& combine) const {
    std::vector<PointWiseKind> kinds;
    for (const AnnotatedName& name : combine.functions) {
      const std::optional<PointWiseKind> kind = NamedOperation(name.name);
      if (kind.has_value()) kinds.push_back(*kind);
    }
    if (kinds.empty() && combine.functions.size() == 1) return kinds;
    if (kinds.size() != combine.functions.size()) {
      return ErrorAt(combine.offset,
                     "a function combines all results; it cannot stand beside "
                     "other operators");
    }
    if (kinds.size() == 1) kinds.resize(results_.size(), kinds[0]);
    if (kinds.size() == results_.size()) return kinds;
    return ErrorAt(combine.offset, "there are ", kinds.size(), " operators for ", results_.size(),
                   " results");
  }

  // `code`: what the code does with each result, which decides about nan.
  Result<CombineOperator> AnnotatedCombine(
      const AnnotatedOperator& combine,
      const std::vector<std::optional<PointWiseKind>>& code) const {
    if (combine.kind == OperatorKind::kConcat) return CombineOperator::Concat();
    MDH_ASSIGN_OR_RETURN(std::vector<PointWiseKind> kinds, NamedOperations(combine));
    for (size_t r = 0; r < std::min(kinds.size(), code.size()); ++r) {
      if (IsSilentAboutNan(kinds[r], code[r])) kinds[r] = *code[r];
    }
    const AnnotatedName& name = combine.functions[0];
    Result<CombineOperator> made = kinds.empty()
                                       ? CombineFunction(name.name, name.offset, types_, &unit_)
                                       : CombineOperator::PointWise(kinds, types_);
    if (!made.ok()) {
      if (kinds.empty()) return made;
      return ErrorAt(name.offset, made.status().message());
    }
    return combine.kind == OperatorKind::kPrefixSum ? made->AsPrefixSum() : *made;
  }

  Result<NestOperators> Annotated() const {
    const AnnotatedOperator& reduces = *std::ranges::find_if(
        *annotation_.operators,
        [](const auto& combine) { return combine.kind != OperatorKind::kConcat; });
    // What is wrong with the operators themselves is said first.
    MDH_RETURN_IF_ERROR(AnnotatedOperators({}).status());
    MDH_ASSIGN_OR_RETURN(const CodeReduction code, AnnotatedCode(reduces));
    MDH_ASSIGN_OR_RETURN(std::vector<CombineOperator> operators, AnnotatedOperators(code.kinds));
    return NestOperators{std::move(operators), code.values};
  }

  Result<std::vector<CombineOperator>> AnnotatedOperators(
      const std::vector<std::optional<PointWiseKind>>& code) const {
    std::vector<CombineOperator> operators;
    for (const AnnotatedOperator& combine : *annotation_.operators) {
      MDH_ASSIGN_OR_RETURN(CombineOperator built, AnnotatedCombine(combine, code));
      operators.push_back(std::move(built));
    }
    return operators;
  }

  // What the code does, which `combine` must not contradict.
  Result<CodeReduction> AnnotatedCode(const AnnotatedOperator& combine) const {
    MDH_ASSIGN_OR_RETURN(const std::vector<PointWiseKind> kinds, NamedOperations(combine));
    if (kinds.empty()) {
      MDH_ASSIGN_OR_RETURN(std::vector<int> values, ValuesForFunction(combine));
      return CodeReduction{{}, combine.functions[0].name, std::move(values)};
    }
    MDH_ASSIGN_OR_RETURN(CodeReduction code, FindOperations());
    for (size_t r = 0; r < kinds.size(); ++r) {
      if (!code.kinds[r].has_value() || code.kinds[r] == kinds[r] ||
          IsSilentAboutNan(kinds[r], code.kinds[r])) {
        continue;
      }
      return Contradiction(combine, Spelling(kinds[r]), results_[r],
                           absl::StrCat("'", Spelling(*code.kinds[r]), "'"));
    }
    return code;
  }

  // Whether `annotated` agrees with what the code does but for nan.
  static bool IsSilentAboutNan(PointWiseKind annotated, std::optional<PointWiseKind> code) {
    return (annotated == PointWiseKind::kMin && code == PointWiseKind::kFmin) ||
           (annotated == PointWiseKind::kMax && code == PointWiseKind::kFmax);
  }

  // The code calls the function, or assigns plainly.
  Result<std::vector<int>> ValuesForFunction(const AnnotatedOperator& combine) const {
    const std::string& name = combine.functions[0].name;
    if (const std::optional<CodeReduction> call = FindCall(); call.has_value()) {
      if (call->function == name) return call->values;
      return Contradiction(combine, name, results_[0], absl::StrCat("'", call->function, "'"));
    }
    if (const NestResult* result = ThatUsesFormer(); result != nullptr) {
      return Contradiction(combine, name, *result, "something else");
    }
    std::vector<int> values;
    for (const NestResult& result : results_) values.push_back(result.value);
    return values;
  }

  Status Contradiction(const AnnotatedOperator& combine, absl::string_view annotated,
                       const NestResult& result, absl::string_view found) const {
    return ErrorAt(combine.offset, "combine_ops says '", annotated, "', but the code combines '",
                   result.buffer, "' with ", found);
  }

  const Annotation& annotation_;
  const std::vector<Loop>& loops_;
  std::vector<NestResult> results_;
  Evaluator& evaluator_;
  ClangUnit& unit_;
  std::vector<ScalarType> types_;
  std::vector<bool> is_reduced_;
  bool combines_ = false;  // some dimension is reduced or has a prefix sum
};

// Values of points that are no iterations become the operator's identity, or zero.
Status Guarded(const NestGuard& guard, const std::vector<ScalarType>& types, ScalarBuilder* builder,
               const Source& source, NestOperators* made) {
  const auto combines = std::ranges::find_if(
      made->operators, [](const CombineOperator& one) { return !one.is_concat(); });
  for (size_t r = 0; r < types.size(); ++r) {
    ScalarValue outside = ScalarValue::Zero(types[r]);
    if (combines != made->operators.end()) {
      if (!combines->identity().has_value()) {
        return source.ErrorAt(guard.offset,
                              "the bounds of this loop depend on an outer one, but the function "
                              "that combines values has no neutral element for what lies outside");
      }
      outside = (*combines->identity())[r];
    }
    const int value = builder->Cast(types[r], made->values[r]);
    made->values[r] = builder->Select(guard.condition, value, builder->Constant(outside));
  }
  return absl::OkStatus();
}

}  // namespace

Result<NestOperators> NestOperatorsOf(const Annotation& annotation, const std::vector<Loop>& loops,
                                      std::vector<NestResult> results, const NestGuard& guard,
                                      Evaluator* evaluator, ClangUnit* unit) {
  std::vector<ScalarType> types;
  for (const NestResult& result : results) types.push_back(result.type);
  MDH_ASSIGN_OR_RETURN(
      NestOperators made,
      OperatorDerivation(annotation, loops, std::move(results), evaluator, unit).Run());
  if (guard.condition >= 0) {
    MDH_RETURN_IF_ERROR(Guarded(guard, types, &evaluator->builder(), unit->source(), &made));
  }
  return made;
}

}  // namespace mdh
