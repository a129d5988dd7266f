#include "tests/lab/wire/orders.h"

#include <algorithm>
#include <charconv>

namespace chokepoint::lab {
namespace {

std::string_view cut_off(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto first = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

Result<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) {
    return fail(ErrorKind::Usage, "wire", text, "is no frame's number", "they count from 1");
  }
  return number;
}

bool has(const std::vector<std::uint64_t>& numbers, std::uint64_t wanted) {
  return std::ranges::find(numbers, wanted) != numbers.end();
}

}  // namespace

Result<std::vector<std::uint64_t>> parse_numbers(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    const auto number = parse_number(cut_off(text, ','));
    if (!number) {
      return fail(number.error());
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<HoldBack>> parse_hold_backs(std::string_view text) {
  std::vector<HoldBack> found;
  while (!text.empty()) {
    std::string_view one = cut_off(text, ',');
    const auto number = parse_number(cut_off(one, ':'));
    const auto behind = parse_number(one);
    if (!number || !behind) {
      return fail(number ? behind.error() : number.error());
    }
    found.push_back({.number = *number, .behind = *behind});
  }
  return found;
}

void OrderBook::change(const Orders& orders) {
  orders_ = orders;
  counted_ = 0;
}

Fate OrderBook::next() {
  ++counted_;
  if (has(orders_.drop, counted_)) {
    ++obeyed_.dropped;
    return Fate::Drop;
  }
  if (has(orders_.duplicate, counted_)) {
    ++obeyed_.duplicated;
    return Fate::Duplicate;
  }
  const auto held = std::ranges::find(orders_.reorder, counted_, &HoldBack::number);
  if (held == orders_.reorder.end()) {
    return Fate::Pass;
  }
  held_until_ = counted_ + held->behind;
  ++obeyed_.held_back;
  return Fate::HoldBack;
}

}  // namespace chokepoint::lab
