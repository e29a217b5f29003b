// How fast the page is, and how much memory it takes: `node tests/measure.mjs FILE...`, after `cargo xtask web`. A browser with a profile
// on disk, as a person has it; memory is the proportional set size of its processes (Linux), so shared pages count once. Page and native
// program run in turn (`ROUNDS`, 5), and medians are compared, because the speed of a machine with other work changes.

import {spawnSync} from "node:child_process";
import {mkdtempSync, readdirSync, readFileSync, rmSync, statSync} from "node:fs";
import {tmpdir} from "node:os";
import {basename, join} from "node:path";
import {chromium} from "playwright-core";

import {ARGS, CHROMIUM, PAGE, PROGRAM, serve} from "./common.mjs";

/** All processes of a browser with this profile: their numbers, by what they do. @param {string} profile */
function processes(profile) {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split(/[\0 ]/);
      const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
      return {pid: Number(pid), parent, words};
    } catch {
      return {pid: 0, parent: 0, words: []};
    }
  });
  const browser = all.find(({words}) => words.includes(`--user-data-dir=${profile}`) && !words.some((word) => word.startsWith("--type=")));
  const family = new Set([browser?.pid]);
  for (let size = 0; size < family.size;) {
    size = family.size;
    all.filter(({parent}) => family.has(parent)).forEach(({pid}) => family.add(pid));
  }
  const pages = all.filter(({pid, words}) => family.has(pid) && words.includes("--type=renderer")).map(({pid}) => pid);
  return {pages, others: [...family].filter((pid) => pid !== undefined && !pages.includes(pid))};
}

/** Memory of processes in MB, and their processor time in seconds. @param {(number | undefined)[]} pids */
function usage(pids) {
  let [memory, seconds] = [0, 0];
  for (const pid of pids) {
    try {
      memory += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1024 / 1e6;
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      seconds += (Number(fields[11]) + Number(fields[12])) / 100;
    } catch {
      // It has ended.
    }
  }
  return {memory, seconds};
}

/** The processor time of the native program with one thread and with statistics, as the page. @param {string} path @param {string} report */
function nativeSeconds(path, report) {
  const script = `TIMEFORMAT='%U %S'; time "$0" --quiet --threads 1 --report "$2" -o "$2.trace" "$1"`;
  const {stderr} = spawnSync("bash", ["-c", script, PROGRAM, path, report], {encoding: "utf8"});
  const [user = 0, system = 0] = (stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
  return Number((user + system).toFixed(2));
}

/** The middle of some values. @param {number[]} values */
function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
}

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const site = await serve(PAGE);
for (const path of process.argv.slice(2)) {
  const profile = mkdtempSync(join(tmpdir(), "traceconv-profile-"));
  const context = await chromium.launchPersistentContext(profile, {executablePath: CHROMIUM, args: ARGS, chromiumSandbox: process.getuid?.() !== 0});
  context.setDefaultTimeout(1_200_000);
  const [page] = context.pages();
  if (page === undefined) {
    throw new Error("the browser has no page");
  }
  await page.goto(site.url);
  await page.locator("html[data-ready=true]").waitFor();
  await page.waitForTimeout(1000);
  const {pages, others} = processes(profile);
  const before = {pages: usage(pages), others: usage(others)};
  const peak = {pages: 0, others: 0};
  const timer = setInterval(() => {
    peak.pages = Math.max(peak.pages, usage(pages).memory);
    peak.others = Math.max(peak.others, usage(others).memory);
  }, 100);
  await page.locator("#chosen").setInputFiles(path);
  await page.locator("article.result button.primary").waitFor();
  clearInterval(timer);
  const cold = usage(pages).seconds;
  const said = await page.locator("#status").innerText();
  const elapsed = Number(/in ([\d.]+) s/.exec(said)?.[1]);
  await page.waitForTimeout(3000);
  // Again, with code that the browser has optimised.
  const [warm, native] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  for (let round = 0; round < ROUNDS; round++) {
    const start = usage(pages).seconds;
    await page.getByRole("button", {name: /^Remove/}).click();
    await page.locator("article.result").waitFor({state: "detached"});
    await page.locator("#chosen").setInputFiles(path);
    await page.locator("article.result button.primary").waitFor();
    warm.push(Number((usage(pages).seconds - start).toFixed(2)));
    native.push(nativeSeconds(path, join(profile, "report.json")));
  }
  const after = {pages: usage(processes(profile).pages).memory, others: usage(processes(profile).others).memory};
  console.log(JSON.stringify({
    file: basename(path), bytes: statSync(path).size, elapsed_seconds: elapsed, processor_seconds: {cold: Number((cold - before.pages.seconds).toFixed(2)), warm, native},
    speed_percent: Math.round(100 * median(native) / median(warm)), page_mb: {before: Math.round(before.pages.memory), peak: Math.round(peak.pages), after: Math.round(after.pages)},
    browser_mb: {before: Math.round(before.others.memory), peak: Math.round(peak.others), after: Math.round(after.others)},
  }));
  await context.close();
  rmSync(profile, {recursive: true, force: true});
}
site.close();
