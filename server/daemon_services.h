// The services of a daemon behind one gRPC server.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/access_files.h"
#include "server/daemon.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"
#include "server/lookup/candidates.h"
#include "server/lookup/kernel_finder.h"
#include "server/records/lookup_table.h"
#include "server/services/admin_service.h"
#include "server/services/candidate_service.h"
#include "server/services/device_service.h"
#include "server/services/expression_service.h"
#include "server/services/health_service.h"
#include "server/services/kernel_service.h"
#include "server/services/lookup_server.h"
#include "server/services/study_service.h"
#include "server/services/tuning_service.h"
#include "server/services/watch_streams.h"
#include "server/store/store.h"
#include "server/studies/study_catalogue.h"

namespace mdh {

// Members are destroyed in reverse order: the server before the services.
class DaemonServices {
 public:
  // What they work on; all must outlive this.
  struct Parts {
    const DaemonOptions& options;
    AdminOptions admin;
    AccessFiles& access;
    Store& store;
    LookupTable& lookup_table;
    DeviceCatalogue& catalogue;
    JobQueue& jobs;
    StudyCatalogue& studies;
    StudyStore& study_store;
    WatchStreams& watches;
  };
  explicit DaemonServices(Parts parts);

  // Listens at all addresses of the options. Errors: Unavailable; ResourceExhausted if there are no
  // threads; FailedPrecondition if a socket cannot have its mode.
  Status Serve();
  // In the form for clients, with the ports that were chosen.
  const std::vector<std::string>& addresses() const { return addresses_; }
  const LookupMetrics& lookup_metrics() const { return lookup_server_.metrics(); }

  // Health says from now on that nobody is served.
  void BeginToStop() { health_service_.Stop(); }
  // Calls that are open end soon.
  void Stop();
  bool is_serving() const { return server_ != nullptr; }

 private:
  Status Listen(std::vector<int>& ports);
  Status NoteAddress(const std::string& address, int port);

  const Parts parts_;
  const KernelFinder kernel_finder_;
  KernelServiceImpl kernel_service_;
  LookupServer lookup_server_;
  TuningServiceImpl tuning_service_;
  AdminServiceImpl admin_service_;
  DeviceServiceImpl device_service_;
  ExpressionServiceImpl expression_service_;
  Candidates candidates_;
  CandidateServiceImpl candidate_service_;
  StudyServiceImpl study_service_;
  HealthServiceImpl health_service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
};

}  // namespace mdh
