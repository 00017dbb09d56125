// The text form of tuning parameters, printed; core/decomposition/tuning_parameters_parser.cc reads
// it. Separators:
// ';' between fields, '/' between buffers of `memory` and `results`, '|' between layers (elsewhere:
// buffers), ',' between dimensions, '.' within a layout.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/tuning_parameters.h"

namespace mdh {
namespace {

template <typename T>
std::string JoinRows(const LevelTable<T>& rows) {
  return absl::StrJoin(rows, "|", [](std::string* out, const std::vector<T>& row) {
    absl::StrAppend(out, absl::StrJoin(row, ","));
  });
}

// "0,1,2|2,0,1|...": one row per layer, if layers are nested; else "(1,1)(1,2)(3,1)...", one-based.
std::string OrderText(const PhaseParameters& phase) {
  LevelTable<int> rows;
  for (int l = 0; rows.size() <= phase.order.size(); ++l) {
    rows.push_back(OrderOfLayer(phase, l));
    if (rows.back().empty()) break;
  }
  rows.pop_back();
  if (NestedOrder(rows) == phase.order) return JoinRows(rows);
  std::string text;
  for (const MdhLevel& level : phase.order) {
    absl::StrAppend(&text, "(", level.layer + 1, ",", level.dimension + 1, ")");
  }
  return text;
}

// "(1,2)(1,1)|(2,1)(2,2)|...": the ASM level of every MDH level, one-based.
std::string AssignmentText(const LevelTable<AsmLevel>& assignment) {
  return absl::StrJoin(assignment, "|", [](std::string* out, const std::vector<AsmLevel>& row) {
    for (const AsmLevel& level : row) {
      absl::StrAppend(out, "(", level.layer + 1, ",", level.dimension + 1, ")");
    }
  });
}

std::string PhaseText(const std::optional<PhaseParameters>& phase, absl::string_view order,
                      absl::string_view assignment) {
  if (!phase.has_value()) return "";
  std::string text = absl::StrCat("; ", order, "=", OrderText(*phase));
  if (!phase->assignment.empty()) {
    absl::StrAppend(&text, "; ", assignment, "=", AssignmentText(phase->assignment));
  }
  return text;
}

// "0.1"; "-" for a buffer without dimensions.
std::string LayoutText(const std::vector<int>& layout) {
  return layout.empty() ? "-" : absl::StrJoin(layout, ".");
}

// "0,0|1,1@0.1,0.1|1.0,1.0" = regions, then layouts, either of which may be left out.
std::string MemoryText(const MemoryParameters& memory) {
  std::string text = JoinRows(memory.regions);
  if (memory.layouts.empty()) return text;
  const auto layout = [](std::string* out, const std::vector<int>& l) { *out += LayoutText(l); };
  absl::StrAppend(&text, "@",
                  absl::StrJoin(memory.layouts, "|", [&](std::string* out, const auto& row) {
                    *out += absl::StrJoin(row, ",", layout);
                  }));
  return text;
}

std::string ScalarText(const std::vector<ScalarMemory>& memory, absl::string_view name) {
  if (memory.empty()) return "";
  return absl::StrCat("; ", name, "=",
                      absl::StrJoin(memory, "|", [](std::string* out, const ScalarMemory& one) {
                        absl::StrAppend(out, one.region, ":", LayoutText(one.layout));
                      }));
}

std::string StageName(int layer) {
  if (layer == InputParameters::kInPlace) return "in_place";
  if (layer == InputParameters::kWholeBuffer) return "whole";
  return absl::StrCat(layer);
}

std::string InputsText(const std::vector<InputParameters>& inputs) {
  return absl::StrJoin(inputs, "|", [](std::string* out, const InputParameters& input) {
    absl::StrAppend(out, StageName(input.stage_layer), ":", absl::StrJoin(input.layout, ","), ":",
                    input.strip_dimension);
  });
}

// What inputs have besides `inputs`, if some have it.
std::string CopiesText(const std::vector<InputParameters>& inputs) {
  const InputParameters none;
  bool has_memory = false, has_copies = false;
  for (const InputParameters& input : inputs) {
    has_memory = has_memory || !(input.memory == none.memory);
    has_copies = has_copies || input.padding != none.padding ||
                 input.copy_width != none.copy_width || input.copy_stages != none.copy_stages ||
                 input.copy_mode != none.copy_mode;
  }
  std::string text;
  if (has_memory) {
    const auto memory = [](std::string* out, const InputParameters& input) {
      *out += MemoryText(input.memory);
    };
    absl::StrAppend(&text, "; memory=", absl::StrJoin(inputs, "/", memory));
  }
  if (has_copies) {
    const auto copy = [](std::string* out, const InputParameters& input) {
      absl::StrAppend(out, input.padding, ":", input.copy_width, ":", input.copy_stages,
                      input.copy_mode == CopyMode::kAsynchronous ? ":async" : "");
    };
    absl::StrAppend(&text, "; copy=", absl::StrJoin(inputs, "|", copy));
  }
  return text;
}

// "; fused=0,1|3,4".
std::string FusedText(const FusedDimensions& fused) {
  return fused.empty() ? "" : absl::StrCat("; fused=", JoinRows(fused));
}

std::string ResultsText(const std::vector<MemoryParameters>& outputs) {
  if (outputs.empty()) return "";
  const auto memory = [](std::string* out, const MemoryParameters& one) {
    *out += MemoryText(one);
  };
  return absl::StrCat("; results=", absl::StrJoin(outputs, "/", memory));
}

// "; early=calls; ..."
std::string ChoicesText(const TuningParameters& p, bool always_printed) {
  std::string text;
  for (const Choice& choice : Choices()) {
    if (choice.is_always_printed != always_printed) continue;
    if (!always_printed && choice.is_default(p)) continue;
    absl::StrAppend(&text, "; ", choice.key, "=", choice.Text(choice.get(p)));
  }
  return text;
}

}  // namespace

std::string ToText(const TuningParameters& p) {
  std::string text =
      absl::StrCat("model=", p.system_model, FusedText(p.fused), "; tile=", JoinRows(p.tile),
                   "; order=", OrderText(p.phase), "; inputs=", InputsText(p.inputs),
                   ChoicesText(p, /*always_printed=*/true));
  if (!p.phase.assignment.empty()) {
    absl::StrAppend(&text, "; assign=", AssignmentText(p.phase.assignment));
  }
  absl::StrAppend(&text, PhaseText(p.scalar_phase, "scalar_order", "scalar_assign"),
                  PhaseText(p.recomposition_phase, "recompose_order", "recompose_assign"),
                  CopiesText(p.inputs), ResultsText(p.outputs));
  absl::StrAppend(&text, ScalarText(p.scalar_inputs, "scalar_in"),
                  ScalarText(p.scalar_outputs, "scalar_out"),
                  ChoicesText(p, /*always_printed=*/false));
  if (p.numerics != NumericsPolicy::kReassociate) {
    absl::StrAppend(&text, "; numerics=", Name(p.numerics));
  }
  return text;
}

}  // namespace mdh
