// chokepoint.collective/1: what a collective between ranks carries, size by size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/bounds.h"
#include "base/documents/values.h"
#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

enum class ElementType { Float32, Float64, Float16, BFloat16, Int32, Int64, Uint8 };

// How the data went. nullopt or empty: the backend does not report it.
struct DataPath {
  std::string library = {};    // "libgloo", "NCCL 2.28.9"
  std::string transport = {};  // "tcp", "socket", "ib", "p2p", "shm"
  std::string interface = {};  // or an RDMA device's name
  std::string family = {};     // "ipv4", "ipv6"
  std::string local_address = {};
  std::optional<int> channels = {};
  std::optional<int> sockets_per_peer = {};
  std::optional<double> link_mbps = {};
  // Why another way of this host is better, and how to take it; empty: none is.
  std::string better = {};
};

struct WrongElement {
  int rank = 0;
  std::uint64_t offset_bytes = 0;
  std::optional<double> wanted = {};
  std::optional<double> found = {};

  bool operator==(const WrongElement&) const = default;
};

struct CollectiveSize {
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  std::optional<math::Distribution> time_us = {};
  std::optional<double> algbw_mbps = {};
  std::optional<double> busbw_mbps = {};
  std::optional<bool> checked = {};
  std::optional<std::vector<WrongElement>> wrong = {};
};

struct CollectiveMember {
  int rank = 0;
  std::string host = {};
  std::string interface = {};
  std::string local_address = {};
};

struct Collective {
  std::string backend = {};
  std::string collective = {};
  ElementType type = ElementType::Float32;
  int ranks = 1;
  std::size_t hosts = 0;
  std::string launcher = {};
  DataPath data_path = {};  // rank 0's
  std::vector<CollectiveSize> sizes = {};
  std::optional<double> alpha_us = {};
  std::optional<double> beta_mbps = {};
  std::vector<CollectiveMember> members = {};
  std::vector<std::string> missed = {};
  bool interrupted = false;
  std::optional<std::string> failure = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::ElementType> {
  using enum documents::ElementType;
  static constexpr std::string_view kWhat = "an element type";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::ElementType>>({{Float32, "float32"},
                                                       {Float64, "float64"},
                                                       {Float16, "float16"},
                                                       {BFloat16, "bf16"},
                                                       {Int32, "int32"},
                                                       {Int64, "int64"},
                                                       {Uint8, "uint8"}});
};

// Ranks send it to the one that leads them, too.
template <>
struct Fields<documents::DataPath> {
  using D = documents::DataPath;
  static constexpr std::size_t kMaxText = 500;
  static constexpr int kMaxConnections = 1'000'000;
  // Whatever in a text is no UTF-8 takes three bytes in place of each.
  static constexpr std::size_t kMaxRead = 3 * kMaxText;
  static constexpr FieldList kList{
      field("interface", &D::interface, "interface or RDMA device of rank 0")
          .up_to_bytes(kMaxRead)
          .null_if_empty(),
      field("transport", &D::transport, "tcp, socket, ib, p2p, shm …")
          .up_to_bytes(kMaxRead)
          .null_if_empty(),
      field("library", &D::library, "library, with its version where it reports one")
          .up_to_bytes(kMaxRead)
          .null_if_empty(),
      field("family", &D::family, "ipv4 or ipv6").up_to_bytes(kMaxRead).null_if_empty(),
      field("local_address", &D::local_address, "local address of rank 0")
          .up_to_bytes(kMaxRead)
          .null_if_empty(),
      field("channels", &D::channels, "channels of NCCL").between(0, kMaxConnections),
      field("sockets_per_peer", &D::sockets_per_peer, "connections").between(0, kMaxConnections),
      field("link_mbps", &D::link_mbps, "rate of the interface, 10^6 bit/s").between(0, 1e9),
      field("better", &D::better,
            "why another path of this host is better, and how to use it; null: no path is better")
          .up_to_bytes(kMaxRead)
          .null_if_empty()};
};

template <>
struct Fields<documents::WrongElement> {
  using W = documents::WrongElement;
  static constexpr FieldList kList{
      field("rank", &W::rank, "rank that received the element").at_least(0),
      field("offset_bytes", &W::offset_bytes, "offset of the first wrong element")
          .at_most(1LL << 40),
      field("wanted", &W::wanted, "the right value"),
      field("found", &W::found, "the value received; null: it is not a number")};
};

template <>
struct Fields<documents::CollectiveSize> {
  using C = documents::CollectiveSize;
  static constexpr FieldList kList{
      field("bytes", &C::bytes, "bytes that each rank has at the end, or sends")
          .between(1, 1LL << 50),
      field("elements", &C::elements, "elements that each rank has at the end, or sends")
          .or_default(),
      field("time_us", &C::time_us,
            "time of an operation for the rank that took longest; null: it did not run")
          .between(0, documents::kMaxUs),
      field("algbw_mbps", &C::algbw_mbps, "bytes over the mean time, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("busbw_mbps", &C::busbw_mbps, "rate that a rank's link carries, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("checked", &C::checked, "whether the data were right; null: not compared"),
      field("wrong", &C::wrong, "first wrong element, only where data were wrong")
          .omitted_if_unknown()};
};

template <>
struct Fields<documents::CollectiveMember> {
  using M = documents::CollectiveMember;
  static constexpr FieldList kList{
      field("rank", &M::rank, "from 0 on").at_least(0), field("host", &M::host, "host of the rank"),
      field("interface", &M::interface, "interface or RDMA device that carries its data")
          .null_if_empty(),
      field("local_address", &M::local_address, "local address of its first connection")
          .null_if_empty()};
};

template <>
struct Fields<documents::Collective> {
  using C = documents::Collective;
  static constexpr std::string_view kSchema = "chokepoint.collective/1";
  static constexpr const char* kCommand = "probe collective";
  static constexpr FieldList kList{
      field("backend", &C::backend, "the library that moves the data: gloo or nccl")
          .up_to_bytes(64),
      field("collective", &C::collective,
            "what the ranks do: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all or "
            "send-receive")
          .up_to_bytes(64),
      field("type", &C::type, "type of an element"),
      field("ranks", &C::ranks, "ranks that take part").between(1, 1e6),
      field("hosts", &C::hosts, "hosts of the ranks"),
      field("launcher", &C::launcher,
            "who started the ranks: torchrun, mpirun, srun or chokepoint"),
      spread(&C::data_path),
      field("sizes", &C::sizes, "results for each size, the smallest first").up_to_items(1000),
      field("alpha_us", &C::alpha_us, "fit: time of an operation without data"),
      field("beta_mbps", &C::beta_mbps, "fit: rate for each further byte, 10^6 bit/s").at_least(0),
      field("members", &C::members, "all ranks"),
      field("missed", &C::missed, "thresholds not reached, one line each"),
      field("interrupted", &C::interrupted, "ended before all was measured"),
      field("failure", &C::failure, "why the test did not finish")};
};

}  // namespace chokepoint
