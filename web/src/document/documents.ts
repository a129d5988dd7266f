// Made by scripts/reference from the sources, as docs/reference/schemas are.

export interface Report {
  readonly schema: "chokepoint.report/1";
  readonly host: string;
  readonly started_at: string;
  readonly run: string;
  readonly program: string;
  readonly summary: Run;
  readonly diagnosis: Diagnosis;
  readonly accounting: {
    readonly accounts: readonly string[];
    readonly total_ms_per_step: readonly number[];
    readonly steps: {
      readonly number: readonly number[];
      readonly start_s: readonly number[];
      readonly count: readonly number[];
      readonly ms: readonly (readonly number[])[];
    };
    readonly source: string;
  } | null;
  readonly timeline: {
    readonly origin: string | null;
    readonly start_s: number;
    readonly end_s: number;
    readonly nodes: readonly ({
      readonly name: string;
      readonly ranks: readonly number[];
      readonly clock: {
        readonly source: "same host" | "packets" | "collectives" | "probes" | "wall clock" | "none";
        readonly error_ms: number | null;
      };
    })[];
    readonly axes: readonly {
      readonly edges_s: readonly number[];
    }[];
    readonly tracks: readonly ({
      readonly group: string;
      readonly node: string;
      readonly flow: number | null;
      readonly name: string;
      readonly subject: string | null;
      readonly direction: "a_to_b" | "b_to_a" | null;
      readonly unit: string;
      readonly axis: number;
      readonly values: readonly (number | null)[];
      readonly source: string;
    })[];
    readonly steps: {
      readonly source: "marks" | "output" | "collectives" | "traffic" | null;
      readonly start_s: readonly number[];
      readonly end_s: readonly number[];
      readonly count: readonly number[];
      readonly settled: readonly boolean[];
      readonly shown: number;
      readonly all: number;
    };
    readonly lanes: readonly ({
      readonly node: string;
      readonly rank: number | null;
      readonly kind: "steps" | "collectives" | "waiting";
      readonly names: readonly string[];
      readonly start_s: readonly number[];
      readonly end_s: readonly number[];
      readonly name: readonly number[];
      readonly bytes?: readonly (number | null)[];
      readonly shown: number;
      readonly all: number;
      readonly source: string;
    })[];
    readonly communicating: {
      readonly start_s: readonly number[];
      readonly end_s: readonly number[];
    };
    readonly windows: readonly {
      readonly start_s: number;
      readonly end_s: number;
    }[];
    readonly remarks: readonly string[];
  };
  readonly moments: readonly ({
    readonly start_s: number;
    readonly end_s: number | null;
    readonly node: string | null;
    readonly kind: "evidence" | "event";
    readonly what: string;
    readonly detail: string | null;
    readonly source: string;
  })[];
  readonly flows: readonly ({
    readonly id: number;
    readonly protocol: string;
    readonly a: {
      readonly name: string;
      readonly address: string;
      readonly port: number | null;
      readonly rank: number | null;
      readonly interface: string | null;
      readonly process: string | null;
    };
    readonly b: {
      readonly name: string;
      readonly address: string;
      readonly port: number | null;
      readonly rank: number | null;
      readonly interface: string | null;
      readonly process: string | null;
    };
    readonly interface: string | null;
    readonly process: string | null;
    readonly start_s: number | null;
    readonly end_s: number | null;
    readonly min_rtt_ms: number | null;
    readonly rtt_ms: {
      readonly min: number;
      readonly median: number;
      readonly p99: number;
      readonly max: number;
      readonly mean: number;
      readonly count: number;
    } | null;
    readonly a_to_b: {
      readonly bytes: number | null;
      readonly payload_bytes: number | null;
      readonly packets: number | null;
      readonly retransmitted_packets: number | null;
      readonly retransmitted_percent: number | null;
      readonly fast_retransmissions: number | null;
      readonly timeout_retransmissions: number | null;
      readonly out_of_order: number | null;
      readonly duplicate_acks: number | null;
      readonly zero_windows: number | null;
      readonly window_full: number | null;
      readonly throughput_mbps: number | null;
      readonly busy_s: number | null;
      readonly busy_mbps: number | null;
      readonly max_in_flight_bytes: number | null;
      readonly max_window_bytes: number | null;
      readonly max_cwnd_bytes: number | null;
      readonly rtt_ms: {
        readonly min: number;
        readonly median: number;
        readonly p99: number;
        readonly max: number;
        readonly mean: number;
        readonly count: number;
      } | null;
      readonly limited_by: {
        readonly link: number;
        readonly loss: number;
        readonly receive_window: number;
        readonly send_buffer: number;
        readonly congestion_window: number;
        readonly library_credit: number;
        readonly round_trip: number;
      } | null;
    };
    readonly b_to_a: {
      readonly bytes: number | null;
      readonly payload_bytes: number | null;
      readonly packets: number | null;
      readonly retransmitted_packets: number | null;
      readonly retransmitted_percent: number | null;
      readonly fast_retransmissions: number | null;
      readonly timeout_retransmissions: number | null;
      readonly out_of_order: number | null;
      readonly duplicate_acks: number | null;
      readonly zero_windows: number | null;
      readonly window_full: number | null;
      readonly throughput_mbps: number | null;
      readonly busy_s: number | null;
      readonly busy_mbps: number | null;
      readonly max_in_flight_bytes: number | null;
      readonly max_window_bytes: number | null;
      readonly max_cwnd_bytes: number | null;
      readonly rtt_ms: {
        readonly min: number;
        readonly median: number;
        readonly p99: number;
        readonly max: number;
        readonly mean: number;
        readonly count: number;
      } | null;
      readonly limited_by: {
        readonly link: number;
        readonly loss: number;
        readonly receive_window: number;
        readonly send_buffer: number;
        readonly congestion_window: number;
        readonly library_credit: number;
        readonly round_trip: number;
      } | null;
    };
    readonly seen_by: readonly string[];
    readonly source: string;
  })[];
  readonly matrix: {
    readonly names: readonly string[];
    readonly bytes: readonly (readonly (number | null)[])[];
    readonly throughput_mbps: readonly (readonly (number | null)[])[];
    readonly source: string;
  };
  readonly hosts: readonly ({
    readonly name: string;
    readonly host: string | null;
    readonly kernel: string | null;
    readonly distribution: string | null;
    readonly cpu: string | null;
    readonly cores: number | null;
    readonly memory_bytes: number | null;
    readonly interfaces: readonly ({
      readonly name: string;
      readonly kind: string | null;
      readonly is_up: boolean;
      readonly speed_mbps: number | null;
      readonly mtu_bytes: number | null;
      readonly driver: string | null;
      readonly addresses: readonly string[];
      readonly used: boolean;
      readonly sent_bytes: number | null;
      readonly received_bytes: number | null;
      readonly sent_peak_mbps: number | null;
      readonly received_peak_mbps: number | null;
      readonly peak_mbps: number | null;
      readonly job_sent_bytes: number | null;
      readonly job_received_bytes: number | null;
      readonly pcie: {
        readonly bus_id: string | null;
        readonly speed_gts: number | null;
        readonly width: number | null;
        readonly max_speed_gts: number | null;
        readonly max_width: number | null;
        readonly ceiling_mbps: number | null;
        readonly possible_mbps: number | null;
        readonly source: string;
      } | null;
      readonly source: string;
    })[];
    readonly gpus: readonly ({
      readonly name: string | null;
      readonly bus_id: string;
      readonly pcie: {
        readonly bus_id: string | null;
        readonly speed_gts: number | null;
        readonly width: number | null;
        readonly max_speed_gts: number | null;
        readonly max_width: number | null;
        readonly ceiling_mbps: number | null;
        readonly possible_mbps: number | null;
        readonly source: string;
      } | null;
    })[];
    readonly facts: readonly ({
      readonly category: string;
      readonly subject: string | null;
      readonly key: string;
      readonly value: string;
      readonly source: string | null;
    })[];
    readonly doctor: readonly ({
      readonly id: string;
      readonly status: string | null;
      readonly subject: string | null;
      readonly found: string | null;
      readonly wanted: string | null;
      readonly why: string | null;
      readonly next_step: string | null;
    })[] | null;
  })[];
  readonly paths: readonly ({
    readonly from: string;
    readonly to: string;
    readonly is_wan: boolean | null;
    readonly family: string | null;
    readonly min_rtt_ms: number | null;
    readonly median_rtt_ms: number | null;
    readonly retransmitted_percent: number | null;
    readonly payload_bytes: number | null;
    readonly reached_mbps: number | null;
    readonly mean_busy_mbps: number | null;
    readonly interface_mbps: number | null;
    readonly pcie_mbps: number | null;
    readonly probe_mbps: number | null;
    readonly full_mbps: number | null;
    readonly other_way: {
      readonly address: string | null;
      readonly mbps: number;
    } | null;
    readonly possible_mbps: number | null;
    readonly limit: "full" | "interface" | "pcie" | "probe" | null;
    readonly source: string;
  })[];
  readonly probes: readonly ({
    readonly node: string;
    readonly kind: string;
    readonly peer: string | null;
    readonly address: string | null;
    readonly direction: string | null;
    readonly at: string;
    readonly what: string;
    readonly probe_value: number;
    readonly job_value: number | null;
    readonly unit: string;
    readonly share_percent: number | null;
    readonly source: string;
  })[];
  readonly recorded_probes: readonly ({
    readonly node: string;
    readonly kind: string;
    readonly peer: string | null;
    readonly direction: string | null;
    readonly at: string;
    readonly source: string;
    readonly values: readonly ({
      readonly what: string;
      readonly value: number | string;
      readonly unit: string | null;
    })[];
    readonly lists: readonly ({
      readonly what: string;
      readonly count: number;
      readonly columns: readonly ({
        readonly what: string;
        readonly unit: string | null;
      })[];
      readonly rows: readonly (readonly (number | string | null)[])[];
    })[];
  })[];
  readonly missing: readonly string[];
}

export interface Preflight {
  readonly schema: "chokepoint.preflight/1";
  readonly host: string;
  readonly started_at: string;
  readonly program: string;
  readonly plan: string;
  readonly seed?: number;
  readonly sampled: boolean;
  readonly interrupted: boolean;
  readonly duration_s: number;
  readonly left_out?: readonly string[];
  readonly hosts?: readonly ({
    readonly name: string;
    readonly address: string | null;
    readonly presence: "unresolved" | "unreachable" | "no-agent" | "refused" | "strange" | "lost" | "present";
    readonly error: {
      readonly kind: "usage" | "not_found" | "permission" | "refused" | "timeout" | "unreachable" | "exhausted" | "read_only" | "busy" | "unsupported" | "malformed" | "newer" | "interrupted" | "io";
      readonly operation?: string;
      readonly subject?: string;
      readonly reason?: string;
      readonly next_step?: string;
    } | null;
    readonly lost_during: string | null;
    readonly program: string | null;
    readonly link_mbps: number | null;
    readonly facts: {
      readonly host: string;
      readonly interfaces: readonly ({
        readonly name: string;
        readonly addresses: readonly string[];
        readonly networks: readonly string[];
        readonly mtu: number | null;
        readonly speed_mbps: number | null;
        readonly pci_mbps: number | null;
        readonly is_port: boolean;
        readonly is_up: boolean;
      })[];
      readonly rdma: readonly ({
        readonly device: string;
        readonly port: number;
        readonly interface: string;
        readonly speed_mbps: number | null;
        readonly is_active: boolean;
      })[];
      readonly receive_buffer_bytes: number | null;
      readonly send_buffer_bytes: number | null;
      readonly congestion_control: string;
      readonly cpus: number | null;
      readonly gpus: number | null;
      readonly wall_less_monotonic_ms: number | null;
      readonly has_gloo: boolean;
    } | null;
    readonly doctor?: readonly ({
      readonly id: string;
      readonly status: "PASS" | "INFO" | "UNKNOWN" | "WARNING" | "CRITICAL";
      readonly subject: string;
      readonly found: string | null;
      readonly wanted: string | null;
      readonly why?: string;
      readonly next_step: string | null;
    })[];
  })[];
  readonly troubles?: readonly ({
    readonly a: number;
    readonly b: number;
    readonly test: string;
    readonly error?: {
      readonly kind: "usage" | "not_found" | "permission" | "refused" | "timeout" | "unreachable" | "exhausted" | "read_only" | "busy" | "unsupported" | "malformed" | "newer" | "interrupted" | "io";
      readonly operation?: string;
      readonly subject?: string;
      readonly reason?: string;
      readonly next_step?: string;
    };
  })[];
  readonly cuts?: readonly ({
    readonly left?: readonly number[];
    readonly right?: readonly number[];
    readonly ways: readonly (readonly number[])[];
    readonly together_mbps: number;
    readonly alone_mbps: number | null;
  })[];
  readonly bundles?: readonly ({
    readonly asked: number;
    readonly peer: number;
    readonly verdict: string;
    readonly bad?: readonly ({
      readonly fault: "loss" | "delay" | "rate";
      readonly from: number;
      readonly to: number;
      readonly loss_percent: number | null;
      readonly others_loss_percent: number | null;
      readonly later_ms: number | null;
      readonly rate_mbps: number | null;
      readonly others_rate_mbps: number | null;
      readonly flows: number;
      readonly of_flows: number;
      readonly one_of_members: number | null;
      readonly source_ports: readonly number[];
      readonly router: string | null;
    })[];
  })[];
  readonly collective: {
    readonly backend?: string;
    readonly ranks: number;
    readonly bytes: number;
    readonly bus_mbps: number | null;
    readonly time_us: number | null;
    readonly error: {
      readonly kind: "usage" | "not_found" | "permission" | "refused" | "timeout" | "unreachable" | "exhausted" | "read_only" | "busy" | "unsupported" | "malformed" | "newer" | "interrupted" | "io";
      readonly operation?: string;
      readonly subject?: string;
      readonly reason?: string;
      readonly next_step?: string;
    } | null;
  } | null;
  readonly verdict: "PASS" | "INFO" | "UNKNOWN" | "WARNING" | "CRITICAL";
  readonly sentence: string;
  readonly checks: readonly ({
    readonly id: string;
    readonly status: "PASS" | "INFO" | "UNKNOWN" | "WARNING" | "CRITICAL";
    readonly subject: string;
    readonly found: string | null;
    readonly wanted: string | null;
    readonly why?: string;
    readonly next_step: string | null;
    readonly place: "cluster" | "host" | "port" | "slot" | "name" | "way" | "pair" | "uplink";
    readonly hosts: readonly number[];
    readonly ways: readonly (readonly number[])[];
    readonly evidence: readonly {
      readonly what: string;
      readonly value: number;
      readonly unit: string;
      readonly from: string;
    }[];
  })[];
  readonly names: readonly ({
    readonly asked: number;
    readonly addresses?: readonly string[];
    readonly error: {
      readonly kind: "usage" | "not_found" | "permission" | "refused" | "timeout" | "unreachable" | "exhausted" | "read_only" | "busy" | "unsupported" | "malformed" | "newer" | "interrupted" | "io";
      readonly operation?: string;
      readonly subject?: string;
      readonly reason?: string;
      readonly next_step?: string;
    } | null;
    readonly by?: readonly number[];
  })[];
  readonly expected_from: "link speeds" | "the fastest way";
  readonly pairs: {
    readonly count: number;
    readonly a: readonly number[];
    readonly b: readonly number[];
    readonly rtt_ms: readonly (number | null)[] | null;
    readonly rtt_p99_ms: readonly (number | null)[] | null;
    readonly rtt_min_ms: readonly (number | null)[] | null;
    readonly clock_offset_ms: readonly (number | null)[] | null;
    readonly clock_uncertainty_ms: readonly (number | null)[] | null;
    readonly rdma_latency_us: readonly (number | null)[] | null;
    readonly ipv4: readonly ("absent" | "works" | "fails" | null)[] | null;
    readonly ipv6: readonly ("absent" | "works" | "fails" | null)[] | null;
    readonly there: {
      readonly tcp_mbps: readonly (number | null)[] | null;
      readonly alone_mbps: readonly (number | null)[] | null;
      readonly together_mbps: readonly (number | null)[] | null;
      readonly retransmitted_percent: readonly (number | null)[] | null;
      readonly window_share: readonly (number | null)[] | null;
      readonly send_buffer_share: readonly (number | null)[] | null;
      readonly largest_window_bytes: readonly (number | null)[] | null;
      readonly sender_cpu_percent: readonly (number | null)[] | null;
      readonly receiver_cpu_percent: readonly (number | null)[] | null;
      readonly mtu_bytes: readonly (number | null)[] | null;
      readonly black_hole_bytes: readonly (number | null)[] | null;
      readonly hops: readonly (number | null)[] | null;
      readonly rdma_mbps: readonly (number | null)[] | null;
      readonly expected_share: readonly (number | null)[] | null;
      readonly loss_percent: readonly (number | null)[] | null;
      readonly udp_packets: readonly (number | null)[] | null;
      readonly udp_lost: readonly (number | null)[] | null;
      readonly tcp_limit: readonly ("network" | "receive-window" | "send-buffer" | "sender-cpu" | "receiver-cpu" | "application" | null)[] | null;
    };
    readonly back: {
      readonly tcp_mbps: readonly (number | null)[] | null;
      readonly alone_mbps: readonly (number | null)[] | null;
      readonly together_mbps: readonly (number | null)[] | null;
      readonly retransmitted_percent: readonly (number | null)[] | null;
      readonly window_share: readonly (number | null)[] | null;
      readonly send_buffer_share: readonly (number | null)[] | null;
      readonly largest_window_bytes: readonly (number | null)[] | null;
      readonly sender_cpu_percent: readonly (number | null)[] | null;
      readonly receiver_cpu_percent: readonly (number | null)[] | null;
      readonly mtu_bytes: readonly (number | null)[] | null;
      readonly black_hole_bytes: readonly (number | null)[] | null;
      readonly hops: readonly (number | null)[] | null;
      readonly rdma_mbps: readonly (number | null)[] | null;
      readonly expected_share: readonly (number | null)[] | null;
      readonly loss_percent: readonly (number | null)[] | null;
      readonly udp_packets: readonly (number | null)[] | null;
      readonly udp_lost: readonly (number | null)[] | null;
      readonly tcp_limit: readonly ("network" | "receive-window" | "send-buffer" | "sender-cpu" | "receiver-cpu" | "application" | null)[] | null;
    };
  };
  readonly unusual: readonly ({
    readonly sentence: string;
    readonly worse: boolean;
    readonly standings: readonly ({
      readonly sentence: string;
      readonly subject: string;
      readonly metric: string;
      readonly unit: string | null;
      readonly value: number;
      readonly usual: number;
      readonly earlier: number;
      readonly percent: number | null;
      readonly p: number;
      readonly unusual: boolean;
      readonly worse: boolean;
      readonly since: {
        readonly at: string;
        readonly source: string | null;
        readonly count: number;
      } | null;
    })[];
  })[];
}

export interface WebFleet {
  readonly schema: "chokepoint.web.fleet/1";
  readonly host: string;
  readonly started_at: string;
  readonly history: string;
  readonly since: string;
  readonly searched: boolean;
  readonly series: number;
  readonly rows: number;
  readonly findings: readonly {
    readonly sentence: string;
    readonly worse: boolean;
    readonly subject: string;
    readonly metric: string;
  }[];
  readonly columns: readonly ({
    readonly metric: string;
    readonly title: string;
    readonly setting: string | null;
    readonly unit: string | null;
    readonly better: "more" | "less" | "neither";
  })[];
  readonly subjects: readonly ({
    readonly subject: string;
    readonly kind: string;
    readonly cells: readonly ({
      readonly column: number;
      readonly value: number;
      readonly at: string;
      readonly series: number;
      readonly before: number | null;
      readonly percent: number | null;
      readonly since: string | null;
      readonly worse: boolean | null;
      readonly others: number | null;
      readonly times: number | null;
    })[];
  })[];
  readonly left_out: number;
}

export interface WebSubject {
  readonly schema: "chokepoint.web.subject/1";
  readonly host: string;
  readonly started_at: string;
  readonly history: string;
  readonly subject: string;
  readonly series: readonly ({
    readonly subject: string;
    readonly metric: string;
    readonly title: string;
    readonly setting: string | null;
    readonly unit: string | null;
    readonly better: "more" | "less" | "neither";
    readonly points: number;
    readonly times_s: readonly number[];
    readonly values: readonly number[];
    readonly changes: readonly ({
      readonly last_good: string;
      readonly first_bad: string;
      readonly before: number;
      readonly after: number;
      readonly percent: number | null;
      readonly p: number;
      readonly worse: boolean;
      readonly source_before: string | null;
      readonly source_after: string | null;
      readonly run_before: string | null;
      readonly run_after: string | null;
    })[];
  })[];
  readonly settings: readonly {
    readonly host: string;
    readonly name: string;
    readonly before: string;
    readonly after: string;
    readonly last_seen: string;
    readonly first_seen: string;
  }[];
  readonly left_out: number;
}

export interface Run {
  readonly schema: "chokepoint.run/1";
  readonly host: string;
  readonly started_at: string;
  readonly command: string | null;
  readonly exit_status: number | null;
  readonly labels: { readonly [key: string]: string };
  readonly nodes: readonly ({
    readonly name: string;
    readonly host: string | null;
    readonly file: string;
    readonly kernel: string | null;
    readonly program: string | null;
    readonly sessions: number;
    readonly complete: boolean;
    readonly damage: string | null;
    readonly exit_status: number | null;
    readonly duration_s: number | null;
    readonly bytes: number;
    readonly rows: { readonly [key: string]: number };
    readonly steps: {
      readonly count: number | null;
      readonly source: "marks" | "output" | "collectives" | "traffic" | null;
    };
    readonly volume: {
      readonly sent_bytes: number | null;
      readonly received_bytes: number | null;
      readonly purposes: readonly ({
        readonly purpose: "collectives" | "rendezvous" | "rpc" | "storage" | "weights" | "unknown";
        readonly words: string;
        readonly sent_bytes: number | null;
        readonly received_bytes: number | null;
        readonly connections: number;
      })[];
      readonly network_mbps_full_duplex: number | null;
    };
    readonly overhead: {
      readonly cpu_percent: number | null;
    };
    readonly probes: readonly ({
      readonly kind: string;
      readonly peer: string | null;
      readonly direction: string | null;
      readonly at: string;
      readonly verdict: string | null;
    })[];
    readonly dropped: number;
  })[];
  readonly unreadable: readonly string[];
  readonly duration_s: number | null;
  readonly steps: {
    readonly count: number | null;
    readonly settled: number;
    readonly mean_ms: number | null;
    readonly median_ms: number | null;
    readonly p99_ms: number | null;
    readonly source: "marks" | "output" | "collectives" | "traffic" | null;
  };
  readonly volume: {
    readonly sent_bytes: number | null;
    readonly received_bytes: number | null;
    readonly purposes: readonly ({
      readonly purpose: "collectives" | "rendezvous" | "rpc" | "storage" | "weights" | "unknown";
      readonly words: string;
      readonly sent_bytes: number | null;
      readonly received_bytes: number | null;
      readonly connections: number;
    })[];
    readonly network_mbps_full_duplex: number | null;
    readonly network_mbps: number | null;
  };
  readonly overhead: {
    readonly cpu_percent: number | null;
  };
  readonly dropped: number;
}

export interface Diagnosis {
  readonly schema: "chokepoint.diagnosis/1";
  readonly host: string;
  readonly started_at: string;
  readonly run: string;
  readonly command: string | null;
  readonly labels: { readonly [key: string]: string };
  readonly nodes: readonly string[];
  readonly complete: boolean;
  readonly steps: {
    readonly count: number | null;
    readonly settled: number;
    readonly mean_ms: number | null;
    readonly median_ms: number | null;
    readonly p99_ms: number | null;
    readonly source: "marks" | "output" | "collectives" | "traffic" | null;
  };
  readonly rounds: {
    readonly sentence: string;
    readonly every_steps: number;
    readonly syncs: number;
    readonly inner_ms: number;
    readonly sync_ms: {
      readonly min: number;
      readonly median: number;
      readonly p99: number;
      readonly max: number;
      readonly mean: number;
      readonly count: number;
    };
    readonly sync_bytes: number;
    readonly utilisation_percent: number;
  } | null;
  readonly goodput: {
    readonly sentence: string;
    readonly percent: number;
    readonly run_s: number;
    readonly start_s: number;
    readonly steps_s: number;
    readonly pauses_s: number;
    readonly end_s: number;
    readonly pauses: number;
    readonly longest: readonly ({
      readonly at_s: number;
      readonly s: number;
      readonly does: "writes files" | "reads files" | "sends data" | "uses processors" | "nothing seen";
    })[];
  } | null;
  readonly purposes: readonly ({
    readonly purpose: "collectives" | "rendezvous" | "rpc" | "storage" | "weights" | "unknown";
    readonly words: string;
    readonly sent_bytes: number | null;
    readonly received_bytes: number | null;
    readonly connections: number;
  })[];
  readonly standing: {
    readonly sentence: string;
    readonly subject: string;
    readonly metric: string;
    readonly unit: string | null;
    readonly value: number;
    readonly usual: number;
    readonly earlier: number;
    readonly percent: number | null;
    readonly p: number;
    readonly unusual: boolean;
    readonly worse: boolean;
    readonly since: {
      readonly at: string;
      readonly source: string | null;
      readonly count: number;
    } | null;
  } | null;
  readonly accounting_ms_per_step: {
    readonly compute: number;
    readonly straggler: number;
    readonly link: number;
    readonly loss: number;
    readonly window: number;
    readonly library: number;
    readonly receiver_host: number;
    readonly sender_host: number;
    readonly pcie: number;
    readonly latency: number;
    readonly input: number;
    readonly storage: number;
    readonly other: number;
  } | null;
  readonly accounting_uncertainty_ms: {
    readonly compute: number;
    readonly straggler: number;
    readonly link: number;
    readonly loss: number;
    readonly window: number;
    readonly library: number;
    readonly receiver_host: number;
    readonly sender_host: number;
    readonly pcie: number;
    readonly latency: number;
    readonly input: number;
    readonly storage: number;
    readonly other: number;
  } | null;
  readonly what_ifs: readonly {
    readonly account: string;
    readonly step_ms: number;
    readonly gained_ms: number;
  }[];
  readonly critical_path: {
    readonly step: number;
    readonly length_ms: number;
    readonly parts: readonly ({
      readonly kind: "computing" | "late" | "transfer" | "overhead";
      readonly rank: number | null;
      readonly node: string | null;
      readonly to_rank: number | null;
      readonly start_ms: number;
      readonly ms: number;
    })[];
  } | null;
  readonly verdict: {
    readonly class: "compute" | "straggler" | "input" | "storage" | "stalled" | "lan-bandwidth" | "lan-loss" | "lan-latency" | "wan-bandwidth" | "wan-loss" | "wan-latency" | "receiver-host" | "sender-host" | "pcie-nic" | "pcie-gpu" | "rdma-congestion" | "rdma-loss" | "wrong-path" | "unknown";
    readonly cause: "line-rate" | "shaper" | "competing-traffic" | "storage-traffic" | "job-traffic" | "loss" | "link-cut" | "interface-flap" | "round-trips" | "gloo-credit" | "congestion-window" | "receive-window" | "send-buffer" | "softirq" | "process-cpu" | "periodic-pause" | "transfer" | "storage-read" | "remote-file-system" | "page-cache" | "loader-processor" | "loader-remote" | "loader-count" | "input" | "checkpoint" | "log" | "late-rank" | "late-group" | "gpu-throttled" | "gpu-idle" | "exposed-communication" | "rank-gone" | "rank-missing" | "rank-reported" | "call-hung" | "call-order" | "call-mismatch" | "rank-failed" | "wrong-results" | "bandwidth-drop" | "benchmark" | "rank-stopped" | "rank-blocked-io" | "rank-busy" | "path-dead" | "peer-gone" | "mismatch" | "host-gone" | "job-failed" | "pcie-width" | "pcie-speed" | "shared-link" | "gloo-copies" | "copies" | "exposed-copies" | "ecn" | "pauses" | "receiver-pauses" | "management-interface" | "address-family" | "nccl-sockets" | "nccl-interface" | "nccl-one-card" | "nccl-host-copies" | "nccl-mixed" | "meeting-family" | null;
    readonly sentence: string;
    readonly where: {
      readonly from: string | null;
      readonly to: string | null;
      readonly direction: string | null;
      readonly mount: string | null;
      readonly collective: string | null;
      readonly interface: string | null;
      readonly node: string | null;
      readonly rank: number | null;
      readonly frame: string | null;
      readonly ranks: readonly number[] | null;
    };
    readonly lost_ms_per_step: number | null;
    readonly lost_low_ms: number | null;
    readonly lost_high_ms: number | null;
    readonly share_percent: number | null;
    readonly confidence: number;
    readonly evidence: readonly ({
      readonly what: string;
      readonly value: number | null;
      readonly unit: string | null;
      readonly from: string | null;
    })[];
    readonly disproof: string | null;
    readonly against: string | null;
    readonly advice: readonly string[];
    readonly commands: readonly string[];
  };
  readonly others: readonly ({
    readonly class: "compute" | "straggler" | "input" | "storage" | "stalled" | "lan-bandwidth" | "lan-loss" | "lan-latency" | "wan-bandwidth" | "wan-loss" | "wan-latency" | "receiver-host" | "sender-host" | "pcie-nic" | "pcie-gpu" | "rdma-congestion" | "rdma-loss" | "wrong-path" | "unknown";
    readonly cause: "line-rate" | "shaper" | "competing-traffic" | "storage-traffic" | "job-traffic" | "loss" | "link-cut" | "interface-flap" | "round-trips" | "gloo-credit" | "congestion-window" | "receive-window" | "send-buffer" | "softirq" | "process-cpu" | "periodic-pause" | "transfer" | "storage-read" | "remote-file-system" | "page-cache" | "loader-processor" | "loader-remote" | "loader-count" | "input" | "checkpoint" | "log" | "late-rank" | "late-group" | "gpu-throttled" | "gpu-idle" | "exposed-communication" | "rank-gone" | "rank-missing" | "rank-reported" | "call-hung" | "call-order" | "call-mismatch" | "rank-failed" | "wrong-results" | "bandwidth-drop" | "benchmark" | "rank-stopped" | "rank-blocked-io" | "rank-busy" | "path-dead" | "peer-gone" | "mismatch" | "host-gone" | "job-failed" | "pcie-width" | "pcie-speed" | "shared-link" | "gloo-copies" | "copies" | "exposed-copies" | "ecn" | "pauses" | "receiver-pauses" | "management-interface" | "address-family" | "nccl-sockets" | "nccl-interface" | "nccl-one-card" | "nccl-host-copies" | "nccl-mixed" | "meeting-family" | null;
    readonly sentence: string;
    readonly where: {
      readonly from: string | null;
      readonly to: string | null;
      readonly direction: string | null;
      readonly mount: string | null;
      readonly collective: string | null;
      readonly interface: string | null;
      readonly node: string | null;
      readonly rank: number | null;
      readonly frame: string | null;
      readonly ranks: readonly number[] | null;
    };
    readonly lost_ms_per_step: number;
    readonly lost_low_ms: number;
    readonly lost_high_ms: number;
    readonly share_percent: number;
    readonly confidence: number;
    readonly evidence: readonly ({
      readonly what: string;
      readonly value: number | null;
      readonly unit: string | null;
      readonly from: string | null;
    })[];
    readonly disproof: string | null;
    readonly against: string | null;
    readonly advice: readonly string[];
    readonly commands: readonly string[];
  })[];
  readonly ranks: readonly ({
    readonly rank: number;
    readonly node: string | null;
    readonly computing_ms: number;
    readonly waiting_ms: number;
    readonly communicating_ms: number;
  })[];
  readonly ceilings: readonly ({
    readonly probe: string;
    readonly what: string;
    readonly from: string;
    readonly to: string | null;
    readonly device: string | null;
    readonly probe_value: number;
    readonly job_value: number | null;
    readonly unit: string;
    readonly share_percent: number | null;
    readonly at: string;
    readonly says: "for" | "against" | null;
    readonly sentence: string;
    readonly source: string;
  })[];
  readonly given: readonly ({
    readonly tool: "flight-recorder" | "profiler" | "nccl-inspector" | "nccl-ras" | "slurm" | "job-log" | "nccl-tests" | "perftest" | "chokepoint";
    readonly what: string;
    readonly theirs: number | null;
    readonly ours: number | null;
    readonly unit: string | null;
    readonly says: "for" | "against" | null;
    readonly from: string;
  })[];
  readonly plan: readonly ({
    readonly test: "throughput" | "neighbour" | "buffers" | "other-way" | "latency" | "loaded-latency" | "loss" | "collective" | "processor" | "other-processor" | "storage";
    readonly on: string;
    readonly to: string | null;
    readonly time_s: number;
    readonly command: string;
  })[];
  readonly confirmation: {
    readonly state: "open" | "confirmed" | "not-confirmed";
    readonly sentence: string;
    readonly confidence_before: number;
    readonly leads_to: string | null;
    readonly tests: readonly ({
      readonly test: "throughput" | "neighbour" | "buffers" | "other-way" | "latency" | "loaded-latency" | "loss" | "collective" | "processor" | "other-processor" | "storage";
      readonly on: string;
      readonly to: string | null;
      readonly address: string | null;
      readonly folder: string | null;
      readonly at: string | null;
      readonly beside_job?: boolean;
      readonly command: string | null;
      readonly failure: string | null;
      readonly value: number | null;
      readonly unit: string | null;
      readonly job_value: number | null;
      readonly says?: "nothing" | "for" | "against";
      readonly sentence: string | null;
    })[];
  } | null;
  readonly pause: string | null;
  readonly missing: readonly string[];
}
