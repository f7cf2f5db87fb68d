/// How the names of a folder's tiles are read: as its documents say, or as their bounds alone fit.
struct TileFolderPlacement {
  /// True when rows count from the south.
  private(set) var isTMS: Bool
  /// What the names of the zooms' folders exceed the zooms by.
  private(set) var zoomShift: Int
  private var isFlipped = false
  private var isShifted = false

  /// 1. Take a column of the deepest zoom, with its rows.
  /// 2. Where it contradicts the bounds, take the first other reading that fits them: rows from the other end, and in
  ///    degrees zooms that count from a single tile. No zoom may contradict it.
  ///
  /// - Complexity: two listings of folders; of each zoom where the deepest contradicts the bounds.
  init(_ folder: TileFolder, _ metadata: TileFolderMetadata) throws {
    (isTMS, zoomShift) = (metadata.isTMS, metadata.zoomShift)
    // Folders of our own writer are as they say.
    guard metadata.stored[MetadataKey.tilesHash] == nil, let bounds = metadata.bounds else { return }
    let zooms = try folder.zoomFolders()
    guard let last = zooms.last, let deepest = try Sample(folder, zoom: last) else { return }
    let set = metadata.matrixSet
    let stated = deepest.position(isTMS: isTMS, zoomShift: zoomShift, to: bounds, in: set)
    let shifts = set == .worldCRS84Quad ? [zoomShift, 1 - zoomShift] : [zoomShift]
    for shift in shifts {
      for flips in [false, true] {
        let other = deepest.position(isTMS: isTMS != flips, zoomShift: shift, to: bounds, in: set)
        guard stated.isContradicted(by: other) else { continue }
        // The other zooms may say nothing, but not the opposite.
        let isRefuted = try zooms.contains { zoom in
          guard zoom >= shift, let sample = try Sample(folder, zoom: zoom) else { return false }
          return sample.position(isTMS: isTMS != flips, zoomShift: shift, to: bounds, in: set)
            .isContradicted(by: sample.position(isTMS: isTMS, zoomShift: zoomShift, to: bounds, in: set))
        }
        guard !isRefuted else { continue }
        (isFlipped, isShifted) = (flips, shift != zoomShift)
        (isTMS, zoomShift) = (isTMS != flips, shift)
        return
      }
    }
  }

  func warning(_ path: String) -> BundleError? {
    if isShifted { return .zoomsShifted(path) }
    if isFlipped {
      return .rowsFlipped(path, from: isTMS ? "south" : "north", not: isTMS ? "north" : "south")
    }
    return nil
  }

  /// The files of a column.
  private struct Sample {
    /// As the folder's name has it.
    let zoom: Int
    let column: Int
    let rows: ClosedRange<Int>

    /// Nil for a zoom without tiles.
    init?(_ folder: TileFolder, zoom: Int) throws {
      var found: (column: Int, rows: ClosedRange<Int>)?
      try folder.forEachColumn(zoom: zoom) { column in
        var rows: ClosedRange<Int>?
        try folder.forEachFile(zoom: zoom, column: column) { file in
          rows = rows.map { min($0.lowerBound, file.row)...max($0.upperBound, file.row) } ?? file.row...file.row
          return true
        }
        found = rows.map { (column, $0) }
        return found == nil
      }
      guard let found else { return nil }
      (self.zoom, column, rows) = (zoom, found.column, found.rows)
    }

    func position(isTMS: Bool, zoomShift: Int, to bounds: BoundingBox, in set: TileMatrixSet) -> StatedPosition {
      let zoom = zoom - zoomShift
      guard set.zooms.contains(zoom), rows.upperBound < set[zoom].matrixHeight else { return .outside }
      let height = set[zoom].matrixHeight
      let rows =
        isTMS
        ? MBTilesRow.flipped(
          rows.upperBound, matrixHeight: height)...MBTilesRow.flipped(
            rows.lowerBound, matrixHeight: height) : rows
      return StatedPosition(column: column, rows: rows, zoom: zoom, to: bounds, in: set)
    }
  }
}
