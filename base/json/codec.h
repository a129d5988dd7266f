// JSON of structs that have Fields (base/json/fields.h), both ways. Writing never fails. Reading
// trusts nothing: types, bounds, lengths and depth are checked, unknown fields are passed
// over, and the first thing wrong is an Error that names its place:
//
//   json::to_json(parameters)                             {"direction": "send", "streams": 4, …}
//   json::from_json<Parameters>(body, "tcp request")      Result<Parameters>
//       read message: tcp request 'intervals[3].bytes': wanted a whole number from 0 to 1000000
//
// A struct's Fields may say more:
//   static bool is_unknown(const T&)     such a value is written as null, and null read as T{}
//   static const char* wrong(const T&)   why a value that was read makes no sense as a whole, or
//   null
//
// Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/json/fields.h"
#include "base/sys/error.h"

namespace chokepoint::json {

// Keys keep the order in which they are set, so that documents read as the contract lists them.
using Json = nlohmann::ordered_json;

// Whose numbers they are.
enum class Dialect : std::uint8_t {
  Strict,  // our own
  CJson,   // cJSON's (iperf3): a whole number may be written as a real one, a truth as a number
};

// Value is Json: it depends on a parameter so that it need not be complete here.
template <Described T, class Value = Json>
Value to_json(const T& value);
template <Described T, class Value = Json>
Value to_json(const std::vector<T>& values);

template <class T>
Result<T> from_json(const Json& json, std::string_view what, Dialect dialect = Dialect::Strict);

// One field of an object, which must be there.
template <class T>
Result<T> field_in(const Json& object, const char* name, std::string_view what,
                   const Bounds& bounds = {});

// Objects and lists in one another that a text may have: what walks through them may call itself.
inline constexpr int kMaxDepth = 64;

// A text from a peer or a file that must be one JSON object, of at most kMaxDepth levels.
Result<Json> parse_object(std::string_view text, std::size_t most_bytes, std::string_view what);

// Of a text from a file that another program wrote: null where it is no such object, or too long.
inline constexpr std::size_t kMaxTextBytes = 16 << 20;
Json object_or_null(std::string_view text);

// What the templates below stand on.
namespace detail {

void write(Json& at, bool value);
void write(Json& at, std::int64_t value);
void write(Json& at, std::uint64_t value);
void write(Json& at, double value);
void write(Json& at, std::string_view value);
void write_empty_list(Json& at);
void write_empty_object(Json& at);
Json& added_field(Json& object, std::string_view name);
Json& added_item(Json& list);

// Where a value stands: a field of an object or an item of a list.
struct Place {
  const Place* above = nullptr;
  std::string_view field = {};
  std::size_t item = 0;
};

class Reader {
 public:
  Reader(std::string_view what, Dialect dialect) : what_(what), dialect_(dialect) {}

  bool boolean(const Json& json, const Place& place);
  double number(const Json& json, const Bounds& bounds, const Place& place);
  // Within the bounds and within the member's own type.
  std::int64_t whole(const Json& json, const Bounds& bounds, std::int64_t least, std::int64_t most,
                     const Place& place);
  std::uint64_t natural(const Json& json, const Bounds& bounds, std::uint64_t most,
                        const Place& place);
  const std::string& text(const Json& json, const Bounds& bounds, const Place& place);
  // 0 where it is no list, or too long a one.
  std::size_t items(const Json& json, const Bounds& bounds, const Place& place);
  bool is_object(const Json& json, const Place& place);

  void wrong(const Place& place, std::string_view wanted);
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view what_;
  Dialect dialect_;
  std::optional<Error> error_;
};

bool is_null(const Json& json);
const Json* found(const Json& object, const char* name);  // null where absent
const Json& item_of(const Json& list, std::size_t index);
void each_entry(const Json& object, const void* context,
                void (*visit)(const void* context, const std::string& key, const Json& value));

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsWhole = std::is_integral_v<T>;
template <class T>
constexpr bool kIsWhole<std::optional<T>> = kIsWhole<T>;
template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;
template <class T>
constexpr bool kIsTextMap = false;
template <class T>
constexpr bool kIsTextMap<std::map<std::string, T>> = true;
template <class T>
constexpr bool kIsDuration = false;
template <class R, class P>
constexpr bool kIsDuration<std::chrono::duration<R, P>> = true;

template <class T>
void write_any(Json& at, const T& value);

// Those of a member that is not known.
template <class T>
void add_nulls(Json& at) {
  each_field<T>([&](const auto& field) {
    using Of = std::remove_cvref_t<decltype(field)>;
    if constexpr (kIsSpread<Of>) {
      add_nulls<typename Of::Member>(at);
    } else {
      added_field(at, field.name);
    }
  });
}

// One function for all members of a type: a struct's own code is a call for each field.
template <class Member>
[[gnu::noinline]] void write_field(Json& object, const Member& member, const FieldRule& rule) {
  if constexpr (kIsOptional<Member>) {
    if (rule.is_omitted_if_unknown && !member) {
      return;
    }
  }
  Json& into = added_field(object, rule.name);
  if constexpr (requires { member.empty(); }) {
    if (rule.is_null_if_empty && member.empty()) {
      return;
    }
  }
  if constexpr (kIsDuration<Member>) {
    if (rule.is_in_seconds) {
      return write_any(into, std::chrono::duration<double>(member));
    }
  }
  write_any(into, member);
}

// Among the fields that the object has already.
template <class T>
void add_fields(Json& at, const T& value) {
  each_field<T>([&](const auto& field) {
    using Of = std::remove_cvref_t<decltype(field)>;
    if constexpr (kIsSpread<Of>) {
      const auto& member = value.*field.member;
      if constexpr (kIsOptional<typename Of::Member>) {
        if (member) {
          add_fields(at, *member);
        } else if (field.is_null_if_unknown) {
          add_nulls<typename Of::Member::value_type>(at);
        }
      } else {
        add_fields(at, member);
      }
    } else if constexpr (kIsComputed<Of>) {
      const auto computed = field.value(value);
      Json& into = added_field(at, field.name);
      if constexpr (requires { computed.empty(); }) {
        if (field.is_null_if_empty && computed.empty()) {
          return;
        }
      }
      write_any(into, computed);
    } else {
      write_field(at, std::invoke(field.member, value), field);
    }
  });
}

template <class T>
void write_fields(Json& at, const T& value) {
  if constexpr (requires { Fields<T>::is_unknown(value); }) {
    if (Fields<T>::is_unknown(value)) {
      return;
    }
  }
  write_empty_object(at);
  add_fields(at, value);
}

template <class T>
void write_any(Json& at, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    write(at, value);
  } else if constexpr (Formed<T>) {
    JsonForm<T>::write(at, value);
  } else if constexpr (Named<T>) {
    write(at, chokepoint::name_of<T>(value));
  } else if constexpr (Textual<T>) {
    write(at, std::string_view(TextForm<T>::text(value)));
  } else if constexpr (std::is_floating_point_v<T>) {
    write(at, static_cast<double>(value));
  } else if constexpr (std::is_unsigned_v<T>) {
    write(at, static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    write(at, static_cast<std::int64_t>(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    write(at, std::string_view(value));
  } else if constexpr (kIsDuration<T>) {
    write_any(at, value.count());
  } else if constexpr (kIsOptional<T>) {
    if (value) {
      write_any(at, *value);
    }
  } else if constexpr (kIsList<T>) {
    write_empty_list(at);
    for (const auto& item : value) {
      write_any(added_item(at), item);
    }
  } else if constexpr (kIsTextMap<T>) {
    write_empty_object(at);
    for (const auto& [key, item] : value) {
      write_any(added_field(at, key), item);
    }
  } else {
    static_assert(Described<T>, "neither a value that JSON has nor a struct with Fields");
    write_fields(at, value);
  }
}

template <class T>
void read_any(Reader& in, const Json& json, T& into, const Bounds& bounds, const Place& place);

template <class T, class Of>
void read_spread(Reader& in, const Json& json, T& into, const Of& field, const Bounds& bounds,
                 const Place& place) {
  auto& member = into.*field.member;
  if constexpr (kIsOptional<typename Of::Member>) {
    using Spread = typename Of::Member::value_type;
    const Json* const first = found(json, Fields<Spread>::kList.first().name);
    if (first != nullptr && !(field.is_null_if_unknown && is_null(*first))) {
      read_any(in, json, member.emplace(), bounds, place);
    }
  } else {
    read_any(in, json, member, bounds, place);
  }
}

template <class Member>
[[gnu::noinline]] void read_field(Reader& in, const Json& object, Member& member,
                                  const FieldRule& rule, const Bounds& bounds, const Place& place) {
  if (in.error()) {
    return;
  }
  const Place here{&place, rule.name};
  const Json* at = found(object, rule.name);
  constexpr bool kMayBeNull = kIsOptional<Member>;
  if (at == nullptr || (is_null(*at) && (kMayBeNull || rule.is_null_if_empty))) {
    if (at == nullptr && !kMayBeNull && !rule.may_be_absent) {
      in.wrong(here, "it to be there");
    }
    return;
  }
  Bounds own = rule.bounds;
  if constexpr (!kIsWhole<Member>) {
    own.least = std::max(own.least, bounds.least);
    own.most = std::min(own.most, bounds.most);
  }
  if constexpr (kIsDuration<Member>) {
    if (rule.is_in_seconds) {
      std::chrono::duration<double> seconds{};
      read_any(in, *at, seconds, own, here);
      member = std::chrono::duration_cast<Member>(seconds);
      return;
    }
  }
  read_any(in, *at, member, own, here);
}

template <class T>
void read_fields(Reader& in, const Json& json, T& into, const Bounds& bounds, const Place& place) {
  if constexpr (requires { Fields<T>::is_unknown(into); }) {
    if (is_null(json)) {
      return;
    }
  }
  if (!in.is_object(json, place)) {
    return;
  }
  each_field<T>([&](const auto& field) {
    using Of = std::remove_cvref_t<decltype(field)>;
    if constexpr (kIsSpread<Of>) {
      read_spread(in, json, into, field, bounds, place);
    } else if constexpr (!kIsComputed<Of>) {
      read_field(in, json, std::invoke(field.member, into), field, bounds, place);
    }
  });
  if constexpr (requires { Fields<T>::wrong(into); }) {
    if (const char* why = in.error() ? nullptr : Fields<T>::wrong(into)) {
      in.wrong(place, why);
    }
  }
}

template <class T>
void read_list(Reader& in, const Json& json, T& into, const Bounds& bounds, const Place& place) {
  const std::size_t count = in.items(json, bounds, place);
  into.clear();  // of what the struct begins with
  into.reserve(count);
  for (std::size_t i = 0; i < count && !in.error(); ++i) {
    read_any(in, item_of(json, i), into.emplace_back(), bounds, Place{&place, {}, i});
  }
}

template <class T>
void read_text_map(Reader& in, const Json& json, T& into, const Bounds& bounds,
                   const Place& place) {
  struct Context {
    Reader& in;
    T& into;
    const Bounds& bounds;
    const Place& place;
  } context{in, into, bounds, place};
  into.clear();  // of what the struct begins with
  if (in.is_object(json, place)) {
    each_entry(json, &context, [](const void* with, const std::string& key, const Json& value) {
      const Context& to = *static_cast<const Context*>(with);
      if (!to.in.error()) {
        read_any(to.in, value, to.into[key], to.bounds, Place{&to.place, key});
      }
    });
  }
}

template <class T>
void read_any(Reader& in, const Json& json, T& into, const Bounds& bounds, const Place& place) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    into = in.boolean(json, place);
  } else if constexpr (Formed<T>) {
    if (auto parsed = JsonForm<T>::parsed(json)) {
      into = *std::move(parsed);
    } else {
      in.wrong(place, JsonForm<T>::kWhat);
    }
  } else if constexpr (Named<T>) {
    const std::string& name = in.text(json, bounds, place);
    if (const auto value = named<T>(name)) {
      into = *value;
    } else if constexpr (requires { EnumNames<T>::kOtherwise; }) {
      into = EnumNames<T>::kOtherwise;
    } else {
      in.wrong(place, EnumNames<T>::kWhat);
    }
  } else if constexpr (Textual<T>) {
    if (auto parsed = TextForm<T>::parsed(in.text(json, bounds, place))) {
      into = *std::move(parsed);
    } else {
      in.wrong(place, TextForm<T>::kWhat);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    into = static_cast<T>(in.number(json, bounds, place));
  } else if constexpr (std::is_unsigned_v<T>) {
    into = static_cast<T>(in.natural(json, bounds, Limits::max(), place));
  } else if constexpr (std::is_integral_v<T>) {
    into = static_cast<T>(in.whole(json, bounds, Limits::min(), Limits::max(), place));
  } else if constexpr (std::is_same_v<T, std::string>) {
    into = in.text(json, bounds, place);
  } else if constexpr (kIsDuration<T>) {
    typename T::rep count{};
    read_any(in, json, count, bounds, place);
    into = T(count);
  } else if constexpr (kIsOptional<T>) {
    if (!is_null(json)) {
      read_any(in, json, into.emplace(), bounds, place);
    }
  } else if constexpr (kIsList<T>) {
    read_list(in, json, into, bounds, place);
  } else if constexpr (kIsTextMap<T>) {
    read_text_map(in, json, into, bounds, place);
  } else {
    static_assert(Described<T>, "neither a value that JSON has nor a struct with Fields");
    read_fields(in, json, into, bounds, place);
  }
}

Json made(void (*write)(Json& at, const void* value), const void* value);

}  // namespace detail

template <Described T, class Value>
Value to_json(const T& value) {
  return detail::made(
      [](Json& at, const void* from) { detail::write_fields(at, *static_cast<const T*>(from)); },
      &value);
}

template <Described T, class Value>
Value to_json(const std::vector<T>& values) {
  return detail::made(
      [](Json& at, const void* from) {
        detail::write_any(at, *static_cast<const std::vector<T>*>(from));
      },
      &values);
}

template <class T>
Result<T> from_json(const Json& json, std::string_view what, Dialect dialect) {
  detail::Reader in(what, dialect);
  T value{};
  detail::read_any(in, json, value, Bounds{}, detail::Place{});
  if (in.error()) {
    return std::unexpected(*in.error());
  }
  return value;
}

template <class T>
Result<T> field_in(const Json& object, const char* name, std::string_view what,
                   const Bounds& bounds) {
  detail::Reader in(what, Dialect::Strict);
  const detail::Place top;
  const detail::Place here{&top, name};
  T value{};
  if (const Json* at = detail::found(object, name)) {
    detail::read_any(in, *at, value, bounds, here);
  } else {
    in.wrong(here, "it to be there");
  }
  if (in.error()) {
    return std::unexpected(*in.error());
  }
  return value;
}

}  // namespace chokepoint::json
