/// Why an image could not be decoded or encoded.
public struct ImageError: Error, CustomStringConvertible, Sendable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// The bytes are not a whole, valid image of their format.
    public static let malformed = Code("malformed image")
    /// A format or variant that is not supported.
    public static let unsupported = Code("unsupported image")
    /// Larger than the caller allowed.
    public static let tooLarge = Code("image too large")
    /// The encoder refused.
    public static let encodingFailed = Code("encoding failed")
  }

  public let code: Code
  /// What is wrong, in the codec's words where it has any; starts in lower case.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
