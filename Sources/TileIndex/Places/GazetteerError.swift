import LibC
@_exported public import Support

/// Why a gazetteer cannot be read. The message names the file, the line or the place in the document, and the remedy.
public struct GazetteerError: ToolkitError {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    public static let unreadable = Code("unreadable gazetteer")
    /// It is neither GeoJSON nor a GeoNames table, or violates its format.
    public static let malformed = Code("malformed gazetteer")
  }

  /// The kind of failure.
  public let code: Code
  /// The file.
  public let path: String?
  /// What is wrong, behind the line or the place in the document.
  public let message: String
  /// What to do about it.
  public let remedy: String?

  /// - Parameter place: `line 7`, or `features[3].properties.name`; nil for the whole file.
  init(_ code: Code = .malformed, path: String, place: String? = nil, _ message: String, remedy: String) {
    (self.code, self.path, self.remedy) = (code, path, remedy)
    self.message = place.map { "\($0): \(message)" } ?? message
  }
}

/// The importance of places whose list does not state it.
enum PlaceImportance {
  /// The importance for a population: 0.13 for ten, 0.67 for a hundred thousand, 1 for thirty million.
  static func ofPopulation(_ population: Double) -> Double {
    guard population > 1 else { return 0 }
    return min(log10(population) / 7.5, 1)
  }
}
