"""A client of the Model Context Protocol for its tests, written after the public specification
(https://modelcontextprotocol.io/specification): JSON-RPC 2.0 over a child's standard streams, one
message a line."""

import contextlib
import json
import subprocess

NEWEST = "2025-11-25"
STATELESS = "2026-07-28"


class Client:
    """`say`, `hear`: a message as it is, bytes or an object. `request`: its result or its error."""

    def __init__(self, program, *words, cwd=None, env=None):
        self.server = subprocess.Popen([program, "mcp", *words], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       cwd=cwd, env=env)
        self.asked = 0

    def say(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.server.stdin.write(line + b"\n")
        self.server.stdin.flush()

    def hear(self):
        line = self.server.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError(f"the server ended: {line!r}")
        message = json.loads(line.decode())
        if message.get("jsonrpc") != "2.0" or ("result" in message) == ("error" in message):
            raise ValueError(f"no answer of JSON-RPC: {message}")
        return message

    def request(self, method, **params):
        self.asked += 1
        message = {"jsonrpc": "2.0", "id": self.asked, "method": method}
        self.say(message | ({"params": params} if params else {}))
        answer = self.hear()
        if answer["id"] != self.asked:
            raise ValueError(f"an answer to {answer['id']} instead of {self.asked}")
        return answer

    def notify(self, method, **params):
        self.say({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, revision=NEWEST):
        result = self.request("initialize", protocolVersion=revision, capabilities={},
                              clientInfo={"name": "test", "version": "1"})["result"]
        self.notify("notifications/initialized")
        return result

    def tools(self):
        return {tool["name"]: tool for tool in self.request("tools/list")["result"]["tools"]}

    def call(self, tool, **arguments):
        return self.request("tools/call", name=tool, arguments=arguments)["result"]

    def stateless(self, method, revision=STATELESS, **params):
        meta = {"io.modelcontextprotocol/protocolVersion": revision,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}
        return self.request(method, _meta=meta, **params)

    def close(self, seconds=60):
        """Ends its input; its exit code, and what it said beside messages."""
        self.server.stdin.close()
        rest = self.server.stdout.read()
        if rest:
            raise ValueError(f"more than it was asked for: {rest[:200]!r}")
        self.server.wait(seconds)
        return self.server.returncode, self.server.stderr.read().decode()

    def end(self):
        """However it stands."""
        self.server.kill()
        self.server.wait()
        for stream in (self.server.stdin, self.server.stdout, self.server.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
