#include "core/c_loops/nest_pipeline.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/c_loops/loop_nest.h"
#include "core/c_loops/nest_conversion.h"
#include "core/pipeline/pipeline_place.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;
using Role = PipelineBuffer::Role;

bool IsNest(const CNode& statement) {
  return statement.kind == Kind::kFor || statement.kind == Kind::kCompound;
}

// 0, or a list of it.
bool IsZero(const CNode& value) {
  const CNode& inner = Unwrapped(value);
  if (inner.kind == Kind::kList) return std::ranges::all_of(inner.children, IsZero);
  return inner.kind == Kind::kLiteral && inner.value.has_value() &&
         *inner.value == ScalarValue::Zero(inner.value->type());
}

// Whether the results that are stored in output number `output` start at 0 as well: whatever else
// is combined with 0 is the same. A store function may make an output of any result.
bool StartsAtZero(const Expression& expression, int output) {
  if (!expression.has_reduction() && !expression.has_prefix_sum()) return true;
  const auto& identity = expression.reduction().identity();
  if (!identity.has_value()) return false;
  for (int n = 0; n < static_cast<int>(identity->size()); ++n) {
    const bool belongs =
        expression.store() != nullptr || expression.output_access(n).buffer == output;
    if (belongs && (*identity)[n] != ScalarValue::Zero((*identity)[n].type())) return false;
  }
  return true;
}

class PipelineConversion {
 public:
  PipelineConversion(const std::string& name, const CNode& block, const Annotation& annotation,
                     const std::map<std::string, int64_t>& bound, ClangUnit* unit)
      : block_(block), annotation_(annotation), bound_(bound), unit_(*unit) {
    spec_.name = name;
  }

  Result<Pipeline> Run() {
    MDH_RETURN_IF_ERROR(CheckAnnotation());
    for (const CNode& statement : block_.children) MDH_RETURN_IF_ERROR(Add(statement));
    MDH_RETURN_IF_ERROR(CheckInnerAnnotations());
    MDH_RETURN_IF_ERROR(AddSteps());
    Result<Pipeline> pipeline = Pipeline::Create(std::move(spec_));
    if (pipeline.ok()) return pipeline;
    const Status& status = pipeline.status();
    return unit_.source().ErrorOfCode(status.code(), OffsetOf(PlaceOfPipeline(status)),
                                      status.message());
  }

 private:
  template <typename... Parts>
  Status ErrorAt(size_t offset, const Parts&... message) const {
    return unit_.source().ErrorAt(offset, message...);
  }

  Status CheckAnnotation() const {
    const auto error = [&](size_t offset, absl::string_view clause) {
      return ErrorAt(offset, "'", clause,
                     "' is for one nest: it stands in an "
                     "annotation before that");
    };
    if (annotation_.operators.has_value()) {
      return error((*annotation_.operators)[0].offset, "combine_ops");
    }
    if (annotation_.kept.has_value() && !annotation_.kept->empty()) {
      return error((*annotation_.kept)[0].offset, "keep");
    }
    return absl::OkStatus();
  }

  // A nest, or a declaration of what lies between nests.
  Status Add(const CNode& statement) {
    if (statement.kind == Kind::kEmpty) return absl::OkStatus();
    if (statement.kind == Kind::kDeclarations) {
      for (const CNode& declaration : statement.children) declared_.insert(declaration.declaration);
      return absl::OkStatus();
    }
    if (!IsNest(statement)) {
      return ErrorAt(statement.begin,
                     "this stands between the nests of a pipeline, where only declarations are; "
                     "what is computed stands in a nest, or behind loops in a block with them");
    }
    const auto inner = std::ranges::find(annotation_.inner, statement.begin, &Annotation::loop);
    Annotation annotation;
    annotation.offset = annotation_.offset;
    annotation.loop = statement.begin;
    if (inner != annotation_.inner.end()) annotation = *inner;
    const std::string name = absl::StrCat(spec_.name.substr(0, 100), "_", nests_.size() + 1);
    MDH_ASSIGN_OR_RETURN(ConvertedNest nest,
                         ConvertNest(name, statement, annotation, bound_, &unit_));
    offsets_.push_back(statement.begin);
    nests_.push_back(std::move(nest));
    return absl::OkStatus();
  }

  // Every inner annotation has a nest behind it.
  Status CheckInnerAnnotations() const {
    for (const Annotation& inner : annotation_.inner) {
      const bool has_nest = std::ranges::count(offsets_, inner.loop) > 0;
      if (!has_nest)
        return ErrorAt(inner.offset, "no nest of the pipeline follows this annotation");
    }
    return absl::OkStatus();
  }

  // What a variable is to the pipeline.
  struct Variable {
    std::string name;
    size_t offset;  // of its first appearance in a nest
    Role role;
  };

  Status AddSteps() {
    std::set<std::string> assigned;
    for (const ConvertedNest& nest : nests_) {
      for (const NestBuffer& output : nest.outputs) assigned.insert(output.declaration);
    }
    std::vector<std::string> inputs, outputs, temporaries;
    std::map<std::string, Variable> variables;
    for (const ConvertedNest& nest : nests_) {
      const std::vector<Buffer>& passed = nest.expression.passed_inputs();
      const auto add = [&](const NestBuffer& buffer, const std::string& name) {
        const bool is_local = declared_.count(buffer.declaration) > 0;
        const bool is_output = assigned.count(buffer.declaration) > 0;
        const Role role = is_local ? Role::kTemporary : is_output ? Role::kOutput : Role::kInput;
        const Variable variable{name, buffer.offset, role};
        if (!variables.emplace(buffer.declaration, variable).second) return;
        (is_local ? temporaries : is_output ? outputs : inputs).push_back(buffer.declaration);
      };
      for (size_t n = 0; n < nest.inputs.size(); ++n) add(nest.inputs[n], passed[n].name);
      for (size_t n = 0; n < nest.outputs.size(); ++n) {
        add(nest.outputs[n], nest.expression.outputs()[n].name);
        MDH_RETURN_IF_ERROR(CheckInitialValue(nest, static_cast<int>(n), variables));
      }
    }
    MDH_RETURN_IF_ERROR(Order(annotation_.inputs, variables, "inp", "read", &inputs));
    MDH_RETURN_IF_ERROR(Order(annotation_.outputs, variables, "out", "assigned", &outputs));
    std::map<std::string, int> numbers;
    for (const std::vector<std::string>* const group : {&inputs, &outputs, &temporaries}) {
      for (const std::string& declaration : *group) {
        const Variable& variable = variables.at(declaration);
        numbers[declaration] = static_cast<int>(spec_.buffers.size());
        spec_.buffers.push_back({.name = variable.name, .role = variable.role});
        buffer_offsets_.push_back(variable.offset);
      }
    }
    for (const ConvertedNest& nest : nests_) {
      PipelineStep step{nest.expression, {}, {}};
      for (const NestBuffer& input : nest.inputs) {
        step.inputs.push_back(numbers.at(input.declaration));
      }
      for (const NestBuffer& output : nest.outputs) {
        step.outputs.push_back(numbers.at(output.declaration));
      }
      spec_.steps.push_back(std::move(step));
    }
    return absl::OkStatus();
  }

  // A temporary that is set where it is declared starts at what its nest starts at by itself.
  Status CheckInitialValue(const ConvertedNest& nest, int number,
                           const std::map<std::string, Variable>& variables) const {
    const NestBuffer& output = nest.outputs[number];
    if (declared_.count(output.declaration) == 0) return absl::OkStatus();
    MDH_ASSIGN_OR_RETURN(const CVariable* variable, unit_.Variable(output.declaration));
    if (variable == nullptr || variable->initial_value == nullptr) return absl::OkStatus();
    if (IsZero(*variable->initial_value) && StartsAtZero(nest.expression, number)) {
      return absl::OkStatus();
    }
    return ErrorAt(variable->offset, "'", variables.at(output.declaration).name,
                   "' lies between nests: results start at the neutral element of "
                   "their operator, so leave its initial value out");
  }

  // In the order of a clause, which must name the same variables.
  Status Order(const std::optional<std::vector<AnnotatedName>>& names,
               const std::map<std::string, Variable>& variables, absl::string_view clause,
               absl::string_view verb, std::vector<std::string>* declarations) const {
    if (!names.has_value()) return absl::OkStatus();
    std::vector<std::string> ordered;
    for (const AnnotatedName& name : *names) {
      const auto named = std::ranges::find_if(*declarations, [&](const std::string& declaration) {
        return variables.at(declaration).name == name.name;
      });
      if (named == declarations->end()) {
        return ErrorAt(name.offset, "'", name.name, "' is not ", verb,
                       " in the nests as a buffer of the function");
      }
      ordered.push_back(*named);
    }
    for (const std::string& declaration : *declarations) {
      if (std::ranges::count(ordered, declaration) > 0) continue;
      const Variable& variable = variables.at(declaration);
      return ErrorAt(
          variable.offset, "'", variable.name, "' is ", verb, ", but is not in ", clause, "(",
          absl::StrJoin(
              *names, ", ",
              [](std::string* out, const AnnotatedName& n) { absl::StrAppend(out, n.name); }),
          ")");
    }
    *declarations = std::move(ordered);
    return absl::OkStatus();
  }

  size_t OffsetOf(const std::optional<PipelinePlace>& place) const {
    if (!place.has_value()) return annotation_.loop;
    switch (place->kind) {
      case PipelinePlace::Kind::kBuffer:
        return buffer_offsets_[place->number];
      case PipelinePlace::Kind::kStep:
        return offsets_[place->number];
      case PipelinePlace::Kind::kStepInput:
        return nests_[place->number].inputs[place->position].offset;
      case PipelinePlace::Kind::kStepOutput:
        return nests_[place->number].outputs[place->position].offset;
    }
    return annotation_.loop;
  }

  const CNode& block_;
  const Annotation& annotation_;
  const std::map<std::string, int64_t>& bound_;
  ClangUnit& unit_;
  std::set<std::string> declared_;  // by the block
  std::vector<ConvertedNest> nests_;
  std::vector<size_t> offsets_;  // of the nests
  PipelineSpec spec_;
  std::vector<size_t> buffer_offsets_;  // of their first appearances
};

}  // namespace

bool IsPipeline(const CNode& block) {
  return block.kind == Kind::kCompound && std::ranges::count_if(block.children, IsNest) > 1;
}

Result<Pipeline> ConvertPipeline(const std::string& name, const CNode& block,
                                 const Annotation& annotation,
                                 const std::map<std::string, int64_t>& bound, ClangUnit* unit) {
  return PipelineConversion(name, block, annotation, bound, unit).Run();
}

}  // namespace mdh
