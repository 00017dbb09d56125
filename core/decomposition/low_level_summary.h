// A low-level expression in few words: how often each layer cuts each dimension.
#pragma once

#include <string>

#include "core/decomposition/low_level_expression.h"

namespace mdh {

// "COR j 2 | L1 j 17 i 16 | RM i 6 k 4": levels with more than one part in the order of
// de-composition, outermost first: layer, then dimensions and their numbers of parts. "one part" if
// there is none.
std::string ShortForm(const LowLevelExpression& low);

// ToTable with only those rows that have more than one part; empty if there is none.
std::string TableOfCuts(const LowLevelExpression& low);

// What columns of the tables mean, and the names of the model's layers and memory regions spelled
// out, in lines of at most so many characters.
std::string TableLegend(const SystemModel& model, int columns);

// A name of a layer or memory region spelled out: "main memory" for "MM"; empty if there is none.
std::string SpelledOutName(const std::string& name);

// Short form, table of cuts and legend, as comments of kernels have them.
std::string DescribeDecomposition(const LowLevelExpression& low);

}  // namespace mdh
