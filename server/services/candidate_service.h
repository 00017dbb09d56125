// mdh.v1.CandidateService: decides in search spaces step by step.
#pragma once

#include <grpcpp/grpcpp.h>

#include "mdh/v1/candidate.grpc.pb.h"
#include "server/access/access_control.h"
#include "server/lookup/candidates.h"

namespace mdh {

class CandidateServiceImpl final : public v1::CandidateService::Service {
 public:
  // Both must outlive the service.
  CandidateServiceImpl(Candidates& candidates, const AccessControl& access)
      : candidates_(candidates), access_(access) {}

  grpc::Status DescribeCandidate(grpc::ServerContext* context,
                                 const v1::DescribeCandidateRequest* request,
                                 v1::DescribeCandidateResponse* response) override;
  grpc::Status FinishCandidate(grpc::ServerContext* context,
                               const v1::FinishCandidateRequest* request,
                               v1::FinishCandidateResponse* response) override;

 private:
  Candidates& candidates_;
  const AccessControl& access_;
};

}  // namespace mdh
