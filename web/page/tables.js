// Tables that are sorted by a click on a heading, with small bars in their cells.

import {append, h, percent, time, count as number} from "./dom.js";

/** @import {Spread, Statistics} from "./types.d.ts" */
/** @import {Child} from "./dom.js" */

/**
 * A column: what it shows, and by what it is sorted.
 * @template Row
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: Row) => string | number | null | undefined} value
 * @property {(value: any, row: Row) => Child} [show]
 * @property {(row: Row) => number | null} [bar] A part from 0 to 1, as a bar beside the value.
 * @property {(row: Row) => boolean} [isSoft] Whether the bar is of no interest.
 * @property {(row: Row) => SVGElement | null} [chart]
 * @property {string} [help]
 */

// A longer table is shown in part, and all of it on demand.
const ROWS_SHOWN = 15;

/**
 * A table, sorted by one of its columns from the beginning (descending if it holds numbers).
 * @template Row
 * @param {string} caption
 * @param {Row[]} rows
 * @param {Column<Row>[]} columns
 * @param {number} [sortedBy]
 */
export function table(caption, rows, columns, sortedBy) {
  let by = sortedBy ?? -1;
  const isNumeric = (/** @type {Column<Row>} */ column) => rows.some((row) => typeof column.value(row) === "number");
  const numeric = columns.map(isNumeric);
  let descending = by >= 0 && numeric[by] === true;
  let all = false;

  const body = h("tbody");
  const headings = columns.map((column, index) => {
    const button = h("button", {type: "button", title: column.help, onclick: () => sort(index)}, column.title);
    return h("th", {scope: "col", class: numeric[index] ? "number" : null}, button);
  });
  const more = h("button", {type: "button", class: "quiet", onclick: () => { all = !all; fill(); }});

  /** @param {number} index */
  function sort(index) {
    descending = by === index ? !descending : numeric[index] === true;
    by = index;
    fill();
  }

  function fill() {
    const sorted = [...rows];
    const column = columns[by];
    if (column !== undefined) {
      sorted.sort((one, other) => {
        const [a, b] = [column.value(one), column.value(other)];
        // What is not known comes last, whichever way.
        if (a === null || a === undefined || b === null || b === undefined) {
          return Number(a === null || a === undefined) - Number(b === null || b === undefined);
        }
        const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
        return descending ? -order : order;
      });
    }
    body.replaceChildren(...(all ? sorted : sorted.slice(0, ROWS_SHOWN)).map((row) => h("tr", {}, columns.map((_, index) => cell(row, index)))));
    headings.forEach((heading, index) => {
      if (index === by) {
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      } else {
        heading.removeAttribute("aria-sort");
      }
    });
    more.textContent = all ? "Show fewer" : `Show all ${rows.length}`;
  }

  /** @param {Row} row @param {number} index */
  function cell(row, index) {
    const column = /** @type {Column<Row>} */ (columns[index]);
    const value = column.value(row);
    const shown = value === null || value === undefined ? "" : column.show?.(value, row) ?? (typeof value === "number" ? number(value) : value);
    const element = h(index === 0 ? "th" : "td", {scope: index === 0 ? "row" : null, class: numeric[index] ? "number" : null}, shown);
    const part = column.bar?.(row);
    if (part !== null && part !== undefined) {
      const bar = h("span", {class: column.isSoft?.(row) ? "bar soft" : "bar", "aria-hidden": "true"});
      bar.style.setProperty("--part", String(Math.min(1, Math.max(0, part))));
      element.append(bar);
    }
    const chart = column.chart?.(row);
    if (chart) {
      element.append(chart);
    }
    return element;
  }

  fill();
  const scrolled = h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, headings)), body));
  return h("div", {class: "table"}, scrolled, rows.length > ROWS_SHOWN && more);
}

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} tag @param {Record<string, string | number>} attributes */
function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  return element;
}

/**
 * The range of a spread on a logarithmic scale: from the least to the greatest value, with marks at the median and at 99 %.
 * @param {Spread} spread
 * @param {number} low
 * @param {number} high
 */
function range(spread, low, high) {
  if (spread.count === 0 || spread.min_ns === null || spread.max_ns === null) {
    return null;
  }
  const width = 120;
  const scale = Math.log(Math.max(high, low * 10) / low);
  const x = (/** @type {number} */ ns) => 3 + (width - 6) * Math.log(Math.max(ns, low) / low) / scale;
  const chart = svg("svg", {class: "range", viewBox: `0 0 ${width} 12`, width, height: 12, "aria-hidden": "true"});
  chart.append(svg("line", {x1: x(spread.min_ns), x2: x(spread.max_ns), y1: 6, y2: 6}));
  if (spread.p50_ns !== null && spread.p99_ns !== null) {
    const start = x(spread.p50_ns);
    chart.append(svg("rect", {x: start, y: 3, width: Math.max(2, x(spread.p99_ns) - start), height: 6}));
  }
  chart.append(svg("circle", {cx: x(spread.max_ns), cy: 6, r: 2.5}));
  return /** @type {SVGElement} */ (chart);
}

/**
 * The columns of a spread.
 * @template Row
 * @param {Row[]} rows
 * @param {(row: Row) => Spread | null} of
 * @param {string} noun
 * @returns {Column<Row>[]}
 */
function spreadColumns(rows, of, noun) {
  const spreads = rows.map(of).filter((spread) => spread !== null && spread.count > 0);
  const low = Math.max(1, Math.min(...spreads.map((spread) => spread?.min_ns ?? Infinity)));
  const high = Math.max(...spreads.map((spread) => spread?.max_ns ?? 0));
  const value = (/** @type {keyof Spread} */ key) => (/** @type {Row} */ row) => of(row)?.[key];
  return [
    {title: "median", value: value("p50_ns"), show: time, help: `Half of the ${noun} are not longer`},
    {title: "99 %", value: value("p99_ns"), show: time, help: `99 % of the ${noun} are not longer`},
    {title: "max", value: value("max_ns"), show: time, chart: (row) => { const s = of(row); return s === null ? null : range(s, low, high); },
      help: `The longest of the ${noun}; line: all, box: median to 99 % (logarithmic)`},
  ];
}

/** @template Row @param {Row[]} rows @param {(row: Row) => unknown} is @param {Column<Row>} column @returns {Column<Row>[]} */
function onlyIf(rows, is, column) {
  return rows.some((row) => is(row)) ? [column] : [];
}

/** A column only where there is more than one session. @template {{session: number}} Row @param {Row[]} rows @returns {Column<Row>[]} */
function sessionColumn(rows) {
  return onlyIf(rows, (row) => row.session > 1, {title: "session", value: (row) => row.session});
}

/**
 * All statistics of a recording, as tables with their titles.
 * @param {Statistics} statistics
 * @returns {{title: string, content: HTMLElement}[]}
 */
export function statisticsTables(statistics) {
  const duration = Math.max(1, (statistics.last_ns ?? 0) - (statistics.first_ns ?? 0));
  /** @type {{title: string, content: HTMLElement}[]} */
  const tables = [];
  /** @template Row @param {string} title @param {Row[]} rows @param {Column<Row>[]} columns @param {number} [by] */
  const add = (title, rows, columns, by) => {
    if (rows.length > 0) {
      tables.push({title: `${title} (${rows.length})`, content: table(title, rows, columns, by)});
    }
  };
  const {tasks, interrupts, objects, machines, functions} = statistics;
  // Of a core without scheduling and interrupts there is nothing to show.
  const cores = statistics.cores.filter((core) => core.busy_ns + core.idle_ns + core.interrupts_ns > 0);
  const shares = h("div", {class: "cores"}, cores.map((core) => coreBar(core)));
  add("Tasks", tasks, [
    {title: "task", value: (row) => row.name},
    ...sessionColumn(tasks),
    ...onlyIf(tasks, (row) => row.priority !== null, {title: "priority", value: (row) => row.priority}),
    {title: "CPU", value: (row) => row.cpu_percent, show: percent, bar: (row) => (row.cpu_percent ?? 0) / 100, help: "Part of the known time",
      isSoft: (row) => row.is_idle},
    {title: "ran", value: (row) => row.run_ns, show: time},
    {title: "runs", value: (row) => row.runs.count},
    {title: "pre-empted", value: (row) => row.preemptions},
    {title: "waited", value: (row) => row.waits.total_ns, show: time},
    ...onlyIf(tasks, (row) => row.stack_free_bytes !== null, {title: "stack free", value: (row) => row.stack_free_bytes}),
  ], tasks.length > 0 ? 1 + sessionColumn(tasks).length + Number(tasks.some((row) => row.priority !== null)) : -1);
  const first = tables[0];
  if (cores.length > 0) {
    const legend = h("p", {class: "legend"}, h("span", {class: "busy"}, "tasks"), h("span", {class: "isr"}, "interrupts"),
      h("span", {class: "idle"}, "idle"), h("span", {class: "unknown"}, "unknown"));
    if (first === undefined) {
      tables.push({title: "Cores", content: h("div", {}, shares, legend)});
    } else {
      first.content.prepend(shares, legend);
    }
  }
  const ready = tasks.filter((task) => task.latency.count > 0);
  add("Latency", ready, [
    {title: "task", value: (row) => row.name},
    ...sessionColumn(ready),
    {title: "times", value: (row) => row.latency.count, help: "How often it was made ready and then ran"},
    ...spreadColumns(ready, (row) => row.latency, "latencies"),
  ], 4 + sessionColumn(ready).length);
  add("Interrupts", interrupts, [
    {title: "interrupt", value: (row) => row.name},
    ...onlyIf(interrupts, (row) => row.core > 0, {title: "core", value: (row) => row.core}),
    {title: "times", value: (row) => row.durations.count},
    {title: "rate", value: (row) => row.durations.count * 1e9 / duration, show: (hz) => `${Number(hz.toPrecision(3))} Hz`},
    {title: "CPU", value: (row) => 100 * row.self_ns / duration, show: percent, bar: (row) => row.self_ns / duration},
    ...spreadColumns(interrupts, (row) => row.durations, "handlers"),
  ]);
  const queues = objects.filter((object) => !object.kind.includes("mutex"));
  add("Queues and semaphores", queues, [
    {title: "object", value: (row) => row.name},
    {title: "kind", value: (row) => row.kind},
    ...sessionColumn(queues),
    {title: "sent", value: (row) => row.sends},
    {title: "received", value: (row) => row.receives},
    {title: "highest level", value: (row) => row.high_water,
      show: (value, row) => row.capacity ? `${number(value)} of ${number(row.capacity)}` : number(value),
      bar: (row) => row.capacity ? (row.high_water ?? 0) / row.capacity : null},
    {title: "waited for", value: (row) => row.waits.total_ns, show: time},
    {title: "longest wait", value: (row) => row.waits.max_ns, show: time},
    {title: "of", value: (row) => row.longest_waiter},
  ]);
  const mutexes = objects.filter((object) => object.kind.includes("mutex"));
  add("Mutexes", mutexes, [
    {title: "mutex", value: (row) => row.name},
    ...sessionColumn(mutexes),
    {title: "held", value: (row) => row.holds?.count},
    ...spreadColumns(mutexes, (row) => row.holds, "holds"),
    {title: "longest wait", value: (row) => row.waits.max_ns, show: time},
    {title: "of", value: (row) => row.longest_waiter},
  ]);
  add("State machines", machines, [
    {title: "machine", value: (row) => row.name},
    ...sessionColumn(machines),
    {title: "events", value: (row) => row.taken},
    {title: "busy", value: (row) => row.busy_percent, show: percent, bar: (row) => (row.busy_percent ?? 0) / 100},
    {title: "queue", value: (row) => row.high_water, help: "Highest fill of its queue"},
    ...spreadColumns(machines, (row) => row.responses, "responses"),
  ]);
  add("Functions", functions, [
    {title: "function", value: (row) => row.name},
    {title: "calls", value: (row) => row.calls.count},
    {title: "self", value: (row) => row.self_ns, show: time, bar: (row) => row.self_ns / duration},
    {title: "with callees", value: (row) => row.calls.total_ns, show: time},
    ...spreadColumns(functions, (row) => row.calls, "calls"),
    ...onlyIf(functions, (row) => row.file !== null, {title: "source", value: (row) => row.file === null ? null : `${row.file}:${row.line}`}),
  ], 2);
  const spans = statistics.lanes.filter((lane) => lane.spans.count > 0);
  add("Spans and states", spans, [
    {title: "track", value: (row) => row.name},
    ...onlyIf(spans, (row) => row.owner !== null, {title: "of", value: (row) => row.owner}),
    ...sessionColumn(spans),
    {title: "times", value: (row) => row.spans.count},
    ...spreadColumns(spans, (row) => row.spans, "spans"),
  ]);
  const values = statistics.lanes.filter((lane) => lane.values > 0);
  add("Values", values, [
    {title: "track", value: (row) => row.name},
    ...onlyIf(values, (row) => row.owner !== null, {title: "of", value: (row) => row.owner}),
    {title: "values", value: (row) => row.values},
    {title: "least", value: (row) => row.least},
    {title: "greatest", value: (row) => row.greatest},
    {title: "last", value: (row) => row.last},
  ]);
  const marks = statistics.lanes.filter((lane) => lane.instants > 0);
  add("Instants", marks, [
    {title: "track", value: (row) => row.name},
    ...onlyIf(marks, (row) => row.owner !== null, {title: "of", value: (row) => row.owner}),
    ...sessionColumn(marks),
    {title: "times", value: (row) => row.instants},
  ]);
  add("Heap", statistics.heap === null ? [] : [statistics.heap], [
    {title: "allocations", value: (row) => row.allocations},
    {title: "frees", value: (row) => row.frees},
    {title: "failed", value: (row) => row.failures},
    {title: "used bytes", value: (row) => row.used_bytes, help: "At the end, compared with the beginning"},
    {title: "most used bytes", value: (row) => row.high_water_bytes, help: "Compared with the beginning"},
  ]);
  add("Log messages", statistics.logs, [
    {title: "severity", value: (row) => row.severity},
    {title: "messages", value: (row) => row.count},
  ]);
  return tables;
}

/** @param {Statistics["cores"][number]} core */
function coreBar(core) {
  const parts = [["busy", core.busy_ns], ["isr", core.interrupts_ns], ["idle", core.idle_ns], ["unknown", core.unknown_ns]];
  const bar = h("span", {class: "shares", "aria-hidden": "true"});
  append(bar, parts.map(([name, ns]) => {
    const share = h("span", {class: name});
    share.style.flexGrow = String(ns);
    return share;
  }));
  const load = core.load_percent === null ? "" : `load ${percent(core.load_percent)}`;
  return h("div", {class: "core"}, h("span", {}, `Core ${core.core}`), bar, h("span", {class: "number"}, load));
}
