// How far sums of floating-point values may be off, whatever the order in which they are summed up.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/scalar/scalar_type.h"
#include "tuner/measure/results/random_inputs.h"

namespace mdh {

// How many different values elements of a buffer have: as many as random ones of that type, or
// fewer.
double DistinctValues(InputDistribution distribution, ScalarType type);
// Of records: of the field with the fewest.
double DistinctValues(InputDistribution distribution, const ElementType& type);
// Per passed input.
std::vector<double> DistinctValues(InputDistribution distribution, const Expression& expression);

// Per output of the expression how many different values its elements have, at least by rules,
// where the passed inputs have so many.
std::vector<double> DistinctResults(const Expression& expression, absl::Span<const double> inputs);

// By how many eps two right values of result number `n` of stored() may differ, relative to the
// larger of them, where n values are combined for it, D different ones:
//   16 + 2 sqrt(n) + min(n, 4 n / sqrt(D))
//
// The k-th of n additions rounds the partial sum s_k by some r_k, |r_k| <= eps/2 |s_k|. For orders
// and trees that somebody else chooses, and whatever the terms, no more than that is sure: each of
// both values is off by at most n eps/2 max|s_k|, so that they differ by at most n eps max|s_k|:
// the n in the minimum. Of random terms there is more to say.
//
// r_k is as if it were drawn from the interval around zero with the half width a_k = eps/2 |s_k|,
// independently of others, but for terms that are equal. Such variables are sub-Gaussian with the
// variance a_k^2/3, so that the sum of all r_k is beyond T with a probability of at most
// 2 exp(-3/2 T^2 / sum of a_k^2). Partial sums grow with k, or with its root: the mean of s_k^2 is
// at most half of the largest. For T = 2 sqrt(n) eps max|s_k| that is 10^-20 where the other value
// is exact, and 10^-10 where it is a plain sum, too.
//
// Terms that are equal are rounded alike while s_k stays between the same powers of two: s_k is a
// multiple of its last place, and how far the term is from one decides. The mean of r_k over D
// different terms is the mean of D draws, of the standard deviation 1/sqrt(12 D) last places, and
// adds up n times. That both sums together are beyond 4 n / sqrt(D) eps max|s_k|, which is 6.9
// standard deviations for each, has a probability of 10^-10, too. With few different terms, as of
// exp of small integers or of bf16, this is most of the error; with full mantissas of fp32 it is
// less than 2 sqrt(n) up to n = 2^22.
//
// D is counted by rules over f: what does not depend on all reduced dimensions is one value, and so
// is an index, as whole numbers are multiples of the last place of most sums; values of different
// inputs are independent; rounding, comparing, remainders, masks and tables leave few; selections
// have those of the branch with fewer, zero, which is added exactly, aside.
double RoundingBound(const Expression& expression, int n, absl::Span<const double> inputs);

// The coarsest floating-point type that value number n of what is stored is computed in; its own if
// there is none.
ScalarType CoarsestOf(const Expression& expression, int n);

// As ReferenceField::tolerance (tuner/measure/results/comparison.h), of the results of f that value
// number `n` of stored() is made from: what re-association and the policy allow. 0 where it is made
// from none that round. `inputs`: as above; empty: as many as random ones of its type.
double ResultTolerance(const Expression& expression, int n, absl::Span<const double> inputs,
                       NumericsPolicy numerics);

}  // namespace mdh
