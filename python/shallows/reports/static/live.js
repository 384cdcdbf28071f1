// Keeps the page of a running sweep up to date: fetches it again, and replaces what has changed.
"use strict";
(() => {
  const EVERY_MS = 2000;
  const hasCharts = (section) => section.querySelector("figure.chart") !== null;
  let shown = document.getElementById("data").textContent;
  const stripped = new Map();
  async function renew() {
    let page;
    try {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      document.querySelector(".sub").textContent = "The server has ended. `shallows serve` starts it again.";
      return;
    }
    document.title = page.title;
    document.querySelector(".sub").textContent = page.querySelector(".sub").textContent;
    document.querySelector("h1").textContent = page.querySelector("h1").textContent;
    const data = page.getElementById("data").textContent, sections = [...page.querySelectorAll("main > section")];
    const names = (found) => [...found].map((section) => section.id).join();
    if (names(sections) !== names(document.querySelectorAll("main > section")) || data !== shown) {
      // Points were added: everything is drawn anew, with what the reader has hidden and zoomed.
      document.querySelector("nav").replaceWith(page.querySelector("nav"));
      document.querySelector("main").replaceWith(page.querySelector("main"));
      document.getElementById("data").textContent = shown = data;
      window.shallows.start();
    } else {
      for (const section of sections) {
        const mine = document.getElementById(section.id);
        if (!hasCharts(section) && stripped.get(section.id) !== section.innerHTML) {
          stripped.set(section.id, section.innerHTML);
          mine.replaceChildren(...section.childNodes);
        }
      }
    }
  }
  (async function forever() {
    for (;;) {
      await new Promise((done) => setTimeout(done, EVERY_MS));
      if (!document.hidden) await renew();
    }
  })();
})();
