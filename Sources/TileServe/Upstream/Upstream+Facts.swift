import Support
import Synchronization
import TileIndex

/// The description of an upstream's tileset for clients.
extension Upstream {
  struct Facts: Sendable {
    var format: TileFormat
    var zooms: ClosedRange<Int>
    var metadata: StoredMetadata
  }

  /// From the description file; what that leaves out comes from the archive, or from the archive's last answer if it is
  /// unreachable.
  func facts() throws -> Facts {
    let (known, changeCount) = knownFacts.withLock { $0 }
    if let known { return known }
    let facts = try readFacts()
    knownFacts.withLock { if $0.changeCount == changeCount { $0.facts = facts } }
    return facts
  }

  /// May send requests to the upstream.
  func info(id: String, modified: Int) throws -> TilesetInfo { info(try facts(), id: id, modified: modified) }

  /// What is known without a request.
  func knownInfo(id: String, modified: Int) -> TilesetInfo? {
    knownFacts.withLock { $0.facts }.map { info($0, id: id, modified: modified) }
  }

  private func info(_ facts: Facts, id: String, modified: Int) -> TilesetInfo {
    let grid = TileMatrixSet.webMercatorQuad
    let bounds =
      settings.bounds ?? facts.metadata.bounds
      ?? BoundingBox(west: -180, south: -85.051129, east: 180, north: 85.051129)
    let center = facts.metadata.center.flatMap { center in
      bounds.contains(SIMD2(center.longitude, center.latitude)) ? center : nil
    }
    return TilesetInfo(
      id: id, name: facts.metadata.name.flatMap { $0.isEmpty ? nil : $0 } ?? id, metadata: facts.metadata,
      matrixSet: grid, format: facts.format, zooms: facts.zooms, bounds: bounds,
      center: BundleMetadata.Center(
        longitude: center?.longitude ?? (bounds.west + bounds.east) / 2,
        latitude: center?.latitude ?? (bounds.south + bounds.north) / 2,
        zoom: min(max(center?.zoom ?? facts.zooms.lowerBound, facts.zooms.lowerBound), facts.zooms.upperBound)),
      tilePixels: settings.tilePixels, modified: max(modified, changed))
  }

  /// Rows of the bundle's metadata that come from the description file.
  static func metadata(_ settings: UpstreamSettings) -> [StoredMetadata.Entry] {
    var entries: [StoredMetadata.Entry] = []
    func add(_ name: String, _ value: String?) {
      if let value { entries.append(StoredMetadata.Entry(name: name, value: value)) }
    }
    add("name", settings.name)
    add("format", settings.format?.rawValue)
    add("minzoom", settings.zooms.map { String($0.lowerBound) })
    add("maxzoom", settings.zooms.map { String($0.upperBound) })
    add(
      "bounds",
      settings.bounds.map { box in
        [box.west, box.south, box.east, box.north].map(DecimalText.text).joined(separator: ",")
      })
    add("attribution", settings.attribution)
    return entries
  }

  private func readFacts() throws -> Facts {
    let own = Self.metadata(settings)
    guard let archive else {
      guard let format = settings.format, let zooms = settings.zooms else {
        preconditionFailure("the description of a server of tiles was checked")
      }
      return Facts(format: format, zooms: zooms, metadata: StoredMetadata(own))
    }
    var entries: [StoredMetadata.Entry]
    do {
      entries = try archive.reading(adopt) { reader, _ in reader.metadata.entries }
      // For the next start, possibly without a network.
      try? bundle.setMetadata(own + entries.filter { entry in !own.contains { $0.name == entry.name } })
    } catch let failure as UpstreamFailure {
      entries = try bundle.metadata()
      guard entries.count > own.count else { throw failure.error(settings.host) }
    }
    let names = Set(own.map(\.name))
    let metadata = StoredMetadata(own + entries.filter { !names.contains($0.name) })
    guard let format = settings.format ?? metadata.format else {
      throw ServeError(
        .unavailable, "\(settings.host) has an archive of tiles that are neither pictures nor vector tiles")
    }
    guard let last = metadata.maxZoom, let first = metadata.minZoom, first <= last, (0...24).contains(first),
      (0...24).contains(last)
    else { throw ServeError(.unavailable, "\(settings.host) has an archive that does not say its zooms") }
    return Facts(format: format, zooms: settings.zooms ?? first...last, metadata: metadata)
  }
}
