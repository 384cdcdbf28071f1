// Builds what reports draw with: charts.js with the parts of ECharts that it names as one file, and the licences and
// notices of the packages that these parts are from.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const { metafile } = await build({
  entryPoints: ["charts.js"],
  outfile: "charts.built.js",
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "echarts",
  charset: "ascii",
  legalComments: "none", // the texts themselves are beside it
  logLevel: "warning",
  metafile: true,
});

const [output] = Object.values(metafile.outputs);
const parts = Object.entries(output.inputs).filter(([, part]) => part.bytesInOutput > 0);
const packages = new Set(parts.flatMap(([path]) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []));
writeFileSync("charts.built.txt", [...packages].sort().map(licences).join("\n"));

/** The name of a package, and every file with which it says under what terms it may be passed on. */
function licences(name) {
  const folder = `node_modules/${name}/`;
  const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const files = readdirSync(folder, { recursive: true })
    .filter((path) => /^(licenses\/.+|licen[cs]e(\..+)?|notice(\..+)?|copyright.*)$/i.test(path))
    .sort();
  if (files.length === 0) throw new Error(`${name} has no file that says its licence`);
  const text = (path) => readFileSync(folder + path, "utf8").replaceAll("\r", "").replace(/^\s*\n/, "").trimEnd();
  const texts = files.map((path) => `---- ${path}\n\n${text(path)}\n`);
  return `==== ${name} ${version}: ${license}\n\n${texts.join("\n")}`;
}
