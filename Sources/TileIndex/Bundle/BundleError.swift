/// Why a bundle could not be opened, read or written. The message names the file and what to do about it.
public struct BundleError: Error, CustomStringConvertible, Sendable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    public static let notFound = Code("not found")
    /// The file is not a bundle, or is damaged.
    public static let malformed = Code("malformed bundle")
    /// The disk or the network drive failed while reading.
    public static let readFailed = Code("read failed")
    /// Another process holds the bundle; try again.
    public static let busy = Code("busy")
    /// The process may open no more files; try again, or raise its limit.
    public static let tooManyOpenFiles = Code("too many open files")
    /// The target exists and replacing it was not asked for.
    public static let exists = Code("exists")
    /// The target is one of the files that it would be made from.
    public static let isInput = Code("is an input")
    /// No space, no permission, or another failure of the disk.
    public static let writeFailed = Code("write failed")
    /// Two files that do not belong together: a patch and another bundle, bundles of different grids.
    public static let mismatch = Code("mismatch")
    /// A tile or a piece of metadata that may not be stored.
    public static let invalidContent = Code("invalid content")
  }

  public let code: Code
  /// The bundle, as the caller named it.
  public let path: String
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it.
  public let remedy: String?

  public init(_ code: Code, path: String, _ message: String, remedy: String? = nil) {
    self.code = code
    self.path = path
    self.message = message
    self.remedy = remedy
  }

  /// A bundle has a tile twice, as only bundles of other makers do, without a unique index.
  static func repeated(_ tile: TileID, path: String) -> BundleError {
    BundleError(
      .malformed, path: path, "has tile \(tile) twice",
      remedy: "find all such tiles with: tilecut verify '\(path)', and delete all rows but one of each")
  }

  /// `path: message; remedy`
  public var description: String {
    var text = "\(path): \(message)"
    if let remedy { text += "; \(remedy)" }
    return text
  }
}
