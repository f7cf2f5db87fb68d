"use strict";
// Puts a map in the place of the preview's picture: the tiles of the free zooms, and the picture where it is the sharper.
(() => {
  const place = document.getElementById("preview");
  if (!place || typeof L === "undefined") return;
  const { tiles, zooms, bounds, picture, label } = place.dataset;
  const [first, last] = zooms.split(",").map(Number);
  const boxOf = (text) => {
    const [west, south, east, north] = text.split(",").map(Number);
    return L.latLngBounds([south, west], [north, east < west ? east + 360 : east]);
  };
  const box = boxOf(bounds);
  const image = place.querySelector("img");
  place.replaceChildren();
  place.setAttribute("role", "region");
  place.setAttribute("aria-label", label);
  const map = L.map(place, { attributionControl: false, minZoom: first, maxBounds: box.pad(0.5), zoomSnap: 0.25 });
  // Enlarged beyond the free zooms: where somebody looks closer, the rest is for sale.
  L.tileLayer(tiles, { bounds: box, minZoom: first, minNativeZoom: first, maxNativeZoom: last, maxZoom: 30 }).addTo(map);
  map.setMaxZoom(last + 1);
  map.fitBounds(box);
  window.RegionPreview = map;
  if (!image) return;
  const show = () => {
    const shown = picture ? boxOf(picture) : box;
    const width = map.project(shown.getNorthEast(), last).x - map.project(shown.getSouthWest(), last).x;
    const more = Math.log2(image.naturalWidth / width);
    if (!(more > 0)) return;
    L.imageOverlay(image.src, shown).addTo(map);
    map.setMaxZoom(Math.max(last, Math.ceil(last + more)) + 1);
    map.fitBounds(box);
  };
  if (image.complete) show(); else image.addEventListener("load", show);
})();
