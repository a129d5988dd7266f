// Pages over HTTP: one thread that waits for all its clients at once, so that no client waits for
// another one.
//
//   accepted ── request whole, or wrong ──► response ── all sent ──► read until its end ──► closed
//
// A client has two seconds for all of this. There are 64 at most: a new one takes the place of the
// one that has been there longest. So clients that send nothing, a byte at a time, or never read
// block others for no longer than it takes to send a request.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::capture::live {

struct Page {
  const char* status = "200 OK";
  const char* type = "text/plain; charset=utf-8";
  std::string body = {};
};

class PageServer {
 public:
  // Called by the server's thread with "GET" and "/metrics"; must not throw.
  using Response = std::function<Page(std::string_view method, std::string_view path)>;

  static Result<std::unique_ptr<PageServer>> start(const net::Endpoint& endpoint,
                                                   Response response);
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

}  // namespace chokepoint::capture::live
