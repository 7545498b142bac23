// The page: asks the service again and again, and puts what it says in its place.

import { RequestError, get, getText, send, setToken } from "./api.js";
import { chooseAnswers, leave, listAnswers, startAnswers, stay, updateAnswers } from "./answers.js";
import { $, drifted, element, percent, seconds, short } from "./dom.js";
import { edit, startEditor } from "./editor.js";
import { updateEvents } from "./events.js";
import { updateLive } from "./live.js";

const FAST = 1000, SLOW = 5, SHOWN = 200;
let queries = [], drawnPlan = "", ticks = 0;

async function tick() {
  try {
    const state = await get("/api/state");
    tellState(state);
    if (state.ready) {
      await updateLive();
      if (ticks++ % SLOW === 0) await updateSlow();
    }
    $("token-form").hidden = true;
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) askToken();
    else tell(`The service does not answer: ${error.message}`, "bad");
  }
  setTimeout(tick, document.hidden ? 5 * FAST : FAST);
}

async function updateSlow() {
  await updateQueries();
  await Promise.all([updatePlan(), updateAnswers(), updateEvents()]);
}

function tell(text, kind = "") {
  if ($("status").textContent !== text) $("status").textContent = text;
  $("status").className = kind;
}

function tellState(state) {
  $("project").textContent = state.project;
  document.title = `${state.project} – Weft`;
  if (state.failure) tell(state.failure, "bad");
  else if (!state.ready) tell("Spark is starting …");
  else tell(`Running${state.streams ? ", streaming" : ""}${state.schedules ? ", by schedule" : ""}`, "good");
}

function askToken() {
  $("token-form").hidden = false;
  tell("A token is needed.", "bad");
}

async function updatePlan() {
  const text = await getText("/api/plan.svg");
  if (text === drawnPlan) return;
  drawnPlan = text;
  const plain = text.replace(/<style>[^<]*<\/style>/, ""); // its style is in picture.css: this page takes none from data
  const picture = new DOMParser().parseFromString(plain, "image/svg+xml").documentElement;
  $("plan").replaceChildren(document.importNode(picture, true));
  const plan = await get("/api/plan");
  const { cost, no_share_cost: alone } = plan.cost, { queries: count, scans } = plan.totals;
  const saved = alone > 0 && cost < alone ? ` Sharing saves ${percent(1 - cost / alone)}.` : "";
  $("summary").textContent = `${count} ${count === 1 ? "query" : "queries"} in ${scans} ${scans === 1 ? "scan" : "scans"} cost ${seconds(cost)} before the answers; alone ${seconds(alone)}.${saved}${drift(plan)}`;
}

function drift({ drift: by, drift_tolerance: most }) {
  if (by == null) return "";
  const anew = most == null ? "" : `, and is woven anew beyond ${percent(most)}`;
  return ` Since queries came and went it costs ${drifted(by)}${anew}.`;
}

async function updateQueries() {
  queries = (await get("/api/queries")).queries;
  drawQueries();
  listAnswers(queries.map((one) => one.name));
}

function drawQueries() {
  const wanted = $("filter").value.trim().toLowerCase();
  const found = queries.filter((one) => !wanted || one.name.toLowerCase().includes(wanted) || one.sql.toLowerCase().includes(wanted));
  const focused = document.activeElement?.dataset?.key;
  $("queries").tBodies[0].replaceChildren(...found.slice(0, SHOWN).map(queryRow));
  if (focused) document.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  $("queries-more").textContent = found.length > SHOWN ? `and ${found.length - SHOWN} more: filter to see them` : "";
}

function queryRow(one) {
  const words = { runs: "● runs", waits: "○ waits", changed: "◐ changed" };
  const saves = one.alone > 0 ? one.saved / one.alone : null;
  const bar = element("span", { class: "saved", "aria-hidden": "true" }, element("i"));
  bar.firstChild.style.width = `${100 * Math.min(Math.max(saves || 0, 0), 1)}%`;
  const act = (text, name, run) => element("button", { type: "button", class: "plain small", "data-key": `${text} ${one.name}`,
    "aria-label": `${text} ${name}`, onclick: run }, text);
  return element("tr", { title: one.sql },
    element("td", {}, element("button", { type: "button", class: "link", "data-key": `show ${one.name}`,
      "aria-label": `Show the answers of ${one.name}`, onclick: () => chooseAnswers(one.name) }, one.name)),
    element("td", {}, element("span", { class: `state ${one.state}` }, words[one.state] || one.state), one.note ? element("div", { class: "soft small" }, one.note) : null),
    element("td", {}, one.cost == null ? "–" : `${seconds(one.cost)}, alone ${seconds(one.alone)}`),
    element("td", {}, saves == null ? "–" : bar, saves == null ? "" : saving(saves)),
    element("td", { class: "number" }, short(one.answers)),
    element("td", { class: "number" }, one.kept_here ? act("Edit", one.name, () => edit(one)) : null, " ", act("Drop", one.name, () => drop(one))));
}

const saving = (share) => (share >= 0 ? percent(share) : `costs ${percent(-share)} more`);

async function drop(one) {
  const dialog = $("confirm");
  $("confirm-title").textContent = `Drop ${one.name}?`;
  $("confirm-text").textContent = "Asking what that would do …";
  $("confirm-yes").disabled = true;
  dialog.returnValue = "no";
  dialog.showModal();
  try {
    const { price, change } = await send("POST", "/api/check", { drop: one.name });
    $("confirm-text").textContent = `The plan then costs ${seconds(price.cost_after)} instead of ${seconds(price.cost_before)}. ${change.reason || ""}`;
    $("confirm-yes").disabled = false;
  } catch (error) {
    $("confirm-text").textContent = error.message;
  }
  dialog.onclose = async () => {
    if (dialog.returnValue !== "yes") return;
    tell(`Dropping ${one.name} …`);
    leave(one.name);
    try {
      await send("DELETE", `/api/queries/${encodeURIComponent(one.name)}`);
      await updateSlow();
    } catch (error) {
      stay(one.name);
      $("confirm-text").textContent = error.message;
      $("confirm-yes").disabled = true;
      dialog.showModal();
    }
  };
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken($("token").value);
  $("token").value = "";
  get("/api/state").then(() => { ticks = 0; $("token-error").textContent = ""; $("token-form").hidden = true; },
    (error) => { $("token-error").textContent = error.message; });
});
$("filter").addEventListener("input", drawQueries);
startEditor(async (name) => {
  await updateSlow();
  if (queries.some((one) => one.name === name && one.state === "runs")) $("answers-of").value = name;
});
startAnswers();
tick();
