// The form with the options of a conversion, made from what the formats declare, and the command line that does the same.

import {h} from "./dom.js";

/** @import {ConvertRequest, Format, OptionSpec} from "./types.d.ts" */

/** The options that every format has. @type {{name: string, help: string, placeholder?: string, choices?: string[][]}[]} */
const GENERAL = [
  {name: "format", help: "What the recordings are taken for, instead of what they look like", choices: []},
  {name: "detail", help: "How much detail the trace has: which events become instants of their own", choices: [["", "default"], ["overview", "overview"], ["all", "all"]]},
  {name: "from", help: "Leave out what was before this time; with a plus sign: after the first event", placeholder: "+2s"},
  {name: "to", help: "Leave out what was after this time", placeholder: "1.5ms"},
  {name: "clock_hz", help: "The frequency of the time stamps in Hz, instead of the one that the recording states", placeholder: "168M"},
  {name: "cores", help: "The number of the target's cores, if it is not to be found out", placeholder: "2"},
];

/** An option as the command line and the messages of the converter call it. @param {string} name */
function flag(name) {
  return `--${name.replace("_", "-")}`;
}

/** The form: its element, and what is in it. */
export class OptionsForm {
  /** @param {Format[]} formats @param {() => void} changed */
  constructor(formats, changed) {
    this.formats = formats;
    this.own = h("div", {class: "fields"});
    const general = GENERAL.map((option) => {
      const choices = option.name === "format"
        ? [["", "recognise"], ...formats.map((format) => [format.name, format.title])]
        : option.choices;
      const control = choices === undefined
        ? h("input", {name: option.name, placeholder: option.placeholder, autocomplete: "off", spellcheck: "false"})
        : h("select", {name: option.name}, choices.map(([value, text]) => h("option", {value}, text ?? "")));
      return field(flag(option.name), option.help, control);
    });
    this.element = h("form", {onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); changed(); }},
      h("div", {class: "fields"}, general), this.own,
      h("p", {class: "buttons"}, h("button", {type: "submit"}, "Convert with these options"),
        h("button", {type: "reset", class: "quiet", onclick: () => setTimeout(changed)}, "Reset")));
  }

  /** Shows the options of these formats. @param {Set<string>} names */
  show(names) {
    const shown = this.formats.filter((format) => names.has(format.name));
    const key = shown.map((format) => format.name).join();
    if (this.own.dataset.key === key) {
      return;
    }
    this.own.dataset.key = key;
    /** @type {Map<string, {spec: OptionSpec, titles: string[]}>} */
    const specs = new Map();
    for (const format of shown) {
      for (const spec of format.options) {
        const known = specs.get(spec.name);
        if (known === undefined) {
          specs.set(spec.name, {spec, titles: [format.title]});
        } else {
          known.titles.push(format.title);
        }
      }
    }
    const fields = [...specs.values()].map(({spec, titles}) => {
      const name = `own:${spec.name}`;
      if (spec.kind === "file") {
        return h("div", {class: "field"}, h("span", {class: "label"}, flag(spec.name)),
          h("span", {class: "help"}, `${spec.help} (${titles.join(", ")}); drop the file on this page`));
      }
      const control = spec.kind === "flag"
        ? h("input", {type: "checkbox", name})
        : h("input", {name, placeholder: spec.value, autocomplete: "off", spellcheck: "false"});
      const several = spec.repeatable ? "; several are separated by commas" : "";
      return field(flag(spec.name), `${spec.help} (${titles.join(", ")})${several}`, control);
    });
    this.own.replaceChildren(...fields);
  }

  /**
   * What the user said about a recording of this format.
   * @param {Format | undefined} format
   * @returns {Pick<ConvertRequest, "format" | "detail" | "from" | "to" | "clock_hz" | "cores" | "own">}
   */
  values(format) {
    const data = new FormData(this.element);
    /** @type {any} */
    const values = {own: []};
    for (const {name} of GENERAL) {
      const value = String(data.get(name) ?? "").trim();
      if (value !== "") {
        values[name] = name === "cores" ? Number(value) || 0 : value;
      }
    }
    for (const spec of format?.options ?? []) {
      const value = String(data.get(`own:${spec.name}`) ?? "").trim();
      if (value === "") {
        continue;
      }
      const texts = spec.kind === "flag" ? [undefined] : spec.repeatable ? value.split(",").map((text) => text.trim()) : [value];
      texts.forEach((text) => values.own.push({name: spec.name, text}));
    }
    return values;
  }
}

/** @param {string} label @param {string} help @param {HTMLInputElement | HTMLSelectElement} control */
function field(label, help, control) {
  control.id = `option-${control.name.replace(":", "-")}`;
  control.setAttribute("aria-describedby", `${control.id}-help`);
  return h("div", {class: "field"}, h("label", {for: control.id}, label), control, h("span", {class: "help", id: `${control.id}-help`}, help));
}

/** A word for a shell. @param {string} word */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The name of a file in a command: not one that would be taken for an option or a command. @param {string} name */
function quotedFile(name) {
  return quoted(/^-|^[a-z]+$/.test(name) ? `./${name}` : name);
}

/** The command that does the same as a request. @param {ConvertRequest} request */
export function commandLine(request) {
  const words = ["traceconv"];
  for (const {file, core} of request.inputs) {
    words.push(quotedFile(core === null ? file.name : `${file.name}@${core}`));
  }
  for (const {name} of GENERAL) {
    const value = request[/** @type {keyof ConvertRequest} */ (name)];
    if (value !== undefined) {
      words.push(flag(name), quoted(String(value)));
    }
  }
  for (const {name, text, file} of request.own) {
    words.push(flag(name));
    if (text !== undefined || file !== undefined) {
      words.push(text === undefined ? quotedFile(file?.name ?? "") : quoted(text));
    }
  }
  return words.join(" ");
}
