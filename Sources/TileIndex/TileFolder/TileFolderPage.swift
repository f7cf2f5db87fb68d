import Support

/// The page of a tile folder, which shows the map with nothing but the tiles beside it: no library, no network, also
/// from a disk (`file:`). Drag, wheel, pinch, double click, arrow keys and + - move the map.
struct TileFolderPage {
  private let title: String
  private let credits: String
  private let settings: String

  init(_ documents: TileFolderDocuments) {
    let rows = documents.rows
    title = Markup.escaped(rows.name ?? "Map")
    credits = Markup.escaped(Self.plain(rows.attribution ?? ""))
    let set = documents.matrixSet
    let zooms = documents.coverage.zooms ?? 0...0
    let levels = zooms.map { zoom in
      let matrix = set[zoom]
      return JSONValue.object([
        .init("zoom", .number(zoom)), .init("cell", .number(matrix.cellSize)),
        .init("origin", .numbers(matrix.origin.x, matrix.origin.y)),
        .init("tile", .numbers(Double(matrix.tileWidth), Double(matrix.tileHeight))),
        .init("matrix", .numbers(Double(matrix.matrixWidth), Double(matrix.matrixHeight))),
      ])
    }
    let box = set.crsBounds(ofGeographicBounds: documents.bounds)
    let ends = rows[VariableDepthMetadata.key].flatMap(VariableDepthMetadata.coarsest)
    settings = JSONValue.object(
      [
        .init("template", .string(documents.template)), .init("tms", .bool(documents.scheme == .tms)),
        .init("box", .numbers(box.west, box.south, box.east, box.north)), .init("levels", .array(levels)),
      ] + (ends.map { [.init("ends", .number($0))] } ?? [])
    ).text(insideMarkup: true)
  }

  var bytes: [UInt8] {
    Array(
      """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>\(title)</title>
      <style>\(Self.style)</style></head><body>
      <div id="map" tabindex="0" aria-label="\(title)"></div>
      <div id="tools"><button id="in" aria-label="Zoom in">+</button>
      <button id="out" aria-label="Zoom out">&minus;</button>
      <span id="zoom"></span></div><p id="credits">\(credits)</p>
      <script type="application/json" id="settings">\(settings)</script>
      <script>\(Self.script)</script></body></html>

      """.utf8)
  }

  /// A text without its tags: attributions are often HTML, which is not trusted here.
  private static func plain(_ html: String) -> String {
    var text = ""
    var isTag = false
    for character in html {
      if character == "<" {
        isTag = true
      } else if character == ">" {
        isTag = false
      } else if !isTag {
        text.append(character)
      }
    }
    return text
  }

  private static let style = """
    html,body{margin:0;height:100%;font:13px system-ui,sans-serif;background:#dde3e6}
    #map{position:absolute;inset:0;overflow:hidden;touch-action:none;cursor:grab}
    #map img{position:absolute;user-select:none;pointer-events:none}
    #tools{position:absolute;left:10px;top:10px}button{width:32px;height:32px;font-size:18px}
    #zoom{background:#fffc;padding:4px 6px}
    #credits{position:absolute;right:0;bottom:0;margin:0;padding:2px 6px;background:#fffc}
    """

  /// Positions are in units of the grid's CRS; `cell` is how many of them a pixel of the screen has.
  private static let script = """
    "use strict";
    const settings = JSON.parse(document.getElementById("settings").textContent);
    const map = document.getElementById("map"), levels = settings.levels, images = new Map();
    const finest = levels[levels.length - 1], [west, south, east, north] = settings.box;
    let x = (west + east) / 2, y = (south + north) / 2;
    let cell = Math.max((east - west) / map.clientWidth, (north - south) / map.clientHeight, finest.cell / 4);
    function level() { return levels.find(l => l.cell <= cell * 1.4) || finest; }
    function place(shown, l) {
      const [tw, th] = l.tile, [columns, rows] = l.matrix, scale = l.cell / cell;
      const left = (x - l.origin[0]) / cell - map.clientWidth / 2;
      const top = (l.origin[1] - y) / cell - map.clientHeight / 2;
      const first = v => Math.max(0, Math.floor(v));
      for (let c = first(left / (tw * scale)); c < Math.min(columns, (left + map.clientWidth) / (tw * scale)); c++) {
        for (let r = first(top / (th * scale)); r < Math.min(rows, (top + map.clientHeight) / (th * scale)); r++) {
          const name = settings.template.replace("{z}", l.zoom).replace("{x}", c)
            .replace("{y}", settings.tms ? rows - 1 - r : r);
          let image = images.get(name);
          if (!image) {
            image = new Image();
            image.alt = "";
            image.onerror = () => { image.style.visibility = "hidden"; };
            image.src = name;
            images.set(name, image);
            map.append(image);
          }
          const at = (n, size, offset) => Math.round(n * size * scale - offset);
          image.style.left = at(c, tw, left) + "px";
          image.style.top = at(r, th, top) + "px";
          image.style.width = at(c + 1, tw, left) - at(c, tw, left) + "px";
          image.style.height = at(r + 1, th, top) - at(r, th, top) + "px";
          image.style.zIndex = l.zoom;
          image.style.imageRendering = scale > 2 ? "pixelated" : "auto";
          shown.add(name);
        }
      }
    }
    function draw() {
      const shown = new Set(), now = level();
      // The next coarser level shows through until the tiles are there, others where an area ends at them.
      const first = Math.min(settings.ends ?? now.zoom, now.zoom - 1);
      for (const l of levels) if (l.zoom >= first && l.zoom < now.zoom) place(shown, l);
      place(shown, now);
      for (const [name, image] of images) if (!shown.has(name)) { image.remove(); images.delete(name); }
      document.getElementById("zoom").textContent = "zoom " + now.zoom;
    }
    function zoomBy(factor, px = map.clientWidth / 2, py = map.clientHeight / 2) {
      const next = Math.min(Math.max(cell / factor, finest.cell / 8), levels[0].cell * 4);
      x += (px - map.clientWidth / 2) * (cell - next);
      y -= (py - map.clientHeight / 2) * (cell - next);
      cell = next;
      draw();
    }
    function move(px, py) { x -= px * cell; y += py * cell; draw(); }
    const pointers = new Map();
    map.onpointerdown = e => { map.setPointerCapture(e.pointerId); pointers.set(e.pointerId, e); };
    map.onpointerup = map.onpointercancel = e => pointers.delete(e.pointerId);
    map.onpointermove = e => {
      const before = pointers.get(e.pointerId);
      if (!before) return;
      const other = [...pointers.values()].find(p => p.pointerId !== e.pointerId);
      pointers.set(e.pointerId, e);
      if (!other) return move(e.clientX - before.clientX, e.clientY - before.clientY);
      const distance = p => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      zoomBy(distance(e) / Math.max(distance(before), 1),
        (e.clientX + other.clientX) / 2, (e.clientY + other.clientY) / 2);
    };
    map.onwheel = e => { e.preventDefault(); zoomBy(Math.pow(2, -e.deltaY / 300), e.clientX, e.clientY); };
    map.ondblclick = e => zoomBy(2, e.clientX, e.clientY);
    map.onkeydown = e => {
      const step = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] }[e.key];
      if (step) move(...step); else if (e.key === "+") zoomBy(2); else if (e.key === "-") zoomBy(0.5);
    };
    document.getElementById("in").onclick = () => zoomBy(2);
    document.getElementById("out").onclick = () => zoomBy(0.5);
    addEventListener("resize", draw);
    draw();
    """
}
