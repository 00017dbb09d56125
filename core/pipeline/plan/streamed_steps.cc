#include "core/pipeline/plan/streamed_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/pipeline/inverse_view.h"
#include "core/pipeline/plan/scaled_sums.h"
#include "core/pipeline/plan/streamed_group.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

class StreamBuilder : public StreamedGroup {
 public:
  StreamBuilder(const Pipeline& pipeline, const JointGroup& group, ScaledSums sums)
      : StreamedGroup(pipeline, group), sums_(std::move(sums)), spec_(pipeline.spec()) {
    spec_.steps.clear();
    for (const PipelineBuffer& buffer : spec_.buffers) names_.insert(buffer.name);
  }

  Result<StreamedSteps> Build() {
    MDH_RETURN_IF_ERROR(CheckReference());
    AddCarried();
    for (int s = 0; s < group_.first; ++s) Append(pipeline_.steps()[s], s);
    for (int s = group_.first; s <= group_.last; ++s) {
      if (Streamed(s) < 0) continue;
      MDH_ASSIGN_OR_RETURN(PipelineStep step, BodyStep(s));
      AppendToGroup(std::move(step), s, Common(s), Streamed(s), -1);
    }
    body_ = static_cast<int>(columns_.size());
    if (is_split()) {
      MDH_RETURN_IF_ERROR(AppendSplits());
    } else {
      MDH_RETURN_IF_ERROR(AppendFinish());
    }
    for (int s = group_.last + 1; s < std::ssize(pipeline_.steps()); ++s) {
      Append(pipeline_.steps()[s], s);
    }
    return Finish();
  }

 private:
  struct CarriedBuffers {
    int before = -1, after = -1;
    int parts = -1;  // of every split
    ScalarType type = ScalarType::kFloat32;
  };

  bool is_split() const { return group_.splits > 1; }
  bool HasReference() const { return sums_.reference >= 0; }
  const CarriedBuffers& carried(int s) const { return carried_.at(s); }
  ScalarValue NeutralOf(int s) const {
    const ScalarValue neutral = (*ExpressionOf(s).reduction().identity())[0];
    const ScalarType type = carried(s).type;
    return neutral.type() == type ? neutral : mdh::Apply(ScalarOp::kCast, type, {neutral});
  }

  Status CheckReference() const {
    if (!HasReference()) return absl::OkStatus();
    const int r = sums_.reference;
    const Expression& e = ExpressionOf(r);
    const bool has_common_only = Kept(r).size() == Common(r).size() &&
                                 e.rank() == static_cast<int>(Common(r).size()) + 1 &&
                                 e.outputs()[0].extents.size() == Common(r).size();
    const bool is_plain = e.store() == nullptr &&
                          e.stored_type(0) == e.function().results()[0].type &&
                          !IsStorageOnly(e.stored_type(0));
    if (has_common_only && is_plain) return absl::OkStatus();
    return Obstacle("the maximum of ", StepText(r),
                    " has other dimensions than the "
                    "common ones, or is not stored as it is compared");
  }

  // ---- Buffers ----

  int AddBuffer(const std::string& wanted, Role role, ScalarType type,
                std::vector<int64_t> extents) {
    std::string name = wanted;
    for (int n = 2; !names_.insert(name).second; ++n) name = absl::StrCat(wanted, "_", n);
    spec_.buffers.push_back(
        {.name = std::move(name), .role = role, .type = type, .extents = std::move(extents)});
    return static_cast<int>(spec_.buffers.size()) - 1;
  }

  std::vector<int64_t> SizesOf(int s, const std::vector<int>& dimensions) const {
    std::vector<int64_t> sizes;
    for (const int d : dimensions) sizes.push_back(ExpressionOf(s).dimensions()[d].size);
    return sizes;
  }

  void AddCarried() {
    for (int s = group_.first; s <= group_.last; ++s) {
      if (!IsCarried(s)) continue;
      const ScalarType type = ExpressionOf(s).function().results()[0].type;
      CarriedBuffers own{.type = IsStorageOnly(type) ? ScalarType::kFloat32 : type};
      const std::string& name = pipeline_.buffers()[pipeline_.steps()[s].outputs[0]].name;
      std::vector<int64_t> extents = SizesOf(s, CarriedOrder(s));
      own.before = AddBuffer(name + "_before", Role::kInput, own.type, extents);
      own.after = AddBuffer(name + "_after", Role::kTemporary, own.type, extents);
      if (is_split()) {
        extents.insert(extents.begin(), group_.splits);
        own.parts = AddBuffer(name + "_parts", Role::kTemporary, own.type, extents);
      }
      carried_[s] = own;
    }
    if (!HasReference()) return;
    const std::string& name =
        pipeline_.buffers()[pipeline_.steps()[sums_.reference].outputs[0]].name;
    const ScalarType type = carried(sums_.reference).type;
    const std::vector<int64_t> extents = SizesOf(sums_.reference, Common(sums_.reference));
    base_ = AddBuffer(name + "_base", Role::kTemporary, type, extents);
    if (std::ranges::count(sums_.is_scaled, true) > 0 && RescalesAny()) {
      factor_ = AddBuffer(name + "_factor", Role::kTemporary, type, extents);
    }
    if (is_split()) {
      all_ = AddBuffer(name + "_all", Role::kTemporary, type, extents);
      all_base_ = AddBuffer(name + "_all_base", Role::kTemporary, type, extents);
    }
  }

  bool IsScaled(int s) const { return sums_.is_scaled[s - group_.first]; }
  bool RescalesAny() const {
    for (const auto& [s, buffers] : carried_) {
      if (IsScaled(s)) return true;
    }
    return false;
  }

  // How a step's carried results lie in memory: a reference by the common dimensions, in their
  // order.
  std::vector<int> CarriedOrder(int s) const { return s == sums_.reference ? Common(s) : Kept(s); }

  // By these dimensions, one per index.
  static IndexFunction Plainly(const std::vector<int>& dimensions, size_t rank) {
    IndexFunction access;
    for (const int d : dimensions) {
      AffineIndex index{std::vector<int64_t>(rank, 0), 0};
      index.coefficients[d] = 1;
      access.indices.push_back(std::move(index));
    }
    return access;
  }

  Buffer ViewOf(int buffer, IndexFunction access, size_t rank) const {
    const PipelineBuffer& memory = spec_.buffers[buffer];
    return {.name = memory.name,
            .type = memory.type,
            .extents = memory.extents,
            .accesses = {std::move(access)},
            .extents_given = true,
            .mda_rank = static_cast<int>(rank)};
  }

  // ---- The body ----

  Result<PipelineStep> BodyStep(int s) {
    const PipelineStep& step = pipeline_.steps()[s];
    const Expression& e = step.expression;
    if (!IsCarried(s) && !IsScaled(s)) return step;
    StepBuilder builder(spec_.buffers, e.dimensions());
    StepPoint point = builder.SamePoint();
    const int maximum = HasReference() ? pipeline_.steps()[sums_.reference].outputs[0] : -1;
    point.known = [&](int buffer, const Buffer&, int) -> Result<std::vector<int>> {
      if (buffer != maximum) return std::vector<int>();
      return builder.f().Read(base_, {}, Plainly(Common(s), e.rank()));
    };
    MDH_ASSIGN_OR_RETURN(std::vector<int> results, builder.f().ResultsAt(step, point));
    const std::vector<CombineOperator>& operators = e.combine_operators();
    if (IsCarried(s)) {
      StepBuilder::Outputs outputs;
      std::vector<int> stored = Carry(s, &builder, &outputs);
      return builder.Finish(e.name(), std::move(outputs), std::move(results), operators,
                            std::move(stored));
    }
    std::vector<int> stored;
    if (e.store() != nullptr) {
      for (size_t r = 0; r < results.size(); ++r) {
        stored.push_back(
            builder.store().ResultOfF(static_cast<int>(r), builder.f().type(results[r])));
      }
      MDH_ASSIGN_OR_RETURN(stored, builder.store().StoredAt(step, builder.SamePoint(), stored));
    }
    return builder.Finish(e.name(), {e.outputs(), step.outputs}, std::move(results), operators,
                          std::move(stored));
  }

  // What the chunks up to this one leave.
  std::vector<int> Carry(int s, StepBuilder* builder, StepBuilder::Outputs* outputs) {
    const Expression& e = ExpressionOf(s);
    FunctionBuilder& store = builder->store();
    const auto& [before, after, parts, type] = carried(s);
    const size_t rank = e.rank();
    const auto add_output = [&](int buffer, const std::vector<int>& by) {
      outputs->views.push_back(ViewOf(buffer, Plainly(by, rank), rank));
      outputs->buffers.push_back(buffer);
    };
    const int chunk = store.Converted(store.ResultOfF(0, e.function().results()[0].type), type);
    const IndexFunction own = Plainly(CarriedOrder(s), rank);
    const int old = store.Read(before, {}, own)[0];
    int scaled = old;
    if (IsScaled(s)) {
      const int factor = store.Read(factor_, {}, Plainly(Common(s), rank))[0];
      scaled = store.Append({ScalarOp::kMul, type, {old, store.Converted(factor, type)}});
    }
    const int all = store.Append({OperationOf(e.reduction().kind()), type, {scaled, chunk}});
    add_output(after, CarriedOrder(s));
    if (s != sums_.reference) return {all};
    std::vector<int> stored = {all, Base(s, &store, all)};
    add_output(base_, Common(s));
    if (factor_ >= 0) {
      const int one = store.Constant(ScalarValue::Real(type, 1));
      const int is_same = store.Append({ScalarOp::kEq, ScalarType::kBool, {old, all}});
      const int factor = store.Apply(*sums_.factor, {old, all})[0];
      stored.push_back(store.Append({ScalarOp::kSelect, type, {is_same, one, factor}}));
      add_output(factor_, Common(s));
    }
    return stored;
  }

  // What stands for a maximum in factors.
  int Base(int s, ValueBuilder* values, int maximum) const {
    const ScalarType type = carried(s).type;
    const int is_neutral = values->Append(
        {ScalarOp::kEq, ScalarType::kBool, {maximum, values->Constant(NeutralOf(s))}});
    return values->Append({ScalarOp::kSelect,
                           type,
                           {is_neutral, values->Constant(ScalarValue::Zero(type)), maximum}});
  }

  // ---- Behind the body ----

  // Dimensions of a step's results, in a step that has them only.
  struct KeptDimensions {
    std::vector<Dimension> all;
    std::vector<int> number;           // per dimension of the given step; -1: reduced
    std::vector<AffineIndex> indices;  // the given step's, of the kept ones; 0 where it is reduced
    std::vector<int> common;
  };
  // With `splits`, one more, behind the others.
  KeptDimensions KeptOf(int s, bool with_splits) const {
    KeptDimensions kept;
    const Expression& e = ExpressionOf(s);
    kept.number.assign(e.rank(), -1);
    std::set<std::string> names;
    for (const int d : Kept(s)) {
      kept.number[d] = static_cast<int>(kept.all.size());
      kept.all.push_back(e.dimensions()[d]);
      names.insert(kept.all.back().name);
    }
    if (with_splits) {
      std::string name = "split";
      while (names.contains(name)) name += "_";
      kept.all.push_back({name, group_.splits});
    }
    for (int d = 0; d < e.rank(); ++d) {
      AffineIndex& index = kept.indices.emplace_back();
      index.coefficients.assign(kept.all.size(), 0);
      if (kept.number[d] >= 0) index.coefficients[kept.number[d]] = 1;
    }
    for (const int d : Common(s)) kept.common.push_back(kept.number[d]);
    return kept;
  }

  // What it has carried, by the dimensions of a step behind the body.
  static std::vector<int> Numbers(const KeptDimensions& kept, const std::vector<int>& dimensions) {
    std::vector<int> numbers;
    for (const int d : dimensions) numbers.push_back(kept.number[d]);
    return numbers;
  }
  IndexFunction OfSplit(const KeptDimensions& kept, std::vector<int> dimensions) const {
    dimensions.insert(dimensions.begin(), static_cast<int>(kept.all.size()) - 1);
    return Plainly(dimensions, kept.all.size());
  }

  // Whether somebody needs what the step writes: of a maximum not only the body.
  bool IsNeeded(int s) const { return s != sums_.reference || IsReadBehindChunks(s); }

  Status AppendFinish() {
    for (int s = group_.first; s <= group_.last; ++s) {
      if (Streamed(s) < 0) {
        AppendToGroup(pipeline_.steps()[s], s, Common(s), -1, -1);
      } else if (IsCarried(s) && IsNeeded(s)) {
        const KeptDimensions kept = KeptOf(s, false);
        MDH_ASSIGN_OR_RETURN(PipelineStep step, FinishStep(s, kept));
        AppendToGroup(std::move(step), -1, kept.common, -1, -1);
      }
    }
    return absl::OkStatus();
  }

  // value * phi(m, m), of the maximum in this buffer.
  int WithFactorOfItself(int value, int maximum, const KeptDimensions& kept,
                         FunctionBuilder* f) const {
    const int m = f->Read(maximum, {}, Plainly(kept.common, kept.all.size()))[0];
    const int factor = f->Apply(*sums_.factor, {m, m})[0];
    return f->Append(
        {ScalarOp::kMul, f->type(value), {value, f->Converted(factor, f->type(value))}});
  }

  // The given step's outputs.
  Result<StepBuilder::Outputs> OutputsOf(int s, const KeptDimensions& kept) const {
    StepBuilder::Outputs outputs{ExpressionOf(s).outputs(), pipeline_.steps()[s].outputs};
    for (Buffer& view : outputs.views) {
      view.mda_rank = static_cast<int>(kept.all.size());
      for (IndexFunction& access : view.accesses) {
        std::optional<IndexFunction> composed = Composed(access, kept.indices, kept.all.size());
        if (!composed) return Obstacle("an index does not fit in 63 bits");
        access = *std::move(composed);
      }
    }
    return outputs;
  }

  static StepPoint PointOf(const KeptDimensions& kept) { return {.indices = kept.indices}; }

  Result<PipelineStep> FinishStep(int s, const KeptDimensions& kept) {
    const PipelineStep& step = pipeline_.steps()[s];
    StepBuilder builder(spec_.buffers, kept.all);
    FunctionBuilder& f = builder.f();
    int value =
        f.Read(carried(s).after, {}, Plainly(Numbers(kept, CarriedOrder(s)), kept.all.size()))[0];
    if (IsScaled(s)) value = WithFactorOfItself(value, carried(sums_.reference).after, kept, &f);
    value = f.Converted(value, step.expression.function().results()[0].type);
    MDH_ASSIGN_OR_RETURN(std::vector<int> stored, f.StoredAt(step, PointOf(kept), {value}));
    MDH_ASSIGN_OR_RETURN(StepBuilder::Outputs outputs, OutputsOf(s, kept));
    return builder.Finish(step.expression.name(), std::move(outputs), std::move(stored),
                          std::vector<CombineOperator>(kept.all.size(), CombineOperator::Concat()));
  }

  // ---- Splits ----

  Status AppendSplits() {
    for (const auto& [s, buffers] : carried_) {
      const KeptDimensions kept = KeptOf(s, true);
      MDH_ASSIGN_OR_RETURN(PipelineStep step, PublishStep(s, kept));
      AppendToGroup(std::move(step), -1, kept.common, -1, static_cast<int>(kept.all.size()) - 1);
    }
    JointGroup all{static_cast<int>(spec_.steps.size()), -1, {}, group_.part};
    const auto append = [&](PipelineStep step, int given, std::vector<int> common) {
      all.dimensions.push_back(std::move(common));
      Append(std::move(step), given);
    };
    if (HasReference()) {
      const KeptDimensions kept = KeptOf(sums_.reference, true);
      MDH_ASSIGN_OR_RETURN(PipelineStep step, MaximumOfSplits(kept));
      append(std::move(step), -1, kept.common);
    }
    for (int s = group_.first; s <= group_.last; ++s) {
      if (Streamed(s) < 0) {
        append(pipeline_.steps()[s], s, Common(s));
      } else if (IsCarried(s) && IsNeeded(s)) {
        const KeptDimensions kept = KeptOf(s, true);
        MDH_ASSIGN_OR_RETURN(PipelineStep step, CombineStep(s, kept));
        append(std::move(step), -1, kept.common);
      }
    }
    all.last = static_cast<int>(spec_.steps.size()) - 1;
    if (all.last > all.first) combination_ = std::move(all);
    return absl::OkStatus();
  }

  // What a split has carried, for others to read.
  Result<PipelineStep> PublishStep(int s, const KeptDimensions& kept) {
    const auto& [before, after, parts, type] = carried(s);
    StepBuilder builder(spec_.buffers, kept.all);
    const std::vector<int> own = Numbers(kept, CarriedOrder(s));
    const int value = builder.f().Read(after, {}, Plainly(own, kept.all.size()))[0];
    StepBuilder::Outputs outputs{{ViewOf(parts, OfSplit(kept, own), kept.all.size())}, {parts}};
    return builder.Finish(absl::StrCat(ExpressionOf(s).name(), "_parts"), std::move(outputs),
                          {value},
                          std::vector<CombineOperator>(kept.all.size(), CombineOperator::Concat()));
  }

  // All kept, but the splits.
  std::vector<CombineOperator> OperatorsOf(int s, const KeptDimensions& kept) const {
    std::vector<CombineOperator> operators(kept.all.size(), CombineOperator::Concat());
    operators.back() = *CombineOperator::PointWise(ExpressionOf(s).reduction().kind(),
                                                   std::vector<ScalarType>{carried(s).type});
    return operators;
  }

  Result<PipelineStep> MaximumOfSplits(const KeptDimensions& kept) {
    const int r = sums_.reference;
    const size_t rank = kept.all.size();
    StepBuilder builder(spec_.buffers, kept.all);
    const int value = builder.f().Read(carried(r).parts, {}, OfSplit(kept, kept.common))[0];
    FunctionBuilder& store = builder.store();
    const int maximum = store.ResultOfF(0, carried(r).type);
    const IndexFunction own = Plainly(kept.common, rank);
    StepBuilder::Outputs outputs{{ViewOf(all_, own, rank), ViewOf(all_base_, own, rank)},
                                 {all_, all_base_}};
    return builder.Finish(absl::StrCat(ExpressionOf(r).name(), "_all"), std::move(outputs), {value},
                          OperatorsOf(r, kept), {maximum, Base(r, &store, maximum)});
  }

  Result<PipelineStep> CombineStep(int s, const KeptDimensions& kept) {
    const PipelineStep& step = pipeline_.steps()[s];
    const size_t rank = kept.all.size();
    const auto& [before, after, parts, type] = carried(s);
    StepBuilder builder(spec_.buffers, kept.all);
    FunctionBuilder &f = builder.f(), &store = builder.store();
    int value = f.Read(parts, {}, OfSplit(kept, Numbers(kept, CarriedOrder(s))))[0];
    if (IsScaled(s)) {
      const int m = f.Read(carried(sums_.reference).parts, {}, OfSplit(kept, kept.common))[0];
      const int base = f.Read(all_base_, {}, Plainly(kept.common, rank))[0];
      const int factor = f.Converted(f.Apply(*sums_.factor, {m, base})[0], type);
      value = f.Append({ScalarOp::kMul, type, {value, factor}});
    }
    int all = store.ResultOfF(0, type);
    if (IsScaled(s)) all = WithFactorOfItself(all, all_, kept, &store);
    all = store.Converted(all, step.expression.function().results()[0].type);
    MDH_ASSIGN_OR_RETURN(std::vector<int> stored, store.StoredAt(step, PointOf(kept), {all}));
    MDH_ASSIGN_OR_RETURN(StepBuilder::Outputs outputs, OutputsOf(s, kept));
    return builder.Finish(step.expression.name(), std::move(outputs), {value}, OperatorsOf(s, kept),
                          std::move(stored));
  }

  // ---- All of it ----

  void Append(PipelineStep step, int given) {
    spec_.steps.push_back(std::move(step));
    given_.push_back(given);
  }
  void AppendToGroup(PipelineStep step, int given, const std::vector<int>& common, int streamed,
                     int split) {
    Append(std::move(step), given);
    std::vector<int>& columns = columns_.emplace_back(common);
    columns.push_back(streamed);
    if (is_split()) columns.push_back(split);
  }

  Result<StreamedSteps> Finish() {
    const std::vector<int> number = DropUnusedBuffers(&spec_);
    JointGroup group{
        group_.first, group_.first + static_cast<int>(columns_.size()) - 1, {}, group_.part};
    for (const std::vector<int>& columns : columns_) {
      const auto common = static_cast<std::ptrdiff_t>(group_.part.size());
      group.dimensions.emplace_back(columns.begin(), columns.begin() + common);
      group.streamed.push_back(columns[common]);
    }
    group.chunk = group_.chunk;
    group.splits = group_.splits;
    std::vector<StreamedSteps::Carried> carried;
    for (const auto& [s, buffers] : carried_) {
      carried.push_back({number[buffers.before], number[buffers.after], NeutralOf(s)});
    }
    Result<Pipeline> pipeline = Pipeline::Create(std::move(spec_));
    if (!pipeline.ok()) return Obstacle(pipeline.status().message());
    return StreamedSteps{.pipeline = *std::move(pipeline),
                         .group = std::move(group),
                         .body = body_,
                         .columns = std::move(columns_),
                         .combination = std::move(combination_),
                         .carried = std::move(carried),
                         .bounds = StreamBoundsOf(pipeline_, group_, sums_),
                         .given = std::move(given_)};
  }

  const ScaledSums sums_;
  PipelineSpec spec_;
  std::set<std::string> names_;
  std::map<int, CarriedBuffers> carried_;
  int base_ = -1, factor_ = -1;   // of the maximum so far
  int all_ = -1, all_base_ = -1;  // of that of all splits
  std::vector<std::vector<int>> columns_;
  int body_ = 0;
  std::optional<JointGroup> combination_;
  std::vector<int> given_;
};

}  // namespace

Result<StreamedSteps> StreamedStepsOf(const Pipeline& pipeline, const JointGroup& group) {
  MDH_RETURN_IF_ERROR(CheckStreamed(pipeline, group));
  MDH_ASSIGN_OR_RETURN(ScaledSums sums, ScaledSumsOf(pipeline, group));
  return StreamBuilder(pipeline, group, std::move(sums)).Build();
}

}  // namespace mdh
