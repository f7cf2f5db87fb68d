import TestSupport
import TileIndex

/// Bundles with random tiles on several grids, and modified copies of them.
struct RandomBundle {
  var matrixSet: TileMatrixSet
  /// In the order in which they are written.
  var tiles: [(tile: TileID, bytes: [UInt8])]
  var places: [Place]
  var metadata: BundleMetadata

  /// Levels that step by 4, 4 and 3.
  static let degrees = try! TileMatrixSet(
    identifier: "Degrees", uri: "urn:test:degrees", tileEdges: [32, 8, 2, 2.0 / 3], tileSizes: [96])
  static let grids: [TileMatrixSet] = [.webMercatorQuad, .worldCRS84Quad, degrees]

  init(_ matrixSet: TileMatrixSet, count: Int, using generator: inout SeededGenerator) {
    self.matrixSet = matrixSet
    var known: Set<TileID> = []
    tiles = []
    while tiles.count < count {
      let tile = Self.tile(matrixSet, using: &generator)
      if known.insert(tile).inserted { tiles.append((tile, Self.bytes(using: &generator))) }
    }
    places = (0..<Int.random(in: 0...30, using: &generator)).map { _ in Self.place(using: &generator) }
    metadata = BundleMetadata(name: "Random", attribution: "© nobody", version: "1", extra: ["edition": "1"])
  }

  /// A copy in which some tiles are changed, removed or added; the others keep their order.
  func changed(using generator: inout SeededGenerator) -> RandomBundle {
    var copy = self
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      let index = Int.random(in: 0..<copy.tiles.count, using: &generator)
      switch Int.random(in: 0...3, using: &generator) {
      case 0: copy.tiles[index].bytes = Self.bytes(using: &generator)
      case 1: if copy.tiles.count > 1 { copy.tiles.remove(at: index) }
      case 2: copy.tiles.swapAt(index, Int.random(in: 0..<copy.tiles.count, using: &generator))
      default:
        let tile = Self.tile(matrixSet, using: &generator)
        guard !copy.tiles.contains(where: { $0.tile == tile }) else { continue }
        copy.tiles.insert((tile, Self.bytes(using: &generator)), at: index)
      }
    }
    if Bool.random(using: &generator) { copy.metadata.extra["edition"] = "2" }
    if Bool.random(using: &generator) {
      copy.places = copy.places.filter { _ in Int.random(in: 0...4, using: &generator) > 0 }
    }
    if Bool.random(using: &generator) { copy.places.append(Self.place(using: &generator)) }
    return copy
  }

  @discardableResult
  func write(_ path: String) throws -> String {
    let writer = try BundleWriter(path: path, matrixSet: matrixSet, format: .png, replacing: true)
    for (tile, bytes) in tiles { try writer.put(tile, bytes) }
    if !places.isEmpty { try writer.write(places: places) }
    _ = try writer.finish(metadata)
    return path
  }

  private static func tile(_ matrixSet: TileMatrixSet, using generator: inout SeededGenerator) -> TileID {
    let zoom = Int.random(in: 0...min(4, matrixSet.zooms.upperBound), using: &generator)
    return TileID(
      unchecked: zoom, Int.random(in: 0..<matrixSet[zoom].matrixWidth, using: &generator),
      Int.random(in: 0..<matrixSet[zoom].matrixHeight, using: &generator))
  }

  /// Sometimes equal to another tile's.
  private static func bytes(using generator: inout SeededGenerator) -> [UInt8] {
    blob(UInt8.random(in: 0...40, using: &generator), count: Int.random(in: 1...4, using: &generator) * 700)
  }

  private static func place(using generator: inout SeededGenerator) -> Place {
    Place(
      name: "Place \(Int.random(in: 0...999, using: &generator))",
      kind: ["peak", "lake", ""].randomElement(using: &generator)!,
      longitude: Double.random(in: -180...180, using: &generator),
      latitude: Double.random(in: -90...90, using: &generator),
      importance: Double(Int.random(in: 0...4, using: &generator)) / 4)
  }
}

/// All contents of a bundle.
struct BundleContents: Equatable {
  var tiles: [TileID: [UInt8]] = [:]
  var metadata: [StoredMetadata.Entry]
  var places: [Place]

  init(_ path: String, _ matrixSet: TileMatrixSet? = nil) throws {
    try self.init(BundleFile.open(path, matrixSet: matrixSet))
  }

  init(_ bundle: any BundleReader) throws {
    metadata = bundle.metadata.entries
    places = try bundle.places().all()
    var tiles: [TileID: [UInt8]] = [:]
    try bundle.forEachTile { tiles[$0] = Array($1) }
    self.tiles = tiles
  }
}
