// Handles of the C interface that free themselves, and errors that tests can look at. This links
// libmdh.so alone, as programs in C do.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "client/c/mdh.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh {

template <auto kFree>
struct FreedBy {
  template <typename Handle>
  void operator()(Handle* handle) const {
    kFree(handle);
  }
};
template <typename Handle, auto kFree>
using Owned = std::unique_ptr<Handle, FreedBy<kFree>>;

using CBundle = Owned<mdh_bundle, &mdh_bundle_close>;
using CCache = Owned<mdh_cache, &mdh_cache_free>;
using CClient = Owned<mdh_client, &mdh_client_free>;
using CFunction = Owned<mdh_function, &mdh_function_free>;
using CJob = Owned<mdh_job, &mdh_job_free>;
using CKernel = Owned<mdh_kernel, &mdh_kernel_free>;
using CQuery = Owned<mdh_query, &mdh_query_free>;
using CRecord = Owned<mdh_record, &mdh_record_free>;

// What a call gave: a code, and the message of the error if there was one.
struct Answer {
  mdh_code code;
  std::string message;
};

// Calls `function` with these arguments and an error behind them.
template <typename Function, typename... Arguments>
Answer Ask(Function function, Arguments... arguments) {
  mdh_error* error = nullptr;
  const mdh_code code = function(arguments..., &error);
  EXPECT_EQ(code == MDH_OK, error == nullptr);
  if (error == nullptr) return {code, ""};
  EXPECT_EQ(mdh_error_code(error), code);
  Answer answer{code, mdh_error_message(error)};
  mdh_error_free(error);
  return answer;
}

// What `function` makes of these arguments; expects success.
template <typename Made, typename Handle, typename Function, typename... Arguments>
Made MakeHandle(Function function, Arguments... arguments) {
  Handle* handle = nullptr;
  mdh_error* error = nullptr;
  const mdh_code code = function(arguments..., &handle, &error);
  EXPECT_EQ(code, MDH_OK) << (error != nullptr ? mdh_error_message(error) : "");
  mdh_error_free(error);
  return Made(handle);
}

inline CQuery MatMulQuery(int size, const mdh_query_options* options = nullptr) {
  const std::string text = ReadFile(ExpressionPath("matmul.mdh"));
  const std::string value = std::to_string(size);
  const std::string words[] = {"I=" + value, "J=" + value, "K=" + value};
  const char* bindings[] = {words[0].c_str(), words[1].c_str(), words[2].c_str(), nullptr};
  return MakeHandle<CQuery, mdh_query>(mdh_query_create, text.c_str(), bindings, options);
}

}  // namespace mdh
