// mdh_kernel_...: what a kernel is; mdh_function_...: running one in C.
#include <cstdlib>
#include <utility>

#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "core/scalar/scalar_type.h"

namespace mdh {
namespace {

// The name by which a kernel's element type is known in the text form.
std::string TypeOf(const v1::KernelArgument& argument) {
  if (!argument.record().empty()) return "record";
  return std::string(Name(static_cast<ScalarType>(argument.type())));
}

// Errors: InvalidArgument for what describes no array.
Result<BufferView> ViewOf(const mdh_buffer& buffer, size_t number) {
  BufferView view = {buffer.data};
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("buffer number ", number, " ", what));
  };
  if (buffer.type == nullptr) return wrong("has no type");
  if (std::string_view(buffer.type) == "record") {
    if (buffer.record_bytes <= 0) return wrong("has records without a size");
    view.record_bytes = buffer.record_bytes;
  } else {
    const std::optional<ScalarType> type = ScalarTypeFromName(buffer.type);
    if (!type.has_value()) return wrong(absl::StrCat("has an unknown type: ", buffer.type));
    view.type = *type;
  }
  if (buffer.rank > 0 && buffer.extents == nullptr) return wrong("has no extents");
  view.extents.assign(buffer.extents, buffer.extents + buffer.rank);
  if (buffer.strides != nullptr) view.strides.assign(buffer.strides, buffer.strides + buffer.rank);
  view.is_read_only = buffer.is_read_only != 0;
  return view;
}

// In the environment's folder for what can be made again.
Result<std::string> DefaultCacheDirectory() {
  const char* const caches = std::getenv("XDG_CACHE_HOME");
  if (caches != nullptr && *caches == '/') return absl::StrCat(caches, "/mdh");
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return absl::StrCat(home, "/.cache/mdh");
  return absl::FailedPreconditionError(
      "neither $XDG_CACHE_HOME nor $HOME says where compiled kernels can be kept");
}

// `directory`: empty: the default. One that cannot be made is done without, but nothing is loaded
// from one that others could write to.
Result<KernelCache> OpenCache(const std::string& directory) {
  const Result<std::string> path = directory.empty() ? DefaultCacheDirectory() : directory;
  if (!path.ok()) return KernelCache::Nowhere(std::string(path.status().message()));
  MDH_ASSIGN_OR_RETURN(const TrustedUsers trusted, TrustedUsers::Parse(TrustedUsersText(nullptr)));
  Result<KernelCache> cache = KernelCache::Open(*path, trusted);
  if (cache.ok() || absl::IsPermissionDenied(cache.status())) return cache;
  return KernelCache::Nowhere(std::string(cache.status().message()));
}

}  // namespace

mdh_kernel* NewKernel(v1::GetKernelResponse response) {
  auto handle = std::make_unique<mdh_kernel>();
  for (const v1::KernelArgument& argument : response.kernel().arguments()) {
    handle->argument_types.push_back(TypeOf(argument));
  }
  handle->response = std::move(response);
  return handle.release();
}

}  // namespace mdh

extern "C" {

void mdh_kernel_free(mdh_kernel* kernel) { delete kernel; }

const char* mdh_kernel_name(const mdh_kernel* kernel) {
  return kernel->response.kernel().name().c_str();
}

const char* mdh_kernel_language(const mdh_kernel* kernel) {
  return kernel->response.kernel().language().c_str();
}

const char* mdh_kernel_entry(const mdh_kernel* kernel) {
  return kernel->response.kernel().entry().c_str();
}

const char* mdh_kernel_source(const mdh_kernel* kernel) {
  return kernel->response.kernel().source().c_str();
}

const char* mdh_kernel_header(const mdh_kernel* kernel) {
  return kernel->response.kernel().header().c_str();
}

const char* mdh_kernel_compiler(const mdh_kernel* kernel) {
  return kernel->response.kernel().compiler().c_str();
}

size_t mdh_kernel_compile_option_count(const mdh_kernel* kernel) {
  return static_cast<size_t>(kernel->response.kernel().compile_options_size());
}

const char* mdh_kernel_compile_option(const mdh_kernel* kernel, size_t number) {
  if (number >= mdh_kernel_compile_option_count(kernel)) return nullptr;
  return kernel->response.kernel().compile_options(static_cast<int>(number)).c_str();
}

size_t mdh_kernel_argument_count(const mdh_kernel* kernel) { return kernel->argument_types.size(); }

mdh_code mdh_kernel_argument(const mdh_kernel* kernel, size_t number, mdh_argument* argument) {
  if (number >= mdh_kernel_argument_count(kernel)) return MDH_OUT_OF_RANGE;
  const mdh::v1::KernelArgument& from =
      kernel->response.kernel().arguments(static_cast<int>(number));
  *argument = {from.name().c_str(), kernel->argument_types[number].c_str(), from.elements(),
               from.size_bytes(), from.is_output() ? 1 : 0};
  return MDH_OK;
}

mdh_code mdh_kernel_argument_shape(const mdh_kernel* kernel, size_t number, size_t* rank,
                                   const int64_t** extents, const int64_t** strides) {
  if (number >= mdh_kernel_argument_count(kernel)) return MDH_OUT_OF_RANGE;
  const mdh::v1::KernelArgument& from =
      kernel->response.kernel().arguments(static_cast<int>(number));
  static_assert(sizeof(int64_t) == sizeof(*from.extents().data()));
  *rank = static_cast<size_t>(from.extents_size());
  *extents = reinterpret_cast<const int64_t*>(from.extents().data());
  *strides =
      from.strides_size() == 0 ? nullptr : reinterpret_cast<const int64_t*>(from.strides().data());
  return MDH_OK;
}

size_t mdh_kernel_launch_count(const mdh_kernel* kernel) {
  return static_cast<size_t>(kernel->response.kernel().launches_size());
}

mdh_code mdh_kernel_launch(const mdh_kernel* kernel, size_t number, mdh_launch* launch) {
  if (number >= mdh_kernel_launch_count(kernel)) return MDH_OUT_OF_RANGE;
  const mdh::v1::KernelLaunch& from = kernel->response.kernel().launches(static_cast<int>(number));
  *launch = {};
  launch->function = from.function().c_str();
  for (int axis = 0; axis < 3; ++axis) {
    launch->grid[axis] = axis < from.grid_size() ? from.grid(axis) : 1;
    launch->block[axis] = axis < from.block_size() ? from.block(axis) : 1;
  }
  launch->dynamic_shared_bytes = from.dynamic_shared_bytes();
  return MDH_OK;
}

int64_t mdh_kernel_scratch_bytes(const mdh_kernel* kernel) {
  return kernel->response.kernel().scratch_bytes();
}

const char* mdh_kernel_parameters(const mdh_kernel* kernel) {
  return kernel->response.record().parameters().c_str();
}

int64_t mdh_kernel_time_ns(const mdh_kernel* kernel) { return kernel->response.record().time_ns(); }

mdh_match mdh_kernel_match(const mdh_kernel* kernel) {
  return static_cast<mdh_match>(kernel->response.match());
}

mdh_provenance mdh_kernel_provenance(const mdh_kernel* kernel) {
  return static_cast<mdh_provenance>(kernel->response.provenance());
}

const char* mdh_kernel_made_from(const mdh_kernel* kernel) {
  return kernel->response.made_from().c_str();
}

const char* mdh_kernel_tuning_job(const mdh_kernel* kernel) {
  return kernel->response.tuning_job().c_str();
}

mdh_code mdh_function_load(const mdh_kernel* kernel, const mdh_load_options* options,
                           mdh_function** function, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh_load_options read, mdh::ReadOptions(options));
    MDH_ASSIGN_OR_RETURN(const mdh::KernelCache cache,
                         mdh::OpenCache(mdh::TextOr(read.cache_directory, "")));
    MDH_ASSIGN_OR_RETURN(
        std::unique_ptr<mdh::CpuKernel> loaded,
        mdh::CpuKernel::Load(kernel->response.kernel(), cache, mdh::TextOr(read.compiler, "")));
    *function = new mdh_function{std::move(loaded)};
    return absl::OkStatus();
  });
}

void mdh_function_free(mdh_function* function) { delete function; }

const char* mdh_function_warning(const mdh_function* function) {
  return function->kernel->warning().c_str();
}

mdh_code mdh_function_run(const mdh_function* function, void* const* arguments, size_t count,
                          mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    return function->kernel->Run({arguments, count});
  });
}

mdh_code mdh_function_run_buffers(const mdh_function* function, const mdh_buffer* buffers,
                                  size_t count, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    std::vector<mdh::BufferView> views;
    for (size_t n = 0; n < count; ++n) {
      MDH_ASSIGN_OR_RETURN(mdh::BufferView view, mdh::ViewOf(buffers[n], n));
      views.push_back(std::move(view));
    }
    return function->kernel->RunBuffers(views);
  });
}

}  // extern "C"
