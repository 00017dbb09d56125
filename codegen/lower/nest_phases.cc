#include "codegen/lower/nest_phases.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "codegen/lower/levels/nest_plan.h"
#include "codegen/lower/nest_program.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

// (x_0, ..., x_n-1) -> (x_0, ..., x_n-1) of those types.
ScalarFunction Identity(const std::vector<TypedName>& values) {
  std::vector<ScalarInstruction> instructions;
  std::vector<TypedName> parameters, results;
  std::vector<int> numbers;
  for (int n = 0; n < static_cast<int>(values.size()); ++n) {
    instructions.push_back({ScalarOp::kParameter, values[n].type, {}, n});
    parameters.push_back({absl::StrCat("x", n), values[n].type});
    results.push_back({absl::StrCat("y", n), values[n].type});
    numbers.push_back(n);
  }
  return *ScalarFunction::Create("identity", std::move(parameters), std::move(results),
                                 std::move(instructions), std::move(numbers));
}

class PhaseSplitter {
 public:
  PhaseSplitter(const LowLevelExpression& low, const DeviceDescription& device)
      : low_(low), device_(device) {
    NameAllocator names;
    names_ = NamesOf(expression(), names);
    taken_.insert(names_.inputs.begin(), names_.inputs.end());
    taken_.insert(names_.outputs.begin(), names_.outputs.end());
    for (const Dimension& d : expression().dimensions()) taken_.insert(d.name);
    parameters_ = Arrays("parameter", expression().function().parameters());
    results_ = Arrays("result", expression().function().results());
  }

  Result<LoopProgram> Build() {
    LoopProgram whole;
    for (const Nest& nest : FuseLoops(BuildNestPlan(low_)).nests) {
      const LowLevelExpression part =
          LowerUnchecked(PartOf(nest), low_.model(), ParametersOf(nest));
      MDH_ASSIGN_OR_RETURN(LoopProgram program, BuildNestProgram(part, device_));
      for (Stage& stage : program.stages) {
        LeaveArgumentsTheirNames(part.expression(), &stage);
        whole.stages.push_back(std::move(stage));
      }
      for (ScratchBuffer& buffer : program.scratch) whole.scratch.push_back(std::move(buffer));
      const PhaseKind last = nest.phases.back();
      if (last == PhaseKind::kDecomposition) AddScratch(parameters_, &whole);
      if (last == PhaseKind::kScalar) AddScratch(results_, &whole);
    }
    double bytes = 0;
    for (const ScratchBuffer& buffer : whole.scratch) {
      bytes += static_cast<double>(buffer.elements) * SizeBytes(buffer.type);
    }
    if (bytes > static_cast<double>(kMaxSharedScratchBytes)) {
      return ResourceExhausted("phases that are set apart need ", bytes,
                               " bytes between them, the limit is ", kMaxSharedScratchBytes);
    }
    return whole;
  }

 private:
  const Expression& expression() const { return low_.expression(); }

  // One dense array over all points per value, as a buffer that is accessed at the point.
  std::vector<Buffer> Arrays(const std::string& stem, const std::vector<TypedName>& values) {
    const int rank = expression().rank();
    IndexFunction at;
    std::vector<int64_t> extents;
    for (int d = 0; d < rank; ++d) {
      AffineIndex index{std::vector<int64_t>(rank, 0), 0};
      index.coefficients[d] = 1;
      at.indices.push_back(std::move(index));
      extents.push_back(expression().dimensions()[d].size);
    }
    std::vector<Buffer> arrays;
    for (size_t n = 0; n < values.size(); ++n) {
      std::string name = absl::StrCat(stem, n);
      while (!taken_.insert(name).second) name += "_";
      arrays.push_back({name, values[n].type, extents, {at}, true, rank});
    }
    return arrays;
  }

  void AddScratch(const std::vector<Buffer>& arrays, LoopProgram* program) const {
    for (const Buffer& array : arrays) {
      program->scratch.push_back({array.name, array.type.scalar(), array.elements(), false});
    }
  }

  // All stages have all arguments of the whole, also those that a part does not know.
  void LeaveArgumentsTheirNames(const Expression& part, Stage* stage) const {
    std::set<std::string> foreign(names_.inputs.begin(), names_.inputs.end());
    foreign.insert(names_.outputs.begin(), names_.outputs.end());
    for (const Buffer& input : part.inputs()) foreign.erase(input.name);
    for (const Buffer& output : part.outputs()) foreign.erase(output.name);
    std::set<std::string> declared;
    CollectDeclaredNames(stage->body, declared);
    NameAllocator names;
    ReserveNamesIn(stage->body, names);
    for (const std::string& name : taken_) names.Reserve(name);
    std::map<std::string, std::string> renamed;
    for (const std::string& name : declared) {
      if (foreign.contains(name)) renamed[name] = names.Unique(name);
    }
    if (!renamed.empty()) stage->body = RenameAll(stage->body, renamed);
  }

  // The user's buffers by the identifiers that the whole kernel has for them.
  static std::vector<Buffer> Renamed(std::vector<Buffer> buffers,
                                     const std::vector<std::string>& names) {
    for (size_t b = 0; b < buffers.size(); ++b) buffers[b].name = names[b];
    return buffers;
  }

  std::optional<StoreFunction> RenamedStore() const {
    std::optional<StoreFunction> store = expression().spec().store;
    for (int b = 0; store.has_value() && b < std::ssize(store->inputs); ++b) {
      store->inputs[b].name = names_.inputs[expression().passed_store_input(b)];
    }
    return store;
  }

  Expression PartOf(const Nest& nest) const {
    const Expression& e = expression();
    const bool computes = std::ranges::count(nest.phases, PhaseKind::kScalar) > 0;
    const PhaseKind first = nest.phases.front(), last = nest.phases.back();
    const bool reads_inputs = first == PhaseKind::kDecomposition;
    const bool combines = last == PhaseKind::kRecomposition;
    const std::vector<TypedName>& values =
        first == PhaseKind::kRecomposition ? e.function().results() : e.function().parameters();
    return Expression::Unchecked(
        {.name = e.name(),
         .dimensions = e.dimensions(),
         .inputs = reads_inputs                  ? Renamed(e.inputs(), names_.inputs)
                   : first == PhaseKind::kScalar ? parameters_
                                                 : results_,
         .outputs = combines                     ? Renamed(e.outputs(), names_.outputs)
                    : last == PhaseKind::kScalar ? results_
                                                 : parameters_,
         .function = computes ? e.function() : Identity(values),
         .combine_operators =
             combines ? e.combine_operators()
                      : std::vector<CombineOperator>(e.rank(), CombineOperator::Concat()),
         .index_dimensions = reads_inputs ? e.index_dimensions() : std::vector<int>(),
         .store = combines ? RenamedStore() : std::nullopt});
  }

  TuningParameters ParametersOf(const Nest& nest) const {
    TuningParameters p = low_.parameters();
    p.phase = nest.parameters;
    p.scalar_phase = p.recomposition_phase = std::nullopt;
    p.scalar_inputs.clear();
    p.scalar_outputs.clear();
    if (nest.phases.front() != PhaseKind::kDecomposition) {
      p.inputs.clear();
      for (const Buffer& array :
           nest.phases.front() == PhaseKind::kScalar ? parameters_ : results_) {
        p.inputs.push_back(ReadInPlace(array));
      }
    }
    if (nest.phases.back() != PhaseKind::kRecomposition) p.outputs.clear();
    return p;
  }

  const LowLevelExpression& low_;
  const DeviceDescription& device_;
  KernelNames names_;
  std::set<std::string> taken_;
  std::vector<Buffer> parameters_, results_;
};

}  // namespace

Result<LoopProgram> BuildSeparatePhases(const LowLevelExpression& low_level,
                                        const DeviceDescription& device) {
  return PhaseSplitter(low_level, device).Build();
}

}  // namespace mdh
