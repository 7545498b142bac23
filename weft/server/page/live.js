// What moves: rates, lag, trigger time, state and answers, of the triggers that the service remembers.

import { get } from "./api.js";
import { chart } from "./charts.js";
import { $, clock, element, seconds, short } from "./dom.js";

const KEPT = 600, SHOWN_QUERIES = 6;
let last = 0, triggers = [];

export async function updateLive() {
  const found = await get(`/api/live?after=${last}`);
  if (found.last < last) {
    last = 0; // the service was started again
    triggers = [];
    return updateLive();
  }
  last = found.last;
  triggers = triggers.concat(found.triggers).slice(-KEPT);
  if (found.triggers.length || !$("charts").children.length) draw();
  drawScans(found.scans);
  const first = "The first trigger has not ended yet: Spark starts its workers, and reads all that is there.";
  $("live-note").textContent = found.scans.length && !triggers.length ? first : "";
  return found;
}

function bySeries(key) {
  const found = new Map();
  for (const one of triggers) {
    const value = key(one);
    if (value == null) continue;
    if (!found.has(one.scan)) found.set(one.scan, []);
    found.get(one.scan).push([Date.parse(one.at), value]);
  }
  return [...found].map(([name, points]) => ({ name, points }));
}

function answerSeries() {
  const sums = new Map();
  for (const one of triggers) for (const [name, count] of Object.entries(one.answers)) sums.set(name, (sums.get(name) || 0) + count);
  const top = [...sums].sort((a, b) => b[1] - a[1]).slice(0, SHOWN_QUERIES).map(([name]) => name);
  return top.map((name) => ({ name, points: triggers.map((one) => [Date.parse(one.at), one.answers[name] || 0]) }));
}

function draw() {
  const mebibytes = (value) => `${short(value / 2 ** 20)} MiB`;
  $("charts").replaceChildren(
    chart("Rows a second", bySeries((one) => one.rows_per_second)),
    chart("Watermark behind the clock", bySeries((one) => one.lag_seconds), { format: seconds, zero: false }),
    chart("Trigger time", bySeries((one) => one.trigger_seconds), { format: seconds }),
    chart("State", bySeries((one) => one.state_bytes), { format: mebibytes }),
    chart("Answers a trigger, busiest queries", answerSeries()),
    chart("Late, dead and dropped rows a trigger", ["late", "dead", "shed"].map((key) => ({
      name: key === "shed" ? "dropped" : key, points: triggers.map((one) => [Date.parse(one.at), one[key]]) }))),
  );
}

function drawScans(scans) {
  const cell = (value) => element("td", { class: "number" }, value);
  $("scans").tBodies[0].replaceChildren(...scans.flatMap((one) => {
    const latest = [...triggers].reverse().find((trigger) => trigger.scan === one.scan);
    const sources = Object.entries(latest?.watermarks || {}).map(([name, at]) => element("tr", {},
      element("td", { class: "soft" }, `↳ ${name}`), element("td", {}, clock(at)), ...[0, 1, 2, 3, 4].map(() => cell(""))));
    return [element("tr", {}, element("td", {}, one.scan, one.active ? "" : " (has ended)"), element("td", {}, clock(one.watermark)),
      cell(seconds(one.lag_seconds)), cell(short(one.totals.rows)), cell(short(one.totals.late)), cell(short(one.totals.dead)),
      cell(short(one.totals.shed))), ...sources];
  }));
}
