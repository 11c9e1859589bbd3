"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const frame = document.getElementById("page"), text = document.getElementById("html");
const output = document.getElementById("output"), raw = document.getElementById("raw");
const rules = document.querySelectorAll("details[data-rule]");
const lineStarts = [0];
raw.normalize();  // a browser splits long texts
for (let at = raw.textContent.indexOf("\n"); at >= 0; at = raw.textContent.indexOf("\n", at + 1)) lineStarts.push(at + 1);

// An event: [rule, element, path, excerpt, dropped, start, end], offsets in the Markdown.
function lineOf(offset) {
  let low = 0, high = lineStarts.length;
  while (high - low > 1) { const middle = (low + high) >> 1; if (lineStarts[middle] <= offset) low = middle; else high = middle; }
  return low;
}
function blockOf(start, end) {
  const first = lineOf(start), last = lineOf(Math.max(start, end - 1));
  let best = null, size = Infinity;
  for (const block of output.querySelectorAll("[data-lines]")) {
    const [from, to] = block.dataset.lines.split("-").map(Number);
    if (from <= first && last < to && to - from <= size) { best = block; size = to - from; }
  }
  return best;
}
function rangeIn(root, wanted, share) {  // the occurrence of a text that stands nearest to where it should
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), nodes = [];
  let whole = "";
  while (walker.nextNode()) { nodes.push([whole.length, walker.currentNode]); whole += walker.currentNode.data; }
  let best = -1;
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + 1))
    if (best < 0 || Math.abs(at - share * whole.length) < Math.abs(best - share * whole.length)) best = at;
  if (best < 0 || !wanted) return null;
  const place = offset => { let i = nodes.length - 1; while (i > 0 && nodes[i][0] > offset) i--; return [nodes[i][1], offset - nodes[i][0]]; };
  const range = document.createRange(), last = place(best + wanted.length - 1);
  range.setStart(...place(best)); range.setEnd(last[0], last[1] + 1);
  return range;
}
function scrollTo(box, top) { box.scrollTop += top - box.getBoundingClientRect().top - box.clientHeight / 3; }
function show(events, jump) {
  const inner = frame.contentDocument, ranges = [];
  for (const root of [inner, text, output]) for (const hit of root.querySelectorAll(".hit")) hit.classList.remove("hit");
  for (const item of document.querySelectorAll("li.on")) item.classList.remove("on");
  let first = true;
  for (const [, element, , , , start, end] of events) {
    const seen = inner.querySelector(`[data-n="${element}"]`), coded = text.querySelector(`[data-n="${element}"]`);
    if (seen) seen.classList.add("hit");
    if (coded) coded.classList.add("hit");
    const range = document.createRange(), block = blockOf(start, end);
    range.setStart(raw.firstChild || raw, start); range.setEnd(raw.firstChild || raw, end);
    if (end > start) ranges.push(range);
    if (block && end > start) {
      const [from] = block.dataset.lines.split("-").map(Number), plain = raw.textContent.slice(start, end).replace(/\\([!-/:-@[-`{-~])/g, "$1");
      const found = rangeIn(block, plain, (start - lineStarts[from]) / Math.max(1, (block.textContent || "").length));
      if (found) ranges.push(found); else block.classList.add("hit");
    }
    if (first && jump) {
      if (seen) seen.scrollIntoView({ block: "center" });
      if (coded && !text.hidden) scrollTo(text, coded.getBoundingClientRect().top);
      if (block) scrollTo(output, block.getBoundingClientRect().top);
      scrollTo(raw, range.getBoundingClientRect().top || range.getClientRects()[0]?.top || 0);
    }
    first = false;
  }
  if (window.Highlight) CSS.highlights.set("place", new Highlight(...ranges));
}
for (const rule of rules) {
  const mine = data.events.filter(event => event[0] === Number(rule.dataset.rule)), list = rule.querySelector("ol");
  rule.querySelector("summary").addEventListener("click", () => {
    if (!list.childElementCount) for (const event of mine.slice(0, data.listed)) {
      const item = document.createElement("li"), where = document.createElement("small"), lost = document.createElement("em");
      lost.textContent = event[4].slice(0, 300);
      if (event[4]) item.append(lost); else item.append(event[3] || "(no text)");
      where.textContent = event[2];
      item.append(where);
      item.addEventListener("click", () => { show([event], true); item.classList.add("on"); });
      list.append(item);
    }
    show(mine.slice(0, data.listed), true);
  });
}
for (const button of document.querySelectorAll("button[data-view]")) button.addEventListener("click", () => {
  for (const other of document.querySelectorAll("button[data-view]")) {
    other.classList.toggle("on", other === button);
    document.getElementById(other.dataset.view).hidden = other !== button;
  }
});
function follow(target) {  // a click in the page shows what became of the element
  const element = target.closest && target.closest("[data-n]");
  if (element) show(data.events.filter(event => event[1] === Number(element.dataset.n)), false);
}
text.addEventListener("click", event => follow(event.target));
function ready() {
  frame.contentDocument.addEventListener("click", event => follow(event.target));
  const set = document.documentElement.dataset;
  set.rules = document.querySelectorAll("details:not(.none)").length;
  set.events = data.events.length;
  set.formulas = [...output.querySelectorAll("math")].filter(math => math.getBoundingClientRect().width > 0).length;
  set.dropped = frame.contentDocument.querySelectorAll(".dropped").length;
  if (location.hash) { const rule = document.getElementById(location.hash.slice(1)); if (rule) rule.querySelector("summary").click(); }
  set.shown = frame.contentDocument.querySelectorAll(".hit").length;
  set.placed = window.Highlight && CSS.highlights.has("place") ? CSS.highlights.get("place").size : 0;
  set.ready = "yes";
}
// Until the page is in it, the frame has an empty document of its own, which is complete.
const loaded = frame.contentDocument && frame.contentDocument.URL === "about:srcdoc" && frame.contentDocument.readyState === "complete";
if (loaded) ready(); else frame.addEventListener("load", ready);
