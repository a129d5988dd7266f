#include "analysis/load/windows.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

// Evenly long; from each one part is read.
struct Slot {
  Span span = {};
  double rows = 0;
  double part = 0;
};

std::vector<Slot> slots_of(Span span, std::size_t count,
                           const std::function<double(std::int64_t)>& rows_until) {
  std::vector<Slot> slots(count);
  double before = rows_until(span.start_ns);
  for (std::size_t index = 0; index < count; ++index) {
    const auto border = [&](std::size_t number) {
      return span.start_ns +
             static_cast<std::int64_t>(static_cast<double>(span.length_ns()) *
                                       static_cast<double>(number) / static_cast<double>(count));
    };
    slots[index].span = {border(index), border(index + 1)};
    const double until = rows_until(slots[index].span.end_ns);
    slots[index].rows = std::max(until - before, 0.0);
    before = until;
  }
  return slots;
}

// The same number of rows to each; what a slot has not, the others get.
void share_out(std::vector<Slot>& slots, double rows) {
  std::vector<Slot*> order;
  for (Slot& slot : slots) {
    order.push_back(&slot);
  }
  std::ranges::sort(order, {}, &Slot::rows);
  for (std::size_t index = 0; index < order.size(); ++index) {
    Slot& slot = *order[index];
    const double share = rows / static_cast<double>(order.size() - index);
    slot.part = slot.rows <= share ? 1 : share / slot.rows;
    rows -= slot.part * slot.rows;
  }
}

double read_ns(const std::vector<Slot>& slots) {
  double sum = 0;
  for (const Slot& slot : slots) {
    sum += slot.part * static_cast<double>(slot.span.length_ns());
  }
  return sum;
}

Span window_in(const Slot& slot, bool at_start, bool at_end) {
  const auto length =
      static_cast<std::int64_t>(slot.part * static_cast<double>(slot.span.length_ns()));
  const std::int64_t rest = slot.span.length_ns() - length;
  const std::int64_t before = at_start ? 0 : at_end ? rest : rest / 2;
  return {slot.span.start_ns + before, slot.span.start_ns + before + length};
}

}  // namespace

std::vector<Span> spread_windows(const WindowsWanted& wanted,
                                 const std::function<double(std::int64_t)>& rows_until) {
  std::vector<Slot> slots = slots_of(wanted.span, wanted.most, rows_until);
  share_out(slots, wanted.rows);
  const double mean_ns = read_ns(slots) / static_cast<double>(slots.size());
  if (mean_ns < static_cast<double>(wanted.least_ns)) {
    const double useful =
        static_cast<double>(wanted.most) * mean_ns / static_cast<double>(wanted.least_ns);
    slots = slots_of(wanted.span, static_cast<std::size_t>(std::max(std::floor(useful), 2.0)),
                     rows_until);
    share_out(slots, wanted.rows);
  }
  std::vector<Span> windows;
  for (std::size_t index = 0; index < slots.size(); ++index) {
    const Span window = window_in(slots[index], wanted.from_start && index == 0,
                                  wanted.to_end && index + 1 == slots.size());
    if (!windows.empty() && windows.back().end_ns >= window.start_ns) {
      windows.back().end_ns = window.end_ns;
    } else if (window.length_ns() > 0) {
      windows.push_back(window);
    }
  }
  return windows;
}

}  // namespace chokepoint::analysis
