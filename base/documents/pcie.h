// chokepoint.pcie/1: the devices in a host's PCIe slots, the rate of each link, and the rate of
// copies to and from GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/checks/check.h"
#include "base/documents/bounds.h"
#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

enum class PcieKind { Gpu, Nic, Rdma };

// From near to far.
enum class PcieNearness {
  Same,  // one card
  Pix,   // one bridge or switch
  Pxb,   // several bridges
  Phb,   // the processor's host bridge
  Node,  // between host bridges of one NUMA node
  Sys    // between NUMA nodes
};

enum class LinkSeenWhen { UnderLoad, Idle };

struct PcieLink {
  std::optional<double> speed_gts = {};
  std::optional<int> width = {};
  std::optional<double> max_speed_gts = {};
  std::optional<int> max_width = {};
};

struct PcieDeviceLink {
  PcieLink link = {};
  std::optional<LinkSeenWhen> seen = {};  // of a GPU
};

struct PcieHop {
  PcieLink link = {};
  std::string bus_id = {};
  std::optional<int> payload_bytes = {};
};

struct PcieCopies {
  std::optional<double> to_gpu_mbps = {};
  std::optional<double> from_gpu_mbps = {};
  std::optional<double> both_mbps = {};
};

struct PcieFarCopies {
  PcieCopies copies = {};
  std::optional<int> node = {};
};

struct PcieCounts {
  std::optional<std::int64_t> before = {};
  std::optional<std::int64_t> after = {};
};

struct PcieNic {
  std::string bus_id = {};
  std::vector<std::string> names = {};
  PcieNearness affinity = PcieNearness::Sys;
};

// Of a GPU to which something was copied.
struct PcieGpu {
  int index = 0;
  std::uint64_t bytes = 0;
  std::optional<double> host_to_device_percent = {};
  std::optional<double> device_to_host_percent = {};
  PcieCopies pageable = {};
  std::optional<bool> near_memory = {};
  PcieFarCopies numa_far = {};
  std::optional<int> copy_engines = {};
  std::optional<double> two_streams_mbps = {};
  PcieLink idle_link = {};
  int link_looks = 0;
  PcieCounts replays = {};
  PcieCounts errors = {};
  std::uint64_t verified_bytes = 0;
  std::vector<std::string> data_errors = {};
  std::vector<std::string> problems = {};
};

struct PcieDevice {
  std::string bus_id = {};
  PcieKind kind = PcieKind::Nic;
  std::string name = {};
  std::vector<std::string> names = {};
  std::optional<int> numa_node = {};
  PcieDeviceLink link = {};
  std::vector<PcieHop> hops = {};
  std::optional<double> ceiling_mbps = {};
  std::optional<int> payload_bytes = {};
  std::optional<bool> payload_assumed = {};
  std::optional<std::int64_t> line_rate_mbps = {};
  PcieCopies copies = {};
  std::optional<std::vector<PcieNic>> nics = {};  // of a GPU
  std::optional<PcieGpu> gpu = {};
};

struct PciePeerCopies {
  std::optional<double> there_mbps = {};
  std::optional<double> back_mbps = {};
  std::optional<double> both_mbps = {};
};

struct PciePeers {
  std::string one = {};  // addresses
  std::string other = {};
  std::uint64_t bytes = 0;             // of a copy; not in the document
  std::optional<bool> reachable = {};  // may they reach each other's memory?
  PciePeerCopies direct = {};
  PciePeerCopies staged = {};  // through host memory
  std::uint64_t verified_bytes = 0;
  std::vector<std::string> wrong = {};
  std::vector<std::string> problems = {};
};

struct PcieAffinity {
  std::string a = {};
  std::string b = {};
  std::optional<PcieNearness> affinity = {};
};

struct Pcie {
  checks::Status verdict = checks::Status::Pass;
  std::optional<std::uint64_t> bytes = {};
  std::optional<int> cuda_version = {};
  std::optional<std::string> gpu_driver_version = {};
  std::optional<std::string> not_measured = {};
  bool interrupted = false;
  std::vector<PcieDevice> devices = {};
  std::vector<PciePeers> peers = {};
  std::vector<PcieAffinity> affinity = {};
  checks::Checks checks = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::PcieKind> {
  using enum documents::PcieKind;
  static constexpr std::string_view kWhat = "a kind of device";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::PcieKind>>({{Gpu, "gpu"}, {Nic, "nic"}, {Rdma, "rdma"}});
};

template <>
struct EnumNames<documents::PcieNearness> {
  using enum documents::PcieNearness;
  static constexpr std::string_view kWhat = "how near two devices are, as nvidia-smi writes it";
  static constexpr auto kNames = std::to_array<EnumName<documents::PcieNearness>>(
      {{Same, "X"}, {Pix, "PIX"}, {Pxb, "PXB"}, {Phb, "PHB"}, {Node, "NODE"}, {Sys, "SYS"}});
};

template <>
struct EnumNames<documents::LinkSeenWhen> {
  using enum documents::LinkSeenWhen;
  static constexpr std::string_view kWhat = "under-load or idle";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::LinkSeenWhen>>({{UnderLoad, "under-load"}, {Idle, "idle"}});
};

template <>
struct Fields<documents::PcieLink> {
  using L = documents::PcieLink;
  static constexpr FieldList kList{
      field("speed_gts", &L::speed_gts, "GT/s of a lane").at_least(0),
      field("width", &L::width, "lanes").at_least(0),
      field("max_speed_gts", &L::max_speed_gts, "GT/s that both ends can do").at_least(0),
      field("max_width", &L::max_width, "lanes that both ends can do").at_least(0)};
};

template <>
struct Fields<documents::PcieDeviceLink> {
  using L = documents::PcieDeviceLink;
  static constexpr FieldList kList{
      spread(&L::link),
      field("seen", &L::seen, "for a GPU, when the link was read").omitted_if_unknown()};
};

template <>
struct Fields<documents::PcieHop> {
  using H = documents::PcieHop;
  static constexpr FieldList kList{
      spread(&H::link), field("bus_id", &H::bus_id, "PCI address"),
      field("payload_bytes", &H::payload_bytes, "largest payload of a packet").at_least(0)};
};

template <>
struct Fields<documents::PcieCopies> {
  using C = documents::PcieCopies;
  static constexpr FieldList kList{
      field("host_to_device_mbps", &C::to_gpu_mbps, "10^6 bit/s").between(0, documents::kMaxMbps),
      field("device_to_host_mbps", &C::from_gpu_mbps, "10^6 bit/s").between(0, documents::kMaxMbps),
      field("both_ways_mbps", &C::both_mbps, "sum of both directions at the same time, 10^6 bit/s")
          .between(0, documents::kMaxMbps)};
};

template <>
struct Fields<documents::PcieFarCopies> {
  using C = documents::PcieFarCopies;
  static constexpr FieldList kList{
      spread(&C::copies), field("node", &C::node, "NUMA node whose memory was used").at_least(0)};
};

template <>
struct Fields<documents::PcieCounts> {
  using C = documents::PcieCounts;
  static constexpr FieldList kList{
      field("before", &C::before, "link before the first copy").at_least(0),
      field("after", &C::after, "link after the last copy").at_least(0)};
};

template <>
struct Fields<documents::PcieNic> {
  using N = documents::PcieNic;
  static constexpr FieldList kList{field("bus_id", &N::bus_id, "PCI address"),
                                   field("names", &N::names, "names of its interfaces and devices"),
                                   field("affinity", &N::affinity, "how near it is")};
};

template <>
struct Fields<documents::PcieGpu> {
  using G = documents::PcieGpu;
  static constexpr FieldList kList{
      field("index", &G::index, "CUDA's number").at_least(0),
      field("bytes", &G::bytes, "size of a copy"),
      field("host_to_device_percent", &G::host_to_device_percent, "percent of `ceiling_mbps`")
          .at_least(0),
      field("device_to_host_percent", &G::device_to_host_percent, "percent of `ceiling_mbps`")
          .at_least(0),
      field("pageable", &G::pageable, "the same copies with memory that is not pinned"),
      field("near_memory", &G::near_memory,
            "whether the host memory was of the GPU's own NUMA node; null: the node is not known"),
      field("numa_far", &G::numa_far, "the same copies with memory of another NUMA node"),
      field("copy_engines", &G::copy_engines, "copy engines that copy at the same time")
          .at_least(0),
      field("two_streams_mbps", &G::two_streams_mbps,
            "rate of two copies to the GPU at the same time, added up")
          .between(0, documents::kMaxMbps),
      field("idle_link", &G::idle_link, "link before the first copy, while idle"),
      field("link_looks", &G::link_looks, "how often the link was read during copies").at_least(0),
      field("replays", &G::replays, "replays that the link counted"),
      field("errors", &G::errors, "errors in Advanced Error Reporting, over all hops"),
      field("verified_bytes", &G::verified_bytes, "bytes compared with what was sent"),
      field("data_errors", &G::data_errors, "errors in the data that arrived, one line each"),
      field("problems", &G::problems, "what could not be measured, and why")};
};

template <>
struct Fields<documents::PcieDevice> {
  using D = documents::PcieDevice;
  static constexpr FieldList kList{
      field("bus_id", &D::bus_id, "PCI address"),
      field("kind", &D::kind, "kind of device"),
      field("name", &D::name, "all its names, or its address"),
      field("names", &D::names, "names of its interfaces and devices; for a GPU its model"),
      field("numa_node", &D::numa_node, "NUMA node of the device").at_least(0),
      field("link", &D::link, "link of the device itself"),
      field("hops", &D::hops, "hops from the root port to the device"),
      field("ceiling_mbps", &D::ceiling_mbps,
            "rate that the narrowest link carries in one direction, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("payload_bytes", &D::payload_bytes,
            "largest payload of a packet, used to compute `ceiling_mbps`")
          .at_least(0),
      field("payload_assumed", &D::payload_assumed, "the payload could not be read and is assumed"),
      field("line_rate_mbps", &D::line_rate_mbps,
            "line rate of the NIC's ports that are up, 10^6 bit/s")
          .at_least(0),
      spread(&D::copies),
      field("nics", &D::nics, "for a GPU, the nearest NICs").omitted_if_unknown(),
      spread(&D::gpu)};
};

template <>
struct Fields<documents::PciePeerCopies> {
  using C = documents::PciePeerCopies;
  static constexpr FieldList kList{
      field("a_to_b_mbps", &C::there_mbps, "10^6 bit/s").between(0, documents::kMaxMbps),
      field("b_to_a_mbps", &C::back_mbps, "10^6 bit/s").between(0, documents::kMaxMbps),
      field("both_ways_mbps", &C::both_mbps, "sum of both directions at the same time, 10^6 bit/s")
          .between(0, documents::kMaxMbps)};
};

template <>
struct Fields<documents::PciePeers> {
  using P = documents::PciePeers;
  static constexpr FieldList kList{
      field("a", &P::one, "PCI address of one GPU"),
      field("b", &P::other, "PCI address of the other"),
      field("peer_access", &P::reachable, "whether each GPU can access the other's memory"),
      field("direct", &P::direct, "copies from GPU to GPU"),
      field("through_host", &P::staged, "copies through host memory"),
      field("verified_bytes", &P::verified_bytes, "bytes compared with what was sent"),
      field("data_errors", &P::wrong, "errors in the data that arrived, one line each"),
      field("problems", &P::problems, "what could not be measured, and why")};
};

template <>
struct Fields<documents::PcieAffinity> {
  using A = documents::PcieAffinity;
  static constexpr FieldList kList{
      field("a", &A::a, "PCI address"), field("b", &A::b, "PCI address"),
      field("affinity", &A::affinity, "how near they are, as nvidia-smi writes it")};
};

template <>
struct Fields<documents::Pcie> {
  using P = documents::Pcie;
  static constexpr std::string_view kSchema = "chokepoint.pcie/1";
  static constexpr const char* kCommand = "probe pcie";
  static constexpr FieldList kList{
      field("verdict", &P::verdict, "the worst status of all checks"),
      field("bytes", &P::bytes, "size of a copy; null: nothing was copied"),
      field("cuda_version", &P::cuda_version, "1000 × major + 10 × minor").at_least(0),
      field("gpu_driver_version", &P::gpu_driver_version, "version of NVIDIA's driver"),
      field("not_measured", &P::not_measured, "why nothing was copied"),
      field("interrupted", &P::interrupted, "ended before all was measured"),
      field("devices", &P::devices, "devices in the host's slots: GPUs, NICs, RDMA devices"),
      field("peers", &P::peers, "pairs of GPUs"),
      field("affinity", &P::affinity, "how near each pair of devices is, each pair once"),
      field("checks", &P::checks, "checks, in the form of doctor's")};
};

}  // namespace chokepoint
