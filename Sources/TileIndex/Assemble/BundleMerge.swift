/// Puts several bundles together into one, tiles as they are stored.
public struct BundleMerge: Sendable {
  /// Makes one tile out of two, the second drawn over the first. This target knows no codec, so it is handed in.
  public typealias Combine = @Sendable (_ tile: TileID, _ lower: [UInt8], _ upper: [UInt8]) throws -> [UInt8]

  /// What becomes of a tile that several bundles have with different bytes. Equal tiles are no conflict.
  public enum Conflict: Sendable {
    /// The first bundle's is taken.
    case first
    /// The last bundle's is taken.
    case last
    /// Nothing is written.
    case error
    /// Later ones are drawn over earlier ones.
    case combine(Combine)
  }

  public var conflict: Conflict
  /// The new bundle's title; nil for the first bundle's.
  public var name: String?

  public init(conflict: Conflict = .error, name: String? = nil) {
    self.conflict = conflict
    self.name = name
  }

  /// Writes the bundles' tiles as one bundle.
  ///
  /// Bundle after bundle, each in the order of ``BundleReader/forEachTile(_:)``: equal inputs give equal files. Bounds are those around all; each attribution is
  /// named once; places are those of all bundles, equal ones once; other metadata are the first bundle's that has them.
  ///
  /// - Parameters:
  ///   - bundles: one or more of one grid and tile format.
  ///   - output: the MBTiles file to write.
  ///   - replacing: take the place of an existing file.
  /// - Throws: ``BundleError``: `.mismatch` when grids or formats differ, or tiles where they may not; what reading and writing bundles throws.
  /// - Complexity: O(tiles x bundles).
  @discardableResult
  public func write(_ bundles: [any BundleReader], to output: String, replacing: Bool = false) throws -> BundleSummary {
    guard let first = bundles.first else {
      throw BundleError(.invalidContent, path: output, "there is nothing to merge", remedy: "name a bundle")
    }
    try OutputFile.protect(bundles.map(\.path), from: output)
    let format = try Self.commonFormat(of: bundles)
    let writer = try BundleWriter(path: output, matrixSet: first.matrixSet, format: format, replacing: replacing)
    defer { writer.discard() }
    for (index, bundle) in bundles.enumerated() {
      try bundle.forEachTile { tile, bytes in
        try put(tile, bytes, earlier: bundles[..<index], bundle, later: bundles[(index + 1)...], into: writer)
      }
    }
    var places: [Place] = []
    var known: Set<Place> = []
    for bundle in bundles { places += try PlaceTable(bundle)?.places().filter { known.insert($0).inserted } ?? [] }
    if !places.isEmpty { try writer.write(places: places) }
    return try writer.finish(MergedMetadata(bundles, name: name).metadata)
  }

  private func put(
    _ tile: TileID, _ bytes: UnsafeRawBufferPointer, earlier: ArraySlice<any BundleReader>, _ bundle: any BundleReader,
    later: ArraySlice<any BundleReader>, into writer: BundleWriter
  ) throws {
    func has(_ other: any BundleReader) throws -> Bool { try other.withTile(tile) { _ in true } ?? false }
    switch conflict {
    case .first:
      if try !earlier.contains(where: has) { try writer.copy(tile, bytes, from: bundle) }
    case .last:
      if try !later.contains(where: has) { try writer.copy(tile, bytes, from: bundle) }
    case .error:
      for other in earlier {
        guard let isSame = try other.withTile(tile, { $0.isSame(as: bytes) }) else { continue }
        guard isSame else {
          throw BundleError(
            .mismatch, path: bundle.path, "tile \(tile) differs from that of \(other.path)",
            remedy: "say which to take with --on-conflict")
        }
        return
      }
      try writer.copy(tile, bytes, from: bundle)
    case .combine(let combine):
      guard try !earlier.contains(where: has) else { return }
      var result: [UInt8]?
      for other in later {
        guard let upper = try other.tile(tile) else { continue }
        let lower = result ?? Array(bytes)
        if lower != upper { result = try combine(tile, lower, upper) }
      }
      if let result {
        try result.withUnsafeBytes { try writer.copy(tile, $0, from: bundle) }
      } else {
        try writer.copy(tile, bytes, from: bundle)
      }
    }
  }

  /// - Throws: ``BundleError`` with `.mismatch` for bundles that do not belong together.
  private static func commonFormat(of bundles: [any BundleReader]) throws -> TileFormat {
    let first = bundles[0]
    let format = try known(first)
    for other in bundles.dropFirst() {
      func mismatch(_ what: String, _ a: String, _ b: String) -> BundleError {
        BundleError(
          .mismatch, path: other.path, "its \(what) is \(b), that of \(first.path) is \(a)",
          remedy: "merge bundles of one grid and one format")
      }
      guard other.matrixSet == first.matrixSet else {
        throw mismatch("grid", first.matrixSet.identifier, other.matrixSet.identifier)
      }
      let otherFormat = try known(other)
      guard otherFormat == format else { throw mismatch("tile format", format.rawValue, otherFormat.rawValue) }
      let pictures = (first.metadata[FlatImage.metadataKey], other.metadata[FlatImage.metadataKey])
      guard pictures.0 == pictures.1 else {
        throw mismatch("picture", pictures.0 ?? "a map", pictures.1 ?? "a map")
      }
    }
    return format
  }

  private static func known(_ bundle: any BundleReader) throws -> TileFormat {
    guard let format = try bundle.tileFormat() else {
      throw BundleError(
        .mismatch, path: bundle.path, "has no tiles that are PNG, JPEG, WebP or gzipped vector tiles",
        remedy: "check what made it")
    }
    return format
  }
}
