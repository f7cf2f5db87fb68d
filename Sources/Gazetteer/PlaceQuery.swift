/// What somebody looks for. Any text is a query: nothing in it is taken for the syntax of a search engine.
public struct PlaceQuery: Hashable, Sendable {
  /// Degrees.
  public struct Coordinate: Hashable, Sendable {
    public var longitude: Double
    public var latitude: Double

    /// Nil for what lies nowhere.
    public init?(longitude: Double, latitude: Double) {
      guard longitude >= -180, longitude <= 180, latitude >= -90, latitude <= 90 else { return nil }
      (self.longitude, self.latitude) = (longitude, latitude)
    }
  }

  public var text: String
  /// Where the searcher is or looks; places near it come earlier.
  public var near: Coordinate?
  /// The longest list wanted, from 1 to ``limitMax``.
  public var limit: Int

  public static let limitMax = 100
  public static let limitDefault = 10

  public init(_ text: String, near: Coordinate? = nil, limit: Int = PlaceQuery.limitDefault) {
    self.text = text
    self.near = near
    self.limit = min(max(limit, 1), Self.limitMax)
  }

  /// More is nobody's name, and work for the index.
  private static let textBytesMax = 200
  private static let wordsMax = 8

  /// The words: runs of letters, digits and the marks on them.
  var words: [String] {
    Self.words(of: String(decoding: text.utf8.prefix(Self.textBytesMax), as: UTF8.self)).prefix(Self.wordsMax).map {
      $0
    }
  }

  package static func words(of text: String) -> [String] {
    let words = text.unicodeScalars.split { scalar in
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
        .letterNumber, .otherNumber, .nonspacingMark, .spacingMark:
        false
      default: true
      }
    }
    return words.map { String($0) }
  }

  /// The query in FTS5's words: all words whole, and the last as a beginning; nil when there are none.
  var match: (whole: String, beginning: String)? {
    let quoted = words.map { "\"\($0)\"" }
    guard !quoted.isEmpty else { return nil }
    let whole = quoted.joined(separator: " ")
    return (whole, whole + "*")
  }
}
