// What the documents of probes, RDMA tests and probe collective declare as their main results, and
// the settings that were requested: the one table by which commands are repeated and documents are
// compared. A pointer names members of objects; "-" is a list's last item, such as the result of
// the largest size or of the last device. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace chokepoint::documents {

enum class Better : std::uint8_t { More, Less, Neither };

// Of one kind of document; the first that documents have decides a comparison.
struct MainFigure {
  const char* schema;   // "chokepoint.probe.tcp/1"
  const char* pointer;  // "/throughput_mbps"
  const char* key;      // one name has one meaning in all kinds: "throughput_mbps"
  const char* name;     // for people: "throughput"
  const char* unit;     // "Mb/s"; empty: a count
  Better better;
};

// What a test was asked for: documents that agree in all of these repeat one test.
struct MainSetting {
  const char* schema;
  const char* pointer;
  const char* key;
};

namespace schemas {
inline constexpr const char* kTcp = "chokepoint.probe.tcp/1";
inline constexpr const char* kUdp = "chokepoint.probe.udp/1";
inline constexpr const char* kQuic = "chokepoint.probe.quic/1";
inline constexpr const char* kRpc = "chokepoint.probe.rpc/1";
inline constexpr const char* kLatency = "chokepoint.probe.latency/1";
inline constexpr const char* kPath = "chokepoint.probe.path/1";
inline constexpr const char* kPaths = "chokepoint.probe.paths/1";
inline constexpr const char* kStorage = "chokepoint.probe.storage/1";
inline constexpr const char* kPcie = "chokepoint.pcie/1";
inline constexpr const char* kRdma = "chokepoint.rdma/1";
inline constexpr const char* kCollective = "chokepoint.collective/1";
}  // namespace schemas

inline constexpr std::array kMainFigures{
    MainFigure{schemas::kTcp, "/throughput_mbps", "throughput_mbps", "throughput", "Mb/s",
               Better::More},
    MainFigure{schemas::kTcp, "/send/throughput_mbps", "send_mbps", "to the peer", "Mb/s",
               Better::More},
    MainFigure{schemas::kTcp, "/receive/throughput_mbps", "receive_mbps", "from the peer", "Mb/s",
               Better::More},
    MainFigure{schemas::kTcp, "/retransmits", "retransmits", "retransmissions", "", Better::Less},
    MainFigure{schemas::kTcp, "/rtt_ms/median", "rtt_ms", "round trip", "ms", Better::Less},
    MainFigure{schemas::kTcp, "/cpu/sender_percent", "sender_cpu_percent", "sender's CPU", "%",
               Better::Less},
    MainFigure{schemas::kTcp, "/cpu/receiver_percent", "receiver_cpu_percent", "receiver's CPU",
               "%", Better::Less},

    MainFigure{schemas::kUdp, "/throughput_mbps", "throughput_mbps", "throughput", "Mb/s",
               Better::More},
    MainFigure{schemas::kUdp, "/send/throughput_mbps", "send_mbps", "to the peer", "Mb/s",
               Better::More},
    MainFigure{schemas::kUdp, "/receive/throughput_mbps", "receive_mbps", "from the peer", "Mb/s",
               Better::More},
    MainFigure{schemas::kUdp, "/loss_percent", "loss_percent", "loss", "%", Better::Less},
    MainFigure{schemas::kUdp, "/jitter_ms", "jitter_ms", "jitter", "ms", Better::Less},

    MainFigure{schemas::kQuic, "/throughput_mbps", "throughput_mbps", "throughput", "Mb/s",
               Better::More},
    MainFigure{schemas::kQuic, "/send/throughput_mbps", "send_mbps", "to the peer", "Mb/s",
               Better::More},
    MainFigure{schemas::kQuic, "/receive/throughput_mbps", "receive_mbps", "from the peer", "Mb/s",
               Better::More},
    MainFigure{schemas::kQuic, "/handshake_ms", "handshake_ms", "handshake", "ms", Better::Less},
    MainFigure{schemas::kQuic, "/resumption_ms", "resumption_ms", "resumed, first answer", "ms",
               Better::Less},
    MainFigure{schemas::kQuic, "/loss_percent", "loss_percent", "loss", "%", Better::Less},
    MainFigure{schemas::kQuic, "/rtt_ms/median", "rtt_ms", "round trip", "ms", Better::Less},
    MainFigure{schemas::kQuic, "/cpu/sender_percent", "sender_cpu_percent", "sender's CPU", "%",
               Better::Less},
    MainFigure{schemas::kQuic, "/cpu/receiver_percent", "receiver_cpu_percent", "receiver's CPU",
               "%", Better::Less},

    MainFigure{schemas::kRpc, "/calls_per_s", "calls_per_s", "calls", "calls/s", Better::More},
    MainFigure{schemas::kRpc, "/latency_ms/median", "latency_ms", "latency", "ms", Better::Less},
    MainFigure{schemas::kRpc, "/latency_ms/p99", "latency_p99_ms", "latency, p99", "ms",
               Better::Less},
    MainFigure{schemas::kRpc, "/held_ms/median", "held_ms", "held by the peer", "ms", Better::Less},
    MainFigure{schemas::kRpc, "/request_mbps", "request_mbps", "requests", "Mb/s", Better::More},
    MainFigure{schemas::kRpc, "/response_mbps", "response_mbps", "answers", "Mb/s", Better::More},
    MainFigure{schemas::kRpc, "/round_trips", "round_trips", "round trips a call", "",
               Better::Less},

    MainFigure{schemas::kLatency, "/idle_ms/median", "idle_ms", "idle", "ms", Better::Less},
    MainFigure{schemas::kLatency, "/idle_ms/p99", "idle_p99_ms", "idle, p99", "ms", Better::Less},
    MainFigure{schemas::kLatency, "/loaded_send_ms/median", "loaded_send_ms", "loaded, to the peer",
               "ms", Better::Less},
    MainFigure{schemas::kLatency, "/loaded_receive_ms/median", "loaded_receive_ms",
               "loaded, from the peer", "ms", Better::Less},
    MainFigure{schemas::kLatency, "/loaded_both_ms/median", "loaded_both_ms",
               "loaded, both directions", "ms", Better::Less},
    MainFigure{schemas::kLatency, "/rpm", "rpm", "responsiveness", "RPM", Better::More},

    MainFigure{schemas::kPath, "/forward/-/rtt_ms", "last_hop_ms", "to the last hop", "ms",
               Better::Less},
    MainFigure{schemas::kPath, "/path_mtu_bytes", "path_mtu_bytes", "path MTU", "B",
               Better::Neither},

    MainFigure{schemas::kPaths, "/send/loss_percent", "send_loss_percent", "loss to the peer", "%",
               Better::Less},
    MainFigure{schemas::kPaths, "/receive/loss_percent", "receive_loss_percent",
               "loss from the peer", "%", Better::Less},
    MainFigure{schemas::kPaths, "/paths/at_least", "paths", "paths seen", "", Better::Neither},

    MainFigure{schemas::kStorage, "/write_mb_per_s", "write_mb_per_s", "writes", "MB/s",
               Better::More},
    MainFigure{schemas::kStorage, "/sync_ms/median", "sync_ms", "a synced write", "ms",
               Better::Less},
    MainFigure{schemas::kStorage, "/read_mb_per_s", "read_mb_per_s", "reads", "MB/s", Better::More},
    MainFigure{schemas::kStorage, "/random_reads/-/per_s", "random_reads_per_s", "random reads",
               "per s", Better::More},

    MainFigure{schemas::kPcie, "/devices/-/host_to_device_mbps", "host_to_device_mbps",
               "to the last device", "Mb/s", Better::More},
    MainFigure{schemas::kPcie, "/devices/-/device_to_host_mbps", "device_to_host_mbps", "from it",
               "Mb/s", Better::More},
    MainFigure{schemas::kPcie, "/devices/-/both_ways_mbps", "both_ways_mbps", "both directions",
               "Mb/s", Better::More},

    MainFigure{schemas::kRdma, "/average_mbps", "throughput_mbps", "throughput", "Mb/s",
               Better::More},
    MainFigure{schemas::kRdma, "/latency_us/median", "latency_us", "latency", "µs", Better::Less},
    MainFigure{schemas::kRdma, "/latency_us/p99", "latency_p99_us", "latency, p99", "µs",
               Better::Less},
    MainFigure{schemas::kRdma, "/message_rate_per_s", "messages_per_s", "messages", "per s",
               Better::More},

    MainFigure{schemas::kCollective, "/sizes/-/busbw_mbps", "bus_mbps",
               "bus bandwidth, largest size", "Mb/s", Better::More},
    MainFigure{schemas::kCollective, "/sizes/-/time_us/median", "largest_us",
               "time of the largest size", "µs", Better::Less},
    MainFigure{schemas::kCollective, "/beta_mbps", "beta_mbps", "fit: each further byte", "Mb/s",
               Better::More},
    MainFigure{schemas::kCollective, "/alpha_us", "alpha_us", "fit: no bytes", "µs", Better::Less},
};

inline constexpr std::array kMainSettings{
    MainSetting{schemas::kTcp, "/direction", "direction"},
    MainSetting{schemas::kTcp, "/streams", "streams"},
    MainSetting{schemas::kTcp, "/congestion_control", "congestion_control"},
    MainSetting{schemas::kTcp, "/mss_bytes", "mss_bytes"},
    MainSetting{schemas::kUdp, "/direction", "direction"},
    MainSetting{schemas::kUdp, "/streams", "streams"},
    MainSetting{schemas::kUdp, "/packet_bytes", "packet_bytes"},
    MainSetting{schemas::kUdp, "/asked_mbps", "asked_mbps"},
    MainSetting{schemas::kQuic, "/direction", "direction"},
    MainSetting{schemas::kQuic, "/streams", "streams"},
    MainSetting{schemas::kQuic, "/congestion_control", "congestion_control"},
    MainSetting{schemas::kQuic, "/window_bytes", "window_bytes"},
    MainSetting{schemas::kQuic, "/segmentation", "segmentation"},
    MainSetting{schemas::kRpc, "/request_bytes", "request_bytes"},
    MainSetting{schemas::kRpc, "/response_bytes", "response_bytes"},
    MainSetting{schemas::kRpc, "/callers", "callers"},
    MainSetting{schemas::kRpc, "/outstanding", "outstanding"},
    MainSetting{schemas::kRpc, "/pause_ms", "pause_ms"},
    MainSetting{schemas::kRpc, "/no_delay", "no_delay"},
    MainSetting{schemas::kLatency, "/gap_ms", "gap_ms"},
    MainSetting{schemas::kPath, "/protocol", "protocol"},
    MainSetting{schemas::kPaths, "/protocol", "protocol"},
    MainSetting{schemas::kStorage, "/folder", "place"},
    MainSetting{schemas::kStorage, "/file_bytes", "file_bytes"},
    MainSetting{schemas::kPcie, "/bytes", "bytes"},
    MainSetting{schemas::kRdma, "/operation", "operation"},
    MainSetting{schemas::kRdma, "/metric", "metric"},
    MainSetting{schemas::kRdma, "/transport", "transport"},
    MainSetting{schemas::kRdma, "/device", "device"},
    MainSetting{schemas::kRdma, "/mtu_bytes", "mtu_bytes"},
    MainSetting{schemas::kRdma, "/message_bytes", "message_bytes"},
    MainSetting{schemas::kRdma, "/queue_pairs", "queue_pairs"},
    MainSetting{schemas::kRdma, "/memory", "memory"},
    MainSetting{schemas::kCollective, "/backend", "backend"},
    MainSetting{schemas::kCollective, "/collective", "collective"},
    MainSetting{schemas::kCollective, "/ranks", "ranks"},
    MainSetting{schemas::kCollective, "/transport", "transport"},
    MainSetting{schemas::kCollective, "/interface", "interface"},
};

// A number in a command's document, as trials show it.
struct Figure {
  std::string pointer = {};  // "/throughput_mbps"
  std::string name = {};     // "throughput"
  std::string unit = {};     // "Mb/s"
};

// Empty for a document that declares none.
std::vector<Figure> figures_of(std::string_view schema);

// Null where the pointer leads nowhere.
const nlohmann::ordered_json* found_at(const nlohmann::ordered_json& document,
                                       std::string_view pointer);
std::optional<double> number_at(const nlohmann::ordered_json& document, std::string_view pointer);

}  // namespace chokepoint::documents
