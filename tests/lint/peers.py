#!/usr/bin/env python3
"""Peers can neither throw in a server nor end it: what parts that talk to peers must not contain.

nlohmann's value(), get<>(), get_to() and at() throw where a value is of another kind than expected;
Fields and json::field_in are what reads a peer's words. std::thread throws where the system gives no
more threads; sys::start_thread says so.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TALK = ("base/control", "probe/collective", "probe/iperf3", "probe/latency", "probe/nuttcp",
        "probe/path", "probe/peer", "probe/quic", "probe/rpc", "probe/serve", "probe/tcp",
        "probe/udp", "rdma/session",
        "preflight/agent", "preflight/agents", "preflight/coordinator",
        "preflight/task", "capture/step")
SERVED = ("base/control", "probe/iperf3", "probe/latency", "probe/nuttcp", "probe/path",
          "probe/peer", "probe/quic", "probe/rpc", "probe/serve", "probe/tcp", "probe/udp",
          "rdma/session", "probe/collective/rendezvous", "preflight/agent")
RULES = (
    (TALK, re.compile(r'(?:\.|->)(?:value\("|get<[^()]*>\(\)|get_to\(|at\(")'),
     "throws at a peer's word; Fields or json::field_in read it"),
    (SERVED, re.compile(r"\bstd::j?thread(?:\s+\w+)?\s*[({]"),
     "throws where there are no more threads; sys::start_thread says so"),
)


def findings():
    for folders, pattern, words in RULES:
        for folder in folders:
            sources = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".cc", ".h")]
            if not sources:
                yield f"{folder}: no such folder"
            for path in sources:
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    if pattern.search(line.split("//")[0]):
                        yield f"{path.relative_to(ROOT)}:{number}: {words}"


def main():
    found = sorted(set(findings()))
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
