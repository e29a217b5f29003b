// Makes the pictures of the page in docs/pictures: `node tests/pictures.mjs`, after `cargo xtask web`.

import {join} from "node:path";
import {chromium} from "playwright-core";

import {ARGS, CHROMIUM, PAGE, ROOT, serve, TESTDATA} from "./common.mjs";

/** @type {{name: string, file: string, tab: RegExp, width: number, colorScheme: "light" | "dark", from: string}[]} */
const PICTURES = [
  {name: "web-light", file: "demo.bin", tab: /^Tasks/, width: 1200, colorScheme: "light", from: "header"},
  {name: "web-dark", file: "damaged.bin", tab: /^Latency/, width: 1200, colorScheme: "dark", from: "article.result .facts"},
  {name: "web-narrow", file: "dpp.bin", tab: /^State machines/, width: 390, colorScheme: "light", from: "article.result"},
];

const site = await serve(PAGE);
const browser = await chromium.launch({executablePath: CHROMIUM, args: ARGS, chromiumSandbox: process.getuid?.() !== 0});
for (const {name, file, tab, width, colorScheme, from} of PICTURES) {
  const page = await browser.newPage({viewport: {width, height: 1010}, colorScheme});
  await page.goto(site.url);
  await page.locator("html[data-ready=true]").waitFor();
  await page.getByText("This page works without a network now.").waitFor();
  await page.locator("#chosen").setInputFiles(join(TESTDATA, "demo", file));
  await page.getByRole("tab", {name: tab}).click();
  await page.locator(from).evaluate((element) => element.scrollIntoView({block: "start"}));
  await page.screenshot({path: join(ROOT, "docs/pictures", `${name}.png`)});
  await page.close();
}
await browser.close();
site.close();
