#include "preflight/agents/agent_protocol.h"

#include <fmt/format.h>

#include <utility>

#include "base/control/client.h"
#include "base/control/message.h"
#include "base/json/codec.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using control::Message;
using control::Type;

constexpr std::string_view kSameVersion = "run the same version of chokepoint at both ends";
constexpr std::size_t kMaxFacts = std::size_t{1024} * 1024;
constexpr std::size_t kMaxGivenUp = 8;

// The presence of a host whose server accepts the connection and refuses the session.
Presence presence_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Malformed:
    case ErrorKind::Newer:
    case ErrorKind::Unsupported:
    case ErrorKind::Timeout:
    case ErrorKind::Io:
      return Presence::Strange;
    default:
      return Presence::Refused;
  }
}

// Older agents send none.
host::Settings settings_in(const Json& body) {
  const auto found = body.find("settings");
  return found == body.end() ? host::Settings() : host::settings_in(*found);
}

using Stage = AgentProtocol::Stage;

}  // namespace

AgentProtocol::AgentProtocol(const AgentPoolOptions& options, HostIndex host, std::string address,
                             std::string peer)
    : options_(options),
      host_(host),
      address_(std::move(address)),
      peer_(std::move(peer)),
      handshake_(std::make_unique<control::ClientHandshake>(options.own, options.key)) {}

std::string AgentProtocol::hello() { return control::encode(handshake_->hello()); }

std::expected<AgentProtocol::Step, Ending> AgentProtocol::took(std::size_t count) {
  Result<std::optional<Message>> message = reader_.took(count);
  if (!message) {
    return std::unexpected(handshake_ ? of_handshake(std::move(message.error()))
                                      : strange(std::move(message.error().reason)));
  }
  if (!*message) {
    return Step{};
  }
  std::expected<Step, Ending> step = receive(std::move(**message));
  if (step) {
    step->is_whole = true;
  }
  return step;
}

std::expected<AgentProtocol::Step, Ending> AgentProtocol::receive(Message message) {
  if (message.type == Type::Refused || message.type == Type::Failed) {
    return std::unexpected(refused(message.body));
  }
  switch (stage_) {
    case Stage::Greeting:
      return welcomed(message);
    case Stage::Proving:
      return admitted(message);
    case Stage::Requesting:
      return ready(message);
    case Stage::Idle:
    case Stage::Working:
      return report(std::move(message));
  }
  std::unreachable();
}

std::expected<AgentProtocol::Step, Ending> AgentProtocol::welcomed(const Message& message) {
  const Result<Message> proof = handshake_->proof(message);
  if (!proof) {
    return std::unexpected(of_handshake(proof.error()));
  }
  stage_ = Stage::Proving;
  outgoing_.emplace(handshake_->keys().to_server);
  reader_.seal(control::Seal(handshake_->keys().to_client));
  return Step{.answer = sealed(*proof)};
}

std::expected<AgentProtocol::Step, Ending> AgentProtocol::admitted(const Message& message) {
  Result<control::Admittance> admittance = handshake_->admitted(message);
  if (!admittance) {
    return std::unexpected(of_handshake(admittance.error()));
  }
  program_ = std::move(admittance->server.program);
  handshake_.reset();
  reader_.allow(kMaxFacts);
  stage_ = Stage::Requesting;
  return Step{.answer = sealed(
                  {Type::Request,
                   {{"kind", "preflight"}, {"parameters", {{"preflight", options_.preflight}}}}})};
}

std::expected<AgentProtocol::Step, Ending> AgentProtocol::ready(const Message& message) {
  if (message.type == Type::Queued) {
    waits_for_ = control::error_in(message.body, peer_);
    return Step{};
  }
  if (message.type != Type::Ready) {
    return std::unexpected(
        strange(fmt::format("a {} came where a ready was expected", name_of(message.type))));
  }
  Result<HostFacts> facts = json::field_in<HostFacts>(message.body, "facts", "ready");
  if (!facts) {
    return std::unexpected(strange(describe(facts.error())));
  }
  reader_.allow(options_.most_document);
  waits_for_.reset();
  stage_ = Stage::Idle;
  return Step{.event = AgentJoined{.host = host_,
                                   .address = address_,
                                   .program = std::exchange(program_, {}),
                                   .facts = std::move(*facts),
                                   .settings = settings_in(message.body)}};
}

std::expected<AgentProtocol::Step, Ending> AgentProtocol::report(Message message) {
  if (message.type != Type::Report) {
    return std::unexpected(
        strange(fmt::format("a {} came where a report was expected", name_of(message.type))));
  }
  const auto number = json::field_in<TaskNumber>(message.body, "task", "report");
  if (!number) {
    return std::unexpected(strange(number.error().reason));
  }
  if (was_given_up(*number)) {
    return Step{};
  }
  if (!task_ || *task_ != *number) {
    return std::unexpected(strange("it answered what it had not been asked"));
  }
  const auto error = message.body.find("error");
  const auto document = message.body.find("document");
  Answered answered{.host = host_, .task = *number};
  if (error != message.body.end() && error->is_object()) {
    answered.document = std::unexpected(control::error_in(*error, peer_));
  } else if (document != message.body.end() && document->is_object()) {
    answered.document = std::move(*document);
  } else {
    return std::unexpected(strange("a report has neither a document nor an error"));
  }
  task_.reset();
  stage_ = Stage::Idle;
  return Step{.event = std::move(answered)};
}

std::string AgentProtocol::begin(TaskNumber number, const Task& task) {
  Json body = json::to_json(task);
  body["task"] = number;
  task_ = number;
  stage_ = Stage::Working;
  return sealed({Type::Begin, std::move(body)});
}

std::string AgentProtocol::give_up(TaskNumber number) {
  if (task_ != number) {
    return {};
  }
  if (given_up_.size() == kMaxGivenUp) {
    given_up_.erase(given_up_.begin());
  }
  given_up_.push_back(number);
  task_.reset();
  stage_ = Stage::Idle;
  return sealed({Type::Note, {{"task", number}}});
}

std::string AgentProtocol::goodbye() {
  return outgoing_ ? sealed({Type::Stop}) + sealed({Type::Bye}) : std::string();
}

std::string AgentProtocol::sealed(const Message& message) {
  return control::encode(message, *outgoing_);
}

bool AgentProtocol::was_given_up(TaskNumber number) { return std::erase(given_up_, number) > 0; }

Ending AgentProtocol::silent() const {
  if (stage_ == Stage::Greeting || stage_ == Stage::Proving) {
    return of_handshake(
        {.kind = ErrorKind::Timeout, .operation = "", .subject = peer_, .reason = ""});
  }
  if (waits_for_) {
    return {.presence = Presence::Refused, .error = *waits_for_};
  }
  return {.presence = Presence::Lost,
          .error = {.kind = ErrorKind::Timeout,
                    .operation = "wait",
                    .subject = peer_,
                    .reason = "its agent no longer answers",
                    .next_step = "is the host overloaded? 'chokepoint doctor' there shows it"}};
}

Ending AgentProtocol::closed() const {
  if (handshake_) {
    return {.presence = Presence::Strange,
            .error = {.kind = ErrorKind::Refused,
                      .operation = "",
                      .subject = peer_,
                      .reason = "it took the connection and closed it without a word",
                      .next_step = "is it 'chokepoint serve' that listens there?"}};
  }
  return {.presence = Presence::Lost,
          .error = {.kind = ErrorKind::Refused,
                    .operation = "",
                    .subject = peer_,
                    .reason = "its agent closed the connection",
                    .next_step = "does 'chokepoint serve' still run there? its log says more"}};
}

Ending AgentProtocol::failed(Error error) const {
  if (handshake_ && error.code == ECONNRESET) {
    return closed();
  }
  if (error.next_step.empty()) {
    error.next_step = "is the host up, and its link?";
  }
  return {.presence = Presence::Lost, .error = std::move(error)};
}

Ending AgentProtocol::of_handshake(Error error) const {
  error.subject = peer_;
  return {.presence = presence_of(error.kind), .error = control::explained(std::move(error))};
}

Ending AgentProtocol::refused(const Json& body) const {
  Error error = control::error_in(body, peer_);
  if (stage_ == Stage::Idle || stage_ == Stage::Working) {
    return {.presence = Presence::Lost, .error = std::move(error)};
  }
  const Presence presence = presence_of(error.kind);
  if (presence == Presence::Strange && error.next_step.empty()) {
    error.next_step = kSameVersion;
  }
  return {.presence = presence, .error = std::move(error)};
}

Ending AgentProtocol::strange(std::string reason) const {
  return {.presence = Presence::Strange,
          .error = {.kind = ErrorKind::Malformed,
                    .operation = "",
                    .subject = peer_,
                    .reason = std::move(reason),
                    .next_step = std::string(kSameVersion)}};
}

}  // namespace chokepoint::preflight
