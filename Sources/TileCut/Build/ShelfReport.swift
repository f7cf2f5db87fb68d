/// What became of a region.
public struct RegionReport: Sendable, Codable {
  public enum Outcome: String, Sendable, Codable {
    /// Cut anew.
    case built
    /// The bundle was as it should be; its preview, parcels or patches were made anew.
    case updated
    case unchanged
    case failed
  }

  public let id: String
  public let edition: String
  public let outcome: Outcome
  /// The bundle's tiles and size; 0 for a region that failed.
  public let tileCount: Int
  public let bytes: Int
  public let parcelCount: Int
  public let patchCount: Int
  public let seconds: Double
  /// What the user should know, each naming its file.
  public let warnings: [String]
  /// Why it failed.
  public let error: String?
}

/// What a finished build has done.
public struct ShelfReport: Sendable, Codable {
  /// In the order of the manifest.
  public let regions: [RegionReport]
  /// The catalogue's path.
  public let catalogue: String
  /// All files that the catalogue names, in bytes.
  public let shelfBytes: Int
  /// Files that were taken off the shelf.
  public let removed: [String]
  public let seconds: Double
}

/// How far a build has come.
public enum ShelfProgress: Sendable {
  /// A region is taken up.
  case started(id: String)
  /// A region's cut goes on.
  case cutting(id: String, CutProgress)
  /// A region is done; `done` of `total` are.
  case finished(RegionReport, done: Int, total: Int)
}

/// Why a shelf could not be built. The message names the file and what to do about it.
public struct ShelfError: Error, CustomStringConvertible, Sendable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// Another build is at work in the same folder.
    public static let busy = Code("busy")
    /// A region of that id is not in the manifest, or limits cannot be met.
    public static let invalidOption = Code("invalid option")
    /// An input is not there or may not be read.
    public static let unreadableInput = Code("unreadable input")
    /// No space, no permission, or another failure of the disk.
    public static let unwritableOutput = Code("unwritable output")
  }

  public let code: Code
  /// The file or folder concerned.
  public let path: String
  /// What is wrong; starts in lower case.
  public let message: String
  public let remedy: String

  init(_ code: Code, path: String, _ message: String, remedy: String) {
    (self.code, self.path, self.message, self.remedy) = (code, path, message, remedy)
  }

  /// `path: message; remedy`
  public var description: String { "\(path): \(message); \(remedy)" }
}

/// Some regions of a build failed; the others are kept for the next one, and the shelf is as it was.
public struct ShelfFailure: Error, CustomStringConvertible {
  /// What became of all regions.
  public let regions: [RegionReport]
  /// The error of the first region that failed.
  public let first: any Error
  let path: String

  public var description: String {
    let failed = regions.count { $0.outcome == .failed }
    let what = failed == 1 ? "1 region" : "\(failed) regions"
    return "\(path): \(what) of \(regions.count) could not be built, so the shelf is as it was; "
      + "mend what is named above and build again: what is finished is kept"
  }
}
