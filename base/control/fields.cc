#include "base/control/fields.h"

#include <fmt/format.h>

#include <cmath>

namespace chokepoint::control {

const Json* Fields::find(const char* name) {
  const auto at = body_.find(name);
  return error_ || at == body_.end() || at->is_null() ? nullptr : &*at;
}

void Fields::wrong(const char* name, const std::string& wanted) {
  if (!error_) {
    error_ = Error{.kind = ErrorKind::Malformed,
                   .operation = "read message",
                   .subject = fmt::format("{} '{}'", what_, name),
                   .reason = fmt::format("wanted {}", wanted)};
  }
}

std::optional<std::int64_t> Fields::maybe_integer(const char* name, std::int64_t least,
                                                  std::int64_t most) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  const bool fits = field->is_number_integer() &&
                    (!field->is_number_unsigned() || field->get<std::uint64_t>() <= INT64_MAX);
  if (!fits || field->get<std::int64_t>() < least || field->get<std::int64_t>() > most) {
    wrong(name, fmt::format("a whole number from {} to {}", least, most));
    return std::nullopt;
  }
  return field->get<std::int64_t>();
}

std::int64_t Fields::integer(const char* name, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> value = maybe_integer(name, least, most);
  if (!value) {
    wrong(name, fmt::format("a whole number from {} to {}", least, most));
  }
  return value.value_or(least);
}

std::optional<double> Fields::maybe_number(const char* name, double least, double most) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  const double value = field->is_number() ? field->get<double>() : std::nan("");
  const bool fits = value >= least && value <= most;
  if (!fits) {
    wrong(name, fmt::format("a number from {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

double Fields::number(const char* name, double least, double most) {
  const std::optional<double> value = maybe_number(name, least, most);
  if (!value) {
    wrong(name, fmt::format("a number from {} to {}", least, most));
  }
  return value.value_or(least);
}

bool Fields::boolean(const char* name) {
  const Json* field = find(name);
  if (field == nullptr || !field->is_boolean()) {
    wrong(name, "true or false");
    return false;
  }
  return field->get<bool>();
}

std::string Fields::text(const char* name, std::size_t longest) {
  const Json* field = find(name);
  if (field == nullptr || !field->is_string() ||
      field->get_ref<const std::string&>().size() > longest) {
    wrong(name, fmt::format("a text of at most {} bytes", longest));
    return {};
  }
  return field->get<std::string>();
}

std::string Fields::text_or(const char* name, std::size_t longest, std::string fallback) {
  return find(name) == nullptr ? std::move(fallback) : text(name, longest);
}

const Json& Fields::object(const char* name) {
  static const Json empty = Json::object();
  const Json* field = find(name);
  if (field == nullptr || !field->is_object()) {
    wrong(name, "an object");
    return empty;
  }
  return *field;
}

}  // namespace chokepoint::control
