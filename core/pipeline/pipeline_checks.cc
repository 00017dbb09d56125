// Pipeline::Create: every check that makes a pipeline valid.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/identifier.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/pipeline_place.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;
using StepPlace = PipelinePlace::Kind;

template <typename... Parts>
Status PipelineError(const PipelinePlace& place, const Parts&... message) {
  return AtPipelinePlace(InvalidArgument(message...), place);
}

// An input or output of a step.
struct BufferUse {
  int step;
  StepPlace side;  // kStepInput or kStepOutput
  int position;

  bool writes() const { return side == StepPlace::kStepOutput; }
  PipelinePlace place() const { return {side, step, position}; }
};

std::string ShapeText(const std::vector<int64_t>& numbers) {
  return absl::StrCat("(", absl::StrJoin(numbers, ", "), ")");
}

class PipelineChecker {
 public:
  explicit PipelineChecker(PipelineSpec* spec) : spec_(*spec), uses_(spec->buffers.size()) {}

  Status Check() {
    MDH_RETURN_IF_ERROR(CheckNames());
    MDH_RETURN_IF_ERROR(CheckSteps());
    MDH_RETURN_IF_ERROR(CheckWriters());
    MDH_RETURN_IF_ERROR(CheckOrder());
    MDH_RETURN_IF_ERROR(CheckRoles());
    for (int b = 0; b < BufferCount(); ++b) MDH_RETURN_IF_ERROR(CheckMemory(b));
    return absl::OkStatus();
  }

 private:
  int BufferCount() const { return static_cast<int>(spec_.buffers.size()); }
  int StepCount() const { return static_cast<int>(spec_.steps.size()); }
  std::string Quoted(int buffer) const {
    return absl::StrCat("'", spec_.buffers[buffer].name, "'");
  }
  // Counted from 1, with the name of its expression.
  std::string StepText(int step) const {
    return absl::StrCat("step ", step + 1, " (", spec_.steps[step].expression.name(), ")");
  }
  const Buffer& ViewOf(const BufferUse& use) const {
    const Expression& expression = spec_.steps[use.step].expression;
    return (use.writes() ? expression.outputs() : expression.passed_inputs())[use.position];
  }
  // "step 2 (gelu) reads 'h'".
  std::string UseText(const BufferUse& use, int buffer) const {
    return absl::StrCat(StepText(use.step), use.writes() ? " writes " : " reads ", Quoted(buffer));
  }

  Status CheckNames() const {
    if (!IsIdentifier(spec_.name)) {
      return InvalidArgument("'", spec_.name, "' is no name for a pipeline");
    }
    if (spec_.buffers.size() > Pipeline::kMaxBuffers) {
      return InvalidArgument("pipeline '", spec_.name, "' has ", spec_.buffers.size(),
                             " buffers; at most ", Pipeline::kMaxBuffers, " are allowed");
    }
    std::set<absl::string_view> names;
    for (int b = 0; b < BufferCount(); ++b) {
      const PipelinePlace place{StepPlace::kBuffer, b};
      if (!IsIdentifier(spec_.buffers[b].name)) {
        return PipelineError(place, Quoted(b), " is no name for a buffer");
      }
      if (!names.insert(spec_.buffers[b].name).second) {
        return PipelineError(place, "two buffers are called ", Quoted(b));
      }
    }
    return absl::OkStatus();
  }

  Status CheckSteps() {
    if (spec_.steps.empty() || spec_.steps.size() > Pipeline::kMaxSteps) {
      return InvalidArgument("pipeline '", spec_.name, "' has ", spec_.steps.size(),
                             " steps; it must have 1 to ", Pipeline::kMaxSteps);
    }
    for (int s = 0; s < StepCount(); ++s) {
      const PipelineStep& step = spec_.steps[s];
      MDH_RETURN_IF_ERROR(
          CheckArguments(s, StepPlace::kStepInput, step.expression.passed_inputs(), step.inputs));
      MDH_RETURN_IF_ERROR(
          CheckArguments(s, StepPlace::kStepOutput, step.expression.outputs(), step.outputs));
    }
    return absl::OkStatus();
  }

  // One number of a buffer per buffer of the expression.
  Status CheckArguments(int s, StepPlace side, const std::vector<Buffer>& views,
                        const std::vector<int>& numbers) {
    const bool writes = side == StepPlace::kStepOutput;
    if (views.size() != numbers.size()) {
      const auto append_name = [](std::string* out, const Buffer& view) {
        absl::StrAppend(out, view.name);
      };
      return PipelineError({StepPlace::kStep, s}, StepText(s), writes ? " has " : " takes ",
                           views.size(), writes ? " output" : " input",
                           views.size() == 1 ? " (" : "s (",
                           absl::StrJoin(views, ", ", append_name), "), but ", numbers.size(),
                           numbers.size() == 1 ? " buffer is" : " buffers are", " given for them");
    }
    for (int n = 0; n < static_cast<int>(numbers.size()); ++n) {
      const BufferUse use{s, side, n};
      if (numbers[n] < 0 || numbers[n] >= BufferCount()) {
        return PipelineError(use.place(), StepText(s), writes ? " writes" : " reads",
                             " buffer number ", numbers[n], ", which does not exist");
      }
      uses_[numbers[n]].push_back(use);
    }
    return absl::OkStatus();
  }

  // The first use that writes; null if there is none.
  const BufferUse* WriterOf(int b) const {
    for (const BufferUse& use : uses_[b]) {
      if (use.writes()) return &use;
    }
    return nullptr;
  }

  Status CheckWriters() const {
    for (int b = 0; b < BufferCount(); ++b) {
      const BufferUse* writer = WriterOf(b);
      if (writer == nullptr && spec_.buffers[b].role != Role::kInput) {
        return PipelineError({StepPlace::kBuffer, b}, "no step writes ", Quoted(b),
                             "; make it an input, or the result of a step");
      }
      for (const BufferUse& use : uses_[b]) {
        if (!use.writes()) continue;
        if (spec_.buffers[b].role == Role::kInput) {
          return PipelineError(use.place(), UseText(use, b),
                               ", which is an input; give the result another name");
        }
        if (&use == writer) continue;
        return PipelineError(use.place(), UseText(use, b), ", which ",
                             use.step == writer->step
                                 ? "it has written already"
                                 : absl::StrCat(StepText(writer->step), " has written already"),
                             "; give the result another name");
      }
    }
    return absl::OkStatus();
  }

  Status CheckOrder() const {
    size_t edges = 0;
    for (int b = 0; b < BufferCount(); ++b) {
      const BufferUse* writer = WriterOf(b);
      if (writer == nullptr) continue;
      for (const BufferUse& use : uses_[b]) {
        if (use.writes()) continue;
        ++edges;
        if (use.step == writer->step) {
          return PipelineError(use.place(), StepText(use.step), " reads and writes ", Quoted(b),
                               "; give the result another name");
        }
        if (use.step > writer->step) continue;
        return PipelineError(use.place(), UseText(use, b), " before ", StepText(writer->step),
                             " writes it; ",
                             Needs(writer->step, use.step)
                                 ? "each needs what the other writes, so that none can be first"
                                 : "a step reads inputs and what the steps before it have written");
      }
    }
    if (edges <= Pipeline::kMaxEdges) return absl::OkStatus();
    return InvalidArgument("pipeline '", spec_.name, "' has ", edges,
                           " edges, which are inputs of steps that steps write; at most ",
                           Pipeline::kMaxEdges, " are allowed");
  }

  // Whether step `to` needs what step `from` writes, directly or through others, in whatever order
  // they stand.
  bool Needs(int to, int from) const {
    std::vector<int> open = {to};
    std::vector<bool> is_seen(spec_.steps.size(), false);
    while (!open.empty()) {
      const int s = open.back();
      open.pop_back();
      if (s == from) return true;
      if (is_seen[s]) continue;
      is_seen[s] = true;
      for (const int input : spec_.steps[s].inputs) {
        if (const BufferUse* writer = WriterOf(input); writer != nullptr) {
          open.push_back(writer->step);
        }
      }
    }
    return false;
  }

  Status CheckRoles() const {
    bool has_output = false;
    for (int b = 0; b < BufferCount(); ++b) {
      const Role role = spec_.buffers[b].role;
      has_output = has_output || role == Role::kOutput;
      const bool is_read =
          std::ranges::any_of(uses_[b], [](const BufferUse& use) { return !use.writes(); });
      const PipelinePlace place{StepPlace::kBuffer, b};
      if (role == Role::kTemporary && !is_read) {
        return PipelineError(place, "no step reads the temporary ", Quoted(b),
                             "; make it an output, or leave it out");
      }
      if (role == Role::kInput && !is_read) {
        return PipelineError(place, "no step reads the input ", Quoted(b), "; leave it out");
      }
      const BufferUse* writer = WriterOf(b);
      if (writer == nullptr || !ViewOf(*writer).keeps_unreached) continue;
      if (role == Role::kTemporary || is_read) {
        return PipelineError(
            writer->place(), StepText(writer->step), " keeps elements of ", Quoted(b),
            " that it does not write, so that no step can read it; leave out 'keep'");
      }
    }
    if (has_output) return absl::OkStatus();
    return InvalidArgument("pipeline '", spec_.name, "' has no output");
  }

  // The use that says what buffer b is: its writer; of inputs a reader that gives the extents, else
  // the first one.
  const BufferUse& Declaration(int b) const {
    if (const BufferUse* writer = WriterOf(b); writer != nullptr) return *writer;
    for (const BufferUse& use : uses_[b]) {
      if (ViewOf(use).extents_given) return use;
    }
    return uses_[b][0];
  }

  // Types and extents of buffer b agree; views take what they do not give.
  Status CheckMemory(int b) {
    const BufferUse& declaration = Declaration(b);
    PipelineBuffer& buffer = spec_.buffers[b];
    buffer.type = ViewOf(declaration).type;
    buffer.extents = ViewOf(declaration).extents;
    const bool may_grow = buffer.role == Role::kInput && !ViewOf(declaration).extents_given;
    for (const BufferUse& use : uses_[b]) {
      const Buffer& view = ViewOf(use);
      const auto error = [&](absl::string_view found, absl::string_view expected) {
        return PipelineError(use.place(), UseText(use, b), " ", found, ", but ",
                             StepText(declaration.step),
                             declaration.writes() ? " writes" : " reads", " it ", expected);
      };
      if (view.type != buffer.type) {
        return error(absl::StrCat("as ", view.type.ToString()),
                     absl::StrCat("as ", buffer.type.ToString()));
      }
      if (view.extents.size() != buffer.extents.size()) {
        return error(absl::StrCat("with ", view.extents.size(), " dimensions"),
                     absl::StrCat("with ", buffer.extents.size()));
      }
      for (size_t x = 0; x < view.extents.size(); ++x) {
        if (may_grow) buffer.extents[x] = std::max(buffer.extents[x], view.extents[x]);
        const bool fits = view.extents_given ? view.extents[x] == buffer.extents[x]
                                             : view.extents[x] <= buffer.extents[x];
        if (fits) continue;
        return error(absl::StrCat("with the extents ", ShapeText(view.extents)),
                     absl::StrCat("with ", ShapeText(buffer.extents)));
      }
    }
    for (const BufferUse& use : uses_[b]) MDH_RETURN_IF_ERROR(GiveExtents(use, buffer));
    buffer.given_strides = ViewOf(declaration).given_strides;
    for (const BufferUse& use : uses_[b]) {
      if (ViewOf(use).strides() == ViewOf(declaration).strides()) continue;
      return PipelineError(use.place(), UseText(use, b), " with the strides ",
                           ShapeText(ViewOf(use).strides()), ", but ", StepText(declaration.step),
                           " has ", ShapeText(ViewOf(declaration).strides()));
    }
    return absl::OkStatus();
  }

  Status GiveExtents(const BufferUse& use, const PipelineBuffer& buffer) {
    if (ViewOf(use).extents == buffer.extents) return absl::OkStatus();
    Expression& expression = spec_.steps[use.step].expression;
    ExpressionSpec changed = expression.spec();
    // The store function may read a buffer, too, under the same name.
    for (std::vector<Buffer>* views : BuffersOf(&changed)) {
      for (Buffer& view : *views) {
        if (view.name != ViewOf(use).name) continue;
        view.extents = buffer.extents;
        view.extents_given = true;
      }
    }
    Result<Expression> created = Expression::Create(std::move(changed));
    if (!created.ok()) return AtPipelinePlace(created.status(), use.place());
    expression = *std::move(created);
    return absl::OkStatus();
  }

  PipelineSpec& spec_;
  std::vector<std::vector<BufferUse>> uses_;  // of every buffer, in the order of the steps
};

}  // namespace

Result<Pipeline> Pipeline::Create(PipelineSpec spec) {
  MDH_RETURN_IF_ERROR(PipelineChecker(&spec).Check());
  return Pipeline(std::move(spec));
}

}  // namespace mdh
