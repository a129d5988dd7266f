// Flows, hosts, paths and probes of a made run.
import type { Random } from "./random";
import type { Shape } from "./shape";

function direction(random: Random): object {
  const bytes = Math.round(random.rounded(4e8, 3e8, 0));
  const packets = Math.round(bytes / 1500);
  const again = Math.round(random.rounded(0, 60, 0));
  return {
    bytes,
    payload_bytes: Math.round(bytes * 0.97),
    packets,
    retransmitted_packets: again,
    retransmitted_percent: (again / Math.max(packets, 1)) * 100,
    fast_retransmissions: again,
    timeout_retransmissions: 0,
    out_of_order: 0,
    duplicate_acks: null,
    zero_windows: 2,
    window_full: 0,
    throughput_mbps: random.rounded(300, 200),
    busy_s: 12.1,
    max_in_flight_bytes: random.rounded(1e6, 5e5, 0),
    max_window_bytes: null,
    max_cwnd_bytes: random.rounded(2e6, 5e5, 0),
    limited_by: {
      link: random.rounded(9000, 2000),
      receive_window: random.rounded(400, 400),
      application: 0,
    },
  };
}

export function flows(shape: Shape, random: Random): object[] {
  const { nodes, text } = shape;
  const end = (index: number, port: number) => {
    const at = index % nodes.length;
    return { name: text(nodes[at] ?? ""), address: text(`10.0.0.${at + 1}`), port, rank: at };
  };
  return Array.from({ length: shape.flows }, (_, id) => ({
    id,
    protocol: "tcp",
    a: end(id, 40000 + id),
    b: end(id + 1 + (id % 2), 29500 + id),
    interface: text("eth0"),
    process: text("python3 train.py --model resnet50"),
    start_s: 0.2,
    end_s: shape.seconds - 0.1,
    min_rtt_ms: 0.031,
    rtt_ms:
      id % 5 === 4
        ? null
        : {
            min: 0.031,
            median: random.rounded(4.4, 2),
            p99: random.rounded(9, 3),
            max: 31,
            mean: 4.5,
            count: 900,
          },
    a_to_b: direction(random),
    b_to_a: direction(random),
    seen_by: [nodes[0]],
    source: text("socket samples and packets"),
  }));
}

export function matrix({ nodes, text }: Shape, random: Random): object {
  const square = (mean: number, spread: number, digits: number) =>
    nodes.map((_, from) =>
      nodes.map((__, to) => (from === to ? null : random.rounded(mean, spread, digits))),
    );
  return {
    names: nodes.map(text),
    bytes: square(1.1e9, 9e8, 0),
    throughput_mbps: square(450, 200, 2),
    source: text("packets of all nodes"),
  };
}

const narrow = {
  bus_id: "0000:03:00.0",
  speed_gts: 8,
  width: 8,
  max_speed_gts: 16,
  max_width: 16,
  ceiling_mbps: 57600,
  possible_mbps: 230400,
};
const wide = {
  bus_id: "0000:41:00.0",
  speed_gts: 16,
  width: 16,
  max_speed_gts: 16,
  max_width: 16,
  ceiling_mbps: 230400,
  possible_mbps: 230400,
};

export function hosts({ nodes, text }: Shape): object[] {
  return nodes.map((name, index) => ({
    name: text(name),
    host: text(`${name}.cluster`),
    kernel: "6.1.0-28-amd64",
    distribution: "Debian GNU/Linux 12 (bookworm)",
    cpu: text("AMD EPYC 7313 16-Core Processor"),
    interfaces: [
      {
        name: text("enp3s0np0"),
        kind: "physical",
        is_up: true,
        speed_mbps: 100000,
        mtu_bytes: 9000,
        driver: "mlx5_core",
        addresses: [text(`10.0.0.${index + 1}`), "fe80::1"],
        used: true,
        sent_bytes: 1.15e9,
        received_bytes: 1.14e9,
        peak_mbps: 982.7,
        pcie: index === 0 ? narrow : wide,
      },
      {
        name: "eno1",
        kind: "physical",
        is_up: true,
        speed_mbps: 1000,
        mtu_bytes: 1500,
        driver: "igb",
        addresses: [],
        used: false,
        sent_bytes: 1.2e5,
        received_bytes: 3.4e5,
        peak_mbps: null,
        pcie: null,
      },
    ],
    gpus: [
      {
        name: text("NVIDIA A40"),
        bus_id: "0000:61:00.0",
        pcie: { ...wide, width: 8, ceiling_mbps: 115200 },
      },
    ],
    facts: [
      {
        subject: "kernel",
        key: "net.ipv4.tcp_congestion_control",
        value: text("cubic"),
        source: "/proc/sys/net/ipv4/tcp_congestion_control",
      },
      {
        subject: "kernel",
        key: "net.core.rmem_max",
        value: 212992,
        source: "/proc/sys/net/core/rmem_max",
      },
    ],
    doctor: index === 0 ? checks(text) : null,
  }));
}

const checks = (text: (plain: string) => string) => [
  {
    id: "pci.bandwidth",
    status: "CRITICAL",
    subject: "enp3s0np0",
    found: text("57.6 Gb/s over 8 GT/s x8"),
    wanted: "100 Gb/s of the port",
    why: "data cannot leave faster",
    next_step: "lspci -vv -s 0000:03:00.0",
  },
  {
    id: "tcp.rmem",
    status: "PASS",
    subject: "kernel",
    found: "6 MiB",
    wanted: "enough",
    why: "",
    next_step: null,
  },
];

export function paths({ nodes, text }: Shape): object[] {
  return nodes.flatMap((from) =>
    nodes
      .filter((to) => to !== from)
      .map((to) => ({
        from: text(from),
        to: text(to),
        is_wan: false,
        family: "ipv4",
        min_rtt_ms: 0.031,
        reached_mbps: 982.73,
        mean_busy_mbps: 941.2,
        interface_mbps: 100000,
        pcie_mbps: 57600,
        probe_mbps: 990.1,
        possible_mbps: 990.1,
        limit: "probe",
        source: text("interfaces, PCIe and probes of both ends"),
      })),
  );
}

export function probes({ nodes, text }: Shape): object[] {
  return [
    {
      node: text(nodes[0] ?? ""),
      kind: "tcp",
      peer: nodes[1] ?? "",
      direction: "send",
      at: "2026-11-21T10:00:00Z",
      what: "throughput",
      probe_value: 990.1,
      job_value: 982.73,
      unit: "mbps",
      share_percent: 99.26,
      source: text("probe of left"),
    },
    {
      node: nodes[0],
      kind: "latency",
      peer: nodes[1] ?? "",
      direction: null,
      at: "2026-11-21T10:01:00Z",
      what: "round trip",
      probe_value: 0.031,
      job_value: null,
      unit: "ms",
      share_percent: null,
      source: "probe of left",
    },
  ];
}
