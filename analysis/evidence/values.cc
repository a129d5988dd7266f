#include "analysis/evidence/values.h"

#include <algorithm>
#include <cmath>

#include "base/sys/number.h"

namespace chokepoint::analysis {

Value Value::of(Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}

Value Value::of(std::int64_t whole) {
  Value value = of(Kind::Whole);
  value.whole = whole;
  return value;
}

Value Value::of(double real) {
  Value value = of(std::isfinite(real) ? Kind::Real : Kind::Null);
  value.real = real;
  return value;
}

Value Value::of(bool is_true) { return of(is_true ? Kind::True : Kind::False); }

Value Value::of(std::string_view text) {
  Value value = of(Kind::Text);
  value.size = static_cast<std::uint32_t>(text.size());
  value.text = text.data();
  return value;
}

std::optional<std::int64_t> Value::as_whole() const {
  if (kind == Kind::Whole) {
    return whole;
  }
  return is_text() ? sys::parse_number<std::int64_t>(as_text()) : std::nullopt;
}

std::optional<double> Value::as_number() const {
  return kind == Kind::Real    ? std::optional(real)
         : kind == Kind::Whole ? std::optional(static_cast<double>(whole))
                               : std::nullopt;
}

Value Values::made(Value::Kind kind) {
  Value value = Value::of(kind);
  value.container = static_cast<std::uint32_t>(containers_.size());
  containers_.emplace_back();
  return value;
}

std::span<const Value> Values::items(Value container) const {
  if (!container.is_list() && !container.is_dictionary()) {
    return {};
  }
  const Container& own = containers_[container.container];
  return std::span(pool_).subspan(own.first, own.count);
}

// One that is full moves to the end, with twice its room, so that adding one by one takes no more
// than a few times as long.
void Values::extend(Value container, std::span<const Value> by) {
  Container& own = containers_[container.container];
  const std::size_t count = own.count + by.size();
  if (count > own.room && own.first + own.room == pool_.size()) {
    own.room = count;
    pool_.resize(own.first + own.room);
  } else if (count > own.room) {
    const std::size_t first = pool_.size();
    const std::size_t room = own.count == 0 ? count : std::max(count, 2 * own.room);
    pool_.resize(first + room);
    std::copy_n(pool_.begin() + static_cast<std::ptrdiff_t>(own.first), own.count,
                pool_.begin() + static_cast<std::ptrdiff_t>(first));
    own.first = first;
    own.room = room;
  }
  std::ranges::copy(by, pool_.begin() + static_cast<std::ptrdiff_t>(own.first + own.count));
  own.count = count;
}

Value Key::in(const Values& values, Value dictionary) {
  if (!dictionary.is_dictionary()) {
    return {};
  }
  const std::span<const Value> items = values.items(dictionary);
  if (is_at(items, place_)) {
    return items[place_ + 1];
  }
  // From the last on, since the last of equal keys counts.
  for (std::size_t at = items.size() / 2; at > 0; --at) {
    if (is_at(items, 2 * (at - 1))) {
      place_ = 2 * (at - 1);
      return items[place_ + 1];
    }
  }
  return {};
}

}  // namespace chokepoint::analysis
