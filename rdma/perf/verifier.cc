#include "rdma/perf/verifier.h"

#include <algorithm>

namespace chokepoint::rdma::perf {
namespace {

using verbs::Operation;

// Messages in a row, over UC and UD. Of tiny ones each number is tried.
constexpr std::uint64_t kMostLost = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostTinyLost = 4096;

std::uint64_t most_lost(const Layout& layout) {
  return layout.message_bytes < sizeof(std::uint64_t) ? kMostTinyLost : kMostLost;
}

}  // namespace

Verifier::Verifier(memory::Buffer& buffer, const Plan& plan, const Layout& layout)
    : content_(buffer, layout.message_bytes),
      plan_(plan),
      layout_(layout),
      next_(static_cast<std::size_t>(layout.queues)) {}

Result<> Verifier::before(std::size_t place, MessageNumber number) {
  const std::uint64_t source = layout_.sources.at(number.queue, place);
  if (plan_.operation == Operation::Read || is_atomic(plan_.operation)) {
    return content_.wipe(source);
  }
  return content_.put(source, number);
}

Result<> Verifier::after(std::size_t place, MessageNumber number) {
  const std::uint64_t source = layout_.sources.at(number.queue, place);
  if (plan_.operation == Operation::Read) {
    const auto well = content_.holds(source, {.queue = number.queue, .sequence = place});
    judge(well && *well);
    return well ? Result<>{} : fail(well.error());
  }
  if (!is_atomic(plan_.operation)) {
    return {};
  }
  const bool swaps = plan_.operation == Operation::CompareAndSwap;
  const auto found = content_.word(source);
  judge(found && *found == (swaps ? number.sequence % layout_.ring : number.sequence));
  return found ? Result<>{} : fail(found.error());
}

Result<> Verifier::received(const verbs::Completion& completion) {
  const std::uint64_t next = next_[static_cast<std::size_t>(completion.queue)];
  if (plan_.operation == Operation::Send) {
    const std::uint64_t offset =
        layout_.receives.at(completion.queue, completion.place) + layout_.header_bytes;
    return came(offset, {.queue = completion.queue, .sequence = next}, 1);
  }
  const std::size_t ring = layout_.ring;
  const std::size_t ahead = (completion.immediate + ring - next % ring) % ring;
  return came(layout_.targets.at(completion.queue, completion.immediate),
              {.queue = completion.queue, .sequence = next + ahead}, ring);
}

Result<> Verifier::came(std::uint64_t offset, MessageNumber first, std::uint64_t step) {
  std::uint64_t& next = next_[static_cast<std::size_t>(first.queue)];
  const bool lossless = plan_.transport == verbs::Transport::Rc;
  const bool in_order = !lossless || first.sequence == next;
  const std::uint64_t end = first.sequence + (lossless ? 1 : most_lost(layout_));
  const auto found = content_.find(offset, first, end, step);
  judge(found && *found && in_order);
  next = found && *found ? **found + 1 : next + 1;
  return found ? Result<>{} : fail(found.error());
}

// Over UC, what an earlier round left there means that the later ones were lost.
Result<> Verifier::finish_target(int queue, std::size_t place, std::uint64_t sequences) {
  const std::uint64_t offset = layout_.targets.at(queue, place);
  const std::uint64_t last = (sequences - 1 - place) / layout_.ring * layout_.ring + place;
  const bool lossless = plan_.transport == verbs::Transport::Rc;
  const std::uint64_t rounds = lossless ? 0 : std::min(last / layout_.ring, most_lost(layout_));
  const MessageNumber first{.queue = queue, .sequence = last - rounds * layout_.ring};
  TRY(const auto found, content_.find(offset, first, last + 1, layout_.ring));
  const auto empty = lossless || found ? Result<bool>(false) : content_.wiped(offset);
  judge(found || (empty && *empty));
  return empty ? Result<>{} : fail(empty.error());
}

Result<> Verifier::finish_counter(int queue, std::uint64_t sequences) {
  const bool swaps = plan_.operation == Operation::CompareAndSwap;
  const auto found = content_.word(layout_.targets.at(queue, 0));
  judge(found && *found == (swaps ? sequences % layout_.ring : sequences));
  return found ? Result<>{} : fail(found.error());
}

Result<> Verifier::finish(std::uint64_t sequences) {
  for (int queue = 0; queue < layout_.queues; ++queue) {
    if (is_atomic(plan_.operation)) {
      if (auto done = finish_counter(queue, sequences); !done) {
        return done;
      }
      continue;
    }
    const std::size_t places = std::min<std::uint64_t>(layout_.ring, sequences);
    for (std::size_t place = 0; place < places; ++place) {
      if (auto done = finish_target(queue, place, sequences); !done) {
        return done;
      }
    }
  }
  return {};
}

}  // namespace chokepoint::rdma::perf
