// mdh_client_...: the daemon; mdh_cache_...: lookups that are answered in this process.
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "proto/endpoint.h"

namespace mdh {
namespace {

std::string DefaultAddress() {
  const char* const server = std::getenv("MDH_SERVER");
  if (server != nullptr && *server != '\0') return server;
  return DefaultServer(TextOr(std::getenv("XDG_RUNTIME_DIR"), ""), getuid());
}

ClientOptions ToClientOptions(const mdh_client_options& from) {
  ClientOptions options;
  if (from.connect_limit_ns > 0) options.connect_limit_ns = from.connect_limit_ns;
  if (from.call_limit_ns > 0) options.call_limit_ns = from.call_limit_ns;
  options.security.tls_ca = TextOr(from.tls_ca, "");
  options.security.tls_certificate = TextOr(from.tls_certificate, "");
  options.security.tls_key = TextOr(from.tls_key, "");
  options.security.token = TextOr(from.token, "");
  options.security.trusted_users = TrustedUsersText(from.trusted_users);
  options.security.allow_token_in_clear = from.allow_token_in_clear != 0;
  return options;
}

Result<v1::MatchKind> ToMatchKind(mdh_match match) {
  if (match < MDH_MATCH_EXACT || match > MDH_MATCH_NEAREST) {
    return absl::InvalidArgumentError(absl::StrCat(static_cast<int>(match), " is no match"));
  }
  return static_cast<v1::MatchKind>(match);
}

}  // namespace
}  // namespace mdh

extern "C" {

mdh_code mdh_client_connect(const mdh_client_options* options, mdh_client** client,
                            mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh_client_options read, mdh::ReadOptions(options));
    const std::string address = mdh::TextOr(read.address, "");
    const mdh::ClientOptions client_options = mdh::ToClientOptions(read);
    MDH_ASSIGN_OR_RETURN(
        std::unique_ptr<mdh::Client> connected,
        mdh::Client::Connect(address.empty() ? mdh::DefaultAddress() : address, client_options));
    *client = new mdh_client{std::move(connected), client_options.call_limit_ns};
    return absl::OkStatus();
  });
}

void mdh_client_free(mdh_client* client) { delete client; }

mdh_code mdh_client_kernel(mdh_client* client, const mdh_query* query, mdh_match weakest,
                           mdh_kernel** kernel, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh::v1::MatchKind kind, mdh::ToMatchKind(weakest));
    MDH_ASSIGN_OR_RETURN(
        mdh::v1::GetKernelResponse found,
        client->client->GetBestKernel(query->computation, query->device, kind, query->numerics));
    *kernel = mdh::NewKernel(std::move(found));
    return absl::OkStatus();
  });
}

mdh_code mdh_client_kernel_and_tune(mdh_client* client, const mdh_query* query, int64_t budget_ns,
                                    mdh_kernel** kernel, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(
        mdh::v1::GetKernelResponse found,
        client->client->GetKernelAndTune(query->computation, query->device,
                                         {.budget_ns = budget_ns}, query->numerics));
    *kernel = mdh::NewKernel(std::move(found));
    return absl::OkStatus();
  });
}

mdh_code mdh_client_kernel_of(mdh_client* client, const mdh_record* record, mdh_kernel** kernel,
                              mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    mdh::v1::GetKernelResponse response;
    MDH_ASSIGN_OR_RETURN(*response.mutable_kernel(),
                         client->client->GetKernel(record->entry->record().name()));
    *response.mutable_record() = record->entry->record();
    response.set_match(record->entry->match());
    response.set_provenance(mdh::v1::KERNEL_PROVENANCE_MEASURED);
    *kernel = mdh::NewKernel(std::move(response));
    return absl::OkStatus();
  });
}

mdh_code mdh_cache_create(mdh_client* client, size_t max_entries, mdh_cache** cache,
                          mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    mdh::LookupCacheOptions options;
    if (max_entries > 0) options.max_entries = max_entries;
    *cache = new mdh_cache{std::make_unique<mdh::LookupCache>(*client->client, options)};
    return absl::OkStatus();
  });
}

void mdh_cache_free(mdh_cache* cache) { delete cache; }

mdh_code mdh_cache_lookup(mdh_cache* cache, const mdh_query* query, mdh_match weakest,
                          mdh_record** record, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    if (query->key.device_fingerprint().empty() && query->device.has_name()) {
      return absl::InvalidArgumentError("a cache needs the fingerprint of the device");
    }
    MDH_ASSIGN_OR_RETURN(const mdh::v1::MatchKind kind, mdh::ToMatchKind(weakest));
    MDH_ASSIGN_OR_RETURN(mdh::LookupCache::Entry found, cache->cache->Lookup(query->key, kind));
    *record = new mdh_record{std::move(found)};
    return absl::OkStatus();
  });
}

void mdh_cache_counts(const mdh_cache* cache, int64_t* hits, int64_t* calls) {
  const mdh::LookupCache::Counts counts = cache->cache->counts();
  *hits = counts.hits;
  *calls = counts.calls;
}

void mdh_record_free(mdh_record* record) { delete record; }

const char* mdh_record_name(const mdh_record* record) {
  return record->entry->record().name().c_str();
}

const char* mdh_record_parameters(const mdh_record* record) {
  return record->entry->record().parameters().c_str();
}

int64_t mdh_record_time_ns(const mdh_record* record) { return record->entry->record().time_ns(); }

mdh_match mdh_record_match(const mdh_record* record) {
  return static_cast<mdh_match>(record->entry->match());
}

}  // extern "C"
