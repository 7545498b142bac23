// What was decided and why, what was changed, the runs of the schedule, and rows that could not be used.

import { get } from "./api.js";
import { $, clock, element, seconds } from "./dom.js";

const list = (id, lines, none) => $(id).replaceChildren(...(lines.length ? lines : [none]).map((line) => element("li", {}, line)));

export async function updateEvents() {
  const [decisions, letters, runs] = await Promise.all([get("/api/decisions"), get("/api/dead-letters?rows=30"), get("/api/runs")]);
  list("changes", decisions.changes.map((one) => `${clock(one.at)} ${[one.act, one.query].filter(Boolean).join(" ")}: ${one.reason || one.kind}`).reverse(), "Nothing was changed since the start.");
  list("shedding", decisions.shedding.map((one) => `${clock(one.at)} ${one.kind}: ${one.reason}`).reverse(), "No row was dropped, and no trigger made longer.");
  list("schedule", schedule(decisions.schedule, runs.runs), "No schedule runs here.");
  $("letters-sum").textContent = `${letters.dead} could not be used, ${letters.late} came too late, ${letters.shed} were dropped, since the start.`;
  list("letters", letters.letters.slice().reverse(), "None.");
}

function schedule(chosen, runs) {
  if (!chosen) return [];
  const told = runs.slice(-50).reverse().map((run) => {
    const failed = Object.entries(run.failed).map(([name, why]) => ` ${name} failed: ${why}`).join("");
    const late = Object.keys(run.late).length ? `, late: ${Object.keys(run.late).join(", ")}` : "";
    return `${clock(run.at)} ${run.queries.join(", ")}: ${seconds(run.seconds)}${late}.${failed} Next ${clock(run.next.at)}.`;
  });
  return [chosen.reason, ...chosen.warnings, ...told];
}
