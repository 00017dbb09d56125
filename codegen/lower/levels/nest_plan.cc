#include "codegen/lower/levels/nest_plan.h"

#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/program/c_names.h"

namespace mdh {
namespace {

PhaseParameters ParametersOf(const TuningParameters& p, PhaseKind phase) {
  if (phase == PhaseKind::kScalar && p.scalar_phase) return *p.scalar_phase;
  if (phase == PhaseKind::kRecomposition && p.recomposition_phase) return *p.recomposition_phase;
  return p.phase;
}

absl::string_view PhaseName(PhaseKind phase) {
  switch (phase) {
    case PhaseKind::kDecomposition:
      return "de-composition";
    case PhaseKind::kScalar:
      return "scalar";
    case PhaseKind::kRecomposition:
      return "re-composition";
  }
  return "";
}

// The literal copy of one input in front of one level.
NestCopy LiteralCopy(const LowLevelExpression& low, const NestShape& shape, int input, int place) {
  const Buffer& buffer = low.expression().inputs()[input];
  const InputParameters& parameters = low.parameters().inputs[input];
  const int region = shape.InputRegion(input, place);
  const bool is_shared = region == shape.shared_region();
  NestCopy copy{.input = input,
                .place = place,
                .region = region,
                .is_shared = is_shared,
                .name = absl::StrCat(CIdentifier(buffer.name), "_",
                                     absl::AsciiStrToLower(low.model().memory_regions()[region])),
                .layout = shape.LayoutAt(input, place),
                .extents = buffer.extents,
                .steps = std::vector<int64_t>(buffer.extents.size(), 1),
                .iterated = std::vector<int>(low.expression().rank()),
                .uses_all_threads = false,
                .padding = is_shared ? parameters.padding : 0,
                .width = is_shared ? parameters.copy_width : 1,
                .stages = is_shared ? parameters.copy_stages : 1,
                .is_asynchronous = is_shared && parameters.copy_mode == CopyMode::kAsynchronous};
  std::iota(copy.iterated.begin(), copy.iterated.end(), 0);
  return copy;
}

}  // namespace

int64_t NestCopy::elements() const {
  int64_t elements = extents[layout.back()] + padding;
  for (size_t n = 0; n + 1 < layout.size(); ++n) elements *= extents[layout[n]];
  return elements;
}

std::vector<int64_t> NestCopy::strides() const {
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t n = layout.size(); n-- > 0;) {
    strides[layout[n]] = stride;
    stride *= extents[layout[n]] + (n + 1 == layout.size() ? padding : 0);
  }
  return strides;
}

NestPlan BuildNestPlan(const LowLevelExpression& low) {
  NestPlan plan;
  for (const PhaseKind phase :
       {PhaseKind::kDecomposition, PhaseKind::kScalar, PhaseKind::kRecomposition}) {
    plan.nests.push_back({{phase}, ParametersOf(low.parameters(), phase)});
  }
  const NestShape& shape = low.shape();
  for (int b = 0; b < static_cast<int>(low.expression().inputs().size()); ++b) {
    for (int n = 0; n < shape.count(); ++n) {
      if (shape.InputRegion(b, n) > 0) plan.copies.push_back(LiteralCopy(low, shape, b, n));
    }
  }
  return plan;
}

NestPlan OptimizedNestPlan(const LowLevelExpression& low_level) {
  NestPlan plan = EliminateBuffers(FuseLoops(BuildNestPlan(low_level)));
  return MinimizeMemoryOperations(low_level, ReduceBufferSizes(low_level, std::move(plan)));
}

std::string NestPlan::ToString(const LowLevelExpression& low) const {
  std::string text;
  for (const Nest& nest : nests) {
    absl::StrAppend(&text, "nest of ",
                    absl::StrJoin(nest.phases, ", ",
                                  [](std::string* out, PhaseKind phase) {
                                    absl::StrAppend(out, PhaseName(phase));
                                  }),
                    ":");
    for (const MdhLevel& level : nest.parameters.order) {
      const LowLevelOperator& op = low.at(level);
      if (op.parts == 1) continue;
      absl::StrAppend(&text, " ", low.expression().dimensions()[level.dimension].name, " ",
                      low.model().layers[level.layer].name, "=", op.parts);
    }
    absl::StrAppend(&text, "\n");
  }
  for (const NestCopy& copy : copies) {
    absl::StrAppend(&text, copy.name, "[", absl::StrJoin(copy.extents, "]["),
                    "] in front of place ", copy.place, ", steps ", absl::StrJoin(copy.steps, ","),
                    ", over ",
                    absl::StrJoin(copy.iterated, " ",
                                  [&](std::string* out, int d) {
                                    absl::StrAppend(out, low.expression().dimensions()[d].name);
                                  }),
                    copy.uses_all_threads ? ", by all threads\n" : "\n");
  }
  return text;
}

}  // namespace mdh
