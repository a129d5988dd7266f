// libpq, PostgreSQL's client library, opened at run time: hosts without it can do without. The part
// of its interface that is used is declared here; it is the same since PostgreSQL 9.2. The build
// compares it with the library's own header where that is found (libpq_header_check.cc). Any
// thread.
#pragma once

#include <memory>

#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::history::libpq {

inline constexpr const char* kLibrary = "libpq.so.5";

using Connection = struct OpaqueConnection*;
using Answer = struct OpaqueAnswer*;
using ConstAnswer = const struct OpaqueAnswer*;
using ConstConnection = const struct OpaqueConnection*;

inline constexpr int kConnectionBad = 1;
inline constexpr int kPollingFailed = 0;
inline constexpr int kPollingReading = 1;
inline constexpr int kPollingOk = 3;
inline constexpr int kCommandOk = 1;
inline constexpr int kTuplesOk = 2;
inline constexpr int kSingleTuple = 9;
inline constexpr int kFieldState = 'C';
inline constexpr int kFieldMessage = 'M';
inline constexpr int kBinary = 1;

// One parameter of a URL; a list ends with one that has no keyword.
struct Option {
  char* keyword;
  char* variable;
  char* compiled;
  char* value;
  char* label;
  char* display;
  int size;
};

using Receiver = void (*)(void*, ConstAnswer);

struct Functions {
  Option* (*parse)(const char*, char**);
  void (*free_options)(Option*);
  void (*free_memory)(void*);
  Connection (*connect_start)(const char* const*, const char* const*, int);
  int (*connect_poll)(Connection);
  int (*status)(ConstConnection);
  int (*socket)(ConstConnection);
  void (*finish)(Connection);
  char* (*error_message)(ConstConnection);
  int (*set_nonblocking)(Connection, int);
  Receiver (*set_receiver)(Connection, Receiver, void*);
  int (*send_query)(Connection, const char*);
  int (*send_parameters)(Connection, const char*, int, const unsigned*, const char* const*,
                         const int*, const int*, int);
  int (*single_rows)(Connection);
  int (*flush)(Connection);
  int (*consume)(Connection);
  int (*is_busy)(Connection);
  Answer (*answer)(Connection);
  int (*answer_status)(ConstAnswer);
  char* (*answer_field)(ConstAnswer, int);
  char* (*answer_message)(ConstAnswer);
  int (*rows)(ConstAnswer);
  char* (*value)(ConstAnswer, int, int);
  int (*length)(ConstAnswer, int, int);
  int (*is_null)(ConstAnswer, int, int);
  void (*clear)(Answer);

  // The name of the first function that is missing; null: none is.
  const char* load(const sys::Library& library);
};

// Stays in memory: what it has opened in its turn (OpenSSL) may not be closed.
Result<std::shared_ptr<const Functions>> open(const char* name = kLibrary);

}  // namespace chokepoint::history::libpq
