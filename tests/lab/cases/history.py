"""history: what tests of a path remembered, and what changed when it became slower."""

from checks import holds, near, same
from lab import Way

PORT = 5210
ROUNDS = 12


def measure_a_slower_path_is_found_with_the_setting_that_changed(lab):
    left, right = lab.host("left"), lab.host("right")
    wire = lab.wire(left, right, Way(rate_mbps=200))
    right.serve(["chokepoint", "serve", "--insecure-open", "--quiet"], PORT)
    remembered = {"CHOKEPOINT_HISTORY": str(left.folder / "history.db")}

    def measure():
        for _ in range(ROUNDS):
            left.run(["chokepoint", "probe", "tcp", wire.b.ipv4, "--time", "0.3", "--quiet"],
                     environment=remembered)

    def history():
        return left.json(["chokepoint", "history", "--json"], environment=remembered)

    measure()
    same(history()["findings"], [], "findings while nothing changed")
    wire.a.limit(100)
    left.sysctls({"net.ipv4.tcp_wmem": "4096 16384 3000000"})
    measure()
    told = history()
    slower = [found for found in told["findings"] if any(
        change["metric"] == "throughput_mbps" for change in found["changes"])]
    same(len(slower), 1, f"findings of a rate: {[each['sentence'] for each in told['findings']]}")
    change = next(each for each in slower[0]["changes"] if each["metric"] == "throughput_mbps")
    holds(slower[0]["worse"], "it is told as better")
    holds(change["subject"].startswith("left > "), change["subject"])
    near(change["percent"], -50, 8, "change, %")
    names = [setting["name"] for setting in slower[0]["settings"]]
    holds("sysctl net.ipv4.tcp_wmem" in names, f"settings that changed: {names}")
    holds(change["last_good"] < change["first_bad"], "between two measurements")
