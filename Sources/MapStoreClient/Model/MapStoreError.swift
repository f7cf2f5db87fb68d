@_exported public import LocalizedErrors
@_exported public import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An error of the client: what failed, where, and what to do about it.
public struct MapStoreError: ToolkitError, LocalizedError {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word or two, for logs.
    public let description: String
    init(_ description: String) { self.description = description }

    /// No map store can have this address.
    public static let invalidAddress = Code("invalid address")
    /// The server cannot be reached, or kept failing. What was downloaded stays.
    public static let unreachable = Code("unreachable")
    /// There is no session, or it has expired.
    public static let signedOut = Code("signed out")
    /// The account does not own the region.
    public static let notOwned = Code("not owned")
    /// There is no such region, tile pack or file.
    public static let unknown = Code("unknown")
    /// The server has another edition by now.
    public static let editionGone = Code("edition gone")
    /// The server refuses the request.
    public static let refused = Code("refused")
    /// The server's data contradicts its own description.
    public static let damaged = Code("damaged")
    /// The disk is full.
    public static let noSpace = Code("no space")
    /// The regions would exceed their quota.
    public static let overQuota = Code("over quota")
    /// The download would exceed the bytes that ``TransferPolicy`` allows.
    public static let overBudget = Code("over budget")
    /// The folder of regions cannot be read or written.
    public static let storage = Code("storage")
    /// Another process, or another manager of this one, uses the folder of regions.
    public static let busy = Code("busy")
    /// A grant document is not signed by the server, or is outdated.
    public static let grant = Code("grant")
    /// The install was paused.
    public static let paused = Code("paused")
  }

  /// The operation that the remedy speaks of, for programs that can offer it; new ones may be added.
  public struct Repair: Hashable, Sendable {
    private let name: String
    /// The user signs in.
    public static let signIn = Repair(name: "sign in")
    /// The user looks at the regions that there are, and at those that the account owns.
    package static let listLibrary = Repair(name: "list library")
  }

  /// The kind of failure.
  public let code: Code
  /// The region, file or address.
  public let path: String?
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it.
  public let remedy: String?
  /// The operation that the remedy names; nil for other remedies.
  public let repair: Repair?
  /// For `.noSpace` and `.overQuota`: the regions to remove, least recently used first. Empty if removing all of them
  /// would not be enough.
  package var suggestions: [RemovalSuggestion] = []

  /// An error as the library throws it, also for tests.
  ///
  /// - Parameters:
  ///   - subject: the region, file or address.
  ///   - message: what is wrong; starts in lower case.
  ///   - remedy: what to do about it.
  ///   - repair: the operation that the remedy names.
  package init(
    _ code: Code, _ subject: String, _ message: String, remedy: String? = nil, repair: Repair? = nil
  ) {
    (self.code, self.path, self.message) = (code, Self.line(subject), Self.line(message))
    (self.remedy, self.repair) = (remedy, repair)
  }

  /// What the system says of a file or folder.
  init(_ error: FileSystem.SystemError, _ path: String) {
    self =
      error.isDiskFull
      ? MapStoreError(
        .noSpace, path, "the disk is full", remedy: "free space, then continue: what was downloaded is kept")
      : MapStoreError(
        .storage, path, "cannot be read or written: \(error)", remedy: "check the disk and the permissions")
  }

  /// Text that may quote a server, as one line of limited length.
  private static func line(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(4_000))).escapedForTerminal()
  }
}

/// A region that could be removed to free disk space. It stays owned.
public struct RemovalSuggestion: Hashable, Sendable, Codable {
  /// The region's id.
  public let region: String
  /// The bytes that removing it frees.
  public let bytes: Int
  /// When it was last in use: milliseconds since 1970.
  public let usedAt: Int64

  /// A region by its id, with the bytes that removing it frees, and the time of its last use in milliseconds since
  /// 1970.
  package init(region: String, bytes: Int, usedAt: Int64) {
    (self.region, self.bytes, self.usedAt) = (region, bytes, usedAt)
  }
}
