#include "codegen/print/c_unit.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/c_spelling.h"
#include "codegen/print/c_unit_parts.h"
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
  const std::string code = WithoutComments(body);
  const std::string pointers =
      ScratchPointers(program, layout, GnuC(), GnuC().parameter_restrict, code);
  const bool is_alone = options.threads == 1;
  std::string unused;
  const auto is_used = [&](const std::string& name) { return Mentions(code + pointers, name); };
  for (const std::string name : {"thread", "threads"}) {
    if (is_alone && is_used(name)) {
      absl::StrAppend(&unused, "  const int64_t ", name, " = ", name == "thread" ? 0 : 1, ";\n");
    } else if (!is_alone && !is_used(name)) {
      absl::StrAppend(&unused, "  (void)", name, ";\n");
    }
  }
  if (!is_used("scratch")) absl::StrAppend(&unused, "  (void)scratch;\n");
  for (const KernelArgument& a : options.arguments) {
    if (!is_used(a.name)) absl::StrAppend(&unused, "  (void)", a.name, ";\n");
  }
  return absl::Substitute(
      "// $0\nstatic void stage_$1($7$2, char* restrict scratch) {\n"
      "$3$4$5$6}\n\n",
      stage.comment, number, Declarations(options, GnuC().parameter_restrict), unused, pointers,
      body, streams ? kStreamFence : "",
      is_alone ? "" : "const int64_t thread, const int64_t threads, ");
}

bool NeedsBoundaryFunctions(const std::string& code) {
  return code.find("mdh_clamp") != std::string::npos ||
         code.find("mdh_inside") != std::string::npos;
}

constexpr char kBoundaryFunctions[] =
    "static inline int64_t mdh_clamp(int64_t i, int64_t extent) {\n"
    "  return i < 0 ? 0 : i < extent ? i : extent - 1;\n}\n"
    "static inline int mdh_inside(int64_t i, int64_t extent) { return i >= 0 && i < extent; }\n";

// $0 entry, $1 arguments, $2 their names, $3 shared bytes, $4 bytes per thread, $5 stages, $6
// cases, $7 number of threads
constexpr char kEntryPoints[] =
    R"(int64_t $0_scratch_bytes(int threads) { return $3 + (int64_t)threads * $4; }

void $0_body(int stage, int thread, int threads, $1, void* scratch) {
  switch (stage) {
$6    default: break;
  }
}

int $0($1, void* scratch) {
#ifdef _OPENMP
  const int threads = $7;
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

// The same where the calling thread computes all. $0 entry, $1 arguments, $2 cases, $3 scratch
// bytes, $4 and $5 what makes and frees scratch memory, $6 calls of the stages
constexpr char kEntryPointsOfOneThread[] =
    R"(int64_t $0_scratch_bytes(int threads) {
  (void)threads;
  return $3;
}

void $0_body(int stage, int thread, int threads, $1, void* scratch) {
  (void)threads;
  if (thread != 0) return;
  switch (stage) {
$2    default: break;
  }
}

int $0($1, void* scratch) {
$4$6$5  return 0;
}
)";

// On the stack so much is no risk, and costs nothing.
constexpr int64_t kMostStackBytes = 16 << 10;

// $0 bytes
constexpr char kStackScratch[] = R"(  _Alignas(64) char own[$0];
  if (scratch == NULL) scratch = own;
)";
constexpr char kHeapScratch[] = R"(  void* own = NULL;
  if (scratch == NULL) {
    own = aligned_alloc(64, $0);
    if (own == NULL) return 1;
    scratch = own;
  }
)";

// One line per stage: `form` with its number as $0 and its call as $1.
std::string PerStage(const LoopProgram& program, const CUnitOptions& options,
                     absl::string_view form) {
  std::string lines;
  for (size_t n = 0; n < program.stages.size(); ++n) {
    const int most = options.threads == 1 ? 0 : program.stages[n].most_threads;
    std::string condition, threads = options.threads == 1 ? "" : "thread, threads, ";
    if (most > 0) {
      condition = absl::StrCat("if (thread < ", most, ") ");
      threads = most == 1 ? "0, 1, " : absl::StrCat("thread, (int)mdh_min(threads, ", most, "), ");
    }
    const std::string call = absl::StrCat(condition, "stage_", n, "(", threads,
                                          ArgumentNames(options), ", (char*)scratch);");
    lines += absl::Substitute(form, n, call);
  }
  return lines;
}

std::string EntryPoints(const LoopProgram& program, const ScratchLayout& layout,
                        const CUnitOptions& options) {
  const std::string arguments = Declarations(options, "");
  const std::string cases = PerStage(program, options, "    case $0: $1 break;\n");
  if (options.threads != 1) {
    return absl::Substitute(kEntryPoints, options.entry, arguments, ArgumentNames(options),
                            layout.shared_bytes, layout.thread_bytes, options.stages, cases,
                            options.threads == TuningParameters::kAllThreads
                                ? "omp_get_max_threads()"
                                : "(int)mdh_min(omp_get_max_threads(), MDH_MOST_THREADS)");
  }
  const int64_t bytes = layout.TotalBytes(1);
  const bool is_small = bytes <= kMostStackBytes;
  std::string make, release;
  if (bytes > 0) make = absl::Substitute(is_small ? kStackScratch : kHeapScratch, bytes);
  if (!is_small) release = "  free(own);\n";
  return absl::Substitute(kEntryPointsOfOneThread, options.entry, arguments, cases, bytes, make,
                          release, PerStage(program, options, "  $1\n"));
}

std::string WhoComputes(int threads) {
  if (threads == TuningParameters::kAllThreads) return "with all OpenMP threads";
  if (threads == 1) return "on the calling thread";
  return absl::StrCat("with ", threads, " OpenMP threads at most");
}

// What programs that run stages on threads of their own (core/kernel/kernel_call.h) read,
// too.
std::string ThreadLimit(const CUnitOptions& options) {
  if (options.threads == TuningParameters::kAllThreads) return "";
  return absl::StrCat("// Threads of a call at most.\n#define MDH_MOST_THREADS ", options.threads,
                      "\n\n");
}

}  // namespace

std::string EntryName(const std::string& name) {
  // Functions of the prelude, and of who calls the kernel.
  bool is_taken = name == "call" || absl::StartsWith(name, "call_");
  for (const absl::string_view taken : {"min", "share", "clamp", "inside", "shared"}) {
    is_taken = is_taken || name == taken;
  }
  return absl::StrCat("mdh_", name, is_taken ? "_" : "");
}

std::string DescribeIndexMap(const Expression& expression,
                             const std::vector<KernelArgument>& arguments) {
  std::string text;
  const auto describe = [&](const Buffer& buffer, size_t n) {
    const std::string& name = arguments[n].name;
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
  const size_t inputs = expression.inputs().size();
  for (size_t b = 0; b < inputs; ++b) describe(expression.inputs()[b], b);
  if (const StoreFunction* store = expression.store()) {
    for (size_t b = 0; b < store->inputs.size(); ++b) {
      describe(store->inputs[b],
               static_cast<size_t>(expression.passed_store_input(static_cast<int>(b))));
    }
  }
  const size_t passed = expression.passed_inputs().size();
  for (size_t b = 0; b < expression.outputs().size(); ++b) {
    describe(expression.outputs()[b], passed + b);
  }
  return text;
}

namespace {

std::string PrintCUnit(const LoopProgram& program, const CUnitOptions& options) {
  CPrelude prelude(GnuC(), Reassociates(options.numerics));
  CPrinter printer(prelude);
  const ScratchLayout layout = LayOutScratch(program.scratch);
  if (options.threads == 1) printer.PrintForOneThread();
  std::string functions, stages;
  for (const Function& function : program.functions) {
    absl::StrAppend(&functions, printer.Print(function), "\n");
  }
  for (size_t n = 0; n < program.stages.size(); ++n) {
    stages += PrintStage(program, layout, n, options, prelude.streams(), printer);
  }
  return absl::StrCat(
      CommentLines(options.description),
      "\n#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n",
      options.threads == 1 ? "\n" : "#ifdef _OPENMP\n#include <omp.h>\n#endif\n\n",
      ThreadLimit(options),
      "static inline int64_t mdh_min(int64_t a, int64_t b) { return a < b ? a : b; }\n",
      "// First of `items` that belongs to `thread`.\n",
      "static inline int64_t mdh_share(int64_t items, int64_t thread, int64_t threads) {\n",
      "  return items * thread / threads;\n}\n",
      NeedsBoundaryFunctions(functions + stages) ? kBoundaryFunctions : "",
      RecordDefinitions(options.arguments, options.entry, GnuC()), prelude.ToString(), "\n",
      functions, stages, EntryPoints(program, layout, options));
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
      "// With MDH_CHECK_ELEMENTS defined, compilers of C that see how large an array is warn of "
      "one\n"
      "// that is too small; arrays of several dimensions are then given as (float*)A, since A[0] "
      "is\n"
      "// a row to them.\n"
      "#if defined(__cplusplus) || !defined(MDH_CHECK_ELEMENTS)\n#define MDH_ELEMENTS(n)\n#else\n"
      "#define MDH_ELEMENTS(n) static n\n#endif\n\n$6\n"
      "$5// Computes $7. Arrays that do not overlap:\n$4"
      "// scratch: $1_scratch_bytes($8) bytes, aligned to 64, or NULL to "
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
      RecordDefinitions(options.arguments, options.entry, GnuC()), constants,
      WhoComputes(options.threads), options.threads == 1 ? "1" : "omp_get_max_threads()");
}

}  // namespace

Kernel PrintCKernel(const LoopProgram& program, CUnitOptions options) {
  options.stages = static_cast<int>(program.stages.size());
  Kernel kernel{.entry = options.entry,
                .source = PrintCUnit(program, options),
                .header = PrintCHeader(options),
                .arguments = options.arguments,
                .stages = options.stages,
                .threads = options.threads,
                .compile_options = {}};
  return kernel;
}

}  // namespace mdh
