#include "base/sys/error.h"

#include <array>
#include <cerrno>
#include <system_error>

namespace chokepoint {
namespace {

struct Meaning {
  int code;
  ErrorKind kind;
};

constexpr std::array kMeanings{
    Meaning{ENOENT, ErrorKind::NotFound},
    Meaning{ENODEV, ErrorKind::NotFound},
    Meaning{ENXIO, ErrorKind::NotFound},
    Meaning{ESRCH, ErrorKind::NotFound},
    Meaning{ENOTDIR, ErrorKind::NotFound},
    Meaning{EACCES, ErrorKind::Permission},
    Meaning{EPERM, ErrorKind::Permission},
    Meaning{ECONNREFUSED, ErrorKind::Refused},
    Meaning{ECONNRESET, ErrorKind::Refused},
    Meaning{EPIPE, ErrorKind::Refused},
    Meaning{ETIMEDOUT, ErrorKind::Timeout},
    Meaning{EHOSTUNREACH, ErrorKind::Unreachable},
    Meaning{ENETUNREACH, ErrorKind::Unreachable},
    Meaning{ENETDOWN, ErrorKind::Unreachable},
    Meaning{EADDRNOTAVAIL, ErrorKind::Unreachable},
    Meaning{ENOSPC, ErrorKind::Exhausted},
    Meaning{EDQUOT, ErrorKind::Exhausted},
    Meaning{ENOMEM, ErrorKind::Exhausted},
    Meaning{EMFILE, ErrorKind::Exhausted},
    Meaning{ENFILE, ErrorKind::Exhausted},
    Meaning{ENOBUFS, ErrorKind::Exhausted},
    Meaning{EROFS, ErrorKind::ReadOnly},
    Meaning{EBUSY, ErrorKind::Busy},
    Meaning{EADDRINUSE, ErrorKind::Busy},
    Meaning{EAGAIN, ErrorKind::Busy},
    Meaning{EOPNOTSUPP, ErrorKind::Unsupported},
    Meaning{ENOSYS, ErrorKind::Unsupported},
    Meaning{EAFNOSUPPORT, ErrorKind::Unsupported},
    Meaning{EPROTONOSUPPORT, ErrorKind::Unsupported},
    Meaning{ENOPROTOOPT, ErrorKind::Unsupported},
    Meaning{EINTR, ErrorKind::Interrupted},
    Meaning{ECANCELED, ErrorKind::Interrupted},
};

ErrorKind kind_of(int code) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code == code) {
      return meaning.kind;
    }
  }
  return ErrorKind::Io;
}

std::string words_of(int code) {
  std::string words = std::generic_category().message(code);
  // "Connection refused" stands in the middle of a line.
  if (words.size() > 1 && words[0] >= 'A' && words[0] <= 'Z' && words[1] >= 'a' &&
      words[1] <= 'z') {
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  }
  return words;
}

}  // namespace

Error from_errno(int code, std::string_view operation, std::string_view subject) {
  return {kind_of(code), std::string(operation), std::string(subject), code, words_of(code), {}};
}

std::string describe(const Error& error) {
  std::string line;
  for (const std::string* part : {&error.operation, &error.subject, &error.reason}) {
    if (!part->empty()) {
      line += line.empty() ? *part : ": " + *part;
    }
  }
  return error.next_step.empty() ? line : line + "; " + error.next_step;
}

}  // namespace chokepoint
