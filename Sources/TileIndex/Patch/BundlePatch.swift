import Support

/// What changed from one edition of a bundle to the next, as a file: new, changed and removed tiles, changed metadata and places.
///
/// A patch knows the bundle that it is for and the one that it leads to by their ``TilesHash``, metadata and places, and is applied to no other. Where both
/// were written by ``BundleWriter``, it also keeps the order of the tiles, and the result is the new edition's file byte for byte.
public enum BundlePatch {
  /// What a patch does, after it was made or applied.
  public struct Summary: Hashable, Sendable, Codable {
    /// Tiles that are new or have other bytes.
    public let changedTiles: Int
    /// Tiles that are no longer there.
    public let removedTiles: Int
    /// Size of the patch.
    public let patchBytes: Int
    /// Of the bundle that the patch is for.
    public let baseTilesHash: TilesHash
    /// Of the bundle that the patch leads to.
    public let resultTilesHash: TilesHash
    /// SHA-256 of the result's file in hexadecimal digits, where the result is the new edition's file byte for byte; nil where only all tiles, metadata and
    /// places are equal.
    public let resultSHA256: String?
  }

  /// Writes the patch that leads from one bundle to another, and applies it once for trial.
  ///
  /// - Parameters:
  ///   - old: a bundle of any format.
  ///   - new: a bundle of the same grid and tile format.
  ///   - output: the patch to write.
  ///   - replacing: take the place of an existing file.
  ///   - matrixSet: the bundles' grid where it is not a well-known one.
  /// - Throws: ``BundleError``: `.mismatch` when grid or tile format differ, and what reading and writing bundles throws. Nothing is then left.
  /// - Complexity: O(bytes of both bundles). Besides a few megabytes, 24 bytes of memory for each changed tile.
  public static func diff(
    old: String, new: String, output: String, replacing: Bool = false, matrixSet: TileMatrixSet? = nil
  ) throws -> Summary {
    try OutputFile.protect([old, new], from: output)
    let file = try OutputFile(target: output, replacing: replacing)
    do {
      // 1. What both bundles are. 2. The patch. 3. A trial: what is not byte for byte the new file must not be promised.
      let maker = try PatchMaker(old: old, new: new, matrixSet: matrixSet)
      try maker.write(to: file.path)
      let trial = try PatchApplication(patch: file.path, base: old, matrixSet: matrixSet)
      let isSame = try trial.tryOut(beside: output)
      if !isSame, maker.promisesFile { try maker.write(to: file.path, promisingFile: false) }
      let counts = try PatchFile(path: file.path, matrixSet: matrixSet).counts()
      let summary = Summary(
        changedTiles: counts.put, removedTiles: counts.removed, patchBytes: FileSystem.size(file.path),
        baseTilesHash: maker.base.tiles, resultTilesHash: maker.result.tiles,
        resultSHA256: isSame ? maker.result.file : nil)
      try file.commit()
      return summary
    } catch {
      file.remove()
      guard let error = error as? SQLiteError else { throw error }
      if error.isDiskFull { throw OutputFile.diskFull(output) }
      throw BundleError(.writeFailed, path: output, "the patch could not be written: \(error)")
    }
  }

  /// Makes the new edition of a bundle from the old one and a patch.
  ///
  /// The result gets its name only after its tiles were found to be those that the patch promises.
  ///
  /// - Parameters:
  ///   - patch: a file that ``diff(old:new:output:replacing:matrixSet:)`` wrote.
  ///   - base: the old edition; the same tiles, metadata and places in any format will do.
  ///   - output: the bundle to write; may be the base itself when it may be replaced.
  /// - Throws: ``BundleError``: `.mismatch` when the bundle is not the one that the patch is for, `.malformed` for a damaged patch, and what reading and writing
  ///   bundles throws. The output is then as it was.
  /// - Complexity: O(bytes of the bundle).
  @discardableResult
  public static func apply(
    _ patch: String, to base: String, output: String, replacing: Bool = false, matrixSet: TileMatrixSet? = nil
  ) throws -> Summary {
    try OutputFile.protect([patch], from: output)
    try OutputFile.check(output, replacing: replacing)
    let application = try PatchApplication(patch: patch, base: base, matrixSet: matrixSet)
    let isSame = try application.run(output: output, replacing: replacing)
    let counts = try application.patch.counts()
    let info = application.patch.info
    return Summary(
      changedTiles: counts.put, removedTiles: counts.removed, patchBytes: FileSystem.size(patch),
      baseTilesHash: info.base.tiles, resultTilesHash: info.result.tiles, resultSHA256: isSame ? info.result.file : nil)
  }
}
