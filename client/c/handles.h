// What is behind the handles of mdh.h.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/bundle.h"
#include "client/c/mdh.h"
#include "client/client.h"
#include "client/cpu_kernel.h"
#include "client/lookup_cache.h"
#include "core/base/status.h"
#include "core/pipeline/computation.h"

struct mdh_error {
  mdh_code code;
  std::string message;
};

struct mdh_query {
  mdh::Computation computation;
  mdh::v1::NumericsPolicy numerics;
  mdh::v1::DeviceSelection device;  // of calls to a daemon
  mdh::v1::KernelKey key;           // of caches
  // Of bundles; an error if this machine does not say what its CPU is.
  mdh::Result<mdh::BundleQuery> in_bundle;
};

struct mdh_kernel {
  mdh::v1::GetKernelResponse response;
  std::vector<std::string> argument_types;
};

struct mdh_function {
  std::unique_ptr<mdh::CpuKernel> kernel;
};

struct mdh_bundle {
  std::unique_ptr<mdh::BundleFile> file;
  std::string sum;
  // Read when they are first asked for: that looks at all entries.
  mutable std::once_flag devices_flag;
  mutable std::vector<std::string> devices;
};

struct mdh_client {
  std::unique_ptr<mdh::Client> client;
  int64_t call_limit_ns;
};

struct mdh_job {
  mdh_client* client;
  std::string name;
  std::string note = "";
  std::vector<std::string> begun = {};  // of the steps of a pipeline, which it was started with
};

struct mdh_cache {
  std::unique_ptr<mdh::LookupCache> cache;
};

struct mdh_record {
  mdh::LookupCache::Entry entry;
};

namespace mdh {

// A new handle.
mdh_kernel* NewKernel(v1::GetKernelResponse response);

}  // namespace mdh
