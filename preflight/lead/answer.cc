#include "preflight/lead/answer.h"

#include <fmt/format.h>

#include <cmath>

namespace chokepoint::preflight::lead {

using control::Json;

Answer::Answer(const Json& document, std::string_view schema)
    : document_(document), schema_(schema) {
  const Json* said = document.is_object() ? find("schema") : nullptr;
  if (said == nullptr || *said != schema) {
    wrong("schema", schema);
  }
}

const Json* Answer::find(std::string_view place) {
  const Json* at = &document_;
  for (std::string_view left = place; !left.empty();) {
    const std::size_t dot = left.find('.');
    const std::string name(left.substr(0, dot));
    left = dot == std::string_view::npos ? "" : left.substr(dot + 1);
    if (!at->is_object()) {
      wrong(place, "an object");
      return nullptr;
    }
    const auto field = at->find(name);
    if (error_ || field == at->end() || field->is_null()) {
      return nullptr;
    }
    at = &*field;
  }
  return at;
}

void Answer::wrong(std::string_view place, std::string_view wanted) {
  if (!error_) {
    error_ = Error{.kind = ErrorKind::Malformed,
                   .operation = "read answer",
                   .subject = fmt::format("{}, '{}'", schema_, place),
                   .reason = fmt::format("wanted {}", wanted),
                   .next_step = "is the agent there this program's?"};
  }
}

std::optional<double> Answer::number(std::string_view place, double least, double most) {
  const Json* field = find(place);
  if (field == nullptr) {
    return std::nullopt;
  }
  const double value = field->is_number() ? field->get<double>() : std::nan("");
  // What is no number is in no range.
  const bool fits = value >= least && value <= most;
  if (!fits) {
    wrong(place, fmt::format("a number from {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> Answer::integer(std::string_view place, std::int64_t most) {
  const Json* field = find(place);
  if (field == nullptr) {
    return std::nullopt;
  }
  // Numbers that were read are unsigned unless they are negative; those made here may be signed.
  const bool fits = field->is_number_integer() &&
                    (field->is_number_unsigned() || field->get<std::int64_t>() >= 0) &&
                    field->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) {
    wrong(place, fmt::format("a whole number from 0 to {}", most));
    return std::nullopt;
  }
  return field->get<std::int64_t>();
}

Figure Answer::figure(std::string_view place, double least, double most) {
  const std::optional<double> value = number(place, least, most);
  return value ? Figure(static_cast<float>(*value)) : std::nullopt;
}

std::string Answer::text(std::string_view place, std::size_t longest) {
  const Json* field = find(place);
  if (field == nullptr) {
    return {};
  }
  if (!field->is_string() || field->get_ref<const std::string&>().size() > longest) {
    wrong(place, fmt::format("a text of at most {} bytes", longest));
    return {};
  }
  return field->get<std::string>();
}

std::optional<bool> Answer::boolean(std::string_view place) {
  const Json* field = find(place);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_boolean()) {
    wrong(place, "true or false");
    return std::nullopt;
  }
  return field->get<bool>();
}

const Json& Answer::list(std::string_view place, std::size_t most) {
  static const Json none = Json::array();
  const Json* field = find(place);
  if (field == nullptr) {
    return none;
  }
  if (!field->is_array() || field->size() > most) {
    wrong(place, fmt::format("a list of at most {}", most));
    return none;
  }
  return *field;
}

Result<> Answer::finish() const {
  if (error_) {
    return std::unexpected(*error_);
  }
  return {};
}

}  // namespace chokepoint::preflight::lead
