// Small helpers that make elements. Texts are always put in as texts, never as HTML.

export const $ = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

export function drawn(tag, attributes = {}, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text != null) made.textContent = text;
  return made;
}

export const short = (value) => {
  if (value == null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)} k`;
  return String(+value.toPrecision(3));
};

export const seconds = (value) => (value == null ? "–" : value >= 120 ? `${short(value / 60)} min` : `${short(value)} s`);
export const clock = (text) => (text ? text.replace("T", " ").replace(/\.\d+Z?$/, "").replace("Z", "") : "–");
export const drifted = (by) => `${percent(Math.abs(by))} ${by < 0 ? "less" : "more"} than was expected of as many`;
export const percent = (value) => `${Math.round(100 * value)} %`;
