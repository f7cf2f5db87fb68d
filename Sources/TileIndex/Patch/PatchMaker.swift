import Support

/// Compares two bundles and writes the patch between them.
struct PatchMaker {
  let base: PatchInfo.State
  let result: PatchInfo.State
  private let count: TileCount
  private let old: any BundleReader
  private let new: any BundleReader
  private let format: TileFormat?
  private let mixing: Set<TileFormat>
  private let oldPlaces: [Place]
  private let newPlaces: [Place]
  /// Of both.
  private(set) var leftOut = LeftOut()

  /// True when the patch can state the SHA-256 of its result's file.
  var promisesFile: Bool { base.order != nil && result.order != nil }

  /// - Throws: ``BundleError``; `.mismatch` when grid or tile format differ.
  init(old: String, new: String, matrixSet: TileMatrixSet?, count: TileCount) throws {
    self.count = count
    (self.old, self.new) = (
      try BundleFile.open(old, matrixSet: matrixSet), try BundleFile.open(new, matrixSet: matrixSet)
    )
    for bundle in [self.old, self.new] { try bundle.holdOneState() }
    guard self.old.matrixSet == self.new.matrixSet else {
      throw BundleError(
        .mismatch, path: new,
        """
        its grid is \(self.new.matrixSet.identifier), that of \(old) is \(self.old.matrixSet.identifier), so they have \
        no tile in common
        """,
        remedy: "deliver the whole bundle")
    }
    let formats = (try self.old.tileFormat(), try self.new.tileFormat())
    let (before, mixing) = (self.old.metadata.mixedFormats, self.new.metadata.mixedFormats)
    // A map that becomes opaque, or ceases to be so, shares most of its tiles with its other edition.
    let areRelated = formats.0.map(mixing.contains) == true || formats.1.map(before.contains) == true
    guard formats.0 == formats.1 || formats.0 == nil || areRelated else {
      throw BundleError(
        .mismatch, path: new,
        """
        its tiles are \(formats.1?.rawValue ?? "unknown"), those of \(old) are \(formats.0?.rawValue ?? "unknown"), so \
        a patch would hold every tile
        """,
        remedy: "deliver the whole bundle")
    }
    guard let format = formats.1 else {
      throw BundleError(.mismatch, path: new, "has no tiles that are PNG, JPEG, WebP or gzipped vector tiles")
    }
    self.format = format
    self.mixing = mixing
    for bundle in [self.old, self.new] { try bundle.prepareLookups() }
    oldPlaces = try self.old.places().all()
    // In the order in which the result stores them.
    newPlaces = try self.new.places().all().sorted(by: Place.precedes)
    let (oldTiles, newTiles) = (
      try TilesHash.counted(self.old, count: count), try TilesHash.counted(self.new, count: count)
    )
    leftOut.note(self.old, read: oldTiles.tiles)
    leftOut.note(self.new, read: newTiles.tiles)
    base = try Self.state(self.old, oldTiles.hash, places: oldPlaces, metadata: self.old.metadata)
    result = try Self.state(self.new, newTiles.hash, places: newPlaces, metadata: self.new.metadata.unrepeated)
  }

  private static func state(
    _ bundle: any BundleReader, _ tiles: TilesHash, places: [Place], metadata: StoredMetadata
  ) throws -> PatchInfo.State {
    // A patch of damaged tiles would pass for the edition.
    try bundle.requireWritten(tiles)
    let words = [metadata.name, metadata.version.map { "version \($0)" }].compactMap { $0 }
    return PatchInfo.State(
      title: words.joined(separator: ", "), tiles: tiles,
      metadata: PatchInfo.digest(metadata: metadata), places: PatchInfo.digest(places: places),
      file: try WholeFile.hash(bundle.path), order: try bundle.putOrder?.digest(),
      writer: WholeFile.sqliteVersion(bundle.path), hashes: bundle.storesTileHashes)
  }

  /// Writes the patch into an empty file.
  ///
  /// - Parameter promisingFile: false when the result is known not to be the new file byte for byte.
  func write(to path: String, promisingFile: Bool = true) throws {
    FileSystem.remove(path)
    try FileSystem.createExclusively(path)
    let tables = try PatchTables(path: path)
    let orders = (old.putOrder, new.putOrder)
    func compare(_ tile: TileID, _ bytes: UnsafeRawBufferPointer) throws {
      count.add()
      if try old.withTile(tile, { $0.isSame(as: bytes) }) == true {
        if let order = orders.0, orders.1 != nil, let position = try order.position(of: tile) {
          try tables.keep(position: position)
        }
        return
      }
      let found = TileFormat(tile: bytes)
      guard found == format || found.map(mixing.contains) == true else {
        throw BundleError(
          .mismatch, path: new.path, "tile \(tile) is not \(format?.rawValue ?? "") like the first one",
          remedy: "verify it to find all such tiles", repair: .verify)
      }
      try tables.put(tile, bytes)
    }
    if let order = orders.1 { try order.forEachTile(at: nil, compare) } else { try new.forEachTile(compare) }
    try old.forEachTile { tile, _ in
      count.add()
      if try new.withTile(tile, { _ in true }) == nil { try tables.remove(tile) }
    }
    if base.places != result.places { try tables.write(newPlaces, base: oldPlaces) }
    var result = result
    if !promisingFile || !promisesFile { result.file = nil }
    try tables.finish(
      PatchInfo(matrixSet: new.matrixSet, format: format, mixing: mixing, base: base, result: result),
      metadata: metadata())
  }

  private func metadata() -> [(name: String, value: String?)] {
    new.metadata.unrepeated.entries.map { row in
      // A copy of the base may lack the hash of its tiles.
      (row.name, old.metadata[row.name] == row.value && row.name != MetadataKey.tilesHash ? nil : row.value)
    }
  }
}

extension StoredMetadata {
  /// The first row of each name; bundles of ``BundleWriter`` have each name once.
  fileprivate var unrepeated: StoredMetadata {
    var names: Set<String> = []
    return StoredMetadata(entries.filter { names.insert($0.name).inserted })
  }
}
