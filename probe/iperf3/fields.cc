#include "probe/iperf3/fields.h"

#include <fmt/format.h>

#include <cmath>

namespace chokepoint::probe::iperf3 {
namespace {

// cJSON keeps every number as a double and prints -1 as 2^64-1 in some versions.
std::optional<double> as_number(const nlohmann::json& value) {
  if (!value.is_number()) {
    return std::nullopt;
  }
  const double number = value.get<double>();
  return number >= 18446744073709551615.0 ? -1.0 : number;
}

}  // namespace

Result<nlohmann::json> parse_object(std::string_view text, std::size_t most,
                                    std::string_view what) {
  if (text.size() > most) {
    return fail(ErrorKind::Malformed, "read", what,
                fmt::format("{} bytes where at most {} make sense", text.size(), most));
  }
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) {
    return fail(ErrorKind::Malformed, "read", what, "it is no JSON object");
  }
  return parsed;
}

const nlohmann::json* Fields::find(const char* name) {
  const auto found = object_.find(name);
  return error_ || found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::wrong(const char* name, std::string_view wanted) {
  if (!error_) {
    error_ = Error{.kind = ErrorKind::Malformed,
                   .operation = "read",
                   .subject = std::string(what_),
                   .reason = fmt::format("'{}' should be {}", name, wanted)};
  }
}

bool Fields::flag(const char* name) {
  const nlohmann::json* value = find(name);
  if (value != nullptr && !value->is_boolean() && !value->is_number()) {
    wrong(name, "true or false");
    return false;
  }
  return value != nullptr && (value->is_boolean() ? value->get<bool>() : value->get<double>() != 0);
}

std::optional<double> Fields::number(const char* name, double least, double most) {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> number = as_number(*value);
  if (!number || !std::isfinite(*number) || *number < least || *number > most) {
    wrong(name, fmt::format("a number from {} to {}", least, most));
    return std::nullopt;
  }
  return number;
}

std::optional<std::int64_t> Fields::integer(const char* name, std::int64_t least,
                                            std::int64_t most) {
  const std::optional<double> value =
      number(name, static_cast<double>(least), static_cast<double>(most));
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

std::optional<std::string> Fields::text(const char* name, std::size_t longest) {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string() || value->get_ref<const std::string&>().size() > longest) {
    wrong(name, fmt::format("a text of at most {} bytes", longest));
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::int64_t Fields::required_integer(const char* name, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> value = integer(name, least, most);
  if (!value) {
    wrong(name, "there");
  }
  return value.value_or(0);
}

double Fields::required_number(const char* name, double least, double most) {
  const std::optional<double> value = number(name, least, most);
  if (!value) {
    wrong(name, "there");
  }
  return value.value_or(0);
}

}  // namespace chokepoint::probe::iperf3
