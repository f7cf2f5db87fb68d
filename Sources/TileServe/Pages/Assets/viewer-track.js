// A GPX or GeoJSON file that is dropped on the map, or chosen: drawn over the tiles. It stays in the browser.
(() => {
  "use strict";
  const { settings, element, map } = TileViewer;
  if (!map) return;
  if (settings.grid.kind === "flat") return;
  const colour = "#be1e4b";
  let remove;

  const input = element("input", { type: "file", accept: ".gpx,.geojson,.json", hidden: true });
  const button = element("button", { className: "tool", type: "button", textContent: "Track", title: "Show a GPX or GeoJSON file; files can be dropped on the map" });
  const status = element("output", { className: "unseen", id: "track-status" });
  document.getElementById("tools").append(button, input, status);

  // Not what lies deeper: in <extensions> other programs keep points of theirs.
  const children = (parent, name) => [...parent.children].filter((child) => child.localName === name);
  // Positions of points; those without a place on Earth are left out.
  const positions = (points) => points
    .map((point) => [parseFloat(point.getAttribute("lon")), parseFloat(point.getAttribute("lat"))])
    .filter(([longitude, latitude]) => Math.abs(longitude) <= 540 && Math.abs(latitude) <= 90);
  const nameOf = (parent) => children(parent, "name")[0]?.textContent ?? "";
  const lines = (parts) => parts.map(positions).filter((line) => line.length > 1);

  function readGPX(text) {
    const page = new DOMParser().parseFromString(text, "application/xml");
    if (page.querySelector("parsererror")) throw new Error("it is not well-formed XML");
    if (page.documentElement.localName !== "gpx") throw new Error("it is XML, but no GPX");
    const of = (name) => children(page.documentElement, name);
    const feature = (type, coordinates, name) => ({ type: "Feature", properties: { name }, geometry: { type, coordinates } });
    const features = of("trk").map((track) => feature(
      "MultiLineString", lines(children(track, "trkseg").map((part) => children(part, "trkpt"))), nameOf(track)));
    features.push(...of("rte").map((route) => feature("MultiLineString", lines([children(route, "rtept")]), nameOf(route))));
    for (const place of of("wpt")) {
      const [at] = positions([place]);
      if (at) features.push(feature("Point", at, nameOf(place)));
    }
    return { type: "FeatureCollection", features: features.filter(({ geometry }) => geometry.coordinates.length) };
  }

  // The members of a collection are features of their own, drawn by their kinds.
  const members = (geometry) => (geometry?.type === "GeometryCollection" ? geometry.geometries.flatMap(members) : geometry ? [geometry] : []);

  function read(text) {
    const data = text.trimStart().startsWith("<") ? readGPX(text) : JSON.parse(text);
    const features = data.type === "FeatureCollection" ? data.features : [data.type === "Feature" ? data : { type: "Feature", properties: {}, geometry: data }];
    return { type: "FeatureCollection", features: features.flatMap((feature) => members(feature.geometry).map((geometry) => ({ ...feature, geometry }))) };
  }

  function draw(data) {
    if (window.L) {
      // Of lines and areas; a style would be that of places, too.
      const line = (weight, color, opacity) => ({ geometry }) => (geometry.type.endsWith("Point") ? {} : { weight, color, opacity, fill: false });
      const casing = L.geoJSON(data, { style: line(7, "#ffffff", 0.85), filter: ({ geometry }) => !geometry.type.endsWith("Point") });
      const tracks = L.geoJSON(data, {
        style: line(4, colour, 1),
        pointToLayer: (_, at) => L.circleMarker(at, { radius: 6, weight: 2, color: "#ffffff", fillColor: colour, fillOpacity: 1 }),
        onEachFeature: ({ properties }, layer) => {
          // An element, not a string, which would be read as HTML.
          if (properties?.name) layer.bindTooltip(element("b", { textContent: properties.name }));
        },
      });
      const bounds = tracks.getBounds();
      if (!bounds.isValid()) throw new Error("it has no track and no place");
      const group = L.layerGroup([casing, tracks]).addTo(map);
      map.fitBounds(bounds, { maxZoom: settings.maxzoom, padding: [24, 24] });
      return () => group.remove();
    }
    const bounds = new maplibregl.LngLatBounds();
    const extend = (part) => (typeof part[0] === "number" ? bounds.extend(part.slice(0, 2)) : part.forEach(extend));
    data.features.forEach(({ geometry }) => geometry && extend(geometry.coordinates));
    if (bounds.isEmpty()) throw new Error("it has no track and no place");
    map.addSource("track", { type: "geojson", data });
    const layers = [
      { id: "track-casing", type: "line", paint: { "line-color": "#ffffff", "line-width": 7, "line-opacity": 0.85 } },
      { id: "track-line", type: "line", paint: { "line-color": colour, "line-width": 4 } },
      { id: "track-points", type: "circle", filter: ["==", ["geometry-type"], "Point"], paint: { "circle-color": colour, "circle-radius": 6, "circle-stroke-color": "#ffffff", "circle-stroke-width": 2 } },
    ];
    layers.forEach((layer) => map.addLayer({ ...layer, source: "track" }));
    map.fitBounds(bounds, { maxZoom: settings.maxzoom, padding: 24 });
    return () => {
      layers.forEach(({ id }) => map.removeLayer(id));
      map.removeSource("track");
    };
  }

  async function show(file) {
    if (!file) return;
    try {
      const data = read(await file.text());
      if (remove) remove();
      remove = undefined;
      remove = draw(data);
      status.className = "unseen";
      status.textContent = `${file.name} is shown`;
      button.title = file.name;
    } catch (error) {
      status.textContent = `${file.name} cannot be shown: ${error.message}`;
      status.className = "tool";
    }
  }

  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => { show(input.files[0]); input.value = ""; });
  const frame = document.getElementById("map");
  // Without this the browser would open the file in place of the page.
  for (const name of ["dragover", "drop"]) frame.addEventListener(name, (event) => event.preventDefault());
  frame.addEventListener("drop", (event) => show(event.dataTransfer.files[0]));
})();
