// The converter in Node: the same bytes as the native program, for every capture and for options and companions.

import assert from "node:assert/strict";
import {closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {basename, join} from "node:path";
import {before, test} from "node:test";

import {ask} from "../page/engine.js";
import {captures, nativeTrace, PAGE, stem, TESTDATA} from "./common.mjs";

/** @import {Request} from "../page/types.d.ts" */

/** @type {WebAssembly.Module} */
let module;

before(async () => {
  module = await WebAssembly.compile(readFileSync(join(PAGE, "traceconv.wasm")));
});

/** A file as the page refers to it: its path is its number's place in `paths`. @param {string[]} paths @param {string} path */
function ref(paths, path) {
  return {id: paths.push(path) - 1, name: basename(path), bytes: statSync(path).size};
}

/** @param {Request} request @param {string[]} paths */
async function answer(request, paths) {
  /** @type {Uint8Array[]} */
  const pieces = [];
  const reply = await ask(module, request, {
    read(id, offset, bytes) {
      const descriptor = openSync(paths[id] ?? "", "r");
      const buffer = new Uint8Array(bytes);
      const count = readSync(descriptor, buffer, 0, bytes, offset);
      closeSync(descriptor);
      return buffer.subarray(0, count);
    },
    emit: (piece) => pieces.push(piece.slice()),
  });
  return {reply, trace: Buffer.concat(pieces)};
}

/** @param {string[]} files @param {object} options */
async function convert(files, options = {}) {
  /** @type {string[]} */
  const paths = [];
  const inputs = files.map((file) => {
    const [path, core] = file.split("@");
    return {file: ref(paths, join(TESTDATA, path ?? "")), core: core === undefined ? null : Number(core)};
  });
  return answer({do: "convert", name: stem(inputs[0]?.file.name ?? ""), inputs, own: [], ...options}, paths);
}

test("every capture gives the same bytes as the native program", async () => {
  let traces = 0;
  for (const path of await captures()) {
    const file = path.slice(TESTDATA.length + 1);
    const {reply, trace} = await convert([file]);
    const native = await nativeTrace(path);
    if (native === null) {
      assert.ok(reply.report.inputs.some((/** @type {any} */ input) => input.error !== null), `${file} is converted by the page only`);
    } else {
      assert.equal(reply.report.inputs[0].error, null, file);
      assert.ok(native.equals(trace), `${file} differs`);
      traces += 1;
    }
  }
  assert.ok(traces > 80, `only ${traces} captures were converted`);
});

test("cores, options and companions count as on the command line", async () => {
  const at = (/** @type {string} */ name) => join(TESTDATA, name);
  const same = async (/** @type {string[]} */ files, /** @type {object} */ options, /** @type {string[]} */ args) => {
    const {reply, trace} = await convert(files, options);
    const native = await nativeTrace(...files.map(at), ...args);
    assert.equal(reply.report.inputs[0].error, null);
    assert.ok(native?.equals(trace), `${files} ${args}`);
  };
  await same(["demo/dual-0.bin@0", "demo/dual-1.bin@1"], {}, []);
  await same(["demo/demo.bin"], {from: "+10ms", to: "1s", clock_hz: "168M"}, ["--from=+10ms", "--to=1s", "--clock-hz=168M"]);
  await same(["demo/dpp.bin"], {own: [{name: "qs-events"}, {name: "qs-tick-hz", text: "100"}]}, ["--qs-events", "--qs-tick-hz=100"]);
});

test("JSON with a hex text for each core is one recording", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "traceconv-web-"));
  context.after(() => rmSync(folder, {recursive: true}));
  const hex = (/** @type {string} */ name) => readFileSync(join(TESTDATA, "demo", name)).toString("hex");
  const data = [{core_id: 0, hex: hex("dual-0.bin")}, {core_id: 1, hex: hex("dual-1.bin")}];
  const path = join(folder, "two.json");
  writeFileSync(path, JSON.stringify({title: "two", trace_mode: "freertos", data}));
  /** @type {string[]} */
  const paths = [];
  const file = ref(paths, path);
  const {reply: found} = await answer({do: "inspect", file}, paths);
  assert.deepEqual([found.kind, found.format, found.recordings], ["recording", "tonbandgeraet", 2]);
  const {reply, trace} = await answer({do: "convert", name: "two", inputs: [{file, core: null}], own: []}, paths);
  assert.deepEqual(reply.report.inputs.map((/** @type {any} */ input) => input.core), [0, 1]);
  assert.ok((await nativeTrace(path))?.equals(trace));
});

test("names come from the ELF file of a recording", async () => {
  /** @type {string[]} */
  const paths = [];
  const file = ref(paths, join(TESTDATA, "demo/dpp.bin"));
  const dictionary = ref(paths, join(TESTDATA, "demo/dpp.dic"));
  const {reply} = await answer({do: "convert", name: "dpp", inputs: [{file, core: null}], own: [{name: "qs-dict", file: dictionary}]}, paths);
  assert.equal(reply.report.inputs[0].error, null);
  const elf = ref(paths, join(TESTDATA, "symbols/pump.elf"));
  const mini = ref(paths, join(TESTDATA, "miniprofiler/generated.bin"));
  const request = (/** @type {any[]} */ own) => answer({do: "convert", name: "m", inputs: [{file: mini, core: null}], own}, paths);
  const [without, with_] = [await request([]), await request([{name: "elf", file: elf}])];
  assert.notDeepEqual(without.trace, with_.trace);
});

test("files are recognised by content", async () => {
  /** @type {[string, string, string | null, string | null][]} */
  const expected = [
    ["demo/demo.bin", "recording", "tonbandgeraet", null],
    ["demo/app.xml", "option-file", null, "collateral"],
    ["demo/dpp.dic", "option-file", null, "qs-dict"],
    ["symbols/pump.elf", "option-file", null, "elf"],
    ["demo/budget.toml", "budget", null, null],
    ["memory/plain.ram", "recording", "tonbandgeraet", null],
    ["symbols/valve.cpp", "unknown", null, null],
    ["../web/page/icon.svg", "unknown", null, null],
  ];
  for (const [name, kind, format, option] of expected) {
    /** @type {string[]} */
    const paths = [];
    const {reply} = await answer({do: "inspect", file: ref(paths, join(TESTDATA, name))}, paths);
    assert.deepEqual([name, reply.kind, reply.format, reply.option], [name, kind, format, option]);
    assert.notEqual(reply.because, "");
  }
});

test("each format has an example that is recognised as it", async () => {
  const {reply: {formats}} = await answer({do: "formats"}, []);
  const examples = JSON.parse(readFileSync(join(PAGE, "examples/examples.json"), "utf8"));
  const recognised = new Set();
  for (const name of examples.flatMap((/** @type {{files: string[]}} */ example) => example.files)) {
    /** @type {string[]} */
    const paths = [];
    const {reply} = await answer({do: "inspect", file: ref(paths, join(PAGE, "examples", name))}, paths);
    assert.notEqual(reply.kind, "unknown", `${name} ${reply.because}`);
    recognised.add(reply.format);
  }
  for (const {name} of formats) {
    assert.ok(recognised.has(name), `there is no example of ${name}`);
  }
});

test("budgets and differences are judged as by the program", async () => {
  const [before, after] = [await convert(["demo/before.bin"]), await convert(["demo/after.bin"])];
  const statistics = (/** @type {any} */ converted) => JSON.stringify(converted.reply.stats);
  const budget = readFileSync(join(TESTDATA, "demo/budget.toml"), "utf8");
  const {reply: checked} = await answer({do: "check", budget, statistics: statistics(after)}, []);
  assert.deepEqual(checked.verdicts.filter((/** @type {any} */ one) => one.outcome === "broken").map((/** @type {any} */ one) => one.name), ["filter"]);
  const {reply: compared} = await answer({do: "diff", base: statistics(before), new: statistics(after)}, []);
  assert.match(compared.worst, /filter/);
  await assert.rejects(answer({do: "check", budget: "rules = [", statistics: statistics(after)}, []), /line 1/);
});

test("a file that cannot be read is an error, not a panic", async () => {
  const request = /** @type {Request} */ ({do: "convert", name: "x", inputs: [{file: {id: 0, name: "gone.bin", bytes: 10}, core: null}], own: []});
  const {reply} = await answer(request, ["/not/there"]);
  assert.match(reply.report.inputs[0].error, /gone\.bin .*cannot be read/);
});
