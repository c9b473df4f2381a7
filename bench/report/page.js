"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const filters = document.getElementById("filters");
const sections = [...document.querySelectorAll("section.run")].map(setUp);

filters.addEventListener("change", update);
update();

/** Apply filters and choices to all sections. */
function update() {
  for (const section of sections) section.update();
  const servers = new Map(Object.values(data.rows).flat().map((row) => [row.target, row]));
  const shown = [...servers.values()].filter(isShown).length;
  document.getElementById("count").textContent = `${shown} of ${servers.size} servers shown`;
}

function isShown(row) {
  return ["language", "model"].every((name) =>
    [...filters.elements].some((box) => box.name === name && box.checked && box.value === row[name]),
  );
}

function setUp(element) {
  const rows = data.rows[element.id];
  const choices = element.querySelector("form.choices").elements;
  const table = element.querySelector("table");
  const charts = [...element.querySelectorAll("figure")].map((figure) => chartIn(figure, shown, highlight));

  /** The rows for a kind of chart: all levels, all cases, or the chosen level and case. */
  function shown(kind) {
    const level = kind !== "levels" && choices.level && Number(choices.level.value);
    const one = kind !== "cases" && choices.case?.value;
    return rows.filter(
      (row) => isShown(row) && (!level || row.level === level) && (!one || row.case === one),
    );
  }

  function update() {
    const visible = new Set(shown("bars"));
    for (const body of table.tBodies) body.hidden = !visible.has(rows[body.dataset.row]);
    for (const label of element.querySelectorAll("[data-chosen]")) {
      label.textContent = choices[label.dataset.chosen].selectedOptions[0].text;
    }
    for (const chart of charts) chart.update();
  }

  function highlight(target) {
    for (const chart of charts) chart.highlight(target || choices.highlight.value);
  }

  choices.level?.addEventListener("change", update);
  choices.case?.addEventListener("change", update);
  choices.highlight.addEventListener("change", () => highlight());
  for (const body of table.tBodies) {
    body.addEventListener("pointerenter", () => highlight(rows[body.dataset.row].target));
    body.addEventListener("pointerleave", () => highlight());
  }
  makeSortable(table, rows);
  return { update };
}

/** A chart, drawn when it is about to scroll into view. */
function chartIn(figure, shown, highlight) {
  const { kind, spec, figure: name } = figure.dataset;
  let view = null;

  function values() {
    const known = shown(kind).filter((row) => name in row.figures);
    return known.map((row) => ({ ...row, ...row.figures[name] }));
  }

  async function draw() {
    const description = `${figure.querySelector("figcaption").innerText}. The table has the figures.`;
    const drawn = await vegaEmbed(
      figure.querySelector(".chart"),
      { ...data.specs[spec], description, datasets: { rows: values() } },
      { actions: false, ast: true, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } },
    );
    view = drawn.view;
    view.addEventListener("pointerover", (_, item) => highlight(item?.datum?.target));
    view.addEventListener("pointerout", () => highlight());
  }

  const observer = new IntersectionObserver(
    (seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      observer.disconnect();
      draw();
    },
    { rootMargin: "400px" },
  );
  observer.observe(figure);

  return {
    update: () => view?.data("rows", values()).resize().runAsync(),
    highlight: (target) => view?.signal("highlight", target).runAsync(),
  };
}

/** Let the header buttons sort the rows, those without the figure last. */
function makeSortable(table, rows) {
  const heads = [...table.querySelectorAll("th[aria-sort]")];
  for (const head of heads) {
    const { figure, first = "ascending" } = head.dataset;
    const other = first === "ascending" ? "descending" : "ascending";
    head.firstElementChild.addEventListener("click", () => {
      const order = head.ariaSort === first ? other : first;
      for (const one of heads) one.ariaSort = one === head ? order : "none";
      const sign = order === "ascending" ? 1 : -1;
      const of = (body) => rows[body.dataset.row];
      const value = (body) => of(body).figures[figure]?.value ?? sign * Infinity;
      const compare = figure
        ? (a, b) => sign * (value(a) - value(b))
        : (a, b) => sign * of(a).target.localeCompare(of(b).target);
      table.append(...[...table.tBodies].sort(compare));
    });
  }
}
