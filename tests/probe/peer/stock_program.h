// iperf3 or nuttcp as the distribution ships it, run by a test: its output is kept, and it is gone
// when the test is.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/net/address.h"
#include "base/sys/process.h"

namespace chokepoint::peers {

// Why a test that needs this program cannot run; empty where it can.
std::string missing(const std::string& program);

class StockProgram {
 public:
  explicit StockProgram(const std::vector<std::string>& command);
  StockProgram(const StockProgram&) = delete;
  StockProgram& operator=(const StockProgram&) = delete;
  ~StockProgram();

  // Waits for its end. What it wrote, on both streams.
  std::string output();
  nlohmann::json json() { return nlohmann::json::parse(output(), nullptr, false); }

 private:
  sys::Descriptor output_;
  sys::Process process_;
  bool ended_ = false;
};

// Until something listens there; a failure of the test where nothing ever does.
void await_listener(std::uint16_t port);

net::Endpoint loopback(std::uint16_t port);

}  // namespace chokepoint::peers
