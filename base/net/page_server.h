// Pages over HTTP: one thread that waits for all its clients at once, so that no client waits for
// another one.
//
//   accepted ── request whole, or wrong ──► response ── all sent ──► read until its end ──► closed
//                                  │            ▲
//                                  └─ asked for ┘ at once, or later by any thread
//
// A client has a limited time to send its request, and again for what it is sent. There are 64 at
// most: a new one takes the place of the one that has been there longest. So clients that send
// nothing, a byte at a time, or never read block others for no longer than it takes to send a
// request. Neither a body nor a second request on a connection is read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::net {

struct Page {
  std::string status = "200 OK";
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::string headers = {};  // further ones, each with its line end
};

// Names of headers and of hosts, in which upper and lower case are one.
bool is_same_name(std::string_view one, std::string_view other);

// As it came: nothing in it is decoded, or trusted. Valid while it is being responded to.
struct PageRequest {
  std::string_view method = {};
  std::string_view path = {};
  std::string_view query = {};  // without '?'
  std::string_view lines = {};  // of headers

  // The value of a header, whatever the case of its name. Nothing where there is none, or several.
  std::optional<std::string_view> header(std::string_view name) const;
};

// Where the response to one request goes. May be copied; the first response counts. Any thread,
// also when server and client are gone.
class PageReply {
 public:
  struct Letterbox;

  PageReply(std::shared_ptr<Letterbox> letterbox, std::uint64_t client)
      : letterbox_(std::move(letterbox)), client_(client) {}
  void operator()(Page page) const;

 private:
  std::shared_ptr<Letterbox> letterbox_;
  std::uint64_t client_;
};

class PageServer {
 public:
  // Called by the server's thread; must neither throw nor wait.
  using Response = std::function<void(const PageRequest& request, const PageReply& reply)>;

  // `client_time`: to send a request, and again to take the response.
  static Result<std::unique_ptr<PageServer>> start(
      const Endpoint& endpoint, Response response,
      std::chrono::milliseconds client_time = std::chrono::seconds(2));
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  // Ends the thread at once.
  ~PageServer();

  int port() const { return port_; }

 private:
  PageServer(sys::Descriptor listener, sys::Descriptor stop, Response response, int port);

  sys::Descriptor listener_;
  sys::Descriptor stop_;  // an eventfd
  Response response_;
  int port_;
  std::thread thread_;
};

}  // namespace chokepoint::net
