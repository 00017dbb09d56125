// The scalar functions of a nest: that of the innermost body, and that of statements behind loops.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/c_loops/buffers.h"
#include "core/c_loops/loop_nest.h"
#include "core/c_loops/scalar_builder.h"

namespace mdh {

// What a function takes or gives: one parameter, or one per field of a record, stands for it.
struct NestElement {
  std::string name;
  CType type;
  int first_parameter;
};
using NestElements = std::vector<NestElement>;

// Buffers, each with those of its accesses that a function takes.
using NestInputs = std::vector<std::pair<const CBuffer*, std::vector<const CAccess*>>>;

// One per access; those of a buffer with several are numbered.
void AddElements(const CBuffer& buffer, const std::vector<const CAccess*>& accesses,
                 NestElements* elements);
NestElements ElementsOf(const NestInputs& inputs);

// Whether one of the parameters is in `used`.
bool IsUsed(const CBuffer& buffer, const CAccess& access, const std::set<int>& used);

struct NestFunction {
  ScalarFunction function;
  std::vector<int> index_dimensions;  // whose indices follow the parameters: those that it uses
};

// `values`: instructions, one per field of the results. Errors: as ScalarFunction::Create.
Result<NestFunction> MakeNestFunction(std::string name, const NestElements& parameters,
                                      const NestElements& results, const std::vector<int>& values,
                                      const std::vector<Loop>& loops, const ScalarBuilder& builder);

}  // namespace mdh
