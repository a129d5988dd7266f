#include "capture/nccl/plugin/parts.h"

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/names.h"
#include "capture/nccl/plugin/record.h"
#include "capture/nccl/plugin/steps.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

template <typename Value>
std::uint64_t word_of(Value value) {
  return static_cast<std::uint64_t>(value);
}

void keep_collective(const Moment& moment, const CollectivePart& part, std::uint64_t id) {
  const Function function = function_of(part.function);
  const Datatype datatype = datatype_of(part.datatype);
  Record record = {};
  record[0] = head_of(Kind::Collective, moment.communicator);
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
  keep(moment.lane, record);
}

void keep_message(const Moment& moment, const MessagePart& part, std::uint64_t id) {
  const Function function = function_of(part.function);
  const Datatype datatype = datatype_of(part.datatype);
  Communicator& communicator = moment.communicator;
  Word& count = function == Function::Receive ? communicator.receives : communicator.sends;
  Record record = {};
  record[0] = head_of(Kind::Message, communicator);
  record[word::kId] = id;
  record[word::kSequence] = count.fetch_add(1, kRelaxed);
  record[word::kFunction] = word_of(function);
  record[word::kBytes] = part.count * datatype.bytes;
  record[word::kEnqueued] = moment.now_ns;
  record[word::kChannels] = part.channels;
  record[word::kPeer] = rank_word(part.peer);
  record[word::kDatatype] = datatype.number;
  keep(moment.lane, record);
}

void begin_proxy(Entry& entry, const ProxyPart& part) {
  constexpr std::uint64_t kSends = std::uint64_t{1} << 32;
  entry.channel.store(part.channel | (part.is_send != 0 ? kSends : 0), kRelaxed);
  auto& proxy = entry.rest.proxy;
  proxy.peer.store(rank_word(part.peer), kRelaxed);
  for (Word* each : {&proxy.gpu_ns, &proxy.network_ns, &proxy.peer_ns, &proxy.flush_ns,
                     &proxy.transferred, &proxy.steps, &proxy.first_data_ns}) {
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
    // Until then it stood in a queue, behind what the job had enqueued before.
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
