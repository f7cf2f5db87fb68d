// The search box of a tileset that has places. Works with the keyboard alone: / goes to the box, arrows choose, Enter goes there, Escape closes.
(() => {
  "use strict";
  const { settings, element, map } = TileViewer;
  if (!map) return;
  const input = element("input", { type: "search", id: "place", placeholder: "Find a place", autocomplete: "off", spellcheck: false });
  const list = element("ul", { id: "found", hidden: true });
  const status = element("span", { className: "unseen" });
  const box = element("form", { className: "search", autocomplete: "off" }, input, list, status);
  const attributes = (node, values) => Object.entries(values).forEach(([name, value]) => node.setAttribute(name, value));
  attributes(box, { role: "search" });
  attributes(input, { role: "combobox", "aria-label": "Find a place", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list" });
  attributes(list, { role: "listbox", "aria-label": "Places" });
  attributes(status, { role: "status" });
  document.getElementById("tools").before(box);

  let places = [];
  let chosen = -1;
  let waiting;
  let request;
  let mark;

  // Leaflet and MapLibre GL each have their own words.
  const center = () => { const at = map.getCenter(); return `${(((at.lng + 540) % 360 + 360) % 360 - 180).toFixed(5)},${at.lat.toFixed(5)}`; };
  function goTo([longitude, latitude], name) {
    if (mark) mark.remove();
    const zoom = Math.max(map.getZoom(), Math.min(settings.maxzoom, Math.max(settings.minzoom, settings.maxzoom - 2)));
    if (window.L) {
      map.setView([latitude, longitude], zoom);
      // An element, not a string, which would be read as HTML.
      mark = L.circleMarker([latitude, longitude], { radius: 9, weight: 3, color: "#be1e4b", fillOpacity: 0.15 })
        .bindTooltip(element("b", { textContent: name }), { permanent: true, direction: "top", offset: [0, -8] }).addTo(map);
    } else {
      map.jumpTo({ center: [longitude, latitude], zoom });
      const popup = new maplibregl.Popup({ closeButton: false, closeOnClick: false, offset: 36 }).setText(name);
      mark = new maplibregl.Marker({ color: "#be1e4b" }).setLngLat([longitude, latitude]).setPopup(popup).addTo(map);
      mark.togglePopup();
    }
  }

  function close() {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(index) {
    const rows = [...list.children];
    chosen = rows.length ? (index + rows.length) % rows.length : -1;
    rows.forEach((row, at) => row.setAttribute("aria-selected", at === chosen));
    if (chosen < 0) return;
    input.setAttribute("aria-activedescendant", rows[chosen].id);
    rows[chosen].scrollIntoView({ block: "nearest" });
  }

  function take(index) {
    const place = places[index];
    if (!place) return;
    input.value = place.properties.name;
    close();
    goTo(place.geometry.coordinates, place.properties.name);
  }

  function show(found) {
    places = found;
    list.replaceChildren(...found.map(({ properties }, index) => {
      const row = element("li", { id: `found-${index}` }, element("span", { textContent: properties.name }), element("small", { textContent: properties.kind }));
      row.setAttribute("role", "option");
      // Before the box loses the focus.
      row.addEventListener("mousedown", (event) => { event.preventDefault(); take(index); });
      return row;
    }));
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
    status.textContent = found.length ? `${found.length} found` : "Nothing found";
    choose(found.length ? 0 : -1);
  }

  async function search() {
    if (request) request.abort();
    const text = input.value.trim();
    if (!text) return show([]);
    request = new AbortController();
    try {
      const answer = await fetch(`${settings.places}?q=${encodeURIComponent(text)}&near=${center()}&limit=8`, { signal: request.signal });
      if (answer.ok) show((await answer.json()).features);
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  }

  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
  input.addEventListener("focus", () => { if (places.length && input.value) show(places); });
  box.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    if (list.hidden) await search();
    take(Math.max(chosen, 0));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    event.preventDefault();
    input.focus();
  });
})();
