/// Why the store's service could not start or go on: what, where, and the remedy.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  public struct Code: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A file that is named in the options cannot be read, or is not what it should be.
    public static let unreadableInput = Self(rawValue: "unreadable-input")
    /// An option has a value that cannot be used.
    public static let invalidOption = Self(rawValue: "invalid-option")
    /// The address cannot be listened on.
    public static let cannotListen = Self(rawValue: "cannot-listen")
    /// A file of the shop's own cannot be written any more.
    public static let unavailable = Self(rawValue: "unavailable")
  }

  public let code: Code
  /// The file or option.
  public let place: String
  /// What is wrong; starts in lower case.
  public let message: String
  public let remedy: String

  public init(_ code: Code, at place: String, _ message: String, remedy: String) {
    (self.code, self.place, self.message, self.remedy) = (code, place, message, remedy)
  }

  public var description: String { "\(place): \(message); \(remedy)" }
}
