import Support

/// The difference between two editions of a bundle, as a file: new, changed and removed tiles, changed metadata and
/// places.
///
/// A patch identifies its base and its result by ``TilesHash``, metadata and places, and applies to no other bundle. If
/// ``BundleWriter`` wrote both, the patch also records the order of the tiles, and its result is the new edition's file
/// byte for byte.
package enum BundlePatch {
  /// What a patch changes, returned when it is made or applied.
  package struct Summary: Hashable, Sendable, Codable {
    /// Tiles that are new or have different bytes.
    package let changedTiles: Int
    /// Tiles that are removed.
    package let removedTiles: Int
    /// Size of the patch.
    package let patchBytes: Int
    /// Of the base.
    package let baseTilesHash: TilesHash
    /// Of the result.
    package let resultTilesHash: TilesHash
    /// SHA-256 of the result's file in hexadecimal digits, if it is the new edition's file byte for byte; nil if only
    /// tiles, metadata and places are equal.
    package let resultSHA256: String?
    /// What the bundles that were compared have which is no tile; a patch made from them does not say it.
    package internal(set) var leftOut = LeftOut()
  }

  /// Writes the patch from one bundle to another, and applies it once as a check.
  ///
  /// - Parameters:
  ///   - old: a bundle of any format.
  ///   - new: a bundle of the same grid and tile format.
  ///   - output: the patch to write.
  ///   - replacing: replace an existing file.
  ///   - matrixSet: the bundles' grid if it is not a well-known one.
  ///   - progress: called every 256 tiles with the number of tiles read so far: those of the old bundle are read
  ///     twice, those of the new one three times.
  /// - Throws: ``BundleError``: `.mismatch` when grid or tile format differ; errors of reading and writing bundles.
  ///   After an error there is no output.
  /// - Complexity: O(bytes of both bundles). Besides a few megabytes, 24 bytes of memory for each changed tile.
  package static func diff(
    old: String, new: String, output: String, replacing: Bool = false, matrixSet: TileMatrixSet? = nil,
    progress: @escaping (Int) -> Void = { _ in }
  ) throws -> Summary {
    try OutputFile.protect([old, new], from: output)
    guard !BundleFile.isOtherFormat(output) else {
      throw BundleError(
        .invalidName, path: output, "is the name of another format than a patch", remedy: "name it .patch")
    }
    let file = try OutputFile(target: output, replacing: replacing)
    do {
      // 1. Describe both bundles.
      // 2. Write the patch.
      // 3. Apply it: only a result that is byte for byte the new file may be promised as such.
      let count = TileCount(progress)
      let maker = try PatchMaker(old: old, new: new, matrixSet: matrixSet, count: count)
      try maker.write(to: file.path)
      let trial = try PatchApplication(patch: file.path, base: old, matrixSet: matrixSet, count: count)
      let isSame = try trial.tryOut(beside: output)
      if !isSame, maker.promisesFile { try maker.write(to: file.path, promisingFile: false) }
      let counts = try PatchFile(path: file.path, matrixSet: matrixSet).counts()
      var summary = Summary(
        changedTiles: counts.put, removedTiles: counts.removed, patchBytes: FileSystem.size(file.path),
        baseTilesHash: maker.base.tiles, resultTilesHash: maker.result.tiles,
        resultSHA256: isSame ? maker.result.file : nil)
      summary.leftOut = maker.leftOut
      try file.commit()
      return summary
    } catch {
      file.remove()
      guard let error = error as? SQLiteError else { throw error }
      if error.isDiskFull { throw OutputFile.diskFull(output) }
      throw BundleError(
        .writeFailed, path: output, "the patch could not be written: \(error)",
        remedy: "check the disk and the permissions of the folder")
    }
  }

  /// Makes the new edition of a bundle from the old one and a patch.
  ///
  /// The output is renamed into place only after its tiles were checked against the patch.
  ///
  /// - Parameters:
  ///   - patch: a file written by ``diff(old:new:output:replacing:matrixSet:progress:)``.
  ///   - base: the old edition; or equal tiles, metadata and places in any format.
  ///   - output: the MBTiles bundle to write; may be the base itself if it may be replaced, which other changes then
  ///     wait for.
  ///   - progress: called every 256 tiles with the number of tiles written so far; with those that are read before, if
  ///     the base is equal but not the same file.
  /// - Throws: ``BundleError``: `.mismatch` when the base is another bundle, `.malformed` for a damaged patch,
  ///   `.invalidName` for the name of another container, `.busy` while another change of the base goes on that is
  ///   itself the output; errors of reading and writing bundles. After an error the
  ///   output is unchanged.
  /// - Complexity: O(bytes of the bundle).
  @discardableResult
  package static func apply(
    _ patch: String, to base: String, output: String, replacing: Bool = false, matrixSet: TileMatrixSet? = nil,
    progress: @escaping (Int) -> Void = { _ in }
  ) throws -> Summary {
    func run(_ base: String, _ output: String) throws -> Summary {
      try applyAlone(patch, to: base, output: output, replacing: replacing, matrixSet: matrixSet, progress: progress)
    }
    guard replacing, ChangeLock.areSame(base, output) else { return try run(base, output) }
    return try ChangeLock.changing(output) { try run($0, $0) }
  }

  private static func applyAlone(
    _ patch: String, to base: String, output: String, replacing: Bool, matrixSet: TileMatrixSet?,
    progress: @escaping (Int) -> Void
  ) throws -> Summary {
    try OutputFile.protect([patch], from: output)
    guard try BundleFile.kind(ofOutput: output) == .mbtiles else {
      throw BundleError(
        .invalidName, path: output, "is not the name of an MBTiles bundle, which is what patches make",
        remedy: "name it .mbtiles, and convert it afterwards")
    }
    try OutputFile.check(output, replacing: replacing)
    let application = try PatchApplication(
      patch: patch, base: base, matrixSet: matrixSet, count: TileCount(progress))
    let isSame = try application.run(output: output, replacing: replacing)
    let counts = try application.patch.counts()
    let info = application.patch.info
    return Summary(
      changedTiles: counts.put, removedTiles: counts.removed, patchBytes: FileSystem.size(patch),
      baseTilesHash: info.base.tiles, resultTilesHash: info.result.tiles, resultSHA256: isSame ? info.result.file : nil)
  }
}
