#include "server/store/postgres/postgres_address.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/postgres/libpq.h"
#include "server/store/postgres/sql_state.h"

namespace mdh::postgres_address_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PostgresAddressTest, PathsAreNone) {
  EXPECT_TRUE(IsPostgresAddress("postgresql://host/mdhd"));
  EXPECT_TRUE(IsPostgresAddress("postgres:///mdhd"));
  EXPECT_FALSE(IsPostgresAddress("/var/lib/mdhd/mdhd.sqlite"));
  EXPECT_FALSE(IsPostgresAddress("postgresql.sqlite"));
}

TEST(PostgresAddressTest, SecretsAreNotShown) {
  const std::pair<const char*, const char*> shown[] = {
      {"postgresql:///mdhd", "postgresql:///mdhd"},
      {"postgresql://me@host:5433/mdhd?sslmode=require",
       "postgresql://me@host:5433/mdhd?sslmode=require"},
      {"postgresql://me:secret@host/mdhd", "postgresql://me:***@host/mdhd"},
      {"postgresql://me:sec@re/t?x@a,b:5/mdhd", "postgresql://me:***@a,b:5/mdhd"},
      {"postgresql://:secret@/mdhd", "postgresql://:***@/mdhd"},
      {"postgresql:///mdhd?password=secret&host=/run", "postgresql:///mdhd?password=***&host=/run"},
      {"postgresql:///?sslPassword=secret", "postgresql:///?sslPassword=***"},
      {"postgresql:///?%70assword=secret", "postgresql:///?%70assword=***"},
  };
  for (const auto& [address, expected] : shown) EXPECT_EQ(WithoutSecrets(address), expected);
}

TEST(PostgresAddressTest, WhatLibpqCannotReadIsRefusedWithoutItsPassword) {
  if (!Libpq::Load().ok()) GTEST_SKIP() << Libpq::Load().status();
  EXPECT_TRUE(CheckPostgresAddress("postgresql://me:secret@host/mdhd?sslmode=require").ok());
  const Status unknown = CheckPostgresAddress("postgresql://host/mdhd?colour=red");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("colour"));
  const Status secret = CheckPostgresAddress("postgresql://me:se%zzcret@host/mdhd");
  EXPECT_EQ(secret.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(secret.message()), HasSubstr("postgresql://me:***@host/mdhd is no"));
  EXPECT_THAT(std::string(secret.message()), Not(HasSubstr("cret")));
}

TEST(PostgresAddressTest, ALibraryThatIsNotThereIsNamedWithItsPackage) {
  const Status missing = Libpq::LoadFrom("libpq-that-nobody-has.so").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("package libpq5"));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("libpq-that-nobody-has.so"));
  // One that is no client library.
  const Status other = Libpq::LoadFrom("libm.so.6").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("libm.so.6 has no function PQ"));
}

TEST(SqlStateTest, StatesHaveMeanings) {
  using absl::StatusCode;
  const std::pair<const char*, StatusCode> meanings[] = {
      {"", StatusCode::kUnavailable},
      {"08006", StatusCode::kUnavailable},
      {"57P01", StatusCode::kUnavailable},
      {"40001", StatusCode::kUnavailable},
      {"40P01", StatusCode::kUnavailable},
      {"25006", StatusCode::kUnavailable},
      {"55P03", StatusCode::kUnavailable},
      {"53100", StatusCode::kResourceExhausted},
      {"23505", StatusCode::kAlreadyExists},
      {"XX001", StatusCode::kFailedPrecondition},
      {"XX002", StatusCode::kFailedPrecondition},
      {"42501", StatusCode::kFailedPrecondition},
      {"28P01", StatusCode::kFailedPrecondition},
      {"42601", StatusCode::kInternal},
      {"23502", StatusCode::kInternal},
      {"22021", StatusCode::kInvalidArgument},
  };
  for (const auto& [state, code] : meanings) {
    EXPECT_EQ(StatusOfSqlState(state, "why").code(), code) << state;
  }
  EXPECT_EQ(StatusOfSqlState("53100", " no room\n").message(), "PostgreSQL: no room (53100)");
}

}  // namespace
}  // namespace mdh::postgres_address_test
