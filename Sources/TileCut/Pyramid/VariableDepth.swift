import RegionCatalog
import TileIndex

/// The tiles of a pyramid of which each area ends at the zoom where its sources have no more detail, as tippecanoe's
/// `--generate-variable-depth-tile-pyramid` does it with features.
///
/// A tile is refined into all of its children that show anything if a source with more detail than its zoom reaches
/// into it, else into none. So a coarse source is enlarged around a fine one, up to the edges of the fine one's tiles,
/// and every tile has all of its ancestors.
///
/// Zoom by zoom from the deepest on, each set is found among the children of the refined tiles above: time and memory
/// grow with the tiles that are drawn, not with those that the deepest zoom has in all.
struct VariableDepth {
  /// The tiles of each zoom.
  private(set) var coverages: [Int: CandidateTiles] = [:]
  /// Those of them that are drawn themselves, of zooms above the deepest; only zooms that have some.
  private(set) var leaves: [Int: CandidateTiles] = [:]
  /// What is shown of the tiles, for the zooms at which some are drawn.
  private(set) var masks: [Int: ClipMask] = [:]

  /// The deepest zoom with a tile; nil if nothing is shown.
  var deepest: Int? { coverages.keys.max() }

  /// - Parameters:
  ///   - boxes: of each source, in CRS units.
  ///   - depths: of each source, the zoom at which it ends.
  ///   - zoomMin: the coarsest zoom of the pyramid.
  ///   - area: what of them is shown.
  /// - Throws: ``CutError`` if the sources' pixels are too different to plan.
  init(boxes: [[BoundingBox]], depths: [Int], zoomMin: Int, in matrixSet: TileMatrixSet, showing area: ShownArea) throws
  {
    // The parents of the tiles of the zoom below.
    var refined: CandidateTiles?
    for zoom in (zoomMin...max(depths.max()!, zoomMin)).reversed() {
      let filter = TileFilter(area, zoom: zoom, in: matrixSet)
      let own = boxes.indices.filter { depths[$0] == zoom }.map { boxes[$0] }
      let ending =
        own.isEmpty ? nil : filter.shown(try CandidateTiles(zoom: zoom, meeting: own, in: matrixSet)).tiles
      guard var tiles = refined.map({ below in ending.map { below.union($0) } ?? below }) ?? ending, tiles.count > 0
      else { continue }
      var mask: ClipMask?
      let parents = zoom > zoomMin ? tiles.parents(in: matrixSet) : nil
      if let parents {
        // The other children, whose sources have no more detail. Those with more have their tiles already.
        let others = parents.children(in: matrixSet).subtracting(tiles)
        let coarse = boxes.indices.filter { depths[$0] <= zoom }.flatMap { boxes[$0] }
        let ranges = Self.ranges(of: coarse, meeting: others, in: matrixSet)
        let found = filter.shown(tiles.union(others.within(ranges)))
        (tiles, mask) = (tiles.union(found.tiles), found.mask)
      } else {
        mask = filter.shown(tiles).mask
      }
      coverages[zoom] = tiles
      let drawn = refined.map { tiles.subtracting($0) } ?? tiles
      if drawn.count > 0 {
        if refined != nil { leaves[zoom] = drawn }
        masks[zoom] = mask
      }
      refined = parents
    }
  }

  /// The tiles of a set's zoom that boxes meet, as far as they may be in the set.
  private static func ranges(
    of boxes: some Sequence<BoundingBox>, meeting tiles: CandidateTiles, in matrixSet: TileMatrixSet
  ) -> [TileRange] {
    guard let (first, last) = tiles.corners else { return [] }
    let around = matrixSet.bounds(of: first).union(matrixSet.bounds(of: last))
    // Rounding may put a box on the edge of a tile into the next one.
    let margin = matrixSet[tiles.zoom].cellSize
    return boxes.compactMap { box in
      guard box.west <= around.east + margin, box.east >= around.west - margin, box.south <= around.north + margin,
        box.north >= around.south - margin
      else { return nil }
      return matrixSet.range(coveringCRSBounds: box, zoom: tiles.zoom)
    }
  }
}

/// What a map shows of its sources, at any zoom.
struct ShownArea {
  /// Tiles that do not touch it are left out.
  var boundary: RegionBoundary?
  /// The deepest zoom at which ``boundary`` decides.
  var boundaryZoom: Int
  var clip: ClipArea?
}

/// A ``ShownArea`` at one zoom.
private struct TileFilter {
  private let zoom: Int
  private let matrix: TileMatrix
  private let boundary: [TileRange]?
  private let clip: PixelArea?

  init(_ area: ShownArea, zoom: Int, in matrixSet: TileMatrixSet) {
    (self.zoom, matrix) = (zoom, matrixSet[zoom])
    boundary = area.boundary.map {
      CandidateTiles.ranges(zoom: zoom, $0.tiles(zoom: min(zoom, area.boundaryZoom), in: matrixSet), in: matrixSet)
    }
    clip = area.clip?.pixels(matrixSet, zoom: zoom)
  }

  /// Those of some tiles that are shown, and what is shown of them.
  func shown(_ tiles: CandidateTiles) -> (tiles: CandidateTiles, mask: ClipMask?) {
    let inside = boundary.map { tiles.within($0) } ?? tiles
    guard let clip else { return (inside, nil) }
    let mask = ClipMask(clip, matrix: matrix, zoom: zoom, within: inside)
    return (mask.tiles, mask)
  }
}
