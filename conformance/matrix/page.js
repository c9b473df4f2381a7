"use strict";

const form = document.getElementById("filters");
const choices = document.getElementById("choices");
const clear = document.getElementById("clear");
const results = document.getElementById("results");
const table = results.querySelector("table");
const parts = [...table.querySelectorAll(".part")];
const questions = [...table.querySelectorAll(".question")].map((body) => ({
  body,
  cells: [...body.rows[0].querySelectorAll("td:not(.unasked)")],
  given: [...body.querySelectorAll("li")],
  text: textOf(body),
}));
const ofServers = [...table.querySelectorAll("[data-server]")];
const languages = new Map(
  [...form.querySelectorAll("[name=server]")].map((box) => [box.value, box.dataset.language]),
);

for (const element of [form, results.querySelector(".bar a")]) element.hidden = false;
choices.open = matchMedia("(width > 60rem)").matches;
form.addEventListener("input", update);
form.addEventListener("change", keep);
form.addEventListener("submit", (event) => event.preventDefault());
clear.addEventListener("click", () => {
  fill(new URLSearchParams());
  keep();
  form.elements.search.focus();
});
addEventListener("hashchange", () => {
  if (isPlace()) keep();
  else show();
});
show();

/** Apply the filters in the address; if there are any, scroll to the questions. */
function show() {
  fill(fragment());
  if (fragment().size) results.scrollIntoView();
}

function fragment() {
  return new URLSearchParams(isPlace() ? "" : location.hash.slice(1));
}

/** Whether the fragment is an anchor, as that of the link that skips to the questions. */
function isPlace() {
  return location.hash !== "" && !location.hash.includes("=");
}

/** Set the filters from a fragment. */
function fill(filters) {
  for (const field of form.elements) {
    if (field.type === "checkbox") field.checked = filters.getAll(field.name).includes(field.value);
    if (field.type === "search") field.value = filters.get(field.name) ?? "";
  }
  choices.open ||= form.querySelector("#choices :checked") !== null;
  update();
}

/** Store the filters in the address. */
function keep() {
  history.replaceState(null, "", `#${filtersOf()}`);
}

/** The filters that are set, in the form of a fragment. */
function filtersOf() {
  const filters = new URLSearchParams(new FormData(form));
  if (!filters.get("search").trim()) filters.delete("search");
  return filters;
}

/** Hide the columns and questions that do not match the filters. */
function update() {
  const filters = filtersOf();
  const lets = (name, value) => !filters.has(name) || filters.getAll(name).includes(value);
  const servers = new Set(
    [...languages.keys()].filter((one) => lets("server", one) && lets("language", languages.get(one))),
  );
  const words = filters.get("search")?.toLowerCase().split(/\s+/).filter(Boolean) ?? [];

  for (const element of ofServers) element.hidden = !servers.has(element.dataset.server);
  const columns = table.querySelectorAll("thead [scope=col][data-server]:not([hidden])").length;
  table.style.setProperty("--columns", columns);
  for (const cell of table.querySelectorAll(".wide")) cell.colSpan = columns + 1;

  for (const question of questions) {
    const cells = question.cells.filter((cell) => !cell.hidden);
    question.differs = new Set(cells.map(answerIn)).size > 1;
    question.body.hidden = !(
      cells.length &&
      lets("group", question.body.dataset.group) &&
      lets("layer", question.body.dataset.layer) &&
      (filters.has("same") || words.length || question.differs || cells.some(isHarmful)) &&
      (!filters.has("rating") || cells.some(isRisky)) &&
      words.every((word) => question.text.includes(word))
    );
    for (const item of question.given) {
      item.hidden = !item.querySelector(".who > :not([hidden])") || !servers.size;
    }
  }

  const shown = questions.filter((one) => !one.body.hidden).length;
  const order = [];
  for (const part of parts) {
    const those = questions.filter((one) => one.differs === (part.dataset.differs === "1"));
    const count = those.filter((one) => !one.body.hidden).length;
    part.hidden = !count;
    part.querySelector("small").textContent = count;
    order.push(part, ...those.map((one) => one.body));
  }
  if (order.some((body, at) => table.tBodies[at] !== body)) table.append(...order);
  table.tHead.hidden = !shown;
  document.getElementById("nothing").hidden = shown > 0;
  document.getElementById("count").textContent = `${shown} of ${questions.length} questions shown`;
  const inside = form.querySelectorAll("#choices :checked").length;
  document.getElementById("chosen").textContent = inside ? `(${inside} chosen)` : "";
  clear.hidden = !filters.size;
}

function isRisky(cell) {
  return cell.classList.contains("risky");
}

function isHarmful(cell) {
  return isRisky(cell) || cell.classList.contains("slow");
}

function answerIn(cell) {
  return cell.querySelector(".answer").textContent;
}

/** The searched text: everything but the names of servers. */
function textOf(body) {
  const found = body.querySelectorAll("th, .group, .source, dl");
  return [...found].map((one) => one.textContent).join(" ").toLowerCase();
}
