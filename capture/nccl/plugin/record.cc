#include "capture/nccl/plugin/record.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/interface.h"
#include "capture/nccl/plugin/message_counts.h"
#include "capture/nccl/plugin/process.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

// Each word is stored with release, so that a reader that sees a new word sees the odd number, too.
void write(Ring& ring, const Record& record) {
  const std::uint64_t number = ring.written.load(std::memory_order_relaxed);
  Slot& slot = ring.slots[number % kSlots];
  slot.number.store(2 * number + 1, std::memory_order_relaxed);
  for (std::size_t each = 0; each < kWords; ++each) {
    slot.words[each].store(record[each], std::memory_order_release);
  }
  slot.number.store(2 * (number + 1), std::memory_order_release);
  ring.written.store(number + 1, std::memory_order_release);
}

// A step is one buffer's way through the network: NCCL reports what it waits for next, and each
// wait ends with the following one, or with the step. The waits are summed up in the channel's
// Proxy.
//
//   it sends     SendGpuWait: own GPU   SendPeerWait: the receiver's credit   SendWait: network
//   it receives  ReceiveWait: network   ReceiveFlushWait: PCIe          ReceiveGpuWait: own GPU

// The step's Proxy, if that is still under way.
Entry* proxy_of(const Entry& step) {
  const std::uint64_t bits = step.parent.load(kRelaxed);
  if (!handle::is(handle::kEntry, bits)) {
    return nullptr;
  }
  const Handle parts = handle::unpack(bits);
  Entry* entry = process().lanes.entry(parts);
  if (entry == nullptr) {
    return nullptr;
  }
  const EntryState state = EntryState::of(entry->state.load(std::memory_order_acquire));
  const bool is_it =
      state.use == parts.use && state.what == What::Proxy && state.phase == Phase::Live;
  return is_it ? entry : nullptr;
}

Word* sum_of(Entry::Rest::Proxy& proxy, State wait) {
  switch (wait) {
    case State::SendGpuWait:
    case State::ReceiveGpuWait:
      return &proxy.gpu_ns;
    case State::SendWait:
    case State::ReceiveWait:
      return &proxy.network_ns;
    case State::SendPeerWait:
      return &proxy.peer_ns;
    case State::ReceiveFlushWait:
      return &proxy.flush_ns;
    default:
      return nullptr;
  }
}

// Their end brings data: of the own GPU to send, of the network to receive.
bool brings_data(State wait) { return wait == State::SendGpuWait || wait == State::ReceiveWait; }

void end_wait(const Entry& step, std::uint64_t now_ns) {
  const auto wait = static_cast<State>(step.rest.step.wait.load(kRelaxed));
  Entry* entry = proxy_of(step);
  Word* sum = entry == nullptr ? nullptr : sum_of(entry->rest.proxy, wait);
  if (sum == nullptr) {
    return;
  }
  sum->fetch_add(now_ns - step.rest.step.since_ns.load(kRelaxed), kRelaxed);
  if (brings_data(wait) && entry->rest.proxy.first_data_ns.load(kRelaxed) == 0) {
    entry->rest.proxy.first_data_ns.store(now_ns, kRelaxed);
  }
  if (wait == State::ReceiveGpuWait && entry->rest.proxy.first_taken_ns.load(kRelaxed) == 0) {
    entry->rest.proxy.first_taken_ns.store(now_ns, kRelaxed);
  }
}

bool is_wait(int state) {
  Entry::Rest::Proxy any;
  return sum_of(any, static_cast<State>(state)) != nullptr;
}

// In these states the size is this step's; in others it may still be that of an earlier step.
bool has_size(State state) { return state == State::SendWait || state == State::ReceiveFlushWait; }

void begin_step(Entry& step) {
  step.rest.step.wait.store(0, kRelaxed);
  step.rest.step.since_ns.store(0, kRelaxed);
  step.rest.step.transferred.store(0, kRelaxed);
}

void change_step(Entry& step, int state, const StateArguments* arguments) {
  // While a receiver gives no credit, NCCL repeats the state each time it looks.
  const auto wait = static_cast<std::uint64_t>(state);
  if (!is_wait(state) || step.rest.step.wait.load(kRelaxed) == wait) {
    return;
  }
  const std::uint64_t now = now_ns();
  end_wait(step, now);
  step.rest.step.wait.store(wait, kRelaxed);
  step.rest.step.since_ns.store(now, kRelaxed);
  if (arguments != nullptr && has_size(static_cast<State>(state))) {
    step.rest.step.transferred.store(arguments->transferred, kRelaxed);
  }
}

void end_step(Entry& step, std::uint64_t now_ns) {
  end_wait(step, now_ns);
  Entry* entry = proxy_of(step);
  if (entry != nullptr && step.rest.step.wait.load(kRelaxed) != 0) {
    entry->rest.proxy.steps.fetch_add(1, kRelaxed);
    entry->rest.proxy.transferred.fetch_add(step.rest.step.transferred.load(kRelaxed), kRelaxed);
  }
}

// NCCL's names as the layout's numbers; an unknown name stays unknown.

struct Datatype {
  std::uint64_t number = kNone;  // NCCL's
  std::uint64_t bytes = 0;       // of an element
};

template <typename Value>
struct Named {
  const char* text;
  Value value;
};

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Without regard to case: NCCL itself writes both "Ring" and "RING".
bool same(const char* left, const char* right) {
  while (*left != '\0' && lower(*left) == lower(*right)) {
    ++left;
    ++right;
  }
  return *left == '\0' && *right == '\0';
}

template <typename Value, std::size_t kCount>
Value find(const std::array<Named<Value>, kCount>& names, const char* text, Value unknown) {
  if (text == nullptr) {
    return unknown;
  }
  for (const Named<Value>& each : names) {
    if (same(each.text, text)) {
      return each.value;
    }
  }
  return unknown;
}

constexpr std::array<Named<Function>, 10> kFunctions = {{
    {"AllReduce", Function::AllReduce},
    {"AllGather", Function::AllGather},
    {"ReduceScatter", Function::ReduceScatter},
    {"Broadcast", Function::Broadcast},
    {"Reduce", Function::Reduce},
    {"Send", Function::Send},
    {"Recv", Function::Receive},
    {"AlltoAll", Function::AllToAll},
    {"Gather", Function::Gather},
    {"Scatter", Function::Scatter},
}};

constexpr std::array<Named<Algorithm>, 7> kAlgorithms = {{
    {"RING", Algorithm::Ring},
    {"TREE", Algorithm::Tree},
    {"NVLS", Algorithm::Nvls},
    {"NVLS_TREE", Algorithm::NvlsTree},
    {"PAT", Algorithm::Pat},
    {"COLLNET_DIRECT", Algorithm::CollnetDirect},
    {"COLLNET_CHAIN", Algorithm::CollnetChain},
}};

constexpr std::array<Named<Protocol>, 3> kProtocols = {{
    {"SIMPLE", Protocol::Simple},
    {"LL", Protocol::LL},
    {"LL128", Protocol::LL128},
}};

constexpr std::array<Named<Datatype>, 12> kDatatypes = {{
    {"ncclBfloat16", {9, 2}},
    {"ncclFloat32", {7, 4}},
    {"ncclFloat16", {6, 2}},
    {"ncclInt8", {0, 1}},
    {"ncclUint8", {1, 1}},
    {"ncclInt32", {2, 4}},
    {"ncclUint32", {3, 4}},
    {"ncclInt64", {4, 8}},
    {"ncclUint64", {5, 8}},
    {"ncclFloat64", {8, 8}},
    {"ncclFloat8e4m3", {10, 1}},
    {"ncclFloat8e5m2", {11, 1}},
}};

// `text` may be null.
Function function_of(const char* text) { return find(kFunctions, text, Function::Unknown); }

Algorithm algorithm_of(const char* text) { return find(kAlgorithms, text, Algorithm::Unknown); }

Protocol protocol_of(const char* text) { return find(kProtocols, text, Protocol::Unknown); }

Datatype datatype_of(const char* text) { return find(kDatatypes, text, Datatype{}); }

// Whether its root means anything.
bool has_root(Function function) {
  return function == Function::Broadcast || function == Function::Reduce ||
         function == Function::Gather || function == Function::Scatter;
}

template <typename Value>
std::uint64_t word_of(Value value) {
  return static_cast<std::uint64_t>(value);
}

// A descriptor of an older version ends before them.
bool has_tags(const Communicator& communicator) { return communicator.version.load(kRelaxed) >= 7; }

void keep_collective(const Moment& moment, const CollectivePart& part, std::uint64_t id) {
  const Function function = function_of(part.function);
  const Datatype datatype = datatype_of(part.datatype);
  const Communicator& communicator = moment.communicator;
  Record record = {};
  record[0] = head_of(Kind::Collective, communicator);
  record[word::kId] = id;
  record[word::kSequence] = part.sequence;
  record[word::kFunction] = word_of(function);
  record[word::kBytes] = part.count * datatype.bytes;
  record[word::kEnqueued] = moment.now_ns;
  record[word::kChannels] = part.channels;
  record[word::kAlgorithm] = word_of(algorithm_of(part.algorithm));
  record[word::kProtocol] = word_of(protocol_of(part.protocol));
  record[word::kPeer] = has_root(function) ? rank_word(part.root) : kNone;
  record[word::kDatatype] = datatype.number;
  record[word::kTag] = has_tags(communicator) ? part.tag : 0;
  keep(moment.lane, record);
}

void keep_message(const Moment& moment, const MessagePart& part, std::uint64_t id) {
  const Function function = function_of(part.function);
  const Datatype datatype = datatype_of(part.datatype);
  const Communicator& communicator = moment.communicator;
  Record record = {};
  record[0] = head_of(Kind::Message, communicator);
  record[word::kId] = id;
  record[word::kSequence] = process().messages.next(communicator.number.load(kRelaxed), part.peer,
                                                    function == Function::Receive);
  record[word::kFunction] = word_of(function);
  record[word::kBytes] = part.count * datatype.bytes;
  record[word::kEnqueued] = moment.now_ns;
  record[word::kChannels] = part.channels;
  record[word::kPeer] = rank_word(part.peer);
  record[word::kDatatype] = datatype.number;
  record[word::kTag] = has_tags(communicator) ? part.tag : 0;
  keep(moment.lane, record);
}

void begin_proxy(Entry& entry, const ProxyPart& part) {
  constexpr std::uint64_t kSends = std::uint64_t{1} << 32;
  entry.channel.store(part.channel | (part.is_send != 0 ? kSends : 0), kRelaxed);
  auto& proxy = entry.rest.proxy;
  proxy.peer.store(rank_word(part.peer), kRelaxed);
  for (Word* each :
       {&proxy.gpu_ns, &proxy.network_ns, &proxy.peer_ns, &proxy.flush_ns, &proxy.transferred,
        &proxy.steps, &proxy.first_data_ns, &proxy.first_taken_ns}) {
    each->store(0, kRelaxed);
  }
}

void keep_proxy(const Moment& moment) {
  const Entry& entry = moment.entry;
  const auto& proxy = entry.rest.proxy;
  Record record = {};
  record[0] = head_of(Kind::Proxy, moment.communicator);
  record[word::kId] = entry.parent.load(kRelaxed);
  record[word::kChannel] = entry.channel.load(kRelaxed);
  record[word::kProxyPeer] = proxy.peer.load(kRelaxed);
  record[word::kProxyBegin] = entry.begin_ns.load(kRelaxed);
  record[word::kProxyEnd] = moment.now_ns;
  record[word::kGpuNs] = proxy.gpu_ns.load(kRelaxed);
  record[word::kNetworkNs] = proxy.network_ns.load(kRelaxed);
  record[word::kPeerNs] = proxy.peer_ns.load(kRelaxed);
  record[word::kFlushNs] = proxy.flush_ns.load(kRelaxed);
  record[word::kTransferred] = proxy.transferred.load(kRelaxed);
  record[word::kSteps] = proxy.steps.load(kRelaxed);
  record[word::kFirstData] = proxy.first_data_ns.load(kRelaxed);
  record[word::kFirstTaken] = proxy.first_taken_ns.load(kRelaxed);
  keep(moment.lane, record);
}

void keep_kernel(const Moment& moment) {
  const Entry& entry = moment.entry;
  Record record = {};
  record[0] = head_of(Kind::Kernel, moment.communicator);
  record[word::kId] = entry.parent.load(kRelaxed);
  record[word::kChannel] = entry.channel.load(kRelaxed);
  record[word::kGpuBegin] = entry.rest.kernel.gpu_begin.load(kRelaxed);
  record[word::kGpuEnd] = entry.rest.kernel.gpu_end.load(kRelaxed);
  record[word::kSeenBegin] = entry.begin_ns.load(kRelaxed);
  record[word::kSeenEnd] = moment.now_ns;
  keep(moment.lane, record);
}

}  // namespace

void keep(const Lane* lane, const Record& record) {
  Ring* ring = lane == nullptr ? nullptr : lane->ring.load(std::memory_order_relaxed);
  if (ring != nullptr) {
    write(*ring, record);
  } else {
    process().lose();
  }
}

void begin(const Moment& moment, const Descriptor& descriptor, std::uint64_t id,
           std::uint64_t parent) {
  Entry& entry = moment.entry;
  entry.begin_ns.store(moment.now_ns, kRelaxed);
  entry.parent.store(moment.what == What::Step ? parent : handle::id_of(parent), kRelaxed);
  switch (moment.what) {
    case What::Collective:
      keep_collective(moment, descriptor.collective, id);
      break;
    case What::Message:
      keep_message(moment, descriptor.message, id);
      break;
    case What::Proxy:
      begin_proxy(entry, descriptor.proxy);
      break;
    case What::Step:
      begin_step(entry);
      break;
    case What::Kernel:
      entry.channel.store(descriptor.kernel.channel, kRelaxed);
      entry.rest.kernel.gpu_begin.store(descriptor.kernel.timer, kRelaxed);
      entry.rest.kernel.gpu_end.store(0, kRelaxed);
      break;
    case What::Foreign:
      break;
  }
}

void change(Entry& entry, What what, int state, const StateArguments* arguments) {
  if (what == What::Step) {
    change_step(entry, state, arguments);
  } else if (what == What::Proxy && state == static_cast<int>(State::ProxyInProgress)) {
    // Until then it waited in a queue, behind what the job had enqueued before.
    entry.begin_ns.store(now_ns(), kRelaxed);
  } else if (what == What::Kernel && state == static_cast<int>(State::KernelStop) &&
             arguments != nullptr) {
    entry.rest.kernel.gpu_end.store(arguments->timer, kRelaxed);
  }
}

void end(const Moment& moment) {
  switch (moment.what) {
    case What::Proxy:
      keep_proxy(moment);
      break;
    case What::Step:
      end_step(moment.entry, moment.now_ns);
      break;
    case What::Kernel:
      keep_kernel(moment);
      break;
    case What::Collective:
    case What::Message:
    case What::Foreign:
      break;
  }
}

}  // namespace chokepoint::capture::nccl::plugin
