#include "codegen/print/c_block_unit.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/c_spelling.h"
#include "codegen/print/c_unit_parts.h"
#include "codegen/program/loop_program_walk.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

constexpr int64_t kSharedAlignment = 16;  // at least
constexpr int64_t kLineBytes = 128;       // that are prefetched at once

int64_t Threads(const LaunchGeometry& launch) {
  return launch.grid[0] * launch.grid[1] * launch.grid[2] * launch.threads_per_block();
}

int64_t MostThreads(const LoopProgram& program) {
  int64_t threads = 1;
  for (const Stage& stage : program.stages) threads = std::max(threads, Threads(stage.launch));
  return threads;
}

// Shared arrays of a stage, one behind the other.
struct SharedLayout {
  std::map<std::string, int64_t> offsets;
  int64_t bytes = 0;
  int64_t alignment = kSharedAlignment;
};

SharedLayout LayOutShared(const Stage& stage) {
  SharedLayout layout;
  for (const Statement& statement : stage.body) {
    const auto* array = std::get_if<DeclareArray>(&statement.form);
    if (array == nullptr || array->space != MemorySpace::kShared) continue;
    layout.bytes = RoundUp(layout.bytes, array->alignment_bytes);
    layout.alignment = std::max<int64_t>(layout.alignment, array->alignment_bytes);
    layout.offsets[array->name] = layout.bytes;
    layout.bytes += RoundUp(array->elements * SizeBytes(array->type), kSharedAlignment);
  }
  return layout;
}

// "(blockIdx.y * 8 + blockIdx.x)": the number of a block or thread, x running fastest.
std::string FlatNumber(const std::array<absl::string_view, 3>& numbers,
                       const std::array<int64_t, 3>& extents, absl::string_view cast) {
  std::string text;
  int terms = 0;
  for (int axis = 2; axis >= 0; --axis) {
    if (extents[axis] == 1) continue;
    if (text.empty()) {
      text = absl::StrCat(cast, numbers[axis]);
    } else {
      text = absl::StrCat(terms > 1 ? "(" : "", text, terms > 1 ? ")" : "", " * ", extents[axis],
                          " + ", numbers[axis]);
    }
    ++terms;
  }
  return terms > 1 ? absl::StrCat("(", text, ")") : text;
}

std::string ThreadNumber(const LaunchGeometry& launch, const CDialect& dialect, bool wide) {
  const std::string cast = wide ? absl::StrCat("(", dialect.wide_index, ")") : std::string();
  const std::string block = FlatNumber(dialect.block_numbers, launch.grid, cast);
  const std::string thread = FlatNumber(dialect.thread_numbers, launch.block, "");
  if (block.empty()) return thread.empty() ? "0" : thread;
  const int64_t threads = launch.threads_per_block();
  return absl::StrCat(block, threads == 1 ? "" : absl::StrCat(" * ", threads),
                      thread.empty() ? "" : absl::StrCat(" + ", thread));
}

std::string KernelQualifier(const Stage& stage, int resident_blocks, const CDialect& dialect) {
  const std::array<int64_t, 3>& block = stage.launch.block;
  std::string resident;
  if (resident_blocks > 0) {
    if (!dialect.has_resident_blocks()) NotInLanguage(dialect, "resident blocks");
    resident = absl::Substitute(dialect.resident_blocks, resident_blocks);
  }
  std::string cluster;
  if (const auto& c = stage.cluster; c != Stage().cluster) {
    if (!dialect.has_clusters()) NotInLanguage(dialect, "clusters of blocks");
    cluster = absl::Substitute(dialect.cluster, c[0], c[1], c[2]);
  }
  return absl::Substitute(dialect.kernel_qualifier, block[0], block[1], block[2],
                          stage.launch.threads_per_block(), resident, cluster);
}

// Whether the stage says itself where it needs the stages before.
bool AwaitsStages(const Stage& stage) {
  bool awaits = false;
  Visit(stage.body, {.statement = [&](const Statement& statement) {
          awaits |= std::holds_alternative<AwaitStages>(statement.form);
        }});
  return awaits;
}

// What the stage uses and does not write: arguments and what it declares itself.
std::set<std::string> OnlyReadNames(const Stage& stage) {
  std::set<std::string> used, written;
  CollectUsedNames(stage.body, used);
  const auto write = [&](const Statement& statement) {
    std::visit(Overloaded{[&](const StoreElements& s) { written.insert(s.pointer); },
                          [&](const AddElements& s) { written.insert(s.pointer); },
                          [&](const CombineElement& s) { written.insert(s.pointer); },
                          [&](const DeclareLast& s) { written.insert(s.counter); },
                          [&](const DeclarePointer& s) {
                            if (!s.is_const) written.insert(s.base);
                          },
                          [&](const DeclareView& s) {
                            if (!s.is_const) written.insert(s.base);
                          },
                          [](const auto&) {}},
               statement.form);
  };
  Visit(stage.body, {.statement = write});
  for (const std::string& name : written) used.erase(name);
  return used;
}

// Prints one unit; collects what its kernel needs beside the source.
class BlockUnitPrinter {
 public:
  BlockUnitPrinter(const LoopProgram& program, const BlockUnitOptions& options)
      : program_(program),
        options_(options),
        dialect_(*options.dialect),
        scratch_(LayOutScratch(program.scratch)),
        prelude_(dialect_) {}

  Kernel Print();

 private:
  // Whether a stage may be launched before what is in front of it has ended; it may be that of the
  // next call.
  bool StartsEarly(size_t number) const;
  std::string StageName(size_t number) const { return absl::StrCat(options_.entry, "_", number); }
  std::string PrintStage(size_t number, Kernel& kernel);
  bool IsAlone(const Stage& stage, int64_t shared_bytes) const;
  std::string PrintOverlap(size_t number, const std::string& code);
  std::string PrintPrefetches(size_t number);
  std::string PrintWait(size_t number, const std::string& code);
  std::string DynamicSharedArray(int64_t alignment) const {
    return absl::StrCat(
        "  extern ", absl::Substitute(dialect_.shared_array, "char", "mdh_shared", "", alignment),
        ";\n");
  }
  std::string PrintNumbers(const Stage& stage, const std::string& code) const;
  absl::string_view InputRestrict(size_t number) const;
  absl::string_view OutputRestrict(size_t number) const;
  absl::string_view ScratchRestrict(size_t number) const;
  std::string PrintParameters(size_t number);
  std::vector<TensorMap> TensorMaps(const Stage& stage) const;
  std::string PrintHeader(const Kernel& kernel) const;
  absl::string_view index_type() const {
    return options_.wide_indices ? dialect_.wide_index : dialect_.narrow_index;
  }

  const LoopProgram& program_;
  const BlockUnitOptions& options_;
  const CDialect& dialect_;
  const ScratchLayout scratch_;
  CPrelude prelude_;
};

bool BlockUnitPrinter::StartsEarly(size_t number) const {
  if (!dialect_.overlaps_stages() || options_.early_launches == EarlyLaunches::kNone) return false;
  return number % program_.stages.size() > 0 || AreCallsEarly(options_.early_launches);
}

// A pointer that is the only one to memory that the function does not write makes the compiler take
// that memory for constant as long as the function runs. If it starts early, that is not so: the
// stage before writes scratch memory until the wait ends, or an output that this one only reads,
// and what is in front of the first stage may write inputs. Inputs are constant in all other
// stages. As compilers also find by themselves which memory is not written, stages that wait before
// they read hide from them where pointers come from (PrintWait).
absl::string_view BlockUnitPrinter::InputRestrict(size_t number) const {
  return number == 0 && StartsEarly(0) ? "" : dialect_.parameter_restrict;
}

absl::string_view BlockUnitPrinter::ScratchRestrict(size_t number) const {
  const bool changes = StartsEarly(number) || program_.stages[number].exchanges;
  return changes ? "" : dialect_.parameter_restrict;
}

// Nor may barriers be taken for what cannot change such memory where threads exchange values in it.
absl::string_view BlockUnitPrinter::OutputRestrict(size_t number) const {
  return program_.stages[number].exchanges ? "" : dialect_.parameter_restrict;
}

std::string BlockUnitPrinter::PrintParameters(size_t number) {
  std::set<std::string> only_read;
  if (StartsEarly(number)) only_read = OnlyReadNames(program_.stages[number]);
  std::string text = ArgumentDeclarations(options_.arguments, options_.entry, dialect_,
                                          InputRestrict(number), OutputRestrict(number), only_read);
  if (!program_.scratch.empty()) {
    absl::StrAppend(&text, ", ", CPointer(dialect_, AddressSpace::kGlobal, false, "char"),
                    ScratchRestrict(number), " scratch");
  }
  for (const Statement& statement : program_.stages[number].body) {
    const auto* map = std::get_if<DeclareTensorMap>(&statement.form);
    if (map == nullptr) continue;
    absl::StrAppend(&text, ", const __grid_constant__ ", prelude_.TensorMapType(), " ", map->name);
  }
  return text;
}

// Arguments are inputs, outputs and, if there is any, scratch memory.
std::vector<TensorMap> BlockUnitPrinter::TensorMaps(const Stage& stage) const {
  std::vector<TensorMap> maps;
  for (const Statement& statement : stage.body) {
    const auto* declared = std::get_if<DeclareTensorMap>(&statement.form);
    if (declared == nullptr) continue;
    const int64_t bytes = SizeBytes(declared->type);
    TensorMap map = {.argument = static_cast<int>(options_.arguments.size()),
                     .offset_bytes = declared->offset * bytes,
                     .element_bytes = static_cast<int>(bytes),
                     .extents = declared->extents,
                     .strides_bytes = {},
                     .box = declared->box};
    for (size_t d = 1; d < declared->strides.size(); ++d) {
      map.strides_bytes.push_back(declared->strides[d] * bytes);
    }
    for (size_t n = 0; n < options_.arguments.size(); ++n) {
      if (options_.arguments[n].name == declared->base) map.argument = static_cast<int>(n);
    }
    for (size_t n = 0; n < program_.scratch.size(); ++n) {
      if (program_.scratch[n].name == declared->base) map.offset_bytes += scratch_.offsets[n];
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

// `thread` and `threads`, if the code asks for them.
std::string BlockUnitPrinter::PrintNumbers(const Stage& stage, const std::string& code) const {
  std::string text;
  if (Mentions(code, "thread")) {
    absl::StrAppend(&text, "  const ", index_type(),
                    " thread = ", ThreadNumber(stage.launch, dialect_, options_.wide_indices),
                    ";\n");
  }
  if (Mentions(code, "threads")) {
    absl::StrAppend(&text, "  const ", index_type(), " threads = ", Threads(stage.launch), ";\n");
  }
  return text;
}

// The wait, after which memory may have changed that the stage does not write.
std::string BlockUnitPrinter::PrintWait(size_t number, const std::string& code) {
  std::string text = absl::StrCat("  ", prelude_.WaitForStagesFunction(), "();\n");
  const auto hide = [&](const std::string& name, const std::string& pointer) {
    absl::StrAppend(&text, "  ", name, " = (", pointer, ")", prelude_.WrittenByOthersFunction(),
                    "(", name, ");\n");
  };
  const std::set<std::string> only_read = OnlyReadNames(program_.stages[number]);
  for (const KernelArgument& argument : options_.arguments) {
    if (!only_read.contains(argument.name) || (number > 0 && !argument.is_output)) continue;
    hide(argument.name, CPointer(dialect_, AddressSpace::kGlobal, !argument.is_output,
                                 ArgumentType(argument, options_.entry, dialect_)));
  }
  if (Mentions(code, "scratch"))
    hide("scratch", CPointer(dialect_, AddressSpace::kGlobal, false, "char"));
  return text;
}

// While the launch in front of the call ends, threads bring lines of the inputs to the cache of all
// blocks; what that one writes later replaces them there. Blocks have as many each, in the order of
// their numbers, as many of them have what they read.
std::string BlockUnitPrinter::PrintPrefetches(size_t number) {
  if (number > 0 || options_.early_launches != EarlyLaunches::kPrefetches) return "";
  const LaunchGeometry& launch = program_.stages[number].launch;
  const int64_t blocks = Threads(launch) / launch.threads_per_block();
  std::string prefetches;
  for (const KernelArgument& argument : options_.arguments) {
    if (argument.is_output) continue;
    const int64_t lines = CeilDivide(argument.elements * argument.type.size_bytes(), kLineBytes);
    const int64_t own = CeilDivide(lines, blocks);
    absl::StrAppend(
        &prefetches,
        absl::Substitute("    for ($0 line = thread; line < $1; line += $2) {\n", index_type(), own,
                         launch.threads_per_block()),
        "      ",
        own * blocks == lines ? "" : absl::Substitute("if (block * $0 + line < $1) ", own, lines),
        prelude_.PrefetchFunction(), "((const char*)", argument.name,
        absl::Substitute(" + (block * $0 + line) * $1);\n    }\n", own, kLineBytes));
  }
  if (prefetches.empty()) return "";
  const auto declare = [&](const char* name, const std::string& value) {
    return absl::StrCat("    const ", index_type(), " ", name, " = ", value.empty() ? "0" : value,
                        ";\n");
  };
  return absl::StrCat("  {\n",
                      declare("block", FlatNumber(dialect_.block_numbers, launch.grid, "")),
                      declare("thread", FlatNumber(dialect_.thread_numbers, launch.block, "")),
                      prefetches, "  }\n");
}

// How a stage begins that may run beside the one before or after it. Unless it says where, every
// thread waits before it touches memory, for writes, too, may still be read by the stage before.
// That stage has waited in the same way, so that all stages before have ended, not only the last
// one of them. The first stage waits before it admits the next one, which may read inputs before it
// waits.
std::string BlockUnitPrinter::PrintOverlap(size_t number, const std::string& code) {
  std::string wait, admit;
  if (StartsEarly(number) && !AwaitsStages(program_.stages[number])) {
    wait = PrintPrefetches(number);  // helpers are in the order in which they are asked for
    wait += PrintWait(number, code);
  }
  if (StartsEarly(number + 1)) {
    admit = absl::StrCat("  ", prelude_.AdmitNextStageFunction(), "();\n");
  }
  return number == 0 ? wait + admit : admit + wait;
}

// Whether no multiprocessor has room or use for two blocks. Compilers that are not told so may
// leave registers for more, which threads then lack: loads that could begin together wait for each
// other. Matrix units have their own share of registers.
bool BlockUnitPrinter::IsAlone(const Stage& stage, int64_t shared_bytes) const {
  const BlockLimits& limits = options_.limits;
  const auto& [x, y, z] = stage.launch.grid;
  const bool has_room = limits.shared_bytes_per_block == 0 ||
                        2 * (shared_bytes + kReservedSharedBytes) <= limits.shared_bytes_per_block;
  const bool uses_units = prelude_.uses_units() || prelude_.capability_for_warps() > 0;
  return !uses_units && (!has_room || x * y * z <= limits.multiprocessors);
}

std::string BlockUnitPrinter::PrintStage(size_t number, Kernel& kernel) {
  const Stage& stage = program_.stages[number];
  const SharedLayout shared = LayOutShared(stage);
  const bool is_dynamic =
      dialect_.static_shared_bytes > 0 && shared.bytes > dialect_.static_shared_bytes;
  CPrinter printer(prelude_, options_.wide_indices);
  if (is_dynamic) printer.PlaceSharedArrays(shared.offsets);
  const std::string body = printer.Print(stage.body, 1);
  const std::string parameters = PrintParameters(number);
  const std::string pointers =
      ScratchPointers(program_, scratch_, dialect_, ScratchRestrict(number), WithoutComments(body));
  kernel.launches.push_back({StageName(number), stage.launch, is_dynamic ? shared.bytes : 0,
                             StartsEarly(number), TensorMaps(stage)});
  int resident_blocks = stage.resident_blocks;
  if (resident_blocks == 0 && dialect_.has_resident_blocks() && IsAlone(stage, shared.bytes)) {
    resident_blocks = 1;
  }
  return absl::StrCat("// ", stage.comment, "\n", KernelQualifier(stage, resident_blocks, dialect_),
                      StageName(number), "(", parameters, ") {\n", PrintOverlap(number, pointers),
                      is_dynamic ? DynamicSharedArray(shared.alignment) : "",
                      PrintNumbers(stage, WithoutComments(pointers + body)), pointers, body, "}\n");
}

// For people: how the kernel functions are launched.
std::string BlockUnitPrinter::PrintHeader(const Kernel& kernel) const {
  constexpr int kAlignmentBytes = 16;
  std::string text = absl::StrCat("How to launch ", options_.entry, ", ", Name(dialect_.language),
                                  ".\n\nArguments, in this order; arrays do not overlap:\n");
  text += DescribeArguments(options_.arguments, options_.entry, dialect_, kAlignmentBytes);
  if (kernel.scratch_bytes > 0) {
    absl::StrAppend(&text, "  scratch: ", kernel.scratch_bytes,
                    " bytes of memory of the device, in which anything may be\n");
  }
  absl::StrAppend(&text, "\nKernel functions, one after the other in one stream or queue:\n");
  for (const KernelLaunch& launch : kernel.launches) {
    absl::StrAppend(&text, "  ", launch.function, ": grid of (",
                    absl::StrJoin(launch.geometry.grid, ", "), ") blocks of (",
                    absl::StrJoin(launch.geometry.block, ", "), ") threads");
    if (launch.dynamic_shared_bytes > 0) {
      absl::StrAppend(&text, ", ", launch.dynamic_shared_bytes, " bytes of dynamic shared memory");
    }
    absl::StrAppend(&text, launch.starts_early ? ", may start early" : "", "\n");
    for (const TensorMap& map : launch.tensor_maps)
      absl::StrAppend(&text, "    ", DescribeTensorMap(map), "\n");
  }
  if (prelude_.copies_tensors()) {
    absl::StrAppend(&text,
                    "\nTensor maps are what cuTensorMapEncodeTiled makes of unsigned "
                    "integers, without interleaving and\nwith zeros out of bounds. Who "
                    "passes them compiles with ",
                    kTensorMapsOption, ".\n");
  }
  const bool has_early = std::ranges::any_of(kernel.launches, &KernelLaunch::starts_early);
  if (has_early) {
    text +=
        "\nThose that may start early wait for the others themselves: on devices of compute "
        "capability 9.0\nand later they may be launched with programmatic stream serialization.\n";
  }
  if (prelude_.copies_asynchronously()) {
    text +=
        "\nCopies to shared memory are asynchronous, which needs compute capability 8.0 or "
        "later.\n";
  }
  if (prelude_.uses_units()) {
    absl::StrAppend(&text, "\nMatrix units take their operands from shared memory, which needs ",
                    dialect_.unit_architecture, ".\n");
  }
  if (const int capability = prelude_.capability_for_warps(); capability > 0) {
    absl::StrAppend(&text, "\nMatrix units of warps need compute capability ", capability / 10, ".",
                    capability % 10, " or later.\n");
  }
  if (prelude_.uses_ptx()) text += "\nContains PTX, which NVIDIA's compiler takes.\n";
  const bool has_clusters = std::ranges::any_of(
      program_.stages, [](const Stage& stage) { return stage.cluster != Stage().cluster; });
  if (has_clusters) {
    text += "\nBlocks form clusters, which needs compute capability 9.0 or later.\n";
  }
  const std::string guard = absl::AsciiStrToUpper(options_.entry) + "_H";
  return absl::StrCat("#ifndef ", guard, "\n#define ", guard, "\n\n", CommentLines(text),
                      "\n#endif  // ", guard, "\n");
}

Kernel BlockUnitPrinter::Print() {
  Kernel kernel;
  kernel.entry = options_.entry;
  kernel.language = dialect_.language;
  kernel.arguments = options_.arguments;
  kernel.stages = static_cast<int>(program_.stages.size());
  kernel.scratch_bytes = scratch_.TotalBytes(MostThreads(program_));
  std::string functions, stages;
  CPrinter printer(prelude_, options_.wide_indices);
  for (const Function& function : program_.functions) {
    absl::StrAppend(&functions, printer.Print(function), "\n");
  }
  for (size_t n = 0; n < program_.stages.size(); ++n) {
    absl::StrAppend(&stages, n == 0 ? "" : "\n", PrintStage(n, kernel));
  }
  const std::string records = RecordDefinitions(options_.arguments, options_.entry, dialect_);
  const std::string definitions =
      absl::StrCat(IndexFunctions(dialect_, index_type(), WithoutComments(functions + stages)),
                   records, prelude_.ToString());
  const bool has_fp64 = Mentions(WithoutComments(definitions + functions + stages), "double");
  kernel.source = absl::StrCat(CommentLines(options_.description), "\n", dialect_.first_lines,
                               has_fp64 ? dialect_.enable_fp64 : "",
                               options_.contracts ? "" : dialect_.disable_contraction, definitions,
                               "\n", functions, stages);
  kernel.header = PrintHeader(kernel);
  kernel.compile_options = absl::StrSplit(
      absl::StrCat(dialect_.compile_options, " ", dialect_.contraction_options[options_.contracts],
                   " ", prelude_.uses_units() ? dialect_.unit_architecture : ""),
      ' ', absl::SkipEmpty());
  return kernel;
}

}  // namespace

Kernel PrintBlockKernel(const LoopProgram& program, const BlockUnitOptions& options) {
  return BlockUnitPrinter(program, options).Print();
}

}  // namespace mdh
