// One description of a struct's fields: name, unit, bounds, and what each means. From it follow the
// struct's JSON both ways (base/json/codec.h), its columns in the run record and in CSV, and its
// table in docs/reference.
//
//   struct Interval { double start_s = 0; std::optional<std::uint64_t> retransmits = {}; };
//   template <> struct chokepoint::Fields<Interval> {
//     static constexpr FieldList kList{
//         field("start_s", &Interval::start_s, "seconds since the test began").at_least(0),
//         field("retransmits", &Interval::retransmits, "segments retransmitted"),
//     };
//   };
//
// The rest follows from a member's type: std::optional is null where nothing is known, a
// std::vector is a list, a struct with Fields an object, an enum with EnumNames one of its names, a
// type with TextForm a text, a std::chrono duration a number of its own unit, which is the end of
// the name. Constants; safe on any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace chokepoint {

template <class T>
struct Fields;

// static constexpr std::string_view kWhat: "direction";
// static constexpr auto kNames = std::to_array<EnumName<E>>({{E::Send, "send"}, …});
// static constexpr E kOtherwise: what an unknown name is read as; without it such a name is refused
template <class E>
struct EnumNames;
template <class E>
using EnumName = std::pair<E, std::string_view>;

// static constexpr std::string_view kWhat: "an IP address"
// static std::string text(const T&)
// static std::optional<T> parsed(std::string_view): where documents with it are read
// static constexpr std::string_view kFormat, kPattern: as JSON Schema has them, or neither
template <class T>
struct TextForm;

// Of a value that has neither Fields nor a text: a number or a text, a document within another one.
//   static void write(Json& at, const T&)
//   static void describe(Json& schema, bool is_nullable)
//   static std::optional<T> parsed(const Json&)    where documents with it are read, and
//   static constexpr std::string_view kWhat         what it wants
template <class T>
struct JsonForm;

template <class T>
concept Described = requires { Fields<T>::kList; };
template <class E>
concept Named = std::is_enum_v<E> && requires { EnumNames<E>::kNames; };
template <class T>
concept Textual = requires { TextForm<T>::kWhat; };
template <class T>
concept Formed = requires { &JsonForm<T>::describe; };

// What a value may be. A number outside of [least, most], a text of more than `longest` bytes and a
// list of more than `most_items` are refused when read. The range of a field that is a struct holds
// for the real numbers in it.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::size_t longest = 4096;
  std::size_t most_items = 1'000'000;
};

// The largest double below 2^63: the bound of a count that is also used as a std::int64_t.
inline constexpr double kMaxCount = 9223372036854774784.0;

// What becomes of a column of the run record when rows of one key and one bin are folded into one.
enum class Fold : std::uint8_t {
  None,    // a table that is not folded
  Key,     // rows that differ here are never folded together
  Start,   // the earliest
  End,     // the latest; orders the rows
  Span,    // from the earliest start to the latest end
  Merged,  // the sum; weighs the means
  Busy,    // the sum of the rows' own spans
  Sum,     // deltas
  Last,    // what only grows, and states
  Max,
  Min,
  Mean,  // gauges
};

// What holds of a field, whatever its type.
struct FieldRule {
  const char* name;
  const char* text;  // what it means, for documentation
  Bounds bounds = {};
  Fold fold = Fold::None;
  bool may_be_absent = false;  // then the member keeps what it is initialised with
  bool is_null_if_empty = false;
  bool is_in_seconds = false;
  bool is_omitted_if_unknown = false;
};

template <class S, class M, class Get = M S::*>
struct Field : FieldRule {
  using Struct = S;
  using Member = M;

  Get member;  // what std::invoke makes a reference of

  constexpr Field at_least(double least) const { return with(&Bounds::least, least); }
  constexpr Field at_most(double most) const { return with(&Bounds::most, most); }
  constexpr Field between(double least, double most) const { return at_least(least).at_most(most); }
  constexpr Field up_to_bytes(std::size_t longest) const { return with(&Bounds::longest, longest); }
  constexpr Field up_to_items(std::size_t most) const { return with(&Bounds::most_items, most); }
  // A document of an older version, or another program's, need not have it.
  constexpr Field or_default() const {
    Field field = *this;
    field.may_be_absent = true;
    return field;
  }
  // An empty text or list is written as null, and null read as an empty one.
  constexpr Field null_if_empty() const {
    Field field = or_default();
    field.is_null_if_empty = true;
    return field;
  }
  // A document has no such field where the value is not known.
  constexpr Field omitted_if_unknown() const {
    Field field = or_default();
    field.is_omitted_if_unknown = true;
    return field;
  }
  // A duration as a real number of seconds, whatever its unit.
  constexpr Field in_seconds() const {
    Field field = *this;
    field.is_in_seconds = true;
    return field;
  }

 private:
  template <class V>
  constexpr Field with(V Bounds::* bound, V value) const {
    Field field = *this;
    field.bounds.*bound = value;
    return field;
  }
};

template <class S, class M>
constexpr Field<S, M> field(const char* name, M S::* member, const char* text = "") {
  return {{.name = name, .text = text}, member};
}

template <class S, class M>
constexpr Field<S, M> field(const char* name, M S::* member, Fold fold, const char* text) {
  return {{.name = name, .text = text, .fold = fold}, member};
}

// The fields of one struct, each of a type of its own. Without the bases in bases of a std::tuple,
// units that read or write many structs compile faster.
template <std::size_t Index, class F>
struct FieldAt {
  F field;
};

template <class Indices, class... F>
struct FieldsAt;
template <std::size_t... Index, class... F>
struct FieldsAt<std::index_sequence<Index...>, F...> : FieldAt<Index, F>... {
  template <class Visit>
  constexpr void each(Visit& visit) const {
    (visit(static_cast<const FieldAt<Index, F>&>(*this).field), ...);
  }
};

template <class First, class... Others>
class FieldList : FieldsAt<std::index_sequence_for<First, Others...>, First, Others...> {
  using Base = FieldsAt<std::index_sequence_for<First, Others...>, First, Others...>;

 public:
  // Not explicit: a list is written in braces.
  constexpr FieldList(First first, Others... others) : Base{{first}, {others}...} {}

  using Base::each;
  constexpr const First& first() const {
    return static_cast<const FieldAt<0, First>&>(*this).field;
  }
  static constexpr std::size_t size() { return 1 + sizeof...(Others); }
};

// A field of a member, written beside the struct's own:
//   within(&Flow::source, field("port", &Endpoint::port).at_least(1))
template <class S, class Of, class M, class Get>
constexpr auto within(Of S::* of, const Field<Of, M, Get>& inner) {
  auto get = [of, inner = inner.member](auto& value) -> auto& {
    return std::invoke(inner, value.*of);
  };
  return Field<S, M, decltype(get)>{static_cast<const FieldRule&>(inner), get};
}

// The fields of a member that is a struct, among the struct's own. Of an optional member either all
// of them are in the document or none: it is known where its first field is there.
template <class S, class M>
struct SpreadField {
  using Member = M;
  M S::* member;
  bool is_null_if_unknown = false;

  // The fields of an optional member that is not known are there, and null.
  constexpr SpreadField null_if_unknown() const { return {member, true}; }
};

template <class S, class M>
constexpr SpreadField<S, M> spread(M S::* member) {
  return {member};
}

// Follows from the others: written, and passed over when read.
template <class S, class Value>
struct ComputedField {
  const char* name;
  Value value;  // a function of const S&
  const char* text;
  Bounds bounds = {};
  bool is_null_if_empty = false;

  constexpr ComputedField at_least(double least) const { return between(least, bounds.most); }
  constexpr ComputedField between(double least, double most) const {
    ComputedField field = *this;
    field.bounds.least = least;
    field.bounds.most = most;
    return field;
  }
  // An empty text is written as null.
  constexpr ComputedField null_if_empty() const {
    ComputedField field = *this;
    field.is_null_if_empty = true;
    return field;
  }
};

template <class S, class Value>
constexpr ComputedField<S, Value> computed(const char* name, Value value, const char* text = "") {
  return {.name = name, .value = value, .text = text};
}

template <class T>
constexpr bool kIsComputed = false;
template <class S, class Value>
constexpr bool kIsComputed<ComputedField<S, Value>> = true;

template <class T>
constexpr bool kIsSpread = false;
template <class S, class M>
constexpr bool kIsSpread<SpreadField<S, M>> = true;

template <Described T, class F>
constexpr void each_field(F&& visit) {
  Fields<T>::kList.each(visit);
}

template <Described T>
constexpr std::size_t kFieldCount = Fields<T>::kList.size();

template <Named E>
constexpr std::string_view name_of(E value) {
  for (const auto& [each, name] : EnumNames<E>::kNames) {
    if (each == value) {
      return name;
    }
  }
  return "unknown";
}

template <Named E>
constexpr std::optional<E> named(std::string_view name) {
  for (const auto& [value, each] : EnumNames<E>::kNames) {
    if (each == name) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace chokepoint
