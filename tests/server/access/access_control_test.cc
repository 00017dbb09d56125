// Every method of a whole daemon, called with every role.
#include "server/access/access_control.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/admin.grpc.pb.h"
#include "mdh/v1/expression.grpc.pb.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "mdh/v1/study.grpc.pb.h"
#include "mdh/v1/tuning.grpc.pb.h"
#include "proto/error_details.h"
#include "server/access/method_roles.h"
#include "server/daemon.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/study_specs.h"
#include "tests/server/temporary_directory.h"
#include "tests/source_path.h"

namespace mdh::access_control_test {
namespace {

using ::testing::HasSubstr;

constexpr Role kRoles[] = {Role::kReader, Role::kTuner, Role::kPublisher, Role::kAdmin};

std::string TokenOf(Role role) {
  return absl::StrCat("the-token-of-", std::string(RoleName(role)));
}

// The full names of all methods of all services of mdh.v1.
std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("proto/mdh/v1"))) {
    const auto* file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
        absl::StrCat("mdh/v1/", entry.path().filename().string()));
    if (file == nullptr) continue;  // messages of other programs; no service of this one
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(absl::StrCat("/", file->service(s)->full_name(), "/",
                                       file->service(s)->method(m)->name()));
      }
    }
  }
  return methods;
}

class AccessControlTest : public ::testing::Test {
 protected:
  // A daemon with one token for each role.
  void StartDaemon(std::optional<Role> anonymous) {
    std::ofstream file(principals_);
    for (const Role role : kRoles) {
      const std::string name(RoleName(role));
      file << *TokenLine("the-" + name, name, TokenOf(role)) << "\n";
    }
    file.close();
    options_.principals_file = principals_;
    options_.anonymous_role = anonymous;
    Start();
  }
  void StartOpenDaemon() { Start(); }

  // What the method says to an empty request. `authorization`: empty: none.
  grpc::Status Call(const std::string& method, const std::string& authorization) {
    grpc::ClientContext context;
    // Streams without an end are admitted, too.
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    grpc::CompletionQueue queue;
    grpc::GenericStub stub(channel_);
    const auto call = stub.PrepareCall(&context, method, &queue);
    call->StartCall(nullptr);
    Await(queue);
    const grpc::Slice nothing("", 0);
    call->WriteLast(grpc::ByteBuffer(&nothing, 1), grpc::WriteOptions(), nullptr);
    Await(queue);
    grpc::ByteBuffer response;
    call->Read(&response, nullptr);
    Await(queue);
    if (response.Valid()) context.TryCancel();  // what is left of a stream
    grpc::Status status;
    call->Finish(&status, nullptr);
    Await(queue);
    return response.Valid() ? grpc::Status::OK : status;
  }
  grpc::Status CallAs(const std::string& method, Role role) {
    return Call(method, role == Role::kNone ? "" : "Bearer " + TokenOf(role));
  }

  TemporaryDirectory directory_;
  const std::string principals_ = directory_.File("principals");
  DaemonOptions options_;
  std::unique_ptr<Daemon> daemon_;
  std::shared_ptr<grpc::Channel> channel_;

 private:
  void Start() {
    DaemonOptions& options = options_;
    options.listen = {"unix:" + directory_.File("socket")};
    options.database = directory_.File("mdhd.sqlite");
    options.runner = "/no/runner";
    options.work_directory = directory_.File("work");
    options.backup_directory = directory_.File("backups");
    StartFailure failure = StartFailure::kInternal;
    daemon_ = *Daemon::Start(options, failure);
    channel_ = grpc::CreateChannel(daemon_->addresses()[0], grpc::InsecureChannelCredentials());
  }
  static void Await(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
  }
};

TEST_F(AccessControlTest, TheTableHasEveryMethodAndNoOther) {
  const std::vector<std::string> methods = AllMethods();
  EXPECT_GE(methods.size(), 35U);
  for (const std::string& method : methods) {
    ASSERT_NE(FindMethodRole(method), nullptr) << method;
    EXPECT_NE(FindMethodRole(method)->role, Role::kNone) << method << " is open to everybody";
  }
  for (const MethodRole& entry : MethodRoles()) {
    if (!entry.method.starts_with("/mdh.")) continue;
    EXPECT_THAT(methods, ::testing::Contains(std::string(entry.method)));
  }
  EXPECT_EQ(FindMethodRole("/mdh.v1.KernelService/Lookup"), nullptr);
  EXPECT_EQ(FindMethodRole(""), nullptr);
  EXPECT_EQ(FindMethodRole("~"), nullptr);
}

TEST_F(AccessControlTest, EveryMethodIsRefusedOneRoleBelow) {
  StartDaemon(Role::kNone);
  for (const std::string& method : AllMethods()) {
    const Role needed = FindMethodRole(method)->role;
    const Role below = static_cast<Role>(static_cast<int>(needed) - 1);
    EXPECT_EQ(Call(method, "").error_code(), grpc::StatusCode::UNAUTHENTICATED) << method;
    EXPECT_EQ(Call(method, "Bearer no-token").error_code(), grpc::StatusCode::UNAUTHENTICATED)
        << method;
    const grpc::Status refused = CallAs(method, below);
    EXPECT_EQ(refused.error_code(), below == Role::kNone ? grpc::StatusCode::UNAUTHENTICATED
                                                         : grpc::StatusCode::PERMISSION_DENIED)
        << method << ": " << refused.error_message();
    EXPECT_THAT(refused.error_message(), HasSubstr(method + " needs the role "));
    const grpc::Status admitted = CallAs(method, needed);
    EXPECT_NE(admitted.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method;
    EXPECT_NE(admitted.error_code(), grpc::StatusCode::UNAUTHENTICATED) << method;
    EXPECT_NE(admitted.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
  }
}

TEST_F(AccessControlTest, HealthAndReflectionAreOpen) {
  StartDaemon(Role::kNone);
  EXPECT_TRUE(Call("/grpc.health.v1.Health/Check", "").ok());
  EXPECT_TRUE(Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "").ok());
}

TEST_F(AccessControlTest, WithoutPrincipalsWhoReachesTheSocketMayDoEverything) {
  StartOpenDaemon();
  for (const char* method :
       {"/mdh.v1.AdminService/CheckIntegrity", "/mdh.v1.AdminService/GetStatistics"}) {
    EXPECT_TRUE(Call(method, "").ok());
    EXPECT_TRUE(Call(method, "Bearer of-another-daemon").ok());
  }
}

TEST_F(AccessControlTest, WithPrincipalsOthersRead) {
  StartDaemon(std::nullopt);
  EXPECT_TRUE(Call("/mdh.v1.AdminService/GetStatistics", "").ok());
  const Status refused = FromGrpcStatus(Call("/mdh.v1.AdminService/CheckIntegrity", ""));
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("callers without a name have reader"));
  const auto info = DetailOf<google::rpc::ErrorInfo>(refused);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), "ROLE_TOO_LOW");
  EXPECT_EQ(info->metadata().at("neededRole"), "admin");
}

TEST_F(AccessControlTest, OnlyBearerTokensAreCredentials) {
  StartDaemon(Role::kAdmin);
  for (const char* authorization : {"Basic YTpi", "the-token-of-admin", "Bearer", "Bearer "}) {
    EXPECT_EQ(Call("/mdh.v1.AdminService/GetStatistics", authorization).error_code(),
              grpc::StatusCode::UNAUTHENTICATED)
        << authorization;
  }
}

TEST_F(AccessControlTest, BackgroundTuningNeedsTheRoleOfJobs) {
  StartDaemon(Role::kReader);
  const auto stub = v1::KernelService::NewStub(channel_);
  v1::GetKernelRequest request;
  *request.mutable_expression()->mutable_structured() = ToProto(MatMulExpression(8, 8, 8));
  request.set_weakest_match(v1::MATCH_KIND_PREDICTED);
  v1::GetKernelResponse response;
  grpc::ClientContext reads;
  EXPECT_TRUE(stub->GetKernel(&reads, request, &response).ok());
  request.mutable_tune_in_background();
  grpc::ClientContext tunes;
  const grpc::Status refused = stub->GetKernel(&tunes, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("CreateTuningJob"));

  v1::LookupKernelRequest lookup;
  *lookup.mutable_expression() = request.expression();
  lookup.mutable_tune_in_background();
  v1::LookupKernelResponse found;
  grpc::ClientContext looks_up;
  const grpc::Status also_refused = stub->LookupKernel(&looks_up, lookup, &found);
  EXPECT_EQ(also_refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(also_refused.error_message(), HasSubstr("CreateTuningJob"));
}

TEST_F(AccessControlTest, LimitsOfRolesHoldForTheirCallers) {
  StartDaemon(Role::kReader);
  const auto capabilities = [&](Role role) {
    const auto stub = v1::AdminService::NewStub(channel_);
    grpc::ClientContext context;
    if (role != Role::kNone) context.AddMetadata("authorization", "Bearer " + TokenOf(role));
    v1::GetCapabilitiesResponse response;
    EXPECT_TRUE(stub->GetCapabilities(&context, {}, &response).ok());
    return response.capabilities();
  };
  EXPECT_EQ(capabilities(Role::kAdmin).caller_name(), "the-admin");
  EXPECT_EQ(capabilities(Role::kAdmin).caller_role(), v1::ROLE_ADMIN);
  EXPECT_EQ(capabilities(Role::kAdmin).caller_limits().calls(), 0);
  EXPECT_EQ(capabilities(Role::kNone).caller_name(), "");
  EXPECT_EQ(capabilities(Role::kNone).caller_role(), v1::ROLE_READER);
  EXPECT_EQ(capabilities(Role::kNone).caller_limits().calls(),
            LimitTable().of(Role::kReader).calls);

  std::ofstream(principals_, std::ios::app) << "limits reader requests_per_second=3 watches=0\n";
  daemon_->Reload();
  Status refused;
  for (int n = 0; n < 500 && refused.ok(); ++n) {
    refused = FromGrpcStatus(CallAs("/mdh.v1.DeviceService/ListKnownDevices", Role::kReader));
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const auto quota = DetailOf<google::rpc::QuotaFailure>(refused);
  ASSERT_TRUE(quota.has_value()) << refused;
  EXPECT_EQ(quota->violations(0).subject(), "caller:the-reader");
  EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(refused).has_value());
  EXPECT_TRUE(CallAs("/mdh.v1.DeviceService/ListKnownDevices", Role::kTuner).ok());
}

TEST_F(AccessControlTest, OneCallerHasOnlySoManyWatches) {
  std::ofstream(principals_) << *TokenLine("ann", "reader", "a-token")
                             << "\nlimits reader watches=2\n";
  options_.principals_file = principals_;
  StartOpenDaemon();
  const auto stub = v1::KernelService::NewStub(channel_);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchKernelsResponse>>> readers;
  const auto watch = [&] {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    contexts.back()->AddMetadata("authorization", "Bearer a-token");
    readers.push_back(stub->WatchKernels(contexts.back().get(), {}));
    v1::WatchKernelsResponse response;
    return readers.back()->Read(&response);
  };
  EXPECT_TRUE(watch());
  EXPECT_TRUE(watch());
  EXPECT_FALSE(watch());
  EXPECT_EQ(readers.back()->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const auto& context : contexts) context->TryCancel();
}

TEST_F(AccessControlTest, ATokenTunesForItsOwnNameAndItsQuota) {
  std::ofstream(principals_) << *TokenLine("ann", "tuner", "a-token")
                             << "\nlimits tuner device_time_s=5\n";
  options_.principals_file = principals_;
  StartOpenDaemon();
  const auto stub = v1::TuningService::NewStub(channel_);
  v1::CreateTuningJobRequest request;
  *request.mutable_expression()->mutable_structured() = ToProto(MatMulExpression(8, 8, 8));
  request.set_source("bob");
  request.mutable_options()->set_max_device_time_ns(6'000'000'000);
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer a-token");
  v1::CreateTuningJobResponse response;
  const Status refused = FromGrpcStatus(stub->CreateTuningJob(&context, request, &response));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(DetailOf<google::rpc::QuotaFailure>(refused)->violations(0).subject(), "source:ann");
}

TEST_F(AccessControlTest, WhatIsAnothersIsNotEnded) {
  std::ofstream(principals_) << *TokenLine("ann", "tuner", "token-of-ann") << "\n"
                             << *TokenLine("bob", "tuner", "token-of-bob") << "\n"
                             << *TokenLine("eve", "admin", "token-of-eve") << "\n";
  options_.principals_file = principals_;
  options_.anonymous_role = Role::kTuner;
  StartOpenDaemon();
  const auto stub = v1::StudyService::NewStub(channel_);
  const auto as = [](const std::string& name) {
    auto context = std::make_unique<grpc::ClientContext>();
    if (!name.empty()) context->AddMetadata("authorization", "Bearer token-of-" + name);
    return context;
  };
  const auto create = [&](const std::string& name) {
    v1::CreateStudyRequest request;
    *request.mutable_spec() = ProductSpec();
    v1::CreateStudyResponse response;
    const grpc::Status status = stub->CreateStudy(as(name).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.study();
  };
  const auto end = [&](const std::string& name, const v1::Study& study) {
    v1::CancelStudyRequest cancel;
    cancel.set_name(study.name());
    v1::CancelStudyResponse cancelled;
    const grpc::Status status = stub->CancelStudy(as(name).get(), cancel, &cancelled);
    v1::DeleteStudyRequest remove;
    remove.set_name(study.name());
    v1::DeleteStudyResponse removed;
    EXPECT_EQ(stub->DeleteStudy(as(name).get(), remove, &removed).error_code(),
              status.error_code());
    return FromGrpcStatus(status);
  };
  const v1::Study of_ann = create("ann");
  EXPECT_EQ(of_ann.source(), "ann");
  const Status refused = end("bob", of_ann);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.message(), of_ann.name() +
                                   " belongs to ann: bob may not change it, "
                                   "administrators may");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(refused)->reason(), "NOT_THE_OWNER");
  EXPECT_EQ(end("", of_ann).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(end("ann", of_ann).ok());
  const v1::Study of_nobody = create("");
  EXPECT_EQ(end("ann", of_nobody).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(end("", of_nobody).ok());
  EXPECT_TRUE(end("eve", create("bob")).ok()) << "an administrator";
}

TEST_F(AccessControlTest, MetadataAndRequestsAreBounded) {
  StartOpenDaemon();
  const auto stub = v1::ExpressionService::NewStub(channel_);
  v1::CheckExpressionRequest request;
  request.mutable_expression()->mutable_text()->set_text(std::string(5 << 20, ' '));
  v1::CheckExpressionResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(stub->CheckExpression(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  // The stream, or the connection, may be reset before the status has arrived.
  EXPECT_THAT(
      Call("/mdh.v1.AdminService/GetStatistics", "Bearer " + std::string(20'000, 'a')).error_code(),
      ::testing::AnyOf(grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::UNAVAILABLE));
  grpc::Status next;
  for (int n = 0; n < 20; ++n) {  // the connection may be made anew
    next = Call("/mdh.v1.AdminService/GetStatistics", "");
    if (next.ok()) break;
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_TRUE(next.ok()) << next.error_message();
}

class CallerTest : public ::testing::Test {
 protected:
  std::string SourceOf(const std::string& name, Role role, const std::string& asked) {
    const Caller caller{std::make_shared<const Principal>(Principal{name, role}), RoleLimits()};
    return caller.SourceOf(context_, asked);
  }
  grpc::ServerContext context_;  // of no call
};

TEST_F(CallerTest, OnlyAdministratorsAndTheNamelessSpeakForOthers) {
  EXPECT_EQ(SourceOf("ann", Role::kTuner, ""), "ann");
  EXPECT_EQ(SourceOf("ann", Role::kPublisher, "bob"), "ann");
  EXPECT_EQ(SourceOf("ann", Role::kAdmin, "bob"), "bob");
  EXPECT_EQ(SourceOf("ann", Role::kAdmin, ""), "ann");
  EXPECT_EQ(SourceOf("", Role::kTuner, "bob"), "bob");
}

}  // namespace
}  // namespace mdh::access_control_test
