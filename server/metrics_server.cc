#include "server/metrics_server.h"

#include <prometheus/exposer.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// One for the scraper, one for a person who looks.
constexpr size_t kThreads = 2;

class PrometheusMetricsServer : public MetricsServer {
 public:
  PrometheusMetricsServer(const std::string& address,
                          std::shared_ptr<prometheus::Collectable> source)
      : host_(address.substr(0, address.rfind(':'))),
        source_(std::move(source)),
        exposer_(address, kThreads) {
    exposer_.RegisterCollectable(source_);
  }

  std::string url() const override {
    return absl::StrCat("http://", host_, ":", exposer_.GetListeningPorts().at(0), "/metrics");
  }

 private:
  const std::string host_;
  const std::shared_ptr<prometheus::Collectable> source_;  // the exposer does not hold it
  prometheus::Exposer exposer_;
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, std::shared_ptr<prometheus::Collectable> source) {
  try {
    return std::make_unique<PrometheusMetricsServer>(address, std::move(source));
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", address, ": ", error.what()));
  }
}

}  // namespace mdh
