#include "base/json/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

namespace chokepoint::json {
namespace {

std::string path_of(const detail::Place& place) {
  if (place.above == nullptr) {
    return {};
  }
  const std::string above = path_of(*place.above);
  if (place.field.empty()) {
    return fmt::format("{}[{}]", above, place.item);
  }
  return above.empty() ? std::string(place.field) : fmt::format("{}.{}", above, place.field);
}

constexpr int kMaxKeys = 4096;  // of an object: each is searched for among those before it

bool is_bounded(double bound) { return std::isfinite(bound); }

// In words, as far as there are bounds.
std::string range_text(const char* what, double least, double most) {
  if (is_bounded(least) && is_bounded(most)) {
    return fmt::format("{} from {} to {}", what, least, most);
  }
  return is_bounded(least)  ? fmt::format("{} of at least {}", what, least)
         : is_bounded(most) ? fmt::format("{} of at most {}", what, most)
                            : std::string(what);
}

// cJSON keeps every number as a double, and some versions print -1 as 2^64-1.
double number_of_cjson(double number) { return number >= 18446744073709551615.0 ? -1.0 : number; }

}  // namespace

Result<Json> parse_object(std::string_view text, std::size_t most_bytes, std::string_view what) {
  if (text.size() > most_bytes) {
    return fail(ErrorKind::Malformed, "read", what,
                fmt::format("{} bytes where at most {} make sense", text.size(), most_bytes));
  }
  bool is_too_deep = false;
  bool has_too_many_keys = false;
  std::array<int, kMaxDepth + 1> keys{};  // so far, of the object at each depth
  const auto look = [&](int depth, Json::parse_event_t event, Json&) {
    using enum Json::parse_event_t;
    is_too_deep =
        is_too_deep || (depth >= kMaxDepth && (event == object_start || event == array_start));
    if (is_too_deep) {
      return false;
    }
    if (event == object_start) {
      keys.at(static_cast<std::size_t>(depth) + 1) = 0;
    } else if (event == key) {
      has_too_many_keys =
          has_too_many_keys || ++keys.at(static_cast<std::size_t>(depth)) > kMaxKeys;
    }
    return !has_too_many_keys;
  };
  Json parsed = Json::parse(text, look, false);
  if (is_too_deep || has_too_many_keys) {
    return fail(ErrorKind::Malformed, "read", what,
                is_too_deep ? fmt::format("it is nested deeper than {}", kMaxDepth)
                            : fmt::format("an object in it has more than {} keys", kMaxKeys));
  }
  if (!parsed.is_object()) {
    return fail(ErrorKind::Malformed, "read", what, "it is no JSON object");
  }
  return parsed;
}

Json object_or_null(std::string_view text) {
  return parse_object(text, kMaxTextBytes, "text").value_or(Json());
}

namespace detail {

void write(Json& at, bool value) { at = value; }
void write(Json& at, std::int64_t value) { at = value; }
void write(Json& at, std::uint64_t value) { at = value; }
void write(Json& at, double value) { at = value; }
void write(Json& at, std::string_view value) { at = value; }
void write_empty_list(Json& at) { at = Json::array(); }
void write_empty_object(Json& at) { at = Json::object(); }
Json& added_field(Json& object, std::string_view name) { return object[std::string(name)]; }
Json& added_item(Json& list) { return list.emplace_back(); }

bool is_null(const Json& json) { return json.is_null(); }

const Json* found(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

const Json& item_of(const Json& list, std::size_t index) { return list[index]; }

void each_entry(const Json& object, const void* context,
                void (*visit)(const void*, const std::string&, const Json&)) {
  for (const auto& [key, value] : object.items()) {
    visit(context, key, value);
  }
}

Json made(void (*write)(Json& at, const void* value), const void* value) {
  Json json;
  write(json, value);
  return json;
}

void Reader::wrong(const Place& place, std::string_view wanted) {
  if (!error_) {
    const std::string path = path_of(place);
    error_ =
        Error{.kind = ErrorKind::Malformed,
              .operation = "read message",
              .subject = path.empty() ? std::string(what_) : fmt::format("{} '{}'", what_, path),
              .reason = fmt::format("wanted {}", wanted)};
  }
}

bool Reader::boolean(const Json& json, const Place& place) {
  if (json.is_boolean()) {
    return json.get<bool>();
  }
  if (dialect_ == Dialect::CJson && json.is_number()) {
    return json.get<double>() != 0;
  }
  wrong(place, "true or false");
  return false;
}

double Reader::number(const Json& json, const Bounds& bounds, const Place& place) {
  double number = json.is_number() ? json.get<double>() : std::nan("");
  if (dialect_ == Dialect::CJson) {
    number = number_of_cjson(number);
  }
  // What is no number is in no range.
  const bool fits = std::isfinite(number) && number >= bounds.least && number <= bounds.most;
  if (!fits) {
    wrong(place, range_text("a number", bounds.least, bounds.most));
    return 0;
  }
  return number;
}

std::int64_t Reader::whole(const Json& json, const Bounds& bounds, std::int64_t least,
                           std::int64_t most, const Place& place) {
  const bool is_small =
      json.is_number_unsigned() ? json.get<std::uint64_t>() <= INT64_MAX : json.is_number_integer();
  std::int64_t value = is_small ? json.get<std::int64_t>() : 0;
  bool fits = is_small;
  if (dialect_ == Dialect::CJson && !is_small && json.is_number()) {
    const double number = number_of_cjson(json.get<double>());
    fits = std::abs(number) <= 9007199254740992.0;  // 2^53: what a double counts exactly
    value = fits ? static_cast<std::int64_t>(number) : 0;
  }
  const auto bounded = static_cast<double>(value);
  if (!fits || value < least || value > most || bounded < bounds.least || bounded > bounds.most) {
    const double top =
        most < INT64_MAX ? std::min(bounds.most, static_cast<double>(most)) : bounds.most;
    wrong(place, range_text("a whole number", bounds.least, top));
    return 0;
  }
  return value;
}

std::uint64_t Reader::natural(const Json& json, const Bounds& bounds, std::uint64_t most,
                              const Place& place) {
  const Bounds from_0{.least = std::max(0.0, bounds.least), .most = bounds.most};
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX &&
      dialect_ == Dialect::Strict) {
    const auto value = json.get<std::uint64_t>();
    if (value > most || static_cast<double>(value) > bounds.most) {
      wrong(place, range_text("a whole number", from_0.least, bounds.most));
      return 0;
    }
    return value;
  }
  const auto most_signed =
      static_cast<std::int64_t>(std::min<std::uint64_t>(most, std::uint64_t{INT64_MAX}));
  return static_cast<std::uint64_t>(whole(json, from_0, 0, most_signed, place));
}

const std::string& Reader::text(const Json& json, const Bounds& bounds, const Place& place) {
  static const std::string none;
  if (!json.is_string() || json.get_ref<const std::string&>().size() > bounds.longest) {
    wrong(place, fmt::format("a text of at most {} bytes", bounds.longest));
    return none;
  }
  return json.get_ref<const std::string&>();
}

std::size_t Reader::items(const Json& json, const Bounds& bounds, const Place& place) {
  if (!json.is_array() || json.size() > bounds.most_items) {
    wrong(place, fmt::format("a list of at most {}", bounds.most_items));
    return 0;
  }
  return json.size();
}

bool Reader::is_object(const Json& json, const Place& place) {
  if (!json.is_object()) {
    wrong(place, "an object");
  }
  return json.is_object();
}

}  // namespace detail
}  // namespace chokepoint::json
