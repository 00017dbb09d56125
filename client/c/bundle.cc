// mdh_bundle_...: kernels in a file.
#include <utility>

#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "client/c/query.h"

namespace mdh {
namespace {

Result<BundleEntry> FindEntry(const mdh_bundle& bundle, const mdh_query& query) {
  MDH_RETURN_IF_ERROR(query.in_bundle.status());
  return bundle.file->Find(*query.in_bundle);
}

const std::vector<std::string>& DevicesOf(const mdh_bundle& bundle) {
  std::call_once(bundle.devices_flag, [&bundle] {
    const Result<std::vector<std::string_view>> found = bundle.file->DeviceFingerprints();
    if (found.ok()) bundle.devices.assign(found->begin(), found->end());
  });
  return bundle.devices;
}

mdh_bundle_entry ToC(const BundleEntry& entry) {
  return {entry.record.data(),   entry.record.size(),   entry.kernel.data(),    entry.kernel.size(),
          entry.compiler.data(), entry.compiler.size(), entry.generator_version};
}

}  // namespace
}  // namespace mdh

extern "C" {

mdh_code mdh_bundle_open(const char* path, mdh_bundle_check check, mdh_bundle** bundle,
                         mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    const auto when = check == MDH_CHECK_WHEN_FIRST_USED ? mdh::BundleCheck::kWhenFirstUsed
                                                         : mdh::BundleCheck::kWhenOpened;
    MDH_ASSIGN_OR_RETURN(const mdh::TrustedUsers trusted,
                         mdh::TrustedUsers::Parse(mdh::TrustedUsersText(nullptr)));
    MDH_ASSIGN_OR_RETURN(std::unique_ptr<mdh::BundleFile> file,
                         mdh::BundleFile::Open(path, when, trusted));
    auto opened = std::make_unique<mdh_bundle>();
    opened->sum = file->Sum();
    opened->file = std::move(file);
    *bundle = opened.release();
    return absl::OkStatus();
  });
}

void mdh_bundle_close(mdh_bundle* bundle) { delete bundle; }

size_t mdh_bundle_entry_count(const mdh_bundle* bundle) { return bundle->file->size(); }

const char* mdh_bundle_sum(const mdh_bundle* bundle) { return bundle->sum.c_str(); }

size_t mdh_bundle_device_count(const mdh_bundle* bundle) { return mdh::DevicesOf(*bundle).size(); }

const char* mdh_bundle_device(const mdh_bundle* bundle, size_t number) {
  const std::vector<std::string>& devices = mdh::DevicesOf(*bundle);
  return number < devices.size() ? devices[number].c_str() : nullptr;
}

mdh_code mdh_bundle_find(const mdh_bundle* bundle, const mdh_query* query, mdh_bundle_entry* entry,
                         mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh::BundleEntry found, mdh::FindEntry(*bundle, *query));
    *entry = mdh::ToC(found);
    return absl::OkStatus();
  });
}

mdh_code mdh_bundle_find_text(const mdh_bundle* bundle, const char* text,
                              const char* const* bindings, const mdh_query_options* options,
                              mdh_bundle_entry* entry, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh_query query, mdh::ReadQuery(text, bindings, options));
    MDH_ASSIGN_OR_RETURN(const mdh::BundleEntry found, mdh::FindEntry(*bundle, query));
    *entry = mdh::ToC(found);
    return absl::OkStatus();
  });
}

mdh_code mdh_bundle_kernel(const mdh_bundle* bundle, const mdh_query* query, mdh_kernel** kernel,
                           mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh::BundleEntry found, mdh::FindEntry(*bundle, *query));
    mdh::v1::GetKernelResponse response;
    MDH_ASSIGN_OR_RETURN(*response.mutable_kernel(), mdh::KernelOf(found));
    MDH_ASSIGN_OR_RETURN(*response.mutable_record(), mdh::RecordOf(found));
    // Which compilers and generators there are here, a bundle does not know.
    response.set_match(mdh::v1::MATCH_KIND_COMPATIBLE);
    response.set_provenance(mdh::v1::KERNEL_PROVENANCE_MEASURED);
    *kernel = mdh::NewKernel(std::move(response));
    return absl::OkStatus();
  });
}

}  // extern "C"
