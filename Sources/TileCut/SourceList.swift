import LibC
import RegionCatalog
import Support
import TileIndex

/// Options that name sources: lists of them, and settings of single ones.
package enum SourceList {
  /// Larger lists are refused, so that a wrong file is not read as a list.
  private static let bytesMax = 16 << 20

  /// The sources in a text file: one path or URL a line, relative to the file. Empty lines and lines that begin with #
  /// do not count.
  ///
  /// - Throws: ``CutError`` naming the file.
  package static func paths(inFile path: String) throws -> [String] {
    let file = try SourceFile(path: path)
    // Names of any bytes, as folders have them.
    let text = file.size <= bytesMax ? SystemPath.text(UTF8Mark.removed(from: file.prefix(file.size))) : "\0"
    guard !text.utf8.contains(0) else {
      throw CutError(.badSource, path: path, "is no list of sources", remedy: "write one path a line, as text")
    }
    let folder = RelativePaths.prefix(of: path)
    let paths = text.split(whereSeparator: \.isNewline).map { $0.trimmingWhitespace }
      .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    guard !paths.isEmpty else {
      throw CutError(.badSource, path: path, "names no source", remedy: "write one path a line")
    }
    return paths.map { $0.hasPrefix("/") || $0.contains("://") ? $0 : folder + $0 }
  }
}

// What an option says of one source: `SOURCE=VALUE`, with the source's path as given, or its file name if no other
// source has it.
extension CutOptions {
  /// Takes a cutline: `SOURCE=FILE`, a file for the only source, or a file whose features name their sources by a
  /// property `location`, as the index of gdaltindex does.
  ///
  /// - Throws: ``CutError`` naming the option or the file.
  package mutating func addCutlines(_ text: String) throws {
    if let (index, file) = named(text) {
      let outline = try RegionBoundary(clipFile: file)
      changeSettings(of: index) { $0.cutline = outline }
      return
    }
    if let equals = text.firstIndex(of: "="), FileSystem.kind(text) != .file {
      throw unknownSource(String(text[..<equals]), option: "--cutline")
    }
    let outlines = try CutlineIndex.outlines(inFile: text)
    if let outlines {
      for (location, outline) in outlines {
        guard let index = try? index(of: location, option: "--cutline") else {
          throw CutError(
            .invalidOption, path: text, "has an outline of \(location), which is none of the sources",
            remedy: "let each \"location\" be the path or the file name of a source")
        }
        changeSettings(of: index) { $0.cutline = outline }
      }
    } else if sources.count == 1 {
      let outline = try RegionBoundary(clipFile: text)
      changeSettings(of: 0) { $0.cutline = outline }
    } else {
      throw CutError(
        .invalidOption, path: text, "does not say of which source it is the cutline",
        remedy: "write --cutline SOURCE=\(text), or give each feature a property \"location\"")
    }
  }

  /// Takes a crop: `SOURCE=LEFT,TOP,RIGHT,BOTTOM`, or four numbers for every source.
  ///
  /// - Throws: ``CutError`` naming the option.
  package mutating func addCrop(_ text: String) throws {
    let equals = text.lastIndex(of: "=")
    let value = equals.map { text[text.index(after: $0)...] } ?? text[...]
    let numbers = value.split(separator: ",", omittingEmptySubsequences: false).map {
      Double($0.trimmingWhitespace) ?? -1
    }
    guard let crop = SourceSettings.Crop(numbers) else {
      throw CutError(
        .invalidOption, "--crop \(text) is no crop of a source",
        remedy: "write [SOURCE=]LEFT,TOP,RIGHT,BOTTOM in pixels, with a source that is being cut")
    }
    let indices = try equals.map { [try index(of: String(text[..<$0]), option: "--crop")] } ?? Array(sources.indices)
    for index in indices { changeSettings(of: index) { $0.crop = crop } }
  }

  /// Whether a text with an equals sign defines a coordinate reference system: PROJ strings have them, WKT may.
  static func isCRSDefinition(_ text: String) -> Bool {
    let name = text.prefix { $0 != "=" }
    return ["+", "{"].contains { name.hasPrefix($0) } || name.contains("[") || name == "proj"
      || FileSystem.kind(text) == .file
  }

  mutating func changeSettings(of index: Int, _ change: (inout SourceSettings) -> Void) {
    var settings = sourceSettings[index] ?? SourceSettings()
    change(&settings)
    sourceSettings[index] = settings
  }

  /// The source that the text before an equals sign names, and the text after it; paths may have equals signs, too.
  func named(_ text: String) -> (Int, String)? {
    for equals in text.indices where text[equals] == "=" {
      if let index = try? index(of: String(text[..<equals]), option: "") {
        return (index, String(text[text.index(after: equals)...]))
      }
    }
    return nil
  }

  /// A source by its path, or by its file name if only one has it.
  private func index(of name: String, option: String) throws -> Int {
    if let index = sources.firstIndex(of: name) { return index }
    let matches = namesakes(name)
    guard matches.count == 1 else { throw unknownSource(name, option: option) }
    return matches[0]
  }

  private func namesakes(_ name: String) -> [Int] {
    sources.indices.filter { sources[$0].split(separator: "/").last.map(String.init) == name }
  }

  func unknownSource(_ name: String, option: String) -> CutError {
    let what = namesakes(name).count > 1 ? "the name of several sources" : "none of the sources"
    let rest = sources.count > 20 ? " and \(sources.count - 20) more" : ""
    return CutError(
      .invalidOption, "\(option): \(name) is \(what)",
      remedy: "name one by its path, as given: \(sources.prefix(20).joined(separator: ", "))\(rest)")
  }
}

/// A GeoJSON file with the outlines of many sources.
private enum CutlineIndex {
  /// - Returns: the outlines by their features' `location`; nil if no feature has one.
  static func outlines(inFile path: String) throws -> [(location: String, outline: RegionBoundary)]? {
    guard let document = try? JSONFile.read(path), let features = document["features"]?.array else { return nil }
    let named = features.compactMap { feature in
      feature["properties"]?["location"]?.string.map { ($0, feature) }
    }
    guard !named.isEmpty else { return nil }
    guard named.count == features.count else {
      throw CutError(
        .badSource, path: path, "has features with and without a \"location\"",
        remedy: "name the source of each, or give one file for each source")
    }
    return try named.map { location, feature in
      do {
        return (location, try RegionBoundary(geoJSON: feature))
      } catch {
        throw CutError(
          .badSource, path: path, "the outline of \(location): \(error)",
          remedy: "give a Polygon or MultiPolygon in degrees")
      }
    }
  }
}
