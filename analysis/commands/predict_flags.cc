#include "analysis/commands/predict_flags.h"

namespace chokepoint::analysis {
namespace {

void define_job(cli::Flags& flags, PredictFlags& told) {
  flags.group("The job, from a run")
      .option("from", &told.from, "DIR", "the run's folder, instead of the figures below")
      .group("The job, in figures")
      .option("parameters", &told.parameters, "N", "of the model, like 708M")
      .option("type", &told.type, "TYPE", "of gradients as they are exchanged: fp32, bf16, fp16 …")
      .option("ranks", &told.ranks, "N", "processors that train together; 2 where it is left out")
      .option("nodes", &told.nodes, "N", "hosts they are on; one each where it is left out")
      .option("steps", &told.steps, "N", "how many steps these ranks take")
      .option("single-time", &told.single_time, "TIME",
              "what the same work takes on one processor, all of it")
      .option("compute", &told.compute, "TIME", "or: what one rank computes in a step")
      .option("measured-time", &told.measured_time, "TIME",
              "what all steps took on these ranks: says what link explains it, and starts from it")
      .choice("parallelism", &told.parallelism,
              {"dp", "tp", "pp", "zero", "zero1", "zero2", "zero3"}, "how the work is spread")
      .choice("backend", &told.backend, {"nccl", "gloo"}, "the library that communicates")
      .option("overlap", &told.overlap, "SHARE",
              "how much of the backward pass may hide communication: 0 none, 1 all that DDP's "
              "buckets allow; 0 where it is left out")
      .option("bucket", &told.bucket, "SIZE", "of DDP's buckets")
      .group("A transformer, for tp and pp")
      .option("layers", &told.layers, "N", "how many")
      .option("hidden", &told.hidden, "N", "their width")
      .option("batch", &told.batch, "N", "samples a step, of one copy of the model")
      .option("sequence", &told.sequence, "N", "tokens of a sample")
      .option("micro-batches", &told.micro_batches, "N", "parts of a step's batch; 1 if left out")
      .option("vocabulary", &told.vocabulary, "N",
              "pp: of embeddings that the first and last stage share, and so exchange")
      .option("activations", &told.activations, "TYPE", "of one element; as --type if left out");
}

void define_network(cli::Flags& flags, PredictFlags& told) {
  flags.group("The network")
      .option("link", &told.link, "RATE", "of the slowest link, one way: 10G, 25GbE, 25GB/s")
      .option("rtt", &told.rtt, "TIME", "the round trip of the idle path")
      .option("loss", &told.loss, "SHARE", "of packets: 0.001 or 0.1%")
      .option("buffer", &told.buffer, "SIZE", "the smaller of the sockets' buffers or windows")
      .choice("congestion", &told.congestion, {"cubic", "reno", "bbr"}, "TCP's answer to loss")
      .choice("transport", &told.transport, {"auto", "tcp", "rdma"},
              "auto: NCCL above 25 Gb/s uses RDMA, all else TCP")
      .choice("algorithm", &told.algorithm, {"ring", "tree"}, "of NCCL's all-reduce")
      .option("curve", &told.curve, "FILE",
              "all-reduce as measured: what 'probe collective --json' printed")
      .group("What it would cost")
      .option("upgrade", &told.upgrades, "LINK=COST",
              "a link to compare with, and its price: 5GbE=41000, switch:10G=60000")
      .option("runs", &told.runs, "N", "how many runs like this; 1 where it is left out")
      .option("hour-price", &told.hour_price, "PRICE", "what an hour of all ranks costs");
}

}  // namespace

void define(cli::Flags& flags, PredictFlags& told) {
  define_job(flags, told);
  define_network(flags, told);
}

}  // namespace chokepoint::analysis
