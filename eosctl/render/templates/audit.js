"use strict";
(() => {
  const all = (selector, under = document) => [...under.querySelectorAll(selector)];
  const root = document.documentElement;

  // Filters: every word must be in the row's text, and its severity must be ticked.
  const texts = new WeakMap();
  const textOf = row => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase().replace(/\s+/g, " "));
    return texts.get(row);
  };
  const filter = id => {
    const box = document.querySelector(`[data-filters="${id}"]`);
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = new Set(all(`[data-of="${id}"]:checked`).map(each => each.dataset.severity));
    const rows = all("[data-row]", document.getElementById(id));
    let seen = 0;
    for (const row of rows) {
      const fits = (!row.dataset.level || levels.has(row.dataset.level)) && words.every(word => textOf(row).includes(word));
      row.hidden = !fits;
      seen += fits;
    }
    const count = number => number.toLocaleString("en");
    document.querySelector(`[data-counts="${id}"]`).textContent = `${count(seen)} of ${count(rows.length)}`;
  };
  for (const box of all("[data-filters]")) box.addEventListener("input", () => filter(box.dataset.filters));
  for (const box of all("[data-of]")) box.addEventListener("change", () => filter(box.dataset.of));
  for (const link of all("[data-find]")) link.addEventListener("click", () => {
    document.querySelector('[data-filters="finding-rows"]').value = link.dataset.find;
    filter("finding-rows");
  });

  // Sorting: a click on a header, figures as figures.
  const valueOf = cell => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(text.replaceAll(",", ""));
    return text === "-" ? -Infinity : Number.isNaN(number) ? text : number;
  };
  for (const table of all("table[data-sorts]")) all("thead th", table).forEach((header, column) => {
    const button = document.createElement("button");
    button.textContent = header.textContent;
    header.replaceChildren(button);
    if (table.tBodies[0].rows[0]?.cells[column].classList.contains("n")) header.classList.add("n");
    button.addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") === "ascending";
      for (const each of all("th", table.tHead)) each.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0) * (down ? -1 : 1);
      const rows = [...table.tBodies[0].rows].map(row => [valueOf(row.cells[column]), row]);
      rows.sort((one, other) => order(one[0], other[0]));
      table.tBodies[0].append(...rows.map(pair => pair[1]));
    });
  });

  // Plots: Plotly is unpacked once the text is on the screen; the policy knows its hash.
  const unpack = async () => {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), char => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };
  const draw = async () => {
    const plots = JSON.parse(document.getElementById("plots").textContent);
    if (plots.length) await unpack();
    const touch = matchMedia("(pointer: coarse)").matches;
    const config = {responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false, doubleClick: "reset", showTips: false};
    for (const {key, traces, layout} of plots) {
      const place = document.getElementById(`plot-${key}`);
      await Plotly.newPlot(place, traces, {...layout, dragmode: touch ? false : "zoom",
        font: {...layout.font, family: getComputedStyle(document.body).fontFamily}}, config);
      place.style.minHeight = "";
    }
    const fit = width => all(".js-plotly-plot").forEach(each => Plotly.relayout(each, {width, autosize: !width}));
    addEventListener("beforeprint", () => fit(680));
    addEventListener("afterprint", () => fit(undefined));
    return plots.length;
  };
  const main = async () => {
    try {
      root.dataset.plots = await draw();
    } catch (error) {
      document.getElementById("no-plots").hidden = false;
      console.error(error);
    }
    root.dataset.ready = "yes";
  };
  // Two frames: the text first.
  requestAnimationFrame(() => requestAnimationFrame(main));
})();
