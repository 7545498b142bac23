// Asks the service. Errors become RequestError, with what the service says is wrong.

let token = sessionStorage.getItem("weft-token") || "";

export class RequestError extends Error {
  constructor(status, errors) {
    super(errors.map((one) => `${one.reason} ${one.hint || ""}`.trim()).join(" ") || `status ${status}`);
    this.status = status;
    this.errors = errors;
  }
}

export function setToken(text) {
  token = text;
  sessionStorage.setItem("weft-token", text);
}

async function request(method, path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  const reply = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store" });
  if (reply.ok) return reply;
  let errors = [];
  try {
    errors = (await reply.json()).errors || [];
  } catch {
    // Not from the service itself: the status has to do.
  }
  throw new RequestError(reply.status, errors);
}

export const get = async (path) => (await request("GET", path)).json();
export const getText = async (path) => (await request("GET", path)).text();
export const send = async (method, path, body) => (await request(method, path, body)).json();
