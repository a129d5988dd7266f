#include "capture/source/filtered.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <map>
#include <utility>

namespace chokepoint::capture::source {
namespace {

using packet::LinkType;

constexpr int kWholePackets = 262'144;

class Program {
 public:
  static Result<Program> compile(const std::string& expression, LinkType link_type) {
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> dead(
        pcap_open_dead(own_number(link_type), kWholePackets), pcap_close);
    Program program;
    if (pcap_compile(dead.get(), &program.code_, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) < 0) {
      return fail(ErrorKind::Usage, "filter", expression, pcap_geterr(dead.get()),
                  "'man pcap-filter' tells how they are written");
    }
    return program;
  }
  Program(Program&& other) noexcept : code_(std::exchange(other.code_, {})) {}
  Program& operator=(Program&&) = delete;
  ~Program() { pcap_freecode(&code_); }

  bool lets_pass(const packet::Frame& frame) const {
    pcap_pkthdr head{};
    head.caplen = frame.captured_bytes;
    head.len = frame.frame_bytes;
    return pcap_offline_filter(&code_, &head, frame.data) != 0;
  }

 private:
  Program() = default;

  // Files and libpcap's handles number raw IP differently.
  static int own_number(LinkType link_type) {
    return link_type == LinkType::Raw ? DLT_RAW : static_cast<int>(link_type);
  }

  bpf_program code_{};
};

class Filtered final : public Source {
 public:
  Filtered(std::unique_ptr<Source> below, std::string expression)
      : below_(std::move(below)), expression_(std::move(expression)) {}

  Result<Progress> read(Batch& batch) override {
    Result<Progress> progress = below_->read(batch);
    if (!progress) {
      return progress;
    }
    for (const packet::Frame& frame : batch.frames) {
      TRY(learn(frame.link_type));
    }
    std::erase_if(batch.frames, [&](const packet::Frame& frame) {
      return !programs_.at(frame.link_type).lets_pass(frame);
    });
    return progress;
  }
  const std::vector<Interface>& interfaces() const override { return below_->interfaces(); }
  std::vector<std::string> remarks() const override { return below_->remarks(); }

  Result<> learn(LinkType link_type) {
    if (programs_.contains(link_type)) {
      return {};
    }
    TRY(Program program, Program::compile(expression_, link_type));
    programs_.emplace(link_type, std::move(program));
    return {};
  }

 private:
  std::unique_ptr<Source> below_;
  std::string expression_;
  std::map<LinkType, Program> programs_;
};

}  // namespace

Result<std::unique_ptr<Source>> filtered(std::unique_ptr<Source> below,
                                         const std::string& expression) {
  const std::vector<Interface>& interfaces = below->interfaces();
  const LinkType first = interfaces.empty() ? LinkType::Ethernet : interfaces.front().link_type;
  auto source = std::make_unique<Filtered>(std::move(below), expression);
  TRY(source->learn(first));
  return source;
}

}  // namespace chokepoint::capture::source
