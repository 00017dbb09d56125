// mdh_query_...: expressions and pipelines with sizes, for a device.
#include "client/c/query.h"

#include <optional>
#include <utility>
#include <vector>

#include "client/c/boundary.h"
#include "core/einsum/einsum.h"
#include "core/teml/teml.h"

namespace mdh {
namespace {

// Reading what the machine says takes a millisecond, and lookups of texts take microseconds.
const Result<std::string>& ThisCpu() {
  static const auto* const fingerprint = new Result<std::string>(HostCpuFingerprint());
  return *fingerprint;
}

Result<Bindings> ReadBindings(const char* const* words) {
  Bindings bindings;
  for (; words != nullptr && *words != nullptr; ++words) {
    const std::string word = *words;
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("'", word, "' is not of the form NAME=VALUE"));
    }
    bindings[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return bindings;
}

Result<mdh_query> MakeQuery(Computation computation, const mdh_query_options& options) {
  if (options.numerics < MDH_NUMERICS_DEFAULT || options.numerics > MDH_NUMERICS_FP8) {
    return absl::InvalidArgumentError(
        absl::StrCat(static_cast<int>(options.numerics), " is no policy of numerics"));
  }
  const auto numerics = static_cast<v1::NumericsPolicy>(options.numerics);
  v1::KernelKey key = Client::KeyOf(computation, numerics);
  v1::DeviceSelection device;
  if (options.device != nullptr) device.set_name(options.device);
  Result<BundleQuery> in_bundle = absl::UnknownError("");
  if (options.device_fingerprint != nullptr) {
    key.set_device_fingerprint(options.device_fingerprint);
    in_bundle = BundleQuery(key.canonical_form(), options.device_fingerprint, numerics);
  } else if (ThisCpu().ok()) {
    in_bundle = BundleQuery(key.canonical_form(), *ThisCpu(), numerics);
  } else {
    in_bundle = ThisCpu().status();
  }
  return mdh_query{std::move(computation), numerics, std::move(device), std::move(key),
                   std::move(in_bundle)};
}

Result<ScalarType> TypeNamed(const char* name) {
  const std::optional<ScalarType> type = ScalarTypeFromName(name);
  if (type.has_value()) return *type;
  return absl::InvalidArgumentError(absl::StrCat("there is no type '", name, "'"));
}

Result<EinsumOptions> ReadEinsum(const mdh_einsum_options* given) {
  MDH_ASSIGN_OR_RETURN(const mdh_einsum_options read, ReadOptions(given));
  EinsumOptions options;
  MDH_ASSIGN_OR_RETURN(options.type, TypeNamed(TextOr(read.type, "fp32")));
  if (read.out_type != nullptr) {
    MDH_ASSIGN_OR_RETURN(options.out_type, TypeNamed(read.out_type));
  }
  if (read.accumulate != nullptr) {
    MDH_ASSIGN_OR_RETURN(options.accumulate, TypeNamed(read.accumulate));
  }
  if (read.sizes != nullptr) MDH_RETURN_IF_ERROR(AddSizes(read.sizes, &options.sizes));
  for (const char* const* shape = read.shapes; shape != nullptr && *shape != nullptr; ++shape) {
    MDH_ASSIGN_OR_RETURN(std::vector<int64_t> extents, ParseShape(*shape));
    options.shapes.push_back(std::move(extents));
  }
  options.epilogue = TextOr(read.epilogue, "");
  return options;
}

}  // namespace

Result<mdh_query> ReadQuery(const char* text, const char* const* bindings,
                            const mdh_query_options* options) {
  MDH_ASSIGN_OR_RETURN(const mdh_query_options read, ReadOptions(options));
  MDH_ASSIGN_OR_RETURN(const Bindings values, ReadBindings(bindings));
  MDH_ASSIGN_OR_RETURN(Computation computation, ParseTextOfAnyKind(text, values));
  return MakeQuery(std::move(computation), read);
}

}  // namespace mdh

extern "C" {

mdh_code mdh_query_create(const char* text, const char* const* bindings,
                          const mdh_query_options* options, mdh_query** query, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(mdh_query made, mdh::ReadQuery(text, bindings, options));
    *query = new mdh_query(std::move(made));
    return absl::OkStatus();
  });
}

mdh_code mdh_query_create_einsum(const char* einsum, const char* sizes, const char* type,
                                 const mdh_query_options* options, mdh_query** query,
                                 mdh_error** error) {
  mdh_einsum_options with = {};
  with.struct_bytes = sizeof(with);
  with.type = type;
  with.sizes = sizes;
  return mdh_query_create_einsum_with(einsum, &with, options, query, error);
}

mdh_code mdh_query_create_einsum_with(const char* einsum, const mdh_einsum_options* with,
                                      const mdh_query_options* options, mdh_query** query,
                                      mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh_query_options read, mdh::ReadOptions(options));
    MDH_ASSIGN_OR_RETURN(const mdh::EinsumOptions read_with, mdh::ReadEinsum(with));
    MDH_ASSIGN_OR_RETURN(mdh::Expression expression, mdh::ParseEinsum(einsum, read_with));
    MDH_ASSIGN_OR_RETURN(mdh_query made, mdh::MakeQuery(std::move(expression), read));
    *query = new mdh_query(std::move(made));
    return absl::OkStatus();
  });
}

void mdh_query_free(mdh_query* query) { delete query; }

const char* mdh_query_digest(const mdh_query* query) {
  return query->key.expression_digest().c_str();
}

}  // extern "C"
