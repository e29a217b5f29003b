// The page in Chromium: what a person does with it, and what it must not do.

import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {createHash} from "node:crypto";
import {copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {tmpdir} from "node:os";
import {basename, delimiter, dirname, join} from "node:path";
import {after, afterEach, before, beforeEach, describe, test} from "node:test";
import {gunzipSync, gzipSync} from "node:zlib";
import {chromium} from "playwright-core";

import {ARGS, captures, CHROMIUM, nativeTrace, PAGE, PROGRAM, ROOT, serve, SERVING, stem, TESTDATA, zip, zstd} from "./common.mjs";

/** @import {Browser, BrowserContext, Page, Request} from "playwright-core" */

const LARGE_BYTES = Number(process.env.WEB_TEST_LARGE_BYTES ?? 300_000_000);
const PINS_AND_EXPANDS = /dev\.perfetto\.PinTracksByRegex.*dev\.perfetto\.ExpandTracksByRegex/;

/** A viewer with the handshake of the real one: it answers PING, and keeps what it is given. */
const STAND_IN = `<!doctype html><title>stand-in</title><script>
window.given = [];
addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", event.origin);
  else if (event.data.perfetto) given.push({...event.data.perfetto, bytes: event.data.perfetto.buffer.byteLength});
});
</script>`;

const at = (/** @type {string} */ name) => join(TESTDATA, name);

/** Makes a recording. @param {string} path @param {number} bytes */
function generate(path, bytes) {
  execFileSync(join(ROOT, "build/release/xtask"), ["gen", "tonbandgeraet", "--bytes", String(bytes), "--seed", "7", "-o", path], {stdio: "inherit"});
}

/** What the native program writes. @param {string} command As the page shows it. @param {string} cwd */
function traceOf(command, cwd) {
  const env = {...process.env, PATH: `${dirname(PROGRAM)}${delimiter}${process.env.PATH}`};
  execFileSync("sh", ["-c", `${command} --quiet -o trace`], {cwd, env});
  return readFileSync(join(cwd, "trace"));
}

/** The number of events in a recording, as the page shows it: the native program's. @param {string} path */
function events(path) {
  const {recordings} = JSON.parse(execFileSync(PROGRAM, ["info", "--quiet", "--json", path], {encoding: "utf8"}));
  return new RegExp(`\\b${recordings[0].inputs[0].events.toLocaleString("en")}\\b`);
}

describe("the page", () => {
  /** @type {string} */ let folder;
  /** @type {Awaited<ReturnType<typeof serve>>} */ let site;
  /** @type {Awaited<ReturnType<typeof serve>>} */ let elsewhere;
  /** @type {Browser} */ let browser;
  /** @type {BrowserContext} */ let context;
  /** @type {Page} */ let page;
  /** Requests to other origins than the page's. @type {string[]} */ let foreign;
  /** What the browser complains about: among it what the page's policy forbids. @type {string[]} */ let complaints;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "traceconv-web-"));
    writeFileSync(join(folder, "index.html"), STAND_IN);
    writeFileSync(join(folder, "linked.bin"), readFileSync(at("demo/demo.bin")));
    site = await serve(PAGE);
    elsewhere = await serve(folder, {"Access-Control-Allow-Origin": "*"});
    browser = await chromium.launch({executablePath: CHROMIUM, args: ARGS, chromiumSandbox: process.getuid?.() !== 0});
  });

  after(async () => {
    await browser?.close();
    site?.close();
    elsewhere?.close();
    rmSync(folder, {recursive: true});
  });

  beforeEach(async () => {
    context = await browser.newContext({viewport: {width: 1200, height: 900}, acceptDownloads: true});
    // Only so that a test that waits in vain ends: how long anything takes on a busy machine is not judged.
    context.setDefaultTimeout(600_000);
    [foreign, complaints] = [[], []];
    context.on("request", (/** @type {Request} */ request) => {
      if (!request.url().startsWith(site.url) && !request.url().startsWith("blob:")) {
        foreign.push(request.url());
      }
    });
    page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        complaints.push(message.text());
      }
    });
    page.on("pageerror", (error) => complaints.push(error.message));
  });

  afterEach(async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  });

  /** @param {string} [query] */
  async function open(query = "") {
    await page.goto(`${site.url}${query}`);
    await page.locator("html[data-ready=true]").waitFor();
  }

  /** Gives the page files, as the button does. @param {...string} paths */
  async function choose(...paths) {
    await page.locator("#chosen").setInputFiles(paths);
  }

  /** The card of a recording, once it is done. @param {string} name */
  async function result(name) {
    const card = page.locator("article.result", {has: page.getByRole("heading", {name, exact: true})});
    await card.locator("xpath=self::*[not(@aria-busy)]").waitFor();
    return card;
  }

  /** What a button of a card saves. @param {import("playwright-core").Locator} card @param {string} button */
  async function saved(card, button) {
    const waiting = page.waitForEvent("download");
    await card.getByRole("button", {name: button, exact: true}).click();
    const download = await waiting;
    return {name: download.suggestedFilename(), bytes: readFileSync(await download.path())};
  }

  test("a file that is dropped becomes the trace of the native program, and nothing leaves the page", async () => {
    await open();
    const bytes = [...readFileSync(at("demo/demo.bin"))];
    await page.evaluate((bytes) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], "demo.bin"));
      document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
    }, bytes);
    const card = await result("demo.bin");
    assert.match(await card.innerText(), events(at("demo/demo.bin")));
    assert.match(await card.innerText(), /Nothing was lost/);
    const native = await nativeTrace(at("demo/demo.bin"));
    const plain = await saved(card, "Download");
    assert.equal(plain.name, "demo.perfetto-trace");
    assert.ok(native?.equals(plain.bytes));
    const gzipped = await saved(card, "gzip");
    assert.ok(native?.equals(gunzipSync(gzipped.bytes)));
    assert.equal(JSON.parse((await saved(card, "Statistics")).bytes.toString()).recordings.length, 1);
    assert.match(await card.locator(".command").innerText(), /traceconv demo\.bin/);
    assert.deepEqual(foreign, []);
  });

  test("every capture gives the same bytes as the native program", async () => {
    await open();
    let traces = 0;
    for (const path of await captures()) {
      const file = path.slice(TESTDATA.length + 1);
      const [native, converted] = await Promise.all([nativeTrace(path), page.evaluate(async ({file, name, module}) => {
        const {run} = await import(module);
        const source = new File([await (await fetch(`testdata/${file}`)).blob()], file.split("/").at(-1) ?? "");
        const inputs = [{file: {id: 1, name: source.name, bytes: source.size}, core: null}];
        const {reply, output, drop} = await run({do: "convert", name, inputs, own: []}, {files: new Map([[1, source]])});
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await output.arrayBuffer()));
        drop();
        const failed = reply.report.inputs.some((/** @type {any} */ input) => input.error !== null);
        return {failed, digest: [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("")};
      }, {file, name: stem(basename(file)), module: `${site.url}converter.js`})]);
      assert.equal(converted.failed, native === null, file);
      if (native !== null) {
        assert.equal(converted.digest, createHash("sha256").update(native).digest("hex"), `${file} differs`);
        traces += 1;
      }
    }
    assert.ok(traces > 80, `only ${traces} captures were converted`);
  });

  test("every example works with one click, and its command line gives the same trace", async () => {
    await open();
    const examples = JSON.parse(readFileSync(join(PAGE, "examples/examples.json"), "utf8"));
    // They come after the page is ready, all at once.
    await page.locator("button.example").first().waitFor();
    assert.equal(await page.locator("button.example").count(), examples.length);
    for (const {title, files} of examples) {
      await open();
      await page.getByRole("button", {name: title, exact: true}).click();
      await page.locator("article.result:not([aria-busy])").first().waitFor();
      await page.locator("article.result[aria-busy]").first().waitFor({state: "detached"});
      assert.equal(await page.locator("#results .error").count(), 0, title);
      const folder = mkdtempSync(join(tmpdir(), "traceconv-example-"));
      for (const file of files) {
        copyFileSync(join(PAGE, "examples", file), join(folder, file));
      }
      for (const card of await page.locator("article.result").all()) {
        const command = await card.locator(".command code").innerText();
        assert.ok(traceOf(command, folder).equals((await saved(card, "Download")).bytes), command);
      }
      rmSync(folder, {recursive: true});
    }
  });

  test("losses are shown with their places, and tables are sorted", async () => {
    await open();
    await choose(at("demo/damaged.bin"));
    const card = await result("damaged.bin");
    const ledger = card.getByRole("region", {name: "Losses and repairs"});
    assert.ok(await ledger.locator("tbody tr").count() > 2);
    assert.match(await ledger.innerText(), /events lost, at least/);
    const tasks = card.getByRole("region", {name: "Tasks"});
    const names = () => tasks.locator("tbody th").allInnerTexts();
    await tasks.getByRole("button", {name: "task", exact: true}).click();
    const ascending = await names();
    assert.deepEqual(ascending, [...ascending].sort((a, b) => a.localeCompare(b, "en", {numeric: true})));
    await tasks.getByRole("button", {name: "task", exact: true}).click();
    assert.deepEqual(await names(), ascending.reverse());
  });

  test("several files: cores of one recording, and companions that find their recordings", async () => {
    const chosen = mkdtempSync(join(folder, "several-"));
    const names = ["demo/dual-0.bin", "demo/dual-1.bin", "miniprofiler/generated.bin", "symbols/pump.elf", "demo/dpp.bin", "demo/dpp.dic"];
    names.forEach((name) => copyFileSync(at(name), join(chosen, basename(name))));
    await open();
    await choose(...names.map((name) => join(chosen, basename(name))));
    await result("dual-1.bin");
    await page.getByLabel("Core of dual-0.bin").selectOption("0");
    await page.getByLabel("Core of dual-1.bin").selectOption("1");
    const dual = await result("dual-0.bin@0, dual-1.bin@1");
    const command = await dual.locator(".command code").innerText();
    assert.match(command, /^traceconv dual-0\.bin@0 dual-1\.bin@1/);
    assert.ok(traceOf(command, chosen).equals((await saved(dual, "Download")).bytes), command);
    assert.match(await (await result("generated.bin")).locator(".command").innerText(), /--elf pump\.elf/);
    assert.match(await (await result("dpp.bin")).locator(".command").innerText(), /--qs-dict dpp\.dic/);
    // The only program is tried with every recording: one that was made with another says so.
    assert.match(await (await result("dpp.bin")).innerText(), /pump\.elf is another program or another build/);
    assert.doesNotMatch(await (await result("generated.bin")).innerText(), /another program/);
    assert.equal(await page.locator("article.result").count(), 3);
  });

  test("of several programs each recording gets the one that it was made with", async () => {
    await open();
    const stripped = join(folder, "stripped.elf");
    copyFileSync(at("symbols/pump_stripped.elf"), stripped);
    // Another build: an instruction differs. The first bytes of code are those of the first segment, and their place is in its header.
    const other = join(folder, "other.elf");
    const program = readFileSync(at("demo/pump.elf"));
    const place = program.readUInt32LE(program.readUInt32LE(28) + 4) + 0x80;
    program.writeUInt8((program[place] ?? 0) ^ 1, place);
    writeFileSync(other, program);
    // The right one is neither the first nor the last.
    await choose(at("demo/pump.bin"), stripped, at("demo/pump.elf"), other);
    const card = await result("pump.bin");
    await card.getByText("--elf pump.elf").waitFor();
    assert.match(await card.innerText(), /the one that ran/);
    assert.match(await page.getByRole("row", {name: /^pump\.elf/}).innerText(), /used for pump\.bin/);
    const select = page.getByLabel("--elf for pump.bin");
    assert.match(await select.locator("option:checked").innerText(), /pump\.elf \(the recording states it\)/);
    await select.selectOption({label: "other.elf"});
    await (await result("pump.bin")).getByText("--elf other.elf").waitFor();
    await page.getByLabel("--elf for pump.bin").selectOption({label: "choose for me"});
    await (await result("pump.bin")).getByText("--elf pump.elf").waitFor();
  });

  test("traces are in the browser's storage until the page is closed, and in memory where that is missing or full", async () => {
    const recording = join(folder, "stored.bin");
    generate(recording, 12_000_000);
    const native = await nativeTrace(recording);
    const stored = () => page.evaluate(async () => {
      const sizes = [];
      const folders = await (await navigator.storage.getDirectory()).getDirectoryHandle("traces", {create: true});
      for await (const folder of folders.values()) {
        for await (const file of /** @type {FileSystemDirectoryHandle} */ (folder).values()) {
          sizes.push((await /** @type {FileSystemFileHandle} */ (file).getFile()).size);
        }
      }
      return sizes;
    });
    const convert = async () => {
      await open();
      await choose(recording);
      assert.ok(native?.equals((await saved(await result("stored.bin"), "Download")).bytes));
    };
    await convert();
    assert.deepEqual(await stored(), [native?.length]);
    // The trace of the page before is removed.
    await convert();
    assert.deepEqual(await stored(), [native?.length]);

    const session = await context.newCDPSession(page);
    // Less than the trace, whether the storage of the page before is given back already or not.
    await session.send("Storage.overrideQuotaForOrigin", {origin: new URL(site.url).origin, quotaSize: Math.floor((native?.length ?? 0) / 2)});
    await convert();
    const [kept = 0] = await stored();
    assert.ok(kept < (native?.length ?? 0), `${kept} bytes were kept`);
    await session.send("Storage.overrideQuotaForOrigin", {origin: new URL(site.url).origin});

    await page.addInitScript("delete StorageManager.prototype.getDirectory");
    await convert();
  });

  test("a file that is none says what it is, compressed ones and text are read", async () => {
    await open();
    const picture = join(folder, "photo.png");
    writeFileSync(picture, Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"));
    const compressed = join(folder, "demo.bin.gz");
    writeFileSync(compressed, gzipSync(readFileSync(at("demo/demo.bin"))));
    await choose(picture, compressed);
    await page.getByText("is a PNG picture").waitFor();
    await choose(picture);
    await page.getByRole("status").getByText("Not used: photo.png. The list of files says why.").waitFor();
    assert.match(await (await result("demo.bin.gz")).innerText(), events(at("demo/demo.bin")));
    await page.getByRole("button", {name: "Paste hex or base64"}).click();
    await page.getByLabel("Hex digits or base64").fill(readFileSync(at("demo/demo.bin")).toString("hex"));
    await page.getByRole("button", {name: "Convert", exact: true}).click();
    assert.match(await (await result("pasted.txt")).innerText(), /hex text/);
    await page.getByRole("button", {name: "Remove pasted.txt"}).click();
    await page.getByRole("heading", {name: "pasted.txt"}).waitFor({state: "detached"});
  });

  test("the files in archives are recordings and companions", async () => {
    const inside = mkdtempSync(join(folder, "archive-"));
    mkdirSync(join(inside, "run"));
    copyFileSync(at("demo/demo.bin"), join(inside, "run", "demo.bin"));
    copyFileSync(at("demo/dpp.bin"), join(inside, "dpp.bin"));
    copyFileSync(at("demo/dpp.dic"), join(inside, "dpp.dic"));
    writeFileSync(join(inside, ".hidden"), "x");
    writeFileSync(join(inside, "inner.tar.gz"), gzipSync(execFileSync("tar", ["-C", at("demo"), "-cf", "-", "demo.bin"])));
    const names = ["run/demo.bin", "dpp.bin", "dpp.dic", ".hidden", "inner.tar.gz"];
    const zipped = zip(names.map((name) => ({name, bytes: readFileSync(join(inside, name))})));
    symlinkSync("dpp.bin", join(inside, "link"));
    const tar = execFileSync("tar", ["-C", inside, "-cf", "-", ...names, "link"], {maxBuffer: 2 ** 26});
    copyFileSync(at("demo/dpp.dic"), join(folder, "dpp.dic"));
    const archives = {"all.tar": tar, "all.tar.gz": gzipSync(tar), "all.tar.zst": zstd(tar), "all.zip": zipped};
    for (const [name, bytes] of Object.entries(archives)) {
      const archive = join(folder, name);
      writeFileSync(archive, bytes);
      await open();
      await choose(archive);
      for (const member of ["run/demo.bin", "dpp.bin"]) {
        const card = await result(`${name}!${member}`);
        const command = await card.locator(".command code").innerText();
        assert.equal(command, `traceconv '${name}!${member}'${member === "dpp.bin" ? " --qs-dict dpp.dic" : ""}`);
        const trace = await saved(card, "Download");
        assert.equal(trace.name, `${stem(basename(member))}.perfetto-trace`);
        assert.ok(traceOf(command, folder).equals(trace.bytes), command);
      }
      const files = page.locator("table.files tbody tr");
      assert.equal(await files.count(), name === "all.zip" ? 5 : 6);
      await page.getByText("is an archive in an archive").waitFor();
      assert.equal(await page.getByText("is a link in an archive").count(), name === "all.zip" ? 0 : 1);
      await page.getByRole("button", {name: `Remove ${name}`, exact: true}).click();
      await page.locator("article.result").first().waitFor({state: "detached"});
      assert.equal(await files.count(), 0);
    }
    const broken = join(folder, "broken.tar.gz");
    writeFileSync(broken, gzipSync(tar).subarray(0, 20_000));
    await choose(broken);
    await page.getByText("is an archive that cannot be read").waitFor();
  });

  test("options come from the formats and change the trace", async () => {
    await open();
    await choose(at("demo/dpp.bin"));
    await result("dpp.bin");
    await page.locator("#options > summary").click();
    await page.getByLabel("--qs-events").check();
    await page.getByRole("button", {name: "Convert with these options"}).click();
    await page.getByText("traceconv dpp.bin --qs-events").waitFor();
    const card = await result("dpp.bin");
    assert.ok((await nativeTrace(at("demo/dpp.bin"), "--qs-events"))?.equals((await saved(card, "Download")).bytes));
    await page.getByLabel("--from").fill("5 parsecs");
    await page.getByRole("button", {name: "Convert with these options"}).click();
    await page.getByText("--from: `parsecs` is no unit").waitFor();
    await page.getByText("; drop the file on this page").first().waitFor();
  });

  test("odd names of files are neither options nor commands in the command that is shown", async () => {
    const inside = mkdtempSync(join(folder, "names-"));
    const names = ["-o file.bin", "stats", "it's <b>.bin", "part@0", "\u202enib.bin"];
    names.forEach((name) => copyFileSync(at("demo/demo.bin"), join(inside, name)));
    await open();
    await choose(...names.map((name) => join(inside, name)));
    await context.grantPermissions(["clipboard-read", "clipboard-write"], {origin: site.url});
    for (const name of names) {
      const card = await result(name.replace("\u202e", "\\u{202e}"));
      const trace = await saved(card, "Download");
      await card.getByRole("button", {name: "Copy"}).click();
      await card.getByText("Copied.").waitFor();
      const command = await page.evaluate("navigator.clipboard.readText()");
      assert.ok(traceOf(command, inside).equals(trace.bytes), command);
    }
  });

  test("a budget gives verdicts, two recordings give differences", async () => {
    await open();
    await choose(at("demo/before.bin"), at("demo/after.bin"), at("demo/budget.toml"));
    const card = await result("after.bin");
    await card.locator(".outcome.broken").first().waitFor();
    assert.match(await card.locator(".verdicts").innerText(), /was measured on the slowest board/);
    await page.locator("#comparison").getByText("task filter").first().waitFor();
    await page.getByLabel("Before", {exact: true}).selectOption({label: "after.bin"});
    await page.getByLabel("After", {exact: true}).selectOption({label: "before.bin"});
    await page.locator("#comparison").getByText("after.bin → before.bin").waitFor();
  });

  test("the viewer gets the trace after a click: in a tab, and in the page", async () => {
    await open(`?viewer=${encodeURIComponent(elsewhere.url)}`);
    await choose(at("demo/demo.bin"), at("demo/dpp.bin"));
    const card = await result("demo.bin");
    const other = await result("dpp.bin");
    assert.deepEqual(foreign, []);
    const opening = context.waitForEvent("page");
    await card.getByRole("button", {name: "Open in Perfetto"}).click();
    const tab = await opening;
    await tab.waitForFunction("given.length === 1");
    const given = /** @type {any} */ (await tab.evaluate("given.map(({title, fileName, bytes}) => ({title, fileName, bytes}))"));
    const length = (await nativeTrace(at("demo/demo.bin")))?.length;
    assert.deepEqual(given, [{title: "demo", fileName: "demo.perfetto-trace", bytes: length}]);
    assert.match(decodeURIComponent(tab.url()), PINS_AND_EXPANDS);
    await card.getByText("The viewer has the trace.").waitFor();
    await tab.close();

    await card.getByRole("button", {name: "Show here"}).click();
    const frame = page.frames().find((frame) => frame.url().startsWith(elsewhere.url)) ?? await page.waitForEvent("framenavigated");
    assert.match(frame.url(), /mode=embedded/);
    await frame.waitForFunction("given.length === 1");
    await other.getByRole("button", {name: "Show here"}).click();
    await frame.waitForFunction("given.length === 2");
    assert.deepEqual(await frame.evaluate("given.map(({title, keepApiOpen}) => [title, keepApiOpen])"), [["demo", true], ["dpp", true]]);
    assert.deepEqual(new Set(foreign.map((url) => new URL(url).origin)), new Set([new URL(elsewhere.url).origin]));
  });

  test("a linked recording is fetched after a click, and its origin is shown before", async () => {
    await open(`?url=${encodeURIComponent(`${elsewhere.url}linked.bin`)}`);
    const load = page.getByRole("button", {name: `Load it from ${new URL(elsewhere.url).host}`});
    await load.waitFor();
    assert.deepEqual(foreign, []);
    await load.click();
    await result("linked.bin");
    assert.deepEqual(foreign, [`${elsewhere.url}linked.bin`]);
    await open(`?url=${encodeURIComponent("javascript:alert(1)")}`);
    await page.getByText("only http and https addresses are fetched").waitFor();
  });

  test("without a network the page still works", async () => {
    // A server of its own, which is ended.
    const short = await serve(PAGE);
    await page.goto(short.url);
    await page.getByText("This page works without a network now.").waitFor();
    short.close();
    await page.reload();
    await page.locator("html[data-ready=true]").waitFor();
    await page.locator("button.example").first().click();
    assert.match(await (await result("demo.bin")).innerText(), events(at("demo/demo.bin")));
    foreign = [];
  });

  test("opened as a file it says that it has to be served", async () => {
    await page.goto(`file://${join(PAGE, "index.html")}`);
    await page.getByText("This page needs JavaScript, and has to be served").waitFor();
    // The browser's own complaints about it.
    complaints = [];
    foreign = [];
  });

  test("the program serves the page that is in it", async () => {
    const program = spawn(SERVING, ["web", "--port=0", "--no-browser"], {stdio: ["ignore", "ignore", "pipe"]});
    try {
      let said = "";
      const url = await new Promise((resolve, reject) => {
        program.stderr.on("data", (text) => {
          said += text;
          const link = /http:\/\/127\.0\.0\.1:\d+\//.exec(said);
          link === null || resolve(link[0]);
        });
        program.on("exit", () => reject(new Error(said)));
      });
      await page.goto(`${url}?viewer=${encodeURIComponent(elsewhere.url)}`);
      await page.getByText("This page works without a network now.").waitFor();
      await page.locator("button.example").first().click();
      assert.match(await (await result("demo.bin")).innerText(), events(at("demo/demo.bin")));
      assert.equal((await fetch(`${url}not-there`)).status, 404);
    } finally {
      program.kill();
    }
  });

  test("nothing serious is in the way of people with a keyboard or a screen reader", async () => {
    const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      await page.emulateMedia({colorScheme});
      await open();
      for (const files of [[], [at("demo/damaged.bin"), at("demo/after.bin"), at("demo/budget.toml")]]) {
        if (files.length > 0) {
          await choose(...files);
          await (await result("after.bin")).locator(".verdicts table").waitFor();
          await page.locator("#options > summary").click();
        }
        // By the debugger, which the page's policy does not concern.
        await page.evaluate(axe);
        const {violations} = /** @type {any} */ (await page.evaluate("axe.run()"));
        const serious = violations.filter((/** @type {any} */ one) => ["serious", "critical"].includes(one.impact));
        assert.deepEqual(serious.map((/** @type {any} */ one) => [one.id, one.nodes.map((/** @type {any} */ node) => node.html)]), []);
      }
    }
  });

  test("a narrow window does not scroll sideways", async () => {
    await page.setViewportSize({width: 360, height: 740});
    await open();
    await choose(at("demo/damaged.bin"), at("demo/after.bin"), at("demo/budget.toml"));
    await (await result("after.bin")).locator(".verdicts table").waitFor();
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
  });

  test("a keyboard is enough", async () => {
    await open();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to the files");
    await page.locator("button.example").first().focus();
    await page.keyboard.press("Enter");
    const card = await result("demo.bin");
    await card.getByRole("tab", {name: /^Tasks/}).focus();
    await page.keyboard.press("ArrowRight");
    await card.getByRole("tabpanel", {name: /^Latency/}).waitFor();
    await page.keyboard.press("Tab");
    assert.match(String(await page.evaluate("document.activeElement.getAttribute('aria-label')")), /Latency/);
    // The focus stays where it is when the list of files is made again, and is in the list if its control is gone.
    await choose(at("demo/damaged.bin"));
    await result("damaged.bin");
    await page.getByLabel("Core of demo.bin").focus();
    await page.keyboard.press("ArrowDown");
    await result("demo.bin@0");
    assert.equal(await page.evaluate("document.activeElement.getAttribute('aria-label')"), "Core of demo.bin");
    await page.getByRole("button", {name: "Remove demo.bin"}).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", {name: "demo.bin@0"}).waitFor({state: "detached"});
    assert.equal(await page.evaluate("document.activeElement.id"), "files");
  });

  test("a large recording can be cancelled, converted again, and is the same as the native one", async () => {
    const large = join(folder, "large.bin");
    generate(large, LARGE_BYTES);
    await open();
    await choose(large);
    await page.locator("article.result progress").waitFor();
    while (await page.locator("article.result progress").evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value) < 0.01) {
      await page.waitForTimeout(10);
    }
    await page.getByRole("button", {name: "Cancel"}).click();
    await page.getByText("Cancelled.").waitFor();
    const started = performance.now();
    await page.getByRole("button", {name: "Convert again"}).click();
    const card = await result("large.bin");
    const seconds = (performance.now() - started) / 1000;
    console.log(`${LARGE_BYTES} bytes in ${seconds.toFixed(1)} s: ${(LARGE_BYTES / seconds / 1e6).toFixed(0)} MB/s`);
    const waiting = page.waitForEvent("download");
    await card.getByRole("button", {name: "Download", exact: true}).click();
    const download = await waiting;
    const trace = join(folder, "large.perfetto-trace");
    await download.saveAs(trace);
    execFileSync(PROGRAM, ["--quiet", "-o", join(folder, "native"), large]);
    assert.equal(statSync(trace).size, statSync(join(folder, "native")).size);
    execFileSync("cmp", [trace, join(folder, "native")]);
  });
});
