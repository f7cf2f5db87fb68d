import LibC
import Support

/// Why a gazetteer cannot be read. The message names the file, the line or the place in the document, and the remedy.
public struct GazetteerError: Error, CustomStringConvertible, Sendable {
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
  public let path: String
  /// `line 7`, or `features[3].properties.name`; nil for the whole file.
  public let place: String?
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it.
  public let remedy: String

  init(_ code: Code = .malformed, path: String, place: String? = nil, _ message: String, remedy: String) {
    (self.code, self.path, self.place, self.message, self.remedy) = (code, path, place, message, remedy)
  }

  /// `path: place: message; remedy`
  public var description: String { "\(path): \(place.map { "\($0): " } ?? "")\(message); \(remedy)" }
  /// What is wrong, with the name of the file and the line: a sentence for people.
  public var errorDescription: String? { Sentence.of(file: path, place.map { "\($0): \(message)" } ?? message) }
  /// What to do about it: a sentence for people.
  public var recoverySuggestion: String? { Sentence.of(remedy) }
}

/// The importance of places whose list does not state it.
enum PlaceImportance {
  /// The importance for a population: 0.13 for ten, 0.67 for a hundred thousand, 1 for thirty million.
  static func ofPopulation(_ population: Double) -> Double {
    guard population > 1 else { return 0 }
    return min(log10(population) / 7.5, 1)
  }
}
