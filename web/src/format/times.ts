// Moments: on the run's own clock, and in the world.

const two = (value: number): string => String(value).padStart(2, "0");

// Seconds since the run began, with as many decimals as the span in view asks for.
export function moment(seconds: number, span: number): string {
  const decimals = span >= 100 ? 0 : span >= 10 ? 1 : span >= 1 ? 2 : span >= 0.1 ? 3 : 4;
  if (Math.abs(seconds) < 600 && span < 600) {
    return `${seconds.toFixed(decimals)} s`;
  }
  const sign = seconds < 0 ? "−" : "";
  const whole = Math.floor(Math.abs(seconds));
  const rest = (Math.abs(seconds) - whole).toFixed(decimals).slice(1);
  const clock = `${two(Math.floor((whole % 3600) / 60))}:${two(whole % 60)}${decimals ? rest : ""}`;
  return `${sign}${Math.floor(whole / 3600)}:${clock}`;
}

// "2026-11-22 06:47:40 UTC"; what is no date stays as it is.
export function date(text: string): string {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(text);
  return found ? `${found[1]} ${found[2]} UTC` : text;
}
