// The JSON Schema (draft 2020-12) of what json::to_json writes of a struct that has Fields: types,
// descriptions, bounds, names of enums, which values may be null, and which fields every document
// has, an older version's too (those without or_default()).
//
//   json::schema_of<Interval>()   {"$schema": …, "type": "object", "properties": {"start_s":
//       {"description": "seconds since the test began", "type": "number", "minimum": 0}, …},
//       "required": ["start_s", …]}
//
// A struct within a struct is written out in place; what Fields<T>::wrong refuses is left out. A
// text's bound is in bytes, and maxLength counts characters: it allows no less. Pure functions.
#pragma once

#include "base/json/codec.h"

namespace chokepoint::json {

// Value is Json: it depends on a parameter so that it need not be complete here.
template <Described T, class Value = Json>
Value schema_of();

namespace detail {

void write_dialect(Json& at);
void write_description(Json& at, std::string_view text);
void write_type(Json& at, const char* type, bool is_nullable);
void write_names(Json& at, const std::vector<std::string_view>& names, bool is_nullable);
void write_number(Json& at, bool is_whole, const Bounds& bounds, bool is_nullable);
void write_text(Json& at, const Bounds& bounds, bool is_nullable);
void write_not_empty(Json& at);  // a text that is null instead
void write_form(Json& at, std::string_view format, std::string_view pattern);
Json& write_list(Json& at, const Bounds& bounds, bool is_nullable);  // where its items' schema goes
Json& write_map(Json& at, bool is_nullable);                         // likewise
// The fields that `describe` writes, of which an object has all or none.
void write_together(Json& object, const Bounds& bounds,
                    void (*describe)(Json& fields, const Bounds& bounds));
// Where the field's schema goes.
Json& write_property(Json& object, std::string_view name, bool is_required);

template <class T>
void describe_value(Json& at, const Bounds& bounds, bool is_nullable);

// `is_certain`: every document has those that have no or_default(). `are_nullable`: all may be
// null.
template <class T>
void describe_fields(Json& at, const Bounds& bounds, bool is_certain, bool are_nullable = false);

template <class T>
void describe_certain_fields(Json& at, const Bounds& bounds) {
  describe_fields<T>(at, bounds, true);
}

// With those that the type implies: that of 32 or 64 bits only whether it has a sign.
template <class T>
Bounds bounds_of_whole(Bounds bounds) {
  if constexpr (std::is_unsigned_v<T>) {
    bounds.least = std::max(bounds.least, 0.0);
  }
  if constexpr (sizeof(T) <= sizeof(std::int16_t)) {
    bounds.least = std::max<double>(bounds.least, std::numeric_limits<T>::min());
    bounds.most = std::min<double>(bounds.most, std::numeric_limits<T>::max());
  }
  return bounds;
}

template <class T, class F>
void describe_field(Json& object, const F& field, const Bounds& bounds, bool is_certain,
                    bool is_nullable) {
  if constexpr (kIsSpread<F>) {
    using Member = typename F::Member;
    if constexpr (kIsOptional<Member>) {
      if (field.is_null_if_unknown) {
        return describe_fields<typename Member::value_type>(object, bounds, is_certain, true);
      }
      write_together(object, bounds, describe_certain_fields<typename Member::value_type>);
    } else {
      describe_fields<Member>(object, bounds, is_certain, is_nullable);
    }
  } else if constexpr (kIsComputed<F>) {
    Json& at = write_property(object, field.name, is_certain);
    write_description(at, field.text);
    using Value = std::remove_cvref_t<std::invoke_result_t<decltype(field.value), const T&>>;
    describe_value<Value>(at, field.bounds, is_nullable || field.is_null_if_empty);
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      if (field.is_null_if_empty) {
        write_not_empty(at);
      }
    }
  } else {
    using Member = typename F::Member;
    const bool is_written_null = field.is_null_if_empty;
    Json& at =
        write_property(object, field.name, is_certain && (is_written_null || !field.may_be_absent));
    write_description(at, field.text);
    Bounds own = field.bounds;
    if constexpr (!kIsWhole<Member>) {
      own.least = std::max(own.least, bounds.least);
      own.most = std::min(own.most, bounds.most);
    }
    if constexpr (kIsDuration<Member>) {
      if (field.is_in_seconds) {
        return write_number(at, false, own, is_nullable);
      }
    }
    if constexpr (kIsOptional<Member>) {
      if (field.is_omitted_if_unknown) {
        return describe_value<typename Member::value_type>(at, own, is_nullable);
      }
    }
    describe_value<Member>(at, own, is_nullable || is_written_null);
    if constexpr (std::is_convertible_v<const Member&, std::string_view>) {
      if (is_written_null) {
        write_not_empty(at);
      }
    }
  }
}

template <class T>
void describe_value(Json& at, const Bounds& bounds, bool is_nullable) {
  if constexpr (std::is_same_v<T, bool>) {
    write_type(at, "boolean", is_nullable);
  } else if constexpr (Formed<T>) {
    JsonForm<T>::describe(at, is_nullable);
  } else if constexpr (Named<T>) {
    std::vector<std::string_view> names;
    for (const auto& [value, name] : EnumNames<T>::kNames) {
      names.push_back(name);
    }
    write_names(at, names, is_nullable);
  } else if constexpr (Textual<T>) {
    write_description(at, TextForm<T>::kWhat);
    write_text(at, bounds, is_nullable);
    if constexpr (requires { TextForm<T>::kPattern; }) {
      write_form(at, TextForm<T>::kFormat, TextForm<T>::kPattern);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    write_number(at, false, bounds, is_nullable);
  } else if constexpr (std::is_integral_v<T>) {
    write_number(at, true, bounds_of_whole<T>(bounds), is_nullable);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    write_text(at, bounds, is_nullable);
  } else if constexpr (kIsDuration<T>) {
    describe_value<typename T::rep>(at, bounds, is_nullable);
  } else if constexpr (kIsOptional<T>) {
    describe_value<typename T::value_type>(at, bounds, true);
  } else if constexpr (kIsList<T>) {
    describe_value<typename T::value_type>(write_list(at, bounds, is_nullable), bounds, false);
  } else if constexpr (kIsTextMap<T>) {
    describe_value<typename T::mapped_type>(write_map(at, is_nullable), bounds, false);
  } else {
    static_assert(Described<T>, "neither a value that JSON has nor a struct with Fields");
    constexpr bool kMayBeUnknown = requires(const T& value) { Fields<T>::is_unknown(value); };
    write_type(at, "object", is_nullable || kMayBeUnknown);
    describe_fields<T>(at, bounds, true);
  }
}

template <class T>
void describe_fields(Json& at, const Bounds& bounds, bool is_certain, bool are_nullable) {
  each_field<T>(
      [&](const auto& field) { describe_field<T>(at, field, bounds, is_certain, are_nullable); });
}

}  // namespace detail

template <Described T, class Value>
Value schema_of() {
  return detail::made(
      [](Json& at, const void*) {
        detail::write_dialect(at);
        detail::describe_value<T>(at, Bounds{}, false);
      },
      nullptr);
}

}  // namespace chokepoint::json
