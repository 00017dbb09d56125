#include "core/decomposition/unit_use.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/expression/contraction_form.h"

namespace mdh {
namespace {

std::string TileText(const TuningParameters& p) {
  const UnitParameters& unit = p.unit;
  std::string text =
      absl::StrCat("tiles of ", unit.rows, " x ", unit.columns, " by ", unit.groups,
                   unit.groups == 1 ? " group" : " groups", " of threads, ", unit.stages, " stages");
  if (unit.packed != PackedOperands::kNone) absl::StrAppend(&text, ", packed operands");
  if (unit.parts > 1) {
    absl::StrAppend(&text, "; k in ", unit.parts, " parts, which ",
                    p.combine_blocks == CombineBlocks::kCluster ? "a cluster of blocks adds up"
                                                                : "another stage adds up");
  }
  return text;
}

}  // namespace

std::optional<UnitUse> UnitUseOf(const LowLevelExpression& low_level,
                                 const DeviceDescription& device, double clock_hz) {
  const TuningParameters& p = low_level.parameters();
  if (p.unit.rows == 0) return std::nullopt;
  const Result<ContractionForm> form = FindContractionForm(low_level.expression());
  if (!form.ok()) return std::nullopt;
  Result<MatrixInstruction> instruction = MatrixInstructionNamed(
      absl::StrCat("wgmma.m64n", p.unit.columns, "k16.", Name(form->a.type())));
  if (!instruction.ok()) return std::nullopt;
  const double rate = MultiplyAddsPerCycle(*instruction, device);
  UnitUse use{*std::move(instruction), 2 * rate * device.blocks.multiprocessors * clock_hz, ""};
  use.text = absl::StrCat(use.instruction.name, ", ", TileText(p));
  return use;
}

}  // namespace mdh
