package import MapDrawing
package import RegionCatalog
public import TileImage
public import TileIndex

/// The zooms and tiles that a cut makes, decided before the first pixel is decoded.
public struct CutPlan: Sendable {
  /// The grid, with the tile size that is drawn.
  public let matrixSet: TileMatrixSet
  /// The stored zooms.
  public let zooms: ClosedRange<Int>
  /// The deepest zoom at which sources are drawn. It is the deepest stored zoom, or a deeper one if the sources have so
  /// much more detail that a kernel would have to be widened more than four times.
  package let workingZoom: Int
  /// The zoom from which coarser ones are reduced: the working zoom, or the finest source's own where that is coarser.
  /// Zooms between the two are drawn from the sources too, because reducing what was enlarged would soften it.
  package let baseZoom: Int
  package let resampling: Resampling
  public let encoding: TileEncoding
  /// Whether overviews are averaged in linear light.
  package let isLinear: Bool
  /// What each source covers, in drawing order.
  package let footprints: [SourceFootprint]
  /// The tiles that may have a visible pixel, for each zoom from the lowest stored one to the working zoom.
  package let coverages: [Int: CandidateTiles]
  /// Those of them above the working zoom that are drawn themselves, because no source has more detail there. None
  /// unless the depth is variable (``VariableDepth``).
  let leaves: [Int: CandidateTiles]
  /// The zooms at which sources end, ascending; the last is the working zoom, and the only one unless the depth is
  /// variable.
  let depths: [Int]
  /// What the map shows of its tiles, for each zoom at which tiles are drawn; none shows everything.
  let masks: [Int: ClipMask]
  /// The part of the world that is cut.
  private let ground: CutArea
  /// What is drawn over the tiles of the stored zooms; nil for nothing.
  package var drawing: VectorMap?
  /// See ``CutArea/outline``.
  package var outline: BoundingBox { ground.outline }
  /// See ``CutArea/extent``.
  package var extent: BoundingBox { ground.extent }

  /// The number of candidate tiles in the stored zooms, an upper limit of the bundle's tiles.
  package var tileCountMax: Int { zooms.reduce(0) { $0 + tileCountMax(zoom: $1) } }

  /// The number of candidate tiles of a stored zoom.
  package func tileCountMax(zoom: Int) -> Int { coverages[zoom]?.count ?? 0 }

  /// A cut of more tiles is refused as a probable mistake.
  package static let tileCountLimit = 1_000_000_000

  /// - Parameters:
  ///   - detail: the edge of a pixel of each source as it is drawn, in target CRS units; nil means the footprints'.
  ///   - variableDepth: whether each area ends at the zoom where its sources have no more detail.
  package init(
    footprints: [SourceFootprint], detail: [Double]? = nil, matrixSet: TileMatrixSet, zoom: ZoomSelection,
    variableDepth: Bool = false, bounds: BoundingBox?, boundary: RegionBoundary? = nil, clip: ClipArea? = nil,
    resampling: Resampling, isLinear: Bool = false, encoding: TileEncoding
  ) throws {
    self.matrixSet = matrixSet
    self.footprints = footprints
    self.resampling = resampling
    self.encoding = encoding
    self.isLinear = isLinear
    let (wanted, native, ends) = try Self.depths(
      footprints, detail: detail ?? footprints.map(\.resolution), zoom: zoom, matrixSet: matrixSet,
      variableDepth: variableDepth)
    var (zooms, working) = (wanted, ends.max()!)

    let area = clip?.pixels(matrixSet, zoom: working)
    ground = try CutArea(of: footprints, within: bounds, and: area, zoom: working, in: matrixSet)
    let boxes = ground.boxes
    guard
      Self.tileEstimate(
        ground.outline, variableDepth ? zip(boxes, ends).map { ($0, $1) } : nil, zoom: working, in: matrixSet)
        < Double(Self.tileCountLimit)
    else {
      throw CutError(
        .invalidOption, "zoom \(working) would take more than a thousand million tiles",
        remedy: "give a smaller --zoom or --bounds"
          + (!variableDepth && Self.areMixed(footprints) ? ", or \(Self.coarseRemedy)" : ""))
    }

    if variableDepth {
      let shown = ShownArea(boundary: boundary, boundaryZoom: zooms.upperBound, clip: clip)
      let depth = try VariableDepth(
        boxes: boxes, depths: ends, zoomMin: zooms.lowerBound, in: matrixSet, showing: shown)
      guard let deepest = depth.deepest else { throw clip == nil ? Self.outsideBoundary : CutArea.nothingToShow }
      // Of the sources with the most detail nothing may be shown.
      working = deepest
      zooms = zooms.lowerBound...min(zooms.upperBound, deepest)
      (coverages, leaves, masks) = (depth.coverages, depth.leaves, depth.masks)
      baseZoom = deepest
    } else {
      let mask: ClipMask?
      (coverages, mask) = try Self.tiles(
        meeting: boxes, zooms: zooms, workingZoom: working, boundary: boundary, area: area, in: matrixSet)
      baseZoom = min(max(native, zooms.lowerBound), working)
      var masks = mask.map { [working: $0] } ?? [:]
      if let clip {
        for zoom in baseZoom..<working {
          masks[zoom] = ClipMask(
            clip.pixels(matrixSet, zoom: zoom), matrix: matrixSet[zoom], zoom: zoom, within: coverages[zoom]!)
        }
      }
      (leaves, self.masks) = ([:], masks)
    }
    (self.zooms, workingZoom) = (zooms, working)
    depths = Set(ends).filter { $0 < working }.sorted() + [working]
    try checkSteps()
  }

  /// The stored zooms, and the zoom at which each source is drawn.
  ///
  /// - Parameter detail: the edge of a pixel of each source as it is drawn, in target CRS units.
  private static func depths(
    _ footprints: [SourceFootprint], detail: [Double], zoom: ZoomSelection, matrixSet: TileMatrixSet,
    variableDepth: Bool
  ) throws -> (zooms: ClosedRange<Int>, native: Int, ends: [Int]) {
    let native = footprints.map { matrixSet.nearestZoom(toCellSize: $0.resolution) }
    var zooms = try Self.zooms(zoom, native: native.max()!, matrixSet: matrixSet)
    if variableDepth { zooms = zooms.lowerBound...max(min(zooms.upperBound, native.max()!), zooms.lowerBound) }
    func depth(native: Int, detail: Double) -> Int {
      var working = zooms.upperBound
      while working < native, matrixSet[working].cellSize > 4.0001 * detail { working += 1 }
      return working
    }
    let ends = footprints.indices.map { i in
      guard variableDepth else { return depth(native: native.max()!, detail: detail.min()!) }
      return native[i] > zooms.upperBound
        ? depth(native: native[i], detail: detail[i]) : max(native[i], zooms.lowerBound)
    }
    return (zooms, native.max()!, ends)
  }

  /// How many tiles of a zoom there are in the outline, at most.
  ///
  /// - Parameter sources: the boxes of each source with the zoom at which it ends, where these differ.
  private static func tileEstimate(
    _ outline: BoundingBox, _ sources: [(boxes: [BoundingBox], end: Int)]?, zoom: Int, in matrixSet: TileMatrixSet
  ) -> Double {
    func tiles(_ box: BoundingBox, zoom: Int) -> Double {
      box.width / matrixSet[zoom].tileSpanX * box.height / matrixSet[zoom].tileSpanY
    }
    let most = tiles(outline, zoom: zoom)
    // Sources over each other are counted more than once, the outline is not.
    let sum = sources?.reduce(0.0) { sum, source in source.boxes.reduce(sum) { $0 + tiles($1, zoom: source.end) } }
    return min(most, sum ?? most)
  }

  /// The tiles of each zoom where all sources end at one, and what is shown of the working zoom's.
  private static func tiles(
    meeting boxes: [[BoundingBox]], zooms: ClosedRange<Int>, workingZoom: Int, boundary: RegionBoundary?,
    area: PixelArea?, in matrixSet: TileMatrixSet
  ) throws -> (coverages: [Int: CandidateTiles], mask: ClipMask?) {
    var coverage = try CandidateTiles(zoom: workingZoom, meeting: boxes, in: matrixSet)
    if let boundary {
      // Tiles entirely outside the boundary are skipped; tiles that it crosses are drawn completely.
      coverage = coverage.intersection(
        CandidateTiles(zoom: workingZoom, boundary.tiles(zoom: zooms.upperBound, in: matrixSet), in: matrixSet))
      guard coverage.count > 0 else { throw outsideBoundary }
    }
    let mask = area.map { ClipMask($0, matrix: matrixSet[workingZoom], zoom: workingZoom, within: coverage) }
    if let mask {
      coverage = mask.tiles
      guard coverage.count > 0 else { throw CutArea.nothingToShow }
    }
    var coverages = [workingZoom: coverage]
    while coverage.zoom > zooms.lowerBound {
      coverage = coverage.parents(in: matrixSet)
      coverages[coverage.zoom] = coverage
    }
    return (coverages, mask)
  }

  private static let outsideBoundary = CutError(
    .invalidOption, "the boundary and the sources have no ground in common",
    remedy: "give the boundary in degrees, longitude first, within the sources")

  /// The candidate tiles among a tile's children.
  package func candidates(under tile: TileID) -> [TileID] {
    guard let range = matrixSet.children(of: tile) else { return [] }
    return coverages[tile.zoom + 1]!.tiles(in: range)
  }

  /// Whether a tile is drawn from the sources, and not reduced from its children.
  func isDrawn(_ tile: TileID) -> Bool {
    tile.zoom >= baseZoom || leaves[tile.zoom]?.contains(tile) == true
  }

  /// Whether a tile has no children.
  func isLeaf(_ tile: TileID) -> Bool {
    tile.zoom == workingZoom || leaves[tile.zoom]?.contains(tile) == true
  }

  /// The zooms at which tiles are drawn from the sources.
  var drawnZooms: [Int] { leaves.keys.sorted() + Array(baseZoom...workingZoom) }

  /// The coarsest and the finest stored zoom at which areas end.
  package var endZooms: ClosedRange<Int> {
    min(leaves.keys.min() ?? workingZoom, zooms.upperBound)...zooms.upperBound
  }

  /// Rectangles of a zoom's pixels outside which nothing is drawn; nil draws everything.
  package func clips(zoom: Int) -> [PixelRect]? { ground.clips(matrixSet[zoom]) }

  /// Visible pixels of a zoom in pixels of the working zoom. Sides within a pixel of the sources' outline are that
  /// outline: a coarse pixel that reaches beyond it says no more.
  func atWorkingZoom(_ visible: VisibleExtent, from zoom: Int) -> VisibleExtent {
    guard zoom < workingZoom else { return visible }
    let (own, working) = (matrixSet[zoom], matrixSet[workingZoom])
    func side(_ place: Double, _ outline: Double) -> Double { abs(place - outline) < own.cellSize ? outline : place }
    let low = own.point(atPixel: SIMD2(Double(visible.left), Double(visible.bottom)))
    let high = own.point(atPixel: SIMD2(Double(visible.right), Double(visible.top)))
    let first = working.pixelCoordinates(of: SIMD2(side(low.x, outline.west), side(high.y, outline.north)))
    let last = working.pixelCoordinates(of: SIMD2(side(high.x, outline.east), side(low.y, outline.south)))
    // Edges of coarse pixels are edges of fine ones, but for rounding.
    let tolerance = 1e-3
    return VisibleExtent(
      left: Int((first.x + tolerance).rounded(.down)), top: Int((first.y + tolerance).rounded(.down)),
      right: Int((last.x - tolerance).rounded(.up)), bottom: Int((last.y - tolerance).rounded(.up)))
  }

  /// Draws over finished tiles; nil if there is nothing to draw. One per worker thread.
  func makePainter() -> TilePainter? { drawing.map { TilePainter($0, insideOnly: !masks.isEmpty) } }

  /// What is shown at each zoom: of the candidate tiles what lies in the sources' extent, and in the clipped area.
  var labelFrame: LabelFrame {
    let (matrixSet, outline, zooms) = (matrixSet, ground.extent, zooms)
    let box: @Sendable (Int) -> PixelBox = { zoom in
      let matrix = matrixSet[zoom]
      return PixelBox(
        low: matrix.pixelCoordinates(of: SIMD2(outline.west, outline.north)),
        high: matrix.pixelCoordinates(of: SIMD2(outline.east, outline.south)))
    }
    let (coverages, mask, workingZoom) = (coverages, masks[workingZoom], workingZoom)
    @Sendable func shows(_ zoom: Int, _ part: PixelBox) -> Bool {
      let matrix = matrixSet[zoom]
      // Tiles of coarser zooms than the stored ones do not matter.
      if zooms.contains(zoom), let tiles = coverages[zoom] {
        let size = SIMD2(Double(matrix.tileWidth), Double(matrix.tileHeight))
        let (first, last) = ((part.low / size).rounded(.down), (part.high / size).rounded(.down))
        for row in Int(first.y)...Int(last.y) {
          for column in Int(first.x)...Int(last.x) {
            guard tiles.contains(TileID(unchecked: zoom, column, row)) else { return false }
          }
        }
      }
      guard let mask else { return true }
      func working(_ pixel: SIMD2<Double>) -> SIMD2<Double> {
        matrixSet[workingZoom].pixelCoordinates(of: matrix.point(atPixel: pixel))
      }
      return mask.area.covers(low: working(part.low), high: working(part.high))
    }
    return LabelFrame(zooms: zooms, box: box) { zoom, part in
      part.wrapped(matrixSet.turn(zoom: zoom)).allSatisfy { shows(zoom, $0) }
    }
  }

  var reduction: Reduction {
    let kind: Reduction.Kind =
      switch resampling {
      case .nearest: .pick
      case .mode: .mode
      default: isLinear ? .linearAverage : .average
      }
    return Reduction(matrixSet: matrixSet, kind: kind, baseZoom: baseZoom)
  }

  private static func zooms(_ zoom: ZoomSelection, native: Int, matrixSet: TileMatrixSet) throws -> ClosedRange<Int> {
    switch zoom {
    case .native: return 0...native
    case .levels(let levels):
      guard matrixSet.zooms.contains(levels.upperBound) else {
        throw CutError(
          .invalidOption, "\(matrixSet.identifier) has no zoom level \(levels.upperBound)",
          remedy: "its levels are 0 to \(matrixSet.zooms.upperBound)")
      }
      return levels
    }
  }

  /// Checks that each child fills a whole number of its parent's pixels, which reduction requires.
  private func checkSteps() throws {
    for zoom in zooms.lowerBound..<max(workingZoom, zooms.lowerBound) {
      let ratio = matrixSet.ratio(below: zoom)
      let (parent, child) = (matrixSet[zoom], matrixSet[zoom + 1])
      guard parent.tileWidth == child.tileWidth, parent.tileHeight == child.tileHeight,
        child.tileWidth % ratio == 0, child.tileHeight % ratio == 0
      else {
        throw CutError(
          .invalidOption,
          "\(matrixSet.identifier) steps by \(ratio) below level \(zoom), which its tile size does not allow",
          remedy: "choose a tile size that is a multiple of the step")
      }
    }
  }
}

extension CutPlan: CustomStringConvertible {
  /// The plan for people: the grid, the zooms and how many tiles each may have.
  public var description: String {
    func upTo(_ tiles: Int) -> String { "up to \(tiles) \(tiles == 1 ? "tile" : "tiles")" }
    var lines = ["\(matrixSet.identifier), zoom \(zooms.lowerBound)-\(zooms.upperBound)"]
    lines += zooms.map { "  zoom \($0): \(upTo(tileCountMax(zoom: $0)))" }
    lines.append("  in all \(upTo(tileCountMax))")
    if endZooms.count > 1 {
      lines.append("  areas end at zoom \(endZooms.lowerBound) to \(endZooms.upperBound), as their sources do")
    }
    if baseZoom < zooms.upperBound {
      lines.append("  the sources have the detail of zoom \(baseZoom), and are enlarged for deeper ones")
    }
    if workingZoom > zooms.upperBound { lines.append("  drawn at zoom \(workingZoom) and reduced from there") }
    return lines.joined(separator: "\n")
  }
}

/// The zooms that a bundle gets.
public enum ZoomSelection: Hashable, Sendable, Codable {
  /// From 0 to the zoom whose pixel size is nearest to the source's, by the rounded binary logarithm.
  case native
  /// Exactly these. Zooms deeper than the source's own are enlarged.
  case levels(ClosedRange<Int>)

  /// Parses `N` or `MIN-MAX`; nil if the text is neither.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    switch parts.count {
    case 1:
      guard let zoom = parts[0], zoom >= 0 else { return nil }
      self = .levels(zoom...zoom)
    case 2:
      guard let low = parts[0], let high = parts[1], low >= 0, low <= high else { return nil }
      self = .levels(low...high)
    default: return nil
    }
  }
}
