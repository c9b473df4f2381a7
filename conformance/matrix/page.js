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

/** Show what the address says; an address with filters is about the questions. */
function show() {
  fill(fragment());
  if (fragment().size) results.scrollIntoView();
}

function fragment() {
  return new URLSearchParams(isPlace() ? "" : location.hash.slice(1));
}

/** Whether the fragment names a place in the page, as the link that skips to the questions does. */
function isPlace() {
  return location.hash !== "" && !location.hash.includes("=");
}

/** Set the filters as a fragment says. */
function fill(filters) {
  for (const field of form.elements) {
    if (field.type === "checkbox") field.checked = filters.getAll(field.name).includes(field.value);
    if (field.type === "search") field.value = filters.get(field.name) ?? "";
  }
  choices.open ||= form.querySelector("#choices :checked") !== null;
  update();
}

/** Keep the filters in the address. */
function keep() {
  history.replaceState(null, "", `#${filtersOf()}`);
}

/** The filters that are set, as they stand in a fragment. */
function filtersOf() {
  const filters = new URLSearchParams(new FormData(form));
  if (!filters.get("search").trim()) filters.delete("search");
  return filters;
}

/** Show what the filters let through: the others' columns and questions are hidden. */
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
      (!filters.has("differing") || question.differs) &&
      (!filters.has("rating") || cells.some((cell) => cell.classList.contains("risky"))) &&
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

function answerIn(cell) {
  return cell.querySelector(".answer").textContent;
}

/** What a search looks through: all but the names of those who answer. */
function textOf(body) {
  const found = body.querySelectorAll("th, .group, .source, dl");
  return [...found].map((one) => one.textContent).join(" ").toLowerCase();
}
