// A page on which a person answers a survey and sees what leaves the browser. It talks to the card's addresses only.
import { BrowserMemory, Client } from "/client/index.js";

const at = (id) => document.getElementById(id);
const say = (text) => { at("state").textContent = text; };
const LIMIT = "20";
const MOST_SHOWN = 30;
// The link that a person was given ends in #invitation=…; browsers do not send this part to anybody.
const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation") ?? "";

const text = await (await fetch("/card", { cache: "no-store" })).text();
const client = await Client.open(text, { memory: new BrowserMemory("barrow-demo"), limit: LIMIT }).catch((error) => {
  say(`This survey is refused. ${error.message}`);
  throw error;
});
const { card } = client;

function choices() {
  const many = card.channel.kind === "stops" && !card.channel.sampled ? card.channel.messages : 1;
  at("asked").textContent = card.description.charAt(0).toUpperCase() + card.description.slice(1);
  const odds = Math.exp(card.epsilon.toNumber());
  const belief = odds < 1e6 ? Math.ceil((1000 * odds) / (1 + odds)) / 10 : 100;
  at("promise").textContent =
    `Your browser changes your answer by chance before anything leaves it. From what it sends, a guess of 50 % between two answers can become at most ${belief} %, whoever looks.`;
  at("definition").textContent =
    `What holds for your report whoever colludes, proved by this page from the card's numbers: ${card.local.definition}.`;
  at("howmany").textContent = many === 1 ? "Choose one" : `Choose ${many}`;
  for (let k = 0; k < many; k += 1) {
    if (card.labels.length <= 12) {
      card.labels.forEach((label, i) => {
        const choice = document.createElement("label");
        const input = document.createElement("input");
        Object.assign(input, { type: "radio", name: `item${k}`, value: String(i), required: true });
        choice.append(input, label);
        at("items").append(choice);
      });
    } else {
      const choice = document.createElement("label");
      const select = document.createElement("select");
      select.name = `item${k}`;
      card.labels.forEach((label, i) => select.append(new Option(label, String(i))));
      choice.append(`Answer ${k + 1}`, select);
      at("items").append(choice);
    }
  }
  return many;
}

const many = choices();

async function showOutgoing(line) {
  at("line").textContent = line;
  const { values } = JSON.parse(line);
  at("meaning").textContent = card.channel.kind === "stops"
    ? `It says ${values.map((value) => `“${card.labels[value]}”`).join(", ")}: drawn by chance. It may or may not be your answer.`
    : "It is your answer with noise added, rounded once. Nobody knows the noise, not even this page after it has drawn it.";
  at("outgoing").hidden = false;
  const { spent, limit } = await client.spent();
  at("spent").textContent = `Spent on surveys so far: ε = ${spent.toPrecision(3)} of the ${limit} that this browser allows.`;
}

at("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = new FormData(at("form"));
  const items = Array.from({ length: many }, (_, k) => Number(chosen.get(`item${k}`)));
  try {
    await showOutgoing(await client.line(items));
    at("preview").disabled = true;
    say("Drawn and remembered. Asking again gives the same report.");
  } catch (error) {
    say(error.message);
  }
});

at("send").addEventListener("click", async () => {
  at("send").disabled = true;
  try {
    const done = await client.send(undefined, { invitation });
    say(done.accepted ? "Sent. Thank you." : "It was there already; nothing was counted twice.");
    await showTogether();
  } catch (error) {
    at("send").disabled = false;
    say(error.message);
  }
});

async function showTogether() {
  const result = await (await fetch("/result", { cache: "no-store" })).json();
  if (!result.n) return;
  const shares = Object.entries(result.decoded ?? result.estimate ?? {});
  const error = result.decoded_error_upper ?? result.error_upper ?? result.predicted_error;
  at("people").textContent = `${result.n.toLocaleString("en")} ${result.n === 1 ? "person has" : "people have"} answered.` +
    (error === undefined ? "" : ` The shares are an estimate: the earth mover's distance to the true ones is about ${Number(result.predicted_error ?? error).toPrecision(2)} ${result.unit ?? ""}`.trimEnd() + ".");
  if (result.warning) at("people").textContent += ` ${result.warning}`;
  const largest = shares.sort((a, b) => b[1] - a[1]).slice(0, MOST_SHOWN);
  at("bars").replaceChildren(...largest.map(([label, share]) => {
    const line = document.createElement("li");
    const name = Object.assign(document.createElement("span"), { className: "name", textContent: label });
    const bar = Object.assign(document.createElement("meter"), { min: 0, max: 1, value: share });
    bar.setAttribute("aria-label", label);
    const number = Object.assign(document.createElement("span"), { className: "number", textContent: `${(100 * share).toFixed(1)} %` });
    line.append(name, bar, number);
    return line;
  }));
}

const before = await client.line().catch(() => null);
if (before !== null) {
  at("preview").disabled = true;
  await showOutgoing(before);
  say("You have a report already; it is the one that would be sent again.");
}
await showTogether();
setInterval(showTogether, 2000);
document.body.dataset.ready = "yes";
