#include "codegen/c_unit.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "codegen/c_printer.h"
#include "codegen/c_spelling.h"
#include "codegen/c_unit_parts.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

std::string Declarations(const CUnitOptions& options, absl::string_view restrict_keyword) {
  return ArgumentDeclarations(options.arguments, options.entry, GnuC(), restrict_keyword,
                              restrict_keyword);
}

// Of the header: arrays of at least as many elements, where C can say so.
std::string SizedDeclarations(const CUnitOptions& options) {
  return absl::StrJoin(options.arguments, ", ", [&](std::string* out, const KernelArgument& a) {
    const std::string type = ArgumentType(a, options.entry, GnuC());
    absl::StrAppend(out, a.is_output ? "" : "const ", type);
    if (a.elements == 0) {
      absl::StrAppend(out, "* ", a.name);
    } else {
      absl::StrAppend(out, " ", a.name, "[MDH_ELEMENTS(", options.entry, "_", a.name,
                      "_elements)]");
    }
  });
}

std::string ArgumentNames(const CUnitOptions& options) {
  return absl::StrJoin(options.arguments, ", ",
                       [](std::string* out, const KernelArgument& a) { out->append(a.name); });
}

// Streamed stores are in memory before others learn that the stage is over.
constexpr char kStreamFence[] = "  __atomic_thread_fence(__ATOMIC_SEQ_CST);\n";

std::string PrintStage(const LoopProgram& program, const ScratchLayout& layout, size_t number,
                       const CUnitOptions& options, bool streams, CPrinter& printer) {
  const Stage& stage = program.stages[number];
  const std::string body = printer.Print(stage.body, 1);
  const std::string pointers =
      ScratchPointers(program, layout, GnuC(), GnuC().parameter_restrict, body);
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
      "$3$4$5$6}\n\n",
      stage.comment, number, Declarations(options, GnuC().parameter_restrict), unused, pointers,
      body, streams ? kStreamFence : "");
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
    if (stage > 0) {
#pragma omp barrier
    }
    $0_body(stage, omp_get_thread_num(), omp_get_num_threads(), $2, scratch);
  }
#else
  for (int stage = 0; stage < $5; ++stage) $0_body(stage, 0, 1, $2, scratch);
#endif
  free(own);
  return 0;
}
)";

}  // namespace

std::string EntryName(const Expression& expression) {
  // Functions of the prelude.
  for (const absl::string_view taken : {"min", "share", "clamp", "inside", "shared"}) {
    if (expression.name() == taken) return absl::StrCat("mdh_", taken, "_");
  }
  return "mdh_" + expression.name();
}

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
  const ScratchLayout layout = LayOutScratch(program.scratch);
  std::string functions, stages, cases;
  for (const Function& function : program.functions) {
    absl::StrAppend(&functions, printer.Print(function), "\n");
  }
  for (size_t n = 0; n < program.stages.size(); ++n) {
    stages += PrintStage(program, layout, n, options, prelude.streams(), printer);
    absl::StrAppend(&cases, "    case ", n, ": stage_", n, "(thread, threads, ",
                    ArgumentNames(options), ", (char*)scratch); break;\n");
  }
  return absl::StrCat(
      CommentLines(options.description),
      "\n#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#ifdef "
      "_OPENMP\n#include "
      "<omp.h>\n#endif\n\n",
      "static inline int64_t mdh_min(int64_t a, int64_t b) { return a < b ? a : b; }\n",
      "// First of `items` that belongs to `thread`.\n",
      "static inline int64_t mdh_share(int64_t items, int64_t thread, int64_t threads) {\n",
      "  return items * thread / threads;\n}\n",
      NeedsBoundaryFunctions(functions + stages) ? kBoundaryFunctions : "",
      RecordDefinitions(options.arguments, options.entry, GnuC()), prelude.ToString(), "\n",
      functions, stages,
      absl::Substitute(kEntryPoints, options.entry, Declarations(options, ""),
                       ArgumentNames(options), layout.shared_bytes, layout.thread_bytes,
                       program.stages.size(), cases));
}

std::string PrintCHeader(const CUnitOptions& options) {
  const std::string guard = absl::AsciiStrToUpper(options.entry) + "_H";
  std::string constants;
  for (const KernelArgument& a : options.arguments) {
    absl::StrAppend(&constants, "#define ", options.entry, "_", a.name, "_elements ", a.elements,
                    "\n");
  }
  return absl::Substitute(
      "#ifndef $0\n#define $0\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" "
      "{\n#endif\n\n"
      "// In C, compilers that see how large an array is warn of one that is too small.\n"
      "#ifdef __cplusplus\n#define MDH_ELEMENTS(n)\n#else\n#define MDH_ELEMENTS(n) static n\n"
      "#endif\n\n$6\n"
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
      guard, options.entry, SizedDeclarations(options), options.stages - 1,
      CommentLines(DescribeArguments(options.arguments, options.entry, GnuC(), 0)),
      RecordDefinitions(options.arguments, options.entry, GnuC()), constants);
}

}  // namespace mdh
