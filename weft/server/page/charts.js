// Line charts as small SVGs: series over time, one colour each, with the last value said in words.

import { drawn, element, short } from "./dom.js";

const HEIGHT = 110, LEFT = 48, BOTTOM = 14, TOP = 6, COLOURS = 6;

const time = (at) => new Date(at).toISOString().slice(11, 19);

function extent(series) {
  const points = series.flatMap((one) => one.points);
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  const low = Math.min(0, ...ys), high = Math.max(...ys, low);
  return { from: Math.min(...xs), to: Math.max(...xs), low, high: high === low ? low + 1 : high };
}

function plot(series, label, format, zero, width) {
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  const filled = series.filter((one) => one.points.length);
  if (!filled.length) {
    svg.append(drawn("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "nothing yet"));
    return svg;
  }
  const all = extent(filled);
  if (!zero) all.low = Math.min(...filled.flatMap((one) => one.points.map((p) => p[1])));
  if (all.high === all.low) all.high = all.low + 1;
  const x = (at) => LEFT + ((at - all.from) / Math.max(all.to - all.from, 1)) * (width - LEFT - 4);
  const y = (value) => HEIGHT - BOTTOM - ((value - all.low) / (all.high - all.low)) * (HEIGHT - BOTTOM - TOP);
  svg.append(drawn("line", { class: "axis", x1: LEFT, y1: HEIGHT - BOTTOM, x2: width - 4, y2: HEIGHT - BOTTOM }));
  for (const value of [all.low, all.high]) {
    svg.append(drawn("text", { x: LEFT - 4, y: y(value) + 3, "text-anchor": "end" }, format(value)));
  }
  svg.append(drawn("text", { x: LEFT, y: HEIGHT - 2 }, time(all.from)));
  svg.append(drawn("text", { x: width - 4, y: HEIGHT - 2, "text-anchor": "end" }, time(all.to)));
  filled.forEach((one) => {
    const d = one.points.map(([at, value], i) => `${i ? "L" : "M"}${x(at).toFixed(1)},${y(value).toFixed(1)}`).join("");
    const last = one.points[one.points.length - 1];
    const path = drawn("path", { class: `line c${one.colour % COLOURS}`, d: one.points.length > 1 ? d : `${d}h0.1` });
    path.append(drawn("title", {}, `${one.name}: ${format(last[1])}`));
    svg.append(path);
  });
  return svg;
}

export function chart(title, series, { format = short, zero = true, width = 360 } = {}) {
  const coloured = series.map((one, i) => ({ ...one, colour: i }));
  const said = coloured.map((one) => one.points.at(-1)?.[1]).filter((v) => v != null).map(format)[0] || "–";
  const named = `${title}: ${coloured.map((one) => `${one.name} ${one.points.length ? format(one.points.at(-1)[1]) : "nothing yet"}`).join(", ")}`;
  const figure = element("figure", { class: "chart" },
    element("figcaption", {}, element("span", {}, title), element("b", {}, said)), plot(coloured, named, format, zero, width));
  if (coloured.length > 1) {
    figure.append(element("ul", { class: "legend" }, ...coloured.map((one) => {
      const sign = drawn("svg", { viewBox: "0 0 16 8", "aria-hidden": "true" });
      sign.append(drawn("line", { class: `line c${one.colour % COLOURS}`, x1: 0, y1: 4, x2: 16, y2: 4 }));
      return element("li", {}, sign, one.name);
    })));
  }
  return figure;
}
