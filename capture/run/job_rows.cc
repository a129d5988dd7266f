#include "capture/run/job_rows.h"

#include <algorithm>
#include <utility>

namespace chokepoint::capture::run {
namespace {

constexpr std::uint64_t kLargeStranger = 4'000'000;  // bytes on the wire, both ways
// A stranger's flow is looked at again after so many bins, whether it has become large.
constexpr std::uint32_t kPassedOver = 256;

std::uint64_t bytes_of(const flow::FlowFacts& facts) {
  return facts.directions[0].bytes + facts.directions[1].bytes;
}

}  // namespace

JobRows::State& JobRows::state_of(std::uint32_t slot) {
  if (slot >= states_.size()) {
    states_.resize(std::max<std::size_t>(slot + 1, states_.size() * 2));
  }
  return states_[slot];
}

observer::RowPlace JobRows::place(std::uint32_t slot, const flow::FlowFacts& facts,
                                  record::Flow row) {
  State& state = state_of(slot);
  state.asked_version = flows_.version();
  state.passed_over = 0;
  if (!flows_.sends(facts.ends) && bytes_of(facts) < kLargeStranger) {
    return {};
  }
  const book::Sighting sighting =
      book_.seen_by_packets(facts.ends, flows_.network(), ++keys_, std::move(row));
  state.entry = sighting.entry;
  return {.flow = sighting.entry->flow(), .is_turned = sighting.is_turned};
}

void JobRows::update(std::uint32_t slot, const observer::RowPlace& /*place*/, record::Flow row) {
  if (const book::EntryPointer& entry = state_of(slot).entry) {
    book_.update_by_packets(*entry, row);
  }
}

void JobRows::leave(std::uint32_t slot) {
  State& state = state_of(slot);
  if (state.entry) {
    book_.left_by_packets(state.entry);
  }
  state = {};
}

bool JobRows::is_worth_asking(std::uint32_t slot) {
  State& state = state_of(slot);
  return state.asked_version != flows_.version() || ++state.passed_over >= kPassedOver;
}

}  // namespace chokepoint::capture::run
