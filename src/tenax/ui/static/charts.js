// Draws charts with uPlot: one for each element with `data-chart`, in the colours of the theme.
"use strict";
(() => {
  const LEGEND = 28; // pixels of a line that names series
  const drawn = new Map();

  function colour(box, tone) {
    const probe = document.createElement("span");
    probe.className = `ink-${tone}`;
    box.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  // Times as 13:05, at midnight with the date.
  const day = (at) => at.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  const hour = (at) => `${String(at.getHours()).padStart(2, "0")}:${String(at.getMinutes()).padStart(2, "0")}`;
  function timesInWords(times) {
    let before = "";
    return times.map((time) => {
      const at = new Date(time * 1000);
      const date = day(at);
      const words = date === before ? hour(at) : `${hour(at)}\n${date}`;
      before = date;
      return words;
    });
  }

  // One value makes no line, so it is a point.
  const isSparse = (values) => values.filter((value) => value !== null).length < 2;

  function draw(box) {
    const { times, series, unit } = JSON.parse(box.dataset.chart);
    const ink = colour(box, "muted");
    const grid = { stroke: colour(box, "line"), width: 1 };
    const font = `11px ${getComputedStyle(box).fontFamily}`;
    const axis = { stroke: ink, grid, ticks: { show: false }, font };
    const options = {
      width: box.clientWidth,
      height: box.clientHeight - (series.length > 1 ? LEGEND * Math.ceil(series.length / 3) : 0),
      legend: { show: series.length > 1 },
      cursor: { points: { size: 6 } },
      series: [{ label: "", value: (_, time) => time === null ? "" : timesInWords([time])[0].replace("\n", ", ") }, ...series.map(({ name, tone, values }) => ({ label: name, stroke: colour(box, tone), width: 1.5, spanGaps: true, value: (_, value) => value === null ? "" : `${value.toLocaleString()}${unit}`, points: { show: isSparse(values), size: 4 } }))],
      axes: [{ ...axis, values: (_, times) => timesInWords(times) }, { ...axis, size: 52, values: (_, values) => values.map((value) => `${value.toLocaleString()}${unit}`) }],
    };
    return new window.uPlot(options, [times, ...series.map(({ values }) => values)], box);
  }

  // Names the lines of a chart, and whether they are points. A chart with the same lines takes new values without being drawn anew.
  const namesOf = (box) => JSON.parse(box.dataset.chart).series.map(({ name, values }) => `${name}${isSparse(values)}`).join();

  function drawAll({ again = false } = {}) {
    for (const [box, { plot }] of drawn) {
      if (!box.isConnected) {
        plot.destroy();
        drawn.delete(box);
      }
    }
    for (const box of document.querySelectorAll("[data-chart]")) {
      const before = drawn.get(box);
      if (before && !again && before.data === box.dataset.chart) continue;
      if (before && !again && before.names === namesOf(box)) {
        const { times, series } = JSON.parse(box.dataset.chart);
        before.plot.setData([times, ...series.map(({ values }) => values)]);
        before.data = box.dataset.chart;
        continue;
      }
      before?.plot.destroy();
      drawn.set(box, { plot: draw(box), data: box.dataset.chart, names: namesOf(box) });
    }
  }

  document.addEventListener("tenax:changed", () => drawAll());
  document.addEventListener("tenax:theme", () => drawAll({ again: true }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll({ again: true }));
  addEventListener("resize", () => drawAll({ again: true }));
  document.addEventListener("DOMContentLoaded", () => drawAll());
})();
