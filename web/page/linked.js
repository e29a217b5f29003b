// A link to this page may name a recording on a server (`?url=`). Whose it is, is shown; it is fetched when the user agrees.

import {byId, h, visible} from "./dom.js";

/** @param {(files: File[]) => Promise<void>} addFiles @param {(text: string) => void} say */
export function offerLinked(addFiles, say) {
  const text = new URLSearchParams(location.search).get("url");
  if (text === null) {
    return;
  }
  const place = byId("link", HTMLElement);
  /** @type {URL} */
  let url;
  try {
    url = new URL(text, location.href);
  } catch {
    say(`The link names ${visible(text)}, which is no address.`);
    return;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    say(`The link names ${visible(url.href)}; only http and https addresses are fetched.`);
    return;
  }
  const load = h("button", {type: "button", class: "primary", onclick: async () => {
    load.disabled = true;
    say(`Loading from ${url.host} …`);
    try {
      const name = decodeURIComponent(url.pathname.split("/").at(-1) || "linked");
      const file = new File([await fetched(url.href)], name);
      place.hidden = true;
      say("");
      await addFiles([file]);
    } catch (error) {
      load.disabled = false;
      say(`${visible(url.href)} was not loaded: ${error instanceof Error ? error.message : error}.`);
    }
  }}, `Load it from ${url.host}`);
  place.replaceChildren(h("p", {}, "This link names a recording: ", h("code", {}, visible(url.href))),
    h("p", {class: "buttons"}, load, h("span", {class: "small"}, "Nothing is requested from there before you click.")));
  place.hidden = false;
}

/** @param {string} url @returns {Promise<Blob>} */
function fetched(url) {
  return new Promise((resolve, reject) => {
    const frame = h("iframe", {src: "fetch.html", hidden: true, title: "Loads the recording"});
    const heard = (/** @type {MessageEvent} */ event) => {
      if (event.source !== frame.contentWindow || event.origin !== location.origin) {
        return;
      }
      if (event.data.fetched === "ready") {
        frame.contentWindow?.postMessage({url}, location.origin);
      } else if (event.data.fetched === url) {
        removeEventListener("message", heard);
        frame.remove();
        event.data.blob instanceof Blob ? resolve(event.data.blob) : reject(new Error(event.data.error));
      }
    };
    addEventListener("message", heard);
    document.body.append(frame);
  });
}
