// The functions of PostgreSQL's client library that are used, declared here: the library is loaded
// when a daemon is given a PostgreSQL server, so that building and all others need none.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"

// As libpq-fe.h of PostgreSQL 14 and later has them.
extern "C" {
struct pg_conn;
struct pg_result;
}

namespace mdh {

struct PgNotify {
  char* channel;
  int process;
  char* payload;
};

struct PgOption {
  char* keyword;
  char* environment;
  char* compiled;
  char* value;  // nullptr: none
  char* label;
  char* display;
  int size;
};

enum PgConnectionStatus { kPgConnectionOk = 0 };
enum PgResultStatus {
  kPgCommandOk = 1,
  kPgTuplesOk = 2,
  kPgCopyOut = 3,
  kPgPipelineSync = 10,
  kPgPipelineAborted = 11,
};
inline constexpr int kPgSqlState = 'C';

// Each has the name of its function in the library, without PQ.
struct Libpq {
  // Loads it once; later calls give the same. Errors: FailedPrecondition, naming the library and
  // its package.
  static Result<const Libpq*> Load();
  // From one of these names. Errors: as Load.
  static Result<std::unique_ptr<const Libpq>> LoadFrom(const std::string& name);

  pg_conn* (*connectdbParams)(const char* const* keywords, const char* const* values,
                              int expand_dbname) = nullptr;
  PgOption* (*conninfoParse)(const char* text, char** error) = nullptr;
  void (*conninfoFree)(PgOption* options) = nullptr;
  void (*finish)(pg_conn* connection) = nullptr;
  int (*status)(const pg_conn* connection) = nullptr;
  int (*serverVersion)(const pg_conn* connection) = nullptr;
  char* (*errorMessage)(const pg_conn* connection) = nullptr;
  int (*socket)(const pg_conn* connection) = nullptr;
  int (*sendPrepare)(pg_conn* connection, const char* name, const char* sql, int count,
                     const unsigned* types) = nullptr;
  int (*sendQueryPrepared)(pg_conn* connection, const char* name, int count,
                           const char* const* values, const int* lengths, const int* formats,
                           int result_format) = nullptr;
  int (*sendQuery)(pg_conn* connection, const char* sql) = nullptr;
  pg_result* (*getResult)(pg_conn* connection) = nullptr;
  int (*isBusy)(pg_conn* connection) = nullptr;
  int (*consumeInput)(pg_conn* connection) = nullptr;
  int (*enterPipelineMode)(pg_conn* connection) = nullptr;
  int (*exitPipelineMode)(pg_conn* connection) = nullptr;
  int (*pipelineSync)(pg_conn* connection) = nullptr;
  PgNotify* (*notifies)(pg_conn* connection) = nullptr;
  int (*getCopyData)(pg_conn* connection, char** buffer, int async) = nullptr;
  int (*resultStatus)(const pg_result* result) = nullptr;
  char* (*resultErrorField)(const pg_result* result, int field) = nullptr;
  char* (*resultErrorMessage)(const pg_result* result) = nullptr;
  int (*ntuples)(const pg_result* result) = nullptr;
  char* (*cmdTuples)(pg_result* result) = nullptr;
  char* (*getvalue)(const pg_result* result, int row, int column) = nullptr;
  int (*getlength)(const pg_result* result, int row, int column) = nullptr;
  int (*getisnull)(const pg_result* result, int row, int column) = nullptr;
  void (*clear)(pg_result* result) = nullptr;
  void (*freemem)(void* pointer) = nullptr;
  void (*(*setNoticeProcessor)(pg_conn* connection, void (*processor)(void*, const char*),
                               void* argument))(void*, const char*) = nullptr;
};

}  // namespace mdh
