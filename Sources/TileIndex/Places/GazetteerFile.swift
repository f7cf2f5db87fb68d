import Support

/// Lists of places from other sources: GeoJSON, and the tables of geonames.org.
public enum GazetteerFile {
  /// Reads the places of a file, in its order. The format is detected from the content: GeoJSON begins with a brace.
  ///
  /// - **GeoJSON**: a FeatureCollection or Feature. The property `name` is the name; features without it, or without
  ///   geometry, are skipped. `kind` is copied. `importance` is a number from 0 to 1; without it `population` gives
  ///   one, as for GeoNames. A line or area is represented by one of its points.
  /// - **GeoNames**: one place a line, 19 tab-separated columns (geonames.org's `allCountries.txt` and the countries'
  ///   files). The feature code gives the kind, code and population the importance.
  ///
  /// - Throws: ``GazetteerError``, which names the line or the position in the document.
  /// - Complexity: O(bytes), in time and memory.
  public static func places(inFile path: String) throws -> [Place] {
    let bytes = try contents(path)
    let start = bytes.starts(with: UTF8Mark.bytes) ? UTF8Mark.bytes.count : 0
    guard let first = bytes[start...].first(where: { !" \t\r\n".utf8.contains($0) }) else {
      throw GazetteerError(path: path, "is empty", remedy: "name a GeoJSON file or a table of geonames.org")
    }
    if first == UInt8(ascii: "{") { return try GeoJSONGazetteer.places(bytes, path: path) }
    if first == UInt8(ascii: "[") {
      throw GazetteerError(
        path: path, "is a list, not GeoJSON", remedy: "put the features into a FeatureCollection")
    }
    return try GeoNamesGazetteer.places(bytes[start...], path: path)
  }

  private static let bytesMax = 1 << 30

  private static func contents(_ path: String) throws -> [UInt8] {
    do {
      let file = try ReadOnlyFile(path)
      guard file.byteCount <= bytesMax else {
        throw GazetteerError(
          path: path, "has \(file.byteCount) bytes, more than \(bytesMax)",
          remedy: "take only the lines or features of the region")
      }
      return try file.bytes(at: 0, count: file.byteCount)
    } catch let error as FileSystem.SystemError {
      throw GazetteerError(
        .unreadable, path: path, "cannot be read: \(error)", remedy: "check the name and the permissions")
    } catch is ReadOnlyFile.NotAFile {
      throw GazetteerError(.unreadable, path: path, "is not a plain file", remedy: "name a file")
    }
  }
}
