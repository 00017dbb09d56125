// A PostgreSQL server that is asked for its certificate.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>

#include "gmock/gmock.h"
#include "tests/server/store/postgres_test.h"

namespace mdh::postgres_tls_test {
namespace {

using ::testing::HasSubstr;

// Nobody listens there now.
int FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  close(socket);
  return ntohs(address.sin_port);
}

class PostgresTlsTest : public PostgresTest {
 protected:
  void SetUp() override {
    const int port = FreePort();
    Result<std::unique_ptr<PostgresServer>> server = PostgresServer::Start(
        {.port = port, .certificate = authority_.Issue("localhost", "DNS:localhost")});
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
    ASSERT_TRUE(server.ok()) << server.status();
    own_server_ = *std::move(server);
    ASSERT_TRUE(own_server_->Sql("postgres", "CREATE DATABASE served").ok());
    port_ = port;
    Write("root.crt", authority_.certificate());
    Write("other.crt", TestAuthority("another authority").certificate());
  }
  void Write(const char* file, const std::string& content) const {
    std::ofstream(directory_.File(file)) << content;
  }
  // What is trusted is what is in the file.
  void Trust(const std::string& mode, const char* file, const std::string& host = "localhost") {
    address_ = absl::StrCat("postgresql://mdhd:secret@", host, ":", port_,
                            "/served?hostaddr=127.0.0.1&sslmode=", mode,
                            "&sslrootcert=", directory_.File(file));
  }

  const TemporaryDirectory directory_;
  const TestAuthority authority_{"authority of tests"};
  std::unique_ptr<PostgresServer> own_server_;
  int port_ = 0;
};

TEST_F(PostgresTlsTest, AServerWithACertificateThatIsTrustedIsUsedEncrypted) {
  Trust("verify-full", "root.crt");
  const std::unique_ptr<Store> store = Open();
  ASSERT_NE(store, nullptr);
  const StoredResult result = SampleResult("a", 100);
  EXPECT_TRUE(store->PutResult(result.record, result.kernel).ok());
  EXPECT_EQ(Number("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                   " WHERE application_name = 'mdhd' AND client_addr IS NOT NULL AND NOT ssl"),
            0);
  EXPECT_GT(Number("SELECT count(*) FROM pg_stat_ssl WHERE ssl"), 1);
}

TEST_F(PostgresTlsTest, WhatIsNotTrustedIsRefusedWithItsReasonAndNoSecret) {
  Trust("verify-full", "other.crt");
  EXPECT_THAT(Refusal(), HasSubstr("certificate verify failed"));
  EXPECT_THAT(Refusal(), HasSubstr("//mdhd:***@"));
  Trust("verify-full", "missing.crt");
  EXPECT_THAT(Refusal(), HasSubstr("missing.crt\" does not exist"));
  Trust("verify-full", "root.crt", "db.example.org");
  EXPECT_THAT(Refusal(), HasSubstr("does not match host name \"db.example.org\""));
  Trust("disable", "root.crt");
  EXPECT_THAT(Refusal(), HasSubstr("no encryption"));
  Trust("verify-ca", "root.crt", "db.example.org");
  EXPECT_NE(Open(), nullptr);
}

}  // namespace
}  // namespace mdh::postgres_tls_test
