#include "core/pipeline/plan/joint_part.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_halo.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

// `name`, or with underscores, so that no other name of the expression is so.
std::string FreeName(const ExpressionSpec& spec, std::string name) {
  const auto is_taken = [&] {
    for (const std::vector<Buffer>* buffers : BuffersOf(spec)) {
      for (const Buffer& buffer : *buffers) {
        if (buffer.name == name) return true;
      }
    }
    return std::ranges::any_of(spec.dimensions, [&](const Dimension& d) { return d.name == name; });
  };
  while (is_taken()) name += "_";
  return name;
}

// An index that is an index of the part plus the part's origin and a constant: its place among the
// indices of f.
struct MovedIndex {
  int place;
  int64_t constant;
};

// f with the first point's index added to the index of some dimensions: these are `origins`
// parameters in front of the indices, the first of which is number `indices`.
ScalarFunction WithOrigins(const ScalarFunction& f, int indices,
                           const std::vector<MovedIndex>& moved) {
  std::vector<TypedName> parameters(f.parameters().begin(), f.parameters().begin() + indices);
  for (size_t n = 0; n < moved.size(); ++n) {
    std::string name = absl::StrCat("origin", n);
    const auto is_taken = [&](const std::vector<TypedName>& names) {
      return std::ranges::any_of(names, [&](const TypedName& other) { return other.name == name; });
    };
    while (is_taken(f.parameters()) || is_taken(f.results())) name += "_";
    parameters.push_back({std::move(name), ScalarType::kInt64});
  }
  parameters.insert(parameters.end(), f.parameters().begin() + indices, f.parameters().end());
  ValueBuilder values;
  const auto parameter = [&](int number) {
    return values.Append({ScalarOp::kParameter, parameters[number].type, {}, number});
  };
  const int origins = static_cast<int>(moved.size());
  std::vector<int> arguments;
  for (int p = 0; p < std::ssize(f.parameters()); ++p) {
    arguments.push_back(parameter(p < indices ? p : p + origins));
    const auto found = std::ranges::find(moved, p - indices, &MovedIndex::place);
    if (found == moved.end()) continue;
    const auto add = [&](int value) {
      arguments.back() =
          values.Append({ScalarOp::kAdd, ScalarType::kInt64, {arguments.back(), value}});
    };
    add(parameter(indices + static_cast<int>(found - moved.begin())));
    if (found->constant == 0) continue;
    add(values.Append({ScalarOp::kConstant,
                       ScalarType::kInt64,
                       {},
                       -1,
                       ScalarValue::Integer(ScalarType::kInt64, found->constant)}));
  }
  std::vector<int> results = values.Apply(f, arguments);
  return *ScalarFunction::Create(f.name(), std::move(parameters), f.results(),
                                 values.instructions(), std::move(results));
}

class PartBuilder {
 public:
  // `extents`: of the dimensions of the group, some of which a step may not have: -1. `carried`:
  // buffers that are of the part, whoever writes them.
  PartBuilder(const Pipeline& pipeline, JointGroup group, std::vector<int64_t> extents,
              std::set<int> carried = {})
      : pipeline_(pipeline),
        group_(std::move(group)),
        extents_(std::move(extents)),
        carried_(std::move(carried)),
        windows_(WindowsOfParts()),
        views_(ViewsOf(pipeline, group_.first, group_.last)) {}

  Result<JointPart> Build() {
    JointPart part;
    for (int s = group_.first; s <= group_.last; ++s) {
      MDH_ASSIGN_OR_RETURN(JointPart::Step step, StepAt(s));
      const auto are_origins = [](const PartBuffer& input) {
        return input.kind == PartBuffer::Kind::kOrigins;
      };
      part.has_origins |= std::ranges::any_of(step.inputs, are_origins);
      part.steps.push_back(std::move(step));
    }
    return part;
  }

 private:
  const std::vector<int>& DimensionsOf(int s) const { return group_.dimensions[s - group_.first]; }

  bool IsPart(int buffer) const {
    return carried_.contains(buffer) || IsOfPart(pipeline_, group_, buffer);
  }
  // Streamed groups have no halos, and dimensions that a step does not have.
  std::vector<std::vector<StepWindow>> WindowsOfParts() const {
    if (!group_.is_streamed()) return WindowsOf(pipeline_, group_);
    std::vector<StepWindow> whole;
    for (const int64_t points : group_.part) whole.push_back({0, points});
    return std::vector<std::vector<StepWindow>>(group_.dimensions.size(), whole);
  }
  const StepWindow& WindowOf(int s, size_t k) const { return windows_[s - group_.first][k]; }

  // Within the extents of what its writer computes for a part.
  Buffer ViewOfPart(Buffer view, int buffer) const {
    for (size_t k = 0; k < extents_.size(); ++k) {
      const int place = CommonPlace(views_, group_, buffer, k);
      if (place < 0) continue;
      const int writer = carried_.contains(buffer) ? group_.first : pipeline_.writer(buffer);
      const StepWindow& written = WindowOf(writer, k);
      view.extents[place] = written.points;
      for (IndexFunction& access : view.accesses) access.indices[place].constant -= written.first;
    }
    view.given_strides.clear();
    if (group_.is_streamed()) view.given_strides = StridesOfPart(view.extents);
    return view;
  }

  // Rows of whole cache lines are a little longer, so that neighbouring ones begin at other banks
  // of shared memory, and in other sets of a cache. Empty: dense.
  static std::vector<int64_t> StridesOfPart(const std::vector<int64_t>& extents) {
    constexpr int64_t kLine = 32, kPadding = 4;
    if (extents.size() < 2 || extents.back() % kLine != 0) return {};
    std::vector<int64_t> strides(extents.size(), 1);
    int64_t stride = extents.back() + kPadding;
    for (size_t x = extents.size() - 1; x-- > 0;) {
      strides[x] = stride;
      stride *= extents[x];
    }
    return strides;
  }

  // The step's first point for the part is where its window begins.
  void Adapt(int s, const std::vector<int>& numbers, std::vector<Buffer>* views,
             const std::function<int(size_t)>& number_of) const {
    for (size_t b = 0; b < views->size(); ++b) {
      Buffer& view = (*views)[b];
      view.extents_given = true;
      for (IndexFunction& access : view.accesses) {
        for (AffineIndex& index : access.indices) {
          for (size_t k = 0; k < extents_.size(); ++k) {
            const int d = DimensionsOf(s)[k];
            if (d >= 0) index.constant += index.coefficients[d] * WindowOf(s, k).first;
          }
        }
      }
      const int buffer = numbers[number_of(b)];
      if (IsPart(buffer)) view = ViewOfPart(std::move(view), buffer);
    }
  }

  // Which of these indices of dimensions need the first point's.
  std::vector<MovedIndex> MovedIndices(int s, const std::vector<int>& index_dimensions) const {
    std::vector<MovedIndex> moved;
    for (int n = 0; n < std::ssize(index_dimensions); ++n) {
      const int k = NumberOf(s, index_dimensions[n]);
      if (k < 0) continue;
      const int64_t first = WindowOf(s, k).first;
      if (first != 0 || extents_[k] > group_.part[k]) moved.push_back({n, first});
    }
    return moved;
  }
  // Which common dimension a dimension of the step is; -1: none.
  int NumberOf(int s, int dimension) const {
    const std::vector<int>& own = DimensionsOf(s);
    const auto found = std::ranges::find(own, dimension);
    return found == own.end() ? -1 : static_cast<int>(found - own.begin());
  }

  Buffer Origins(int s, const std::string& name, const std::vector<int>& index_dimensions,
                 const std::vector<MovedIndex>& moved) const {
    const int rank = pipeline_.steps()[s].expression.rank();
    Buffer origins{.name = name,
                   .type = ScalarType::kInt64,
                   .extents = {std::ssize(extents_)},
                   .accesses = {},
                   .extents_given = true,
                   .mda_rank = rank};
    for (const MovedIndex& index : moved) {
      const int64_t k = NumberOf(s, index_dimensions[index.place]);
      origins.accesses.push_back({{AffineIndex{std::vector<int64_t>(rank, 0), k}}});
    }
    return origins;
  }

  PartBuffer Place(int s, int buffer, int position, bool writes) const {
    if (IsPart(buffer)) return {PartBuffer::Kind::kPart, buffer};
    PartBuffer place{PartBuffer::Kind::kWhole, buffer};
    for (const StepView& use : views_) {
      if (use.step != s || use.position != position || use.writes != writes) continue;
      for (const int d : DimensionsOf(s)) {
        place.moves.push_back(d < 0 ? 0 : MoveAlong(*use.view, 0, d));
      }
      break;
    }
    return place;
  }

  Result<JointPart::Step> StepAt(int s) const {
    const PipelineStep& step = pipeline_.steps()[s];
    const Expression& whole = step.expression;
    ExpressionSpec spec = whole.spec();
    for (size_t k = 0; k < extents_.size(); ++k) {
      const int d = DimensionsOf(s)[k];
      if (d >= 0) spec.dimensions[d].size = WindowOf(s, k).points;
    }
    Adapt(s, step.inputs, &spec.inputs, [](size_t b) { return static_cast<int>(b); });
    Adapt(s, step.outputs, &spec.outputs, [](size_t b) { return static_cast<int>(b); });
    for (size_t b = 0; b < spec.outputs.size(); ++b) {
      spec.outputs[b].keeps_unreached = !IsPart(step.outputs[b]);
    }
    const std::string origins = FreeName(spec, "origins");
    if (const std::vector<MovedIndex> moved = MovedIndices(s, spec.index_dimensions);
        !moved.empty()) {
      spec.function = WithOrigins(spec.function, whole.input_parameters(), moved);
      spec.inputs.push_back(Origins(s, origins, spec.index_dimensions, moved));
    }
    if (StoreFunction* store = spec.store ? &*spec.store : nullptr) {
      Adapt(s, step.inputs, &store->inputs,
            [&](size_t b) { return whole.passed_store_input(static_cast<int>(b)); });
      const std::vector<int>& indices = store->index_dimensions;
      if (const std::vector<MovedIndex> moved = MovedIndices(s, indices); !moved.empty()) {
        const int first_index =
            static_cast<int>(store->function.parameters().size() - indices.size());
        store->function = WithOrigins(store->function, first_index, moved);
        store->inputs.push_back(Origins(s, origins, indices, moved));
      }
    }
    ShrinkToPart(s, &spec);
    MDH_ASSIGN_OR_RETURN(Expression part, Expression::Create(std::move(spec)));
    JointPart::Step built{std::move(part), {}, {}};
    for (const Buffer& input : built.expression.passed_inputs()) {
      built.inputs.push_back(input.name == origins ? PartBuffer{PartBuffer::Kind::kOrigins}
                                                   : InputNamed(s, input.name));
    }
    for (int b = 0; b < std::ssize(step.outputs); ++b) {
      built.outputs.push_back(Place(s, step.outputs[b], b, true));
    }
    return built;
  }

  // Inputs that are not of the part end where its accesses do: behind other parts nothing may be
  // behind that, so that what is copied with them, for nobody, would be read from outside.
  void ShrinkToPart(int s, ExpressionSpec* spec) const {
    std::vector<Buffer*> inputs;
    for (Buffer& input : spec->inputs) inputs.push_back(&input);
    if (spec->store) {
      for (Buffer& input : spec->store->inputs) inputs.push_back(&input);
    }
    std::map<std::string, std::vector<int64_t>> reached;  // extents, by name
    for (const Buffer* const input : inputs) {
      if (input->boundary.kind != Boundary::Kind::kNone) continue;
      std::vector<int64_t>& extents = reached[input->name];
      extents.resize(input->extents.size(), 1);
      for (const IndexFunction& access : input->accesses) {
        for (size_t x = 0; x < extents.size(); ++x) {
          int64_t last = access.indices[x].constant;
          for (size_t d = 0; d < spec->dimensions.size(); ++d) {
            const int64_t step = access.indices[x].coefficients[d];
            last += std::max<int64_t>(step * (spec->dimensions[d].size - 1), 0);
          }
          extents[x] = std::max(extents[x], last + 1);
        }
      }
    }
    const PipelineStep& step = pipeline_.steps()[s];
    const std::vector<Buffer>& passed = step.expression.passed_inputs();
    for (Buffer* const input : inputs) {
      const auto place = std::ranges::find(passed, input->name, &Buffer::name);
      if (place == passed.end() || IsPart(step.inputs[place - passed.begin()])) continue;
      const auto found = reached.find(input->name);
      if (found == reached.end() || found->second == input->extents) continue;
      const std::vector<int64_t> strides = input->strides();
      input->extents = found->second;
      if (input->strides() != strides) input->given_strides = strides;
    }
  }

  PartBuffer InputNamed(int s, const std::string& name) const {
    const PipelineStep& step = pipeline_.steps()[s];
    const std::vector<Buffer>& passed = step.expression.passed_inputs();
    const auto found = std::ranges::find(passed, name, &Buffer::name);
    const int position = static_cast<int>(found - passed.begin());
    return Place(s, step.inputs[position], position, false);
  }

  const Pipeline& pipeline_;
  const JointGroup group_;
  const std::vector<int64_t> extents_;
  const std::set<int> carried_;
  const std::vector<std::vector<StepWindow>> windows_;  // per step and common dimension
  const std::vector<StepView> views_;
};

}  // namespace

int64_t PartsAlike(const PartBuffer& place, absl::Span<const int64_t> counts) {
  int64_t parts = 1;
  for (size_t k = place.moves.size(); k-- > 0;) {
    if (counts[k] > 1 && place.moves[k] != 0) break;
    parts *= counts[k];
  }
  return parts;
}

Result<JointPart> PartOf(const Pipeline& pipeline, const JointGroup& group) {
  MDH_RETURN_IF_ERROR(CheckJointGroup(pipeline, group));
  return PartBuilder(pipeline, group, CommonExtents(pipeline, group)).Build();
}

Result<JointPart> PartOf(const StreamedSteps& streamed) {
  const JointGroup& group = streamed.group;
  JointGroup columns = group;
  columns.dimensions = streamed.columns;
  columns.part.push_back(group.chunk);
  std::vector<int64_t> extents = CommonExtents(streamed.pipeline, group);
  extents.push_back(StreamedExtent(streamed.pipeline, group));
  if (group.splits > 1) {
    columns.part.push_back(1);
    extents.push_back(group.splits);
  }
  std::set<int> carried;
  for (const StreamedSteps::Carried& own : streamed.carried) {
    carried.insert({own.before, own.after});
  }
  return PartBuilder(streamed.pipeline, std::move(columns), std::move(extents), std::move(carried))
      .Build();
}

}  // namespace mdh
