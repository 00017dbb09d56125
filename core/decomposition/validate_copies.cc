// Validate: copies of inputs in shared memory and registers (D3, D4) and how they are made.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

class Copies {
 public:
  Copies(const NestShape& shape, const DeviceDescription& device)
      : e_(shape.expression()),
        m_(shape.model()),
        device_(device),
        p_(shape.parameters()),
        shape_(shape) {}

  Status Run() const {
    for (int b = 0; b < static_cast<int>(p_.inputs.size()); ++b) {
      MDH_RETURN_IF_ERROR(
          AtParameter(Input(b), {.kind = ParameterPlace::Kind::kInput, .buffer = OwnerOf(e_, b)}));
    }
    return absl::OkStatus();
  }

 private:
  Status Input(int b) const {
    MDH_RETURN_IF_ERROR(
        ValidateRegions(m_, p_.phase, p_.inputs[b].memory,
                        absl::StrCat("memory regions of ", e_.inputs()[b].name, " (D3)")));
    MDH_RETURN_IF_ERROR(Ranges(b));
    if (m_.memory == MemoryKind::kExplicit) MDH_RETURN_IF_ERROR(Explicit(b));
    return OfSharedCopies(b);
  }

  const std::string& Name(int b) const { return e_.inputs()[b].name; }
  ParameterPlace Of(int b, const char* what) const {
    return {.kind = ParameterPlace::Kind::kInput, .buffer = OwnerOf(e_, b), .choice = what};
  }

  Status Ranges(int b) const {
    const InputParameters& input = p_.inputs[b];
    if (input.padding < 0 || input.padding > InputParameters::kMaxPadding) {
      return AtParameter(InvalidParameters("padding of ", Name(b), ": ", input.padding,
                                           " is not in 0..", InputParameters::kMaxPadding),
                         Of(b, "padding"));
    }
    const bool is_asynchronous = input.copy_mode == CopyMode::kAsynchronous;
    const int fewest = is_asynchronous ? 2 : 1;
    const int most = is_asynchronous ? InputParameters::kMaxAsyncStages : 2;
    if (input.copy_stages < fewest || input.copy_stages > most) {
      return AtParameter(
          InvalidParameters("stages of the ", is_asynchronous ? "asynchronous " : "", "copy of ",
                            Name(b), ": ", input.copy_stages, " is not in ", fewest, "..", most),
          Of(b, "stages"));
    }
    if (input.copy_width < 1 || (input.copy_width & (input.copy_width - 1)) != 0) {
      return AtParameter(InvalidParameters("width of the copy of ", Name(b), ": ", input.copy_width,
                                           " is no power of two"),
                         Of(b, "width"));
    }
    return absl::OkStatus();
  }

  Status Explicit(int b) const {
    MDH_RETURN_IF_ERROR(AtParameter(
        ValidateUserLayouts(p_.inputs[b].memory, absl::StrCat("layouts of ", Name(b), " (D4)")),
        Of(b, "layout")));
    const std::vector<int> places = shape_.CopyPlaces(b);
    if (!places.empty() && !CanStage(e_.inputs()[b])) {
      return InvalidParameters("copy of ", Name(b),
                               " (D3): its accesses run backwards or are of records");
    }
    for (const int n : places) {
      double elements = 1;
      for (const int64_t extent : shape_.CopyBox(b, n, /*shared=*/true).extents) {
        elements *= static_cast<double>(extent);
      }
      if (elements <= static_cast<double>(kMaxCopiedElements)) continue;
      return InvalidParameters("elements of the copy of ", Name(b),
                               " (D3): ", static_cast<int64_t>(std::min(elements, 9e18)), " > ",
                               kMaxCopiedElements);
    }
    return absl::OkStatus();
  }

  std::vector<int> SharedPlaces(int b) const {
    std::vector<int> places;
    if (m_.memory != MemoryKind::kExplicit) return places;
    for (const int n : shape_.CopyPlaces(b)) {
      if (shape_.InputRegion(b, n) == shape_.shared_region()) places.push_back(n);
    }
    return places;
  }

  Status OfSharedCopies(int b) const {
    const InputParameters& input = p_.inputs[b];
    const std::vector<int> places = SharedPlaces(b);
    if (places.empty()) {
      if (input.padding == 0 && input.copy_width == 1 && input.copy_stages == 1) {
        return absl::OkStatus();
      }
      return AtParameter(InvalidParameters("padding ", input.padding, ", width ", input.copy_width,
                                           " and stages ", input.copy_stages, " of the copy of ",
                                           Name(b), ": there is no copy in shared memory"),
                         Of(b, input.padding != 0      ? "padding"
                               : input.copy_width != 1 ? "width"
                                                       : "stages"));
    }
    for (const int n : places) {
      if (input.copy_width > 1) {
        const std::string reason = CopyWidthObstacle(e_, shape_, b, n, input.copy_width);
        if (!reason.empty()) {
          return AtParameter(InvalidParameters("width of the copy of ", Name(b), ": ",
                                               input.copy_width, " elements, but ", reason),
                             Of(b, "width"));
        }
      }
      if (input.copy_stages > 1) MDH_RETURN_IF_ERROR(AtParameter(Stages(b, n), Of(b, "stages")));
      if (input.copy_mode == CopyMode::kAsynchronous) {
        MDH_RETURN_IF_ERROR(AtParameter(Asynchronous(b, n), Of(b, "mode")));
      }
    }
    return absl::OkStatus();
  }

  Status Asynchronous(int b, int place) const {
    const std::string name = absl::StrCat("asynchronous copy of ", Name(b), ": ");
    if (!HasAsyncCopies(device_)) {
      return InvalidParameters(name, device_.name.empty() ? "the device" : device_.name,
                               " has none, which CUDA has from compute capability 8.0 on");
    }
    const std::string reason = AsyncCopyObstacle(e_, shape_, p_, b, place);
    return reason.empty() ? absl::OkStatus() : InvalidParameters(name, reason);
  }

  // The next part can only be copied during the computation if a loop has a next part.
  Status Stages(int b, int place) const {
    int n = place - 1;
    while (n >= 0 && shape_.levels()[n].parts == 1) --n;
    if (n >= 0 && !shape_.is_parallel(n)) return absl::OkStatus();
    return InvalidParameters("stages of the copy of ", Name(b), ": ", p_.inputs[b].copy_stages,
                             " > 1, but ",
                             n < 0 ? "no level with several parts is around it"
                                   : absl::StrCat("level ", LevelText(shape_.levels()[n].level),
                                                  " around it is parallel, not a loop"));
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const TuningParameters& p_;
  const NestShape& shape_;
};

}  // namespace

Status ValidateRegions(const SystemModel& model, const PhaseParameters& phase,
                       const MemoryParameters& memory, const std::string& name) {
  if (memory.regions.empty()) return absl::OkStatus();
  for (size_t n = 1; n < phase.order.size(); ++n) {
    const MdhLevel outer = phase.order[n - 1], inner = phase.order[n];
    const int before = memory.regions[outer.layer][outer.dimension];
    const int after = memory.regions[inner.layer][inner.dimension];
    if (after >= before) continue;
    const std::vector<std::string> regions = model.memory_regions();
    return InvalidParameters(name, ": ", regions[after], " at level ", LevelText(inner),
                             " inside of ", regions[before], " at level ", LevelText(outer),
                             ", regions must get faster inwards");
  }
  return absl::OkStatus();
}

Status ValidateUserLayouts(const MemoryParameters& memory, const std::string& name) {
  for (int l = 0; l < static_cast<int>(memory.layouts.size()); ++l) {
    for (int d = 0; d < static_cast<int>(memory.layouts[l].size()); ++d) {
      const bool is_copy = !memory.regions.empty() && memory.regions[l][d] > 0;
      std::vector<int> layout = memory.layouts[l][d];
      if (is_copy || std::ranges::is_sorted(layout)) continue;
      for (int& x : layout) ++x;
      return InvalidParameters(name, ": [", absl::StrJoin(layout, ","), "] at level ",
                               LevelText({l, d}),
                               " for the user's buffer, which is in ascending order");
    }
  }
  return absl::OkStatus();
}

Status ValidateCopies(const NestShape& decomposition, const DeviceDescription& device) {
  return Copies(decomposition, device).Run();
}

}  // namespace mdh
