#include "codegen/program/c_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace mdh {
namespace {

// Words of C, C++ and their libraries' headers that generated code includes, and names that
// generated code uses itself. Other functions of these libraries are not called, and a buffer or a
// dimension may hide them.
constexpr absl::string_view kReservedWords =
    " auto break case char const continue default do double else enum extern float for goto if "
    "inline "
    "int long register restrict return short signed sizeof static struct switch typedef union "
    "unsigned "
    "void volatile while class new delete this template typename namespace operator private public "
    "protected virtual friend using try catch throw bool true false and or not xor asm typeof "
    "typeid "
    "concept requires alignas alignof mutable explicit nullptr static_assert decltype constexpr "
    "char8_t char16_t char32_t wchar_t compl bitand bitor export const_cast static_cast "
    "reinterpret_cast dynamic_cast and_eq or_eq not_eq xor_eq co_await co_return co_yield "
    "consteval "
    "constinit noexcept thread_local linux unix NULL INFINITY NAN I errno main abs exp log log2 "
    "pow sin "
    "cos tan sqrt tanh floor ceil round trunc erf exp2 j0 j1 jn y0 y1 yn gamma signgam div free "
    "malloc calloc realloc "
    "exit "
    "abort rand random system labs llabs atoi "
    "tid thread threads scratch stage part part_end first parts empty uncounted slot lane t stride "
    "own error "
    "item "
    "line chunk "
    // Words of OpenCL C and CUDA C++.
    "global local constant kernel half uchar ushort uint ulong longlong ulonglong vec_step event "
    "read_only write_only read_write pipe complex imaginary uniform blockIdx threadIdx blockDim "
    "gridDim warpSize barrier rint generic std dim3 "
    // What generated code calls, or may call, and macros of the headers that it includes.
    "memcpy memmove memset memcmp memchr posix_memalign aligned_alloc alloca isfinite isnormal "
    "signbit fpclassify math_errhandling isgreater isgreaterequal isless islessequal islessgreater "
    "isunordered NFDBITS WCONTINUED WEXITED WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED "
    "WIFSTOPPED WNOHANG WNOWAIT WSTOPPED WSTOPSIG WTERMSIG WUNTRACED MAXFLOAT HUGE assert printf "
    "shuffle shuffle2 select fast_length prefetch mem_fence read_mem_fence write_mem_fence "
    "atomicAdd atomicMax atomicMin atomicCAS atomicExch rsqrt ";

// Functions of <math.h>, which also have an 'f' or an 'l' behind them.
constexpr absl::string_view kMathFunctions =
    " acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc "
    "exp exp10 exp2 expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot "
    "ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb "
    "lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint "
    "round rsqrt scalb scalbln scalbn significand sin sincos sinh sqrt tan tanh "
    "tgamma trunc y0 y1 yn ";

// What names of other libraries' functions begin with: of OpenMP, OpenCL C and CUDA C++.
constexpr absl::string_view kReservedPrefixes[] = {
    "omp_",       "get_global_", "get_local_", "get_group_", "get_num_", "get_work_",
    "convert_",   "as_",         "vload",      "vstore",     "native_",  "half_",
    "sub_group_", "work_group_", "async_",     "atomic_",    "atom_",    "intel_"};

// Suffixes of names that generated code derives from the user's.
constexpr absl::string_view kReservedSuffixes =
    " cor mm l3 l2 l1 begin end packed excess partial slot from at total s offset sum part ";

bool ContainsWord(absl::string_view words, absl::string_view word) {
  return absl::StrContains(words, absl::StrCat(" ", word, " "));
}

bool IsNumbered(absl::string_view name, absl::string_view stem) {  // "at0", "total12", "f32x8"
  return absl::ConsumePrefix(&name, stem) && !name.empty() &&
         name.find_first_not_of("0123456789") == absl::string_view::npos;
}

bool IsMathFunction(absl::string_view name) {
  if (ContainsWord(kMathFunctions, name)) return true;
  return (absl::EndsWith(name, "f") || absl::EndsWith(name, "l")) &&
         ContainsWord(kMathFunctions, name.substr(0, name.size() - 1));
}

// M_PI, INT_MAX, CLK_LOCAL_MEM_FENCE: macros have capitals and an underscore.
bool IsLikeAMacro(absl::string_view name) {
  return absl::StrContains(name, "_") &&
         std::ranges::none_of(name, [](char c) { return absl::ascii_islower(c); });
}

}  // namespace

std::string CIdentifier(const std::string& name) {
  // Passes know loops over lanes by how their variables begin (PassOptions::copy_loops).
  for (const absl::string_view prefix : {"_", "mdh_", "lane"}) {
    if (absl::StartsWith(name, prefix)) return "v" + name;
  }
  const size_t underscore = name.rfind('_');
  const bool derived =
      underscore != std::string::npos &&
      ContainsWord(kReservedSuffixes, absl::string_view(name).substr(underscore + 1));
  bool generated = false;
  for (const absl::string_view stem :
       {"at", "total", "next", "table", "char", "uchar", "short", "ushort", "int", "uint", "long",
        "ulong", "longlong", "ulonglong", "float", "double", "half"}) {
    generated |= IsNumbered(name, stem);
  }
  for (const ScalarTypeInfo& type : AllScalarTypes()) {
    generated |= IsNumbered(name, absl::StrCat(type.short_name, "x"));
  }
  for (const absl::string_view stem :
       {"load_", "store_", "gather_", "scatter_", "splat_", "tile_", "stage_"}) {
    generated |= absl::StartsWith(name, stem);
  }
  for (const absl::string_view prefix : kReservedPrefixes) {
    generated |= absl::StartsWith(name, prefix);
  }
  generated |= IsMathFunction(name) || IsLikeAMacro(name);
  const bool typedef_name = absl::EndsWith(name, "_t");
  return derived || generated || typedef_name || ContainsWord(kReservedWords, name) ? name + "_"
                                                                                    : name;
}

std::string ShortName(ScalarType type) { return std::string(Info(type).short_name); }

}  // namespace mdh
