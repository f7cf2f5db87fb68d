// Leaflet's projection for a CRS other than Web Mercator and degrees: the series of the grid's definition (docs/reference/bundle-format.md).
TileViewer.fitted = (() => {
  "use strict";
  const { fit } = TileViewer.settings.grid;
  const [west, south, east, north] = fit.box;
  const half = [(east - west) / 2, (north - south) / 2];
  const middle = [(west + east) / 2, (south + north) / 2];
  const across = Math.max(...fit.x.map((row) => row.length), 2);
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const unit = (a) => a.map((value) => value / Math.hypot(...a));
  const inBox = ([x, y]) => [Math.min(Math.max(x, west), east), Math.min(Math.max(y, south), north)];

  // Chebyshev polynomials and their derivatives.
  function polynomials(t, count) {
    const [values, slopes] = [[1, t], [0, 1]];
    for (let k = 2; k < count; k += 1) {
      values.push(2 * t * values[k - 1] - values[k - 2]);
      slopes.push(2 * values[k - 1] + 2 * t * slopes[k - 1] - slopes[k - 2]);
    }
    return [values, slopes];
  }
  const sum = (rows, s, t) => rows.reduce((all, row, j) => all + t[j] * row.reduce((part, value, i) => part + value * s[i], 0), 0);

  // The place of a point on the unit sphere, and where it moves with the point.
  function placeOf([x, y]) {
    const [s, e] = polynomials((x - middle[0]) / half[0], across);
    const [t, d] = polynomials((y - middle[1]) / half[1], fit.x.length);
    const series = (a, b, scale) => [fit.x, fit.y, fit.z].map((rows) => sum(rows, a, b) / scale);
    return { at: unit(series(s, t, 1)), byX: series(e, t, half[0]), byY: series(s, d, half[1]) };
  }

  const starts = [];
  for (let j = 0; j <= 12; j += 1) {
    for (let i = 0; i <= 12; i += 1) {
      const point = [west + (east - west) * i / 12, south + (north - south) * j / 12];
      starts.push({ point, at: placeOf(point).at });
    }
  }

  // Newton's method on the sphere, kept in the box; the last step may lead out of it.
  function project({ lng, lat }) {
    const [lambda, phi] = [lng * Math.PI / 180, lat * Math.PI / 180];
    const wanted = [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
    let at = starts.reduce((best, start) => (dot(start.at, wanted) > dot(best.at, wanted) ? start : best)).point;
    let end = at;
    for (let round = 0; round < 40; round += 1) {
      const here = placeOf(at);
      const along = dot(here.at, wanted);
      const way = wanted.map((value, k) => value - here.at[k] * along);
      const length = Math.hypot(...way);
      if (!(length > 0)) break;
      const arc = way.map((value) => value * Math.atan2(length, along) / length);
      const [xx, xy, yy] = [dot(here.byX, here.byX), dot(here.byX, here.byY), dot(here.byY, here.byY)];
      const [x, y] = [dot(here.byX, arc), dot(here.byY, arc)];
      const determinant = xx * yy - xy * xy;
      end = [at[0] + (x * yy - y * xy) / determinant, at[1] + (y * xx - x * xy) / determinant];
      const next = inBox(end);
      const step = Math.max(Math.abs(next[0] - at[0]), Math.abs(next[1] - at[1]));
      at = next;
      if (step <= 1e-11 * Math.max(east - west, north - south)) break;
    }
    return L.point(end[0], end[1]);
  }

  // Beyond the box the place of its edge.
  function unproject({ x, y }) {
    const [a, b, c] = placeOf(inBox([x, y])).at;
    return L.latLng(Math.atan2(c, Math.hypot(a, b)) * 180 / Math.PI, Math.atan2(b, a) * 180 / Math.PI);
  }

  return { project, unproject, bounds: L.bounds([west, south], [east, north]) };
})();
