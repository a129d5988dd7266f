#include "rdma/perf/verifier.h"

#include <algorithm>
#include <cstring>

namespace chokepoint::rdma::perf {
namespace {

using verbs::Operation;

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kFirstFactor = 0xbf58476d1ce4e5b9;
constexpr std::uint64_t kSecondFactor = 0x94d049bb133111eb;

std::uint64_t scatter(std::uint64_t value) {
  value = (value ^ (value >> 30)) * kFirstFactor;
  value = (value ^ (value >> 27)) * kSecondFactor;
  return value ^ (value >> 31);
}

// Odd numbers have an inverse; each step doubles the bits that are right.
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) {
    inverse *= 2 - odd * inverse;
  }
  return inverse;
}

std::uint64_t gather(std::uint64_t value) {
  value = (value ^ (value >> 31) ^ (value >> 62)) * inverse_of(kSecondFactor);
  value = (value ^ (value >> 27) ^ (value >> 54)) * inverse_of(kFirstFactor);
  return value ^ (value >> 30) ^ (value >> 60);
}

std::uint64_t seed_of(MessageNumber number) {
  const auto queue = static_cast<std::uint64_t>(number.queue);
  return scatter(scatter(number.sequence + 1) + queue * kStep);
}

// Lost messages in a row over UC and UD. For messages shorter than a word each number is tried.
constexpr std::uint64_t kMaxLost = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxLostShort = 4096;

std::uint64_t max_lost(const Layout& layout) {
  return layout.message_bytes < sizeof(std::uint64_t) ? kMaxLostShort : kMaxLost;
}

}  // namespace

void write_pattern(std::span<std::byte> into, MessageNumber number) {
  std::uint64_t word = seed_of(number);
  while (!into.empty()) {
    const std::size_t bytes = std::min(into.size(), sizeof word);
    std::memcpy(into.data(), &word, bytes);
    into = into.subspan(bytes);
    word += kStep;
  }
}

std::optional<std::uint64_t> sequence_of(std::span<const std::byte> message, int queue) {
  std::uint64_t word = 0;
  if (message.size() < sizeof word) {
    return std::nullopt;
  }
  std::memcpy(&word, message.data(), sizeof word);
  return gather(gather(word) - static_cast<std::uint64_t>(queue) * kStep) - 1;
}

bool holds_pattern(std::span<const std::byte> message, MessageNumber number) {
  std::uint64_t word = seed_of(number);
  while (!message.empty()) {
    const std::size_t bytes = std::min(message.size(), sizeof word);
    if (std::memcmp(message.data(), &word, bytes) != 0) {
      return false;
    }
    message = message.subspan(bytes);
    word += kStep;
  }
  return true;
}

Content::Content(verbs::Buffer& buffer, std::uint32_t message_bytes)
    : buffer_(buffer), copy_(message_bytes), bytes_(message_bytes) {}

Result<> Content::put(std::uint64_t offset, MessageNumber number) {
  if (std::byte* host = buffer_.host(); host != nullptr) {
    write_pattern({host + offset, bytes_}, number);
    return {};
  }
  write_pattern(copy_, number);
  return buffer_.write(offset, copy_);
}

Result<> Content::wipe(std::uint64_t offset) {
  std::ranges::fill(copy_, std::byte{0});
  return buffer_.write(offset, copy_);
}

Result<std::span<std::byte>> Content::at(std::uint64_t offset) {
  if (std::byte* host = buffer_.host(); host != nullptr) {
    return std::span(host + offset, bytes_);
  }
  TRY(buffer_.read(offset, copy_));
  return std::span(copy_);
}

Result<bool> Content::holds(std::uint64_t offset, MessageNumber number) {
  const auto message = at(offset);
  return message ? Result<bool>(holds_pattern(*message, number)) : fail(message.error());
}

Result<std::optional<std::uint64_t>> Content::find(std::uint64_t offset, MessageNumber number,
                                                   std::uint64_t end, std::uint64_t step) {
  TRY(const auto message, at(offset));
  if (const auto sequence = sequence_of(message, number.queue)) {
    const bool due = *sequence >= number.sequence && *sequence < end &&
                     (*sequence - number.sequence) % step == 0;
    number.sequence = *sequence;
    return due && holds_pattern(message, number) ? sequence : std::nullopt;
  }
  for (; number.sequence < end; number.sequence += step) {
    if (holds_pattern(message, number)) {
      return number.sequence;
    }
  }
  return std::nullopt;
}

Result<std::uint64_t> Content::word(std::uint64_t offset) {
  std::uint64_t value = 0;
  auto read = buffer_.read(offset, std::as_writable_bytes(std::span(&value, 1)));
  return read ? Result<std::uint64_t>(value) : fail(std::move(read.error()));
}

Result<bool> Content::wiped(std::uint64_t offset) {
  TRY(const auto message, at(offset));
  return std::ranges::all_of(message, [](std::byte each) { return each == std::byte{0}; });
}

Verifier::Verifier(verbs::Buffer& buffer, const Plan& plan, const Layout& layout)
    : content_(buffer, layout.message_bytes),
      plan_(plan),
      layout_(layout),
      next_(static_cast<std::size_t>(layout.queues)) {}

Result<> Verifier::before(std::size_t place, MessageNumber number) {
  const std::uint64_t source = layout_.sources.at(number.queue, place);
  if (plan_.operation == Operation::Read || verbs::is_atomic(plan_.operation)) {
    return content_.wipe(source);
  }
  return content_.put(source, number);
}

Result<> Verifier::after(std::size_t place, MessageNumber number) {
  const std::uint64_t source = layout_.sources.at(number.queue, place);
  if (plan_.operation == Operation::Read) {
    const auto matches = content_.holds(source, {.queue = number.queue, .sequence = place});
    count(matches && *matches);
    return matches ? Result<>{} : fail(matches.error());
  }
  if (!verbs::is_atomic(plan_.operation)) {
    return {};
  }
  const bool swaps = plan_.operation == Operation::CompareAndSwap;
  const auto found = content_.word(source);
  count(found && *found == (swaps ? number.sequence % layout_.ring : number.sequence));
  return found ? Result<>{} : fail(found.error());
}

Result<> Verifier::received(const verbs::Completion& completion) {
  const std::uint64_t next = next_[static_cast<std::size_t>(completion.queue)];
  if (plan_.operation == Operation::Send) {
    const std::uint64_t offset =
        layout_.receives.at(completion.queue, completion.place) + layout_.header_bytes;
    return arrived(offset, {.queue = completion.queue, .sequence = next}, 1);
  }
  const std::size_t ring = layout_.ring;
  const std::size_t ahead = (completion.immediate + ring - next % ring) % ring;
  return arrived(layout_.targets.at(completion.queue, completion.immediate),
                 {.queue = completion.queue, .sequence = next + ahead}, ring);
}

Result<> Verifier::arrived(std::uint64_t offset, MessageNumber first, std::uint64_t step) {
  std::uint64_t& next = next_[static_cast<std::size_t>(first.queue)];
  const bool lossless = plan_.transport == verbs::Transport::Rc;
  const bool in_order = !lossless || first.sequence == next;
  const std::uint64_t end = first.sequence + (lossless ? 1 : max_lost(layout_));
  const auto found = content_.find(offset, first, end, step);
  count(found && *found && in_order);
  next = found && *found ? **found + 1 : next + 1;
  return found ? Result<>{} : fail(found.error());
}

// Over UC, a message of an earlier pass through the ring means that the later ones were lost.
Result<> Verifier::finish_target(int queue, std::size_t place, std::uint64_t sequences) {
  const std::uint64_t offset = layout_.targets.at(queue, place);
  const std::uint64_t last = (sequences - 1 - place) / layout_.ring * layout_.ring + place;
  const bool lossless = plan_.transport == verbs::Transport::Rc;
  const std::uint64_t rounds = lossless ? 0 : std::min(last / layout_.ring, max_lost(layout_));
  const MessageNumber first{.queue = queue, .sequence = last - rounds * layout_.ring};
  TRY(const auto found, content_.find(offset, first, last + 1, layout_.ring));
  const auto empty = lossless || found ? Result<bool>(false) : content_.wiped(offset);
  count(found || (empty && *empty));
  return empty ? Result<>{} : fail(empty.error());
}

Result<> Verifier::finish_counter(int queue, std::uint64_t sequences) {
  const bool swaps = plan_.operation == Operation::CompareAndSwap;
  const auto found = content_.word(layout_.targets.at(queue, 0));
  count(found && *found == (swaps ? sequences % layout_.ring : sequences));
  return found ? Result<>{} : fail(found.error());
}

Result<> Verifier::finish(std::uint64_t sequences) {
  for (int queue = 0; queue < layout_.queues; ++queue) {
    if (verbs::is_atomic(plan_.operation)) {
      TRY(finish_counter(queue, sequences));
      continue;
    }
    const std::size_t places = std::min<std::uint64_t>(layout_.ring, sequences);
    for (std::size_t place = 0; place < places; ++place) {
      TRY(finish_target(queue, place, sequences));
    }
  }
  return {};
}

}  // namespace chokepoint::rdma::perf
