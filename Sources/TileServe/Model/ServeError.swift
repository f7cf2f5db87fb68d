@_exported public import LocalizedErrors
@_exported public import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A failure of the server. The message starts in lower case and names the bundle, file or option.
public struct ServeError: ToolkitError, LocalizedError, Hashable {
  /// The kinds of failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    private init(_ description: String) { self.description = description }

    /// No tileset has this id.
    public static let unknownTileset = Code("unknown tileset")
    /// The request is invalid: a number out of range, a format that the tileset cannot have, layers that do not fit
    /// together.
    public static let badRequest = Code("bad request")
    /// The tileset cannot be read now, but may be later: broken, half copied, locked, or too many requests wait.
    public static let unavailable = Code("unavailable")
    /// A tile is damaged.
    public static let damagedTile = Code("damaged tile")
    /// Drawing a tile would take more memory than is for that. As it is stored it can be had.
    public static let tooLarge = Code("tile too large")
    /// A bundle of a tileset of shards is not there.
    public static let missingShard = Code("missing shard")
    /// An option of the server cannot be met.
    public static let invalidOption = Code("invalid option")
    /// The address cannot be listened on.
    public static let cannotListen = Code("cannot listen")
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it.
  public let remedy: String?
  /// The file or folder that an option names and that cannot be used; nil for other errors, whose message names the
  /// bundle.
  public let path: String?

  /// An error; message and remedy begin in lower case.
  public init(_ code: Code, _ message: String, remedy: String? = nil, path: String? = nil) {
    self.code = code
    self.message = message
    self.remedy = remedy
    self.path = path
  }
}
