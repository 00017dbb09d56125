// Search spaces from the literature on auto-tuning, with their published numbers of configurations.
#pragma once

#include <string>
#include <vector>

#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/range.h"

namespace mdh {

struct PublishedSpace {
  std::string name;
  std::vector<TuningParameter> parameters;
  std::vector<std::string> constraints;  // text form
  std::string count;
  std::vector<Constraint> predicates = {};  // the same, as C++ functions of codes
};

PublishedSpace Dedispersion();
PublishedSpace Hotspot();
PublishedSpace Gemm();
PublishedSpace MicroHh();
// Probabilistic record linkage as md_hom, with ATF's parameters; both dimensions of size n.
PublishedSpace Prl(int64_t n, const std::string& count);
// Matrix multiplication as md_hom, three dimensions of size 2048, times the choices that do not
// depend on sizes.
PublishedSpace MdHomGemm();

// All with a published count: Dedispersion, Hotspot, GEMM, MicroHH, PRL 2, 4, 8 and 1024, GEMM of
// size 2048.
std::vector<PublishedSpace> PublishedSpaces();

// The constraints, read from their text. Aborts on errors.
std::vector<Constraint> ConstraintsOf(const PublishedSpace& space);

}  // namespace mdh
