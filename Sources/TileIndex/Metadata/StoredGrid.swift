import Support

/// The grid that metadata name or define.
extension StoredMetadata {
  /// The tile matrix set that the bundle names or defines; nil when it names none. A definition goes over a name, since
  /// sets have been defined under names that became well-known later.
  ///
  /// - Throws: ``BundleError`` with `.malformed` for a name that is not known here.
  func matrixSet(path: String) throws -> TileMatrixSet? {
    guard let name = matrixSetName else { return nil }
    if let set = definedMatrixSet ?? TileMatrixSet.named(name) { return set }
    throw BundleError(.malformed, path: path, "its tile matrix set \"\(name)\" is not one that is known here")
  }

  /// The tile matrix set that the bundle defines; nil when there is no definition, or it is invalid.
  var definedMatrixSet: TileMatrixSet? {
    guard let text = values[MetadataKey.grid], text.utf8.count < 1 << 18 else { return nil }
    guard let set = try? TileMatrixSet(definition: JSONValue(parsing: Array(text.utf8))) else { return nil }
    return set.uri == matrixSetName ? set : nil
  }
}

extension TileMatrixSetDocument {
  /// A file is small; a larger one is something else.
  private static let bytesMax = 1 << 20

  /// Reads a set from a file.
  ///
  /// - Parameter lookup: finds other CRSs than Web Mercator and degrees; nil where there is no PROJ.
  /// - Throws: ``BundleError``: `.notFound`, `.malformed` with what is wrong; what the lookup throws.
  package static func matrixSet(inFile path: String, lookup: CRSLookup? = nil) throws -> TileMatrixSet {
    let remedy = "give a file in the JSON form of OGC's Two Dimensional Tile Matrix Set"
    do {
      let value = try JSONValue(parsing: FileSystem.bytes(of: path, countMax: bytesMax))
      return value["tileEdges"] == nil
        ? try value.decoded(as: TileMatrixSetDocument.self).matrixSet(lookup) : try TileMatrixSet(definition: value)
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch let error as GridError {
      throw BundleError(
        .malformed, path: path, error.message,
        remedy: "use a grid whose levels have one corner and step by whole numbers")
    } catch let error as DecodingError {
      throw BundleError(
        .malformed, path: path, "is no tile matrix set: \(error.place) \(error.complaint)", remedy: remedy)
    } catch let error as JSONValue.SyntaxError {
      throw BundleError(.malformed, path: path, "is no tile matrix set: \(error)", remedy: remedy)
    }
  }
}
