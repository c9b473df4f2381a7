/**
 * The charts as Vega-Lite: bars at one level, curves over levels or cases, and curves of response
 * times. `vega.js` draws them from the rows that the page passes.
 */

const HEIGHT = 320; // Of a chart with curves, in pixels
const STEP = 12; // Between the labels of curves, in pixels
const WIDE = 10; // The ratio of highest to lowest value above which a scale is logarithmic
const [INK, QUIET, LINE, GROUND, WARNING] = ["ink", "quiet", "line", "ground", "warning"].map(
  (name) => `var(--${name})`,
);
const AXIS = { tickCount: 5, format: ",~r", domain: false, ticks: false };
const LAYERS = { bars, levels: figureCurves, cases: figureCurves, percentiles: timeCurves, steps: timeCurves };

const nominal = (field, more) => ({ field, type: "nominal", ...more });
const quantity = (field, more) => ({ field, type: "quantitative", ...more });
/** The expression for the percentile of a number of nines. */
const percentile = (nines) => `format(100 * (1 - pow(10, -${nines})), '.4~r') + '%'`;
/** Marks are faint while another server is highlighted. */
const lit = (faint) => ({ condition: { test: "highlight == '' || highlight == datum.target", value: 1 }, value: faint });
/** The colour of the server's concurrency model; the filters are the legend. */
const color = () =>
  nominal("model", { legend: null, scale: { domain: data.models, range: data.models.map((_, at) => `var(--model-${at})`) } });

/** The specification of a chart: its `kind`, `figure`, `unit`, `over` (the x axis), and whether it is `descending`. */
function specOf(chart, rows) {
  return {
    width: "container",
    height: chart.kind === "bars" ? { step: 20 } : HEIGHT,
    background: "transparent",
    autosize: { type: "fit-x", contains: "padding" },
    config: {
      font: "system-ui, sans-serif",
      padding: 0,
      view: { stroke: null },
      axis: {
        ...{ domainColor: LINE, gridColor: LINE, tickColor: LINE, labelColor: QUIET, titleColor: QUIET },
        ...{ titleFontWeight: "normal", labelFontSize: 12, titleFontSize: 12 },
      },
    },
    params: [{ name: "highlight", value: "" }],
    data: { name: "rows" },
    layer: LAYERS[chart.kind](chart, rows),
  };
}

function bars({ unit, descending }) {
  const base = {
    y: nominal("target", {
      sort: { field: "value", op: "max", order: descending ? "descending" : "ascending" },
      axis: { title: null, ticks: false, domain: false, labelPadding: 6, labelLimit: { expr: "width < 300 ? 130 : 200" } },
    }),
    opacity: lit(0.15),
    tooltip: nominal("tooltip"),
  };
  const layer = (mark, encoding, transform = []) => ({ mark, transform, encoding: { ...base, ...encoding } });
  const text = { type: "text", align: "left", fontSize: 12 };
  const sign = { ...text, text: "⚠", color: WARNING, dx: 5 }; // before the label
  return [
    layer({ type: "bar", cornerRadiusEnd: 2, height: 14 }, { x: quantity("value", { axis: { ...AXIS, title: unit } }), color: color() }),
    layer({ type: "rule", color: INK, strokeWidth: 1.5 }, { x: quantity("low"), x2: { field: "high" } }),
    layer({ type: "point", size: 14, strokeWidth: 1, stroke: INK, fill: GROUND }, { x: quantity("values") }, [{ flatten: ["values"] }]),
    layer({ type: "point", shape: "triangle-right", size: 40, filled: true, color: INK }, { x: quantity("high") }, [{ filter: "datum.cut" }]),
    layer({ ...text, color: INK, dx: { expr: "datum.warned ? 20 : 5" } }, { x: quantity("end"), text: nominal("label") }),
    layer(sign, { x: quantity("end") }, [{ filter: "datum.warned" }]),
  ];
}

/** Curves of a figure with its intervals; a hollow point has a warning. */
function figureCurves(chart, rows) {
  const values = rows.map((row) => row.figures[chart.figure]).filter(Boolean);
  const [low, high] = rangeOf(values.flatMap((one) => [one.low, one.high]));
  const log = low > 0 && low * WIDE < high;
  const x = chart.kind === "levels" ? levelsAxis(chart, rows) : casesAxis(rows);
  const y = (field) => yAxis(chart, log, field);
  const fill = { condition: { test: "datum.warned", value: GROUND }, ...color() };
  return [
    curve({ type: "line", strokeWidth: 1.75 }, { x, y: y("value") }),
    curve({ type: "rule", strokeWidth: 1.75 }, { x, y: y("low"), y2: { field: "high" } }),
    curve({ type: "point", size: 30, strokeWidth: 1.75 }, { x, y: y("value"), fill }),
    ...labels(chart.kind === "levels" ? "level" : "caseAt", log),
  ];
}

/** Curves of response times; at rates that were tried, a hollow point broke the limits. */
function timeCurves(chart, rows) {
  const steps = chart.kind === "steps";
  const where = steps ? "format(datum.x, ',.4~r') + ' requests/s'" : percentile("datum.x");
  const time = "(datum.over ? ': over the timeout' : ': ' + format(datum.value, ',.3~r') + ' ms')";
  const flat = [
    { flatten: ["x", "value", "over", ...(steps ? ["held", "repeat"] : [])] },
    { calculate: "datum.value", as: "low" },
    { calculate: "datum.value", as: "high" },
    { calculate: `datum.target + ', ' + ${where} + ${time}`, as: "tooltip" },
  ];
  const x = steps ? ratesAxis(rows) : percentilesAxis();
  const y = yAxis(chart, true);
  const line = { type: "line", strokeWidth: 1.75 };
  if (!steps) {
    const point = curve({ type: "point", size: 40 }, { x, y, opacity: { value: 0 } }, flat); // for its tooltip
    return [curve(line, { x, y }, flat), point, ...labels("x", true, flat)];
  }
  const fill = { condition: { test: "datum.held", ...color() }, value: GROUND };
  return [
    curve(line, { x, y, detail: [nominal("target"), nominal("repeat")] }, flat),
    curve({ type: "point", size: 30, strokeWidth: 1.75 }, { x, y, fill }, flat),
    { mark: { type: "rule", color: WARNING, strokeDash: [4, 4] }, encoding: { y: yAxis(chart, true, "level") } },
    ...labels("x", true, flat).slice(1),
  ];
}

function curve(mark, encoding, transform = []) {
  const base = { color: color(), opacity: lit(0.1), detail: nominal("target"), tooltip: nominal("tooltip") };
  return { mark, transform, encoding: { ...base, ...encoding } };
}

function yAxis({ unit }, log, field = "value") {
  // Grid lines are fainter where a logarithmic scale has no label.
  const gridOpacity = { condition: { test: "datum.label", value: 0.7 }, value: 0.2 };
  const scale = { type: log ? "log" : "linear", nice: false };
  return quantity(field, { scale, axis: { ...AXIS, title: unit, labelPadding: 6, gridOpacity } });
}

/** Levels, on a logarithmic scale if their distances differ too much for a linear one. */
function levelsAxis({ over }, rows) {
  const levels = [...new Set(rows.map((row) => row.level))].sort((a, b) => a - b);
  const [least, most] = rangeOf(levels.slice(1).map((level, at) => level - levels[at]));
  const axis = { values: levels, grid: false, labelOverlap: true, format: ",~r" };
  return quantity("level", { title: over, scale: scaleOf(most > 3 * least), axis });
}

function casesAxis(rows) {
  const cases = [...rows].sort((a, b) => a.caseAt - b.caseAt).map((row) => row.case);
  const lines = "split(datum.label, width < 300 ? ' ' : ', ')"; // that fit a phone
  return nominal("case", { sort: [...new Set(cases)], scale: { padding: 0.15 }, axis: { title: null, labelAngle: 0, labelExpr: lines } });
}

function ratesAxis(rows) {
  const [low, high] = rangeOf(rows.flatMap((row) => row.figures.steps?.x ?? []));
  return quantity("x", { title: "requests/s", scale: scaleOf(high > WIDE * low), axis: { ...AXIS, labelOverlap: true } });
}

function percentilesAxis() {
  const nines = [0, 0.5, 0.9, 0.95, 0.99, 0.999].map((share) => -Math.log10(1 - share));
  const axis = { values: nines, grid: false, labelExpr: percentile("datum.value"), labelFlush: false };
  return quantity("x", { title: null, scale: { domain: [0, 3] }, axis });
}

function scaleOf(log) {
  return log ? { type: "log", nice: false } : { type: "linear", nice: false, zero: false };
}

function rangeOf(values) {
  return [Math.min(...values), Math.max(...values)];
}

/**
 * Each server's name at the end of its curve, where `last` is highest, moved just enough not to
 * overlap others.
 *
 * From the bottom up, a label is at its curve's end or a step above the label below: the n-th is at
 * `step * n + max(end - step * n)`, with the maximum over the first n labels, but low enough to
 * leave room for those above.
 */
function labels(last, log, transform = []) {
  const share = log
    ? "datum.top > datum.bottom ? log(datum.value / datum.bottom) / log(datum.top / datum.bottom) : 0.5"
    : "datum.top ? datum.value / datum.top : 0";
  const room = `max(${HEIGHT} - ${STEP} * datum.all, -${STEP})`;
  const sort = [{ field: "end" }, { field: "target" }]; // upward
  const placed = [
    ...transform,
    { joinaggregate: [{ op: "max", field: "high", as: "top" }, { op: "min", field: "low", as: "bottom" }] },
    { joinaggregate: [{ op: "max", field: last, as: "last" }], groupby: ["target"] },
    { filter: `datum.last == datum.${last}` },
    { joinaggregate: [{ op: "count", as: "all" }] },
    { calculate: `${HEIGHT} * (${share})`, as: "end" },
    { window: [{ op: "row_number", field: "", as: "n" }], sort },
    { calculate: `datum.end - ${STEP} * datum.n`, as: "slack" },
    { window: [{ op: "max", field: "slack", as: "most" }], sort },
    { calculate: `${STEP} * datum.n + min(datum.most, ${room})`, as: "up" },
  ];
  const leader = {
    ...{ type: "point", size: 4, strokeWidth: 0.75, fill: null, shape: { expr: "'M4,0 L18,' + (datum.end - datum.up)" } },
    ...{ x: { expr: "width" }, y: { expr: `${HEIGHT} - datum.end` } },
  };
  const name = {
    ...{ type: "text", align: "left", baseline: "middle", fontSize: 11, limit: 150 },
    ...{ x: { expr: "width + 21" }, y: { expr: `${HEIGHT} - datum.up` } },
  };
  return [curve(leader, {}, placed), curve(name, { text: nominal("target") }, placed)];
}
