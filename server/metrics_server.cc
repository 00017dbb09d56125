#include "server/metrics_server.h"

#include <netdb.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/start_thread.h"

namespace mdh {
namespace {

// One for the scraper, one for a person who looks.
constexpr size_t kThreads = 2;

// Connects and hangs up at once. It is no error if nobody listens.
void Connect(const std::string& host, int port) {
  const std::string bare(absl::StripSuffix(absl::StripPrefix(host, "["), "]"));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(bare.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return;
  }
  const int connection = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection >= 0) {
    (void)connect(connection, found->ai_addr, found->ai_addrlen);
    close(connection);
  }
  freeaddrinfo(found);
}

class PrometheusMetricsServer : public MetricsServer {
 public:
  PrometheusMetricsServer(const std::string& address,
                          std::shared_ptr<prometheus::Collectable> source)
      : host_(address.substr(0, address.rfind(':'))),
        source_(std::move(source)),
        exposer_(std::in_place, address, kThreads),
        port_(exposer_->GetListeningPorts().at(0)) {
    exposer_->RegisterCollectable(source_);
  }

  // The library's thread that waits for connections looks only every two seconds whether it should
  // end, or when somebody connects.
  ~PrometheusMetricsServer() override {
    std::promise<void> closing;
    const std::future<void> closed = closing.get_future();
    Result<std::thread> closer = StartThread([this, &closing] {
      exposer_.reset();
      closing.set_value();
    });
    if (!closer.ok()) return;  // it takes two seconds, then
    do {
      Connect(host_, port_);
    } while (closed.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready);
    closer->join();
  }

  std::string url() const override {
    return absl::StrCat("http://", host_, ":", port_, "/metrics");
  }

 private:
  const std::string host_;
  const std::shared_ptr<prometheus::Collectable> source_;  // the exposer does not hold it
  std::optional<prometheus::Exposer> exposer_;
  const int port_;
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
