// Keeps a page up to date: fetches it again, and replaces what has changed.
"use strict";
(() => {
  const island = document.getElementById("data"), { every_ms: EVERY_MS, gone: GONE } = JSON.parse(island.textContent).live;
  // So many times as long an answer may take.
  const PATIENCE = 15;
  // What report.js fills, and not the server; what is for readers without scripts is text here, and elements where none runs.
  const OURS = ".plot, .legend, .choices, .downloads, noscript";
  const sub = () => document.querySelector(".sub");

  // Whether two elements differ in words alone; and to make one say what the other says. Whoever reads it does not notice: what is
  // scrolled, focused and unfolded stays so.
  const isOurs = (node) => node.nodeType === Node.ELEMENT_NODE && node.matches(OURS);
  const alike = (mine, theirs) => mine.nodeName === theirs.nodeName && (isOurs(mine) || (mine.childNodes.length === theirs.childNodes.length
    && [...mine.childNodes].every((child, place) => alike(child, theirs.childNodes[place]))));
  function retell(mine, theirs) {
    if (isOurs(mine) || mine.isEqualNode(theirs)) return;
    if (mine.nodeType !== Node.ELEMENT_NODE) { mine.nodeValue = theirs.nodeValue; return; }
    for (const { name, value } of theirs.attributes) if (mine.getAttribute(name) !== value) mine.setAttribute(name, value);
    [...mine.childNodes].forEach((child, place) => retell(child, theirs.childNodes[place]));
  }

  function complain(text) {
    sub().textContent = text;
    sub().classList.add("warning");
  }

  async function renew() {
    let page;
    try {
      const answer = await fetch(location.pathname, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE * EVERY_MS) });
      if (!answer.ok) throw new Error(answer.statusText);
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch (error) {
      complain(error.name === "TimeoutError" ? `There was no answer for ${PATIENCE * EVERY_MS / 1000} s.` : GONE);
      return;
    }
    document.title = page.title;
    sub().replaceWith(page.querySelector(".sub"));
    document.querySelector("h1").textContent = page.querySelector("h1").textContent;
    const [main, other] = [document, page].map((each) => each.querySelector("main")), told = page.getElementById("data").textContent;
    const changed = told !== island.textContent, sections = [...main.children], others = [...other.children];
    island.textContent = told;
    const same = sections.length === others.length && sections.every((section, place) => section.id === others[place].id);
    const replaceable = (section, theirs) => alike(section, theirs) || !(section.querySelector("figure.chart") || theirs.querySelector("figure.chart"));
    if (!same || !sections.every((section, place) => replaceable(section, others[place]))) {
      // It is another page: all is drawn anew, with what the reader has hidden and zoomed.
      document.querySelector("nav").replaceWith(page.querySelector("nav"));
      main.replaceWith(other);
      window.shallows.start();
      return;
    }
    sections.forEach((section, place) => {
      if (alike(section, others[place])) retell(section, others[place]);
      else section.replaceChildren(...others[place].childNodes);
    });
    if (changed) window.shallows.renew();
  }
  (async function forever() {
    for (;;) {
      await new Promise((done) => setTimeout(done, EVERY_MS));
      if (!document.hidden) await renew();
    }
  })();
})();
