// What became of a recording: the facts, the account of its losses, and its statistics.

import {bytes, count, counted, frequency, h, time, visible} from "./dom.js";
import {statisticsTables, table} from "./tables.js";

/** @import {Checked, Compared, Converted, Format, InputReport, Loss, Statistics} from "./types.d.ts" */

/** @param {string} term @param {Node | string | null} value @param {string | null} [note] */
function fact(term, value, note) {
  return value === null || value === "" ? [] : [h("div", {}, h("dt", {}, term), h("dd", {}, value, note ? h("span", {class: "note"}, note) : null))];
}

/** All texts of a report come from a capture: their control characters are made visible. @template T @param {T} value @returns {T} */
export function cleaned(value) {
  if (typeof value === "string") {
    return /** @type {T} */ (visible(value));
  }
  if (Array.isArray(value)) {
    return /** @type {T} */ (value.map(cleaned));
  }
  if (typeof value === "object" && value !== null) {
    return /** @type {T} */ (Object.fromEntries(Object.entries(value).map(([key, of]) => [key, cleaned(of)])));
  }
  return value;
}

// How sure the times are, and the version of the target's library: by the names in the report.
const FINDINGS = new Map([["clock", "Time unit"], ["modulus", "Range of the time counter"], ["breaks", "Breaks in time"],
  ["restarts", "Restarts"], ["version", "Version"]]);

/** @param {string} title @param {string[]} texts @param {string} kind */
function notes(title, texts, kind) {
  return texts.length === 0 ? null : h("div", {class: `notes ${kind}`}, h("h4", {}, title), h("ul", {}, texts.map((text) => h("li", {}, text))));
}

/** @param {string} text */
function sentence(text) {
  return text === "" ? "" : text[0]?.toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
}

/**
 * The report of a recording that was converted or could not be.
 * @param {Converted} converted
 * @param {Format[]} formats
 * @param {number} traceBytes
 */
export function reportOf(converted, formats, traceBytes) {
  const {inputs} = converted.report;
  const title = (/** @type {string | null} */ name) => formats.find((format) => format.name === name)?.title ?? name ?? "unknown";
  const several = inputs.length > 1;
  const parts = inputs.map((input) => {
    const of = several ? h("h4", {}, input.path, input.core === null ? "" : `, core ${input.core}`) : null;
    if (input.error !== null) {
      return h("div", {}, of, h("p", {class: "error"}, input.error));
    }
    const known = input.first_ns !== null && input.last_ns !== null;
    const skipped = input.input_bytes > 0 ? 100 * input.skipped_bytes / input.input_bytes : 0;
    return h("div", {}, of,
      h("dl", {class: "facts"},
        fact("Format", title(input.format), input.detected_because === null ? null : sentence(input.detected_because)),
        fact("Duration", known ? time((input.last_ns ?? 0) - (input.first_ns ?? 0)) : null),
        fact("Events", count(input.events)),
        fact("Clock", input.clock === null ? null : frequency(input.clock.hz), input.clock?.because),
        input.findings.map(({of, certainty, because}) => fact(FINDINGS.get(of) ?? of, certainty, sentence(because))),
        fact("System", input.system, input.cores > 1 ? counted(input.cores, "core") : null),
        fact("Sessions", input.sessions > 1 ? count(input.sessions) : null, "the target was reset"),
        fact("Input", bytes(input.file_bytes), [...input.layers, input.memory === null ? "" : `memory image: ${input.memory.what} at byte ${count(input.memory.offset)}`].filter(Boolean).join(", ")),
        fact("Not decoded", input.skipped_bytes === 0 ? null : counted(input.skipped_bytes, "byte"), `${skipped.toFixed(skipped < 1 ? 3 : 1)} % of the input`),
        input.details.map((detail) => fact(sentence(detail.name).slice(0, -1), detail.value, detail.source))));
  });
  if (traceBytes > 0) {
    parts.at(-1)?.querySelector("dl")?.append(...fact("Trace", bytes(traceBytes)));
  }
  const all = (/** @type {(input: InputReport) => string[]} */ of) => [...new Set(inputs.flatMap(of))];
  return h("div", {}, parts, notes("Warnings", all((input) => input.warnings.map(sentence)), "warning"),
    notes("Hints", all((input) => input.hints), "hint"), ledger(inputs));
}

/** @param {InputReport[]} inputs */
function ledger(inputs) {
  /** @type {(Loss & {what: string, input: string})[]} */
  const rows = inputs.flatMap((input) => [
    ...input.losses.map((loss) => ({...loss, what: "loss", input: input.path})),
    ...input.repairs.map((loss) => ({...loss, what: "repair", input: input.path})),
  ]);
  const converted = inputs.some((input) => input.error === null);
  if (rows.length === 0) {
    return converted ? h("p", {class: "good"}, "Nothing was lost, and nothing had to be repaired.") : null;
  }
  const lost = rows.reduce((sum, row) => sum + row.at_least_lost, 0);
  const losses = rows.filter((row) => row.what === "loss");
  const summary = losses.length === 0
    ? "Nothing was lost; something was repaired."
    : `${counted(losses.reduce((sum, row) => sum + row.count, 0), "loss").replace("losss", "losses")}, at least ${counted(lost, "event")} missing.`;
  return h("div", {class: "ledger"}, h("p", {class: losses.length > 0 ? "loss" : "good"}, summary),
    table("Losses and repairs", rows, [
      {title: "code", value: (row) => row.kind},
      {title: "kind", value: (row) => row.what},
      ...(inputs.length > 1 ? [{title: "file", value: (/** @type {{input: string}} */ row) => row.input}] : []),
      {title: "description", value: (row) => row.text},
      {title: "times", value: (row) => row.count},
      {title: "first at byte", value: (row) => row.first_offset},
      {title: "events lost, at least", value: (row) => row.at_least_lost},
    ]));
}

// Of what is in one of two recordings only.
const NAMES_SHOWN = 12;

let tabsMade = 0;

/** @param {Statistics} statistics */
export function statisticsOf(statistics) {
  return tabs("Statistics", statisticsTables(statistics));
}

/** @param {string} label @param {{title: string, content: HTMLElement}[]} pages */
function tabs(label, pages) {
  const group = tabsMade++;
  const panels = pages.map(({content}, index) =>
    h("div", {role: "tabpanel", id: `panel-${group}-${index}`, "aria-labelledby": `tab-${group}-${index}`, hidden: index > 0}, content));
  const buttons = pages.map(({title}, index) => h("button", {
    type: "button", role: "tab", id: `tab-${group}-${index}`, "aria-controls": `panel-${group}-${index}`,
    "aria-selected": String(index === 0), tabindex: index === 0 ? 0 : -1, onclick: () => select(index),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (step !== 0) {
        const next = (index + step + pages.length) % pages.length;
        select(next);
        buttons[next]?.focus();
        event.preventDefault();
      }
    },
  }, title));
  /** @param {number} selected */
  function select(selected) {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === selected));
      button.tabIndex = index === selected ? 0 : -1;
    });
    panels.forEach((panel, index) => { panel.hidden = index !== selected; });
  }
  return h("div", {class: "tabs"}, h("div", {role: "tablist", "aria-label": label}, buttons), panels);
}

const OUTCOMES = {kept: "kept", broken: "broken", missing: "nothing to measure", skipped: "skipped"};

/** @param {string} budget @param {Checked} checked */
export function verdictsOf(budget, checked) {
  const number = (/** @type {number} */ value) => Number(value.toPrecision(5));
  return h("div", {class: "verdicts"}, h("h4", {}, `Budget ${budget}`),
    h("p", {class: checked.verdicts.some((verdict) => verdict.outcome === "broken" || verdict.outcome === "missing") ? "loss" : "good"}, sentence(checked.summary)),
    table(`Verdicts of ${budget}`, checked.verdicts, [
      {title: "rule", value: (row) => row.name ?? row.rule, show: (_, row) => row.name === null ? h("code", {}, row.rule) : h("span", {}, row.name, " ", h("code", {}, row.rule))},
      {title: "verdict", value: (row) => row.outcome, show: (_, row) => h("span", {class: `outcome ${row.outcome}`}, OUTCOMES[row.outcome])},
      {title: "value", value: (row) => row.values[0]?.value, show: (value, row) => `${number(value)} ${row.unit}`},
      {title: "margin", value: (row) => row.values[0]?.margin, show: (value, row) => `${number(value)} ${row.unit}`},
      {title: "of", value: (row) => row.missing ?? row.values[0]?.metric},
      {title: "reason", value: (row) => row.reason},
    ]));
}

/** @param {string} base @param {string} now @param {Compared} compared */
export function differencesOf(base, now, compared) {
  const {changes, added, removed} = compared.diff;
  const value = (/** @type {number} */ value, /** @type {{unit: string}} */ row) => row.unit === "ns" ? time(value) : `${Number(value.toPrecision(4))} ${row.unit}`;
  return h("div", {}, h("p", {}, `${base} → ${now}: ${compared.summary}.`), compared.worst === null ? null : h("p", {}, `Worst: ${compared.worst}`),
    changes.length === 0 ? null : table("Differences", changes, [
      {title: "metric", value: (row) => row.metric},
      {title: "direction", value: (row) => row.direction, show: (_, row) => h("span", {class: `direction ${row.direction}`}, row.direction)},
      {title: "before", value: (row) => row.base, show: value},
      {title: "after", value: (row) => row.new, show: value},
      {title: "change", value: (row) => row.change_percent, show: (percent) => `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`},
    ]),
    only("Only after", added), only("Only before", removed));
}

/** @param {string} title @param {{section: string, name: string}[]} things */
function only(title, things) {
  const names = things.slice(0, NAMES_SHOWN).map(({section, name}) => `${section} ${name}`).join(", ");
  const more = things.length > NAMES_SHOWN ? ` and ${count(things.length - NAMES_SHOWN)} more` : "";
  return things.length === 0 ? null : h("p", {}, `${title}: ${names}${more}.`);
}
