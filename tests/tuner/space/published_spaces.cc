#include "tests/tuner/space/published_spaces.h"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "tuner/space/formula/formula_text.h"

namespace mdh {
namespace {

using Integers = std::vector<int64_t>;
using Codes = absl::Span<const int64_t>;

Constraint On(const std::vector<std::string>& parameters, std::function<bool(Codes)> holds) {
  return Formula::Of({"predicate", std::move(holds)}, parameters);
}

TuningParameter Of(const std::string& name, Integers values) {
  return {name, *Range::Integers(std::move(values))};
}

TuningParameter Between(const std::string& name, int64_t first, int64_t last) {
  return {name, *Range::Interval(first, last)};
}

// Appends first, first + step, ..., last.
Integers With(Integers values, int64_t first, int64_t last, int64_t step) {
  for (int64_t value = first; value <= last; value += step) values.push_back(value);
  return values;
}

// Tile sizes and threads of one dimension, as ATF's paper on md_hom has them.
void AddDimension(const std::string& d, int64_t size, bool is_reduction, PublishedSpace& space) {
  const std::string n = std::to_string(size);
  const auto name = [&d](const std::string& what) { return what + "_" + d; };
  for (const char* what : {"LCB", "PCB", "WG", "WI"}) {
    space.parameters.push_back(Between(name(what), 1, size));
  }
  const std::string lcb = name("LCB");
  const std::string pcb = name("PCB");
  const std::string wg = name("WG");
  const std::string wi = name("WI");
  space.constraints.push_back(n + " % " + lcb + " == 0");
  space.constraints.push_back(lcb + " % " + pcb + " == 0");
  space.constraints.push_back("(" + n + " / " + lcb + ") % " + wg + " == 0");
  space.constraints.push_back("(" + lcb + " / " + pcb + ") % " + wi + " == 0");
  space.constraints.push_back(wi + " <= ceil_div(" + n + ", " + wg + ")");
  if (is_reduction) space.constraints.push_back(wg + " == 1 or " + wg + " % " + lcb + " == 0");
  std::vector<Constraint>& predicates = space.predicates;
  predicates.push_back(On({lcb}, [size](Codes c) { return size % c[0] == 0; }));
  predicates.push_back(On({lcb, pcb}, [](Codes c) { return c[0] % c[1] == 0; }));
  predicates.push_back(On({lcb, wg}, [size](Codes c) { return size % (c[0] * c[1]) == 0; }));
  predicates.push_back(On({lcb, pcb, wi}, [](Codes c) { return c[0] % (c[1] * c[2]) == 0; }));
  predicates.push_back(On({wg, wi}, [size](Codes c) { return c[1] <= (size + c[0] - 1) / c[0]; }));
  if (is_reduction) {
    predicates.push_back(On({wg, lcb}, [](Codes c) { return c[0] == 1 || c[0] % c[1] == 0; }));
  }
}

}  // namespace

PublishedSpace Dedispersion() {
  return {
      "Dedispersion",
      {Of("bsx", {1, 2, 4, 8, 16, 32}), Of("bsy", With({32}, 40, 256, 8)), Of("bsz", {1}),
       Between("tx", 1, 4), Between("ty", 1, 8), Of("sx", {0, 1}), Of("sy", {0, 1}), Of("lu", {0})},
      {"32 <= bsx * bsy <= 1024", "tx > 1 or sx == 0", "ty > 1 or sy == 0"},
      "11130",
      {On({"bsx", "bsy"}, [](Codes c) { return c[0] * c[1] >= 32 && c[0] * c[1] <= 1024; }),
       On({"tx", "sx"}, [](Codes c) { return c[0] > 1 || c[1] == 0; }),
       On({"ty", "sy"}, [](Codes c) { return c[0] > 1 || c[1] == 0; })}};
}

namespace {

// Shared memory for bsx, tx, tt, bsy, ty, sp.
int64_t HotspotBytes(Codes c) {
  return (c[0] * c[1] + 2 * c[2]) * (c[3] * c[4] + 2 * c[2]) * (2 + c[5]) * 4;
}

// KWG % (MDIMC * NDIMC / MDIMA) == 0 with true division.
bool DividesKwg(Codes c) { return c[0] * c[3] % (c[1] * c[2]) == 0; }

}  // namespace

PublishedSpace Hotspot() {
  const std::string s = "(bsx * tx + 2 * tt) * (bsy * ty + 2 * tt) * (2 + sp) * 4";
  return {
      "Hotspot",
      {Of("gw", {4096}), Of("gh", {4096}), Of("bsx", With({1, 2, 4, 8, 16}, 32, 1024, 32)),
       Of("bsy", {1, 2, 4, 8, 16, 32}), Between("tx", 1, 10), Between("ty", 1, 10),
       Between("tt", 1, 10), Between("lu", 1, 10), Of("mt", {10}), Of("sp", {0, 1}),
       Between("bps", 0, 4)},
      {"32 <= bsx * bsy <= 1024", "tt % lu == 0", s + " <= 49152",
       "bps == 0 or " + s + " * bps <= 102400"},
      "349853",
      {On({"bsx", "bsy"}, [](Codes c) { return c[0] * c[1] >= 32 && c[0] * c[1] <= 1024; }),
       On({"tt", "lu"}, [](Codes c) { return c[0] % c[1] == 0; }),
       On({"bsx", "tx", "tt", "bsy", "ty", "sp"}, [](Codes c) { return HotspotBytes(c) <= 49152; }),
       On({"bsx", "tx", "tt", "bsy", "ty", "sp", "bps"},
          [](Codes c) { return c[6] == 0 || HotspotBytes(c) * c[6] <= 102400; })}};
}

PublishedSpace Gemm() {
  return {
      "GEMM",
      {Of("MWG", {16, 32, 64, 128}), Of("NWG", {16, 32, 64, 128}), Of("KWG", {16, 32}),
       Of("MDIMC", {8, 16, 32}), Of("NDIMC", {8, 16, 32}), Of("MDIMA", {8, 16, 32}),
       Of("NDIMB", {8, 16, 32}), Of("KWI", {2}), Of("VWM", {1, 2, 4, 8}), Of("VWN", {1, 2, 4, 8}),
       Of("STRM", {0, 1}), Of("STRN", {0, 1}), Of("SA", {0, 1}), Of("SB", {0, 1})},
      {"KWG % KWI == 0", "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0",
       "MWG % (MDIMA * VWM) == 0", "NWG % (NDIMB * VWN) == 0", "KWG % (MDIMC * NDIMC / MDIMA) == 0",
       "KWG % (MDIMC * NDIMC / NDIMB) == 0",
       "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)"},
      "116928",
      {On({"KWG", "KWI"}, [](Codes c) { return c[0] % c[1] == 0; }),
       On({"MWG", "MDIMC", "VWM"}, [](Codes c) { return c[0] % (c[1] * c[2]) == 0; }),
       On({"NWG", "NDIMC", "VWN"}, [](Codes c) { return c[0] % (c[1] * c[2]) == 0; }),
       On({"MWG", "MDIMA", "VWM"}, [](Codes c) { return c[0] % (c[1] * c[2]) == 0; }),
       On({"NWG", "NDIMB", "VWN"}, [](Codes c) { return c[0] % (c[1] * c[2]) == 0; }),
       On({"KWG", "MDIMC", "NDIMC", "MDIMA"}, DividesKwg),
       On({"KWG", "MDIMC", "NDIMC", "NDIMB"}, DividesKwg),
       On({"MWG", "NWG", "MDIMC", "NDIMC"},
          [](Codes c) { return c[0] != 128 || c[1] != 128 || c[2] != 8 || c[3] != 8; })}};
}

PublishedSpace MicroHh() {
  return {"MicroHH",
          {Of("BX", {1, 2, 4, 8, 16, 32, 128, 256, 512, 1024}), Of("BY", {1, 2, 4, 8, 16, 32}),
           Of("BZ", {1, 2, 4}), Of("TX", {1, 2, 4, 8}), Of("TY", {1, 2, 4}), Of("TZ", {1, 2, 4}),
           Of("LX", {1, 2, 4, 8}), Of("LY", {1, 2, 4}), Of("LZ", {1, 2, 4}), Between("BPM", 0, 4)},
          {"BX * BY * BZ * BPM <= 1024", "32 <= BX * BY * BZ <= 1536", "TX % LX == 0",
           "TY % LY == 0", "TZ % LZ == 0", "BX * BY * BZ <= 1024"},
          "138600",
          {On({"BX", "BY", "BZ", "BPM"}, [](Codes c) { return c[0] * c[1] * c[2] * c[3] <= 1024; }),
           On({"BX", "BY", "BZ"},
              [](Codes c) {
                const int64_t threads = c[0] * c[1] * c[2];
                return threads >= 32 && threads <= 1536;
              }),
           On({"TX", "LX"}, [](Codes c) { return c[0] % c[1] == 0; }),
           On({"TY", "LY"}, [](Codes c) { return c[0] % c[1] == 0; }),
           On({"TZ", "LZ"}, [](Codes c) { return c[0] % c[1] == 0; }),
           On({"BX", "BY", "BZ"}, [](Codes c) { return c[0] * c[1] * c[2] <= 1024; })}};
}

PublishedSpace Prl(int64_t n, const std::string& count) {
  PublishedSpace space{"PRL " + std::to_string(n),
                       {Of("CACHE_L", {0, 1}), Of("CACHE_P", {0, 1}), Of("L_RES", {2, 1, 0}),
                        Of("P_RES", {2, 1, 0}), Of("DIM_L", {0, 1}), Of("DIM_R", {0, 1})},
                       {"L_RES <= 2", "P_RES <= L_RES", "DIM_L != DIM_R"},
                       count,
                       {On({"L_RES"}, [](Codes c) { return c[0] <= 2; }),
                        On({"P_RES", "L_RES"}, [](Codes c) { return c[0] <= c[1]; }),
                        On({"DIM_L", "DIM_R"}, [](Codes c) { return c[0] != c[1]; })}};
  AddDimension("L", n, false, space);
  AddDimension("R", n, true, space);
  return space;
}

PublishedSpace MdHomGemm() {
  PublishedSpace space{"GEMM 2048^3",
                       {Of("CACHE_L", {0, 1}),
                        Of("CACHE_P", {0, 1}),
                        Of("L_RES", {2, 1, 0}),
                        Of("P_RES", {2, 1, 0}),
                        {"order", *Range::Permutations({"i", "j", "k"})}},
                       {"P_RES <= L_RES"},
                       "165007206000",
                       {On({"P_RES", "L_RES"}, [](Codes c) { return c[0] <= c[1]; })}};
  AddDimension("i", 2048, false, space);
  AddDimension("j", 2048, false, space);
  AddDimension("k", 2048, true, space);
  return space;
}

std::vector<PublishedSpace> PublishedSpaces() {
  return {Dedispersion(), Hotspot(),       Gemm(),          MicroHh(),
          Prl(2, "1200"), Prl(4, "10800"), Prl(8, "48720"), Prl(1024, "23111088"),
          MdHomGemm()};
}

std::vector<Constraint> ConstraintsOf(const PublishedSpace& space) {
  std::vector<Constraint> constraints;
  for (const std::string& text : space.constraints) {
    Result<Formula> formula = ParseFormula(text);
    if (!formula.ok()) {
      std::cerr << text << ": " << formula.status() << "\n";
      std::abort();
    }
    constraints.emplace_back(*std::move(formula));
  }
  return constraints;
}

}  // namespace mdh
