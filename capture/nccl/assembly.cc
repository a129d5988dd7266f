#include "capture/nccl/assembly.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace chokepoint::capture::nccl {
namespace {

// Clocks that differ by 50 ppm drift apart by 0.5 ms in 10 s, two bins.
constexpr std::int64_t kClockBinNs = 5'000'000'000;

// Times further in the future are dropped as invalid.
constexpr std::int64_t kMaxAheadNs = 1'000'000'000;
constexpr std::uint64_t kMaxNs = std::uint64_t{1} << 62U;
constexpr std::uint64_t kSends = std::uint64_t{1} << 32U;
constexpr std::uint64_t kMaxChannels = 64;
constexpr std::uint64_t kMaxMemberRanks = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 56U;

std::optional<std::int64_t> moment(std::uint64_t word, std::int64_t now_ns) {
  const bool is_known = word != 0 && word <= static_cast<std::uint64_t>(now_ns + kMaxAheadNs);
  return is_known ? std::optional(static_cast<std::int64_t>(word)) : std::nullopt;
}

std::optional<std::int64_t> gpu_moment(std::uint64_t word) {
  return word != 0 && word < kMaxNs ? std::optional(static_cast<std::int64_t>(word)) : std::nullopt;
}

void lower(std::optional<std::int64_t>& least, std::optional<std::int64_t> value) {
  least = least && value ? std::min(*least, *value) : least ? least : value;
}

void raise(std::optional<std::int64_t>& most, std::optional<std::int64_t> value) {
  most = most && value ? std::max(*most, *value) : most ? most : value;
}

void add(std::uint64_t& sum, std::uint64_t more) {
  sum = std::min(sum + std::min(more, kMaxNs), kMaxNs);
}

template <class Code>
Code code(std::uint64_t word, Code last) {
  return word <= static_cast<std::uint64_t>(last) ? static_cast<Code>(word) : Code::Unknown;
}

std::uint64_t channel_bit(std::uint64_t word) {
  const std::uint64_t channel = word & 0xffffffffU;
  return channel < kMaxChannels ? std::uint64_t{1} << channel : 0;
}

}  // namespace

void GpuClock::learn(std::int64_t gpu_ns, std::int64_t seen_ns) {
  const std::int64_t number = seen_ns / kClockBinNs;
  const std::int64_t difference_ns = seen_ns - gpu_ns;
  if (number > newest_.number) {
    before_ = newest_;
    newest_ = {.number = number};
  }
  Bin& bin = number < newest_.number ? before_ : newest_;
  bin.least_ns = std::min(bin.least_ns.value_or(difference_ns), difference_ns);
}

std::optional<std::int64_t> GpuClock::host_ns(std::int64_t gpu_ns) const {
  if (!newest_.least_ns) {
    return {};
  }
  // A bin that has only just begun may have seen only late stamps yet.
  const std::int64_t least_ns = before_.least_ns && newest_.number - before_.number <= 1
                                    ? std::min(*before_.least_ns, *newest_.least_ns)
                                    : *newest_.least_ns;
  return gpu_ns + least_ns;
}

Assembly::Assembly(OnOperation on_operation, const AssemblyLimits& limits)
    : on_operation_(std::move(on_operation)), limits_(limits) {}

void Assembly::take(const Entry& entry, std::int64_t now_ns) {
  switch (entry.kind()) {
    case Kind::Communicator:
      return take_member(entry);
    case Kind::Collective:
    case Kind::Message:
      return take_head(entry, now_ns);
    case Kind::Proxy:
      return take_proxy(entry, now_ns);
    case Kind::Kernel:
      return take_kernel(entry, now_ns);
    case Kind::Left:
      return note_left(entry.communicator());
    case Kind::Window:
      return;
  }
  ++senseless_;
}

void Assembly::take_member(const Entry& entry) {
  const std::uint64_t ranks = entry.at(word::kRanks);
  if (ranks > kMaxMemberRanks || entry.at(word::kRank) >= ranks || entry.at(word::kNodes) > ranks) {
    ++senseless_;
    return;
  }
  std::erase(left_, entry.communicator());  // the numbers come round again
  if (!members_.contains(entry.communicator())) {
    make_room_for_member();
    if (members_.size() >= limits_.communicators) {
      ++senseless_;
      return;
    }
  }
  is_of_several_ranks_ |= std::ranges::any_of(members_, [&](const auto& each) {
    const auto& [number, other] = each;
    return number != entry.communicator() && other.hash == entry.at(word::kHash) &&
           static_cast<std::uint64_t>(other.rank) != entry.at(word::kRank);
  });
  if (const auto known = members_.find(entry.communicator());
      known != members_.end() && known->second.hash != entry.at(word::kHash)) {
    forget_newest(entry.communicator());
  }
  members_[entry.communicator()] = {.hash = entry.at(word::kHash),
                                    .rank = static_cast<std::int64_t>(entry.at(word::kRank)),
                                    .ranks = static_cast<std::int64_t>(ranks),
                                    .nodes = static_cast<std::int64_t>(entry.at(word::kNodes))};
}

void Assembly::note_left(std::uint16_t communicator) {
  forget_newest(communicator);
  if (members_.contains(communicator) && std::ranges::count(left_, communicator) == 0) {
    left_.push_back(communicator);
  }
}

void Assembly::forget_newest(std::uint16_t communicator) {
  std::erase_if(newest_, [&](const auto& each) { return each.first.first == communicator; });
}

void Assembly::make_room_for_member() {
  if (members_.size() >= limits_.communicators && !left_.empty()) {
    members_.erase(left_.front());
    forget_newest(left_.front());
    left_.pop_front();
  }
}

Operation* Assembly::opened(std::uint64_t id, std::int64_t now_ns) {
  if (id == 0) {
    ++senseless_;
    return nullptr;
  }
  if (const auto found = open_.find(id); found != open_.end()) {
    found->second.touched_ns = now_ns;
    return &found->second;
  }
  if (open_.size() >= limits_.open) {
    give_oldest();
  }
  return &open_.emplace(id, Operation{.id = id, .touched_ns = now_ns}).first->second;
}

void Assembly::take_head(const Entry& entry, std::int64_t now_ns) {
  Operation* const operation = opened(entry.at(word::kId), now_ns);
  if (operation == nullptr) {
    return;
  }
  operation->is_named = true;
  operation->communicator = entry.communicator();
  operation->function = code(entry.at(word::kFunction), Function::Scatter);
  operation->sequence = entry.at(word::kSequence);
  operation->bytes = std::min(entry.at(word::kBytes), kMaxBytes);
  operation->enqueued_ns = moment(entry.at(word::kEnqueued), now_ns);
  operation->channels =
      static_cast<std::int64_t>(std::min(entry.at(word::kChannels), kMaxChannels));
  operation->algorithm = code(entry.at(word::kAlgorithm), Algorithm::Pat);
  operation->protocol = code(entry.at(word::kProtocol), Protocol::Simple);
  const std::uint64_t peer = entry.at(word::kPeer);
  if (peer <= 0x7fffffffU) {
    operation->peer = static_cast<std::int64_t>(peer);
  }
  operation->tag = entry.at(word::kTag);
  if (!is_message(*operation) && members_.contains(operation->communicator)) {
    newest_[{operation->communicator, operation->function}] = *operation;
  }
}

void Assembly::take_proxy(const Entry& entry, std::int64_t now_ns) {
  Operation* const operation = opened(entry.at(word::kId), now_ns);
  if (operation == nullptr) {
    return;
  }
  ++operation->proxies;
  lower(operation->proxy_begin_ns, moment(entry.at(word::kProxyBegin), now_ns));
  raise(operation->proxy_end_ns, moment(entry.at(word::kProxyEnd), now_ns));
  const auto first_data_ns = moment(entry.at(word::kFirstData), now_ns);
  if ((entry.at(word::kChannel) & kSends) != 0) {
    operation->channels_sent |= channel_bit(entry.at(word::kChannel));
    lower(operation->sent_data_ns, first_data_ns);
  } else {
    operation->channels_received |= channel_bit(entry.at(word::kChannel));
    raise(operation->received_data_ns, first_data_ns);
    lower(operation->taken_data_ns, moment(entry.at(word::kFirstTaken), now_ns));
  }
  add(operation->steps, entry.at(word::kSteps));
  add(operation->gpu_ns, entry.at(word::kGpuNs));
  add(operation->network_ns, entry.at(word::kNetworkNs));
  add(operation->peer_ns, entry.at(word::kPeerNs));
  add(operation->flush_ns, entry.at(word::kFlushNs));
}

void Assembly::take_kernel(const Entry& entry, std::int64_t now_ns) {
  Operation* const operation = opened(entry.at(word::kId), now_ns);
  if (operation == nullptr) {
    return;
  }
  ++operation->kernels;
  const auto begin_ns = gpu_moment(entry.at(word::kGpuBegin));
  const auto end_ns = gpu_moment(entry.at(word::kGpuEnd));
  lower(operation->kernel_begin_ns, begin_ns);
  raise(operation->kernel_end_ns, end_ns);
  const auto seen_begin_ns = moment(entry.at(word::kSeenBegin), now_ns);
  const auto seen_end_ns = moment(entry.at(word::kSeenEnd), now_ns);
  if (begin_ns && seen_begin_ns) {
    clocks_[entry.communicator()].learn(*begin_ns, *seen_begin_ns);
  }
  if (end_ns && seen_end_ns) {
    clocks_[entry.communicator()].learn(*end_ns, *seen_end_ns);
  }
}

bool Assembly::is_over(const Operation& operation, std::int64_t now_ns) const {
  const std::int64_t quiet_ns = now_ns - operation.touched_ns;
  if (quiet_ns >= limits_.abandoned_ns) {
    return true;
  }
  if (!operation.is_named) {
    return quiet_ns >= limits_.quiet_ns;
  }
  const auto moved = moved_.find(operation.communicator);
  const bool is_followed = moved != moved_.end() && operation.enqueued_ns &&
                           *operation.enqueued_ns < moved->second && !is_message(operation);
  if (!has_parts(operation)) {
    return is_followed && quiet_ns >= limits_.quiet_ns;
  }
  const bool is_whole_on_gpu = operation.channels > 0 && operation.kernels >= operation.channels;
  const int channels_seen = std::popcount(operation.channels_sent | operation.channels_received);
  const bool is_whole =
      is_whole_on_gpu || channels_seen >= std::max<std::int64_t>(operation.channels, 1);
  if (is_followed || is_whole_on_gpu) {
    return quiet_ns >= limits_.settle_ns;
  }
  return is_whole && quiet_ns >= limits_.quiet_ns;
}

void Assembly::note_moved() {
  for (const auto& [id, operation] : open_) {
    if (operation.is_named && has_parts(operation) && operation.enqueued_ns) {
      std::int64_t& moved_ns = moved_[operation.communicator];
      moved_ns = std::max(moved_ns, *operation.enqueued_ns);
    }
  }
}

void Assembly::settle(std::int64_t now_ns, bool all) {
  note_moved();
  std::vector<Operation> over;
  for (auto place = open_.begin(); place != open_.end();) {
    if (all || is_over(place->second, now_ns)) {
      over.push_back(place->second);
      place = open_.erase(place);
    } else {
      ++place;
    }
  }
  give_in_order(over);
}

// Passes on the older half, because most records of the newer ones are still to come.
void Assembly::give_oldest() {
  note_moved();
  const auto age = [](const Operation& operation) {
    return std::tuple(operation.touched_ns, operation.enqueued_ns.value_or(0), operation.id);
  };
  std::vector<Operation> over;
  for (const auto& [id, operation] : open_) {
    over.push_back(operation);
  }
  const auto half = static_cast<std::ptrdiff_t>((over.size() + 1) / 2);
  std::ranges::nth_element(over, over.begin() + half - 1, {}, age);
  over.erase(over.begin() + half, over.end());
  for (const Operation& operation : over) {
    open_.erase(operation.id);
  }
  give_in_order(over);
}

void Assembly::give_in_order(std::vector<Operation>& over) {
  std::ranges::sort(over, {}, [](const Operation& operation) {
    return std::pair(operation.enqueued_ns.value_or(0), operation.id);
  });
  for (const Operation& operation : over) {
    give(operation);
  }
}

void Assembly::give(const Operation& operation) {
  if (!operation.is_named) {
    ++orphans_;
    return;
  }
  const auto member = members_.find(operation.communicator);
  on_operation_(operation, member == members_.end() ? nullptr : &member->second,
                clocks_[operation.communicator]);
}

}  // namespace chokepoint::capture::nccl
