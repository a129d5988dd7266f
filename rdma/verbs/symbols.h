// Finds many functions of one library and tells of the first that it lacks. Lives while they are
// looked up.
#pragma once

#include <string>

#include "base/sys/library.h"

namespace chokepoint::rdma::verbs {

class Symbols {
 public:
  explicit Symbols(const sys::Library& library) : library_(library) {}

  template <class Function>
  void need(Function*& into, const char* name) {
    want(into, name);
    if (into == nullptr && missing_.empty()) {
      missing_ = name;
    }
  }
  template <class Function>
  void want(Function*& into, const char* name) {
    into = library_.function<Function>(name);
  }

  // Empty: everything that is needed is there.
  const std::string& missing() const { return missing_; }

 private:
  const sys::Library& library_;
  std::string missing_;
};

}  // namespace chokepoint::rdma::verbs
