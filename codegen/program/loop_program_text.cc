#include "codegen/program/loop_program_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"

namespace mdh {
namespace {

std::string TypeText(LoopValueType type) {
  return type.lanes == 1 ? std::string(Name(type.scalar))
                         : absl::StrCat(Name(type.scalar), "x", type.lanes);
}

// "[offset]", of vectors "[offset, stride 2]", "[offset, stride 1, 3 off]".
std::string ElementsText(const Index& offset, int64_t stride, int lanes, int off = 0) {
  if (lanes == 1) return absl::StrCat("[", offset.ToString(), "]");
  return absl::StrCat("[", offset.ToString(), ", stride ", stride,
                      off == 0 ? "" : absl::StrCat(", ", off, " off"), "]");
}

std::string ValueText(const ValueNode& node);

void AppendText(std::string* out, const LoopValue& value) { *out += ValueText(*value); }

std::string OperationText(const ValueNode& node, const LoopOperation& operation) {
  if (operation.op == ScalarOp::kCast) {
    return absl::StrCat(TypeText(node.type), "(", ValueText(*operation.operands[0]), ")");
  }
  if (Info(operation.op).is_infix) {
    return absl::StrCat("(",
                        absl::StrJoin(operation.operands,
                                      absl::StrCat(" ", Info(operation.op).name, " "), AppendText),
                        ")");
  }
  return absl::StrCat(Info(operation.op).name, "(",
                      absl::StrJoin(operation.operands, ", ", AppendText), ")");
}

// "x.upper", "lower(x, groups of 4)", "lower(x, y, groups of 4, parts of 8)".
std::string GroupHalvesText(const GroupHalves& v) {
  const std::string half = v.is_upper ? "upper" : "lower", first = ValueText(*v.first);
  if (v.second != nullptr) {
    return absl::StrCat(half, "(", first, ", ", ValueText(*v.second), ", groups of ", v.group,
                        ", parts of ", v.part, ")");
  }
  if (v.group == v.first->type.lanes) return absl::StrCat(first, ".", half);
  return absl::StrCat(half, "(", first, ", groups of ", v.group, ")");
}

std::string LoadInsideText(LoopValueType type, const LoadInside& load) {
  const auto dimension = [](std::string* out, const LoadInside::Dimension& d) {
    absl::StrAppend(out, d.index.ToString(), d.lane_step == 0 ? "" : " + lane * ",
                    d.lane_step == 0 ? "" : absl::StrCat(d.lane_step),
                    d.is_inside ? " inside " : " of ", d.extent, " at ", d.stride);
  };
  return absl::StrCat(type.lanes == 1 ? "" : TypeText(type) + " ", load.pointer, "[",
                      absl::StrJoin(load.dimensions, "; ", dimension), "; ", load.constant,
                      "] else ", load.outside.has_value() ? load.outside->ToString() : "nearest",
                      load.loads_always ? ", always" : "");
}

std::string ValueText(const ValueNode& node) {
  return std::visit(
      Overloaded{[](const Literal& v) { return v.value.ToString(); },
                 [](const NamedValue& v) { return v.name; },
                 [&](const LoadElements& v) {
                   const std::string lanes = node.type.lanes == 1 ? "" : TypeText(node.type) + " ";
                   return absl::StrCat(lanes, v.pointer,
                                       ElementsText(v.offset, v.stride, node.type.lanes, v.off));
                 },
                 [&](const LoadInside& v) { return LoadInsideText(node.type, v); },
                 [](const TableElement& v) {
                   return absl::StrCat("table of ", v.table.size(), "[", ValueText(*v.index), "]");
                 },
                 [&](const LoopOperation& v) { return OperationText(node, v); },
                 [&](const Splat& v) {
                   return absl::StrCat("splat", node.type.lanes, "(", ValueText(*v.scalar), ")");
                 },
                 [](const Lane& v) { return absl::StrCat(ValueText(*v.vector), ".", v.lane); },
                 [](const GroupHalves& v) { return GroupHalvesText(v); },
                 [&](const JoinLanes& v) {
                   return absl::StrCat("join(", absl::StrJoin(v.scalars, ", ", AppendText), ")");
                 },
                 [](const AddProducts& v) {
                   return absl::StrCat("add_products(", ValueText(*v.sum), ", ", ValueText(*v.a),
                                       v.b == nullptr ? "" : ", ",
                                       v.b == nullptr ? "" : ValueText(*v.b), ")");
                 },
                 [&](const LoadWords& v) {
                   return absl::StrCat("words ", v.pointer,
                                       ElementsText(v.offset, v.stride, node.type.lanes));
                 },
                 [](const AddDots& v) {
                   return absl::StrCat("add_dots(", ValueText(*v.sum), ", ", ValueText(*v.a), ", ",
                                       ValueText(*v.b), ")");
                 },
                 [&](const OrderKeys& v) {
                   return absl::StrCat(
                       IsStorageOnly(node.type.scalar) ? "halves_of_keys" : "keys_of_halves",
                       v.nan_is_least ? "_nan_least(" : "(", ValueText(*v.value), ")");
                 },
                 [](const IndexValue& v) {
                   return absl::StrCat(
                       "value(", v.index.ToString(),
                       v.lane_step == 0 ? "" : absl::StrCat(" + lane * ", v.lane_step), ")");
                 },
                 [](const LoadOfBlock& v) {
                   return absl::StrCat(v.array, "[", v.offset.ToString(), "] of block ",
                                       v.block.ToString());
                 },
                 [](const ShuffleDown& v) {
                   return absl::StrCat("shuffle_down(", ValueText(*v.value), ", ", v.distance, ", ",
                                       v.width, ")");
                 },
                 [](const ShuffleUp& v) {
                   return absl::StrCat("shuffle_up(", ValueText(*v.value), ", ", v.distance, ", ",
                                       v.width, ")");
                 },
                 [](const ShuffleXor& v) {
                   return absl::StrCat("shuffle_xor(", ValueText(*v.value), ", ", v.bit, ", ",
                                       v.width, ")");
                 }},
      node.form);
}

std::string ConditionsText(const std::vector<Condition>& conditions) {
  if (conditions.empty()) return "true";
  return absl::StrJoin(conditions, " && ", [](std::string* out, const Condition& c) {
    switch (c.kind) {
      case Condition::Kind::kLess:
        return absl::StrAppend(out, c.a.ToString(), " < ", c.b.ToString());
      case Condition::Kind::kEqual:
        return absl::StrAppend(out, c.a.ToString(), " == ", c.b.ToString());
      case Condition::Kind::kFlag:
        return absl::StrAppend(out, c.flag);
      case Condition::Kind::kNotFlag:
        return absl::StrAppend(out, "!", c.flag);
    }
  });
}

std::string ForText(const For& s) {
  const std::string unrolled = s.unroll          ? "unrolled "
                               : s.unroll_by > 0 ? absl::StrCat("unrolled by ", s.unroll_by, " ")
                                                 : "";
  return absl::StrCat(unrolled, "for ", s.variable, " = ", s.begin.ToString(), " .. ",
                      s.end.ToString(), s.step == 1 ? "" : absl::StrCat(" step ", s.step),
                      s.whole_steps && s.step != 1 ? " whole" : "",
                      s.is_never_empty ? " never empty" : "");
}

class TextPrinter {
 public:
  void Print(const Block& block, int depth) {
    for (const Statement& statement : block) {
      std::visit([&](const auto& form) { Print(form, depth); }, statement.form);
    }
  }
  template <typename... Parts>
  void Line(int depth, const Parts&... parts) {
    absl::StrAppend(&text_, std::string(2 * depth, ' '), parts..., "\n");
  }
  std::string Take() { return std::move(text_); }

 private:
  void Print(const Comment& s, int depth) { Line(depth, "// ", s.text); }
  void Print(const DeclareIndex& s, int depth) {
    Line(depth, "index ", s.name, " = ", s.value.ToString());
  }
  void Print(const DeclareValue& s, int depth) {
    Line(depth, s.is_mutable ? "mutable " : "", TypeText(s.value->type), " ", s.name, " = ",
         ValueText(*s.value));
  }
  void Print(const Assign& s, int depth) { Line(depth, s.name, " = ", ValueText(*s.value)); }
  void Print(const StoreElements& s, int depth) {
    Line(depth, s.pointer, ElementsText(s.offset, s.stride, s.value->type.lanes, s.off), " = ",
         s.is_streaming ? "streaming " : "", ValueText(*s.value));
  }
  void Print(const AddElements& s, int depth) {
    Line(depth, s.pointer, ElementsText(s.offset, 1, s.value->type.lanes), " += atomically ",
         ValueText(*s.value));
  }
  void Print(const CombineElement& s, int depth) {
    Line(depth, s.pointer, "[", s.offset.ToString(), "] ", Info(s.op).name, "= atomically ",
         ValueText(*s.value));
  }
  void Print(const InsertKey& s, int depth) {
    Line(depth, "insert ", ValueText(*s.key), " into ", s.table, ", 2^", s.slot_bits,
         " slots, first ", ValueText(*s.first));
  }
  void Print(const FindKey& s, int depth) {
    Line(depth, "index ", s.name, " = place of ", ValueText(*s.key), " in ", s.table, ", 2^",
         s.slot_bits, " slots, first ", ValueText(*s.first));
  }
  void Print(const DeclarePointer& s, int depth) {
    Line(depth, "pointer ", s.is_const ? "const " : "", Name(s.type), " ", s.name, " = ", s.base,
         " + ", s.offset.ToString(),
         s.alignment_bytes < 16 ? absl::StrCat(", aligned to ", s.alignment_bytes) : "",
         s.flag.empty() ? ""
                        : absl::StrCat(" if ", s.flag, " else to ", s.elements, " of ",
                                       s.outside->ToString()));
  }
  void Print(const AdvancePointer& s, int depth) {
    Line(depth, "advance ", s.name, " by ", s.by.ToString());
  }
  void Print(const DeclareView& s, int depth) {
    Line(depth, "view ", s.is_const ? "const " : "", Name(s.type), " ", s.name, " = ", s.base);
  }
  void Print(const DeclareArray& s, int depth) {
    Line(depth, s.space == MemorySpace::kShared ? "shared " : "private ", Name(s.type), " ", s.name,
         "[", s.elements, "]",
         s.alignment_bytes == 16 ? "" : absl::StrCat(", aligned to ", s.alignment_bytes));
  }
  void Print(const HardwareIndex& s, int depth) {
    Line(depth, "index ", s.name, " = ", s.kind == HardwareIndex::Kind::kBlock ? "block" : "thread",
         " along ", s.axis);
  }
  void Print(const Barrier& s, int depth) {
    Line(depth, s.of_device_memory ? "barrier of device memory" : "barrier",
         s.threads > 0 ? absl::StrCat(" of ", s.threads, " threads") : "");
  }
  void Print(const ClusterBarrier& s, int depth) {
    Line(depth, "cluster barrier", s.is_of_starts ? " of starts" : "");
  }
  void Print(const DeclareLast& s, int depth) {
    Line(depth, "flag ", s.name, " = last of ", s.blocks, " at ", s.counter, "[",
         s.offset.ToString(), "]");
  }
  void Print(const AwaitStages&, int depth) { Line(depth, "await stages"); }
  void Print(const For& s, int depth) { Nested(ForText(s), *s.body, depth); }
  void Print(const ShareLoop& s, int depth) {
    Nested(absl::StrCat("share ", s.variable, " = 0 .. ", s.items), *s.body, depth);
  }
  void Print(const If& s, int depth) {
    Nested(absl::StrCat("if ", ConditionsText(s.all_of)), *s.then_block, depth);
    if (s.else_block != nullptr) Nested("else", *s.else_block, depth);
  }
  void Print(const IfAny& s, int depth) {
    Nested(absl::StrCat("if any ", ValueText(*s.condition)), *s.then_block, depth);
  }
  void Print(const DeclareFlag& s, int depth) {
    Line(depth, s.is_mutable ? "mutable " : "", "flag ", s.name, " = ", ConditionsText(s.all_of));
  }
  void Print(const ClearFlag& s, int depth) { Line(depth, s.name, " = false"); }
  void Print(const KeepInRegister& s, int depth) { Line(depth, "keep ", s.name); }
  void Print(const PrefetchElement& s, int depth) {
    Line(depth, "prefetch ", s.pointer, "[", s.offset.ToString(), "]",
         s.for_writing ? " for writing" : "");
  }
  void Print(const ConfigureTiles& s, int depth) {
    const auto print = [](std::string* out, const TileRows& tile) {
      absl::StrAppend(out, tile.rows, " x ", tile.words);
    };
    Line(depth, "configure tiles ", absl::StrJoin(s.shapes, ", ", print));
  }
  void Print(const ReleaseTiles&, int depth) { Line(depth, "release tiles"); }
  void Print(const ZeroTile& s, int depth) { Line(depth, "tile ", s.tile, " = 0"); }
  void Print(const LoadTile& s, int depth) {
    Line(depth, "tile ", s.tile, " = ", s.pointer, "[", s.offset.ToString(), "], rows ",
         s.row_bytes, " bytes apart");
  }
  void Print(const StoreTile& s, int depth) {
    Line(depth, s.pointer, "[", s.offset.ToString(), "] = tile ", s.tile, ", rows ", s.row_bytes,
         " bytes apart");
  }
  void Print(const MultiplyTiles& s, int depth) {
    Line(depth, "tile ", s.sums, " += ", s.instruction->name, " of tiles ", s.a, ", ", s.b);
  }
  void Print(const Call& s, int depth) {
    const auto print = [](std::string* out, const CallArgument& argument) {
      const auto* name = std::get_if<std::string>(&argument);
      *out += name != nullptr ? *name : std::get<Index>(argument).ToString();
    };
    Line(depth, s.function, "(", absl::StrJoin(s.arguments, ", ", print), ")");
  }
  void Print(const AsyncCopy& s, int depth) {
    Line(depth, s.target, "[", s.to.ToString(), "] = asynchronous ",
         s.type.lanes == 1 ? "" : TypeText(s.type) + " ", s.source, "[", s.from.ToString(), "]",
         s.all_of.empty() ? "" : absl::StrCat(" if ", ConditionsText(s.all_of), " else 0"));
  }
  void Print(const CommitCopies&, int depth) { Line(depth, "commit copies"); }
  void Print(const WaitForCopies& s, int depth) { Line(depth, "wait for copies but ", s.groups); }
  void Print(const CopyRegion& s, int depth) {
    Nested(absl::StrCat("copy to ", s.array, ", stages ", s.stages,
                        s.is_asynchronous ? ", asynchronous" : ""),
           *s.body, depth);
  }
  void Print(const DeclareOperand& s, int depth) {
    Line(depth, "operand ", s.name, " = ", s.array, " + ", s.offset.ToString(), ", blocks ",
         s.leading_bytes, ", eights ", s.stride_bytes);
  }
  void Print(const GroupMultiply& s, int depth) {
    const auto operand = [](const UnitOperand& x) {
      return absl::StrCat(x.name, " + ", x.offset_bytes, x.is_across ? " across" : "");
    };
    Line(depth, "group ", s.sums, "[", s.first, "] of 64 x ", s.columns,
         s.keeps.IsZero() ? " = " : " += ", Name(s.a.type),
         s.a.type == s.b.type ? "" : absl::StrCat(" by ", Name(s.b.type)), " ", operand(s.a), " * ",
         operand(s.b), s.keeps.is_constant() ? "" : absl::StrCat(", kept if ", s.keeps.ToString()));
  }
  void Print(const GroupFence&, int depth) { Line(depth, "group fence"); }
  void Print(const CommitMultiplies&, int depth) { Line(depth, "commit multiplies"); }
  void Print(const WaitForMultiplies& s, int depth) {
    Line(depth, "wait for multiplies but ", s.bundles);
  }
  void Print(const UnitFence&, int depth) { Line(depth, "unit fence"); }
  void Print(const TakeRegisters& s, int depth) {
    Line(depth, s.are_more ? "take " : "leave all but ", s.count, " registers");
  }
  void Print(const DeclareTensorMap& s, int depth) {
    Line(depth, "tensor ", s.name, " = ", s.base, " + ", s.offset, " of ", Name(s.type), ": ",
         absl::StrJoin(s.extents, " x "), " at ", absl::StrJoin(s.strides, ", "), ", boxes of ",
         absl::StrJoin(s.box, " x "));
  }
  void Print(const StartBarriers& s, int depth) {
    Line(depth, "start ", s.count, " barriers ", s.array, " of ", s.arrivals,
         s.arrivals == 1 ? " arrival" : " arrivals");
  }
  void Print(const ArriveAtBarrier& s, int depth) {
    Line(depth, s.is_of_group() ? "group arrives at " : "arrive at ", s.array, "[",
         s.number.ToString(), "]", s.blocks > 1 ? absl::StrCat(" of ", s.blocks, " blocks") : "",
         s.is_of_group() ? "" : absl::StrCat(", which waits for ", s.bytes, " bytes"));
  }
  void Print(const AwaitBarrier& s, int depth) {
    Line(depth, "await phase ", s.parity.ToString(), " of ", s.array, "[", s.number.ToString(),
         "]");
  }
  void Print(const TensorCopy& s, int depth) {
    Line(depth, s.array, "[", s.to.ToString(), "] = copy of ", s.map, "(",
         absl::StrJoin(s.coordinates, ", ",
                       [](std::string* out, const Index& index) { *out += index.ToString(); }),
         "), ", s.barriers, "[", s.barrier.ToString(), "]",
         s.blocks == 1 ? ""
                       : absl::StrCat(", to ", s.blocks, " blocks from ", s.first_block.ToString(),
                                      " on, ", s.step, " apart"));
  }
  void Print(const StoreMatrices& s, int depth) {
    Line(depth, s.array, "[", s.offset.ToString(), "] = matrices of ", Name(s.type), " ",
         absl::StrJoin(s.values, ", ", AppendText));
  }
  static std::string Held(const HeldFragment& x) {
    return absl::StrCat(x.array, "[", x.first.ToString(), "]");
  }
  void Print(const LoadMatrices& s, int depth) {
    Line(depth, Held(s.to), " = ", s.matrices, s.is_transposed ? " transposed" : "",
         " matrices of ", Name(s.type), " ", s.array, "[", s.offset.ToString(), "]");
  }
  void Print(const RoundToTf32& s, int depth) {
    Line(depth, "round to tf32 ", s.count, " of ", Held(s.values));
  }
  void Print(const AwaitSums& s, int depth) {
    Line(depth, "await ", s.tiles, " tiles of sums ", Held(s.sums));
  }
  void Print(const WarpMultiply& s, int depth) {
    Line(depth, "warp ", Held(s.sums), " += ", s.instruction->name, " ", Held(s.a), " * ",
         Held(s.b));
  }
  void Nested(const std::string& head, const Block& body, int depth) {
    Line(depth, head);
    Print(body, depth + 1);
  }

  std::string text_;
};

}  // namespace

std::string ToText(const LoopValue& value) { return ValueText(*value); }

std::string ToText(const Block& block) {
  TextPrinter printer;
  printer.Print(block, 0);
  return printer.Take();
}

std::string ToText(const LoopProgram& program) {
  TextPrinter printer;
  for (const Function& function : program.functions) {
    printer.Line(0, "function ", function.name);
    printer.Print(function.body, 1);
  }
  for (const Stage& stage : program.stages) {
    const auto extents = [](const std::array<int64_t, 3>& x) { return absl::StrJoin(x, "x"); };
    printer.Line(
        0, "stage, grid ", extents(stage.launch.grid), ", block ", extents(stage.launch.block),
        stage.cluster == Stage().cluster ? "" : absl::StrCat(", cluster ", extents(stage.cluster)),
        stage.resident_blocks == 0 ? "" : absl::StrCat(", resident ", stage.resident_blocks),
        stage.most_threads == 0 ? "" : absl::StrCat(", threads ", stage.most_threads),
        stage.only_packs ? ", only packs" : "");
    printer.Print(stage.body, 1);
  }
  return printer.Take();
}

}  // namespace mdh
