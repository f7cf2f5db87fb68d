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
    for (index, region) in regions.enumerated() { try check(region, "regions[\(index)]", refused) }
  }

  /// What readers rely on.
  private func check(_ region: Region, _ place: String, _ refused: (String) -> BundleError) throws {
    func isBox(_ numbers: [Double]) -> Bool { numbers.count == 4 && numbers[1] <= numbers[3] }
    guard isBox(region.bounds) else { throw refused("\(place).bounds are not west, south, east, north") }
    guard region.previewBounds.map(isBox) ?? true else {
      throw refused("\(place).previewBounds are not west, south, east, north")
    }
    // Names are joined to folders.
    for file in region.files where file.file.isEmpty || file.file.utf8.contains(where: { $0 == 0x2f || $0 == 0 }) {
      throw refused("\(place) has a file that is no name: \"\(file.file)\"")
    }
    for (index, parcel) in region.parcels.enumerated() {
      guard isBox(parcel.bounds) else {
        throw refused("\(place).parcels[\(index)].bounds are not west, south, east, north")
      }
      if let root = parcel.roots.first(where: { !region.matrixSet.contains($0.tile) }) {
        throw refused("\(place).parcels[\(index)] has a root outside the grid: \(root.tile)")
      }
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
