// A shared library opened at run time, so that one binary runs on hosts with and without it. Closed
// with the object; its functions must not be called after that. Move only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::sys {

class Library {
 public:
  // "libnvidia-ml.so.1", looked for where the loader looks, or a path.
  static Result<Library> open(const std::string& name);
  // Stays in memory when it is closed, as what has threads of its own must: they may outlive the
  // last call.
  static Result<Library> open_for_good(const std::string& name);

  // Null where it has no such function. Function is a type such as int(unsigned*).
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  // The file in which a function was found.
  std::optional<std::string> path_of(const char* function) const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  explicit Library(void* handle) : handle_(handle) {}
  static Result<Library> open(const std::string& name, int flags);
  void* symbol(const char* name) const;

  std::unique_ptr<void, Close> handle_;
};

}  // namespace chokepoint::sys
