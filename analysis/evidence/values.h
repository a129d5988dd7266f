// Values of a document as a tree that is cheap to make and to read: what a pickle or a JSON text
// holds, without a node's own memory for each. Texts are views of the document's bytes, which must
// outlive it. Values may be shared: a list may be in many others, or in itself, so whoever walks
// through them bounds the depth. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace chokepoint::analysis {

struct Value {
  enum class Kind : std::uint8_t { Null, False, True, Whole, Real, Text, List, Dictionary };

  Kind kind = Kind::Null;
  std::uint32_t size = 0;  // of a text in bytes
  union {
    std::int64_t whole = 0;
    double real;
    const char* text;
    std::uint32_t container;  // of Values
  };

  static Value of(Kind kind);
  static Value of(std::int64_t whole);
  static Value of(double real);  // null if it is no number
  static Value of(bool is_true);
  static Value of(std::string_view text);

  bool is_text() const { return kind == Kind::Text; }
  bool is_true() const { return kind == Kind::True; }
  bool is_list() const { return kind == Kind::List; }
  bool is_dictionary() const { return kind == Kind::Dictionary; }

  // Empty of other kinds.
  std::string_view as_text() const {
    return is_text() ? std::string_view(text, size) : std::string_view();
  }
  std::optional<std::int64_t> as_whole() const;  // also of "3"
  std::optional<double> as_number() const;
};

class Values {
 public:
  Value list() { return made(Value::Kind::List); }
  Value dictionary() { return made(Value::Kind::Dictionary); }

  // Of a dictionary key, value, key, value …
  std::span<const Value> items(Value container) const {
    if (!container.is_list() && !container.is_dictionary()) {
      return {};
    }
    const Container& own = containers_[container.container];
    return std::span(pool_).subspan(own.first, own.count);
  }
  void extend(Value container, std::span<const Value> by);
  // For a document of this size, so that they need not move as it is read.
  void reserve(std::size_t bytes);
  // How many values all containers have room for, and how many containers there are.
  std::size_t size() const { return pool_.size() + containers_.size(); }

 private:
  struct Container {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t room = 0;
  };

  Value made(Value::Kind kind);
  std::vector<Value>::iterator place(std::size_t at) {
    return pool_.begin() + static_cast<std::ptrdiff_t>(at);
  }

  std::vector<Value> pool_;
  std::vector<Container> containers_;
};

// A key of many dictionaries alike: where it was in the last one is where it is looked for first.
class Key {
 public:
  explicit Key(std::string_view name) : name_(name) {}
  // Of a dictionary's items; null where there is none.
  Value in(std::span<const Value> items) {
    // Mostly it is the same text, too, taken from the pickle's memo.
    const bool is_same = place_ + 1 < items.size() && items[place_].is_text() &&
                         items[place_].text == text_ && items[place_].size == name_.size();
    return is_same ? items[place_ + 1] : searched(items);
  }

 private:
  Value searched(std::span<const Value> items);
  bool is_at(std::span<const Value> items, std::size_t place) const {
    return place + 1 < items.size() && items[place].as_text() == name_;
  }

  std::string_view name_;
  const char* text_ = nullptr;
  std::size_t place_ = 0;
};

}  // namespace chokepoint::analysis
