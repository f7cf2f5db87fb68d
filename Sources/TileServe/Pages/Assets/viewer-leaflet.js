// The map of a raster tileset.
(() => {
  "use strict";
  const { settings, grid, element, toggle, backgroundChoice, show, placeFromAddress, placeToAddress } = TileViewer;
  // How far a reader may zoom in beyond the last zoom that has tiles; the map enlarges them.
  const enlarging = 3;
  const boundsOf = ([west, south, east, north]) => L.latLngBounds([south, west], [north, east]);
  const isFitted = settings.grid.kind === "fitted";
  const isWorldWide = settings.grid.kind !== "flat" && !isFitted && settings.bounds[2] - settings.bounds[0] >= 359;
  const crs = grid.coordinateSystem();
  const map = L.map("map", {
    crs,
    minZoom: Math.min(settings.minzoom, 0),
    maxZoom: settings.maxzoom + enlarging,
    // Levels that lie far apart want steps between them.
    zoomSnap: grid.isEven ? 1 : 0.25,
    zoomDelta: grid.isEven ? 1 : 0.5,
    worldCopyJump: grid.isEven && isWorldWide,
  });
  map.attributionControl.setPrefix(false);
  if (settings.grid.kind !== "flat") L.control.scale().addTo(map);

  const layerOf = (layer, zIndex) => {
    // Leaflet replaces {z}, {x} and {y}; braces of the tileset's own name are percent-encoded.
    return new grid.TileLayer(layer.tiles, {
      minZoom: layer.minzoom,
      maxZoom: settings.maxzoom + enlarging,
      maxNativeZoom: layer.maxzoom,
      bounds: isFitted ? undefined : boundsOf(layer.bounds),
      box: layer.box,
      attribution: layer.credits,
      noWrap: !isWorldWide || !crs.wrapLng,
      zIndex,
    });
  };

  const main = layerOf(settings, 2).addTo(map);
  if (!isWorldWide) {
    const style = { fill: false, weight: 1, color: "#888", dashArray: "4 4", interactive: false };
    // Corners suffice: the edges of the box are straight in its CRS.
    const corners = ([west, south, east, north]) => [[west, south], [east, south], [east, north], [west, north]];
    const outline = isFitted
      ? L.polygon(corners(settings.box).map(([x, y]) => TileViewer.fitted.unproject({ x, y })), style)
      : L.rectangle(boundsOf(settings.bounds), style);
    outline.addTo(map);
  }

  let background;
  backgroundChoice((layer) => {
    if (background) background.remove();
    background = layer && layerOf(layer, 1).addTo(map);
  });
  const edges = new grid.EdgeLayer({
    minZoom: settings.minzoom, maxZoom: settings.maxzoom + enlarging, maxNativeZoom: settings.maxzoom, zIndex: 3, noWrap: !isWorldWide || !crs.wrapLng,
  });
  toggle("Tile grid", false, (on) => (on ? edges.addTo(map) : edges.remove()));

  const opacity = element("input", { type: "range", name: "opacity", min: 0, max: 100, value: 100, title: "Opacity" });
  opacity.setAttribute("aria-label", "Opacity");
  opacity.addEventListener("input", () => main.setOpacity(opacity.value / 100));
  if (settings.backgrounds.length) document.getElementById("tools").append(opacity);

  const place = placeFromAddress();
  if (place) {
    map.setView([place.latitude, place.longitude], place.zoom);
  } else {
    // The center's zoom is meant for some window; where all fits this one at a deeper zoom, the bounds decide.
    if (isFitted) {
      const [west, south, east, north] = settings.box;
      const size = map.getSize();
      const zoom = crs.zoom(Math.min(size.x / (east - west), size.y / (north - south)));
      const snap = map.options.zoomSnap;
      const middle = TileViewer.fitted.unproject({ x: (west + east) / 2, y: (south + north) / 2 });
      map.setView(middle, Math.min(Math.max(Math.floor(zoom / snap) * snap, map.getMinZoom()), map.getMaxZoom()), { animate: false });
    } else {
      map.fitBounds(boundsOf(settings.bounds), { animate: false });
    }
    const fitting = map.getZoom();
    const [longitude, latitude, zoom] = settings.center;
    if (zoom >= fitting && TileViewer.isCenterTelling(fitting)) map.setView([latitude, longitude], zoom, { animate: false });
    if (map.getZoom() < settings.minzoom) map.setView([latitude, longitude], settings.minzoom, { animate: false });
    if (map.getZoom() > settings.maxzoom) map.setZoom(settings.maxzoom, { animate: false });
  }

  function readout(at) {
    const zoom = map.getZoom();
    const here = crs.wrapLng ? at.wrap() : at;
    const pixel = Math.abs(map.containerPointToLatLng([1, 0]).lng - map.containerPointToLatLng([0, 0]).lng);
    show(here.lng, here.lat, zoom, pixel || 1);
  }
  map.on("mousemove", (event) => readout(event.latlng));
  map.on("move zoomend", () => readout(map.getCenter()));
  map.on("moveend", () => {
    const center = crs.wrapLng ? map.getCenter().wrap() : map.getCenter();
    placeToAddress(center.lng, center.lat, map.getZoom());
  });
  readout(map.getCenter());
  TileViewer.map = map;
})();
