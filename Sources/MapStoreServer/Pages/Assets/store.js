"use strict";
// What the catalogue has beyond its HTML: card and outline point at each other, suggestions of places, the visitor's place.
(() => {
  const shapes = new Map([...document.querySelectorAll("[data-shape]")].map((shape) => [shape.dataset.shape, shape]));
  const cards = new Map([...document.querySelectorAll("[data-region]")].map((card) => [card.dataset.region, card]));
  const mark = (id, isChosen) => {
    for (const element of [shapes.get(id), cards.get(id)]) if (element) element.classList.toggle("chosen", isChosen);
  };
  for (const [elements, starts, ends] of [[shapes, "mouseenter", "mouseleave"], [cards, "mouseenter", "mouseleave"], [cards, "focusin", "focusout"]]) {
    for (const [id, element] of elements) {
      element.addEventListener(starts, () => mark(id, true));
      element.addEventListener(ends, () => mark(id, false));
    }
  }

  const form = document.querySelector("form");
  const input = form.elements.q;
  const list = document.getElementById("suggestions");
  let waiting, last = "";
  const suggest = async () => {
    const text = input.value.trim();
    if (text.length < 2 || text === last) return;
    last = text;
    try {
      const answer = await fetch("/v1/catalogue?limit=8&q=" + encodeURIComponent(text));
      if (!answer.ok || text !== input.value.trim()) return;
      const { regions } = await answer.json();
      const names = regions.flatMap((region) => [...(region.places || []).map((place) => place.name), region.title]);
      list.replaceChildren(...[...new Set(names)].slice(0, 12).map((name) => new Option("", name)));
    } catch {
      // Without suggestions the search works as before.
    }
  };
  input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(suggest, 200); });

  const near = document.getElementById("near");
  if (navigator.geolocation && isSecureContext) {
    near.hidden = false;
    near.addEventListener("click", () => navigator.geolocation.getCurrentPosition(({ coords }) => {
      const query = new URLSearchParams(new FormData(form));
      // A kilometre is enough to sort by.
      query.set("near", `${coords.longitude.toFixed(2)},${coords.latitude.toFixed(2)}`);
      location.search = query;
    }, () => { near.disabled = true; }));
  }
})();
