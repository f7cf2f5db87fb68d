// Leaflet's coordinate system and tile layers for any grid: levels may step by any whole number, tile sizes may differ from level to level.
TileViewer.grid = (() => {
  "use strict";
  const { grid } = TileViewer.settings;
  const levels = grid.levels;
  const last = levels.length - 1;
  // Beyond the last level, and before the first, the map goes on by doubling.
  const scale = (zoom) => {
    if (zoom <= 0) return Math.pow(2, zoom) / levels[0].cellSize;
    if (zoom >= last) return Math.pow(2, zoom - last) / levels[last].cellSize;
    const level = Math.floor(zoom);
    const step = levels[level].cellSize / levels[level + 1].cellSize;
    return Math.pow(step, zoom - level) / levels[level].cellSize;
  };
  const zoomOf = (wanted) => {
    if (!(wanted > scale(0))) return Math.log2(wanted / scale(0));
    if (wanted >= scale(last)) return last + Math.log2(wanted / scale(last));
    let level = 0;
    while (scale(level + 1) <= wanted) level += 1;
    return level + Math.log(wanted / scale(level)) / Math.log(scale(level + 1) / scale(level));
  };

  function coordinateSystem() {
    if (grid.isWellKnown && grid.kind === "webMercator") return L.CRS.EPSG3857;
    if (grid.isWellKnown && grid.kind === "geographic") return L.CRS.EPSG4326;
    const base = { webMercator: L.CRS.EPSG3857, geographic: L.CRS.EPSG4326, flat: L.CRS.Simple, fitted: L.CRS.Earth }[grid.kind];
    return L.extend({}, base, {
      ...(grid.kind === "fitted" && { projection: TileViewer.fitted }),
      code: grid.name,
      // Pixels from the grid's top left corner.
      transformation: new L.Transformation(1, -grid.origin[0], -1, grid.origin[1]),
      scale,
      zoom: zoomOf,
      // The width of the world need not be a whole number of tiles, so it does not repeat.
      wrapLng: undefined,
      infinite: grid.kind === "flat",
    });
  }

  // How many tiles of the next level lie along a tile's edge.
  const ratioBelow = (zoom) => {
    if (zoom < 0 || zoom >= last) return 2;
    const [above, below] = [levels[zoom], levels[zoom + 1]];
    return Math.round((above.cellSize * above.tile[0]) / (below.cellSize * below.tile[0]));
  };

  // Leaflet 1.7 takes one tile size for all levels and a step of 2 between them; these are the places where it does.
  const onGrid = {
    // In a CRS in which parallels are curves, Leaflet's bounds in degrees say little of tiles; the layer's box in CRS units does.
    _isValidTile(coords) {
      const { box } = this.options;
      if (!box) return L.GridLayer.prototype._isValidTile.call(this, coords);
      const level = levels[coords.z];
      if (!level || coords.x < 0 || coords.y < 0 || coords.x >= level.matrix[0] || coords.y >= level.matrix[1]) return false;
      const [width, height] = level.tile.map((pixels) => pixels * level.cellSize);
      const [left, top] = [grid.origin[0] + coords.x * width, grid.origin[1] - coords.y * height];
      return left < box[2] && left + width > box[0] && top > box[1] && top - height < box[3];
    },
    getTileSize() {
      const level = levels[Math.min(Math.max(this._tileZoom ?? 0, 0), last)];
      return L.point(level.tile[0], level.tile[1]);
    },
    _retainParent(x, y, zoom, zoomMin) {
      const ratio = ratioBelow(zoom - 1);
      const [column, row] = [Math.floor(x / ratio), Math.floor(y / ratio)];
      const tile = this._tiles[`${column}:${row}:${zoom - 1}`];
      if (tile && tile.active) return (tile.retain = true);
      if (tile && tile.loaded) tile.retain = true;
      return zoom - 1 > zoomMin ? this._retainParent(column, row, zoom - 1, zoomMin) : false;
    },
    _retainChildren(x, y, zoom, zoomMax) {
      const ratio = ratioBelow(zoom);
      for (let column = ratio * x; column < ratio * (x + 1); column += 1) {
        for (let row = ratio * y; row < ratio * (y + 1); row += 1) {
          const tile = this._tiles[`${column}:${row}:${zoom + 1}`];
          if (tile && (tile.active || tile.loaded)) tile.retain = true;
          if (tile && tile.active) continue;
          if (zoom + 1 < zoomMax) this._retainChildren(column, row, zoom + 1, zoomMax);
        }
      }
    },
  };

  const TileLayer = L.TileLayer.extend(onGrid);

  // Draws the edges and names of the tiles themselves.
  const EdgeLayer = L.GridLayer.extend({
    ...onGrid,
    createTile(coords) {
      const tile = L.DomUtil.create("div", "tile-edge");
      L.DomUtil.create("span", "", tile).textContent = `${coords.z}/${coords.x}/${coords.y}`;
      return tile;
    },
  });

  return { coordinateSystem, TileLayer, EdgeLayer, levelCount: levels.length, degreesPerPixel: (zoom) => 1 / scale(zoom), isEven: levels.every((_, zoom) => zoom >= last || ratioBelow(zoom) === 2) };
})();
