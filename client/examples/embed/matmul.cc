// Runs a matrix product through the C++ library:
//   matmul_cpp CACHE-FOLDER BUNDLE            with the kernel of a bundle, without a daemon
//   matmul_cpp CACHE-FOLDER unix:/path/...    with the best kernel that the daemon has at once
#include "matmul.h"

#include <cstdio>
#include <string>
#include <vector>

#include "client/bundle.h"
#include "client/client.h"
#include "client/cpu_kernel.h"
#include "core/text/parser.h"

namespace {

mdh::Result<mdh::v1::Kernel> FromBundle(const std::string& path, const mdh::Expression& matmul) {
  MDH_ASSIGN_OR_RETURN(const auto bundle, mdh::BundleFile::Open(path));
  MDH_ASSIGN_OR_RETURN(const std::string cpu, mdh::HostCpuFingerprint());
  MDH_ASSIGN_OR_RETURN(const mdh::BundleEntry entry, bundle->Find(mdh::QueryFor(matmul, cpu)));
  return mdh::KernelOf(entry);
}

mdh::Result<mdh::v1::Kernel> FromDaemon(const std::string& address, const mdh::Expression& matmul) {
  MDH_ASSIGN_OR_RETURN(const auto client, mdh::Client::Connect(address));
  MDH_ASSIGN_OR_RETURN(const mdh::v1::GetKernelResponse found,
                       client->GetBestKernel(matmul, {}, mdh::v1::MATCH_KIND_PREDICTED));
  return found.kernel();
}

mdh::Status Run(const std::string& cache_folder, const std::string& from) {
  const std::string size = std::to_string(kSize);
  MDH_ASSIGN_OR_RETURN(const mdh::Expression matmul,
                       mdh::ParseExpression(kMatMul, {{"I", size}, {"J", size}, {"K", size}}));
  MDH_ASSIGN_OR_RETURN(const mdh::v1::Kernel kernel, from.starts_with("unix:")
                                                         ? FromDaemon(from, matmul)
                                                         : FromBundle(from, matmul));
  MDH_ASSIGN_OR_RETURN(const mdh::KernelCache cache, mdh::KernelCache::Open(cache_folder));
  MDH_ASSIGN_OR_RETURN(const auto run, mdh::CpuKernel::Load(kernel, cache));
  std::vector<float> a(kSize * kSize, 2), b(kSize * kSize, 3), c(kSize * kSize);
  MDH_RETURN_IF_ERROR(run->Run({a.data(), b.data(), c.data()}));
  std::printf("%s: %s\n", kernel.entry().c_str(), c[0] == 6 * kSize ? "right" : "WRONG");
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const mdh::Status status = Run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "matmul: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
