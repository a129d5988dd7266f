#include "probe/latency/responder.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/net/socket.h"
#include "base/sys/thread.h"
#include "probe/latency/carrier.h"
#include "probe/latency/frames.h"

template <>
struct chokepoint::Fields<chokepoint::probe::latency::LoadRequest> {
  using R = probe::latency::LoadRequest;
  static constexpr FieldList kList{
      field("time_ns", &R::time, "after which the server gives up").between(1, 86'400e9),
      field("streams", &R::streams, "load connections in all").between(1, 1'000),
      field("congestion", &R::congestion, "the congestion control of what the server sends")
          .up_to_bytes(15)};
};

namespace chokepoint::probe::latency {

control::Json body_of(const LoadRequest& request) { return json::to_json(request); }

Result<LoadRequest> load_request_in(const control::Json& body) {
  return json::from_json<LoadRequest>(body, "responsiveness request");
}

namespace {

using control::Json;
using control::Session;
using control::Type;

// As many as a test of the longest time can send.
constexpr int kMaxProbes = 1'000'000;
// More than a client has on their way at a time (load.cc).
constexpr std::size_t kMaxOpenProbes = 128;
// What a thread and the buffer of a load connection take.
constexpr std::int64_t kStreamBytes = std::int64_t{512} * 1024;

// The connection of a foreign probe.
class SmallConnection {
 public:
  explicit SmallConnection(sys::Descriptor fd) : fd_(std::move(fd)) {}

  int descriptor() const { return fd_.get(); }

  // False once the connection is of no more use.
  bool serve() {
    std::array<std::byte, 4 * kHeadBytes> bytes{};
    const ssize_t got = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got <= 0) {
      return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    bool is_well = true;
    const Result<> taken = scanner_.take(
        std::span(bytes).first(static_cast<std::size_t>(got)), [&](const Frame& frame) {
          is_well = is_well && frame.head.type == FrameType::Get && answer(frame.head.number);
        });
    return taken && is_well && scanner_.data_bytes() == 0;
  }

 private:
  bool answer(std::uint32_t number) const {
    const ObjectBytes object = object_bytes(number, 0);
    return send(fd_.get(), object.data(), object.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(object.size());
  }

  sys::Descriptor fd_;
  FrameScanner scanner_ = {};
};

// A load connection and its thread.
class LoadConnection {
 public:
  static Result<std::unique_ptr<LoadConnection>> start(sys::Descriptor fd) {
    TRY(std::unique_ptr<Carrier> carrier,
        Carrier::make(std::move(fd), Fills::No, [](const SelfTime&) {}));
    std::unique_ptr<LoadConnection> load(new LoadConnection(std::move(carrier)));
    // How a load connection ends does not matter: its client just closes it.
    TRY(load->thread_, sys::start_thread("load connection", [&carrier = *load->carrier_] {
          std::ignore = carrier.run();
        }));
    return load;
  }
  LoadConnection(const LoadConnection&) = delete;
  LoadConnection& operator=(const LoadConnection&) = delete;
  ~LoadConnection() {
    carrier_->stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  explicit LoadConnection(std::unique_ptr<Carrier> carrier) : carrier_(std::move(carrier)) {}

  std::unique_ptr<Carrier> carrier_;
  std::thread thread_;
};

class Responder {
 public:
  Responder(Session& session, LoadRequest request)
      : session_(session),
        request_(std::move(request)),
        deadline_(session.deadline(request_.time + control::kAnswer)) {}

  Result<Json> run() {
    session_.expect_streams(request_.streams + kMaxProbes);
    TRY(session_.send(Type::Ready));
    TRY(until_stopped(session_, kResponsivenessKind, deadline_, [this] { return answer(); }));
    return Json::object();
  }

 private:
  Result<> answer() {
    std::vector<pollfd> watched{{session_.channel().descriptor(), POLLIN, 0},
                                {session_.context().stop, POLLIN, 0},
                                {session_.arrival_descriptor(), POLLIN, 0}};
    for (const SmallConnection& small : small_) {
      watched.push_back({small.descriptor(), POLLIN, 0});
    }
    poll(watched.data(), watched.size(), static_cast<int>(control::kStopInterval.count()));
    auto next = watched.begin() + 3;
    std::erase_if(small_,
                  [&](SmallConnection& small) { return (next++)->revents != 0 && !small.serve(); });
    return watched[2].revents != 0 ? take_new() : Result<>{};
  }

  Result<> take_new() {
    for (auto& [number, fd] : session_.new_streams()) {
      if (number >= request_.streams) {
        greet(std::move(fd));
      } else {
        TRY(net::apply({.congestion = request_.congestion, .no_delay = true}, fd.get(),
                       session_.peer().address.family()));
        TRY(std::unique_ptr<LoadConnection> load, LoadConnection::start(std::move(fd)));
        loads_.push_back(std::move(load));
      }
    }
    return {};
  }

  void greet(sys::Descriptor fd) {
    if (small_.size() >= kMaxOpenProbes ||
        !net::apply({.no_delay = true}, fd.get(), session_.peer().address.family())) {
      return;
    }
    // Its request has mostly come with what opened it.
    SmallConnection small(std::move(fd));
    if (small.serve()) {
      small_.push_back(std::move(small));
    }
  }

  Session& session_;
  LoadRequest request_;
  net::Deadline deadline_;
  std::vector<SmallConnection> small_;
  std::vector<std::unique_ptr<LoadConnection>> loads_;
};

// Heavy: it has the path for itself.
class ResponsivenessService final : public control::TestService<LoadRequest, load_request_in> {
 public:
  std::string_view kind() const override { return kResponsivenessKind; }

 private:
  Result<control::Demand> demand(const LoadRequest& asked,
                                 const control::Limits& limits) const override {
    TRY(control::check_time(limits, asked.time));
    TRY(control::check_streams(limits, asked.streams));
    if (limits.rate_bits_per_s) {
      return fail(ErrorKind::Refused, "", "a load that fills the path",
                  "this server grants " + math::format_rate(*limits.rate_bits_per_s) + " at most",
                  "measure with --idle-only");
    }
    return control::Demand(control::Weight::Heavy, asked.streams, asked.streams * kStreamBytes);
  }

  Result<Json> run(Session& session, const LoadRequest& request) override {
    return Responder(session, request).run();
  }
};

}  // namespace

std::unique_ptr<control::Service> responsiveness_service() {
  return std::make_unique<ResponsivenessService>();
}

}  // namespace chokepoint::probe::latency
