// usage: make_report small|hour|hostile|empty|comparison: that document, on standard output.
import { comparison } from "./made/comparison";
import { empty, report } from "./made/report";
import { hostile, hour, small } from "./made/shape";

const kinds: Record<string, () => object> = {
  small: () => report(small),
  hour: () => report(hour),
  hostile: () => report(hostile),
  empty,
  comparison: () => comparison(),
};

const make = kinds[process.argv[2] ?? ""];
if (!make) {
  process.stderr.write(`usage: make_report ${Object.keys(kinds).join("|")}\n`);
  process.exit(2);
}
process.stdout.write(JSON.stringify(make()));
