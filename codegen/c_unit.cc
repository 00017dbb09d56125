#include "codegen/c_unit.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "codegen/c_printer.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

constexpr int64_t kAlignment = 64;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Offsets of scratch buffers: shared ones first, then one block per thread.
struct ScratchLayout {
  int64_t shared_bytes = 0;
  int64_t thread_bytes = 0;
  std::vector<int64_t> offsets;
};

ScratchLayout LayOut(const std::vector<ScratchBuffer>& scratch) {
  ScratchLayout layout;
  for (const ScratchBuffer& buffer : scratch) {
    int64_t& bytes = buffer.per_thread ? layout.thread_bytes : layout.shared_bytes;
    layout.offsets.push_back(bytes);
    bytes += Aligned(buffer.elements * SizeBytes(buffer.type));
  }
  return layout;
}

// In C; records are structs.
std::string TypeOf(const KernelArgument& argument, const CUnitOptions& options) {
  if (!argument.type.is_record()) return CType(argument.type.scalar());
  return absl::StrCat("struct ", options.entry, "_", argument.name);
}

std::string DefineRecords(const CUnitOptions& options) {
  std::string text;
  for (const KernelArgument& argument : options.arguments) {
    if (!argument.type.is_record()) continue;
    absl::StrAppend(&text, TypeOf(argument, options), " {\n");
    for (const ElementType::Field& field : argument.type.fields()) {
      absl::StrAppend(&text, "  ", CType(field.type), " ", CIdentifier(field.name), ";\n");
    }
    absl::StrAppend(&text, "};\n");
  }
  return text;
}

std::string ArgumentDeclarations(const CUnitOptions& options, bool restricted) {
  return absl::StrJoin(options.arguments, ", ", [&](std::string* out, const KernelArgument& a) {
    absl::StrAppend(out, a.is_output ? "" : "const ", TypeOf(a, options),
                    restricted ? "* restrict " : "* ", a.name);
  });
}

std::string ArgumentNames(const CUnitOptions& options) {
  return absl::StrJoin(options.arguments, ", ",
                       [](std::string* out, const KernelArgument& a) { out->append(a.name); });
}

bool Mentions(const std::string& text, const std::string& identifier) {
  auto is_word = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  for (size_t at = text.find(identifier); at != std::string::npos;
       at = text.find(identifier, at + 1)) {
    const size_t end = at + identifier.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end])))
      return true;
  }
  return false;
}

std::string PrintStage(const LoopProgram& program, const ScratchLayout& layout, size_t number,
                       const CUnitOptions& options, CPrinter& printer) {
  const Stage& stage = program.stages[number];
  const std::string body = printer.Print(stage.body, 1);
  std::string pointers;
  for (size_t n = 0; n < program.scratch.size(); ++n) {
    const ScratchBuffer& buffer = program.scratch[n];
    if (!Mentions(body, buffer.name)) continue;
    std::string offset = absl::StrCat(layout.offsets[n]);
    if (buffer.per_thread) {
      offset = absl::StrCat(layout.shared_bytes + layout.offsets[n], " + thread * ",
                            layout.thread_bytes);
    }
    const std::string type = CType(buffer.type);
    absl::StrAppend(&pointers, "  ", type, "* restrict ", buffer.name, " = (", type,
                    "*)(scratch + ", offset, ");\n");
  }
  std::string unused;
  for (const std::string name : {"thread", "threads", "scratch"}) {
    if (!Mentions(body + pointers, name)) absl::StrAppend(&unused, "  (void)", name, ";\n");
  }
  for (const KernelArgument& a : options.arguments) {
    if (!Mentions(body + pointers, a.name)) absl::StrAppend(&unused, "  (void)", a.name, ";\n");
  }
  return absl::Substitute(
      "// $0\nstatic void stage_$1(const int64_t thread, const int64_t threads, $2, char* restrict "
      "scratch) {\n"
      "$3$4$5}\n\n",
      stage.comment, number, ArgumentDeclarations(options, true), unused, pointers, body);
}

bool NeedsBoundaryFunctions(const std::string& code) {
  return code.find("mdh_clamp") != std::string::npos ||
         code.find("mdh_inside") != std::string::npos;
}

constexpr char kBoundaryFunctions[] =
    "static inline int64_t mdh_clamp(int64_t i, int64_t extent) {\n"
    "  return i < 0 ? 0 : i < extent ? i : extent - 1;\n}\n"
    "static inline int mdh_inside(int64_t i, int64_t extent) { return i >= 0 && i < extent; }\n";

// $0 entry, $1 arguments, $2 their names, $3 shared bytes, $4 bytes per thread, $5 stages, $6 cases
constexpr char kEntryPoints[] =
    R"(int64_t $0_scratch_bytes(int threads) { return $3 + (int64_t)threads * $4; }

void $0_body(int stage, int thread, int threads, $1, void* scratch) {
  switch (stage) {
$6    default: break;
  }
}

int $0($1, void* scratch) {
#ifdef _OPENMP
  const int threads = omp_get_max_threads();
#else
  const int threads = 1;
#endif
  void* own = NULL;
  if (scratch == NULL && $0_scratch_bytes(threads) > 0) {
    own = aligned_alloc(64, (size_t)$0_scratch_bytes(threads));
    if (own == NULL) return 1;
    scratch = own;
  }
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
  for (int stage = 0; stage < $5; ++stage) {
    $0_body(stage, omp_get_thread_num(), omp_get_num_threads(), $2, scratch);
#pragma omp barrier
  }
#else
  for (int stage = 0; stage < $5; ++stage) $0_body(stage, 0, 1, $2, scratch);
#endif
  free(own);
  return 0;
}
)";

}  // namespace

std::string EntryName(const Expression& expression) { return "mdh_" + expression.name(); }

std::string DescribeIndexMap(const Expression& expression,
                             const std::vector<KernelArgument>& arguments) {
  std::string text;
  size_t n = 0;
  auto describe = [&](const Buffer& buffer) {
    const std::string& name = arguments[n++].name;
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      const AffineIndex linear = buffer.Linearized(static_cast<int>(a));
      if (buffer.boundary.kind != Boundary::Kind::kNone) {
        absl::StrAppend(&text, "  ", buffer.name, ": ",
                        ToText(buffer.accesses[a], expression.dimensions()), "   ", name,
                        buffer.boundary.kind == Boundary::Kind::kClamp
                            ? ", clamped to its extents\n"
                            : ", or a constant outside\n");
        continue;
      }
      std::string sum;
      for (size_t d = 0; d < linear.coefficients.size(); ++d) {
        if (linear.coefficients[d] == 0) continue;
        absl::StrAppend(&sum, sum.empty() ? "" : " + ", expression.dimensions()[d].name);
        if (linear.coefficients[d] != 1) absl::StrAppend(&sum, " * ", linear.coefficients[d]);
      }
      if (linear.constant != 0 || sum.empty()) {
        absl::StrAppend(&sum, sum.empty() ? "" : " + ", linear.constant);
      }
      absl::StrAppend(&text, "  ", buffer.name, ": ",
                      ToText(buffer.accesses[a], expression.dimensions()), "   ", name, "[", sum,
                      "]\n");
    }
  };
  for (const Buffer& buffer : expression.inputs()) describe(buffer);
  for (const Buffer& buffer : expression.outputs()) describe(buffer);
  return text;
}

std::string PrintCUnit(const LoopProgram& program, const CUnitOptions& options) {
  CPrelude prelude;
  CPrinter printer(prelude);
  const ScratchLayout layout = LayOut(program.scratch);
  std::string functions, stages, cases;
  for (const Function& function : program.functions) {
    absl::StrAppend(&functions, printer.Print(function), "\n");
  }
  for (size_t n = 0; n < program.stages.size(); ++n) {
    stages += PrintStage(program, layout, n, options, printer);
    absl::StrAppend(&cases, "    case ", n, ": stage_", n, "(thread, threads, ",
                    ArgumentNames(options), ", (char*)scratch); break;\n");
  }
  std::string comment;
  for (const absl::string_view line :
       absl::StrSplit(absl::StripTrailingAsciiWhitespace(options.description), '\n')) {
    absl::StrAppend(&comment, line.empty() ? "//" : "// ", line, "\n");
  }
  return absl::StrCat(
      comment,
      "\n#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#ifdef "
      "_OPENMP\n#include "
      "<omp.h>\n#endif\n\n",
      "static inline int64_t mdh_min(int64_t a, int64_t b) { return a < b ? a : b; }\n",
      "// First of `items` that belongs to `thread`.\n",
      "static inline int64_t mdh_share(int64_t items, int64_t thread, int64_t threads) {\n",
      "  return items * thread / threads;\n}\n",
      NeedsBoundaryFunctions(functions + stages) ? kBoundaryFunctions : "", DefineRecords(options),
      prelude.ToString(), "\n", functions, stages,
      absl::Substitute(kEntryPoints, options.entry, ArgumentDeclarations(options, false),
                       ArgumentNames(options), layout.shared_bytes, layout.thread_bytes,
                       program.stages.size(), cases));
}

std::string PrintCHeader(const CUnitOptions& options) {
  const std::string guard = absl::AsciiStrToUpper(options.entry) + "_H";
  std::string sizes;
  for (const KernelArgument& a : options.arguments) {
    absl::StrAppend(&sizes, "//   ", a.name, ": ", a.elements, " elements of ", TypeOf(a, options),
                    a.is_output ? ", written" : ", read", "\n");
  }
  return absl::Substitute(
      "#ifndef $0\n#define $0\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" "
      "{\n#endif\n\n"
      "$5// Computes with all OpenMP threads. Arrays that do not overlap:\n$4"
      "// scratch: $1_scratch_bytes(omp_get_max_threads()) bytes, aligned to 64, or NULL to "
      "allocate them\n"
      "// within the call. Returns 0, or 1 if that allocation failed.\n"
      "int $1($2, void* scratch);\n\n"
      "// The same for callers with threads of their own: each of `threads` threads calls this for "
      "every\n"
      "// stage 0 .. $3, with a barrier between the stages.\n"
      "void $1_body(int stage, int thread, int threads, $2, void* scratch);\n\n"
      "int64_t $1_scratch_bytes(int threads);\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif  // $0\n",
      guard, options.entry, ArgumentDeclarations(options, false), options.stages - 1, sizes,
      DefineRecords(options));
}

}  // namespace mdh
