const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("choice");
const table = document.getElementById("compared");
const rows = [...table.tBodies[0].rows];
const boxes = [...form.querySelectorAll("[name=server]")];
const find = (id) => document.getElementById(id);

fill();
const sortAgain = makeSortable(table, "servers", rows, valueOf, (all) => table.tBodies[0].append(...all));
update();
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", changed);
for (const button of form.querySelectorAll("[data-check]")) {
  button.addEventListener("click", () => {
    for (const box of boxes) box.checked = Boolean(button.dataset.check);
    changed();
  });
}

/** Make the choices that the address keeps. */
function fill() {
  const { workload, deployments } = form.elements;
  if (view.get("workload") in data) workload.value = view.get("workload");
  deployments.checked = view.get("deployments") === "all";
  const chosen = view.get("server")?.split(",");
  if (chosen) for (const box of boxes) box.checked = chosen.includes(box.value);
}

function changed() {
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  keep("workload", form.elements.workload.value);
  keep("deployments", form.elements.deployments.checked ? "all" : null);
  keep("server", chosen.length === boxes.length ? null : chosen.join(","));
  update();
}

/** The number in a row's cell, or the row's name; undefined if there is none. */
function valueOf(row, figure) {
  if (figure === "target") return row.dataset.target;
  const { value } = cellOf(row, figure).dataset;
  return value && Number(value);
}

function cellOf(row, figure) {
  return row.querySelector(`[data-figure=${figure}]`);
}

/** Show the workload's figures of the servers that are chosen. */
function update() {
  const workload = data[form.elements.workload.value];
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  for (const row of rows) {
    const { server, target } = row.dataset;
    row.hidden = !chosen.includes(server) || !(form.elements.deployments.checked || "default" in row.dataset);
    for (const name of ["cpu", "ranked", "memory"]) write(cellOf(row, name), name, workload, target);
    cellOf(row, "ranked").dataset.label = workload.head;
  }
  find("ranked").textContent = workload.head;
  find("ranked").parentElement.dataset.first = workload.better === "more" ? "descending" : "ascending";
  find("about").textContent = workload.about;
  find("page").href = workload.page;
  find("caveats").replaceChildren(...workload.caveats.map((text) => element("li", text)));
  const shown = rows.filter((row) => !row.hidden);
  for (const head of table.tHead.rows[0].cells) if (head.dataset.figure !== "target") scale(shown, head.dataset.figure);
  table.classList.toggle("few", shown.length <= 6);
  find("nothing").hidden = shown.length > 0;
  find("count").textContent = `${chosen.length} of ${boxes.length}`;
  const some = chosen.length < boxes.length ? chosen : [];
  find("answers").href = `behaviours.html#${new URLSearchParams(some.map((one) => ["server", one]))}`;
  sortAgain();
}

/** Write a figure into its cell, or that there is none. */
function write(cell, name, workload, target) {
  const server = workload.servers[target];
  const [value, text] = server?.[name] ?? [];
  if (value === undefined || (name === "ranked" && server.unranked)) {
    delete cell.dataset.value;
    const why = server?.unranked ? "not ranked" : (workload.missing[target] ?? "not measured");
    cell.querySelector("b").textContent = "–";
    cell.querySelector("small").textContent = why;
    return;
  }
  cell.dataset.value = value;
  const [number, ...rest] = text.split(": ").at(-1).split(" ");
  const unit = rest.pop();
  const shown = [...rest, ...(unit === "ms" ? [unit] : []), ...(server.warned && name !== "memory" ? ["⚠"] : [])];
  cell.querySelector("b").textContent = number;
  cell.querySelector("small").textContent = shown.join(" ");
}

/** Make the bars of a column relative to the longest; that of the baseline may be longer. */
function scale(shown, figure) {
  const valued = shown.filter((row) => valueOf(row, figure) !== undefined);
  const others = valued.filter((row) => !("baseline" in row.dataset));
  const most = Math.max(...(others.length ? others : valued).map((row) => valueOf(row, figure)));
  for (const row of shown) {
    const cell = cellOf(row, figure);
    const share = most > 0 ? (valueOf(row, figure) ?? 0) / most : 0;
    cell.style.setProperty("--share", `${100 * Math.min(share, 1)}%`);
    cell.classList.toggle("beyond", share > 1);
  }
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
