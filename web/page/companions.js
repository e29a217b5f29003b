// The files that recordings need beside them: programs, catalogs and dictionaries. Each is used for the recordings whose format has an
// option for it. If there are several for one option, the recording is read with each of them, and the one that explains most is used.

import {run} from "./converter.js";
import {stem} from "./dom.js";

/** @import {Chosen, Entry, Format} from "./types.d.ts" */

/** @param {Entry} entry */
function ref({id, name, file}) {
  return {id, name, bytes: file.size};
}

/** A choice for a recording: the file that is used, all that could be, and why. @typedef {{option: string, entry: Entry, among: Entry[], why: string}} Choice */

export class Companions {
  /** What was found out already, by the recording and the files in question. @type {Map<string, Promise<Chosen>>} */
  #answers = new Map();
  /** The present choices of a recording, by its number. @type {Map<number, Choice[]>} */
  #choices = new Map();

  /**
   * The files for the options of a recording.
   * @param {Entry} recording
   * @param {Format | undefined} format
   * @param {Entry[]} entries
   */
  async of(recording, format, entries) {
    /** @type {{name: string, entry: Entry}[]} */
    const used = [];
    /** @type {Choice[]} */
    const choices = [];
    for (const {name, kind, repeatable} of format?.options ?? []) {
      const among = kind === "file" ? entries.filter(({found}) => found?.option === name) : [];
      if (repeatable || among.length === 0) {
        used.push(...among.map((entry) => ({name, entry})));
        choices.push(...among.map((entry) => ({option: name, entry, among: [entry], why: ""})));
        continue;
      }
      const choice = await this.#choose(recording, /** @type {Format} */ (format), name, among);
      used.push({name, entry: choice.entry});
      choices.push(choice);
    }
    this.#choices.set(recording.id, choices);
    return used;
  }

  /** Options of a recording for which there are several files. @param {Entry} recording */
  contested(recording) {
    return (this.#choices.get(recording.id) ?? []).filter(({among}) => among.length > 1);
  }

  /** The recordings that a file is used for. @param {Entry} companion @param {Entry[]} entries */
  usersOf(companion, entries) {
    return entries.filter(({id}) => this.#choices.get(id)?.some(({entry}) => entry === companion));
  }

  /** @param {Entry} recording @param {Format} format @param {string} option @param {Entry[]} among @returns {Promise<Choice>} */
  async #choose(recording, format, option, among) {
    const last = /** @type {Entry} */ (among.at(-1));
    const wanted = among.find(({id}) => id === recording.chosen.get(option));
    if (wanted !== undefined) {
      return {option, entry: wanted, among, why: "your choice"};
    }
    if (among.length === 1) {
      return {option, entry: last, among, why: ""};
    }
    const candidates = among.map(ref);
    const key = JSON.stringify([recording.id, format.name, option, candidates]);
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      const files = new Map([recording, ...among].map(({id, file}) => [id, file]));
      answer = run({do: "choose", file: ref(recording), format: format.name, option, candidates}, {files})
        .then(({reply}) => reply, () => ({best: [], stated: false}));
      this.#answers.set(key, answer);
    }
    const {best, stated} = await answer;
    const fitting = among.filter(({id}) => best.includes(id));
    const [only] = fitting;
    if (fitting.length === 1 && only !== undefined) {
      return {option, entry: only, among, why: stated ? "the recording states it" : "it explains most"};
    }
    const named = fitting.find(({file}) => stem(file.name) === stem(recording.file.name));
    return named !== undefined
      ? {option, entry: named, among, why: "it has the recording's name"}
      : {option, entry: fitting.at(-1) ?? last, among, why: "the last of those that fit"};
  }
}
