#include "capture/source/tap.h"

#include <linux/filter.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "capture/source/helper.h"

namespace chokepoint::capture::source {
namespace {

// Where collect() puts packets; libpcap passes a pointer to it to the callback.
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
  // With nanosecond precision, libpcap puts nanoseconds into tv_usec.
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

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBetweenLooks{100};
// The kernel's timer hands a block over at its second check at the latest.
constexpr milliseconds kHandedOver = 2 * kBlockTimeout + milliseconds{10};
// If the wall clock is set back meanwhile, no packet looks later than the stop.
constexpr milliseconds kLongestDraining{1000};

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
  link_type_ = packet::link_type_of(static_cast<std::uint32_t>(pcap_datalink(handle)));
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
                "'man pcap-filter' explains the syntax");
  }
  const int status = pcap_setfilter(handle_.get(), &program);
  pcap_freecode(&program);
  if (status < 0) {
    return fail(ErrorKind::Io, "filter", filter, pcap_geterr(handle_.get()));
  }
  return {};
}

// Not by libpcap: it would first empty the ring, which only the reading thread may do. A filter for
// cooked packets would have to be rewritten for the kernel, by a function that libpcap does not
// export.
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
      error.next_step = how_to_allow_capture();
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
                  "'ip link show " + name_ + "' shows its state");
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

StopFlag::StopFlag() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopFlag::ask() noexcept {
  asked_.store(true, std::memory_order_release);
  eventfd_write(descriptor_.get(), 1);
}

Result<Progress> TapReading::read(Batch& batch) {
  batch.clear();
  const Instant deadline = steady_clock::now() + patience_;
  for (;;) {
    const Instant now = steady_clock::now();
    if (stop_.asked() && !drained_at_) {
      stopped_ns_ = tap_.now();
      drained_at_ = now + kHandedOver;
    }
    collect(batch, now);
    if (drop_frames_after_stop(batch) || is_drained(batch, now)) {
      look_at_drops(batch);
      return end(batch);
    }
    if (now >= next_look_) {
      look_at_drops(batch);
      next_look_ = now + kBetweenLooks;
    }
    if (!batch.frames.empty() || !batch.drops.empty() || now >= deadline) {
      return Progress::More;
    }
    wait(std::min({deadline, next_look_, drained_at_.value_or(deadline)}));
  }
}

void TapReading::collect(Batch& batch, Instant now) {
  const std::int64_t before = tap_.now();
  auto collected = tap_.collect(batch, interface_);
  if (!collected && !error_) {
    error_ = std::move(collected.error());
    drained_at_ = now + kHandedOver;
  }
  const std::int64_t handed_over = before - std::chrono::nanoseconds(kHandedOver).count();
  complete_until_ =
      batch.frames.empty() ? std::max(handed_over, complete_until_) : batch.frames.back().time_ns;
}

bool TapReading::is_drained(const Batch& batch, Instant now) const {
  return drained_at_ && now >= *drained_at_ &&
         (batch.frames.empty() || now >= *drained_at_ + kLongestDraining);
}

bool TapReading::drop_frames_after_stop(Batch& batch) const {
  bool any = false;
  while (!batch.frames.empty() && batch.frames.back().time_ns > stopped_ns_) {
    batch.frames.pop_back();
    any = true;
  }
  return any;
}

void TapReading::look_at_drops(Batch& batch) {
  if (auto drop = tap_.newly_dropped()) {
    drop->interface = interface_;
    batch.drops.push_back(*drop);
  }
}

Result<Progress> TapReading::end(const Batch& batch) const {
  if (!error_) {
    return Progress::End;
  }
  if (!batch.frames.empty() || !batch.drops.empty()) {
    return Progress::More;
  }
  return fail(*error_);
}

// While draining, it only waits for time to pass: both descriptors may stay readable.
void TapReading::wait(Instant until) const {
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
  std::array<pollfd, 2> waiting{{{.fd = tap_.descriptor(), .events = POLLIN, .revents = 0},
                                 {.fd = stop_.descriptor(), .events = POLLIN, .revents = 0}}};
  const nfds_t count = drained_at_ ? 0 : waiting.size();
  poll(waiting.data(), count, static_cast<int>(std::max(left, milliseconds{0}).count()));
}

}  // namespace chokepoint::capture::source
