import Support

extension Catalogue {
  /// Reads a catalogue.
  ///
  /// - Throws: ``BundleError`` with `.notFound` or `.malformed`, which names the place in the document.
  public init(path: String) throws {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch {
      throw BundleError(
        .notFound, path: path, "cannot be read: \(error)",
        remedy: "name a catalogue.json that tilecut build has written")
    }
    try self.init(parsing: bytes, path: path)
  }

  /// Reads a catalogue that was fetched from somewhere.
  ///
  /// - Parameter path: what errors call it.
  /// - Throws: ``BundleError`` `.malformed`.
  public init(parsing bytes: [UInt8], path: String) throws {
    func refused(_ message: String) -> BundleError {
      BundleError(.malformed, path: path, message, remedy: "fetch it again, or make it again with tilecut build")
    }
    do {
      let document = try JSONValue(parsing: bytes)
      guard case .number(let version)? = document["version"] else {
        throw refused("is no catalogue: it has no version")
      }
      guard version == String(Self.versionNow) else {
        throw refused("is of version \(version), and only \(Self.versionNow) is known here")
      }
      self = try document.decoded(as: Catalogue.self)
    } catch let error as JSONValue.SyntaxError {
      throw refused("is not valid JSON: \(error)")
    } catch let error as DecodingError {
      throw refused("\(error.place) \(error.complaint)")
    }
    for (index, region) in regions.enumerated() {
      if let fault = region.fault { throw refused("regions[\(index)]\(fault)") }
    }
  }

  /// The document: a line for each region, so that two editions can be compared.
  public var bytes: [UInt8] {
    var text = "{\"version\":\(version),\"regions\":["
    for (index, region) in regions.enumerated() {
      do {
        text += (index > 0 ? ",\n" : "\n") + (try JSONValue(encoding: region)).text
      } catch {
        preconditionFailure("a region's grid is one that was read or defined: \(error)")
      }
    }
    return Array((text + "\n]}\n").utf8)
  }
}

extension Catalogue.Region {
  /// What readers rely on, and is not so: the member, as it goes on behind the region's place, and what is wrong with it. Nil where all is well.
  package var fault: String? {
    guard Self.isBox(bounds) else { return ".bounds are not west, south, east, north" }
    guard previewBounds.map(Self.isBox) ?? true else { return ".previewBounds are not west, south, east, north" }
    guard 0 <= minzoom, minzoom <= maxzoom, maxzoom <= TileID.zoomMax else { return ".maxzoom is not above minzoom" }
    // Rings that are none have no box.
    let rings = boundary.map { Array($0.polygons.joined()) } ?? []
    guard rings.allSatisfy({ $0.count >= 4 && $0.allSatisfy { Self.isPlace($0.x, $0.y) } }) else {
      return ".boundary has a ring that is not of 4 positions or more in degrees"
    }
    // Names are joined to folders.
    for file in files where file.file.isEmpty || file.file.utf8.contains(where: { $0 == 0x2f || $0 == 0 }) {
      return " has a file that is no name: \"\(file.file)\""
    }
    for (index, parcel) in parcels.enumerated() {
      guard Self.isBox(parcel.bounds) else { return ".parcels[\(index)].bounds are not west, south, east, north" }
      if let root = parcel.rootTiles.first(where: { !matrixSet.contains($0) }) {
        return ".parcels[\(index)] has a root outside the grid: \(root)"
      }
    }
    return nil
  }

  private static func isBox(_ numbers: [Double]) -> Bool {
    numbers.count == 4 && numbers[1] <= numbers[3] && isPlace(numbers[0], numbers[1]) && isPlace(numbers[2], numbers[3])
  }

  /// On Earth, give or take rounding; turns of longitude are counted on for ground across the antimeridian.
  private static func isPlace(_ longitude: Double, _ latitude: Double) -> Bool {
    abs(longitude) <= 540 && abs(latitude) <= 90.000001
  }
}
