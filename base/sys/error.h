// Errors are values: what failed (operation), on what (subject), why (reason, errno) and what to do
// about it (next_step). They travel in Result<T> and are printed once, by the command's dispatcher,
// in the one-line form of describe(). Values; safe on any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace chokepoint {

enum class ErrorKind {
  Usage,        // the caller asked for something that cannot be asked for
  NotFound,     // file, host, device or interface is not there
  Permission,   // it is there, and this process may not
  Refused,      // the other side refused
  Timeout,      // the other side did not answer
  Unreachable,  // no route, network down, link down
  Exhausted,    // disk, memory, descriptors, quota
  ReadOnly,     // a place that cannot be written to
  Busy,         // in use by another process or client
  Unsupported,  // this host, kernel or build cannot do it
  Malformed,    // data that is not what it should be
  Newer,        // data written by a newer version than this
  Interrupted,  // the user or the system asked to stop
  Io,           // anything else that went wrong underneath
};

struct Error {
  ErrorKind kind = ErrorKind::Io;
  std::string operation;
  std::string subject;
  int code = 0;  // errno, 0 where there is none
  std::string reason;
  std::string next_step = {};
};

template <class T = void>
using Result = std::expected<T, Error>;

// The one place that turns an errno into a kind and words.
Error from_errno(int code, std::string_view operation, std::string_view subject);

// "operation: subject: reason; next step", without what is empty.
std::string describe(const Error& error);

// The shorthand that lets a function fail in one line.
inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }
inline std::unexpected<Error> fail(ErrorKind kind, std::string_view operation,
                                   std::string_view subject, std::string_view reason,
                                   std::string_view next_step = {}) {
  return std::unexpected(Error{kind, std::string(operation), std::string(subject), 0,
                               std::string(reason), std::string(next_step)});
}

}  // namespace chokepoint

// Passes an error on to the caller of a function that returns a Result:
//   TRY(channel.send(message));                    a Result<>, or one whose value is not needed
//   TRY(const Message answer, channel.receive());  declares what the value is moved into
// The declaration must not contain a comma; use auto where its type does.
#define TRY(first, ...)                                                   \
  CHOKEPOINT_TRY_##__VA_OPT__(AND_DECLARE)(CHOKEPOINT_TRY_NAME(__LINE__), \
                                           first __VA_OPT__(, ) __VA_ARGS__)
#define CHOKEPOINT_TRY_(result, ...)                   \
  if (auto result = (__VA_ARGS__); !result) {          \
    return std::unexpected(std::move(result).error()); \
  }                                                    \
  static_assert(true)
#define CHOKEPOINT_TRY_AND_DECLARE(result, declaration, ...) \
  auto result = (__VA_ARGS__);                               \
  if (!result) {                                             \
    return std::unexpected(std::move(result).error());       \
  }                                                          \
  declaration = *std::move(result)
#define CHOKEPOINT_TRY_NAME(line) CHOKEPOINT_TRY_NAME_AT(line)
#define CHOKEPOINT_TRY_NAME_AT(line) try_result_##line
