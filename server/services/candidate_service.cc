#include "server/services/candidate_service.h"

#include "server/services/reply.h"

namespace mdh {

grpc::Status CandidateServiceImpl::DescribeCandidate(grpc::ServerContext* context,
                                                     const v1::DescribeCandidateRequest* request,
                                                     v1::DescribeCandidateResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.CandidateService/DescribeCandidate",
                    [&](const Caller&) { return Reply(candidates_.Describe(*request), response); });
}

grpc::Status CandidateServiceImpl::FinishCandidate(grpc::ServerContext* context,
                                                   const v1::FinishCandidateRequest* request,
                                                   v1::FinishCandidateResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.CandidateService/FinishCandidate",
                    [&](const Caller&) { return Reply(candidates_.Finish(*request), response); });
}

}  // namespace mdh
