#include "capture/source/tap.h"

#include <linux/filter.h>
#include <pcap/pcap.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "capture/source/link_type.h"
#include "capture/source/wall_clock.h"
#include "capture/source/window.h"

namespace chokepoint::capture::source {
namespace {

// Where collect() puts packets: known to libpcap's callback by a pointer.
struct Filling {
  Batch& batch;
  std::size_t used;
  std::uint32_t snapshot_bytes;
  std::uint32_t interface;
  packet::LinkType link_type;
  std::int64_t shift_ns;
};

void add(u_char* context, const pcap_pkthdr* head, const u_char* data) {
  Filling& filling = *reinterpret_cast<Filling*>(context);
  const std::uint32_t captured = std::min(head->caplen, filling.snapshot_bytes);
  std::uint8_t* const into = filling.batch.bytes.data() + filling.used;
  std::memcpy(into, data, captured);
  filling.used += captured;
  // Asked for nanoseconds, libpcap puts them where microseconds are by name.
  filling.batch.frames.push_back(
      {.time_ns = head->ts.tv_sec * kSecondNs + head->ts.tv_usec + filling.shift_ns,
       .data = into,
       .captured_bytes = captured,
       .frame_bytes = head->len,
       .interface = filling.interface,
       .link_type = filling.link_type});
}

std::size_t used_bytes(const Batch& batch) {
  if (batch.frames.empty()) {
    return 0;
  }
  const packet::Frame& last = batch.frames.back();
  return static_cast<std::size_t>(last.data + last.captured_bytes - batch.bytes.data());
}

}  // namespace

Tap::Tap(std::string name, pcap* handle, InterfaceDrops drops, TimeScale time_scale)
    : name_(std::move(name)),
      handle_(handle, pcap_close),
      interface_drops_(std::move(drops)),
      stamps_(time_scale) {}
Tap::Tap(Tap&&) noexcept = default;
Tap::~Tap() = default;

Result<Tap> Tap::open(const std::string& interface, const TapOptions& options,
                      InterfaceDrops drops) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  pcap* const handle = pcap_create(interface.c_str(), reason.data());
  if (handle == nullptr) {
    return fail(ErrorKind::Io, "listen", interface, reason.data());
  }
  Tap tap(interface, handle, std::move(drops), options.time_scale);
  TRY(tap.activate(options));
  return tap;
}

Result<> Tap::activate(const TapOptions& options) {
  pcap* const handle = handle_.get();
  pcap_set_snaplen(handle, static_cast<int>(options.snapshot_bytes));
  pcap_set_buffer_size(handle, static_cast<int>(options.ring_bytes));
  pcap_set_timeout(handle, static_cast<int>(kBlockTimeout.count()));
  pcap_set_promisc(handle, options.promiscuous ? 1 : 0);
  pcap_set_tstamp_precision(handle, PCAP_TSTAMP_PRECISION_NANO);
  if (const int status = pcap_activate(handle); status < 0) {
    return fail(error_of(status));
  }
  link_type_ = link_type_of(static_cast<std::uint32_t>(pcap_datalink(handle)));
  snapshot_bytes_ = static_cast<std::uint32_t>(pcap_snapshot(handle));
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  if (pcap_setnonblock(handle, 1, reason.data()) < 0) {
    return fail(ErrorKind::Io, "listen", name_, reason.data());
  }
  return set_filter(options.filter);
}

// An empty filter, too: without one, the kernel puts whole packets into the ring, whatever the
// snapshot length.
Result<> Tap::set_filter(const std::string& filter) {
  bpf_program program{};
  if (pcap_compile(handle_.get(), &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) < 0) {
    return fail(ErrorKind::Usage, "filter", filter, pcap_geterr(handle_.get()),
                "'man pcap-filter' tells how they are written");
  }
  const int status = pcap_setfilter(handle_.get(), &program);
  pcap_freecode(&program);
  if (status < 0) {
    return fail(ErrorKind::Io, "filter", filter, pcap_geterr(handle_.get()));
  }
  return {};
}

// Not by libpcap: it would empty the ring first, which nobody but the reading thread may. The words
// of a filter for cooked packets would have to be rewritten for the kernel, which libpcap keeps to
// itself.
Result<> Tap::narrow(const std::string& filter) const {
  if (link_type_ != packet::LinkType::Ethernet) {
    return fail(ErrorKind::Unsupported, "filter", name_, "only Ethernet's can be changed");
  }
  const std::unique_ptr<pcap, void (*)(pcap*)> compiler(
      pcap_open_dead(DLT_EN10MB, static_cast<int>(snapshot_bytes_)), pcap_close);
  bpf_program program{};
  if (pcap_compile(compiler.get(), &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) < 0) {
    return fail(ErrorKind::Usage, "filter", filter, pcap_geterr(compiler.get()));
  }
  static_assert(sizeof(bpf_insn) == sizeof(sock_filter));
  const sock_fprog kernels{.len = static_cast<unsigned short>(program.bf_len),
                           .filter = reinterpret_cast<sock_filter*>(program.bf_insns)};
  const int status =
      setsockopt(descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &kernels, sizeof(kernels));
  const int code = errno;
  pcap_freecode(&program);
  return status == 0 ? Result<>() : fail(from_errno(code, "filter", name_));
}

Error Tap::error_of(int status) const {
  Error error{.kind = ErrorKind::Io,
              .operation = "listen",
              .subject = name_,
              .code = 0,
              .reason = pcap_statustostr(status)};
  switch (status) {
    case PCAP_ERROR_PERM_DENIED:
    case PCAP_ERROR_PROMISC_PERM_DENIED:
      error.kind = ErrorKind::Permission;
      error.reason = "this process may not listen on interfaces";
      error.next_step = "run as root, or once: sudo setcap cap_net_raw+ep \"$(which chokepoint)\"";
      break;
    case PCAP_ERROR_NO_SUCH_DEVICE:
      error.kind = ErrorKind::NotFound;
      error.reason = "no such interface";
      break;
    case PCAP_ERROR_IFACE_NOT_UP:
      error.kind = ErrorKind::Unreachable;
      error.reason = "the interface is down";
      error.next_step = "ip link set " + name_ + " up";
      break;
    default:
      if (const char* detail = pcap_geterr(handle_.get()); *detail != '\0') {
        error.reason = detail;
      }
  }
  return error;
}

int Tap::descriptor() const { return pcap_get_selectable_fd(handle_.get()); }

Result<> Tap::collect(Batch& batch, std::uint32_t interface) {
  // So large that at least four packets fit, whatever the snapshot length.
  const std::size_t size = std::max<std::size_t>(kBatchBytes, std::size_t{4} * snapshot_bytes_);
  if (batch.bytes.size() != size) {
    batch.bytes.resize(size);
  }
  batch.frames.reserve(kBatchFrames);
  stamps_.look();
  Filling filling{batch,     used_bytes(batch), snapshot_bytes_,
                  interface, link_type_,        stamps_.shift_ns()};
  for (;;) {
    const std::size_t room =
        std::min(kBatchFrames - batch.frames.size(), (size - filling.used) / snapshot_bytes_);
    if (room == 0) {
      return {};
    }
    const int status = pcap_dispatch(handle_.get(), static_cast<int>(room), add,
                                     reinterpret_cast<u_char*>(&filling));
    if (status < 0) {
      return fail(ErrorKind::Unreachable, "listen", name_, pcap_geterr(handle_.get()),
                  "'ip link show " + name_ + "' tells its state");
    }
    if (status == 0) {
      return {};
    }
  }
}

std::optional<Drop> Tap::newly_dropped() {
  pcap_stat counters{};
  std::uint32_t kernel_drops = kernel_drops_;
  if (pcap_stats(handle_.get(), &counters) == 0) {
    kernel_drops = counters.ps_drop;
  }
  Drop drop{.time_ns = now(),
            .interface = 0,
            .by_kernel = kernel_drops - std::exchange(kernel_drops_, kernel_drops),
            .by_interface = interface_drops_.newly_dropped()};
  const bool any = drop.by_kernel > 0 || drop.by_interface > 0;
  return any ? std::optional(drop) : std::nullopt;
}

}  // namespace chokepoint::capture::source
