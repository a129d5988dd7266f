// The heat map: rows send, columns receive, coloured by what the reader chooses.
import { h, type Child } from "../element/h";
import { note, section } from "../element/parts";
import { holds, type Held } from "./held";
import { mapCanvas } from "./map_canvas";
import { mapTable, type Drawing } from "./map_table";
import { grades, knownMetrics, type Metric, type Scale } from "./metrics";
import type { WayPlace } from "./model";
import { readout } from "./readout";
import type { Scene } from "./scene";

const mostInTable = 16;
const widest = 620;
const figures = 310; // of one way, beside the map where there is room for both
const padding = 60;

export function legend(scale: Scale): HTMLElement {
  const items = Array.from({ length: grades }, (_, grade) => scale.labels[grade] ?? "").map(
    (label, grade) =>
      label === ""
        ? null
        : h(
            "li",
            {},
            h("span", { class: `square grade-${grade}`, attributes: { "aria-hidden": true } }),
            label,
          ),
  );
  const blank = h("span", { class: "square blank", attributes: { "aria-hidden": true } });
  return h("ul", "grades", ...items, h("li", {}, blank, "not tested"));
}

function chooser(all: readonly Metric[], pick: (metric: Metric) => void): HTMLElement {
  const options = all.map((metric) =>
    h("option", { attributes: { value: metric.key } }, metric.title),
  );
  const select = h("select", {}, ...options);
  select.addEventListener("change", () => {
    const found = all.find((metric) => metric.key === select.value);
    if (found) {
      pick(found);
    }
  });
  return h("label", "metric-chooser", "Coloured by ", select);
}

function roomForMap(): number {
  const whole = (document.getElementById("main")?.clientWidth ?? widest) - padding;
  return Math.min(widest, Math.max(240, whole >= 2 * figures ? whole - figures : whole));
}

// The first finding about this way, in the list and in the map.
function chooseBy(scene: Scene): (way: WayPlace) => void {
  return (way) => {
    scene.picks.pickWay(way);
    const at = scene.findings.findIndex((_, index) =>
      holds(scene.mesh, scene.held[index] as Held, way),
    );
    if (at >= 0 && scene.picks.finding !== at) {
      scene.picks.pickFinding(at);
      document.getElementById(`finding-${at}`)?.scrollIntoView({ block: "nearest" });
    } else if (at < 0 && scene.picks.finding !== null) {
      scene.picks.pickFinding(null);
    }
  };
}

class HeatMap {
  readonly element = h("div", "map-frame");
  readonly scales = h("div");
  private drawing: Drawing | null = null;

  constructor(
    private readonly scene: Scene,
    first: Metric,
  ) {
    this.show(first);
    scene.picks.follow(() => this.drawing?.mark());
    // Another theme, or paper: what is painted is painted anew.
    new MutationObserver(() => this.drawing?.mark()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
  }

  show(metric: Metric): void {
    const { scene } = this;
    const scale = metric.rule(scene.mesh, metric);
    const choose = chooseBy(scene);
    this.drawing =
      scene.mesh.shown.length <= mostInTable
        ? mapTable(scene, metric, scale, choose)
        : mapCanvas(scene, metric, scale, choose, roomForMap());
    this.element.replaceChildren(this.drawing.element);
    this.scales.replaceChildren(legend(scale));
    this.drawing.mark();
  }
}

function remarks({ document }: Scene): Child {
  return document.along(["reduced"]).isTrue
    ? note("Figures are rounded to three digits here; the JSON document has all of them.")
    : null;
}

export function mapSection(scene: Scene): HTMLElement {
  const known = knownMetrics(scene.mesh);
  const first = known[0];
  const text = { id: "map", title: "Who reaches whom", lead: "Rows send, columns receive." };
  if (!first) {
    return section(text, note("No two hosts were tested with each other."));
  }
  const map = new HeatMap(scene, first);
  return section(
    text,
    h("div", "map-tools", chooser(known, (metric) => map.show(metric)), map.scales),
    h(
      "div",
      "map-and-way",
      map.element,
      readout(scene.mesh, scene.picks, scene.findings, scene.held),
    ),
    remarks(scene),
  );
}
