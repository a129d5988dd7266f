// A step is one buffer's way through the network: NCCL tells what it waits for next, and each wait
// ends with the following one, or with the step. The waits are summed up in the channel's Proxy.
//
//   it sends     SendGpuWait: own GPU   SendPeerWait: the receiver's credit   SendWait: network
//   it receives  ReceiveWait: network   ReceiveFlushWait: PCIe                ReceiveGpuWait: own
//   GPU
#pragma once

#include <cstdint>

#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/interface.h"

namespace chokepoint::capture::nccl::plugin {

void begin_step(Entry& step);
void change_step(Entry& step, int state, const StateArguments* arguments);
void end_step(Entry& step, std::uint64_t now_ns);

}  // namespace chokepoint::capture::nccl::plugin
