// A constant of the sources as a variable, in the tree that scripts/fit lays: it is listed with
// what it is by the sources, so that a process can multiply it. The thread that judges.
#pragma once

// What the compiler knew to fit, it does not know to fit any more.
#pragma GCC diagnostic ignored "-Wconversion"

#include <functional>
#include <string_view>
#include <vector>

namespace chokepoint::fit {

struct Constant {
  std::string_view key;  // "FILE:NAME"
  std::function<void(double factor)> multiply;
};

inline std::vector<Constant>& constants() {
  static std::vector<Constant> all;
  return all;
}

// Lists it, and returns its value. One of a function is listed when the function first runs.
template <class T, class ValueOf>
T listed(std::string_view key, T* variable, ValueOf value_of) {
  constants().push_back({key, [=](double factor) {
                           *variable =
                               factor == 1
                                   ? value_of()
                                   : static_cast<T>(static_cast<double>(value_of()) * factor);
                         }});
  return value_of();
}

}  // namespace chokepoint::fit
