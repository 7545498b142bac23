// The editor: what is typed is checked while typing; what it would share, cost and need is shown, and errors at their place.

import { RequestError, send } from "./api.js";
import { $, clock, drifted, element, percent, seconds } from "./dom.js";

const PAUSE = 500;
let timer = 0, round = 0, replacing = "", changed = () => {};

export function startEditor(whenChanged) {
  changed = whenChanged;
  for (const field of [$("name"), $("sql")]) field.addEventListener("input", () => later());
  $("clear").addEventListener("click", () => clear());
  $("query-form").addEventListener("submit", (event) => {
    event.preventDefault();
    add();
  });
  $("sql").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("query-form").requestSubmit();
  });
}

export function edit(query) {
  replacing = query.name;
  $("name").value = query.name;
  $("name").readOnly = true;
  $("sql").value = query.sql;
  $("add").textContent = "Replace";
  $("sql").focus();
  later();
}

function clear() {
  replacing = "";
  $("name").readOnly = false;
  $("add").textContent = "Add";
  $("query-form").reset();
  show();
}

function show(...children) {
  $("verdict").replaceChildren(...children);
  $("sql").setAttribute("aria-invalid", children.some((one) => one.className === "fault") ? "true" : "false");
}

function later() {
  clearTimeout(timer);
  $("add").disabled = true;
  timer = setTimeout(check, PAUSE);
}

async function check() {
  const asked = ++round, sql = $("sql").value, name = $("name").value;
  if (!sql.trim()) return show();
  try {
    const found = await send("POST", "/api/check", { name: $("name").validity.valid ? name : "", sql });
    if (asked !== round) return; // something else is typed by now
    $("add").disabled = !found.ok;
    show(...(found.ok ? preview(found) : found.errors.map(fault)));
  } catch (error) {
    if (asked === round) show(...faults(error));
  }
}

async function add() {
  clearTimeout(timer);
  const asked = ++round, name = $("name").value, sql = $("sql").value;
  $("add").disabled = true;
  show(element("p", {}, replacing ? "Replacing …" : "Adding …"));
  try {
    const found = replacing
      ? await send("PUT", `/api/queries/${encodeURIComponent(replacing)}`, { sql })
      : await send("POST", "/api/queries", { name, sql });
    const done = replacing ? "is replaced" : "is added";
    clear();
    show(element("p", {}, `${name} ${done}. ${found.change.reason || ""}`));
    changed(name);
  } catch (error) {
    if (asked === round) show(...faults(error));
    $("add").disabled = false;
  }
}

function preview({ price, change }) {
  const missing = price.needs.filter((one) => !price.shares.includes(one));
  const saved = price.alone > 0 && price.saved > 0 ? ` Sharing saves ${percent(price.saved / price.alone)}.` : "";
  const shares = [price.shares_scan ? `the scan of ${price.source}` : "", price.shares_window ? `the window ${price.window}` : "",
    price.shares.length ? price.shares.join(", ") : ""].filter(Boolean);
  const whole = Object.values(change.complete_from || {})[0];
  const lines = [
    `Costs ${seconds(price.cost)}, alone ${seconds(price.alone)}.${saved} The plan then costs ${seconds(price.cost_after)} instead of ${seconds(price.cost_before)}.`,
    shares.length ? `Shares ${shares.join("; ")}.` : "Shares nothing with the others.",
    missing.length ? `Adds ${missing.join(", ")}.` : "Needs nothing that is not there.",
    whole ? `Its windows are whole from ${clock(whole)} on.` : "",
    change.reason || "",
    change.drift == null ? "" : `The plan then costs ${drifted(change.drift)}.`,
  ];
  return lines.filter(Boolean).map((line) => element("p", {}, line));
}

function faults(error) {
  if (error instanceof RequestError && error.errors.length) return error.errors.map(fault);
  return [element("div", { class: "fault" }, `The service does not answer: ${error.message}`)];
}

function fault(one) {
  const made = element("div", { class: "fault" });
  const place = one.line ? `Line ${one.line}, column ${one.column || 1}: ` : "";
  made.append(element("b", {}, place), `${one.reason} ${one.hint || ""}`.trim());
  const line = one.line && $("sql").value.split("\n")[one.line - 1];
  if (line != null && line !== 0) {
    made.append(element("pre", { "aria-hidden": "true" }, `${line}\n${" ".repeat(Math.max((one.column || 1) - 1, 0))}^`));
    made.append(element("button", { type: "button", class: "link", onclick: () => goTo(one.line, one.column || 1) }, "Go there"));
  }
  return made;
}

function goTo(line, column) {
  const before = $("sql").value.split("\n").slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  $("sql").focus();
  $("sql").setSelectionRange(before + column - 1, before + column);
}
