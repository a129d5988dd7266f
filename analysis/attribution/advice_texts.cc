#include "analysis/attribution/advice_texts.h"

#include <array>

namespace chokepoint::analysis {
namespace {

using enum VerdictClass;

constexpr std::array kAdvice{
    AdviceText{Compute, "gpu-throttled",
               "see on {node} what keeps GPUs below their clocks: cooling, power limit",
               "nvidia-smi -i {node_interface} -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE"},

    AdviceText{Straggler, "gpu-throttled",
               "see on {node} what keeps its GPU's clock down: cooling, power limit, power supply",
               "nvidia-smi -i {node_interface} -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE"},
    AdviceText{Straggler, "", "see on {node} what keeps rank {rank}: other programs, data, clocks",
               "chokepoint doctor --all"},

    AdviceText{LanBandwidth, "competing-traffic", "see on {from} whose traffic shares the link",
               "chokepoint capture -i {interface} --duration 10"},
    AdviceText{LanBandwidth, "", "what {link} between {from} and {to} would bring",
               "chokepoint predict --from DIR --link {link}"},
    AdviceText{LanBandwidth, "", "see on {from} what its port has agreed on, and is held to",
               "ethtool {interface}; tc -s qdisc show dev {interface}"},

    AdviceText{LanLoss, "interface-flap", "see on {node} why the interface went down: cable, port",
               "dmesg | grep {node_interface}"},
    AdviceText{LanLoss, "", "see on {to} where packets are lost: cable, port, queue",
               "ethtool -S {peer_interface} | grep -iE 'err|drop|crc'"},
    AdviceText{LanLoss, "", "what a link that loses nothing would bring",
               "chokepoint predict --from DIR --loss 0"},

    AdviceText{LanLatency, "", "what a shorter round trip would bring; or fewer, larger messages",
               "chokepoint predict --from DIR --rtt 0.1ms"},

    AdviceText{WanBandwidth, "competing-traffic", "see on {from} whose traffic shares the path",
               "chokepoint capture -i {interface} --duration 10"},
    AdviceText{WanBandwidth, "", "what {link} between {from} and {to} would bring",
               "chokepoint predict --from DIR --link {link}"},
    AdviceText{WanBandwidth, "", "let less cross the path: pipeline stages, compressed gradients"},

    AdviceText{WanLoss, "", "on {from}, a congestion control that random loss does not slow down",
               "modprobe tcp_bbr; sysctl -w net.ipv4.tcp_congestion_control=bbr"},
    AdviceText{WanLoss, "", "see from {from} where on the path packets are lost",
               "chokepoint probe path {to_address}"},
    AdviceText{WanLoss, "", "what a path that loses nothing would bring",
               "chokepoint predict --from DIR --loss 0"},

    AdviceText{WanLatency, "receive-window", "on {to}, receive buffers as large as the path",
               "sysctl -w net.ipv4.tcp_rmem='4096 131072 {buffer}'"},
    AdviceText{WanLatency, "send-buffer", "on {from}, send buffers as large as the path",
               "sysctl -w net.ipv4.tcp_wmem='4096 16384 {buffer}'"},
    AdviceText{WanLatency, "congestion-window", "on {from}, keep the window over pauses",
               "sysctl -w net.ipv4.tcp_slow_start_after_idle=0"},
    AdviceText{WanLatency, "gloo-credit",
               "larger buckets, or a library with more in flight; what a shorter path would bring",
               "chokepoint predict --from DIR --rtt 1ms"},
    AdviceText{WanLatency, "", "fewer, larger messages; what a shorter path would bring",
               "chokepoint predict --from DIR --rtt 1ms"},

    AdviceText{ReceiverHost, "receive-window", "on {to}, larger receive buffers",
               "sysctl -w net.ipv4.tcp_rmem='4096 131072 {buffer}'"},
    AdviceText{ReceiverHost, "softirq", "on {to}, more receive queues, each with its own core",
               "ethtool -l {peer_interface}; grep {peer_interface} /proc/interrupts"},
    AdviceText{ReceiverHost, "process-cpu", "see on {to} who takes the job's processor time",
               "top -b -n 1 | head -20; cat /proc/pressure/cpu"},
    AdviceText{ReceiverHost, "", "see what {to} lacks", "chokepoint doctor --all"},

    AdviceText{SenderHost, "send-buffer", "on {from}, larger send buffers",
               "sysctl -w net.ipv4.tcp_wmem='4096 16384 {buffer}'"},
    AdviceText{SenderHost, "process-cpu", "see on {from} who takes the job's processor time",
               "top -b -n 1 | head -20; cat /proc/pressure/cpu"},
    AdviceText{SenderHost, "", "see what {from} lacks", "chokepoint doctor --all"},

    AdviceText{PcieNic, "", "on {node}, move the card to a slot as wide as its line",
               "chokepoint doctor --all"},
    AdviceText{PcieGpu, "pcie-width",
               "on {node}, seat the GPU anew or in a better slot; how its link trains under load",
               "nvidia-smi -i {node_interface} --query-gpu=pcie.link.gen.current,"
               "pcie.link.width.current,pcie.link.width.max --format=csv"},
    AdviceText{PcieGpu, "pcie-speed",
               "on {node}, see what slows the GPU's link down: riser, BIOS, errors on the link",
               "nvidia-smi -i {node_interface} --query-gpu=pcie.link.gen.current,"
               "pcie.link.gen.max --format=csv; dmesg | grep -iE 'aer|pcie'"},
    AdviceText{PcieGpu, "shared-link", "see on {node} which GPUs share a port, and spread them",
               "nvidia-smi topo -m; lspci -tv"},
    AdviceText{PcieGpu, "gloo-copies",
               "let NCCL exchange the tensors where they are: init_process_group('nccl')"},
    AdviceText{PcieGpu, "",
               "on {node}, pin the host's buffers and copy less; see how its GPUs' "
               "slots are trained",
               "nvidia-smi --query-gpu=pci.bus_id,pcie.link.width.current,"
               "pcie.link.gen.current --format=csv"},
    AdviceText{RdmaCongestion, "receiver-pauses",
               "on {node}, see what keeps the host from taking "
               "data in: its slot, its memory's node, its cores",
               "chokepoint doctor --all"},
    AdviceText{RdmaCongestion, "",
               "on {node}, see the port's notifications; then the switch's "
               "queues and whether it marks ECN",
               "rdma statistic show link {node_interface}"},
    AdviceText{RdmaLoss, "", "on {node}, see what the port lost; then flow control along the path",
               "rdma statistic show link {node_interface}"},

    AdviceText{WrongPath, "address-family", "let the ranks meet at the other family's address",
               "export MASTER_ADDR={address}"},
    AdviceText{WrongPath, "", "on every node, name the faster interface (here that of {from})",
               "export GLOO_SOCKET_IFNAME={better} NCCL_SOCKET_IFNAME=={better}"},
};

constexpr std::array kDisproofs{
    DisproofText{Straggler, "with that rank on another host, another rank comes late"},
    DisproofText{LanBandwidth, "'chokepoint probe tcp' between the two carries more than the job"},
    DisproofText{LanLoss, "neither end's sockets sent anything again while steps were slow"},
    DisproofText{LanLatency, "with larger messages the step takes as long"},
    DisproofText{WanBandwidth, "'chokepoint probe tcp' over the path carries more than the job"},
    DisproofText{WanLoss, "'chokepoint probe udp' at the job's rate loses nothing"},
    DisproofText{WanLatency, "with larger windows, buffers or messages the step takes as long"},
    DisproofText{ReceiverHost, "on an idle receiver with large buffers the step takes as long"},
    DisproofText{SenderHost, "on an idle sender with large buffers the step takes as long"},
    DisproofText{PcieNic, "the card carries more than its slot's ceiling"},
    DisproofText{PcieGpu, "with the tensors left on the GPU the step takes as long"},
    DisproofText{RdmaCongestion, "no ECN marks, CNPs or pauses while steps were slow"},
    DisproofText{RdmaLoss, "no retransmissions while steps were slow"},
    DisproofText{WrongPath, "'chokepoint probe tcp' carries no more over the other way"},
};

}  // namespace

std::span<const AdviceText> advice_texts() { return kAdvice; }
std::span<const DisproofText> disproof_texts() { return kDisproofs; }

}  // namespace chokepoint::analysis
