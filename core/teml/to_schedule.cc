#include "core/teml/to_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/pipeline/merge_siblings.h"
#include "core/teml/loop_layers.h"
#include "core/teml/nest_path.h"
#include "core/teml/teml.h"

namespace mdh {
namespace {

using Path = std::vector<PathLoop>;

// Writes the schedule of one step.
class ScheduleWriter {
 public:
  ScheduleWriter(const Expression& step, const SystemModel& model, ScheduleDetail detail,
                 LoopLayers layers)
      : step_(step),
        model_(model),
        is_complete_(detail == ScheduleDetail::kNothingElse),
        layers_(std::move(layers)) {
    for (const AsmLayer& layer : model.layers) {
      if (layer.role == LayerRole::kMemory) memory_.push_back(layer.name);
    }
  }

  // Errors: InvalidArgument, with the place of the first loop that has no layer.
  Status CheckGroups() const {
    const std::vector<Path>& groups = layers_.groups;
    if (groups.size() <= memory_.size()) return absl::OkStatus();
    return WithOffsetInProgram(
        InvalidArgument(
            groups.size(), " groups of sequential loops, ", model_.name, " has ", memory_.size(),
            " memory layers (", absl::StrJoin(memory_, ", "),
            "); a group is loops of different iterators, so stripmine or tile less often"),
        groups[memory_.size()][0].token.offset);
  }

  std::string Write() {
    text_ = absl::StrCat("for ", model_.name, ":\n");
    WriteCores();
    for (size_t m = 0; m < memory_.size(); ++m) WriteMemory(m);
    if (layers_.lanes.has_value()) Line("lanes", absl::StrCat("along ", Name(*layers_.lanes)));
    if (is_complete_) WriteNothingElse();
    return text_;
  }

 private:
  const std::string& Name(int dimension) const { return step_.dimensions()[dimension].name; }

  void Line(absl::string_view layer, absl::string_view clauses) {
    absl::StrAppend(&text_, layer, ": ", clauses, "\n");
  }

  std::string Pin(int dimension, int64_t points) const {
    const bool is_whole = points >= step_.dimensions()[dimension].size;
    return absl::StrCat(Name(dimension), "=", is_whole ? "whole" : absl::StrCat(points));
  }

  static const PathLoop* Find(const Path& loops, int dimension) {
    const auto found = std::ranges::find(loops, dimension, &PathLoop::iterator);
    return found == loops.end() ? nullptr : &*found;
  }

  // OpenMP gives every thread a run of the iterations of a parallel loop: how long it is, a loop
  // over single points leaves open.
  bool IsOpenChunk(int dimension) const {
    const PathLoop* const loop = Find(layers_.cores, dimension);
    return loop != nullptr && loop->points == 1 && !is_complete_;
  }

  void WriteCores() {
    if (layers_.cores.empty()) return;
    std::vector<std::string> pins;
    for (int d = 0; d < rank(); ++d) {
      const PathLoop* const loop = Find(layers_.cores, d);
      if (loop == nullptr) {
        pins.push_back(absl::StrCat(Name(d), "=whole"));
      } else if (!IsOpenChunk(d)) {
        pins.push_back(Pin(d, loop->points));
      }
    }
    if (!pins.empty()) Line("cores", absl::StrCat("tile ", absl::StrJoin(pins, ", ")));
  }

  // Number `m` of the memory layers.
  void WriteMemory(size_t m) {
    const size_t empty = memory_.size() - layers_.groups.size();
    const Path none;
    const Path& group = m < empty ? none : layers_.groups[m - empty];
    std::vector<std::string> pins;
    for (int d = 0; d < rank(); ++d) {
      const std::optional<std::string> pin = PinOf(group, m + 1 == memory_.size(), d);
      if (pin.has_value()) pins.push_back(*pin);
    }
    std::vector<std::string> clauses;
    if (!pins.empty()) clauses.push_back(absl::StrCat("tile ", absl::StrJoin(pins, ", ")));
    if (group.size() > 1 || HasOpenChunk(group)) {
      clauses.push_back(absl::StrCat("order ", absl::StrJoin(OrderOf(group), ", ")));
    }
    if (clauses.empty()) return;
    Line(memory_[m], absl::StrJoin(clauses, "; "));
  }

  std::optional<std::string> PinOf(const Path& group, bool is_innermost, int dimension) const {
    const PathLoop* const loop = Find(group, dimension);
    if (loop == nullptr) {
      // What is cut to single points already can be cut no more.
      if (IsOpenChunk(dimension)) return std::nullopt;
      return absl::StrCat(Name(dimension), "=^");
    }
    if (!is_innermost) return Pin(dimension, loop->points);
    if (IsOfVectors(dimension)) return std::nullopt;
    const bool says_registers = is_complete_ || !layers_.registers.empty();
    if (loop->points == 1 && !says_registers) return std::nullopt;
    return Pin(dimension, loop->points);
  }

  // Compilers vectorize the innermost loop if the program says nothing.
  bool IsOfVectors(int dimension) const {
    if (layers_.lanes.has_value()) return *layers_.lanes == dimension;
    if (!layers_.registers.empty()) return false;
    return !layers_.groups.empty() && layers_.groups.back().back().iterator == dimension;
  }

  bool HasOpenChunk(const Path& group) const {
    return !group.empty() && std::ranges::any_of(layers_.cores, [&](const PathLoop& l) {
      return IsOpenChunk(l.iterator);
    });
  }

  // Of the loops of a group; what a thread has of a parallel loop is around them.
  std::vector<std::string> OrderOf(const Path& group) const {
    std::vector<std::string> order;
    for (const PathLoop& loop : layers_.cores) {
      const bool is_outer = IsOpenChunk(loop.iterator) && Find(group, loop.iterator) == nullptr;
      if (is_outer) order.push_back(Name(loop.iterator));
    }
    for (const PathLoop& loop : group) order.push_back(Name(loop.iterator));
    if (order.size() < step_.dimensions().size()) order.push_back("..");
    return order;
  }

  void WriteNothingElse() {
    for (const Buffer& input : step_.inputs()) {
      absl::StrAppend(&text_, "input ", input.name, ": copy never\n");
    }
    const bool has_reduction =
        std::ranges::any_of(step_.combine_operators(),
                            [](const CombineOperator& combine) { return !combine.is_concat(); });
    if (has_reduction) {
      absl::StrAppend(&text_, "accumulate=", KeepsInRegisters() ? "registers" : "output",
                      "\nchains=one\nprefetch=0\n");
    }
    absl::StrAppend(&text_, "stores=cached\nremainder=variants\n");
  }

  // Whether a result is complete before the innermost loops go on to the next one.
  bool KeepsInRegisters() const {
    if (layers_.groups.empty()) return true;
    bool has_reduction = false;
    for (const PathLoop& loop : layers_.groups.back()) {
      const bool is_kept = step_.combine_operators()[loop.iterator].is_concat();
      if (is_kept && has_reduction) return false;
      has_reduction |= !is_kept;
    }
    return true;
  }

  int rank() const { return static_cast<int>(step_.dimensions().size()); }

  const Expression& step_;
  const SystemModel& model_;
  const bool is_complete_;
  const LoopLayers layers_;
  std::vector<std::string> memory_;  // names of the memory layers
  std::string text_;
};

class ScheduleMaker {
 public:
  ScheduleMaker(const TemlProgram& program, const SystemModel& model, ScheduleDetail detail)
      : program_(program), model_(model), detail_(detail) {}

  Result<TemlSchedules> Make(const std::string& name) {
    MDH_ASSIGN_OR_RETURN(TemlSteps steps, ToSteps(program_, name));
    for (size_t s = 0; s < steps.assignments.size(); ++s) {
      if (steps.assignments[s] == nullptr) continue;
      const PipelineStep& step = steps.pipeline.steps()[s];
      of_buffers_[steps.pipeline.buffers()[step.outputs[0]].name] = steps.assignments[s];
    }
    Pipeline pipeline = std::move(steps.pipeline);
    for (const LoopTrees& trees : program_.loops) MDH_RETURN_IF_ERROR(Merge(trees, &pipeline));
    std::vector<std::string> schedules;
    for (const PipelineStep& step : pipeline.steps()) {
      const auto found = of_buffers_.find(pipeline.buffers()[step.outputs[0]].name);
      schedules.emplace_back();
      if (found == of_buffers_.end()) continue;
      MDH_ASSIGN_OR_RETURN(schedules.back(), ScheduleOf(*found->second, step.expression));
    }
    return TemlSchedules{std::move(pipeline), std::move(schedules), std::move(notices_)};
  }

 private:
  void Notice(const Token& token, const std::string& message) {
    notices_.push_back({token.offset, message});
  }

  // The step of an assignment; -1: it is not computed.
  int StepOf(int assignment, const Pipeline& pipeline) const {
    for (size_t s = 0; s < pipeline.steps().size(); ++s) {
      for (const int output : pipeline.steps()[s].outputs) {
        const auto found = of_buffers_.find(pipeline.buffers()[output].name);
        if (found != of_buffers_.end() && found->second->number == assignment) {
          return static_cast<int>(s);
        }
      }
    }
    return -1;
  }

  // Fused loops are one step if they are the same loops, all of them, and else those of steps.
  Status Merge(const LoopTrees& trees, Pipeline* pipeline) {
    const std::set<int> numbers = AssignmentsOf(trees);
    if (numbers.size() < 2) return absl::OkStatus();
    const std::vector<int> both(numbers.begin(), numbers.end());
    const bool is_one_body = trees.size() == 1 && PerfectDepthOf(trees) == DepthOf(trees);
    Status obstacle = FailedPrecondition("loops around some of them are not fused");
    for (size_t n = 1; n < both.size(); ++n) {
      const int first = StepOf(both[0], *pipeline), second = StepOf(both[n], *pipeline);
      if (first < 0 || second < 0) continue;
      if (is_one_body) {
        Result<Pipeline> merged =
            MergeSiblings(*pipeline, std::min(first, second), std::max(first, second));
        obstacle = merged.status();
        if (merged.ok()) *pipeline = *std::move(merged);
      }
      if (obstacle.ok()) continue;
      const AssignmentPointer& leaf = Numbered(both[n]);
      Notice(leaf->token,
             absl::StrCat(
                 "'", leaf->target->name, "' and '", Numbered(both[0])->target->name,
                 "' are fused, but are steps of their own: ", std::string(obstacle.message())));
    }
    return absl::OkStatus();
  }

  const AssignmentPointer& Numbered(int number) const {
    return *std::ranges::find_if(program_.assignments,
                                 [&](const AssignmentPointer& a) { return a->number == number; });
  }

  const LoopTrees& LoopsOf(int number) const {
    return *std::ranges::find_if(
        program_.loops, [&](const auto& trees) { return AssignmentsOf(trees).count(number) > 0; });
  }

  Result<std::string> ScheduleOf(const TensorAssignment& assignment, const Expression& step) {
    const Result<Path> path = PathTo(assignment.number, LoopsOf(assignment.number));
    if (!path.ok()) {
      Notice(assignment.token,
             absl::StrCat("the loops of '", assignment.target->name,
                          "' say nothing: ", std::string(path.status().message())));
      return "";
    }
    if (*path == UntouchedPath(assignment)) return "";
    if (model_.memory != MemoryKind::kCaches) {
      Notice(assignment.token,
             absl::StrCat("the loops of '", assignment.target->name, "' say nothing of ",
                          model_.name, ": TeML's are those of CPUs"));
      return "";
    }
    MDH_RETURN_IF_ERROR(CheckParts(*path, assignment));
    const auto notice = [this](const Token& token, const std::string& message) {
      Notice(token, message);
    };
    ScheduleWriter writer(step, model_, detail_, SortLoops(*path, assignment.iterators, notice));
    MDH_RETURN_IF_ERROR(writer.CheckGroups());
    return writer.Write();
  }

  // Parts are multiples of those inside of them, but for whole dimensions.
  static Status CheckParts(const Path& path, const TensorAssignment& assignment) {
    std::map<int, int64_t> around;
    for (const PathLoop& loop : path) {
      const std::string& iterator = assignment.iterators[loop.iterator];
      const auto outer = around.find(loop.iterator);
      const bool divides = outer == around.end() || outer->second % loop.points == 0 ||
                           outer->second >= assignment.ranges.at(iterator);
      if (!divides) {
        return WithOffsetInProgram(
            InvalidArgument("parts of ", loop.points, " points of '", iterator,
                            "' do not divide the parts of ", outer->second,
                            " around them, as they must in kernels"),
            loop.token.offset);
      }
      around[loop.iterator] = loop.points;
    }
    return absl::OkStatus();
  }

  static Path UntouchedPath(const TensorAssignment& assignment) {
    Path path;
    for (size_t i = 0; i < assignment.iterators.size(); ++i) {
      path.push_back({static_cast<int>(i), 1, PathLoopKind::kSequential, assignment.token});
    }
    return path;
  }

  const TemlProgram& program_;
  const SystemModel& model_;
  const ScheduleDetail detail_;
  std::map<std::string, const TensorAssignment*> of_buffers_;  // what steps write first
  std::vector<TemlNotice> notices_;
};

}  // namespace

Result<TemlSchedules> ToSchedules(const TemlProgram& program, const std::string& name,
                                  const SystemModel& model, ScheduleDetail detail) {
  return ScheduleMaker(program, model, detail).Make(name);
}

Result<ScheduledTeml> ParseTemlSchedules(std::string_view text, const Bindings& bindings,
                                         std::string_view source_name, const SystemModel& model,
                                         ScheduleDetail detail) {
  MDH_ASSIGN_OR_RETURN(const TemlProgram program, ParseTemlProgram(text, bindings, source_name));
  Result<TemlSchedules> made = ToSchedules(program, NameOfTemlFile(source_name), model, detail);
  const Source source(View(source_name), View(text));
  if (!made.ok()) return source.ErrorAt(OffsetInProgram(made.status()), made.status().message());
  std::vector<std::string> notices;
  for (const TemlNotice& notice : made->notices) {
    notices.emplace_back(source.ErrorAt(notice.offset, notice.message).message());
  }
  return ScheduledTeml{std::move(made->pipeline), std::move(made->schedules), std::move(notices)};
}

}  // namespace mdh
