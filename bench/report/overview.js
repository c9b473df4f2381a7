const filters = makeFilters(update);
const tables = [...document.querySelectorAll("table.overview")];
for (const table of tables) setUp(table);
update();

function setUp(table) {
  const body = table.tBodies[0];
  const figures = [...table.tHead.rows[0].cells].map((head) => head.dataset.figure);
  makeSortable(
    table,
    table.id,
    [...body.rows],
    (row, figure) => {
      if (figure === "target") return row.dataset.target;
      const { share, value } = row.cells[figures.indexOf(figure)].dataset;
      return (share ?? value) && Number(share ?? value);
    },
    (rows) => body.append(...rows),
  );
}

function update() {
  for (const table of tables) {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !filters.shows(row.dataset);
    const shown = rows.filter((row) => !row.hidden);
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const { workload, better } = head.dataset;
      if (!workload) return;
      const hidden = !filters.showsWorkload(workload);
      for (const row of table.rows) row.cells[at].hidden = hidden;
      relate(shown.map((row) => row.cells[at]).filter((cell) => cell.dataset.value), better);
    });
  }
  filters.count(tables.flatMap((table) => [...table.tBodies[0].rows].map((row) => row.dataset)));
}

/** Show each figure relative to the best that is shown. */
function relate(cells, better) {
  if (!cells.length) return;
  const value = (cell) => Number(cell.dataset.value);
  const groups = (cell) => cell.dataset.tied.split(" ").filter(Boolean);
  const best = cells.reduce((a, b) => ((better === "more") === value(b) > value(a) ? b : a));
  for (const cell of cells) {
    const least = Math.min(value(cell), value(best));
    const most = Math.max(value(cell), value(best));
    const share = most ? least / most : 1;
    const apart = cell !== best && !groups(cell).some((one) => groups(best).includes(one));
    const noisy = [cell, best].some((one) => "noisy" in one.dataset);
    const standing = apart ? "" : noisy ? "noisy" : cell === best ? "best" : "tied";
    cell.dataset.share = share;
    cell.style.setProperty("--share", `${100 * share}%`);
    cell.classList.toggle("tied", ["best", "tied"].includes(standing));
    cell.classList.toggle("noisy", standing === "noisy");
    cell.querySelector("b").textContent = shareText(share);
    cell.querySelector(".badge").textContent = standing;
  }
}

function shareText(share) {
  if (share >= 0.995 && share < 1) return ">99%";
  return `${share >= 0.1 ? Math.round(100 * share) : Number((100 * share).toPrecision(2))}%`;
}
