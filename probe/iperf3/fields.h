// Reads the fields of a peer's JSON object with their types and bounds. The first that is wrong is
// remembered and told by `error`; what was read until then is of no use. Whatever iperf3 may leave
// out is optional here. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/sys/error.h"

namespace chokepoint::probe::iperf3 {

// An object of at most `most` bytes that is JSON and nothing else.
Result<nlohmann::json> parse_object(std::string_view text, std::size_t most, std::string_view what);

class Fields {
 public:
  Fields(const nlohmann::json& object, std::string_view what) : object_(object), what_(what) {}

  bool flag(const char* name);
  std::optional<std::int64_t> integer(const char* name, std::int64_t least, std::int64_t most);
  std::optional<double> number(const char* name, double least, double most);
  std::optional<std::string> text(const char* name, std::size_t longest);
  // The same, where the peer must give it.
  std::int64_t required_integer(const char* name, std::int64_t least, std::int64_t most);
  double required_number(const char* name, double least, double most);

  void wrong(const char* name, std::string_view wanted);
  const std::optional<Error>& error() const { return error_; }

 private:
  const nlohmann::json* find(const char* name);

  const nlohmann::json& object_;
  std::string_view what_;
  std::optional<Error> error_;
};

}  // namespace chokepoint::probe::iperf3
