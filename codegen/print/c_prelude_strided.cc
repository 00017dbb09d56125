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

std::string Plus(int64_t offset) {
  if (offset == 0) return "p";
  return absl::StrCat("p ", offset < 0 ? "- " : "+ ", std::abs(offset));
}

std::string StemFor(absl::string_view stem, int64_t stride) {
  return absl::StrCat(stem, stride < 0 ? "_back" : "", std::abs(stride), "_");
}

// The stores of AVX-512 that leave elements as they are: gcc's and clang's name for vectors of that
// type, and the type of the pointer. Both empty if there is none.
struct MaskedStore {
  std::string feature, call, element;
};
MaskedStore MaskedStoreFor(LoopValueType type) {
  const int element = SizeBytes(type.scalar), bytes = element * type.lanes;
  if (element < 4 || (bytes != 16 && bytes != 32 && bytes != 64)) return {};
  const bool is_word = element == 4;
  const bool is_real = IsFloatingPoint(type.scalar);
  const absl::string_view kind =
      is_real ? (is_word ? "storeups" : "storeupd") : (is_word ? "storedqusi" : "storedqudi");
  return {bytes == 64 ? "__AVX512F__" : "__AVX512VL__",
          absl::StrCat("__builtin_ia32_", kind, bytes * 8, "_mask"),
          is_real ? (is_word ? "float" : "double") : (is_word ? "int" : "long long")};
}

constexpr absl::string_view kHasShuffles = "(defined(__clang__) || __GNUC__ >= 12)";

}  // namespace

bool CPrelude::TakesStride(LoopValueType type, int64_t stride) const {
  if (!dialect_.computes_with_vectors) return true;
  return stride != 1 && (!IsShuffledStride(stride, type.lanes) ||
                         SizeBytes(type.scalar) * type.lanes < kLeastShuffledBytes);
}

std::string CPrelude::LaneByLaneLoad(LoopValueType type, const std::string& stride) {
  std::string lanes = "p[0]";
  for (int l = 1; l < type.lanes; ++l) absl::StrAppend(&lanes, ", p[", l, " * ", stride, "]");
  const bool is_native = !NativeVector(dialect_, type).empty();
  return absl::Substitute("  return $0;\n",
                          absl::Substitute(is_native ? dialect_.native_vector : dialect_.vector,
                                           VectorType(type), lanes));
}

std::string CPrelude::LaneByLaneStore(LoopValueType type, const std::string& stride) const {
  std::string body;
  for (int l = 0; l < type.lanes; ++l) {
    absl::StrAppend(&body, "  p[", l, " * ", stride, "] = ", CLane(dialect_, type, "x", l), ";\n");
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
                    Plus(cover.Start(v, /*stays_inside=*/true)), ");\n");
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
  const MaskedStore masked = MaskedStoreFor(type);
  const std::string by_lanes = LaneByLaneStore(type, absl::StrCat(stride));
  if (cover.vectors() > 1 && masked.call.empty()) return by_lanes;
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
    const std::string at = Plus(cover.Start(v, /*stays_inside=*/false));
    const std::string value = absl::StrCat("__builtin_shufflevector(x, x", numbers, ")");
    absl::StrAppend(
        &stores,
        cover.vectors() == 1
            ? absl::StrCat("  *(", vector, "_unaligned*)(", at, ") = ", value, ";\n")
            : absl::StrCat("  ", masked.call, "((", masked.element, "*)(", at, "), (words)", value,
                           ", (unsigned ", type.lanes > 8 ? "short" : "char", ")", mask, ");\n"));
  }
  if (cover.vectors() == 1) {
    return absl::StrCat("#if ", kHasShuffles, "\n", stores, "#else\n", by_lanes, "#endif\n");
  }
  return absl::StrCat("#if defined(", masked.feature, ") && ", kHasShuffles, "\n  typedef ",
                      masked.element, " words __attribute__((vector_size(",
                      SizeBytes(type.scalar) * type.lanes, ")));\n", stores, "#else\n", by_lanes,
                      "#endif\n");
}

// Functions on pointers to other than global memory have its name in theirs.
std::string CPrelude::FunctionOn(absl::string_view stem, LoopValueType type,
                                 AddressSpace space) const {
  const absl::string_view pointed = dialect_.spaces[static_cast<size_t>(space)];
  const bool named = pointed != dialect_.spaces[static_cast<size_t>(AddressSpace::kGlobal)];
  const char* names[] = {"", "_shared", "_private"};
  return absl::StrCat(stem, CType(type, dialect_), named ? names[static_cast<size_t>(space)] : "");
}

std::string CPrelude::LoadFunction(LoopValueType type, int64_t stride, AddressSpace space) {
  const std::string vector = VectorType(type);
  const std::string pointer = CPointer(dialect_, space, true, CType(type.scalar, dialect_));
  const bool takes_stride = TakesStride(type, stride);
  const std::string stem = takes_stride  ? "gather_"
                           : stride == 1 ? "load_"
                                         : StemFor("gather", stride);
  const std::string name = FunctionOn(stem, type, space);
  if (stride == 1 && !takes_stride) {
    DefineFunction(name, absl::Substitute("$0 $1($2 p) { return *(const $0_unaligned*)p; }\n",
                                          vector, name, pointer));
    return name;
  }
  DefineFunction(
      name,
      absl::Substitute("$0 $1($2 p$3) {\n$4}\n", vector, name, pointer,
                       takes_stride ? absl::StrCat(", ", dialect_.wide_index, " stride") : "",
                       takes_stride ? LaneByLaneLoad(type, "stride") : ShuffledLoad(type, stride)));
  return name;
}

std::string CPrelude::StoreFunction(LoopValueType type, int64_t stride, AddressSpace space) {
  const std::string vector = VectorType(type);
  const std::string pointer = CPointer(dialect_, space, false, CType(type.scalar, dialect_));
  const bool takes_stride = TakesStride(type, stride);
  const std::string stem = takes_stride  ? "scatter_"
                           : stride == 1 ? "store_"
                                         : StemFor("scatter", stride);
  const std::string name = FunctionOn(stem, type, space);
  if (stride == 1 && !takes_stride) {
    DefineFunction(name, absl::Substitute("void $1($2 p, $0 x) { *($0_unaligned*)p = x; }\n",
                                          vector, name, pointer));
    return name;
  }
  DefineFunction(name,
                 absl::Substitute(
                     "void $1($2 p, $3$0 x) {\n$4}\n", vector, name, pointer,
                     takes_stride ? absl::StrCat(dialect_.wide_index, " stride, ") : "",
                     takes_stride ? LaneByLaneStore(type, "stride") : ShuffledStore(type, stride)));
  return name;
}

}  // namespace mdh
