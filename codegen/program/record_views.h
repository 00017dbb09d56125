// Buffers of records as pointers to the types of their fields, in whose units
// Buffer::Linearized(access, field) counts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"
#include "core/expression/expression.h"

namespace mdh {

class RecordViews {
 public:
  // Names of views come from `names`, which must outlive this.
  explicit RecordViews(NameAllocator& names) : names_(names) {}

  // `base`, which the program calls the buffer, as a pointer to elements of `type`: itself, or a
  // view of records.
  std::string PointerTo(const Buffer& buffer, const std::string& base, ScalarType type,
                        bool is_const);
  // One pointer per parameter of f: to the field that it reads, in the buffer itself; empty for
  // indices. `inputs`: what the program calls the buffers.
  std::vector<std::string> InputPointers(const Expression& expression,
                                         const std::vector<std::string>& inputs);

  // Of all views that were asked for.
  Block Declarations() const;

 private:
  NameAllocator& names_;
  std::map<std::string, DeclareView> views_;
};

// Puts, at the top of every function and stage, those declarations whose names it uses.
void DeclareUsed(const Block& declarations, LoopProgram* program);

}  // namespace mdh
