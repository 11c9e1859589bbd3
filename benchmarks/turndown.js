// Converts HTML to Markdown with turndown and its GFM plugin, for benchmarks/peers.py.
// A line of standard input is a document as a JSON string; a line of output is [Markdown, CPU seconds of the conversion].
const { createInterface } = require("node:readline");
const TurndownService = require("turndown");
const { gfm } = require("@joplin/turndown-plugin-gfm");

const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced" });
service.use(gfm);

createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", (line) => {
  const html = JSON.parse(line);
  const before = process.cpuUsage();
  let markdown = "";
  try {
    markdown = service.turndown(html);
  } catch (error) {
    markdown = "";
  }
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(JSON.stringify([markdown, (user + system) / 1e6]) + "\n");
});
