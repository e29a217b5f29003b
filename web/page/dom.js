// Elements, and numbers and names as people read them.

/** @typedef {Node | string | null | undefined | false | Child[]} Child Lists are taken apart. */

/**
 * An element with attributes and children. `on…` are listeners; `false` and `null` leave an attribute out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  append(element, children);
  return element;
}

/** @param {Element} element @param {Child[]} children */
export function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) {
      append(element, child);
    } else if (child !== null && child !== undefined && child !== false) {
      element.append(child);
    }
  }
}

/** @template {Element} T @param {string} id @param {new () => T} type @returns {T} */
export function byId(id, type) {
  const element = document.getElementById(id);
  if (!(element instanceof type)) {
    throw new Error(`the page has no #${id}`);
  }
  return element;
}

// Characters that would change how the text around them is shown: of captures they come into names.
const INVISIBLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A text from a capture, with control characters made visible. @param {string} text */
export function visible(text) {
  return text.replace(INVISIBLE, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

const INTEGER = new Intl.NumberFormat("en");

/** @param {number} value */
export function count(value) {
  return INTEGER.format(value);
}

/** @param {number} value @param {string} noun */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** @param {number} value */
export function bytes(value) {
  const units = ["bytes", "kB", "MB", "GB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${value} ${value === 1 ? "byte" : "bytes"}` : `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit]}`;
}

/** A time with three or four digits. @param {number | null | undefined} ns */
export function time(ns) {
  if (ns === null || ns === undefined) {
    return "";
  }
  const units = ["ns", "µs", "ms", "s"];
  let value = ns;
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < 3) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(value >= 1000 ? 4 : 3)} ${units[unit]}`;
}

/** @param {number | null | undefined} value */
export function percent(value) {
  return value === null || value === undefined ? "" : `${value.toFixed(value < 10 ? 2 : 1)} %`;
}

/** @param {number} hz */
export function frequency(hz) {
  const units = ["Hz", "kHz", "MHz", "GHz"];
  let unit = 0;
  while (hz >= 1000 && unit < units.length - 1) {
    hz /= 1000;
    unit += 1;
  }
  return `${Number(hz.toPrecision(6))} ${units[unit]}`;
}

/** A name without its last extension. @param {string} name */
export function stem(name) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** Saves a file. @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", {href: url, download: name}).click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
