// Errors are values: what failed (operation), on what (subject), why (reason, errno) and what to do
// about it (next_step). They travel in Result<T> and are printed once, by the command's dispatcher,
// in the one-line form of describe(). Values; safe on any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace chokepoint {

enum class ErrorKind {
  Usage,        // the caller asked for something that cannot be asked for
  NotFound,     // file, host, device or interface is not there
  Permission,   // it is there, and this process may not
  Refused,      // the other side said no
  Timeout,      // the other side said nothing
  Unreachable,  // no route, network down, link down
  Exhausted,    // disk, memory, descriptors, quota
  ReadOnly,     // a place that cannot be written to
  Busy,         // in use by somebody else
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
