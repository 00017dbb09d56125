#include "codegen/print/c_printer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_spelling.h"
#include "core/base/status.h"

namespace mdh {
namespace {

std::string Indent(int depth) { return std::string(2 * depth, ' '); }

bool Declares(const Block& block) {
  for (const Statement& statement : block) {
    if (std::holds_alternative<DeclareIndex>(statement.form) ||
        std::holds_alternative<DeclareValue>(statement.form) ||
        std::holds_alternative<DeclarePointer>(statement.form) ||
        std::holds_alternative<DeclareView>(statement.form) ||
        std::holds_alternative<DeclareArray>(statement.form) ||
        std::holds_alternative<FindKey>(statement.form) ||
        std::holds_alternative<DeclareLast>(statement.form) ||
        std::holds_alternative<DeclareOperand>(statement.form) ||
        std::holds_alternative<DeclareFlag>(statement.form)) {
      return true;
    }
  }
  return false;
}

// "thread == 0".
bool IsOfFirstThread(const Condition& condition) {
  return condition.kind == Condition::Kind::kEqual && condition.a == Index::Variable("thread") &&
         condition.b == Index(0);
}

// x of `p[i] = p[i] + x`, floating-point scalars; else null.
const ValueNode* AddedTo(const StoreElements& store) {
  const auto* sum = std::get_if<LoopOperation>(&store.value->form);
  if (sum == nullptr || sum->op != ScalarOp::kAdd || !IsFloatingPoint(store.value->type.scalar)) {
    return nullptr;
  }
  const auto* load = std::get_if<LoadElements>(&sum->operands[0]->form);
  const bool is_same =
      load != nullptr && load->pointer == store.pointer && load->offset == store.offset;
  return is_same ? sum->operands[1].get() : nullptr;
}

}  // namespace

std::string CPrinter::Declaration(LoopValueType type) {
  return type.lanes > 1 ? prelude_.VectorType(type) : CType(type.scalar, dialect_);
}

std::string CPrinter::PrintCondition(const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::kLess:
      return absl::StrCat(COperand(condition.a, dialect_), " < ", COperand(condition.b, dialect_));
    case Condition::Kind::kEqual:
      return absl::StrCat(COperand(condition.a, dialect_), " == ", COperand(condition.b, dialect_));
    case Condition::Kind::kFlag:
      return condition.flag;
    case Condition::Kind::kNotFlag:
      return absl::StrCat("!", condition.flag);
  }
  return "";
}

std::string CPrinter::PrintConditions(const std::vector<Condition>& conditions) {
  if (conditions.empty()) return "1";
  return absl::StrJoin(conditions, " && ", [&](std::string* out, const Condition& condition) {
    out->append(PrintCondition(condition));
  });
}

std::string CPrinter::PrintAssign(const Assign& s) {
  const auto* operation = std::get_if<LoopOperation>(&s.value->form);
  if (operation != nullptr && operation->operands.size() == 2 &&
      IsNativeOperator(operation->op, s.value->type, s.value->type, dialect_) &&
      CPrecedence(operation->op) >= 11) {
    const auto* left = std::get_if<NamedValue>(&operation->operands[0]->form);
    if (left != nullptr && left->name == s.name) {
      return absl::StrCat(s.name, " ", COperator(operation->op), "= ",
                          PrintValue(*operation->operands[1], 0), ";\n");
    }
  }
  return absl::StrCat(s.name, " = ", PrintValue(*s.value, 0), ";\n");
}

// Whether the language has a store past caches for it.
bool CPrinter::StreamsInPlace(const StoreElements& s) const {
  const LoopValueType type = s.value->type;
  if (dialect_.streaming_store.empty()) return false;
  if (type.lanes == 1) return true;
  return !NativeVector(dialect_, type).empty() && MovesAsVector(type, s.stride, s.pointer);
}

std::string CPrinter::PrintStore(const StoreElements& s) {
  const LoopValueType type = s.value->type;
  if (s.is_streaming && StreamsInPlace(s)) {
    const std::string cast =
        type.lanes == 1
            ? std::string()
            : absl::StrCat(
                  "(", CPointer(dialect_, Space(s.pointer), false, prelude_.VectorType(type)), ")");
    const std::string address = absl::StrCat(cast, "&", s.pointer, "[", PrintIndex(s.offset), "]");
    return absl::StrCat(
        absl::Substitute(dialect_.streaming_store, address, PrintValue(*s.value, 0)), ";\n");
  }
  if (type.lanes == 1) {
    const std::string element = absl::StrCat(s.pointer, "[", PrintPlace(s.pointer, s.offset), "]");
    if (const ValueNode* added = AddedTo(s); dialect_.has_blocks() && added != nullptr) {
      return absl::StrCat(element, " += ", PrintValue(*added, 0), ";\n");
    }
    return absl::StrCat(element, " = ", PrintValue(*s.value, 0), ";\n");
  }
  const std::string value = PrintValue(*s.value, 0);
  const AddressSpace space = Space(s.pointer);
  const std::string address = Address(s.pointer, s.offset);
  if (MovesAsVector(type, s.stride, s.pointer)) {
    return absl::StrCat("*(", CPointer(dialect_, space, false, prelude_.VectorType(type)), ")",
                        address, " = ", value, ";\n");
  }
  if (!dialect_.unaligned_store.empty() && s.stride == 1 && space != AddressSpace::kPrivate) {
    return absl::StrCat(absl::Substitute(dialect_.unaligned_store, type.lanes), "(", value, ", 0, ",
                        address, ");\n");
  }
  if (s.is_streaming && dialect_.computes_with_vectors && s.stride == 1 &&
      CPrelude::CanStream(type)) {
    return absl::StrCat(prelude_.StreamFunction(type), "(", address, ", ", value, ");\n");
  }
  return absl::StrCat(
      prelude_.StoreFunction(type, s.stride, space, s.off), "(", address, ", ",
      prelude_.TakesStride(type, s.stride, s.off) ? absl::StrCat(s.stride, ", ") : "", value,
      ");\n");
}

std::string CPrinter::PrintAdd(const AddElements& s) {
  if (!dialect_.adds_atomically()) NotInLanguage(dialect_, "atomic additions");
  if (SizeBytes(s.value->type.scalar) * s.value->type.lanes > Alignment(s.pointer)) {
    std::string text;
    for (int lane = 0; lane < s.value->type.lanes; ++lane) {
      absl::StrAppend(&text, lane == 0 ? "" : " ",
                      PrintAdd({s.pointer, s.offset + Index(lane), MakeLane(s.value, lane)}));
      text.pop_back();
    }
    return text + "\n";
  }
  const std::string value = PrintValue(*s.value, 0);
  return absl::StrCat(prelude_.AtomicAddFunction(s.value->type), "(", Address(s.pointer, s.offset),
                      ", ", value, ");\n");
}

void CPrinter::RequireAtomicCombinations() const {
  if (!dialect_.combines_atomically()) NotInLanguage(dialect_, "atomic combinations");
}

std::string CPrinter::PrintCombine(const CombineElement& s) {
  RequireAtomicCombinations();
  const std::string value = PrintValue(*s.value, 0);
  const std::string function =
      prelude_.AtomicCombineFunction(s.op, s.value->type.scalar, Space(s.pointer));
  return absl::StrCat(function, "(", Address(s.pointer, s.offset), ", ", value, ");\n");
}

std::string CPrinter::PrintKeyArguments(const std::string& table, int slot_bits,
                                        const LoopValue& first, const LoopValue& key) {
  RequireAtomicCombinations();
  const std::string printed_key = PrintValue(*key, 0);
  const std::string printed_first = PrintValue(*first, 0);
  return absl::StrCat("(", table, ", ", printed_key, ", ", printed_first, ", ", slot_bits, ")");
}

void CPrinter::RequireAsyncCopies() const {
  if (!dialect_.has_async_copies()) NotInLanguage(dialect_, "asynchronous copies");
}

std::string CPrinter::PrintAsyncCopy(const AsyncCopy& s) {
  RequireAsyncCopies();
  const int element = SizeBytes(s.type.scalar), bytes = element * s.type.lanes;
  const int piece = std::min(bytes, Alignment(s.source));
  const std::string function =
      s.all_of.empty() ? prelude_.AsyncCopyFunction(piece) : prelude_.AsyncCopyIfFunction(piece);
  const std::string condition =
      s.all_of.empty() ? "" : absl::StrCat(", ", PrintConditions(s.all_of));
  std::string text;
  for (int at = 0; at < bytes; at += piece) {
    const Index offset(at / element);
    absl::StrAppend(&text, at == 0 ? "" : " ", function, "(", Address(s.target, s.to + offset),
                    ", ", Address(s.source, s.from + offset), condition, ");");
  }
  return text + "\n";
}

std::string CPrinter::PrintPointer(const DeclarePointer& s) {
  const AddressSpace space = spaces_[s.name] = Space(s.base);
  alignments_[s.name] = std::min(s.alignment_bytes, Alignment(s.base));
  std::string target = Address(s.base, s.offset);
  if (!s.flag.empty()) {
    if (dialect_.has_blocks()) NotInLanguage(dialect_, "pointers to what is outside of a buffer");
    target = absl::StrCat(s.flag, " ? ", target, " : ", prelude_.Constants(*s.outside, s.elements));
  }
  // What is outside is the same memory for all.
  return absl::StrCat(CPointer(dialect_, space, s.is_const, CType(s.type, dialect_)),
                      s.flag.empty() ? dialect_.pointer_restrict : "", " ", s.name, " = ", target,
                      ";\n");
}

std::string CPrinter::PrintView(const DeclareView& s) {
  const AddressSpace space = spaces_[s.name] = Space(s.base);
  alignments_[s.name] = Alignment(s.base);
  const std::string type = CPointer(dialect_, space, s.is_const, CType(s.type, dialect_));
  return absl::StrCat(type, " ", s.name, " = (", type, ")", s.base, ";\n");
}

std::string CPrinter::PrintArray(const DeclareArray& s) {
  const bool is_shared = s.space == MemorySpace::kShared;
  spaces_[s.name] = is_shared ? AddressSpace::kShared : AddressSpace::kPrivate;
  const std::string type = CType(s.type, dialect_);
  if (is_shared && !dialect_.has_blocks()) NotInLanguage(dialect_, "shared memory");
  if (const auto found = shared_offsets_.find(s.name);
      is_shared && found != shared_offsets_.end()) {
    const std::string pointer = CPointer(dialect_, AddressSpace::kShared, false, type);
    return absl::StrCat(pointer, " const ", s.name, " = (", pointer, ")(mdh_shared + ",
                        found->second, ");\n");
  }
  if (!is_shared && dialect_.has_blocks()) private_elements_[s.name] = s.elements;
  const absl::string_view form = is_shared ? dialect_.shared_array : dialect_.private_array;
  return absl::StrCat(absl::Substitute(form, type, s.name, s.elements, s.alignment_bytes), ";\n");
}

std::string CPrinter::PrintFor(const For& s) {
  const std::string first =
      s.is_never_empty ? absl::StrCat(s.variable, " == ", COperand(s.begin, dialect_), " || ") : "";
  return absl::StrCat(
      "for (", index_type_, " ", s.variable, " = ", PrintIndex(s.begin), "; ", first, s.variable,
      s.whole_steps ? absl::StrCat(" + ", s.step, " <= ") : " < ", COperand(s.end, dialect_), "; ",
      s.variable, s.step == 1 ? "++" : absl::StrCat(" += ", s.step), ") {\n");
}

std::string CPrinter::PrintShareLoop(const ShareLoop& s) {
  const std::string& v = s.variable;
  if (has_one_thread_) {
    return absl::StrCat("for (", index_type_, " ", v, " = 0; ", v, " < ", s.items, "; ", v,
                        "++) {\n");
  }
  if (dialect_.has_blocks()) {
    return absl::StrCat("for (", index_type_, " ", v, " = thread; ", v, " < ", s.items, "; ", v,
                        " += threads) {\n");
  }
  return absl::StrCat("for (", index_type_, " ", v, " = mdh_share(", s.items,
                      ", thread, threads); ", v, " < mdh_share(", s.items,
                      ", thread + 1, threads); ", v, "++) {\n");
}

void CPrinter::PrintIf(const If& s, int depth, std::string& out) {
  const std::string indent = Indent(depth);
  const bool is_certain = has_one_thread_ && s.all_of.size() == 1 && IsOfFirstThread(s.all_of[0]);
  if (is_certain && !Declares(*s.then_block)) return PrintBlock(*s.then_block, depth, out);
  if (is_certain) {
    absl::StrAppend(&out, indent, "{\n");
  } else {
    absl::StrAppend(&out, indent, "if (", PrintConditions(s.all_of), ") {\n");
  }
  PrintBlock(*s.then_block, depth + 1, out);
  if (!is_certain && s.else_block != nullptr) {
    absl::StrAppend(&out, indent, "} else {\n");
    PrintBlock(*s.else_block, depth + 1, out);
  }
  absl::StrAppend(&out, indent, "}\n");
}

void CPrinter::PrintStatement(const Statement& statement, int depth, std::string& out) {
  const std::string indent = Indent(depth);
  const auto line = [&](const auto&... parts) { absl::StrAppend(&out, indent, parts...); };
  const auto braced = [&](const std::string& head, const Block& body) {
    line(head);
    PrintBlock(body, depth + 1, out);
    line("}\n");
  };
  std::visit(
      Overloaded{
          [&](const Comment& s) { line("// ", s.text, "\n"); },
          [&](const DeclareIndex& s) {
            line("const ", index_type_, " ", s.name, " = ", PrintIndex(s.value), ";\n");
          },
          [&](const DeclareValue& s) {
            const std::string type = Declaration(s.value->type);
            line(s.is_mutable ? "" : "const ", type, " ", s.name, " = ", PrintValue(*s.value, 0),
                 ";\n");
          },
          [&](const Assign& s) { line(PrintAssign(s)); },
          [&](const StoreElements& s) { line(PrintStore(s)); },
          [&](const AddElements& s) { line(PrintAdd(s)); },
          [&](const CombineElement& s) { line(PrintCombine(s)); },
          [&](const InsertKey& s) {
            const std::string arguments = PrintKeyArguments(s.table, s.slot_bits, s.first, s.key);
            line(prelude_.InsertKeyFunction(s.key->type.scalar), arguments, ";\n");
          },
          [&](const FindKey& s) {
            const std::string arguments = PrintKeyArguments(s.table, s.slot_bits, s.first, s.key);
            line("const ", index_type_, " ", s.name, " = ",
                 prelude_.FindKeyFunction(s.key->type.scalar), arguments, ";\n");
          },
          [&](const DeclarePointer& s) { line(PrintPointer(s)); },
          [&](const AdvancePointer& s) { line(s.name, " += ", PrintIndex(s.by), ";\n"); },
          [&](const DeclareView& s) { line(PrintView(s)); },
          [&](const DeclareArray& s) { line(PrintArray(s)); },
          [&](const HardwareIndex& s) {
            if (!dialect_.has_blocks()) NotInLanguage(dialect_, "blocks of threads");
            const auto& numbers = s.kind == HardwareIndex::Kind::kBlock ? dialect_.block_numbers
                                                                        : dialect_.thread_numbers;
            line("const ", index_type_, " ", s.name, " = ", numbers.at(s.axis), ";\n");
          },
          [&](const Barrier& s) {
            if (!dialect_.has_blocks()) NotInLanguage(dialect_, "barriers");
            if (s.threads > 0) return line(PrintMeeting(s));
            line(s.of_device_memory ? dialect_.device_barrier : dialect_.barrier, ";\n");
          },
          [&](const ClusterBarrier& s) {
            if (!dialect_.has_clusters()) NotInLanguage(dialect_, "clusters of blocks");
            line(s.is_of_starts ? prelude_.BlocksHaveStartedFunction()
                                : prelude_.ClusterBarrierFunction(),
                 "();\n");
          },
          [&](const DeclareLast& s) {
            if (dialect_.is_last.empty()) NotInLanguage(dialect_, "a last block");
            line("const int ", s.name, " = ", prelude_.IsLastFunction(), "(",
                 Address(s.counter, s.offset), ", ", s.blocks, ");\n");
          },
          [&](const AwaitStages&) {
            // Elsewhere stages do not overlap.
            if (dialect_.overlaps_stages()) line(prelude_.WaitForStagesFunction(), "();\n");
          },
          [&](const For& s) {
            if (s.unroll) {
              const int64_t steps = (s.end.constant() - s.begin.constant() + s.step - 1) / s.step;
              line(absl::Substitute(dialect_.unroll, steps), "\n");
            } else if (s.unroll_by > 0) {
              line(absl::Substitute(dialect_.unroll_by, s.unroll_by), "\n");
            }
            braced(PrintFor(s), *s.body);
          },
          [&](const ShareLoop& s) { braced(PrintShareLoop(s), *s.body); },
          [&](const If& s) { PrintIf(s, depth, out); },
          [&](const IfAny& s) {
            const std::string condition = PrintValue(*s.condition, 0);
            const LoopValueType type = s.condition->type;
            const bool is_scalar = type.lanes == 1;
            braced(is_scalar
                       ? absl::StrCat("if (", condition, ") {\n")
                       : absl::StrCat("if (", prelude_.AnyFunction(type), "(", condition, ")) {\n"),
                   *s.then_block);
          },
          [&](const DeclareFlag& s) {
            line(s.is_mutable ? "" : "const ", "int ", s.name, " = ", PrintConditions(s.all_of),
                 ";\n");
          },
          [&](const ClearFlag& s) { line(s.name, " = 0;\n"); },
          [&](const KeepInRegister& s) {
            // Compilers for blocks of threads keep what is no array in registers.
            if (dialect_.has_blocks()) return;
            line(prelude_.KeepMacro(s.bytes), "(", s.name, ");\n");
          },
          [&](const PrefetchElement& s) {
            if (dialect_.has_blocks()) return;
            line("__builtin_prefetch(", Address(s.pointer, s.offset), ", ",
                 s.for_writing ? "1" : "0", ");\n");
          },
          [&](const ConfigureTiles& s) {
            line("mdh_configure_tiles(&", prelude_.TileShapes(s.shapes), ");\n");
          },
          [&](const ReleaseTiles&) { line(prelude_.TileFunction("release_tiles"), "();\n"); },
          [&](const ZeroTile& s) { line(prelude_.TileFunction("zero_tile"), "(", s.tile, ");\n"); },
          [&](const LoadTile& s) {
            line(prelude_.TileFunction("load_tile"), "(", s.tile, ", ",
                 Address(s.pointer, s.offset), ", ", s.row_bytes, ");\n");
          },
          [&](const StoreTile& s) {
            line(prelude_.TileFunction("store_tile"), "(", s.tile, ", ",
                 Address(s.pointer, s.offset), ", ", s.row_bytes, ");\n");
          },
          [&](const MultiplyTiles& s) {
            line(prelude_.MultiplyTilesFunction(*s.instruction), "(", s.sums, ", ", s.a, ", ", s.b,
                 ");\n");
          },
          [&](const Call& s) {
            const auto print = [&](std::string* out, const CallArgument& argument) {
              const auto* name = std::get_if<std::string>(&argument);
              *out += name != nullptr ? *name : CIndex(std::get<Index>(argument), dialect_);
            };
            line(s.function, "(", absl::StrJoin(s.arguments, ", ", print), ");\n");
          },
          [&](const AsyncCopy& s) { line(PrintAsyncCopy(s)); },
          [&](const CommitCopies&) {
            RequireAsyncCopies();
            line(prelude_.CommitCopiesFunction(), "();\n");
          },
          [&](const WaitForCopies& s) {
            RequireAsyncCopies();
            line(prelude_.WaitForCopiesFunction(s.groups), "();\n");
          },
          [&](const DeclareOperand& s) { line(PrintOperand(s)); },
          [&](const GroupMultiply& s) { line(PrintMultiply(s)); },
          [&](const GroupFence&) { line(UnitFunction("wgmma.fence.sync.aligned")); },
          [&](const CommitMultiplies&) { line(UnitFunction("wgmma.commit_group.sync.aligned")); },
          [&](const WaitForMultiplies& s) {
            line(UnitFunction(absl::StrCat("wgmma.wait_group.sync.aligned ", s.bundles)));
          },
          [&](const UnitFence&) { line(UnitFunction("fence.proxy.async.shared::cta")); },
          // An argument of the kernel function.
          [](const DeclareTensorMap&) {},
          [&](const TakeRegisters& s) {
            line(UnitFunction(absl::StrCat("setmaxnreg.", s.are_more ? "inc" : "dec",
                                           ".sync.aligned.u32 ", s.count)));
          },
          [&](const StartBarriers& s) { line(PrintStartBarriers(s)); },
          [&](const ArriveAtBarrier& s) { line(PrintArrive(s)); },
          [&](const AwaitBarrier& s) { line(PrintAwaitBarrier(s)); },
          [&](const TensorCopy& s) { line(PrintTensorCopy(s)); },
          [&](const StoreMatrices& s) { line(PrintStoreMatrices(s)); },
          [&](const LoadMatrices& s) { line(PrintLoadMatrices(s)); },
          [&](const RoundToTf32& s) { line(PrintRoundToTf32(s)); },
          [&](const AwaitSums& s) { line(PrintAwaitSums(s)); },
          [&](const WarpMultiply& s) { line(PrintWarpMultiply(s)); },
          [&](const CopyRegion& s) {
            if (Declares(*s.body)) return braced("{\n", *s.body);
            PrintBlock(*s.body, depth, out);
          }},
      statement.form);
}

void CPrinter::PrintBlock(const Block& block, int depth, std::string& out) {
  const bool outside = is_behind_loop_;
  bool is_behind = outside;
  for (const Statement& statement : block) {
    const bool is_loop = std::holds_alternative<For>(statement.form) ||
                         std::holds_alternative<ShareLoop>(statement.form);
    is_behind_loop_ = is_behind && !is_loop;
    PrintStatement(statement, depth, out);
    is_behind |= is_loop;
  }
  is_behind_loop_ = outside;
}

std::string CPrinter::Print(const Block& block, int depth) {
  std::string out;
  PrintBlock(block, depth, out);
  return out;
}

std::string CPrinter::ParameterList(const std::vector<Parameter>& parameters) {
  return absl::StrJoin(parameters, ", ", [&](std::string* out, const Parameter& p) {
    switch (p.kind) {
      case Parameter::Kind::kInput:
      case Parameter::Kind::kOutput: {
        const std::string type = p.is_record ? "void" : CType(p.type, dialect_);
        const bool is_const = p.kind == Parameter::Kind::kInput;
        absl::StrAppend(out, CPointer(dialect_, AddressSpace::kGlobal, is_const, type),
                        dialect_.parameter_restrict, " ", p.name);
        break;
      }
      case Parameter::Kind::kIndex:
        absl::StrAppend(out, "const ", index_type_, " ", p.name);
        break;
      case Parameter::Kind::kFlag:
        absl::StrAppend(out, "const int ", p.name);
        break;
    }
  });
}

std::string CPrinter::Print(const Function& function) {
  std::string out;
  if (!function.comment.empty()) absl::StrAppend(&out, "// ", function.comment, "\n");
  absl::StrAppend(
      &out, function.stands_alone ? dialect_.lone_function_qualifier : dialect_.function_qualifier,
      " void ", function.name, "(", ParameterList(function.parameters), ") {\n");
  PrintBlock(function.body, 1, out);
  absl::StrAppend(&out, "}\n");
  return out;
}

}  // namespace mdh
