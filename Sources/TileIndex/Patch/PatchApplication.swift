import Support

/// Applies a patch to its base.
///
/// 1. Check that the base is the bundle that the patch was made from.
/// 2. Write its tiles and the patch's into a new bundle, in the order of the new edition if the base still has its own
///    order.
/// 3. Check the finished file against the patch.
/// 4. Rename it.
struct PatchApplication {
  let patch: PatchFile
  private let base: any BundleReader
  private let basePlaces: [Place]
  /// True when the base has the tile order that the patch's steps refer to.
  private let isInOrder: Bool
  private let count: TileCount

  /// - Throws: ``BundleError`` with `.mismatch` when the base is another bundle.
  init(patch: String, base: String, matrixSet: TileMatrixSet?, count: TileCount) throws {
    self.count = count
    let patch = try PatchFile(path: patch, matrixSet: matrixSet)
    let expected = patch.info.base
    let file = try WholeFile.hash(base)
    let reader = try BundleFile.open(base, matrixSet: patch.info.matrixSet)
    self.patch = patch
    self.base = reader
    basePlaces = try reader.places().all()
    if file == nil || file != expected.file { try Self.check(reader, places: basePlaces, patch, count) }
    isInOrder =
      try expected.order != nil && patch.info.result.order != nil && reader.putOrder?.digest() == expected.order
  }

  private static func check(
    _ base: any BundleReader, places: [Place], _ patch: PatchFile, _ count: TileCount
  ) throws {
    let info = patch.info
    func wrong(_ why: String, _ remedy: String) -> BundleError {
      BundleError(.mismatch, path: base.path, why, remedy: remedy)
    }
    guard base.matrixSet == info.matrixSet else {
      throw wrong(
        "its grid is \(base.matrixSet.identifier); \(patch.path) is for one of \(info.matrixSet.identifier)",
        "apply it to \"\(info.base.title)\"")
    }
    let found = (
      tiles: try TilesHash.of(base, count: count), metadata: PatchInfo.digest(metadata: base.metadata),
      places: PatchInfo.digest(places: places)
    )
    func isSame(_ state: PatchInfo.State) -> Bool { found == (state.tiles, state.metadata, state.places) }
    if isSame(info.base) { return }
    if isSame(info.result) {
      throw wrong("already has the tiles, metadata and places that \(patch.path) leads to", "there is nothing to do")
    }
    guard found.tiles == info.base.tiles else {
      throw wrong(
        """
        is not the bundle that \(patch.path) is for, or was changed: its tiles have the hash \(found.tiles), not \
        \(info.base.tiles)
        """,
        "apply it to \"\(info.base.title)\", or take the new bundle as a whole")
    }
    throw wrong(
      "has the tiles that \(patch.path) is for, but its metadata or places were changed",
      "apply it to the bundle as it was published, or take the new bundle as a whole")
  }

  /// Writes the result.
  ///
  /// - Returns: true when its file is the new edition's byte for byte.
  func run(output: String, replacing: Bool) throws -> Bool {
    var isSame = false
    try write(output: output, replacing: replacing) { path in isSame = try inspect(path) }
    return isSame
  }

  private struct TriedOut: Error {}

  /// Writes the result, checks it, and discards it.
  func tryOut(beside output: String) throws -> Bool {
    let trial = output + ".trial"
    var isSame = false
    do {
      try write(output: trial, replacing: true) { path in
        isSame = try inspect(path)
        throw TriedOut()
      }
    } catch is TriedOut {
    } catch let error as BundleError where error.path == trial {
      // Errors name the output that the caller requested, not the trial file.
      throw BundleError(error.code, path: output, error.message, remedy: error.remedy)
    }
    return isSame
  }

  private func write(output: String, replacing: Bool, inspect: (String) throws -> Void) throws {
    let info = patch.info
    guard let format = info.format else { throw PatchInfo.damaged(patch.path, "it does not say what its tiles are") }
    let writer = try BundleWriter(
      path: output, matrixSet: info.matrixSet, format: format, replacing: replacing, mixing: info.mixing,
      pageBytes: nil, hashes: info.result.hashes)
    defer { writer.discard() }
    func put(_ tile: TileID, _ bytes: UnsafeRawBufferPointer) throws {
      try writer.put(tile, bytes)
      count.add()
    }
    let damaged = { (error: BundleError) in PatchInfo.damaged(self.patch.path, error.message) }
    do {
      if isInOrder { try putInOrder(put) } else { try putAll(put) }
    } catch let error as BundleError where error.code == .invalidContent {
      throw damaged(error)
    }
    let places = try patch.places(base: basePlaces) ?? basePlaces
    if !info.result.places.isEmpty { try writer.write(places: places) }
    let rows = try patch.metadata().map { row in
      guard let value = row.value ?? base.metadata[row.name] else {
        throw PatchInfo.damaged(patch.path, "the metadata \"\(row.name)\" is nowhere")
      }
      return (name: row.name, value: value)
    }
    do {
      _ = try writer.finish(rows: { _ in rows }, inspect: inspect)
    } catch let error as BundleError where error.tilePutTwice != nil {
      throw damaged(error)
    }
  }

  /// Puts the base's and the patch's tiles in the order of the new edition.
  private func putInOrder(_ put: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    guard let order = base.putOrder else { return }
    let tiles = try patch.tiles()
    try patch.forEachStep { step in
      if let first = step.base {
        try order.forEachTile(at: first...(first + step.count - 1), put)
      } else {
        for _ in 0..<step.count {
          guard try tiles.next(put) else { throw PatchInfo.damaged(patch.path, "tiles are missing") }
        }
      }
    }
  }

  private func putAll(_ put: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    let replaced = try patch.replacedTiles()
    try base.forEachTile { tile, bytes in
      if !replaced.contains(tile) { try put(tile, bytes) }
    }
    let tiles = try patch.tiles()
    while try tiles.next(put) {}
  }

  /// True when the file is the new edition's byte for byte, false when only its contents are equal.
  ///
  /// - Throws: ``BundleError`` with `.malformed` when it has other contents.
  private func inspect(_ path: String) throws -> Bool {
    let expected = patch.info.result
    if isInOrder, let file = expected.file {
      do {
        if let version = expected.writer { try WholeFile.setSQLiteVersion(version, path) }
      } catch let error as FileSystem.SystemError {
        throw BundleError(.writeFailed, path: path, "could not be written: \(error)", remedy: error.writingRemedy)
      }
      if try FileHash.sha256(ofFile: path) == file { return true }
    }
    let result = try MBTilesReader(path: path, matrixSet: patch.info.matrixSet)
    guard try TilesHash.of(result, count: count) == expected.tiles,
      PatchInfo.digest(metadata: result.metadata) == expected.metadata,
      PatchInfo.digest(places: try result.places().all()) == expected.places
    else { throw PatchInfo.damaged(patch.path, "it does not lead to what it promises") }
    return false
  }
}
