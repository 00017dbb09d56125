// Daemons with TLS on TCP addresses, and the clients' side of it.
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

#include "client/admin_client.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/access/principals.h"
#include "server/access/tls_certificates.h"
#include "server/daemon.h"
#include "tests/server/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace mdh::tls_test {
namespace {

using ::testing::HasSubstr;

class TlsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) const {
    const std::string path = directory_.File(name);
    std::ofstream(path) << content;
    return path;
  }
  void WritePair(const TestCertificate& made) const {
    Write("daemon.crt", made.certificate);
    Write("daemon.key", made.key);
  }
  TlsFiles Files() const {
    return {.certificate = directory_.File("daemon.crt"),
            .key = directory_.File("daemon.key"),
            .client_ca = "",
            .require_client_certificate = true};
  }
  void StartDaemon() {
    if (options_.listen.empty()) options_.listen = {"127.0.0.1:0"};
    options_.listen.push_back("unix:" + directory_.File("socket"));
    options_.database = directory_.File("mdhd.sqlite");
    options_.runner = "/no/runner";
    options_.work_directory = directory_.File("work");
    StartFailure failure = StartFailure::kInternal;
    daemon_ = *Daemon::Start(options_, failure);
  }
  // Of the TCP address.
  Status Connect(const ClientSecurity& security) {
    ClientOptions options;
    options.connect_limit_ns = 3'000'000'000;
    options.security = security;
    Result<std::unique_ptr<AdminClient>> client =
        AdminClient::Connect(daemon_->addresses()[0], options);
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
    return client_->GetCapabilities().status();
  }
  ClientSecurity Trusting(const TestAuthority& authority) const {
    ClientSecurity security;
    security.tls_ca = Write("ca-of-the-daemon.crt", authority.certificate());
    return security;
  }
  ClientSecurity With(ClientSecurity security, const TestCertificate& made) const {
    security.tls_certificate = Write("client.crt", made.certificate);
    security.tls_key = Write("client.key", made.key);
    return security;
  }

  TemporaryDirectory directory_;
  const TestAuthority authority_{"authority"};
  const TestAuthority other_{"other authority"};
  const TestCertificate daemons_ = authority_.Issue("daemon", "IP:127.0.0.1,DNS:localhost");
  DaemonOptions options_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<AdminClient> client_;
};

TEST_F(TlsTest, ClientsThatTrustTheAuthorityGetIn) {
  WritePair(daemons_);
  options_.tls = Files();
  StartDaemon();
  EXPECT_TRUE(Connect(Trusting(authority_)).ok());
  EXPECT_EQ(Connect(Trusting(other_)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Connect({}).code(), absl::StatusCode::kUnavailable) << "without TLS";
  EXPECT_TRUE(AdminClient::Connect(daemon_->addresses()[1]).ok()) << "Unix sockets stay plain";
  ClientOptions with_ca;
  with_ca.security = Trusting(authority_);
  EXPECT_TRUE(AdminClient::Connect(daemon_->addresses()[1], with_ca).ok());
}

TEST_F(TlsTest, ACertificateForAnotherNameIsRefused) {
  WritePair(authority_.Issue("daemon", "DNS:daemon.example.org"));
  options_.tls = Files();
  StartDaemon();
  EXPECT_THAT(std::string(Connect(Trusting(authority_)).message()),
              HasSubstr("valid for this name"));
}

TEST_F(TlsTest, ReplacedFilesHoldForNewConnectionsAndOldOnesGoOn) {
  WritePair(daemons_);
  options_.tls = Files();
  StartDaemon();
  ASSERT_TRUE(Connect(Trusting(authority_)).ok());
  const std::unique_ptr<AdminClient> old = std::move(client_);
  WritePair(other_.Issue("daemon", "IP:127.0.0.1"));
  daemon_->Reload();
  Status connected = absl::UnavailableError("");
  for (int n = 0; n < 50 && !connected.ok(); ++n) connected = Connect(Trusting(other_));
  EXPECT_TRUE(connected.ok()) << connected;
  EXPECT_FALSE(Connect(Trusting(authority_)).ok()) << "the old certificate is gone";
  EXPECT_TRUE(old->GetCapabilities().ok());
}

TEST_F(TlsTest, AHalfReplacedPairChangesNothing) {
  WritePair(daemons_);
  options_.tls = Files();
  StartDaemon();
  const TestCertificate next = authority_.Issue("daemon", "IP:127.0.0.1");
  for (const std::string& key : {next.key, std::string(), next.key.substr(0, 60)}) {
    Write("daemon.key", key);
    daemon_->Reload();
    absl::SleepFor(absl::Milliseconds(50));
    EXPECT_TRUE(Connect(Trusting(authority_)).ok());
  }
  ASSERT_EQ(unlink(directory_.File("daemon.crt").c_str()), 0);
  daemon_->Reload();
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_TRUE(Connect(Trusting(authority_)).ok());
}

TEST_F(TlsTest, RequiredCertificatesOfClientsNameThem) {
  WritePair(daemons_);
  options_.tls = Files();
  options_.tls.client_ca = Write("clients.crt", other_.certificate());
  options_.principals_file =
      Write("principals", "certificate ann admin\ncertificate build.example.org publisher\n");
  options_.anonymous_role = Role::kNone;
  StartDaemon();
  EXPECT_FALSE(Connect(Trusting(authority_)).ok()) << "without a certificate";
  EXPECT_FALSE(Connect(With(Trusting(authority_), authority_.Issue("ann", ""))).ok())
      << "of another authority";
  ASSERT_TRUE(Connect(With(Trusting(authority_), other_.Issue("ann", ""))).ok());
  EXPECT_TRUE(client_->CheckIntegrity().ok());
  ASSERT_TRUE(Connect(With(Trusting(authority_), other_.Issue("x", "DNS:build.example.org"))).ok());
  EXPECT_EQ(client_->CheckIntegrity().status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Connect(With(Trusting(authority_), other_.Issue("bob", ""))).code(),
            absl::StatusCode::kUnauthenticated)
      << "a certificate without a line in the file";
}

TEST_F(TlsTest, RequestedCertificatesMayBeMissing) {
  WritePair(daemons_);
  options_.tls = Files();
  options_.tls.client_ca = Write("clients.crt", other_.certificate());
  options_.tls.require_client_certificate = false;
  options_.principals_file =
      Write("principals", "certificate ann admin\n" + *TokenLine("bob", "reader", "a-token"));
  options_.anonymous_role = Role::kNone;
  StartDaemon();
  EXPECT_EQ(Connect(Trusting(authority_)).code(), absl::StatusCode::kUnauthenticated);
  ClientSecurity with_token = Trusting(authority_);
  with_token.token = "a-token";
  EXPECT_TRUE(Connect(with_token).ok());
  EXPECT_TRUE(Connect(With(Trusting(authority_), other_.Issue("ann", ""))).ok());
  EXPECT_FALSE(Connect(With(Trusting(authority_), authority_.Issue("ann", ""))).ok())
      << "one that is given is checked";
}

TEST_F(TlsTest, WithTlsOtherMachinesMayReachTheDaemonAndAreReaders) {
  WritePair(daemons_);
  options_.tls = Files();
  options_.listen = {"127.0.0.1:0", "0.0.0.0:0"};
  StartDaemon();
  EXPECT_TRUE(Connect(Trusting(authority_)).ok());
  EXPECT_EQ(client_->CheckIntegrity().status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(TlsTest, TokensAreNotSentInClearToOtherMachines) {
  ClientOptions options;
  options.connect_limit_ns = 1'000'000;
  options.security.token = "a-token";
  const Status refused = Client::Connect("192.0.2.1:1", options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("192.0.2.1:1 without TLS"));
  options.security.allow_token_in_clear = true;
  EXPECT_EQ(Client::Connect("192.0.2.1:1", options).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(TlsTest, WhatClientsAreGivenIsChecked) {
  ClientOptions options;
  const auto connect = [&] { return Client::Connect("127.0.0.1:1", options).status(); };
  options.security.token = "two words";
  EXPECT_EQ(connect().code(), absl::StatusCode::kInvalidArgument);
  options.security.token = "";
  options.security.tls_certificate = Write("a.crt", daemons_.certificate);
  EXPECT_THAT(std::string(connect().message()), HasSubstr("given together"));
  options.security.tls_key = Write("a.key", daemons_.key);
  EXPECT_THAT(std::string(connect().message()), HasSubstr("needs TLS"));
  options.security.tls_ca = directory_.File("nothing");
  EXPECT_THAT(std::string(connect().message()), HasSubstr("No such file"));
  options.security.tls_ca = Write("empty", "");
  EXPECT_THAT(std::string(connect().message()), HasSubstr("no PEM"));
  ASSERT_EQ(chmod(options.security.tls_ca.c_str(), 0602), 0);
  EXPECT_THAT(std::string(connect().message()), HasSubstr("empty: others than its owner"));
}

TEST_F(TlsTest, FilesThatDoNotFitAreRefusedAtStart) {
  WritePair(daemons_);
  const auto open = [](const TlsFiles& files) {
    return std::string(TlsCertificates::Open(files).status().message());
  };
  EXPECT_EQ(open(Files()), "");
  TlsFiles files = Files();
  files.key = Write("other.key", authority_.Issue("daemon", "").key);
  EXPECT_THAT(open(files), HasSubstr("is not that of the certificate"));
  files.key = files.certificate;
  EXPECT_THAT(open(files), HasSubstr("no private key"));
  files = Files();
  files.certificate = files.key;
  EXPECT_THAT(open(files), HasSubstr("no certificate"));
  files = Files();
  files.client_ca = files.key;
  EXPECT_THAT(open(files), HasSubstr("no certificate"));
  files.client_ca = directory_.File("nothing");
  EXPECT_THAT(open(files), HasSubstr("No such file"));
  options_.tls = files;
  options_.listen = {"127.0.0.1:0"};
  StartFailure failure = StartFailure::kInternal;
  EXPECT_FALSE(Daemon::Start(options_, failure).ok());
  EXPECT_EQ(failure, StartFailure::kUsage);
}

TEST_F(TlsTest, FilesThatOthersCouldChangeAreRefused) {
  WritePair(daemons_);
  TlsFiles files = Files();
  files.client_ca = Write("ca.crt", authority_.certificate());
  const auto certificates = *TlsCertificates::Open(files);
  for (const std::string& path : {files.certificate, files.key, files.client_ca}) {
    ASSERT_EQ(chmod(path.c_str(), 0602), 0);
    const Status refused = TlsCertificates::Open(files).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(path + ": others than its owner"));
    EXPECT_EQ(certificates->Reload().status(), refused);
    EXPECT_TRUE(TlsCertificates::Open(files, *TrustedUsers::Parse("*")).ok());
    ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  }
  EXPECT_FALSE(*certificates->Reload());
}

TEST_F(TlsTest, ReloadSaysWhetherThereIsSomethingNew) {
  WritePair(daemons_);
  const auto certificates = *TlsCertificates::Open(Files());
  EXPECT_FALSE(*certificates->Reload());
  const uint64_t version = certificates->current()->version;
  const TestCertificate next = authority_.Issue("daemon", "");
  Write("daemon.key", next.key);
  EXPECT_FALSE(certificates->Reload().ok());
  EXPECT_FALSE(*certificates->Reload()) << "complains once";
  EXPECT_EQ(certificates->current()->version, version);
  WritePair(next);
  EXPECT_TRUE(*certificates->Reload());
  EXPECT_GT(certificates->current()->version, version);
  EXPECT_EQ(certificates->current()->key, next.key);
}

}  // namespace
}  // namespace mdh::tls_test
