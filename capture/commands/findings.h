// The result of a capture, and its two forms: a page for people and a JSON document. Gathered from
// the analysers once they have ended; all of it is called by the command's thread.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "capture/commands/flow_table.h"
#include "capture/flow/facts.h"
#include "capture/observer/observer.h"
#include "capture/observer/progress.h"
#include "capture/roce/tracker.h"

namespace chokepoint::capture {

// Of the wire: super-frames as the segments that they become.
struct Volume {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t retransmitted_packets = 0;
};

struct Findings {
  std::string source = {};  // "eth0", "a.pcap, b.pcap"
  observer::Progress progress = {};
  Volume volume = {};  // flows, the remainder and what is no flow
  std::size_t flows = 0;
  flow::Remainder remainder = {};
  observer::Others others = {};
  std::vector<RankedFlow> top = {};
  std::uint64_t gloo_messages = 0;
  std::uint64_t gloo_connections = 0;
  std::vector<const observer::CollectiveSum*> collectives = {};  // the observer's
  std::vector<roce::QueuePairFacts> queue_pairs = {};
  std::vector<source::Drop> drops = {};
  std::vector<source::Interface> interfaces = {};
  std::vector<std::string> remarks = {};
  bool is_interrupted = false;

  std::string interface_name(std::uint32_t index) const;
};

Findings gather(const observer::Observer& observer, SortBy by, std::size_t top);

// For people: sums, the flows of Findings::top, and what is anomalous about them.
void print_page(std::ostream& out, const cli::Terminal& terminal, const Findings& findings);

struct DocumentOptions {
  bool series = false;  // with the flows of Findings::top, bin by bin
};

// The chokepoint.capture/1 document, with every flow. `head`: schema, host, started_at.
void print_document(const cli::Context& context, const cli::Json& head, const Findings& findings,
                    const observer::Observer& observer, const DocumentOptions& options);

// A JSON document that is written as it is made, so that a list of a million flows needs no memory.
// Its destructor writes the end. Looks like those of cli::print, but each list item is one line.
class StreamedDocument {
 public:
  explicit StreamedDocument(std::ostream& out) : out_(out) { out_ << '{'; }
  StreamedDocument(const StreamedDocument&) = delete;
  StreamedDocument& operator=(const StreamedDocument&) = delete;
  ~StreamedDocument() { out_ << "\n}\n"; }

  void add(std::string_view name, const cli::Json& value);
  // Every member of an object, in its order.
  void add_all(const cli::Json& object);

  void begin_list(std::string_view name);
  void item(const cli::Json& value);
  void end_list();

 private:
  void key(std::string_view name);

  std::ostream& out_;
  bool is_empty_ = true;
  bool is_list_empty_ = true;
};

}  // namespace chokepoint::capture
