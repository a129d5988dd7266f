// Reads the fields of a message's body with their types and bounds. The first that is missing or
// wrong is remembered and told by finish(); what was read until then is of no use. Optional fields
// may be absent or null, never of another type.
//
//   Fields in(body, "tcp request");
//   const Parameters parameters{.streams = in.integer("streams", 1, 128), …};
//   return in.finish(parameters);
//
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::control {

class Fields {
 public:
  Fields(const Json& body, std::string_view what) : body_(body), what_(what) {}

  std::int64_t integer(const char* name, std::int64_t least, std::int64_t most);
  std::optional<std::int64_t> maybe_integer(const char* name, std::int64_t least,
                                            std::int64_t most);
  double number(const char* name, double least, double most);
  std::optional<double> maybe_number(const char* name, double least, double most);
  bool boolean(const char* name);
  std::string text(const char* name, std::size_t longest);
  std::string text_or(const char* name, std::size_t longest, std::string fallback);
  const Json& object(const char* name);

  template <class T>
  Result<T> finish(T value) {
    if (error_) {
      return std::unexpected(std::move(*error_));
    }
    return value;
  }

 private:
  // Null where the field is absent, null itself, or something was wrong before.
  const Json* find(const char* name);
  void wrong(const char* name, const std::string& wanted);

  const Json& body_;
  std::string_view what_;
  std::optional<Error> error_;
};

}  // namespace chokepoint::control
