#include "codegen/print/c_prelude.h"

#include <algorithm>
#include <bit>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_spelling.h"
#include "codegen/program/c_names.h"

namespace mdh {
namespace {

// Numbers of the lanes: those of a second vector follow those of the first.
std::vector<int> LanesOf(const GroupHalves& halves) {
  const int count = halves.first->type.lanes, half = halves.group / 2;
  std::vector<int> lanes;
  for (int part = 0; part < count; part += halves.part) {
    for (int vector = 0; vector < (halves.second == nullptr ? 1 : 2); ++vector) {
      for (int at = part + (halves.is_upper ? half : 0); at < part + halves.part;
           at += halves.group) {
        for (int l = 0; l < half; ++l) lanes.push_back(vector * count + at + l);
      }
    }
  }
  return lanes;
}

// "lower_f32x8", of groups of 4 lanes "lower4_f32x8", of two vectors in parts "lower4by8_f32x16".
std::string NameOf(const GroupHalves& halves, const std::string& vector) {
  std::string name = halves.is_upper ? "upper" : "lower";
  if (halves.second != nullptr) {
    absl::StrAppend(&name, halves.group, "by", halves.part);
  } else if (halves.group < halves.first->type.lanes) {
    absl::StrAppend(&name, halves.group);
  }
  return absl::StrCat(name, "_", vector);
}

uint64_t LargestIndex(ScalarType type) {
  return ~uint64_t{0} >> (64 - 8 * SizeBytes(type) + (IsSigned(type) ? 1 : 0));
}

}  // namespace

void CPrelude::Define(const std::string& name, const std::string& text) {
  if (defined_.insert(name).second) functions_ += text;
}

void CPrelude::DefineFunction(const std::string& name, const std::string& text) {
  Define(name, absl::StrCat(dialect_.function_qualifier, " ", text));
}

std::string CPrelude::Spelled(LoopValueType type) {
  return type.lanes > 1 ? VectorType(type) : CType(type.scalar, dialect_);
}

std::string CPrelude::VectorType(LoopValueType type) {
  const std::string name = CType(type, dialect_);
  if (type.lanes > 1 && NativeVector(dialect_, type).empty() && defined_.insert(name).second) {
    const int element = SizeBytes(type.scalar), bytes = element * type.lanes;
    types_ += absl::Substitute(dialect_.define_vector, name, CType(type.scalar, dialect_),
                               type.lanes, bytes, element, std::min(bytes, 16));
  }
  return name;
}

std::string CPrelude::SplatFunction(LoopValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("splat_", vector);
  std::string lanes = "x";
  for (int l = 1; l < type.lanes; ++l) lanes += ", x";
  DefineFunction(name, absl::Substitute("$0 $1($2 x) { return ($0){$3}; }\n", vector, name,
                                        CType(type.scalar, dialect_), lanes));
  return name;
}

// By words: compilers take the lanes of a reduction one by one.
std::string CPrelude::AnyFunction(LoopValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("any_", vector);
  const int words = (type.lanes * SizeBytes(type.scalar) + 7) / 8;
  DefineFunction(name,
                 absl::Substitute("int $0($1 a) {\n  unsigned long long words[$2] = {0};\n"
                                  "  unsigned long long any = 0;\n  memcpy(words, &a, sizeof a);\n"
                                  "  for (int w = 0; w < $2; ++w) any |= words[w];\n"
                                  "  return any != 0;\n}\n",
                                  name, vector, words));
  return name;
}

// Compilers before the builtin take lanes one by one, which is slower.
std::string CPrelude::ShuffleFunction(const std::string& name, LoopValueType type,
                                      const std::vector<int>& lanes, bool has_second) {
  const std::string vector = VectorType(type);
  const std::string result = VectorType({type.scalar, static_cast<int>(lanes.size())});
  std::string numbers, elements;
  for (const int l : lanes) {
    absl::StrAppend(&numbers, ", ", l);
    absl::StrAppend(&elements, elements.empty() ? "" : ", ",
                    CLane(dialect_, type, l < type.lanes ? "x" : "y", l % type.lanes));
  }
  DefineFunction(name, absl::Substitute(R"($0 $1($2 x$3) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(x, $4$5);
#else
  return ($0){$6};
#endif
}
)",
                                        result, name, vector,
                                        has_second ? absl::StrCat(", ", vector, " y") : "",
                                        has_second ? "y" : "x", numbers, elements));
  return name;
}

std::string CPrelude::GroupHalvesFunction(const GroupHalves& halves) {
  const LoopValueType type = halves.first->type;
  return ShuffleFunction(NameOf(halves, VectorType(type)), type, LanesOf(halves),
                         halves.second != nullptr);
}

std::string CPrelude::LaterLanesFunction(LoopValueType type, int distance) {
  std::vector<int> lanes;
  for (int l = 0; l < type.lanes; ++l) {
    lanes.push_back(l < distance ? l : type.lanes + l - distance);
  }
  const std::string name = absl::StrCat("later_by_", distance, "_", VectorType(type));
  return ShuffleFunction(name, type, lanes, /*has_second=*/true);
}

std::string CPrelude::IndicesFunction(LoopValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("indices_", vector);
  std::string lanes = "first";
  for (int l = 1; l < type.lanes; ++l) absl::StrAppend(&lanes, ", first + ", l, " * step");
  DefineFunction(name, absl::Substitute("$0 $1(int64_t first, int64_t step) {\n  return "
                                        "($0){$2};\n}\n",
                                        vector, name, lanes));
  return name;
}

// Where all lanes are neighbours and inside.
std::string CPrelude::NeighboursInside(LoopValueType type) {
  return absl::Substitute(
      "  if (step * stride == 1 && first >= 0 && first + $0 * step <= extent) {\n"
      "    return *(const $1_unaligned*)(p + first * stride);\n  }\n",
      type.lanes, VectorType(type));
}

std::string CPrelude::ClampedLoadFunction(LoopValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("mdh_clamped_", vector);
  DefineFunction(
      name, absl::Substitute(
                "$0 $1(const $2* p, int64_t first, int64_t step, int64_t extent, "
                "int64_t stride) {\n$4  $0 r;\n"
                "  for (int l = 0; l < $3; ++l) r[l] = p[mdh_clamp(first + l * step, extent) * "
                "stride];\n  return r;\n}\n",
                vector, name, CType(type.scalar, dialect_), type.lanes, NeighboursInside(type)));
  return name;
}

std::string CPrelude::SelectInsideFunction(LoopValueType type) {
  const std::string element = CType(type.scalar, dialect_);
  const std::string of_element = absl::StrCat("mdh_border_", ShortName(type.scalar));
  const int bytes = SizeBytes(type.scalar);
  std::string body = "  return inside ? x : outside;\n";
  if (!dialect_.select.empty()) {
    uses_ptx_ |= dialect_.takes_ptx();
    const bool is_narrow = bytes < 2;  // there are no registers of so few bits
    const char* const classes =
        IsFloatingPoint(type.scalar) && !IsStorageOnly(type.scalar) ? "__fd" : "_hrl";
    const int width = is_narrow ? 4 : bytes;
    body = absl::Substitute(dialect_.select, is_narrow ? "int" : element, 8 * width,
                            std::string(1, classes[std::countr_zero(static_cast<unsigned>(width))]),
                            is_narrow ? "(int)" : "");
  }
  DefineFunction(of_element, absl::Substitute("$0 $1(int inside, $0 x, $0 outside) {\n$2}\n",
                                              element, of_element, body));
  if (type.lanes == 1) return of_element;
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("mdh_border_", vector);
  body = "";
  for (int l = 0; l < type.lanes; ++l) {
    const std::string lane = CLane(dialect_, type, "x", l);
    absl::StrAppend(&body, "  ", lane, " = ", of_element, "(inside, ", lane, ", outside);\n");
  }
  DefineFunction(name, absl::Substitute("$0 $1(int inside, $0 x, $2 outside) {\n$3  return x;\n}\n",
                                        vector, name, element, body));
  return name;
}

std::string CPrelude::Constants(const ScalarValue& value, int64_t elements) {
  const std::string type = CType(value.type(), dialect_), literal = CLiteral(value, dialect_);
  std::string& name = tables_[absl::StrCat(type, "|", elements, " of ", literal)];
  if (name.empty()) {
    name = absl::StrCat("mdh_outside", tables_.size());
    Define(name, absl::Substitute("$0 $1 $2[$3] = {[0 ... $4] = $5};\n", dialect_.table_qualifier,
                                  type, name, elements, elements - 1, literal));
  }
  return name;
}

std::string CPrelude::TableFunction(const std::vector<ScalarValue>& table, LoopValueType index) {
  std::string values;
  for (const ScalarValue& value : table) {
    absl::StrAppend(&values, values.empty() ? "" : ", ", CLiteral(value, dialect_));
  }
  const ScalarType element = table[0].type();
  const std::string contents = absl::StrCat(CType(element, dialect_), "|", values);
  std::string& stem = tables_[contents];
  if (stem.empty()) {
    stem = absl::StrCat("mdh_table", tables_.size());
    Define(stem, absl::StrFormat("%s %s %s_values[%d] = {%s};\n", dialect_.table_qualifier,
                                 CType(element, dialect_), stem, table.size(), values));
  }
  const std::string at = absl::StrCat(stem, "_", ShortName(index.scalar));
  // Of a minimum of a maximum with zero ptxas 13.0 tells wrongly which of both it was.
  const bool hides = IsSigned(index.scalar) && SizeBytes(index.scalar) <= 4;
  const std::string hidden = hides ? absl::Substitute(dialect_.hide_origin, "low") : "";
  const char* const low = !IsSigned(index.scalar) ? ""
                          : hidden.empty()        ? "i < 0 ? 0 : "
                                                  : "int low = i < 0 ? 0 : i;\n  ";
  DefineFunction(at, absl::Substitute(
                         hidden.empty() ? "$0 $1($2 i) { return $3_values[$4i > $5 ? $5 : i]; }\n"
                                        : "$0 $1($2 i) {\n  $4$6\n"
                                          "  return $3_values[low > $5 ? $5 : low];\n}\n",
                         CType(element, dialect_), at, CType(index.scalar, dialect_), stem, low,
                         std::min<uint64_t>(table.size() - 1, LargestIndex(index.scalar)), hidden));
  if (index.lanes == 1) return at;
  const std::string name = absl::StrCat(at, "x", index.lanes);
  const std::string vector = VectorType({element, index.lanes});
  DefineFunction(name, absl::Substitute("$0 $1($2 i) {\n  $0 r;\n  for (int l = 0; l < $3; "
                                        "++l) r[l] = $4(i[l]);\n  return r;\n}\n",
                                        vector, name, VectorType(index), index.lanes, at));
  return name;
}

bool CPrelude::CanStream(LoopValueType type) {
  const int bytes = SizeBytes(type.scalar) * type.lanes;
  return bytes == 16 || bytes == 32 || bytes == 64;
}

std::string CPrelude::StreamFunction(LoopValueType type) {
  streams_ = true;
  const std::string vector = VectorType(type), element = CType(type.scalar, dialect_);
  const std::string name = absl::StrCat("stream_", vector);
  const int bytes = SizeBytes(type.scalar) * type.lanes;
  const std::string feature = bytes == 64 ? "__AVX512F__" : bytes == 32 ? "__AVX__" : "__SSE2__";
  const std::string builtin = absl::StrCat("__builtin_ia32_movntdq", bytes == 64   ? "512"
                                                                     : bytes == 32 ? "256"
                                                                                   : "");
  DefineFunction(name, absl::Substitute(R"(void $0($1* p, $2 x) {
#if defined(__clang__)
  if (((uintptr_t)p & $3) == 0) {
    __builtin_nontemporal_store(x, ($2*)p);
    return;
  }
#elif defined($4)
  typedef long long whole __attribute__((vector_size($5)));
  if (((uintptr_t)p & $3) == 0) {
    $6((whole*)p, (whole)x);
    return;
  }
#endif
  *($2_unaligned*)p = x;
}
)",
                                        name, element, vector, bytes - 1, feature, bytes, builtin));
  return name;
}

std::string CPrelude::KeepMacro(int bytes) {
  const std::string name = absl::StrCat("MDH_KEEP_", bytes);
  const std::string feature = bytes == 64 ? "__AVX512F__" : bytes == 32 ? "__AVX__" : "__SSE2__";
  Define(name, absl::Substitute("// gcc would load a shared operand again for every use.\n"
                                "#if defined($1) && !defined(__clang__)\n"
                                "#define $0(x) __asm__(\"\" : \"+v\"(x))\n"
                                "#else\n"
                                "#define $0(x)\n"
                                "#endif\n",
                                name, feature));
  return name;
}

std::string CPrelude::AsyncCopyFunction(int bytes) {
  copies_asynchronously_ = true;
  uses_ptx_ |= dialect_.takes_ptx();
  const std::string name = absl::StrCat("mdh_async_copy_", bytes);
  const absl::string_view body = bytes == 16 ? dialect_.async_copy_16 : dialect_.async_copy;
  const std::string to = CPointer(dialect_, AddressSpace::kShared, false, "void");
  const std::string from = CPointer(dialect_, AddressSpace::kGlobal, true, "void");
  DefineFunction(name, absl::StrCat("void ", name, "(", to, " to, ", from, " from) {\n",
                                    absl::Substitute(body, bytes), "}\n"));
  return name;
}

std::string CPrelude::AsyncCopyIfFunction(int bytes) {
  copies_asynchronously_ = true;
  uses_ptx_ |= dialect_.takes_ptx();
  const std::string name = absl::StrCat("mdh_async_copy_", bytes, "_if");
  const absl::string_view body = bytes == 16 ? dialect_.async_copy_16_if : dialect_.async_copy_if;
  const std::string to = CPointer(dialect_, AddressSpace::kShared, false, "void");
  const std::string from = CPointer(dialect_, AddressSpace::kGlobal, true, "void");
  DefineFunction(name,
                 absl::StrCat("void ", name, "(", to, " to, ", from, " from, int condition) {\n",
                              absl::Substitute(body, bytes), "}\n"));
  return name;
}

std::string CPrelude::CommitCopiesFunction() {
  const std::string name = "mdh_commit_copies";
  DefineFunction(name, absl::StrCat("void ", name, "() {\n", dialect_.commit_copies, "}\n"));
  return name;
}

std::string CPrelude::WaitForCopiesFunction(int groups) {
  const std::string name = absl::StrCat("mdh_wait_for_copies_but_", groups);
  DefineFunction(name, absl::StrCat("void ", name, "() {\n",
                                    absl::Substitute(dialect_.wait_for_copies, groups), "}\n"));
  return name;
}

// Lanes of PTX's shuffles: segments of `width` threads, which a distance does not leave.
std::string CPrelude::ShuffleFunction(ScalarType type, absl::string_view direction) {
  uses_ptx_ |= dialect_.takes_ptx();
  const std::string element = CType(type, dialect_);
  const std::string name = absl::StrCat("mdh_shuffle_", direction, "_", ShortName(type));
  const absl::string_view body = SizeBytes(type) == 8 ? dialect_.shuffle_8 : dialect_.shuffle_4;
  const std::string limit = absl::StrCat("((32 - width) << 8)", direction == "up" ? "" : " | 31");
  DefineFunction(name,
                 absl::StrCat(element, " ", name, "(", element, " x, int distance, int width) {\n",
                              absl::Substitute(body, element, direction, limit), "}\n"));
  return name;
}

std::string CPrelude::LoadOfBlockFunction(ScalarType type) {
  const std::string name = absl::StrCat("mdh_of_block_", ShortName(type));
  const std::string element = CType(type, dialect_);
  DefineFunction(
      name, absl::StrCat(element, " ", name, "(const ", element, "* p, unsigned int block) {\n",
                         absl::Substitute(dialect_.load_of_block, element), "}\n"));
  return name;
}

std::string CPrelude::ClusterBarrierFunction() {
  const std::string name = "mdh_cluster_barrier";
  DefineFunction(name, absl::StrCat("void ", name, "() {\n", dialect_.cluster_barrier, "}\n"));
  return name;
}

std::string CPrelude::IsLastFunction() {
  const std::string name = "mdh_is_last";
  DefineFunction(
      name, absl::StrCat("int ", name, "(int* counter, int blocks) {\n", dialect_.is_last, "}\n"));
  return name;
}

std::string CPrelude::WaitForStagesFunction() {
  const std::string name = "mdh_wait_for_stages";
  DefineFunction(name, absl::StrCat("void ", name, "() {\n", dialect_.wait_for_stages, "}\n"));
  return name;
}

std::string CPrelude::WrittenByOthersFunction() {
  const std::string name = "mdh_written_by_others";
  DefineFunction(name, absl::StrCat("const void* ", name, "(const void* p) {\n",
                                    dialect_.written_by_others, "}\n"));
  return name;
}

std::string CPrelude::PrefetchFunction() {
  const std::string name = "mdh_prefetch";
  DefineFunction(name,
                 absl::StrCat("void ", name, "(const void* p) {\n", dialect_.prefetch, "}\n"));
  return name;
}

std::string CPrelude::AdmitNextStageFunction() {
  const std::string name = "mdh_admit_next_stage";
  DefineFunction(name, absl::StrCat("void ", name, "() {\n", dialect_.admit_next_stage, "}\n"));
  return name;
}

std::string CPrelude::ToString() const {
  std::string text = types_;
  return text + functions_;
}

std::string IndexFunctions(const CDialect& dialect, absl::string_view index_type,
                           absl::string_view code) {
  struct IndexFunction {
    absl::string_view name, text;  // $0: qualifiers, $1: type
  };
  constexpr IndexFunction kFunctions[] = {
      {"mdh_min(", "$0 $1 mdh_min($1 a, $1 b) { return a < b ? a : b; }\n"},
      {"mdh_clamp(",
       "$0 $1 mdh_clamp($1 i, $1 extent) {\n"
       "  return i < 0 ? 0 : i < extent ? i : extent - 1;\n}\n"},
      {"mdh_inside(", "$0 int mdh_inside($1 i, $1 extent) { return i >= 0 && i < extent; }\n"},
  };
  std::string text;
  for (const IndexFunction& function : kFunctions) {
    if (!absl::StrContains(code, function.name)) continue;
    absl::SubstituteAndAppend(&text, function.text, dialect.function_qualifier, index_type);
  }
  return text;
}

}  // namespace mdh
