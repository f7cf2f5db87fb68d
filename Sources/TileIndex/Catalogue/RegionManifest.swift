import Foundation

/// A publisher's list of regions: what to cut and what to call it. Stored as JSON (`regions.json`).
public struct RegionManifest: Codable, Hashable, Sendable {
  /// One map that is cut and sold as a whole.
  public struct Region: Codable, Hashable, Sendable {
    /// Short, stable name; letters, digits, dots, dashes and underscores, since it becomes part of file names and URLs.
    public let id: String
    /// What customers read.
    public let title: String
    /// The shelf it stands on: continental, state, park, recreation area, city, ...
    public let category: String
    public let description: String?
    /// Raster files, drawn in this order; paths are relative to the manifest.
    public let sources: [String]
    /// Whom the map's data must be credited to.
    public let attribution: String?
  }

  public let regions: [Region]

  /// Reads and checks a manifest.
  ///
  /// - Throws: ``ManifestError`` that names the file, the place in the document and the remedy.
  public init(path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ManifestError(
        .unreadable, path: path, place: nil, "cannot be read", remedy: "check the path and its permissions")
    }
    do {
      self = try JSONDecoder().decode(RegionManifest.self, from: data)
    } catch let error as DecodingError {
      throw ManifestError(path: path, error, data: data)
    }
    try check(path: path)
  }

  private func check(path: String) throws {
    guard !regions.isEmpty else {
      throw ManifestError(path: path, place: "regions", "is empty", remedy: "add a region")
    }
    var seen: Set<String> = []
    for (index, region) in regions.enumerated() {
      let place = "regions[\(index)]"
      let allowed = region.id.unicodeScalars.allSatisfy {
        $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "._-".unicodeScalars.contains($0))
      }
      guard allowed, let first = region.id.first, first != ".", first != "-" else {
        throw ManifestError(
          path: path, place: "\(place).id", "is not a usable id: \"\(region.id)\"",
          remedy: "use letters, digits, dots, dashes and underscores, beginning with a letter or digit")
      }
      guard seen.insert(region.id).inserted else {
        throw ManifestError(
          path: path, place: "\(place).id", "repeats \"\(region.id)\"", remedy: "give each region an id of its own")
      }
      guard !region.title.isEmpty else {
        throw ManifestError(
          path: path, place: "\(place).title", "is empty", remedy: "say what customers shall read")
      }
      let texts = [("title", region.title), ("description", region.description), ("attribution", region.attribution)]
      for (name, text) in texts where text?.utf8.contains(0) == true {
        throw ManifestError(path: path, place: "\(place).\(name)", "holds a NUL character", remedy: "remove it")
      }
      guard !region.sources.isEmpty else {
        throw ManifestError(path: path, place: "\(place).sources", "is empty", remedy: "name at least one raster")
      }
    }
  }
}

/// Why a manifest cannot be used.
public struct ManifestError: Error, CustomStringConvertible, Sendable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    public static let unreadable = Code("unreadable manifest")
    /// It is not JSON, or does not say what a manifest must say.
    public static let malformed = Code("malformed manifest")
  }

  public let code: Code
  public let path: String
  /// Where in the document, such as `regions[3].id`; nil for the whole.
  public let place: String?
  /// What is wrong; starts in lower case.
  public let message: String
  public let remedy: String

  package init(_ code: Code = .malformed, path: String, place: String?, _ message: String, remedy: String) {
    (self.code, self.path, self.place, self.message, self.remedy) = (code, path, place, message, remedy)
  }

  init(path: String, _ error: DecodingError, data: Data) {
    let message: String
    let keys: [any CodingKey]
    switch error {
    case .keyNotFound(let key, let context):
      message = "is missing"
      keys = context.codingPath + [key]
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      message = "has the wrong type"
      keys = context.codingPath
    case .dataCorrupted(let context):
      guard !context.codingPath.isEmpty else {
        self.init(
          path: path, place: Self.line(ofSyntaxErrorIn: data), "is not valid JSON",
          remedy: "see sample-regions for an example")
        return
      }
      message = "cannot be read (\(context.debugDescription))"
      keys = context.codingPath
    @unknown default:
      self.init(path: path, place: nil, "cannot be decoded", remedy: "see sample-regions for an example")
      return
    }
    let place = keys.reduce("") { text, key in
      key.intValue.map { "\(text)[\($0)]" } ?? (text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)")
    }
    self.init(
      path: path, place: place.isEmpty ? nil : place, message, remedy: "see sample-regions for an example")
  }

  /// JSONDecoder does not say where the syntax is wrong; the older parser does, in words: `Invalid value around character 11.`
  private static func line(ofSyntaxErrorIn data: Data) -> String? {
    do {
      _ = try JSONSerialization.jsonObject(with: data)
      return nil
    } catch {
      let words = (error as NSError).userInfo["NSDebugDescription"] as? String ?? ""
      let number = words.split(whereSeparator: { !$0.isNumber }).last.flatMap { Int($0) }
      guard let place = words.contains("end of file") ? data.count : number else { return nil }
      return "line \(data.prefix(place).count { $0 == UInt8(ascii: "\n") } + 1)"
    }
  }

  /// `path: place message; remedy`
  public var description: String { "\(path): \(place.map { "\($0) " } ?? "")\(message); \(remedy)" }
}
