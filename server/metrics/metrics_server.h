// Metrics over HTTP, for Prometheus.
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>

#include "core/base/status.h"

namespace mdh {

// Serves GET /metrics in the text format until it is destroyed. Connections end after 5 s, and 64
// at most are open at a time, the newest: slow ones keep nobody waiting.
class MetricsServer {
 public:
  // `address`: "HOST:PORT"; port 0: any. Errors: Unavailable if it cannot listen there.
  static Result<std::unique_ptr<MetricsServer>> Start(
      const std::string& address, std::shared_ptr<prometheus::Collectable> source);
  virtual ~MetricsServer() = default;

  // "http://127.0.0.1:9464/metrics", with the port that was chosen.
  virtual std::string url() const = 0;
};

}  // namespace mdh
