"use strict";

/** The view that the address keeps: filters, choices and the order of tables. */
const view = new URLSearchParams(location.search);

/** Put a part of the view into the address, and into the links to other pages. */
function keep(name, value) {
  if (value === null) view.delete(name);
  else view.set(name, value);
  const address = new URL(location);
  address.search = view;
  history.replaceState(null, "", address);
  linkView();
}

function linkView() {
  for (const link of document.querySelectorAll("a[data-page]")) link.search = view;
}

/** The filters, from the address; `update` is called when they change. */
function makeFilters(update) {
  const form = document.getElementById("filters");
  const server = form.elements.server;
  const groups = new Map();
  for (const box of form.querySelectorAll("[type=checkbox]")) {
    groups.set(box.name, [...(groups.get(box.name) ?? []), box]);
  }
  const filtered = ["server", ...groups.keys()].some((name) => view.has(name));
  form.querySelector("details").open = filtered || matchMedia("(min-width: 40rem)").matches;
  server.value = view.get("server") ?? "";
  for (const [name, boxes] of groups) {
    const chosen = view.get(name)?.split(",");
    if (chosen) for (const box of boxes) box.checked = chosen.includes(box.value);
  }
  form.addEventListener("input", (event) => {
    const { name } = event.target;
    if (name === "server") keep(name, server.value.trim() || null);
    else keep(name, groups.get(name).every((box) => box.checked) ? null : chosenIn(name).join(","));
    update();
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  function chosenIn(name) {
    return groups.get(name).filter((box) => box.checked).map((box) => box.value);
  }

  /** Whether the filters show a server, given its `target`, `language` and `model`. */
  function shows(row) {
    const names = server.value.split(",").map((one) => one.trim().toLowerCase()).filter(Boolean);
    return (
      ["language", "model"].every((name) => !groups.has(name) || chosenIn(name).includes(row[name])) &&
      (!names.length || names.some((name) => row.target.includes(name)))
    );
  }

  return {
    shows,
    showsWorkload: (name) => !groups.has("workload") || chosenIn("workload").includes(name),
    /** Show how many of these servers are shown. */
    count(rows) {
      const servers = new Map(rows.map((row) => [row.target, row]));
      const shown = [...servers.values()].filter(shows).length;
      document.getElementById("count").textContent = `${shown} of ${servers.size} servers shown`;
    },
  };
}

/**
 * Let the header buttons sort a table, those without a value last. `valueOf(item, figure)` is the
 * value of a row or a group of rows; `put(items)` puts them into the table in their order. At
 * first they are in the order of the address, or else of the header with one. Returns a function
 * that sorts again, for values that have changed.
 */
function makeSortable(table, name, items, valueOf, put) {
  const heads = [...table.querySelectorAll("th[aria-sort]")];
  let again = () => {};

  function sort(head, order) {
    again = () => sort(head, order);
    for (const one of heads) one.ariaSort = one === head ? order : "none";
    const sign = order === "ascending" ? 1 : -1;
    const { figure } = head.dataset;
    const missing = sign * Infinity;
    put(
      items.toSorted((a, b) => {
        const [one, other] = [valueOf(a, figure) ?? missing, valueOf(b, figure) ?? missing];
        if (one === other) return 0;
        return sign * (typeof one === "string" ? one.localeCompare(other) : one - other);
      }),
    );
  }

  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => {
      const { figure, first = "ascending" } = head.dataset; // which may have changed
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.ariaSort === first ? other : first;
      sort(head, order);
      keep(`${name}.sort`, `${figure} ${order}`);
    });
  }
  const sorted = heads.find((one) => one.ariaSort !== "none");
  const initial = sorted && [sorted.dataset.figure, sorted.ariaSort];
  const [figure, order] = view.get(`${name}.sort`)?.split(" ") ?? initial ?? [];
  const head = heads.find((one) => one.dataset.figure === figure);
  if (head && ["ascending", "descending"].includes(order)) sort(head, order);
  return () => again();
}

linkView();
