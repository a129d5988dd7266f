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

void Values::reserve(std::size_t bytes) {
  constexpr std::size_t kBytesOfValue = 3;  // mostly a reference to what was there before
  constexpr std::size_t kBytesOfContainer = 24;
  constexpr std::size_t kMost = std::size_t{4} << 20;
  pool_.reserve(std::min(bytes / kBytesOfValue, kMost));
  containers_.reserve(std::min(bytes / kBytesOfContainer, kMost));
}

// One that is full moves to the end, with twice its room, so that adding one by one takes no more
// than a few times as long.
void Values::extend(Value container, std::span<const Value> by) {
  Container& own = containers_[container.container];
  const std::size_t count = own.count + by.size();
  if (own.count == 0 || own.first + own.count == pool_.size()) {
    own.first = own.count == 0 ? pool_.size() : own.first;
    pool_.insert(pool_.end(), by.begin(), by.end());
    own.count = own.room = count;
    return;
  }
  if (count > own.room) {
    const std::size_t first = pool_.size();
    const std::size_t room = std::max(count, 2 * own.room);
    pool_.resize(first + room);
    std::copy_n(place(own.first), own.count, place(first));
    own.first = first;
    own.room = room;
  }
  std::ranges::copy(by, place(own.first + own.count));
  own.count = count;
}

Value Key::searched(std::span<const Value> items) {
  // From the last on, since the last of equal keys counts.
  std::size_t at = items.size() / 2;
  if (!is_at(items, place_)) {
    while (at > 0 && !is_at(items, 2 * (at - 1))) {
      --at;
    }
    if (at == 0) {
      return {};
    }
    place_ = 2 * (at - 1);
  }
  text_ = items[place_].text;
  return items[place_ + 1];
}

}  // namespace chokepoint::analysis
