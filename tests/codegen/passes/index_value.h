// What an index is where its variables have values.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "codegen/program/index.h"

namespace mdh {

inline int64_t ValueOf(const Index& index, const std::map<std::string, int64_t>& variables) {
  return index
      .Replace([&](const std::string& name) -> std::optional<Index> {
        const auto found = variables.find(name);
        if (found != variables.end()) return Index(found->second);
        ADD_FAILURE() << "no variable " << name;
        return Index(0);
      })
      .constant();
}

}  // namespace mdh
