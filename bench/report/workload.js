const data = JSON.parse(document.getElementById("data").textContent);
const filters = makeFilters(update);
const sections = [...document.querySelectorAll("section.run")].map(setUp);

update();
draw();

/** Apply filters and choices to all sections. */
function update() {
  for (const section of sections) section.update();
  filters.count(Object.values(data.rows).flat());
}

/** Draw all charts, one after another: those off the screen are needed in print. */
async function draw() {
  for (const section of sections) for (const chart of section.charts) await chart.draw();
}

function setUp(element) {
  const rows = data.rows[element.id];
  const choices = element.querySelector("form.choices").elements;
  const table = element.querySelector("table");
  const bodies = [...table.tBodies];
  const rowOf = (body) => rows[body.dataset.row];
  const charts = [...element.querySelectorAll("figure")].map((figure) => chartIn(figure, rows, shown, highlight));

  /** The rows for a kind of chart: all levels, all cases, or the chosen level and case. */
  function shown(kind) {
    const level = kind !== "levels" && choices.level && Number(choices.level.value);
    const one = kind !== "cases" && choices.case?.value;
    return rows.filter(
      (row) => filters.shows(row) && (!level || row.level === level) && (!one || row.case === one),
    );
  }

  function update() {
    const visible = new Set(shown("bars"));
    for (const body of bodies) body.hidden = !visible.has(rowOf(body));
    for (const label of element.querySelectorAll("[data-chosen]")) {
      label.textContent = choices[label.dataset.chosen].selectedOptions[0].text;
    }
    for (const chart of charts) chart.update();
  }

  function highlight(target) {
    for (const chart of charts) chart.highlight(target || choices.highlight.value);
  }

  for (const choice of element.querySelectorAll("form.choices select")) {
    const name = `${element.id}.${choice.name}`;
    const initial = choice.value;
    if ([...choice.options].some((option) => option.value === view.get(name))) choice.value = view.get(name);
    choice.addEventListener("change", () => {
      keep(name, choice.value === initial ? null : choice.value);
      update();
      highlight();
    });
  }
  for (const body of bodies) {
    body.addEventListener("pointerenter", () => highlight(rowOf(body).target));
    body.addEventListener("pointerleave", () => highlight());
  }
  makeSortable(
    table,
    element.id,
    bodies,
    (body, figure) => (figure === "target" ? rowOf(body).target : rowOf(body).figures[figure]?.value),
    (sorted) => table.append(...sorted),
  );
  return { update, charts };
}

/** A chart. */
function chartIn(figure, rows, shown, highlight) {
  const { kind, figure: name } = figure.dataset;
  let drawn = null;

  function values() {
    const known = shown(kind).filter((row) => name in row.figures);
    return known.map((row) => ({ ...row, ...row.figures[name] }));
  }

  async function draw() {
    const description = `${figure.querySelector("figcaption").innerText}. The table has the numbers.`;
    const embedded = await vegaEmbed(
      figure.querySelector(".chart"),
      { ...specOf(figure.dataset, rows), description, datasets: { rows: values() } },
      { mode: "vega-lite", actions: false, ast: true, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } },
    );
    drawn = embedded.view;
    drawn.addEventListener("pointerover", (_, item) => highlight(item?.datum?.target));
    drawn.addEventListener("pointerout", () => highlight());
    highlight();
  }

  return {
    draw,
    update: () => drawn?.data("rows", values()).resize().runAsync(),
    highlight: (target) => drawn?.signal("highlight", target).runAsync(),
  };
}
