#include "core/decomposition/low_level_summary.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/wrap_lines.h"

namespace mdh {
namespace {

constexpr int kColumnsOfComment = 77;  // behind "// "

struct SpelledOut {
  const char* name;
  const char* meaning;
};

// Layers and regions of all models of core/device/system_model.h.
constexpr SpelledOut kNames[] = {
    {"COR", "cores"},
    {"SIMD", "vector lanes"},
    {"MM", "main memory"},
    {"L3", "third-level cache"},
    {"L2", "second-level cache"},
    {"L1", "first-level cache"},
    {"RM", "registers"},
    {"BLK", "blocks of threads"},
    {"WRP", "warps"},
    {"THR", "threads"},
    {"DEV", "loops over device memory"},
    {"SHR", "loops over shared memory"},
    {"REG", "unrolled loops over registers"},
    {"DM", "device memory"},
    {"SM", "shared memory"},
    {"WG", "work-groups"},
    {"WI", "work-items"},
    {"GLB", "loops over global memory"},
    {"LCL", "loops over local memory"},
    {"PRV", "unrolled loops over private memory"},
    {"GM", "global memory"},
    {"LM", "local memory"},
    {"PM", "private memory"},
    {"GPU", "devices"},
    {"HST", "loops over the host's memory"},
    {"HM", "the host's memory"},
};

}  // namespace

std::string SpelledOutName(const std::string& name) {
  for (const SpelledOut& entry : kNames) {
    if (name == entry.name) return entry.meaning;
  }
  return "";
}

std::string ShortForm(const LowLevelExpression& low) {
  std::string text;
  int layer = -1;
  for (const MdhLevel& level : low.Order(PhaseKind::kDecomposition)) {
    const int64_t parts = low.at(level).parts;
    if (parts <= 1) continue;
    if (level.layer != layer) {
      absl::StrAppend(&text, text.empty() ? "" : " | ", low.model().layers[level.layer].name);
      layer = level.layer;
    }
    absl::StrAppend(&text, " ", low.expression().dimensions()[level.dimension].name, " ", parts);
  }
  return text.empty() ? "one part" : text;
}

std::string TableLegend(const SystemModel& model, int columns) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    std::string meaning = absl::StrCat(name, " ", SpelledOutName(name));
    if (std::ranges::find(names, meaning) == names.end()) names.push_back(std::move(meaning));
  };
  for (const AsmLayer& layer : model.layers) add(layer.name);
  for (const std::string& region : model.memory_regions()) add(region);
  return WrapLines(
      absl::StrCat(
          "0: number of parts. D, S, R: de-composition, scalar phase, re-composition. 1: place in "
          "the order of all levels, as (layer,dimension). 2: layer and dimension of the machine "
          "that a part is assigned to. D3, S3: memory of each input, R3, S5: of each result. D4, "
          "S4, R4, S6: in which order dimensions lie there.\n",
          absl::StrJoin(names, ", "), ".\n"),
      columns, 0);
}

std::string DescribeDecomposition(const LowLevelExpression& low) {
  const std::string table = TableOfCuts(low);
  return absl::StrCat("Parts, outermost layer first:\n",
                      WrapLines(absl::StrCat("  ", ShortForm(low)), kColumnsOfComment, 4), "\n\n",
                      table, table.empty() ? "" : TableLegend(low.model(), kColumnsOfComment));
}

}  // namespace mdh
