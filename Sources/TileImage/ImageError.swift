@_exported public import Support

/// Why an image could not be decoded or encoded.
public struct ImageError: ToolkitError {
  /// The kind of failure, for programs. New kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// The bytes are not a complete, valid image of their format.
    public static let malformed = Code("malformed image")
    /// A format or variant that is not supported.
    public static let unsupported = Code("unsupported image")
    /// The image is larger than the caller allowed.
    public static let tooLarge = Code("image too large")
    /// The encoder failed.
    public static let encodingFailed = Code("encoding failed")
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong, with the codec's message if there is one; starts in lower case.
  public let message: String

  /// An error; the message begins in lower case.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension ImageError {
  /// Rejects images of more pixels than allowed, before memory is allocated for them.
  static func check(width: Int, height: Int, pixelCountMax: Int) throws(ImageError) {
    let (count, overflow) = width.multipliedReportingOverflow(by: height)
    guard !overflow, count <= pixelCountMax else {
      throw ImageError(.tooLarge, "\(width) x \(height) pixels, more than the \(pixelCountMax) allowed here")
    }
  }
}
