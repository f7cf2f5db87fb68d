// The map of a vector tileset, in a plain style made from the names of its layers.
(() => {
  "use strict";
  const { settings, panel, element, toggle, backgroundChoice, show, placeFromAddress, placeToAddress } = TileViewer;
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  // Hues a golden angle apart stay distinct for any number of layers.
  const colour = (index) => `hsl(${Math.round(160 + index * 137.508) % 360}, 55%, ${isDark ? 62 : 40}%)`;
  const absolute = (path) => location.origin + path;
  const center = settings.center;
  const place = placeFromAddress();

  const source = (layer, type) => ({
    type, tiles: [absolute(layer.tiles)], minzoom: layer.minzoom, maxzoom: layer.maxzoom, bounds: layer.bounds,
    attribution: layer.credits, ...(type === "raster" ? { tileSize: 256 } : {}),
  });
  const drawing = (name, index) => {
    const common = { source: "tiles", "source-layer": name };
    const isShape = ["==", ["geometry-type"], "Polygon"];
    return [
      { ...common, id: `fill ${name}`, type: "fill", filter: isShape, paint: { "fill-color": colour(index), "fill-opacity": 0.22 } },
      { ...common, id: `line ${name}`, type: "line", filter: ["!=", ["geometry-type"], "Point"], paint: { "line-color": colour(index), "line-width": 1.2 } },
      {
        ...common, id: `circle ${name}`, type: "circle", filter: ["==", ["geometry-type"], "Point"],
        paint: { "circle-color": colour(index), "circle-radius": 4, "circle-stroke-width": 1, "circle-stroke-color": isDark ? "#141917" : "#ffffff" },
      },
    ];
  };
  const drawn = settings.layers.map(drawing);

  // Old devices, virtual machines, and browsers in which it is switched off.
  const canvas = document.createElement("canvas");
  if (!canvas.getContext("webgl2") && !canvas.getContext("webgl")) {
    const words = "This browser has no WebGL, without which vector tiles cannot be drawn. Switch on hardware acceleration, or try another browser. The tiles are served all the same.";
    const names = settings.layers.map((name) => element("li", { textContent: name }));
    const list = names.length ? [element("p", { textContent: "Layers:" }), element("ul", {}, ...names)] : [];
    const main = document.getElementById("map");
    main.id = "without";
    main.className = "instead";
    main.replaceChildren(element("div", { className: "notice" }, element("p", { textContent: words }), ...list));
    return;
  }

  const map = new maplibregl.Map({
    container: "map",
    style: {
      version: 8,
      sources: { tiles: source(settings, "vector") },
      layers: [{ id: "ground", type: "background", paint: { "background-color": isDark ? "#1a211e" : "#f3f5f2" } }, ...drawn.flat()],
    },
    center: place ? [place.longitude, place.latitude] : [center[0], center[1]],
    zoom: place ? place.zoom : center[2],
    maxZoom: Math.min(settings.maxzoom + 4, 24),
    attributionControl: { compact: false },
    dragRotate: false,
  });
  map.touchZoomRotate.disableRotation();
  if (!place) {
    const [west, south, east, north] = settings.bounds;
    const fitting = map.cameraForBounds([[west, Math.max(south, -85)], [east, Math.min(north, 85)]], { padding: 40 });
    if (fitting && (center[2] < fitting.zoom || !TileViewer.isCenterTelling(fitting.zoom))) {
      map.jumpTo({ center: fitting.center, zoom: Math.min(fitting.zoom, settings.maxzoom) });
    }
  }
  map.addControl(new maplibregl.NavigationControl({ showCompass: false }), "top-left");
  map.addControl(new maplibregl.ScaleControl(), "bottom-left");

  backgroundChoice((layer) => {
    if (map.getLayer("background")) {
      map.removeLayer("background");
      map.removeSource("background");
    }
    if (!layer) return;
    map.addSource("background", source(layer, "raster"));
    map.addLayer({ id: "background", type: "raster", source: "background" }, drawn.flat()[0]?.id);
  });
  toggle("Tile grid", false, (on) => (map.showTileBoundaries = on));

  const facts = element("dl", { hidden: true });
  const rows = settings.layers.map((name, index) => {
    const box = element("input", { type: "checkbox", name, checked: true });
    box.addEventListener("change", () => {
      for (const { id } of drawn[index]) map.setLayoutProperty(id, "visibility", box.checked ? "visible" : "none");
    });
    const swatch = element("span", { className: "swatch" });
    swatch.style.backgroundColor = colour(index);
    return element("label", {}, box, swatch, name);
  });
  panel.append(element("h2", { textContent: rows.length ? "Layers" : "The tileset does not name its layers, so nothing can be drawn." }), ...rows, facts);
  toggle("Layers", true, (on) => (panel.hidden = !on));

  // A click tells what lies there.
  map.on("click", (event) => {
    const { x, y } = event.point;
    const found = map.queryRenderedFeatures([[x - 4, y - 4], [x + 4, y + 4]]).find((feature) => feature.source === "tiles");
    facts.hidden = !found;
    facts.replaceChildren();
    if (!found) return;
    for (const [name, value] of [["layer", found.sourceLayer], ...Object.entries(found.properties)]) {
      facts.append(element("dt", { textContent: name }), element("dd", { textContent: String(value) }));
    }
    panel.hidden = false;
  });

  const readout = (at) => show(at.lng, at.lat, +map.getZoom().toFixed(1), 360 / (512 * 2 ** map.getZoom()));
  map.on("mousemove", (event) => readout(event.lngLat.wrap()));
  map.on("move", () => readout(map.getCenter()));
  map.on("moveend", () => placeToAddress(map.getCenter().lng, map.getCenter().lat, map.getZoom()));
  readout(map.getCenter());
  TileViewer.map = map;
})();
