// Hides the cards that do not have all words of the search box, and pictures that did not come.
(() => {
  "use strict";
  const cards = [...document.querySelectorAll("#cards > .card")].map((card) => ({
    card,
    text: card.textContent.toLowerCase(),
  }));
  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const nothing = document.getElementById("nothing");

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { card, text } of cards) {
      const fits = words.every((word) => text.includes(word));
      if (card.hidden === fits) card.hidden = !fits;
      if (fits) shown += 1;
    }
    count.textContent = words.length ? `${shown} of ${cards.length}` : cards.length;
    nothing.hidden = shown > 0;
    history.replaceState(null, "", words.length ? "#" + encodeURIComponent(search.value) : location.pathname + location.search);
  }

  function fromAddress() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  }

  if (search) {
    search.value = fromAddress();
    if (search.value) filter();
    search.addEventListener("input", filter);
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement !== search) {
        event.preventDefault();
        search.focus();
      }
    });
  }
  // Errors of pictures do not bubble; those that failed before this script ran are complete without a size.
  const hide = (image) => image.classList.add("missing");
  document.addEventListener("error", (event) => event.target.tagName === "IMG" && hide(event.target), true);
  for (const image of document.images) if (image.complete && image.getAttribute("src") && !image.naturalWidth && image.loading !== "lazy") hide(image);
})();
