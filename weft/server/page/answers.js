// The latest answers of a query, as a table and as a chart of one of its numbers, a line for each key.

import { get } from "./api.js";
import { chart } from "./charts.js";
import { $, clock, element } from "./dom.js";

const TABLE = 50, LINES = 6;
const leaving = new Set(); // queries that are being dropped: nobody asks for their answers any more
let shown = "";

export function startAnswers() {
  $("answers-of").addEventListener("change", () => updateAnswers());
  $("answers-column").addEventListener("change", () => updateAnswers());
}

export function chooseAnswers(name) {
  $("answers-of").value = name;
  $("answers").scrollIntoView();
  $("answers-of").focus({ preventScroll: true });
  return updateAnswers();
}

export const leave = (name) => leaving.add(name);
export const stay = (name) => leaving.delete(name);

export function listAnswers(names) {
  for (const name of leaving) if (!names.includes(name)) stay(name);
  const select = $("answers-of"), before = select.value;
  if ([...select.options].map((one) => one.value).join("\n") === names.join("\n")) return;
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (names.includes(before)) select.value = before;
}

export async function updateAnswers() {
  const name = $("answers-of").value;
  if (!name || leaving.has(name)) return;
  const found = await get(`/api/queries/${encodeURIComponent(name)}/answers?rows=400`);
  if (name !== $("answers-of").value) return;
  $("answers-note").textContent = found.note || `The last ${Math.min(found.rows.length, TABLE)} rows${found.more || found.rows.length > TABLE ? " of more" : ""}, the newest first.`;
  const isTime = (column) => /^(timestamp|date)/.test(column.type);
  const isNumber = (column) => /^(u?int|double|float|decimal|half)/.test(column.type);
  listColumns(name, found.columns.filter(isNumber).map((column) => column.name));
  drawTable(found, isTime);
  drawChart(found, isTime);
}

function listColumns(name, names) {
  if (shown === `${name} ${names}`) return;
  shown = `${name} ${names}`;
  $("answers-column").replaceChildren(...names.map((one) => element("option", { value: one }, one)));
}

function drawTable(found, isTime) {
  const table = $("answers-table");
  table.tHead.replaceChildren(element("tr", {}, ...found.columns.map((column) => element("th", { scope: "col" }, column.name))));
  table.tBodies[0].replaceChildren(...found.rows.slice(-TABLE).reverse().map((row) => element("tr", {}, ...row.map((value, i) =>
    element("td", {}, value == null ? "NULL" : isTime(found.columns[i]) ? clock(value) : typeof value === "object" ? JSON.stringify(value) : value)))));
}

function drawChart(found, isTime) {
  const times = found.columns.map((column, i) => (isTime(column) ? i : -1)).filter((i) => i >= 0);
  const x = times.at(-1), y = found.columns.findIndex((column) => column.name === $("answers-column").value);
  if (x == null || y < 0 || !found.rows.length) return $("answers-chart").replaceChildren();
  const keys = found.columns.map((column, i) => (/^(large_)?string/.test(column.type) ? i : -1)).filter((i) => i >= 0);
  const lines = new Map();
  for (const row of found.rows) {
    const value = Number(row[y]), at = Date.parse(/Z|[+-]\d\d:\d\d$/.test(row[x]) ? row[x] : `${row[x]}Z`);
    if (row[y] == null || Number.isNaN(value) || Number.isNaN(at)) continue;
    const key = keys.map((i) => row[i]).join(" ") || found.columns[y].name;
    if (!lines.has(key)) lines.set(key, []);
    lines.get(key).push([at, value]);
  }
  const most = [...lines].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1)).slice(0, LINES);
  $("answers-chart").replaceChildren(chart(`${found.columns[y].name} by ${found.columns[x].name}`,
    most.map(([name, points]) => ({ name, points: points.sort((a, b) => a[0] - b[0]) })), { zero: false, width: 620 }));
}
