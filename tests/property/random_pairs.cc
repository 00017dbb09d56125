#include "tests/property/random_pairs.h"

#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "codegen/backends/backends.h"
#include "codegen/backends/loop_nest.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/choose/fusion_choice.h"
#include "codegen/program/kernel.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/property/kernel_judge.h"
#include "tests/property/worker_pool.h"
#include "tests/random_expression.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/search/techniques/neighbourhood.h"

namespace mdh {
namespace {

SystemModel RandomModel(Rng& rng) {
  switch (Below(rng, 8)) {
    case 0:
      return OpenMpModel();
    case 1:
      return OpenMpL3Model();
    case 2:
      return OpenMpL3SimdModel();
    default:
      return OpenMpSimdRegistersModel();
  }
}

constexpr char kWithTiles[] = "x86-64 avx512_bf16 avx512_vnni amx_bf16 amx_int8";

DeviceDescription RandomDevice(Rng& rng, const std::string& compilers) {
  DeviceDescription device;
  device.cores = static_cast<int>(1 + Below(rng, 5));
  device.simd_bytes = 16 << Below(rng, 3);
  device.vector_registers = Below(rng, 2) == 0 ? 16 : 32;
  device.l1_bytes = Below(rng, 2) == 0 ? 1024 : 32 << 10;  // small caches: more levels are used
  device.l2_bytes = 16 * device.l1_bytes;
  device.compiler = compilers;
  // Whether the machine has them or not: kernels do without, too.
  if (Below(rng, 2) == 0) {
    static constexpr const char* kSets[] = {"x86-64 avx512_bf16 avx512_vnni", "x86-64 avx_vnni",
                                            kWithTiles};
    device.isa = kSets[Below(rng, std::size(kSets))];
    device.features = FeaturesOf(device);
  }
  return device;
}

// Compiles and judges one kernel; an empty string or what is wrong.
std::string JudgeOneKernel(const Expression& expression, const Kernel& kernel,
                           const std::vector<BufferBytes>& inputs, Accumulation accumulation,
                           const std::string& directory, const std::string& name) {
  const Result<std::vector<BufferBytes>> expected = Interpret(expression, inputs, accumulation);
  if (!expected.ok()) return absl::StrCat("interpreting: ", expected.status().message());
  Status status = CompileKernel(kernel, directory, name);
  if (status.ok()) {
    status = JudgeKernel(expression, kernel, absl::StrCat(directory, "/", name, ".so"), inputs,
                         *expected);
  }
  for (const char* suffix : {".so", ".c", ".log"}) {
    std::remove(absl::StrCat(directory, "/", name, suffix).c_str());
  }
  if (status.ok()) return "";
  return absl::StrCat(std::string(status.message()), "\n", kernel.source);
}

NumericsPolicy RandomNumerics(Rng& rng) {
  const uint64_t choice = Below(rng, 8);
  return choice == 0   ? NumericsPolicy::kExactOrder
         : choice == 1 ? NumericsPolicy::kFixedTree
                       : NumericsPolicy::kReassociate;
}

// What is multiplied and added up; dot instructions of CPUs take some of them.
struct ProductTypes {
  const char* a;
  const char* b;
  const char* sum;

  std::string Inputs() const { return absl::StrCat("inp_view<", a, ",", b, ">"); }
  std::string Product() const { return absl::StrCat("C = ", sum, "(A) * ", sum, "(B)"); }
};

ProductTypes RandomProductTypes(Rng& rng) {
  static constexpr ProductTypes kTypes[] = {{"bf16", "bf16", "fp32"},    {"int8", "int8", "int32"},
                                            {"uint8", "int8", "int32"},  {"int8", "uint8", "int32"},
                                            {"uint8", "uint8", "int32"}, {"fp16", "fp16", "fp32"}};
  return Below(rng, 2) == 0 ? ProductTypes{"fp32", "fp32", "fp32"}
                            : kTypes[Below(rng, std::size(kTypes))];
}

// A product whose dimensions are pairs that follow each other in memory, more or less.
Expression RandomContraction(Rng& rng) {
  static constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 16};
  std::map<std::string, std::string> sizes;
  for (const char* name : {"I", "II", "J", "JJ", "K", "KK"}) {
    sizes[name] = std::to_string(kSizes[Below(rng, std::size(kSizes))]);
  }
  const auto pair = [&](const std::string& d) {
    return Below(rng, 8) == 0 ? absl::StrCat(d, d, ",", d) : absl::StrCat(d, ",", d, d);
  };
  const std::string i = pair("i"), j = pair("j"), k = pair("k");
  const std::string a = Below(rng, 2) == 0 ? absl::StrCat(i, ",", k) : absl::StrCat(k, ",", i);
  const std::string b = Below(rng, 2) == 0 ? absl::StrCat(k, ",", j) : absl::StrCat(j, ",", k);
  const ProductTypes types = RandomProductTypes(rng);
  const std::string text = absl::StrCat(
      "contraction<T = ", types.sum, " | I = 1, II = 1, J = 1, JJ = 1, K = 1, KK = 1> :=\n",
      "  out_view<T>( C: (i,ii,j,jj,k,kk) -> (", i, ",", j, ") ) o\n",
      "  md_hom<I,II,J,JJ,K,KK>( f, (++, ++, ++, ++, +, +) ) o\n  ", types.Inputs(),
      "( A: (i,ii,j,jj,k,kk) -> (", a, "), B: (i,ii,j,jj,k,kk) -> (", b,
      ") )\nwhere f(A, B) -> C { ", types.Product(), " }");
  return *ParseExpression(text, sizes);
}

// A convolution in rows of an image with a border, or without one, or a batch of products: what
// tiles have of rows beside products of matrices.
Expression RandomRows(Rng& rng, const ProductTypes& types) {
  static constexpr int64_t kSizes[] = {3, 7, 14, 16, 17, 19, 33};
  const auto size = [&](int64_t most) {
    return std::to_string(std::min(most, kSizes[Below(rng, std::size(kSizes))]));
  };
  const std::string p = size(7), q = size(33), o = std::to_string(16 + Below(rng, 24)),
                    c = std::to_string(1 + Below(rng, 70));
  const bool has_border = Below(rng, 2) == 0, is_strided = Below(rng, 3) == 0;
  const std::string by = is_strided ? "2*" : "";
  const std::string border =
      has_border ? absl::StrCat("[", is_strided ? "2*" : "", "P,", by, "Q,C] else 0") : "";
  const std::string back = has_border ? "-1" : "";
  const std::string text = absl::StrCat(
      "rows<T = ", types.sum, " | P = 1, Q = 1, O = 1, R = 1, S = 1, C = 1> :=\n",
      "  out_view<T>( y: (p,q,o,r,s,c) -> (p,q,o) ) o\n",
      "  md_hom<P,Q,O,R,S,C>( f, (++, ++, ++, +, +, +) ) o\n  ", types.Inputs(), "( A", border,
      ": (p,q,o,r,s,c) -> (", by, "p+r", back, ",", by, "q+s", back,
      ",c), B: (p,q,o,r,s,c) -> (r,s,c,o) )\nwhere f(A, B) -> C { ", types.Product(), " }");
  return *ParseExpression(text, {{"P", p},
                                 {"Q", q},
                                 {"O", o},
                                 {"R", std::to_string(1 + Below(rng, 3))},
                                 {"S", std::to_string(1 + Below(rng, 3))},
                                 {"C", c}});
}

// A product of three operands of odd sizes: with a sum in a sum, or one over everything.
Expression RandomThreeOperands(Rng& rng) {
  struct Form {
    const char* output;
    const char* operators;
    const char* inputs;
  };
  static constexpr Form kForms[] = {
      {"(i,j)", "++, +, +, ++",
       "A: (i,k,l,j) -> (i,k,l), B: (i,k,l,j) -> (k,j), C: (i,k,l,j) -> (l,j)"},
      {"(i,j)", "++, +, +, ++",
       "A: (i,k,l,j) -> (i,k), B: (i,k,l,j) -> (k,l), C: (i,k,l,j) -> (l,j)"},
      {"(i,j)", "++, +, +, ++",
       "A: (i,k,l,j) -> (i,l,k), B: (i,k,l,j) -> (k,j), C: (i,k,l,j) -> (i,j)"},
      {"(i)", "++, +, +, +",
       "A: (i,k,l,j) -> (i,k), B: (i,k,l,j) -> (k,l,j), C: (i,k,l,j) -> (i,j)"}};
  static constexpr int64_t kSizes[] = {2, 3, 5, 7, 11, 13, 17, 19, 29, 31, 41, 59, 67, 103};
  constexpr int64_t kMostPoints = 1 << 17;
  int64_t sizes[4];
  do {
    for (int64_t& size : sizes) size = kSizes[Below(rng, std::size(kSizes))];
  } while (sizes[0] * sizes[1] * sizes[2] * sizes[3] > kMostPoints);
  const Form& form = kForms[Below(rng, std::size(kForms))];
  const std::string type = Below(rng, 4) == 0 ? "fp64" : "fp32";
  const std::string text = absl::StrCat(
      "three<T = ", type, " | I = 1, K = 1, L = 1, J = 1> :=\n  out_view<T>( y: (i,k,l,j) -> ",
      form.output, " ) o\n  md_hom<I,K,L,J>( f, (", form.operators, ") ) o\n  inp_view<T,T,T>( ",
      form.inputs, " )\nwhere f(A, B, C) -> R { R = A * B * C }");
  return *ParseExpression(text, {{"I", std::to_string(sizes[0])},
                                 {"K", std::to_string(sizes[1])},
                                 {"L", std::to_string(sizes[2])},
                                 {"J", std::to_string(sizes[3])}});
}

// A product of matrices, transposed or not, of odd sizes: large enough for packed copies, and for
// tiles at edges with few of all points, which random expressions hardly ever have.
Expression RandomProduct(Rng& rng, bool for_tiles) {
  ProductTypes types = RandomProductTypes(rng);
  while (for_tiles && types.b[0] == 'f') types = RandomProductTypes(rng);
  if (for_tiles && Below(rng, 3) == 0) return RandomRows(rng, types);
  if (!for_tiles && Below(rng, 3) == 0) {
    return Below(rng, 2) == 0 ? RandomThreeOperands(rng) : RandomContraction(rng);
  }
  static constexpr int64_t kSizes[] = {5, 16, 17, 29, 31, 37, 47, 53, 61, 64, 65, 128, 131};
  const size_t sizes = for_tiles ? std::size(kSizes) : std::size(kSizes) - 2;
  auto size = [&] { return std::to_string(kSizes[Below(rng, sizes)]); };
  const std::string a = Below(rng, 2) == 0 ? "(i,k)" : "(k,i)";
  const std::string b = Below(rng, 2) == 0 ? "(k,j)" : "(j,k)";
  // With a store function, of which tiles that add in turns apply it with the last part.
  const bool has_store = Below(rng, 2) == 0;
  const std::string store =
      has_store ? ", store s<T,T>( bias: (i,j,k) -> (j), skip: (i,j,k) -> (i,j) )" : "";
  const std::string s =
      has_store ? ", s(C, bias, skip) -> y { y = max(C + bias, 0) + skip + T(j) }" : "";
  const std::string text =
      absl::StrCat("product<T = ", types.sum, " | I = 1, J = 1, K = 1> :=\n",
                   "  out_view<T>( y: (i,j,k) -> (i,j) ) o\n  md_hom<I,J,K>( f, (++, ++, +)", store,
                   " ) o\n  ", types.Inputs(), "( A: (i,j,k) -> ", a, ", B: (i,j,k) -> ", b,
                   " )\nwhere f(A, B) -> C { ", types.Product(), " }", s);
  return *ParseExpression(text, {{"I", size()}, {"J", size()}, {"K", size()}});
}

// Of all pairs of rows of one buffer, in a batch: results that are equal to others, in outputs that
// go by any order of indices, forwards and backwards.
Expression RandomPairsOfRows(Rng& rng, bool for_tiles) {
  struct Types {
    const char* row;
    const char* result;
  };
  static constexpr Types kTypes[] = {{"bf16", "fp32"}, {"int8", "int32"}, {"uint8", "int32"},
                                     {"fp32", "fp32"}, {"fp64", "fp64"},  {"fp16", "fp32"},
                                     {"fp16", "fp16"}, {"int16", "int64"}};
  static constexpr const char* kValues[] = {"$0(a) * $0(b)", "$0(a) + $0(b)", "max($0(a), $0(b))",
                                            "abs($0(a) - 1) * abs($0(b) - 1)"};
  static constexpr const char* kRows[] = {"i,k", "k,i", "n,i,k", "n,k,i", "i,n,k", "k,i,n"};
  static constexpr const char* kDimensions[] = {"n,i,j,k", "i,j,n,k", "j,k,i,n", "i,n,j,k",
                                                "k,j,n,i"};
  static constexpr const char* kOutputs[] = {"y: $0 -> (n,i,j)", "y: $0 -> (j,n,i)",
                                             "y: $0 -> (i,j,n)", "y[$1,$2,$1]: $0 -> (j,$3-n,i)",
                                             "y[$2,$4,$1]: $0 -> (n,2*i,$5-j)"};
  static constexpr int64_t kSizes[] = {1, 2, 5, 16, 17, 23, 29, 31, 37, 47, 64, 65};
  const Types types = kTypes[Below(rng, for_tiles ? 3 : std::size(kTypes))];
  const bool is_product = for_tiles || Below(rng, 2) == 0;
  const int64_t rows = kSizes[Below(rng, std::size(kSizes))], batch = 1 + Below(rng, 3),
                points = for_tiles ? 1 + Below(rng, 140) : kSizes[Below(rng, std::size(kSizes))];
  const std::string dimensions = kDimensions[Below(rng, std::size(kDimensions))];
  const std::string at = absl::StrCat("(", dimensions, ")");
  const std::string row = kRows[Below(rng, std::size(kRows))];
  const std::string column = absl::StrReplaceAll(row, {{"i", "j"}});
  const std::string output = absl::Substitute(kOutputs[Below(rng, std::size(kOutputs))], at, rows,
                                              batch, batch - 1, 2 * rows, rows - 1);
  const bool has_two = !for_tiles && Below(rng, 4) == 0;
  const std::string operation = is_product || Below(rng, 2) == 0 ? "+" : "max";
  const std::string value =
      absl::Substitute(kValues[is_product ? 0 : Below(rng, std::size(kValues))], types.result);
  std::vector<std::string> sizes, operators;
  for (const char d : dimensions) {
    if (d == ',') continue;
    sizes.push_back(absl::StrCat(d == 'n' ? batch : d == 'k' ? points : rows));
    operators.push_back(d == 'k' ? operation : "++");
  }
  const std::string text =
      absl::StrCat("pairs := out_view<", types.result, has_two ? ",int64" : "", ">( ", output,
                   has_two ? absl::StrCat(", z: ", at, " -> (i,n,j)") : "", " ) o\n  md_hom<",
                   absl::StrJoin(sizes, ","), ">( f, (", absl::StrJoin(operators, ", "),
                   ") ) o\n  inp_view<", types.row, ">( x: ", at, " -> (", row, "), ", at, " -> (",
                   column, ") )\nwhere f(a, b) -> (r: ", types.result, has_two ? ", m: int64" : "",
                   ") { r = ", value, has_two ? "; m = int64(min(a, b))" : "", " }");
  return *ParseExpression(text, {});
}

// Uniform over the space; of products, more often a walk away from the default, as searches go:
// most configurations of a space have the smallest of register tiles.
TuningParameters RandomParameters(const MdhSpace& space, const TuningParameters& start,
                                  bool is_product, Rng& rng) {
  std::optional<Configuration> from = space.Encode(start);
  if (!from) from = space.EncodeNearest(start);
  if (!is_product || !from || Below(rng, 4) == 0) return space.Decode(space.space().Sample(rng));
  return space.Decode(RandomWalk(space.space(), *from, static_cast<int>(1 + Below(rng, 30)), rng));
}

// The first that rules offer on tile registers; else the default.
TuningParameters StartOnTiles(const Expression& expression, const SystemModel& model,
                              const DeviceDescription& device) {
  constexpr size_t kMany = 64;
  const std::vector<TuningParameters> starts =
      StartingParameters(expression, model, device, NumericsPolicy::kReassociate, kMany);
  for (const TuningParameters& start : starts) {
    if (start.dot_unit == DotUnit::kTiles && start.fused.empty()) return start;
  }
  return starts.front();
}

// One pair; nullopt if the space gave no configuration, else an empty string or what is wrong.
std::optional<std::string> JudgeOne(uint64_t seed, const PairOptions& pairs,
                                    const std::string& directory, const std::string& compilers) {
  const bool on_tiles = pairs.only_tiles;
  Rng rng(seed);
  RandomExpressionOptions options;
  options.max_points = 2048;
  options.special_values = seed % 3 == 1;  // every third has nan, infinities and others
  options.empty_one_in = 40;
  const bool is_product =
      on_tiles || Below(rng, 4) == 0 || pairs.only_products || pairs.only_pairs_of_rows;
  const bool has_equal = is_product && (pairs.only_pairs_of_rows || Below(rng, 8) == 0);
  const Expression expression = has_equal    ? RandomPairsOfRows(rng, on_tiles)
                                : is_product ? RandomProduct(rng, on_tiles)
                                             : RandomExpression(rng, options);
  const SystemModel model = on_tiles ? OpenMpSimdRegistersModel() : RandomModel(rng);
  DeviceDescription device = RandomDevice(rng, compilers);
  if (on_tiles) {
    device.isa = kWithTiles;
    device.features = FeaturesOf(device);
  }
  const NumericsPolicy numerics =
      on_tiles ? NumericsPolicy::kReassociate : PolicyFor(expression, RandomNumerics(rng));
  TuningParameters parameters = on_tiles ? StartOnTiles(expression, model, device)
                                         : DefaultParameters(expression, model, device, numerics);
  if (!expression.is_empty() && Below(rng, 10) != 0) {
    const FusedDimensions fused =
        on_tiles ? FusedDimensions() : AnyOf(rng, FusionChoices(expression, model, numerics)).fused;
    const Result<MdhSpace> space = MdhSpace::Create(expression, model, device, numerics, {}, fused);
    if (!space.ok()) return absl::StrCat("space: ", space.status().message());
    parameters = RandomParameters(*space, parameters, is_product, rng);
    // Choices without an effect may read back as the usual ones.
    const std::optional<Configuration> again = space->Encode(parameters);
    if (!again) return absl::StrCat("not a member: ", space->WhyNot(parameters));
    if (space->Encode(space->Decode(*again)) != again) return "reads back as something else";
  }
  // Spaces stream large outputs only.
  if (!expression.is_empty() && Below(rng, 4) == 0)
    parameters.streams_results = parameters.lowering == Lowering::kTiles;
  // Of dimensions that are not fused.
  if (has_equal && Below(rng, 4) != 0 && parameters.lowering == Lowering::kTiles) {
    TuningParameters half = parameters;
    half.mirrors = true;
    if (Validate(expression, model, device, half).ok()) parameters = std::move(half);
  }
  const Result<LowLevelExpression> low = Lower(expression, model, device, parameters);
  if (!low.ok()) return absl::StrCat("lowering: ", low.status().message());
  const Result<Kernel> kernel = GenerateOpenMp(*low, device);
  if (!kernel.ok()) return absl::StrCat("generating: ", kernel.status().message());
  const std::vector<BufferBytes> inputs =
      options.special_values ? RandomSpecialInputs(rng, expression) : RandomInputs(rng, expression);
  const std::string name = absl::StrCat("k", seed);
  std::string wrong =
      JudgeOneKernel(expression, *kernel, inputs, AccumulationOf(numerics), directory, name);
  if (wrong.empty() && Below(rng, 8) == 0) {
    const Kernel plain =
        Below(rng, 2) == 0 ? GenerateLoopNest(expression) : GenerateReferenceNest(expression);
    wrong = JudgeOneKernel(expression, plain, inputs, Accumulation::kDeclared, directory, name);
  }
  if (wrong.empty()) return "";
  return absl::StrCat(wrong, "\nseed ", seed, "\n", ToText(expression), "\n", ToText(parameters),
                      "\n", device.Fingerprint(), "\n");
}

constexpr absl::string_view kJudged = "judged ";  // begins an answer, before what is wrong

}  // namespace

PairReport JudgeRandomPairs(const PairOptions& options,
                            const std::function<void(const std::string&)>& on_failure) {
  const TemporaryDirectory directory;
  const std::string compilers = ClangWorks(directory.path()) ? "gcc, clang" : "gcc";
  const MakeJob make_job = [&]() -> Job {
    return [&](int job) {
      const std::optional<std::string> wrong =
          JudgeOne(options.seed * 1000003 + static_cast<uint64_t>(job), options, directory.path(),
                   compilers);
      return wrong ? absl::StrCat(kJudged, *wrong) : "";
    };
  };
  PairReport report;
  const auto on_end = [&](const JobEnd& end) {
    absl::string_view wrong = end.text;
    if (end.has_answer && !absl::ConsumePrefix(&wrong, kJudged)) {
      ++report.without_configuration;
      return;
    }
    ++report.pairs;
    if (wrong.empty()) return;
    ++report.failures;
    on_failure(absl::StrCat("first=", end.job, " ", wrong));
  };
  const Status status =
      RunInWorkers({.first = options.first, .count = options.pairs, .processes = options.processes},
                   make_job, on_end);
  if (!status.ok()) on_failure(std::string(status.message()));
  return report;
}

}  // namespace mdh
