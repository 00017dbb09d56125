// Loads and stores of vectors in the prelude: of neighbours, and of elements that are a stride
// apart.
#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "codegen/program/shuffled_stride.h"

namespace mdh {
namespace {

constexpr int kLeastShuffledBytes = 16;

// Lane l of a vector whose elements are `stride` apart is lane `lane` of vector `vector` of those
// that cover all elements from the first to the last.
struct Place {
  int64_t vector, lane;
};

class Cover {
 public:
  Cover(int lanes, int64_t stride) : lanes_(lanes), stride_(stride) {}

  int64_t vectors() const { return std::min<int64_t>(std::abs(stride_), lanes_); }
  // Where a vector begins, from the element of lane 0. With `stays_inside` the last one ends with
  // the last element, so that nothing beyond is touched.
  int64_t Start(int64_t vector, bool stays_inside) const {
    const int64_t span = (lanes_ - 1) * std::abs(stride_) + 1;
    const int64_t from_lowest =
        stays_inside ? std::min(vector * lanes_, span - lanes_) : vector * lanes_;
    return from_lowest + std::min<int64_t>(0, (lanes_ - 1) * stride_);
  }
  Place Find(int l, bool stays_inside) const {
    const int64_t at = l * stride_;
    const int64_t vector = (at - Start(0, stays_inside)) / lanes_;
    return {vector, at - Start(vector, stays_inside)};
  }

 private:
  const int64_t lanes_, stride_;
};

std::string Plus(absl::string_view from, int64_t offset) {
  if (offset == 0) return std::string(from);
  return absl::StrCat(from, offset < 0 ? " - " : " + ", std::abs(offset));
}

// Behind the number of an element; of neighbours there is no stride.
std::string By(absl::string_view stride) {
  return stride.empty() ? std::string() : absl::StrCat(" * ", stride);
}

std::string StemFor(absl::string_view stem, int64_t stride) {
  return absl::StrCat(stem, stride < 0 ? "_back" : "", std::abs(stride), "_");
}

// The loads and stores of AVX-512 that leave elements as they are, and the loads of AVX2: gcc's and
// clang's names for vectors of that type, and the type of the pointer. All empty if there are none.
struct MaskedMoves {
  std::string feature, load, store, load_by_vector, element;
};
MaskedMoves MaskedMovesFor(LoopValueType type) {
  const int element = SizeBytes(type.scalar), bytes = element * type.lanes;
  if (element < 4 || (bytes != 16 && bytes != 32 && bytes != 64)) return {};
  const bool is_word = element == 4;
  const bool is_real = IsFloatingPoint(type.scalar);
  const std::string kind = absl::StrCat(
      is_real ? (is_word ? "ups" : "upd") : (is_word ? "dqusi" : "dqudi"), bytes * 8, "_mask");
  return {bytes == 64 ? "__AVX512F__" : "__AVX512VL__", "__builtin_ia32_load" + kind,
          "__builtin_ia32_store" + kind,
          absl::StrCat("__builtin_ia32_maskload",
                       is_real ? (is_word ? "ps" : "pd") : (is_word ? "d" : "q"),
                       bytes == 32 ? "256" : ""),
          is_real ? (is_word ? "float" : "double") : (is_word ? "int" : "long long")};
}

// An argument of theirs, for vectors of so many lanes.
std::string Mask(int lanes, uint64_t bits) {
  return absl::StrCat("(unsigned ", lanes > 8 ? "short" : "char", ")", bits);
}

// Of a value that is first bound to a name; of up to 32 bytes hidden from gcc 12, which makes a
// constant one a blend with all of the vector in memory.
std::string NamedMask(absl::string_view name, int lanes, int bytes, absl::string_view value) {
  const char* const type = lanes > 8 ? "short" : "char";
  return absl::StrCat("  unsigned ", type, " ", name, " = ", value, ";\n",
                      bytes == 64 ? "" : absl::StrCat("  __asm__(\"\" : \"+r\"(", name, "));\n"));
}

constexpr absl::string_view kHasShuffles = "(defined(__clang__) || __GNUC__ >= 12)";

}  // namespace

bool CPrelude::TakesStride(LoopValueType type, int64_t stride, int off) const {
  if (!dialect_.computes_with_vectors) return true;
  return stride != 1 && (off > 0 || !IsShuffledStride(stride, type.lanes) ||
                         SizeBytes(type.scalar) * type.lanes < kLeastShuffledBytes);
}

std::string CPrelude::LaneByLaneLoad(LoopValueType type, const std::string& stride, int off) {
  const std::string by = By(stride);
  std::string lanes = "p[0]";
  for (int l = 1; l < type.lanes - off; ++l) absl::StrAppend(&lanes, ", p[", l, by, "]");
  const bool is_native = !NativeVector(dialect_, type).empty();
  return absl::Substitute("  return $0;\n",
                          absl::Substitute(is_native ? dialect_.native_vector : dialect_.vector,
                                           VectorType(type), lanes));
}

std::string CPrelude::LaneByLaneStore(LoopValueType type, const std::string& stride,
                                      int off) const {
  const std::string by = By(stride);
  std::string body;
  for (int l = 0; l < type.lanes - off; ++l) {
    absl::StrAppend(&body, "  p[", l, by, "] = ", CLane(dialect_, type, "x", l), ";\n");
  }
  return body;
}

// Also reads what is between the elements.
std::string CPrelude::ShuffledLoad(LoopValueType type, int64_t stride) {
  const std::string vector = VectorType(type);
  const Cover cover(type.lanes, stride);
  std::string loads;
  for (int64_t v = 0; v < cover.vectors(); ++v) {
    absl::StrAppend(&loads, "  const ", vector, " v", v, " = *(const ", vector, "_unaligned*)(",
                    Plus("p", cover.Start(v, /*stays_inside=*/true)), ");\n");
  }
  // The lanes of one vector more with each shuffle; a lane that is not there yet is any.
  std::string value = "v0";
  for (int64_t v = cover.vectors() == 1 ? 0 : 1; v < cover.vectors(); ++v) {
    std::string numbers;
    for (int l = 0; l < type.lanes; ++l) {
      const Place place = cover.Find(l, /*stays_inside=*/true);
      const int64_t before = v <= 1 ? place.lane : l;
      absl::StrAppend(&numbers, ", ",
                      place.vector < v || v == 0 ? before
                      : place.vector == v        ? type.lanes + place.lane
                                                 : -1);
    }
    value = absl::StrCat("__builtin_shufflevector(", value, ", v", v, numbers, ")");
  }
  return absl::StrCat("#if ", kHasShuffles, "\n", loads, "  return ", value, ";\n#else\n",
                      LaneByLaneLoad(type, absl::StrCat(stride)), "#endif\n");
}

std::string CPrelude::ShuffledStore(LoopValueType type, int64_t stride) {
  const Cover cover(type.lanes, stride);
  const std::string vector = VectorType(type);
  const MaskedMoves masked = MaskedMovesFor(type);
  const std::string by_lanes = LaneByLaneStore(type, absl::StrCat(stride));
  if (cover.vectors() > 1 && masked.store.empty()) return by_lanes;
  std::string stores;
  for (int64_t v = 0; v < cover.vectors(); ++v) {
    std::vector<int> lanes(type.lanes, -1);
    uint64_t mask = 0;
    for (int l = 0; l < type.lanes; ++l) {
      const Place place = cover.Find(l, /*stays_inside=*/false);
      if (place.vector != v) continue;
      lanes[place.lane] = l;
      mask |= uint64_t{1} << place.lane;
    }
    std::string numbers;
    for (const int l : lanes) absl::StrAppend(&numbers, ", ", l);
    const std::string at = Plus("p", cover.Start(v, /*stays_inside=*/false));
    const std::string value = absl::StrCat("__builtin_shufflevector(x, x", numbers, ")");
    absl::StrAppend(&stores,
                    cover.vectors() == 1
                        ? absl::StrCat("  *(", vector, "_unaligned*)(", at, ") = ", value, ";\n")
                        : absl::StrCat("  ", masked.store, "((", masked.element, "*)(", at,
                                       "), (words)", value, ", ", Mask(type.lanes, mask), ");\n"));
  }
  if (cover.vectors() == 1) {
    return absl::StrCat("#if ", kHasShuffles, "\n", stores, "#else\n", by_lanes, "#endif\n");
  }
  return absl::StrCat("#if defined(", masked.feature, ") && ", kHasShuffles, "\n  typedef ",
                      masked.element, " words __attribute__((vector_size(",
                      SizeBytes(type.scalar) * type.lanes, ")));\n", stores, "#else\n", by_lanes,
                      "#endif\n");
}

// Of neighbours, all but the last `off`; sanitizers see those that are moved one by one. gcc 12
// makes a constant mask of up to 32 bytes a blend with all of the vector in memory: loads are those
// of AVX2, whose mask is a vector, and that of stores is hidden.
std::string CPrelude::MaskedMove(LoopValueType type, int off, bool is_load) {
  const std::string by_lanes =
      is_load ? LaneByLaneLoad(type, "", off) : LaneByLaneStore(type, "", off);
  const MaskedMoves masked = MaskedMovesFor(type);
  if (masked.store.empty()) return by_lanes;
  const int bytes = SizeBytes(type.scalar) * type.lanes;
  const bool is_long = bytes == 64;
  const std::string mask = Mask(type.lanes, (uint64_t{1} << (type.lanes - off)) - 1);
  std::string on = "-1";
  for (int l = 1; l < type.lanes - off; ++l) on += ", -1";
  const std::string hidden = NamedMask("mask", type.lanes, bytes, mask);
  const std::string move =
      !is_load  ? absl::Substitute("$0  $1(($2*)p, (words)x, $3);\n", is_long ? "" : hidden,
                                   masked.store, masked.element, is_long ? mask : "mask")
      : is_long ? absl::Substitute("  return ($0)$1((const $2*)p, (words){0}, $3);\n",
                                   VectorType(type), masked.load, masked.element, mask)
                : absl::Substitute(
                      "  typedef $0 masks __attribute__((vector_size($1)));\n"
                      "  return ($2)$3((const words*)p, (masks){$4});\n",
                      SizeBytes(type.scalar) == 4 ? "int" : "long long", bytes, VectorType(type),
                      masked.load_by_vector, on);
  return absl::StrCat("#if defined(", is_load && !is_long ? "__AVX2__" : masked.feature,
                      ") && !defined(__SANITIZE_ADDRESS__)\n  typedef ", masked.element,
                      " words __attribute__((vector_size(", bytes, ")));\n", move, "#else\n",
                      by_lanes, "#endif\n");
}

// The vectors that cover all elements from the first to the last, as far as these are inside, and
// the lanes of them.
std::string CPrelude::MaskedInside(LoopValueType type, int64_t step, const std::string& by_lanes) {
  const MaskedMoves masked = MaskedMovesFor(type);
  const int bytes = SizeBytes(type.scalar) * type.lanes;
  DefineFunction("mdh_inside_lanes",
                 "unsigned mdh_inside_lanes(int condition, int64_t first, int64_t extent, int64_t "
                 "lanes) {\n"
                 "  const int64_t begin = first > 0 ? 0 : -first < lanes ? -first : lanes;\n"
                 "  const int64_t left = extent - first;\n"
                 "  const int64_t end = left < 0 ? 0 : left < lanes ? left : lanes;\n"
                 "  return condition ? ((1u << end) - 1) & ~((1u << begin) - 1) : 0;\n}\n");
  const Cover cover(type.lanes, step);
  std::string loads, value = "v0";
  for (int64_t v = 0; v < cover.vectors(); ++v) {
    const std::string at = Plus("first", cover.Start(v, /*stays_inside=*/false));
    const std::string mask =
        absl::StrCat("mdh_inside_lanes(condition, ", at, ", extent, ", type.lanes, ")");
    absl::StrAppend(&loads, NamedMask(absl::StrCat("m", v), type.lanes, bytes, mask), "  const ",
                    VectorType(type), " v", v, " = (", VectorType(type), ")", masked.load,
                    "((const ", masked.element, "*)p + (", at, "), (words)r, m", v, ");\n");
    std::string numbers;
    for (int l = 0; l < type.lanes; ++l) {
      const Place place = cover.Find(l, /*stays_inside=*/false);
      const int64_t before = v <= 1 ? place.lane : l;
      absl::StrAppend(&numbers, ", ",
                      place.vector < v || v == 0 ? before
                      : place.vector == v        ? type.lanes + place.lane
                                                 : -1);
    }
    const bool is_as_loaded = step == 1 || (v == 0 && cover.vectors() > 1);
    if (!is_as_loaded)
      value = absl::StrCat("__builtin_shufflevector(", value, ", v", v, numbers, ")");
  }
  return absl::Substitute(
      "#if defined($0) && $1 && !defined(__SANITIZE_ADDRESS__)\n"
      "  typedef $2 words __attribute__((vector_size($3)));\n  const $4 r = outside - ($4){0};\n"
      "$5  return $6;\n#else\n$7#endif\n",
      masked.feature, kHasShuffles, masked.element, bytes, VectorType(type), loads, value,
      by_lanes);
}

std::string CPrelude::InsideByLanes(LoopValueType type) {
  return absl::Substitute(
      "  if (!condition) return outside - ($0){0};\n$1  $0 r;\n"
      "  for (int l = 0; l < $2; ++l) {\n    const int64_t i = first + l * step;\n"
      "    r[l] = mdh_inside(i, extent) ? p[i * stride] : outside;\n  }\n  return r;\n",
      VectorType(type), NeighboursInside(type), type.lanes);
}

bool CPrelude::CanMaskInside(LoopValueType type, int64_t step, int64_t stride) {
  return stride == 1 && IsShuffledStride(step, type.lanes) && !MaskedMovesFor(type).load.empty();
}

std::string CPrelude::DefineInside(const std::string& name, LoopValueType type,
                                   const std::string& body) {
  DefineFunction(name,
                 absl::Substitute("$0 $1(int condition, const $2* p, int64_t first, int64_t "
                                  "step, int64_t extent, int64_t stride, $2 outside) {\n$3}\n",
                                  VectorType(type), name, CType(type.scalar, dialect_), body));
  return name;
}

std::string CPrelude::InsideLoadFunction(LoopValueType type) {
  const std::string body = InsideByLanes(type);
  return DefineInside("mdh_inside_" + VectorType(type), type, body);
}

std::string CPrelude::MaskedInsideFunction(LoopValueType type, int64_t step) {
  const std::string body = MaskedInside(type, step, InsideByLanes(type));
  return DefineInside(StemFor("mdh_inside", step) + VectorType(type), type, body);
}

// Functions on pointers to other than global memory have its name in theirs.
std::string CPrelude::FunctionOn(absl::string_view stem, LoopValueType type,
                                 AddressSpace space) const {
  const absl::string_view pointed = dialect_.spaces[static_cast<size_t>(space)];
  const bool named = pointed != dialect_.spaces[static_cast<size_t>(AddressSpace::kGlobal)];
  const char* names[] = {"", "_shared", "_private"};
  return absl::StrCat(stem, CType(type, dialect_), named ? names[static_cast<size_t>(space)] : "");
}

// With "_first7" in it, of so many lanes: "load_", "gather2_", or "gather_", which takes the
// stride.
std::string CPrelude::StemOfMove(absl::string_view neighbours, absl::string_view apart,
                                 LoopValueType type, int64_t stride, int off) const {
  const std::string lanes = off == 0 ? "_" : absl::StrCat("_first", type.lanes - off, "_");
  if (TakesStride(type, stride, off)) return absl::StrCat(apart, lanes);
  return stride == 1 ? absl::StrCat(neighbours, lanes) : StemFor(apart, stride);
}

std::string CPrelude::LoadFunction(LoopValueType type, int64_t stride, AddressSpace space,
                                   int off) {
  const std::string vector = VectorType(type);
  const std::string pointer = CPointer(dialect_, space, true, CType(type.scalar, dialect_));
  const bool takes_stride = TakesStride(type, stride, off);
  const std::string name = FunctionOn(StemOfMove("load", "gather", type, stride, off), type, space);
  if (stride == 1 && !takes_stride && off == 0) {
    DefineFunction(name, absl::Substitute("$0 $1($2 p) { return *(const $0_unaligned*)p; }\n",
                                          vector, name, pointer));
    return name;
  }
  DefineFunction(
      name, absl::Substitute("$0 $1($2 p$3) {\n$4}\n", vector, name, pointer,
                             takes_stride ? absl::StrCat(", ", dialect_.wide_index, " stride") : "",
                             takes_stride  ? LaneByLaneLoad(type, "stride", off)
                             : stride == 1 ? MaskedMove(type, off, /*is_load=*/true)
                                           : ShuffledLoad(type, stride)));
  return name;
}

std::string CPrelude::StoreFunction(LoopValueType type, int64_t stride, AddressSpace space,
                                    int off) {
  const std::string vector = VectorType(type);
  const std::string pointer = CPointer(dialect_, space, false, CType(type.scalar, dialect_));
  const bool takes_stride = TakesStride(type, stride, off);
  const std::string name =
      FunctionOn(StemOfMove("store", "scatter", type, stride, off), type, space);
  if (stride == 1 && !takes_stride && off == 0) {
    DefineFunction(name, absl::Substitute("void $1($2 p, $0 x) { *($0_unaligned*)p = x; }\n",
                                          vector, name, pointer));
    return name;
  }
  DefineFunction(
      name, absl::Substitute("void $1($2 p, $3$0 x) {\n$4}\n", vector, name, pointer,
                             takes_stride ? absl::StrCat(dialect_.wide_index, " stride, ") : "",
                             takes_stride  ? LaneByLaneStore(type, "stride", off)
                             : stride == 1 ? MaskedMove(type, off, /*is_load=*/false)
                                           : ShuffledStore(type, stride)));
  return name;
}

}  // namespace mdh
