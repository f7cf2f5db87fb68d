// What the raster and the vector viewer have in common: settings, buttons, readout, the place in the address.
window.TileViewer = (() => {
  "use strict";
  const settings = JSON.parse(document.getElementById("settings").textContent);
  const tools = document.getElementById("tools");
  const readout = document.getElementById("readout");
  const panel = document.getElementById("panel");

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  // On a small screen the tools hang down from this button.
  const menu = element("button", { className: "tool menu", type: "button", textContent: "Menu" });
  menu.setAttribute("aria-controls", "tools");
  menu.setAttribute("aria-expanded", "false");
  menu.addEventListener("click", () => menu.setAttribute("aria-expanded", tools.parentElement.classList.toggle("open")));
  tools.after(menu);

  // A button that stays pressed; `change` is told whether it is.
  function toggle(words, isOn, change) {
    const button = element("button", { className: "tool", type: "button", textContent: words });
    const set = (on) => {
      button.setAttribute("aria-pressed", on);
      change(on);
    };
    button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
    tools.append(button);
    button.setAttribute("aria-pressed", isOn);
    if (isOn) change(true);
  }

  // The list of backgrounds; `change` is told the chosen one or undefined.
  function backgroundChoice(change) {
    if (!settings.backgrounds.length) return;
    const select = element("select", { name: "background", title: "Background" }, element("option", { value: "", textContent: "No background" }));
    select.setAttribute("aria-label", "Background");
    settings.backgrounds.forEach((layer, index) => select.append(element("option", { value: index, textContent: layer.name })));
    select.addEventListener("change", () => change(settings.backgrounds[select.value]));
    tools.append(select);
  }

  // As many decimals as a pixel of the zoom is worth.
  function show(longitude, latitude, zoom, degreesPerPixel) {
    const decimals = Math.min(7, Math.max(1, Math.ceil(-Math.log10(degreesPerPixel))));
    const level = Number.isInteger(zoom) ? zoom : zoom.toFixed(1);
    readout.textContent = settings.grid.kind === "flat"
      ? `x ${longitude.toFixed(0)}  y ${(-latitude).toFixed(0)}  ·  zoom ${level}`
      : `${latitude.toFixed(decimals)}, ${longitude.toFixed(decimals)}  ·  zoom ${level}`;
  }

  // The place in the address: #zoom/latitude/longitude. Nil where there is none.
  function placeFromAddress() {
    const numbers = location.hash.slice(1).split("/").map(Number);
    return numbers.length === 3 && location.hash.length > 5 && numbers.every(Number.isFinite)
      ? { zoom: numbers[0], latitude: numbers[1], longitude: numbers[2] }
      : null;
  }

  function placeToAddress(longitude, latitude, zoom) {
    history.replaceState(null, "", `#${+zoom.toFixed(2)}/${latitude.toFixed(6)}/${longitude.toFixed(6)}`);
  }

  // Whether the bundle's own center is worth opening with. Many tools write the deepest zoom, which shows a speck of a large region.
  const isCenterTelling = (fitting) => settings.center[2] < settings.maxzoom || fitting > settings.maxzoom - 2;

  return { settings, isCenterTelling, panel, element, toggle, backgroundChoice, show, placeFromAddress, placeToAddress };
})();
