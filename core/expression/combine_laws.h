// Checks by samples of the laws of combine operators (paper, Definition 3 and Lemma 1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_function.h"
#include "core/scalar/scalar_value.h"

namespace mdh {

// One value per result of f.
using ResultTuple = std::vector<ScalarValue>;

// Tuples that f can give: laws need not hold for others (a mean and a count belong together, a
// probability is not negative). The same for the same f. Tuples with values that are not finite are
// left out. May be empty.
std::vector<ResultTuple> SampleResults(const ScalarFunction& f);

enum class Commutativity { kNeeded, kNotNeeded };

// `combine`: of type T x T -> T, T the type of the samples. Tries associativity, commutativity and
// the neutral element on the samples and on combinations of them: a mistake such as a - b is found,
// a proof it is not. Computes with fp64 instead of narrower types and compares with tolerance;
// values that are not finite prove nothing. Errors: InvalidArgument with a counterexample.
Status CheckCombineLaws(const ScalarFunction& combine,
                        const std::optional<std::vector<ScalarValue>>& identity,
                        Commutativity commutativity, const std::vector<ResultTuple>& samples);

// Whether the laws also hold once one of the values, which `f` gives, is nan: tried as above. They
// do not for a > b ? a : b, which loses what it has seen where b is nan, and next time b itself. An
// operator that only adds and multiplies hands nan on, and is not asked.
bool LawsHoldForNan(const ScalarFunction& f, const ScalarFunction& combine,
                    const std::optional<std::vector<ScalarValue>>& identity,
                    Commutativity commutativity);

// Four samples for which (a f b) g (c f d) and (a g c) f (b g d) differ, as a sentence; nullopt if
// there are none among those that are tried.
std::optional<std::string> InterchangeCounterexample(const ScalarFunction& f,
                                                     const ScalarFunction& g,
                                                     const std::vector<ResultTuple>& samples);

}  // namespace mdh
