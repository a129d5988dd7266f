#include "tests/preflight/crowd/guest.h"

#include <fmt/format.h>

#include "base/control/message.h"
#include "tests/preflight/crowd/answers.h"

namespace chokepoint::preflight::crowd {
namespace {

using control::Json;
using control::Message;
using control::Type;
using std::chrono::milliseconds;

constexpr std::uint32_t kNeverAsked = 4'000'000'000;
constexpr unsigned char kSealed = 2;
constexpr int kFarTooDeep = 100'000;
constexpr std::uint32_t kLarge = 3'000'000;
constexpr std::uint32_t kTooLarge = 64'000'000;

control::Identity identity(HostIndex host, Behaviour behaviour) {
  return behaviour == Behaviour::UglyWords
             ? control::Identity{ugly_words(), ugly_words()}
             : control::Identity{"chokepoint 0.1.0", name_of_host(host)};
}

std::optional<control::Secret> key_of(const Guest::Setting& setting, Behaviour behaviour) {
  return behaviour == Behaviour::Impostor ? control::Secret{1, 2, 3} : setting.key;
}

Error refusal(ErrorKind kind, std::string reason) {
  return {.kind = kind, .operation = "", .subject = "", .reason = std::move(reason)};
}

}  // namespace

Guest::Guest(const Setting& setting, HostIndex host, Behaviour behaviour)
    : setting_(setting),
      host_(host),
      behaviour_(behaviour),
      handshake_(identity(host, behaviour), key_of(setting, behaviour)) {}

std::string Guest::frame(Type type, std::string_view body) {
  if (!outgoing_) {
    return crowd::frame(type, body);
  }
  const auto length = static_cast<std::uint32_t>(body.size() + control::Seal::kExtraBytes);
  const std::string header = frame_of_length(type, length, kSealed);
  return header + outgoing_->close(header, body);
}

std::string Guest::encode(const Message& message) {
  return outgoing_ ? control::encode(message, *outgoing_) : control::encode(message);
}

std::string Guest::report(std::uint32_t number, std::string_view rest) {
  return frame(Type::Report, fmt::format(R"({{"task":{},{}}})", number, rest));
}

std::string Guest::leave(std::string last_words) {
  is_over_ = true;
  return last_words;
}

std::string Guest::greeting() {
  switch (behaviour_) {
    case Behaviour::Closes:
      return leave({});
    case Behaviour::Http:
      return leave("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    case Behaviour::Garbage:
      due_ = Clock::now();
      return std::string(1000, '\xff');
    case Behaviour::HugeLength:
      return frame_of_length(Type::Welcome, 0xfffffff0U);
    case Behaviour::HalfFrame:
      return frame_of_length(Type::Welcome, 300) + R"({"version":2,"non)";
    case Behaviour::WrongFraming:
      return frame_of_length(Type::Welcome, 2, 9) + "{}";
    case Behaviour::DeepWelcome:
      return frame(Type::Welcome, nested(2000));
    case Behaviour::OldVersion:
      return leave(encode(control::refused(
          refusal(ErrorKind::Newer, "the client speaks versions 1 to 1 of the protocol"))));
    default:
      return {};
  }
}

std::string Guest::took(std::size_t count) {
  const Result<std::optional<Message>> message = reader_.took(count);
  if (!message) {
    // An impostor cannot read the proof, and pretends.
    return behaviour_ == Behaviour::Impostor
               ? admit()
               : leave(control::encode(control::refused(message.error())));
  }
  return *message ? hear(**message) : std::string();
}

std::string Guest::hear(const Message& message) {
  if (behaviour_ == Behaviour::Silent || behaviour_ == Behaviour::HalfFrame) {
    return {};
  }
  ++heard_;
  switch (message.type) {
    case Type::Hello:
      return welcome(message);
    case Type::Proof:
      return admit();
    case Type::Request:
      return request();
    case Type::Begin:
      return begin(message);
    case Type::Note:
      return give_up(message);
    case Type::Stop:
      return encode({Type::Result});
    default:
      return leave({});
  }
}

std::string Guest::give_up(const Message& message) {
  const bool is_it = number_ && message.body.value("task", std::uint32_t{0}) == *number_;
  if (!is_it || behaviour_ == Behaviour::NeverAnswers || behaviour_ == Behaviour::HalfAnswer) {
    return {};
  }
  due_.reset();
  return report(*std::exchange(number_, std::nullopt), R"("error":{"reason":"given up"})");
}

std::string Guest::welcome(const Message& hello) {
  Result<Message> answer = handshake_.welcome(hello);
  if (!answer) {
    return leave(encode(control::refused(answer.error())));
  }
  if (behaviour_ == Behaviour::OtherVersion) {
    answer->body["version"] = 3;
  }
  std::string said = encode(*answer);
  if (!handshake_.agree()) {
    return leave({});
  }
  reader_.seal(control::Seal(handshake_.keys().to_server));
  outgoing_.emplace(handshake_.keys().to_client);
  return said;
}

std::string Guest::admit() {
  return encode(
      control::ServerHandshake::admit("0123456789abcdef0123456789abcdef", "127.0.0.1", {}));
}

std::string Guest::request() {
  // Made where it is said: each frame has its number.
  const auto good = [&] { return encode({Type::Ready, ready_body(setting_.network, host_)}); };
  switch (behaviour_) {
    case Behaviour::Busy:
      return encode(control::failed(refusal(ErrorKind::Busy, "another preflight is on")));
    case Behaviour::NoSuchService:
      return encode(
          control::failed(refusal(ErrorKind::Unsupported, "this server offers no such test")));
    case Behaviour::NeverReady:
      return {};
    case Behaviour::QueuesForEver:
      due_ = Clock::now();
      return {};
    case Behaviour::StrangeFacts:
      return frame(Type::Ready, R"({"facts":{"host":7,"interfaces":"none"}})");
    case Behaviour::Hidden:
      return leave({});
    case Behaviour::Unasked: {
      const std::string first = good();
      return first + report(kNeverAsked, R"("document":{})");
    }
    case Behaviour::NeverReads:
      reads_ = false;
      return good();
    default:
      return good();
  }
}

std::string Guest::begin(const Message& message) {
  number_ = message.body.value("task", std::uint32_t{0});
  const Result<Task> task = task_in(message.body);
  if (!task) {
    return frame(Type::Report,
                 Json{{"task", *number_}, {"error", control::body_of(task.error())}}.dump());
  }
  task_ = *task;
  if (behaviour_ == Behaviour::Good || behaviour_ == Behaviour::ByteByByte) {
    due_ = Clock::now() +
           std::chrono::duration_cast<Clock::duration>(setting_.time_factor * task_.time);
    return {};
  }
  return answer_wrongly(*number_);
}

std::string Guest::answer_wrongly(std::uint32_t number) {
  const auto good = [&] { return right_answer(number, 1); };
  switch (behaviour_) {
    case Behaviour::Dies:
      return leave({});
    case Behaviour::HalfAnswer:
      return frame_of_length(Type::Report, kLarge, kSealed) + std::string(kLarge / 10, ' ');
    case Behaviour::WrongTask:
      return right_answer(number + 1, 1);
    case Behaviour::AnswersTwice: {
      const std::string first = good();
      return first + good();
    }
    case Behaviour::DeepAnswer:
      return report(number, R"("document":)" + nested(kFarTooDeep));
    case Behaviour::LargeAnswer:
      return frame_of_length(Type::Report, kTooLarge, kSealed);
    case Behaviour::NoObject:
      return frame(Type::Report, "[]");
    case Behaviour::InvalidText:
      return report(number, "\"document\":{\"a\":\"\xff\xfe\"}");
    case Behaviour::NeitherNor:
      return report(number, R"("documents":{})");
    case Behaviour::ErrorOfWrongType:
      return report(number, R"("error":[1,2,3])");
    case Behaviour::WrongMessage:
      return frame(Type::Result, "{}");
    case Behaviour::Floods:
      due_ = Clock::now();
      return good();
    case Behaviour::UglyWords:
      return frame(
          Type::Report,
          Json{{"task", number}, {"error", control::body_of(refusal(ErrorKind::Io, ugly_words()))}}
              .dump());
    default:
      return {};
  }
}

std::string Guest::right_answer(std::uint32_t number, int together) {
  return report(number,
                R"("document":)" + answer(setting_.network, host_, task_, together, number));
}

bool Guest::is_crossing() const {
  return number_ && task_.kind == TaskKind::Tcp &&
         crosses(setting_.network, host_, host_at(task_.peer));
}

std::string Guest::tick(int together) {
  switch (behaviour_) {
    case Behaviour::Garbage:
      due_ = Clock::now() + milliseconds(1);
      return std::string(1000, '\xff');
    case Behaviour::QueuesForEver:
      due_ = Clock::now() + milliseconds(1);
      return encode({Type::Queued, control::body_of(refusal(ErrorKind::Busy, "many are ahead"))});
    case Behaviour::Floods:
      due_ = Clock::now() + milliseconds(1);
      return number_ ? right_answer(*number_, together) : std::string();
    default:
      due_.reset();
      return number_ ? right_answer(*std::exchange(number_, std::nullopt), together)
                     : std::string();
  }
}

}  // namespace chokepoint::preflight::crowd
