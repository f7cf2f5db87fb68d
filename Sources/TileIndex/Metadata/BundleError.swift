@_exported public import Support

/// Why a bundle could not be opened, read or written. The message names the file and what to do about it.
public struct BundleError: ToolkitError, Hashable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    public static let notFound = Code("not found")
    /// The file is not a bundle, or is damaged.
    public static let malformed = Code("malformed bundle")
    /// A tile's bytes are not those that were written; other tiles may be as they were.
    public static let damagedTile = Code("damaged tile")
    /// The disk or the network drive failed while reading.
    public static let readFailed = Code("read failed")
    /// Another process holds the bundle; try again.
    public static let busy = Code("busy")
    /// Another program changed the file while it was read: what was read is of no edition. Open it again.
    public static let changed = Code("changed")
    /// The process has reached its limit of open files; try again, or raise the limit.
    public static let tooManyOpenFiles = Code("too many open files")
    /// A query takes more steps than the size of the file explains.
    package static let tooCostly = Code("too costly")
    /// The bundle has no table of hashes by which its tiles could be checked.
    package static let notHashed = Code("not hashed")
    /// The bundle has no index of its tiles, which makes it slow.
    package static let notIndexed = Code("not indexed")
    /// The target exists, and replacing it was not requested.
    public static let exists = Code("exists")
    /// The target is one of its own inputs, or lies inside one.
    package static let isInput = Code("is an input")
    /// The target's name is not that of something that can be written.
    package static let invalidName = Code("invalid name")
    /// No space, no permission, or another failure of the disk.
    public static let writeFailed = Code("write failed")
    /// Two files that do not belong together: a patch and another bundle, bundles of different grids.
    package static let mismatch = Code("mismatch")
    /// Two bundles have different tiles in one place, and nothing says which to take.
    package static let conflict = Code("conflict")
    /// A tile, place or metadata value that cannot be stored.
    package static let invalidContent = Code("invalid content")
  }

  /// The operation that the remedy speaks of, for programs that can offer it; new ones may be added.
  public struct Repair: Hashable, Sendable {
    private let name: String
    /// `BundleVerifier` finds all faults of its kind.
    public static let verify = Repair(name: "verify")
    /// The output is written over what is there.
    package static let replace = Repair(name: "replace")
    /// The shards of a plan are merged into the file.
    package static let mergeShards = Repair(name: "merge shards")
    /// Convert the bundle at the error's path, which gives the copy an index.
    package static let convert = Repair(name: "convert")
    /// Cut the raster at the error's path into a bundle.
    public static let cut = Repair(name: "cut")
  }

  /// The kind of failure.
  public let code: Code
  /// The bundle, as the caller named it.
  public let path: String?
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it.
  public let remedy: String?
  /// The operation of this library that the remedy names; nil for other remedies.
  public let repair: Repair?
  /// The tile of ``putTwice(_:path:)``.
  private(set) var tilePutTwice: TileID?

  /// An error about a file or folder; message and remedy begin in lower case.
  package init(_ code: Code, path: String?, _ message: String, remedy: String? = nil, repair: Repair? = nil) {
    self.code = code
    self.path = path
    self.message = message
    self.remedy = remedy
    self.repair = repair
  }

  /// A tile occurs twice, which a table without a unique index allows.
  static func repeated(_ tile: TileID, path: String) -> BundleError {
    BundleError(
      .malformed, path: path, "has tile \(tile) twice",
      remedy: "verify it to find all such tiles, and delete all rows but one of each", repair: .verify)
  }

  /// A tile was put into a bundle a second time.
  static func putTwice(_ tile: TileID, path: String) -> BundleError {
    var error = BundleError(
      .invalidContent, path: path, "tile \(tile) was put twice",
      remedy: "verify the source to find such tiles")
    error.tilePutTwice = tile
    return error
  }

  /// A warning.
  ///
  /// - Parameter reader: what reads the whole table.
  package static func notIndexed(_ path: String, _ reader: String) -> BundleError {
    BundleError(
      .notIndexed, path: path, "has no index of its tiles, so that \(reader) reads the whole table",
      remedy: "make an indexed copy", repair: .convert)
  }
}

extension BundleError {
  /// The error for a failed system call on a bundle's file or folder.
  static func unopened(_ error: FileSystem.SystemError, path: String) -> BundleError {
    if error.isMissing {
      return BundleError(.notFound, path: path, "there is nothing of this name", remedy: "check the name")
    }
    if error.isOutOfDescriptors {
      return BundleError(
        .tooManyOpenFiles, path: path, "cannot be opened just now: \(error)", remedy: error.openingRemedy)
    }
    if error.isShortage {
      return BundleError(.busy, path: path, "cannot be opened just now: \(error)", remedy: "free some memory")
    }
    if error.isForbidden {
      return BundleError(.readFailed, path: path, "cannot be opened: \(error)", remedy: error.openingRemedy)
    }
    return BundleError(.readFailed, path: path, "could not be read: \(error)", remedy: "check the disk it lies on")
  }

  /// The error for a failed system call on a part of a bundle, such as `its tile 3/2/1`.
  static func unread(_ part: String, _ error: FileSystem.SystemError, path: String) -> BundleError {
    error.isShortage
      ? unopened(error, path: path)
      : BundleError(
        .readFailed, path: path, "\(part) could not be read: \(error)", remedy: "check the permissions and the disk")
  }
}
