// mdh.v1.StudyService: studies.
#pragma once

#include <grpcpp/grpcpp.h>

#include "mdh/v1/study.grpc.pb.h"
#include "server/access/access_control.h"
#include "server/store/study_store.h"
#include "server/studies/study_catalogue.h"

namespace mdh {

class StudyServiceImpl final : public v1::StudyService::Service {
 public:
  // All must outlive the service.
  StudyServiceImpl(StudyCatalogue& studies, StudyStore& store, const AccessControl& access)
      : studies_(studies), store_(store), access_(access) {}

  grpc::Status CreateStudy(grpc::ServerContext* context, const v1::CreateStudyRequest* request,
                           v1::CreateStudyResponse* response) override;
  grpc::Status GetStudy(grpc::ServerContext* context, const v1::GetStudyRequest* request,
                        v1::GetStudyResponse* response) override;
  grpc::Status ListStudies(grpc::ServerContext* context, const v1::ListStudiesRequest* request,
                           v1::ListStudiesResponse* response) override;
  grpc::Status AskTrials(grpc::ServerContext* context, const v1::AskTrialsRequest* request,
                         v1::AskTrialsResponse* response) override;
  grpc::Status TellTrials(grpc::ServerContext* context, const v1::TellTrialsRequest* request,
                          v1::TellTrialsResponse* response) override;
  grpc::Status ListTrials(grpc::ServerContext* context, const v1::ListTrialsRequest* request,
                          v1::ListTrialsResponse* response) override;
  grpc::Status CancelStudy(grpc::ServerContext* context, const v1::CancelStudyRequest* request,
                           v1::CancelStudyResponse* response) override;
  grpc::Status DeleteStudy(grpc::ServerContext* context, const v1::DeleteStudyRequest* request,
                           v1::DeleteStudyResponse* response) override;

 private:
  // The number of a study that the caller may end. Errors: NotFound; PermissionDenied.
  Result<int64_t> FindOwn(const std::string& name, const Caller& caller);

  StudyCatalogue& studies_;
  StudyStore& store_;
  const AccessControl& access_;
};

}  // namespace mdh
