#include <fmt/format.h>

#include <iterator>

#include "analysis/export/export_document.h"
#include "analysis/export/formats.h"
#include "analysis/export/tables.h"
#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

bool is_control(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == '\x7F';
}

void append_json_control(std::string& out, char letter) {
  switch (letter) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                     static_cast<unsigned>(static_cast<unsigned char>(letter)));
  }
}

using Json = nlohmann::ordered_json;

struct JsonForm {
  static constexpr std::string_view kUnknown = "null";
  static void text(std::string& out, std::string_view text) { append_json(out, text); }
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class JsonWriter {
 public:
  JsonWriter(ExportedRun& run, cli::Output& out) : run_(run), out_(out) {}

  void write(const Json& head) {
    out_.write("{");
    fields(head);
    field("run", run_.name());
    field("zero_wall_ns", run_.clock().start_wall_ns());
    out_.write("\"nodes\":[");
    for (std::size_t node = 0; node < run_.nodes(); ++node) {
      out_.write(node > 0 ? ",\n" : "\n");
      put_node(node);
    }
    out_.write("],\n\"troubles\":[");
    std::string_view comma;
    for (const Error& trouble : run_.troubles()) {
      out_.write(comma);
      append_json(out_.buffer(), describe(trouble));
      comma = ",";
    }
    out_.write("]}\n");
  }

 private:
  void fields(const Json& object) {
    for (const auto& [key, value] : object.items()) {
      field(key, value);
    }
  }
  void field(std::string_view key, const Json& value) {
    append_json(out_.buffer(), key);
    out_.write(":" + dumped(value) + ",\n");
  }

  void put_node(std::size_t node) {
    const NodeData& data = run_.data().nodes[node];
    out_.write("{");
    fields(json::to_json(ExportedNodeHead{.node = data.name,
                                          .host = data.host,
                                          .command = data.command,
                                          .exit_status = data.exit_status,
                                          .is_complete = data.is_complete,
                                          .clock = run_.clock().node(node)}));
    out_.write("\"tables\":{");
    std::string_view comma = "\n";
    each_table([&](const auto& table) {
      using Row = typename std::remove_cvref_t<decltype(table)>::Of;
      out_.write(comma);
      put_table<Row>(table.name, node);
      comma = ",\n";
    });
    out_.write("}}");
  }

  template <class Row>
  void put_table(const char* name, std::size_t node) {
    append_json(out_.buffer(), name);
    Json columns = Json::array();
    for (const Column& column : columns_of<Row>()) {
      columns.push_back(column.name);
    }
    out_.write(":{\"columns\":" + dumped(columns) + ",\"rows\":[");
    std::string_view comma = "\n[";
    run_.each<Row>(node, [&](const Row& row) {
      if (out_.failed()) {
        return;
      }
      out_.buffer() += comma;
      Cells<JsonForm>(out_.buffer(), run_.clock(), node).row(row);
      out_.write("]");
      comma = ",\n[";
    });
    out_.write("]}");
  }

  ExportedRun& run_;
  cli::Output& out_;
};

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  cli::each_letter(text, [&](std::string_view letter) {
    if (is_control(letter.front())) {
      append_json_control(out, letter.front());
      return;
    }
    if (letter == "\"" || letter == "\\") {
      out += '\\';
    }
    out += letter;
  });
  out += '"';
}

void write_json(ExportedRun& run, const Json& head, cli::Output& out) {
  JsonWriter(run, out).write(head);
}

}  // namespace chokepoint::analysis
