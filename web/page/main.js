// The page: files come in, are recognised and grouped to recordings, and each recording is converted and shown.

import {Companions} from "./companions.js";
import {run} from "./converter.js";
import {byId, bytes, counted, download, h, stem, visible} from "./dom.js";
import {offerLinked} from "./linked.js";
import {commandLine, OptionsForm} from "./options.js";
import {cleaned, differencesOf, reportOf, statisticsOf, verdictsOf} from "./report.js";
import {closeEmbedded, openInTab, showEmbedded, viewer} from "./viewer.js";

/** @import {Checked, Compared, ConvertRequest, Converted, Entry, Format, Formats, Found, Unpacked} from "./types.d.ts" */

/**
 * A recording and its trace.
 * @typedef {object} Result
 * @property {string} key What it was made of and how.
 * @property {string} name
 * @property {HTMLElement} card
 * @property {AbortController} abort
 * @property {Converted | null} converted
 * @property {Blob | null} trace
 * @property {() => void} drop Gives the trace's memory back.
 * @property {HTMLElement} verdicts
 */

const CORES = 8;

/** @type {Entry[]} */
let entries = [];
/** By the numbers of their files. @type {Map<string, Result>} */
const results = new Map();
/** @type {Format[]} */
let formats = [];
const companions = new Companions();
/** @type {OptionsForm} */
let form;
let nextId = 1;

const status = byId("status", HTMLElement);
const list = byId("list", HTMLElement);
const resultsPlace = byId("results", HTMLElement);

/** @param {string} text */
function say(text) {
  status.textContent = text;
}

/** @param {unknown} error */
function message(error) {
  return visible(error instanceof Error ? error.message : String(error));
}

/** @param {Entry} entry */
function ref({id, name, file}) {
  return {id, name, bytes: file.size};
}

/** @param {File} file @param {Partial<Entry>} [known] @returns {Entry} */
function entryOf(file, known) {
  return {id: nextId++, name: file.name, file, archive: null, found: null, core: null, chosen: new Map(), abort: new AbortController(), drop() {}, ...known};
}

/** Takes files in, and converts what is in them. @param {Iterable<File>} files @param {number[]} [cores] */
async function addFiles(files, cores) {
  const added = [...files].map((file, index) => entryOf(file, {core: cores?.[index] ?? null}));
  entries.push(...added);
  render();
  await loaded;
  await Promise.all(added.map(inspect));
  const unused = form.values(undefined).format === undefined ? added.filter(({found}) => found?.kind === "unknown") : [];
  if (unused.length > 0) {
    say(`Not used: ${unused.map(({name}) => visible(name)).join(", ")}. The list of files says why.`);
  }
  await update();
}

/** @param {Entry} entry */
async function inspect(entry) {
  const options = {files: new Map([[entry.id, entry.file]]), signal: entry.abort.signal};
  try {
    const {reply} = await run({do: "inspect", file: ref(entry)}, options);
    /** @type {Found} */
    const found = cleaned(reply);
    entry.found = found.kind === "archive" && entry.archive !== null ? unknown("is an archive in an archive; extract it first") : found;
    render();
    if (entry.found.kind === "archive") {
      await unpack(entry, options);
    }
  } catch (error) {
    entry.found = unknown(message(error));
  }
  render();
}

/** @param {string} because @returns {Found} */
function unknown(because) {
  return {kind: "unknown", format: null, option: null, because, layers: [], recordings: 0};
}

/** Adds the files in an archive after it. @param {Entry} archive @param {import("./converter.js").Options} options */
async function unpack(archive, options) {
  const found = /** @type {Found} */ (archive.found);
  found.because = "unpacking …";
  render();
  const {reply, output, drop} = await run({do: "unpack", file: ref(archive)}, options);
  archive.drop = drop;
  const {members} = /** @type {Unpacked} */ (reply);
  const added = members.map(({name, problem, start, bytes, stored}) => {
    const content = (stored ? archive.file : output).slice(start, start + (problem === null ? bytes : 0));
    return entryOf(new File([content], name.split("/").at(-1) ?? name),
      {name: `${archive.name}!${name}`, archive, found: problem === null ? null : unknown(problem)});
  });
  found.because = counted(added.length, "file");
  entries.splice(entries.indexOf(archive) + 1, 0, ...added);
  render();
  await Promise.all(added.filter((entry) => entry.found === null).map(inspect));
}

/** Takes a file away, and all files in it if it is an archive. @param {Entry} entry */
function remove(entry) {
  const gone = entries.filter((other) => other === entry || other.archive === entry);
  entries = entries.filter((other) => !gone.includes(other));
  for (const {abort, drop} of gone) {
    abort.abort();
    drop();
  }
  update();
}

/** Files that are one recording: each its own, but cores that follow each other are one until a core comes again. */
function recordings() {
  /** @type {Entry[][]} */
  const groups = [];
  // What is not recognised is a recording if the user says in which format.
  const named = form.values(undefined).format !== undefined;
  for (const entry of entries.filter(({found}) => found?.kind === "recording" || (named && found?.kind === "unknown"))) {
    const group = groups.at(-1);
    if (group !== undefined && entry.core !== null && group.every((other) => other.core !== null && other.core !== entry.core)) {
      group.push(entry);
    } else {
      groups.push([entry]);
    }
  }
  return groups;
}

/** @param {Entry[]} group @returns {Promise<ConvertRequest>} */
async function requestFor(group) {
  const first = /** @type {Entry} */ (group[0]);
  const named = form.values(undefined).format ?? first.found?.format;
  const format = formats.find((format) => format.name === named);
  const values = form.values(format);
  for (const {name, entry} of await companions.of(first, format, entries)) {
    values.own = values.own.filter((own) => own.name !== name || own.file !== undefined);
    // Without the archive that it is in: the program reads only recordings there.
    values.own.push({name, file: {...ref(entry), name: entry.file.name}});
  }
  return {do: "convert", name: stem(first.file.name), inputs: group.map((entry) => ({file: ref(entry), core: entry.core})), ...values};
}

let updates = 0;

/** Converts what is new or has changed, and takes away what is gone. */
async function update() {
  const mine = ++updates;
  render();
  const wanted = new Map(recordings().map((group) => [group.map((entry) => entry.id).join(), group]));
  for (const [ids, result] of results) {
    if (!wanted.has(ids)) {
      result.abort.abort(new DOMException("It was taken away.", "AbortError"));
      result.drop();
      result.card.remove();
      results.delete(ids);
    }
  }
  const requests = await Promise.all([...wanted].map(async ([ids, group]) => /** @type {const} */ ([ids, await requestFor(group)])));
  if (mine !== updates) {
    return;
  }
  render();
  const work = [];
  for (const [ids, request] of requests) {
    const key = JSON.stringify(request);
    if (results.get(ids)?.key !== key) {
      work.push(convert(ids, key, request));
    }
  }
  await Promise.all(work);
  await check();
  await renderComparison();
}

/** @param {string} ids @param {string} key @param {ConvertRequest} request */
async function convert(ids, key, request) {
  const old = results.get(ids);
  old?.abort.abort(new DOMException("It is converted in another way.", "AbortError"));
  old?.drop();
  const abort = new AbortController();
  const titleId = `title-${ids.replaceAll(",", "-")}`;
  const progress = h("progress", {max: 1, value: 0, "aria-label": `Progress of ${request.name}`});
  const cancel = h("button", {type: "button", onclick: () => abort.abort(new DOMException("Cancelled.", "AbortError"))}, "Cancel");
  const body = h("div", {class: "working"}, progress, cancel);
  const title = request.inputs.map(({file, core}) => visible(file.name) + (core === null ? "" : `@${core}`)).join(", ");
  const card = h("article", {class: "result", "aria-labelledby": titleId, "aria-busy": "true"}, h("h2", {id: titleId}, title), body);
  const verdicts = h("div");
  /** @type {Result} */
  const result = {key, name: title, card, abort, converted: null, trace: null, drop: () => {}, verdicts};
  if (old === undefined) {
    resultsPlace.append(card);
  } else {
    old.card.replaceWith(card);
  }
  results.set(ids, result);
  const started = performance.now();
  try {
    const needed = new Map(entries.map((entry) => [entry.id, entry.file]));
    const {reply, output, drop} = await run(request, {files: needed, signal: abort.signal, progress: (part) => { progress.value = part; }});
    result.drop = drop;
    const seconds = (performance.now() - started) / 1000;
    result.converted = cleaned(/** @type {Converted} */ (reply));
    const bytesOfTrace = result.converted.report.traces[0]?.output_bytes ?? 0;
    result.trace = bytesOfTrace > 0 ? output : null;
    body.replaceWith(...shown(result, request, seconds));
  } catch (error) {
    if (!card.isConnected) {
      return;
    }
    const again = h("button", {type: "button", onclick: () => { result.key = ""; update(); }}, "Convert again");
    const isCancelled = error instanceof DOMException && error.name === "AbortError";
    body.replaceWith(h("p", {class: isCancelled ? "" : "error", role: "alert"}, message(error)), h("p", {class: "buttons"}, again));
  } finally {
    card.removeAttribute("aria-busy");
  }
}

/** @param {Result} result @param {ConvertRequest} request @param {number} seconds */
function shown(result, request, seconds) {
  const {converted, trace, name} = result;
  if (converted === null) {
    return [];
  }
  const statistics = converted.report.traces[0]?.statistics ?? null;
  const outcome = h("p", {role: "status", class: "outcome-line"});
  const tell = (/** @type {string} */ text) => { outcome.textContent = text; };
  const attempt = (/** @type {() => Promise<void>} */ action) => () => action().catch((error) => tell(message(error)));
  const file = `${request.name}.perfetto-trace`;
  const json = (/** @type {unknown} */ value) => new Blob([`${JSON.stringify(value, null, 2)}\n`], {type: "application/json"});
  const actions = trace === null ? null : h("p", {class: "buttons actions"},
    h("button", {type: "button", class: "primary", onclick: attempt(() => openInTab(trace, request.name, tell))}, "Open in Perfetto"),
    h("button", {type: "button", onclick: attempt(() => showHere(trace, request.name))}, "Show here"),
    h("button", {type: "button", onclick: () => download(trace, file)}, "Download"),
    h("button", {type: "button", class: "quiet", onclick: attempt(async () => download(await gzipped(trace), `${file}.gz`))}, "gzip"),
    h("button", {type: "button", class: "quiet", onclick: () => download(json(converted.report), `${request.name}.report.json`)}, "Report"),
    h("button", {type: "button", class: "quiet", onclick: () => download(json(converted.stats), `${request.name}.stats.json`)}, "Statistics"));
  const command = commandLine(request);
  const copy = h("button", {type: "button", class: "quiet", onclick: attempt(async () => {
    await navigator.clipboard.writeText(command);
    tell("Copied.");
  })}, "Copy");
  say(`${name}: ${trace === null ? "not converted" : "converted"} in ${seconds.toFixed(2)} s.`);
  return [actions, outcome, reportOf(converted, formats, converted.report.traces[0]?.output_bytes ?? 0), result.verdicts,
    statistics === null ? null : statisticsOf(statistics),
    h("div", {class: "command"}, h("span", {class: "label"}, "The same on a command line"), h("code", {}, visible(command)), copy)]
    .filter((part) => part !== null);
}

/** @param {Blob} trace */
async function gzipped(trace) {
  return new Response(trace.stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

/** @param {Blob} trace @param {string} title */
async function showHere(trace, title) {
  const section = byId("viewer", HTMLElement);
  section.hidden = false;
  section.scrollIntoView({block: "start"});
  const place = byId("viewer-status", HTMLElement);
  await showEmbedded(byId("viewer-frame", HTMLElement), trace, title, (text) => { place.textContent = text; });
}

/** Checks all recordings against all budgets. */
async function check() {
  const budgets = await Promise.all(entries.filter((entry) => entry.found?.kind === "budget")
    .map(async ({name, file}) => ({name, text: await file.text()})));
  await Promise.all([...results.values()].filter((result) => result.trace !== null).map(async ({converted, verdicts}) => {
    const shown = await Promise.all(budgets.map(async ({name, text}) => {
      try {
        const {reply} = await run({do: "check", budget: text, statistics: JSON.stringify(converted?.stats)});
        return verdictsOf(name, cleaned(/** @type {Checked} */ (reply)));
      } catch (error) {
        return h("p", {class: "error"}, `${name}: ${message(error)}`);
      }
    }));
    verdicts.replaceChildren(...shown);
  }));
}

/** What can be compared: statistics that were saved, and recordings of one format. */
async function comparable() {
  const saved = await Promise.all(entries.filter((entry) => entry.found?.kind === "statistics")
    .map(async ({name, file}) => ({name, statistics: await file.text()})));
  const of = (/** @type {Result} */ result) => result.converted?.report.inputs[0]?.format;
  const all = [...results.values()].filter((result) => result.trace !== null);
  const alike = all.filter((result) => saved.length > 0 || all.filter((other) => of(other) === of(result)).length > 1);
  return [...saved, ...alike.map(({name, converted}) => ({name, statistics: JSON.stringify(converted?.stats)}))];
}

async function renderComparison() {
  const all = await comparable();
  const section = byId("compare", HTMLElement);
  section.hidden = all.length < 2;
  if (section.hidden) {
    return;
  }
  const outcome = h("div", {"aria-live": "polite"});
  const select = (/** @type {string} */ id, /** @type {number} */ chosen) => h("select", {id, onchange: () => compare()},
    all.map(({name}, index) => h("option", {value: index, selected: index === chosen}, name)));
  const [before, after] = [select("compare-before", 0), select("compare-after", 1)];
  const chosen = (/** @type {HTMLSelectElement} */ select) => all[Number(select.value)];
  async function compare() {
    const [base, now] = [chosen(before), chosen(after)];
    if (base === undefined || now === undefined) {
      return;
    }
    try {
      const {reply} = await run({do: "diff", base: base.statistics, new: now.statistics});
      outcome.replaceChildren(differencesOf(base.name, now.name, cleaned(/** @type {Compared} */ (reply))));
    } catch (error) {
      outcome.replaceChildren(h("p", {class: "error"}, message(error)));
    }
  }
  byId("comparison", HTMLElement).replaceChildren(h("p", {class: "buttons"}, h("label", {for: before.id}, "Before"), before,
    h("label", {for: after.id}, "After"), after), outcome);
  await compare();
}

const KINDS = {"recording": "Recording", "archive": "Archive", "option-file": "Companion", "budget": "Budget", "statistics": "Statistics", "unknown": "Not used"};

/** The list of files. What has the keyboard's focus in it keeps it; if it is gone, the list has it. */
function render() {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  byId("files", HTMLElement).hidden = entries.length === 0;
  document.body.classList.toggle("busy", entries.length > 0);
  list.replaceChildren(h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Files"}, h("table", {class: "files"},
    h("thead", {}, h("tr", {}, ["file", "size", "what it is", "core", ""].map((title) => h("th", {scope: "col", class: title === "size" ? "number" : null}, title || h("span", {class: "hidden"}, "remove"))))),
    h("tbody", {}, entries.map(row)))));
  if (focused !== null) {
    const same = focused.id === "" ? null : document.getElementById(focused.id);
    (same ?? byId(entries.length > 0 ? "files" : "choose", HTMLElement)).focus({preventScroll: true});
  }
  const names = new Set(entries.map((entry) => entry.found?.format).filter((name) => name !== null && name !== undefined));
  form?.show(names);
}

/** @param {Entry} entry */
function row(entry) {
  const {file, found} = entry;
  const name = visible(entry.name);
  const format = formats.find((format) => format.name === found?.format);
  const what = found === null ? "looking at it …" : [
    h("span", {class: `kind ${found.kind}`}, found.kind === "recording" && format ? format.title : KINDS[found.kind]), " ",
    h("span", {class: found.kind === "unknown" ? "error" : "note"}, [found.because, found.layers.length > 0 ? ` (${found.layers.join(", ")})` : ""].join("")),
  ];
  const core = found?.kind === "recording" && found.recordings === 1
    ? h("select", {id: `core-${entry.id}`, "aria-label": `Core of ${name}`, onchange: (/** @type {Event} */ event) => {
        const {value} = /** @type {HTMLSelectElement} */ (event.target);
        entry.core = value === "" ? null : Number(value);
        update();
      }}, h("option", {value: "", selected: entry.core === null}, "all"),
      Array.from({length: CORES}, (_, core) => h("option", {value: core, selected: entry.core === core}, String(core))))
    : null;
  const users = companions.usersOf(entry, entries).map((user) => visible(user.name));
  const uses = users.length > 0 ? h("span", {class: "note"}, `; used for ${users.join(", ")}`) : null;
  const choices = companions.contested(entry).map(({option, entry: used, among, why}) => {
    const id = `companion-${entry.id}-${option}`;
    const automatic = entry.chosen.has(option) ? "choose for me" : `${visible(used.name)} (${why})`;
    const select = h("select", {id, onchange: (/** @type {Event} */ event) => {
      const {value} = /** @type {HTMLSelectElement} */ (event.target);
      value === "" ? entry.chosen.delete(option) : entry.chosen.set(option, Number(value));
      update();
    }}, h("option", {value: ""}, automatic),
    among.map((other) => h("option", {value: other.id, selected: entry.chosen.get(option) === other.id}, visible(other.name))));
    return h("div", {class: "companion"}, h("label", {for: id}, `--${option} for ${name}`), " ", select);
  });
  const button = h("button", {id: `remove-${entry.id}`, type: "button", class: "quiet", "aria-label": `Remove ${name}`, onclick: () => remove(entry)}, "×");
  return h("tr", {}, h("th", {scope: "row"}, name), h("td", {class: "number"}, bytes(file.size)), h("td", {}, what, uses, choices), h("td", {}, core), h("td", {}, button));
}

function listen() {
  const chosen = byId("chosen", HTMLInputElement);
  byId("choose", HTMLElement).addEventListener("click", () => chosen.click());
  chosen.addEventListener("change", () => {
    addFiles(chosen.files ?? []);
    chosen.value = "";
  });
  const drop = byId("drop", HTMLElement);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) {
      drop.classList.remove("over");
    }
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    addFiles(event.dataTransfer?.files ?? []);
  });
  const dialog = byId("paste-dialog", HTMLDialogElement);
  const pasted = byId("pasted", HTMLTextAreaElement);
  byId("paste", HTMLElement).addEventListener("click", () => dialog.showModal());
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "convert" && pasted.value.trim() !== "") {
      addFiles([new File([pasted.value], "pasted.txt", {type: "text/plain"})]);
      pasted.value = "";
    }
    dialog.returnValue = "";
  });
  addEventListener("paste", (event) => {
    const files = event.clipboardData?.files;
    if (files !== undefined && files.length > 0 && !dialog.open) {
      addFiles(files);
    }
  });
  byId("viewer-close", HTMLElement).addEventListener("click", () => {
    closeEmbedded(byId("viewer-frame", HTMLElement));
    byId("viewer", HTMLElement).hidden = true;
  });
}

const THEMES = ["auto", "light", "dark"];

function themes() {
  const button = byId("theme", HTMLElement);
  const show = (/** @type {string | null} */ theme) => {
    const shown = THEMES.find((known) => known === theme) ?? "auto";
    document.documentElement.dataset.theme = shown;
    button.textContent = `Colours: ${shown}`;
  };
  show(localStorage.getItem("theme"));
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length] ?? "auto";
    localStorage.setItem("theme", next);
    show(next);
  });
}

/** One example for each format, and one of several files. */
async function examples() {
  const response = await fetch("examples/examples.json");
  /** @type {{title: string, files: string[], cores?: number[]}[]} */
  const all = await response.json();
  const place = byId("examples", HTMLElement);
  place.append("or try an example: ", ...all.map(({title, files, cores}) => h("button", {type: "button", class: "example", onclick: async () => {
    try {
      await addFiles(await Promise.all(files.map(async (name) => {
        const response = await fetch(`examples/${name}`);
        if (!response.ok) {
          throw new Error(`${name} could not be loaded: ${response.status}`);
        }
        return new File([await response.blob()], name);
      })), cores);
    } catch (error) {
      say(message(error));
    }
  }}, title)));
}

async function offline() {
  const place = byId("offline", HTMLElement);
  if (!("serviceWorker" in navigator)) {
    place.textContent = "This page cannot be kept for use without a network here: browsers do that for https and localhost only.";
    return;
  }
  await navigator.serviceWorker.register("sw.js");
  await navigator.serviceWorker.ready;
  place.textContent = "This page works without a network now.";
}

/** Loads the converter, and makes the form of what it says. */
async function load() {
  const {reply} = await run({do: "formats"});
  /** @type {Formats} */
  const known = reply;
  formats = known.formats;
  form = new OptionsForm(formats, update);
  byId("options", HTMLElement).append(form.element);
  byId("about", HTMLElement).textContent = `traceconv ${known.version}. The viewer is ${viewer.origin}: it is loaded when you ask for it, and gets the trace from this page.`;
}

/** From then on there are formats and the form. */
const loaded = load();

async function start() {
  byId("unserved", HTMLElement).hidden = true;
  themes();
  listen();
  await loaded;
  offerLinked(addFiles, say);
  document.documentElement.dataset.ready = "true";
  await Promise.all([examples(), offline()]);
}

start().catch((error) => say(message(error)));
