// Talking to the server: the code of the link is exchanged once for a token, which stays in this tab.
let token = sessionStorage.getItem("token");
export const tab = crypto.randomUUID(); // a page that is loaded again counts its requests anew

export async function post(name, body = {}) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify(body),
    });
  } catch {
    return { status: 0, where: "gone", problem: "The server is gone.", fix: "start barrow design again; what is on this page is kept" };
  }
  let found = {};
  try { found = await response.json(); } catch { found = { problem: "The answer cannot be read." }; }
  return { status: response.status, ...found };
}

export async function connect() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return token ? null : { problem: "This tab is not connected.", fix: "open the link that barrow design printed, or use “Another tab” in the tab that is" };
  history.replaceState(null, "", "/"); // the code leaves the address bar at once
  const found = await post("session", { code });
  if (found.status !== 200) return found;
  token = found.token;
  sessionStorage.setItem("token", token);
  return null;
}
