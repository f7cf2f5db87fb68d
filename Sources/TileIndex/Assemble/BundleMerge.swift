import Support

/// Merges several bundles into one, with tiles as stored.
package struct BundleMerge: Sendable {
  /// Draws the second tile over the first. Handed in, since this module has no codec.
  package typealias Combine = @Sendable (_ tile: TileID, _ lower: [UInt8], _ upper: [UInt8]) throws -> [UInt8]

  /// How tiles are resolved that several bundles have with different bytes. Equal tiles are no conflict.
  package enum Conflict: Sendable {
    /// Take the tile of the first bundle.
    case first
    /// Take the tile of the last bundle.
    case last
    /// Fail, and write nothing.
    case error
    /// Draw later tiles over earlier ones.
    case combine(Combine)
  }

  /// What happens where several inputs have a tile.
  package var conflict: Conflict
  /// The new bundle's title; nil for the first bundle's.
  package var name: String?
  /// Of the rows in the file names, if the output is a folder.
  package var scheme = TileScheme.xyz
  /// Whether the output gets a hash of each tile, which MBTiles alone can store.
  package var hashes = false

  /// A merge; the name is the first input's unless one is given.
  package init(conflict: Conflict = .error, name: String? = nil) {
    self.conflict = conflict
    self.name = name
  }

  /// Writes the bundles' tiles as one bundle.
  ///
  /// Bundles are read one after the other, each in the order of ``BundleReader/forEachTile(_:)``: equal inputs give
  /// equal files. Bounds are the union; each attribution and each place is kept once; other metadata are those of the
  /// first bundle that has them.
  ///
  /// - Parameters:
  ///   - bundles: at least one, all of one grid and tile format.
  ///   - output: the file or folder to write; its name chooses the container.
  ///   - replacing: replace an existing file.
  ///   - progress: called every 256 tiles with the number of tiles read so far.
  /// - Throws: ``BundleError``: `.mismatch` when grids or formats differ; `.conflict` when tiles do, with
  ///   ``Conflict/error``; `.malformed` for tiles that are not those that were written, as a bundle's hash tells;
  ///   errors of reading and writing bundles.
  /// - Complexity: O(tiles x bundles).
  @discardableResult
  package func write(
    _ bundles: [any BundleReader], to output: String, replacing: Bool = false,
    progress: @escaping (Int) -> Void = { _ in }
  ) throws -> BundleSummary {
    guard let first = bundles.first else {
      throw BundleError(.invalidContent, path: output, "there is nothing to merge", remedy: "name a bundle")
    }
    try BundleFile.protect(bundles.map(\.path), from: output)
    if bundles.count > 1 { for bundle in bundles { try bundle.prepareLookups() } }
    let format = try Self.commonFormat(of: bundles)
    let mixing = bundles.reduce(Set()) { $0.union($1.formats(beside: format)) }
    let writer = try BundleFile.create(
      output, matrixSet: first.matrixSet, format: format, replacing: replacing, scheme: scheme, mixing: mixing,
      hashes: hashes)
    defer { writer.discard() }
    var tally = TileTally(writer, TileCount(progress))
    var counts: [Int] = []
    for (index, bundle) in bundles.enumerated() {
      try bundle.readingOneState {
        var count = 0
        defer { counts.append(count) }
        func take(_ tile: TileID, _ bytes: UnsafeRawBufferPointer) throws {
          tally.insert(bytes)
          count += 1
          try put(tile, bytes, earlier: bundles[..<index], bundle, later: bundles[(index + 1)...], into: writer)
        }
        // With a hash of each tile a damaged one is refused only where it is taken: another bundle may give it back.
        if bundle.storesTileHashes { try bundle.forEachTile(take) } else { try bundle.forEachWrittenTile(take) }
      }
    }
    let places = Place.withoutRepeats(try bundles.flatMap { try $0.places().all() })
    if !places.isEmpty { try writer.write(places: places) }
    var metadata = MergedMetadata(bundles, name: name).metadata
    // Tiles that are drawn over each other may get any of the formats.
    if case .combine = conflict {} else { metadata.formats = tally.formats }
    var summary = try writer.finish(.composed(metadata), copyOf: bundles)
    for (bundle, count) in zip(bundles, counts) { summary.leftOut.note(bundle, read: count) }
    return summary
  }

  private func put(
    _ tile: TileID, _ bytes: UnsafeRawBufferPointer, earlier: ArraySlice<any BundleReader>, _ bundle: any BundleReader,
    later: ArraySlice<any BundleReader>, into writer: any TileSink
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
            .conflict, path: bundle.path, "tile \(tile) differs from that of \(other.path)",
            remedy: "say which to take on conflict: the first, the last, or both combined")
        }
        return
      }
      try writer.copy(tile, bytes, from: bundle)
    case .combine(let combine):
      guard try !earlier.contains(where: has) else { return }
      var result: [UInt8]?
      var isChecked = false
      for other in later {
        guard let upper = try other.tile(tile) else { continue }
        try upper.withUnsafeBytes { try other.requireUndamaged(tile, $0) }
        if !isChecked { try bundle.requireUndamaged(tile, bytes) }
        isChecked = true
        let lower = result ?? Array(bytes)
        if lower != upper { result = try combine(tile, lower, upper) }
      }
      if let result {
        try result.withUnsafeBytes { try writer.put(copied: tile, $0, from: bundle) }
      } else {
        try writer.copy(tile, bytes, from: bundle)
      }
    }
  }

  /// The format of all bundles, or that of a bundle of mixed formats which may take the others.
  ///
  /// - Throws: ``BundleError`` with `.mismatch` for bundles that cannot be merged.
  private static func commonFormat(of bundles: [any BundleReader]) throws -> TileFormat {
    let first = bundles[0]
    let mixed = bundles.first { !$0.metadata.mixedFormats.isEmpty }
    let format = try known(mixed ?? first)
    // Tables of GeoPackages may mix formats without a word.
    let accepted = bundles.reduce(Set([format])) { $0.union($1.formats(beside: format)) }
    let pixels = try first.tilePixels()
    for other in bundles {
      func mismatch(_ what: String, _ a: String, _ b: String) -> BundleError {
        BundleError(
          .mismatch, path: other.path, "its \(what) is \(b), that of \(first.path) is \(a)",
          remedy: "merge bundles of one grid, one format and one tile size")
      }
      guard other.matrixSet == first.matrixSet else {
        throw mismatch("grid", first.matrixSet.identifier, other.matrixSet.identifier)
      }
      let otherFormat = try known(other)
      guard accepted.contains(otherFormat) else {
        throw mismatch("tile format", format.rawValue, otherFormat.rawValue)
      }
      let otherPixels = try other.tilePixels()
      guard otherPixels == pixels || otherPixels == nil || pixels == nil else {
        throw mismatch("tile size", "\(pixels ?? 0) pixels", "\(otherPixels ?? 0)")
      }
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

/// The combined metadata of several bundles.
struct MergedMetadata {
  let metadata: BundleMetadata

  /// - Parameter name: the title; nil for the first bundle's.
  init(_ bundles: [any BundleReader], name: String?) {
    let all = bundles.map { BundleMetadata($0.metadata, fallbackName: $0.fileStem) }
    var merged = all[0]
    if let name { merged.name = name }
    merged.description = all.lazy.compactMap(\.description).first
    merged.attribution = Self.credits(all.compactMap(\.attribution))
    merged.type = all.contains { $0.type == .baselayer } ? .baselayer : .overlay
    // A bundle without bounds covers its tiles, which the writer knows.
    let bounds = all.compactMap(\.bounds)
    merged.bounds = bounds.count == all.count ? bounds.dropFirst().reduce(bounds[0]) { $0.union($1) } : nil
    merged.center = all.count == 1 ? merged.center : nil
    merged.json = Self.layers(all.compactMap(\.json))
    for other in all.dropFirst() { merged.extra.merge(other.extra) { own, _ in own } }
    let ends = all.map { $0.extra[VariableDepthMetadata.key].flatMap(VariableDepthMetadata.zooms) }
    if ends.contains(where: { $0 != nil }) || Self.someAreaEndsEarlier(bundles) {
      // Of a bundle of one depth all areas end at its last zoom.
      let zooms = zip(ends, bundles).compactMap { end, bundle in end ?? bundle.metadata.maxZoom.map { $0...$0 } }
      let limits = zooms.dropFirst().reduce(zooms[0]) {
        min($0.lowerBound, $1.lowerBound)...max($0.upperBound, $1.upperBound)
      }
      merged.extra[VariableDepthMetadata.key] = VariableDepthMetadata.text(limits)
    }
    // Merged tile packs are no longer a pack.
    if all.count > 1 { merged.extra[RegionMetadata.packKey] = nil }
    // Tiles of several encodings have none of them.
    if Set(all.map { $0.extra[TileEncodingRow.key] }).count > 1 { merged.extra[TileEncodingRow.key] = nil }
    metadata = merged
  }

  /// True where a bundle that ends before others shows ground beside theirs, such as the world beside a town's detail.
  /// Bounds of what every zoom covers would leave its tiles out.
  private static func someAreaEndsEarlier(_ bundles: [any BundleReader]) -> Bool {
    let areas = bundles.compactMap { bundle in
      bundle.metadata.bounds.flatMap { box in bundle.metadata.maxZoom.map { (bounds: box, last: $0) } }
    }
    return areas.contains { area in
      let deeper = areas.filter { $0.last > area.last }.map(\.bounds)
      guard let first = deeper.first else { return false }
      let all = deeper.dropFirst().reduce(first) { $0.union($1) }
      let both = all.union(area.bounds)
      return both.width > all.width + 1e-6 || both.height > all.height + 1e-6
    }
  }

  /// All attributions, each once; one that is contained in another is not repeated.
  private static func credits(_ attributions: [String]) -> String? {
    var credits: [String] = []
    for credit in attributions where !credit.isEmpty {
      let parts = credit.components(separatedBy: separator)
      for part in parts where !credits.contains(part) { credits.append(part) }
    }
    return credits.isEmpty ? nil : credits.joined(separator: separator)
  }

  private static let separator = " | "

  /// The first document, with the vector layers of all, and without its statistics, which describe one bundle.
  private static func layers(_ documents: [String]) -> String? {
    guard let first = documents.first, documents.contains(where: { $0 != first }) else { return documents.first }
    let parsed = documents.compactMap { try? JSONValue(parsing: Array($0.utf8), duplicates: .lastWins) }
    guard let members = parsed.first?.members, parsed.count == documents.count else { return first }
    var layers: [JSONValue] = []
    var ids: Set<JSONValue> = []
    for layer in parsed.flatMap({ $0["vector_layers"]?.array ?? [] }) where ids.insert(layer["id"] ?? .null).inserted {
      layers.append(layer)
    }
    var rest = members.filter { $0.name != "vector_layers" && $0.name != "tilestats" }
    if !layers.isEmpty { rest.append(JSONValue.Member("vector_layers", .array(layers))) }
    return JSONValue.object(rest).text
  }
}

extension String {
  /// The parts between occurrences of a separator.
  fileprivate func components(separatedBy separator: String) -> [String] {
    var parts: [String] = []
    var rest = self[...]
    while let range = rest.firstRange(of: separator) {
      parts.append(String(rest[..<range.lowerBound]))
      rest = rest[range.upperBound...]
    }
    return parts + [String(rest)]
  }
}
