import Support

/// Why something with the store or the shelf did not work. The message names the region, file or address and what to do about it.
public struct MapStoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }

    /// The server cannot be reached, or kept failing. What was loaded stays.
    public static let unreachable = Code("unreachable")
    /// There is no session, or it is over.
    public static let signedOut = Code("signed out")
    /// The account does not own the region.
    public static let notOwned = Code("not owned")
    /// The server or the shelf knows no such region, parcel or file.
    public static let unknown = Code("unknown")
    /// The server has another edition by now.
    public static let editionGone = Code("edition gone")
    /// The server does not do what it was asked.
    public static let refused = Code("refused")
    /// What came from the server is not what it said it would be.
    public static let damaged = Code("damaged")
    /// The disk has no room.
    public static let noSpace = Code("no space")
    /// The shelf would take more than its quota.
    public static let overQuota = Code("over quota")
    /// The shelf's folder cannot be read or written.
    public static let shelf = Code("shelf")
    /// Another process has the shelf.
    public static let busy = Code("busy")
    /// A grant document that is not the server's, or not of this time.
    public static let grant = Code("grant")
    /// The install was paused while it was under way.
    public static let paused = Code("paused")
  }

  public let code: Code
  /// The region, file or address.
  public let subject: String
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it.
  public let remedy: String?
  /// For `.noSpace` and `.overQuota`: which regions to remove, in the order in which they were used last, until there would be room. Empty when all of them would not do.
  public var suggestions: [RemovalSuggestion] = []

  package init(_ code: Code, _ subject: String, _ message: String, remedy: String? = nil) {
    (self.code, self.subject, self.message) = (code, Self.line(subject), Self.line(message))
    self.remedy = remedy
  }

  /// What may quote a server, as one line, and without what nobody would read.
  private static func line(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(4_000))).escapedForTerminal()
  }

  /// `subject: message; remedy`
  public var description: String {
    let text = "\(subject): \(message)"
    return remedy.map { "\(text); \($0)" } ?? text
  }
}

/// A region that could be removed to make room. It stays owned.
public struct RemovalSuggestion: Hashable, Sendable, Codable {
  public let region: String
  /// What removing it would free.
  public let bytes: Int
  /// Milliseconds since 1970.
  public let usedAt: Int64
}
