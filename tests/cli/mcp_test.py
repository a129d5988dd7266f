#!/usr/bin/env python3
"""usage: mcp_test.py CHOKEPOINT [TEST…]

`chokepoint mcp` with a client of its own (mcp_client.py), on the demo's run: what each tool returns
is what its outputSchema says and what the command prints; nothing is written; no bytes of a client
end the server or start what it did not offer.
"""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "reference"))

import mcp_client  # noqa: E402
import schemas  # noqa: E402

PROGRAM = ""
DOCUMENTS = {"runs": "runs", "diagnose": "diagnosis", "compare": "comparison",
             "predict": "prediction", "history": "history", "explain": "explain",
             "record_show": "run", "checks": "doctor"}
COMMANDS = {name: name.split("_") for name in DOCUMENTS} | {"checks": ["doctor"]}
CALLS = (("runs", {}, []), ("runs", {"dir": ".", "limit": 3}, [".", "--limit", "3"]),
         ("diagnose", {"dir": ["latest"]}, ["latest"]),
         ("diagnose", {"dir": ["chokepoint-runs/demo"], "wan-rtt-ms": 5},
          ["chokepoint-runs/demo", "--wan-rtt-ms", "5"]),
         ("compare", {"dir": ["demo"], "by": "nodes"}, ["demo", "--by", "nodes"]),
         ("predict", {"from": "latest", "link": "1G"}, ["--from", "latest", "--link", "1G"]),
         ("predict", {"parameters": "708M", "compute": "100ms", "link": "10G",
                      "upgrade": ["25GbE=41000", "40GbE=90000"], "steps": "100"},
          ["--parameters", "708M", "--compute", "100ms", "--link", "10G", "--upgrade",
           "25GbE=41000", "--upgrade", "40GbE=90000", "--steps", "100"]),
         ("explain", {"name": "lan-bandwidth"}, ["lan-bandwidth"]), ("explain", {}, []),
         ("history", {"since": "90000h"}, ["--since", "90000h"]),
         ("history", {"subject": "gpu1 > gpu2", "metric": "throughput_mbps"},
          ["gpu1 > gpu2", "--metric", "throughput_mbps"]),
         ("record_show", {"dir": "demo"}, ["demo"]))
# A flag that writes, connects, starts something or prints another document.
NEVER_OFFERED = {"output", "out", "record", "node", "confirm", "confirm-time", "confirm-rate",
                 "confirm-share", "server", "port", "key-file", "apply-plan", "check", "format",
                 "listen", "send", "program", "json", "quiet", "help", "version", "history",
                 "reported", "notify", "keep"}
SECRET = "a-key-of-the-clients-own"
MAX_MESSAGE = 4 << 20


def setUpModule():
    global PLACE, FOLDER
    PLACE = tempfile.TemporaryDirectory(prefix="chokepoint-mcp-")
    FOLDER = PLACE.name
    os.mkdir(f"{FOLDER}/chokepoint-runs")
    os.environ["CHOKEPOINT_HISTORY"] = f"{FOLDER}/history.db"
    add_to_history()
    subprocess.run([PROGRAM, "demo", "--out", "chokepoint-runs/demo"], cwd=FOLDER, check=True,
                   stdout=subprocess.DEVNULL)


def add_to_history():
    """Of a path that becomes slower when its host gets another driver."""
    names = []
    for number in range(40):
        rate, driver = (940, "550") if number < 20 else (600, "570")
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600 * (40 - number)))
        names.append(f"{FOLDER}/{number}.json")
        pathlib.Path(names[-1]).write_text(json.dumps({
            "schema": "chokepoint.probe.tcp/1", "host": "gpu1", "started_at": at,
            "peer": {"host": "gpu2"}, "throughput_mbps": rate + number % 5,
            "host_facts": {"own": {"gpu": {"driver": driver}}}}))
    subprocess.run([PROGRAM, "history", "add", "--quiet", *names], check=True)


def tearDownModule():
    PLACE.cleanup()


def tree():
    """All that lies in the folder, and when it was changed."""
    found = {}
    for path in sorted(pathlib.Path(FOLDER).rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (content, path.stat().st_mtime_ns)
    return found


def printed(tool, words):
    done = subprocess.run([PROGRAM, *COMMANDS[tool], *words, "--json", "--quiet"], cwd=FOLDER,
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def without_time(document):
    return {key: value for key, value in document.items() if key not in ("started_at", "since")}


class McpTest(unittest.TestCase):
    def setUp(self):
        self.client = self.connected()

    def connected(self, **more):
        client = mcp_client.Client(PROGRAM, "--dir", FOLDER, **more)
        self.addCleanup(client.end)
        return client

    def tearDown(self):
        if self.client.server.poll() is None and not self.client.server.stdin.closed:
            self.assertEqual(self.client.close(), (0, ""))

    def assert_serves(self):
        self.assertEqual(self.client.request("ping")["result"], {})

    def assert_document(self, result, tool, output_schema):
        self.assertFalse(result["isError"], result["content"])
        document = result["structuredContent"]
        self.assertEqual(json.loads(result["content"][0]["text"]), document)
        self.assertEqual(document["schema"], f"chokepoint.{DOCUMENTS[tool]}/1")
        if schemas.jsonschema is not None:
            schemas.jsonschema.Draft202012Validator(output_schema).validate(document)
            self.assertEqual(schemas.faults(document), [])
        return document


class Handshake(McpTest):
    def test_a_known_revision_is_agreed(self):
        for revision in ("2025-11-25", "2025-06-18", "2024-11-05"):
            client = self.connected()
            result = client.initialize(revision)
            self.assertEqual(result["protocolVersion"], revision)
            self.assertEqual(result["serverInfo"]["name"], "chokepoint")
            self.assertIn("tools", result["capabilities"])
            self.assertEqual(client.close(), (0, ""))

    def test_of_an_unknown_one_the_newest_is_offered(self):
        self.assertEqual(self.client.initialize("2099-01-01")["protocolVersion"],
                         mcp_client.NEWEST)

    def test_the_version_is_the_programs(self):
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True,
                                 check=True).stdout
        self.assertIn(self.client.initialize()["serverInfo"]["version"], version)

    def test_tools_wait_for_it(self):
        self.assertEqual(self.client.request("tools/list")["error"]["code"], -32600)
        self.assert_serves()

    def test_the_stateless_revision_needs_none(self):
        found = self.client.stateless("server/discover")["result"]
        self.assertEqual(found["supportedVersions"], [mcp_client.STATELESS])
        tools = self.client.stateless("tools/list")["result"]["tools"]
        self.assertEqual(len(tools), len(DOCUMENTS) + 1)
        result = self.client.stateless("tools/call", name="explain",
                                       arguments={"name": "lan-bandwidth"})["result"]
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["structuredContent"]["topics"][0]["name"], "lan-bandwidth")
        error = self.client.stateless("tools/list", revision="2030-01-01")["error"]
        self.assertEqual((error["code"], error["data"]["supported"]),
                         (-32022, [mcp_client.STATELESS]))

    def test_a_folder_that_is_not_there_is_wrong_usage(self):
        done = subprocess.run([PROGRAM, "mcp", "--dir", f"{FOLDER}/none"], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("is no folder", done.stderr)


class Tools(McpTest):
    def setUp(self):
        super().setUp()
        self.client.initialize()

    def test_each_is_described(self):
        tools = self.client.tools()
        self.assertEqual(set(tools), {*DOCUMENTS, "report"})
        for name, tool in tools.items():
            with self.subTest(name):
                self.assertTrue(tool["annotations"]["readOnlyHint"])
                self.assertEqual(tool["inputSchema"]["type"], "object")
                self.assertFalse(tool["inputSchema"]["additionalProperties"])
                self.assertEqual(set(tool["inputSchema"]["properties"]) & NEVER_OFFERED, set())
                for argument in tool["inputSchema"]["properties"].values():
                    self.assertTrue(argument["description"])
                if schemas.jsonschema is not None:
                    schemas.jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])

    def test_their_results_have_the_documents_own_schemas(self):
        tools = self.client.tools()
        for name, document in DOCUMENTS.items():
            published = dict(schemas.published(document))
            del published["$schema"]
            self.assertEqual(tools[name]["outputSchema"], published)
        self.assertNotIn("outputSchema", tools["report"])

    def test_arguments_have_the_flags_types(self):
        arguments = self.client.tools()["runs"]["inputSchema"]["properties"]
        self.assertEqual(arguments["limit"]["type"], "integer")
        self.assertEqual((arguments["limit"]["minimum"], arguments["limit"]["maximum"]), (1, 10000))
        predict = self.client.tools()["predict"]["inputSchema"]["properties"]
        self.assertEqual(predict["backend"]["enum"], ["nccl", "gloo"])
        self.assertEqual(predict["recompute"]["type"], "boolean")
        self.assertEqual(predict["upgrade"]["type"], "array")

    def test_each_returns_what_its_command_prints_and_writes_nothing(self):
        tools = self.client.tools()
        before = tree()
        for tool, arguments, words in CALLS:
            with self.subTest(tool, **arguments):
                result = self.client.call(tool, **arguments)
                document = self.assert_document(result, tool, tools[tool]["outputSchema"])
                self.assertEqual(without_time(document), without_time(printed(tool, words)))
                if schemas.jsonschema is not None:
                    schemas.jsonschema.Draft202012Validator(
                        tools[tool]["inputSchema"]).validate(arguments)
        self.assertEqual(tree(), before)

    def test_the_host_is_checked(self):
        tools = self.client.tools()
        self.assert_document(self.client.call("checks"), "checks", tools["checks"]["outputSchema"])
        document = self.assert_document(self.client.call("checks", root=FOLDER), "checks",
                                        tools["checks"]["outputSchema"])
        self.assertGreater(len(document["checks"]), 0)

    def test_the_report_is_text_and_no_file(self):
        before = tree()
        result = self.client.call("report", dir=["demo"])
        self.assertFalse(result["isError"])
        self.assertIn("Where a step's time goes", result["content"][0]["text"])
        self.assertNotIn("structuredContent", result)
        self.assertEqual(tree(), before)

    def test_the_verdict_is_the_demos(self):
        document = self.client.call("diagnose")["structuredContent"]
        self.assertEqual(document["verdict"]["class"], "lan-bandwidth")

    def test_the_history_names_what_changed(self):
        [finding] = self.client.call("history")["structuredContent"]["findings"]
        self.assertTrue(finding["worse"])
        self.assertEqual(finding["changes"][0]["subject"], "gpu1 > gpu2")
        self.assertEqual([(each["host"], each["name"]) for each in finding["settings"]],
                         [("gpu1", "gpu driver")])

    def test_the_history_is_the_one_that_was_named_and_no_other(self):
        with tempfile.TemporaryDirectory() as folder:
            client = mcp_client.Client(PROGRAM, "--dir", folder, "--history", "history.db",
                                       cwd=FOLDER)
            self.addCleanup(client.end)
            client.initialize()
            self.assertEqual(client.call("history")["structuredContent"]["rows"], 40)
            client.close()
            client = mcp_client.Client(PROGRAM, "--dir", FOLDER, "--history", f"{folder}/none.db")
            self.addCleanup(client.end)
            client.initialize()
            self.assertIn("no such history", client.call("history")["content"][0]["text"])
            client.close()
            self.assertEqual(os.listdir(folder), [])

    def test_a_command_that_fails_is_a_result_with_its_line(self):
        for tool, arguments, part in (("diagnose", {"dir": "no-such-run"}, "no-such-run"),
                                      ("explain", {"name": "lan-bandwidht"}, "did you mean"),
                                      ("predict", {"from": "demo", "link": "fast"}, "fast"),
                                      ("runs", {"limit": 0}, "out of range")):
            with self.subTest(tool):
                result = self.client.call(tool, **arguments)
                self.assertTrue(result["isError"])
                self.assertNotIn("structuredContent", result)
                self.assertTrue(result["content"][0]["text"].startswith("chokepoint: "))
                self.assertIn(part, result["content"][0]["text"])

    def test_an_unknown_tool_is_an_error(self):
        answer = self.client.request("tools/call", name="export", arguments={})
        self.assertEqual(answer["error"]["code"], -32602)


class Hostile(McpTest):
    def setUp(self):
        super().setUp()
        self.client.initialize()

    def refused(self, line, code):
        self.client.say(line)
        answer = self.client.hear()
        self.assertEqual((answer["error"]["code"], answer["id"]), (code, None))
        self.assert_serves()

    def test_what_is_no_json(self):
        for line in (b"nonsense", b"{", b"\x00", bytes(range(32)).replace(b"\n", b""),
                     b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', b'"\\ud800"', b"\xfe\xff\x00{"):
            self.refused(line, -32700)

    def test_what_is_no_request(self):
        for line in (b"[]", b"7", b"null", b"{}", b'{"jsonrpc":"2.0"}',
                     b'{"jsonrpc":"1.0","method":"ping"}', b'{"jsonrpc":"2.0","method":{}}',
                     b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
                     b'{"jsonrpc":"2.0","id":{},"method":"ping"}'):
            self.refused(line, -32600)

    def test_batches_are_refused_whole(self):
        self.refused(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},'
                     b'{"jsonrpc":"2.0","id":2,"method":"ping"}]', -32600)

    def test_length_and_nesting_are_bounded(self):
        self.refused(b" " * (MAX_MESSAGE + 1), -32600)
        self.refused(b'{"x":"' + b"x" * (3 * MAX_MESSAGE) + b'"}', -32600)
        self.refused(b"[" * MAX_MESSAGE, -32600)
        self.refused(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100
                     + b"1" + b"}" * 101, -32600)

    def test_the_longest_message_is_answered_whole(self):
        head, tail = b'{"jsonrpc":"2.0","id":"', b'","method":"ping"}'
        long = b"x" * (MAX_MESSAGE - len(head) - len(tail))
        self.client.say(head + long + tail)
        self.assertEqual(self.client.hear()["id"], long.decode())

    def test_unknown_methods_are_errors(self):
        for method in ("resources/list", "prompts/get", "logging/setLevel", "", "x" * 100_000):
            self.assertEqual(self.client.request(method)["error"]["code"], -32601)

    def test_notifications_get_no_answer(self):
        for method in ("notifications/initialized", "notifications/cancelled", "ping", "nothing"):
            self.client.notify(method, requestId=1)
        self.client.say(b'{"jsonrpc":"2.0","id":7,"result":{}}')
        self.client.say(b"")
        self.assert_serves()

    def test_no_argument_becomes_a_flag(self):
        before = tree()
        for tool, arguments in (("diagnose", {"dir": ["--confirm"]}),
                                ("report", {"dir": ["demo", f"--output={FOLDER}/x.html"]}),
                                ("report", {"dir": ["-o", "x.html"]}),
                                ("predict", {"from": "demo --check"}),
                                ("explain", {"name": "--help"})):
            result = self.client.call(tool, **arguments)
            self.assertTrue(result["isError"], (tool, arguments, result))
        for arguments in ({"output": "x.html"}, {"confirm": True}, {"dir": {"a": 1}},
                          {"dir": "a\0b"}, {"dir": "x" * 5000}, {"dir": ["x"] * 300},
                          {"wan-rtt-ms": "x"}, {"": 1}, {"x" * 100_000: 1}):
            self.assertTrue(self.client.call("diagnose", **arguments)["isError"])
        self.assertEqual(tree(), before)

    def test_a_command_reads_none_of_the_clients_messages(self):
        for place in ("/dev/stdin", "/proc/self/fd/0", "-"):
            self.assertTrue(self.client.call("diagnose", dir=place)["isError"])
            self.assertTrue(self.client.call("diagnose", **{"with": [place]})["isError"])
        self.assert_serves()

    def test_no_variable_of_the_client_is_shown(self):
        client = self.connected(env=os.environ | {"SERVICE_KEY": SECRET})
        client.initialize()
        server = f"/proc/{client.server.pid}/environ"
        answers = [client.call(tool, **arguments) for tool, arguments, _ in CALLS]
        answers.append(client.call("checks"))
        for place in ("/proc/self/environ", server):
            answers += [client.call("diagnose", dir=place),
                        client.call("diagnose", **{"with": [place]}),
                        client.call("diagnose", dir="demo", ceiling=place),
                        client.call("report", dir="demo", **{"with": [place]}),
                        client.call("predict", **{"from": "demo", "curve": place}),
                        client.call("record_show", dir=place)]
        self.assertNotIn(SECRET, json.dumps(answers))
        self.assertEqual(client.close(), (0, ""))


class Ends(McpTest):
    def test_with_its_input(self):
        self.assertEqual(self.client.close(), (0, ""))

    def test_with_its_input_once_all_is_answered(self):
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        done = subprocess.run([PROGRAM, "mcp", "--dir", FOLDER], input=(ping + b"\n") * 3 + ping,
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.count(b"\n"), 4)
        self.assertEqual(done.stderr, b"")

    def ended_by(self, number):
        self.client.server.send_signal(number)
        self.assertEqual(self.client.server.wait(60), 130)
        self.assertEqual(self.client.server.stderr.read(), b"")

    def test_by_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.client = self.connected()
                self.client.initialize()
                self.ended_by(number)

    def test_by_a_signal_in_the_middle_of_a_call(self):
        self.client.initialize()
        self.client.say({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
                         "params": {"name": "diagnose"}})
        time.sleep(0.02)
        self.ended_by(signal.SIGTERM)

    def test_when_nobody_reads_its_answers(self):
        self.client.initialize()
        self.client.server.stdout.close()
        self.client.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        self.assertEqual(self.client.server.wait(60), 0)
        self.assertEqual(self.client.server.stderr.read(), b"")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
