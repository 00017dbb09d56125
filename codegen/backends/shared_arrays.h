// Shared arrays of a block that runs several stages, one after the other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "codegen/program/loop_program.h"

namespace mdh {

class SharedArrays {
 public:
  // The body of a stage without those that it declares, which are in all() instead, by names that
  // `name` makes of theirs. `reuses`: stages wait for each other, so that each has the memory of
  // those before.
  Block Hoist(const Block& body, bool reuses,
              absl::FunctionRef<std::string(const std::string&)> name);
  void Add(DeclareArray array) { all_.push_back(std::move(array)); }

  const std::vector<DeclareArray>& all() const { return all_; }

 private:
  std::vector<DeclareArray> all_;
  std::map<ScalarType, std::vector<size_t>> of_type_;  // numbers of those that were hoisted
};

}  // namespace mdh
