"use strict";
// Draws the regions' outlines over a plain graticule: no map of the world is needed to see what lies beside what.
(() => {
  const place = document.getElementById("map");
  if (!place || typeof L === "undefined") return;
  const regions = JSON.parse(document.getElementById("regions").textContent);
  const map = L.map(place, { attributionControl: false, worldCopyJump: true, minZoom: 1, maxZoom: 12 });
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const lines = dark ? "#3a463f" : "#dedccf";
  for (let degrees = -180; degrees <= 180; degrees += 10) {
    const style = { color: lines, weight: degrees % 30 ? 0.5 : 1, interactive: false };
    L.polyline([[-85, degrees], [85, degrees]], style).addTo(map);
    if (Math.abs(degrees) <= 80) L.polyline([[degrees, -180], [degrees, 180]], style).addTo(map);
  }
  const accent = dark ? "#7cc79f" : "#2f6f4f";
  const group = L.featureGroup();
  const marks = [];
  const choose = (id, scrolls) => {
    for (const card of document.querySelectorAll("[data-region]")) {
      const isChosen = card.dataset.region === id;
      card.classList.toggle("chosen", isChosen);
      if (isChosen && scrolls) card.scrollIntoView({ behavior: "smooth", block: "center" });
    }
  };
  const corners = ([west, south, east, north]) => [[south, west], [north, east < west ? east + 360 : east]];
  // Large ones first, so that small ones lie above them and can be clicked.
  const size = (b) => ((b[2] < b[0] ? b[2] + 360 : b[2]) - b[0]) * (b[3] - b[1]);
  for (const region of regions.slice().sort((a, b) => size(b.bounds) - size(a.bounds))) {
    const box = corners(region.bounds);
    // A publisher may have chosen a part of the region for its picture.
    if (region.preview) L.imageOverlay(region.preview, corners(region.previewBounds || region.bounds), { opacity: 0.85, interactive: false }).addTo(map);
    const style = { color: accent, weight: 1.5, fillOpacity: 0.08 };
    const shape = region.boundary
      ? L.geoJSON(region.boundary, { style })
      : L.rectangle(box, style);
    const name = document.createElement("span");
    name.textContent = region.title;
    group.addLayer(shape);
    const mark = L.circleMarker(shape.getBounds().getCenter(), { ...style, radius: 5, fillOpacity: 0.6, className: "mark" });
    marks.push({ shape, mark });
    for (const layer of [shape, mark]) {
      layer.bindTooltip(name.cloneNode(true), { sticky: true });
      layer.on("click", () => choose(region.id, true));
    }
    const card = [...document.querySelectorAll("[data-region]")].find((one) => one.dataset.region === region.id);
    if (card) card.addEventListener("click", () => { choose(region.id, false); map.fitBounds(shape.getBounds(), { padding: [24, 24] }); });
  }
  group.addTo(map);
  if (regions.length) map.fitBounds(group.getBounds(), { padding: [24, 24] }); else map.setView([20, 0], 2);
  // A region of a few pixels can neither be seen nor clicked: a mark stands for it until the map is zoomed in.
  const showMarks = () => {
    for (const { shape, mark } of marks) {
      const bounds = shape.getBounds();
      const extent = map.project(bounds.getSouthEast()).subtract(map.project(bounds.getNorthWest()));
      if (Math.max(extent.x, extent.y) < 8) mark.addTo(map); else mark.remove();
    }
  };
  showMarks();
  map.on("moveend", showMarks);
})();
