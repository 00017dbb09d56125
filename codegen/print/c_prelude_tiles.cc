// Tile registers (ConfigureTiles and others of dot_values.h): AMX where the compiler's target has
// it and the process may use it, which it asks for when it first configures them; elsewhere the
// same in memory.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"

namespace mdh {
namespace {

// As ldtilecfg reads them. Linux gives a process the state of tiles on request only
// (arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)); threads have it from then on.
constexpr char kTiles[] = R"c(typedef struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} __attribute__((aligned(64))) mdh_tile_shapes;
static _Thread_local const mdh_tile_shapes* mdh_shapes_now;
#if defined(__linux__) && defined(__x86_64__) && defined(__AMX_TILE__) && \
    defined(__AMX_BF16__) && defined(__AMX_INT8__)
extern long syscall(long number, ...);
static int mdh_tiles_are_there = -1;  // for this process; -1: it has not asked
#define MDH_HAS_TILES (mdh_tiles_are_there == 1)
#define MDH_BY_TILES(...) __asm__ volatile(__VA_ARGS__)
static void mdh_ask_for_tiles(void) {
  if (mdh_tiles_are_there < 0) mdh_tiles_are_there = syscall(158, 0x1023, 18) == 0;
}
#else
#define MDH_HAS_TILES 0
#define MDH_BY_TILES(...)
static void mdh_ask_for_tiles(void) {}
#endif
static _Thread_local uint32_t mdh_tiles[8][16][16];  // where there are no registers for them
static __attribute__((noinline)) void mdh_configure_tiles(const mdh_tile_shapes* shapes) {
  if (mdh_shapes_now == shapes) return;
  mdh_shapes_now = shapes;
  mdh_ask_for_tiles();
  if (MDH_HAS_TILES) MDH_BY_TILES("ldtilecfg %0" : : "m"(*shapes));
}
static inline void mdh_release_tiles(void) {
  if (mdh_shapes_now == NULL) return;
  mdh_shapes_now = NULL;
  if (MDH_HAS_TILES) MDH_BY_TILES("tilerelease");
}
static __attribute__((noinline)) void mdh_zero_tile_in_memory(int tile) {
  memset(mdh_tiles[tile], 0, sizeof mdh_tiles[tile]);
}
static __attribute__((noinline)) void mdh_load_tile_in_memory(int tile, const void* p,
                                                              int64_t bytes) {
  for (int m = 0; m < mdh_shapes_now->rows[tile]; ++m) {
    memcpy(mdh_tiles[tile][m], (const char*)p + m * bytes, mdh_shapes_now->row_bytes[tile]);
  }
}
static __attribute__((noinline)) void mdh_store_tile_in_memory(int tile, void* p, int64_t bytes) {
  for (int m = 0; m < mdh_shapes_now->rows[tile]; ++m) {
    memcpy((char*)p + m * bytes, mdh_tiles[tile][m], mdh_shapes_now->row_bytes[tile]);
  }
}
#define mdh_zero_tile(tile) \
  do { \
    if (MDH_HAS_TILES) MDH_BY_TILES("tilezero %%tmm" #tile : : : "memory"); \
    else mdh_zero_tile_in_memory(tile); \
  } while (0)
#define mdh_load_tile(tile, p, bytes) \
  do { \
    if (MDH_HAS_TILES) MDH_BY_TILES("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(p), "r"((int64_t)(bytes)) : "memory"); \
    else mdh_load_tile_in_memory(tile, p, bytes); \
  } while (0)
#define mdh_store_tile(tile, p, bytes) \
  do { \
    if (MDH_HAS_TILES) MDH_BY_TILES("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(p), "r"((int64_t)(bytes)) : "memory"); \
    else mdh_store_tile_in_memory(tile, p, bytes); \
  } while (0)
)c";

// $0: the mnemonic, $1: the type of sums, $2: what is added for words x and y.
constexpr char kMultiply[] =
    R"c(static __attribute__((noinline)) void mdh_$0_in_memory(int sums, int a, int b) {
  for (int m = 0; m < mdh_shapes_now->rows[a]; ++m) {
    for (int k = 0; k < mdh_shapes_now->row_bytes[a] / 4; ++k) {
      const uint32_t x = mdh_tiles[a][m][k];
      for (int n = 0; n < mdh_shapes_now->row_bytes[sums] / 4; ++n) {
        const uint32_t y = mdh_tiles[b][k][n];
        $1 sum;
        memcpy(&sum, &mdh_tiles[sums][m][n], 4);
        sum = $2;
        memcpy(&mdh_tiles[sums][m][n], &sum, 4);
      }
    }
  }
}
#define mdh_$0(sums, a, b) \
  do { \
    if (MDH_HAS_TILES) MDH_BY_TILES("$0 %%tmm" #b ", %%tmm" #a ", %%tmm" #sums : : : "memory"); \
    else mdh_$0_in_memory(sums, a, b); \
  } while (0)
)c";

// Of all four bytes, in wrapping arithmetic.
std::string SumOfBytes(const MatrixInstruction& instruction) {
  const auto byte = [](ScalarType type, const char* word, int bit) {
    return absl::StrCat("(uint32_t)(", IsSigned(type) ? "int8_t" : "uint8_t", ")(", word, " >> ",
                        bit, ")");
  };
  std::string sum = "(int32_t)((uint32_t)sum";
  for (const int bit : {0, 8, 16, 24}) {
    absl::StrAppend(&sum, " + ", byte(instruction.a, "x", bit), " * ",
                    byte(instruction.b, "y", bit));
  }
  return sum + ")";
}

}  // namespace

std::string CPrelude::TileFunction(absl::string_view name) {
  Define("tiles", kTiles);
  return absl::StrCat("mdh_", name);
}

std::string CPrelude::TileShapes(const std::vector<TileRows>& shapes) {
  TileFunction("");
  std::string bytes, rows;
  for (const TileRows& shape : shapes) {
    absl::StrAppend(&bytes, bytes.empty() ? "" : ", ", 4 * shape.words);
    absl::StrAppend(&rows, rows.empty() ? "" : ", ", shape.rows);
  }
  const std::string value =
      absl::StrCat("{.palette = 1, .row_bytes = {", bytes, "}, .rows = {", rows, "}}");
  const auto [position, is_new] =
      tables_.try_emplace(value, absl::StrCat("mdh_tile_shapes_", tables_.size()));
  Define(position->second,
         absl::StrCat("static const mdh_tile_shapes ", position->second, " = ", value, ";\n"));
  return position->second;
}

std::string CPrelude::MultiplyTilesFunction(const MatrixInstruction& instruction) {
  TileFunction("");
  const bool is_halves = IsFloatingPoint(instruction.accumulator);
  std::string sum = is_halves ? "" : SumOfBytes(instruction);
  if (is_halves) {
    Define("mdh_bits_to_float",
           "static inline float mdh_bits_to_float(uint32_t bits) {\n  float x;\n"
           "  memcpy(&x, &bits, 4);\n  return x;\n}\n");
    sum =
        "sum + mdh_bits_to_float(x << 16) * mdh_bits_to_float(y << 16) +\n"
        "              mdh_bits_to_float(x & 0xffff0000u) * mdh_bits_to_float(y & 0xffff0000u)";
  }
  const std::string name(instruction.mnemonic);
  Define(absl::StrCat("mdh_", name),
         absl::Substitute(kMultiply, name, is_halves ? "float" : "int32_t", sum));
  return absl::StrCat("mdh_", name);
}

}  // namespace mdh
