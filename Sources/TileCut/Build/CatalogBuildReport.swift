public import Support

/// The result of building a region.
public struct RegionReport: Sendable, Codable {
  public enum Outcome: String, Sendable, Codable {
    /// The bundle was cut.
    case built
    /// The bundle was kept; its preview, tile packs or patches were made again.
    case updated
    case unchanged
    case failed
  }

  public let id: String
  public let edition: String
  public let outcome: Outcome
  /// Why a bundle was cut again; nil for the first time.
  public let reason: String?
  /// The bundle's tiles and size; 0 for a region that failed.
  public let tileCount: Int
  public let bytes: Int
  public let packCount: Int
  public let patchCount: Int
  public let seconds: Double
  /// Problems that did not prevent the build; each names its file.
  public internal(set) var warnings: [String]
  /// Why it failed.
  public let error: String?
}

/// The result of a finished build.
public struct CatalogBuildReport: Sendable, Codable {
  /// In the manifest's order.
  public let regions: [RegionReport]
  /// The catalogue's path.
  public let catalogue: String
  /// The size in bytes of all files in the catalogue.
  public let catalogBytes: Int
  /// Files that were removed from the folder.
  public let removed: [String]
  public let seconds: Double
}

/// The progress of a build.
public enum CatalogBuildProgress: Sendable {
  /// The sources of all regions are read, to find out whether they are those of a plan.
  case reading(SourceReading)
  /// A region's build begins.
  case started(id: String)
  /// A region's build progresses.
  case working(id: String, RegionProgress)
  /// A region is finished, as one of `done` of `total`.
  case finished(RegionReport, done: Int, total: Int)
}

/// The progress of a region's build.
public enum RegionProgress: Sendable {
  /// Its sources are read, to find out whether they have changed. Not those whose size and times are as before.
  case reading(SourceReading)
  /// Its bundle is cut.
  case cutting(CutProgress)
  /// A step begins whose length is not known.
  case making(RegionStep)
}

/// What follows a region's cut.
public enum RegionStep: String, Sendable, CaseIterable {
  /// The hashes of the bundle's file and tiles.
  case hashes
  case preview
  case packs
  case patches
}

/// How many bytes of sources were read.
public struct SourceReading: Sendable {
  public let bytesDone: Int
  public let bytesTotal: Int
  /// Time since the reading began.
  public let seconds: Double
}

/// Why a catalogue could not be built. The message names the file and the remedy.
public struct CatalogBuildError: ToolkitError {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// Another build uses the same folder.
    public static let busy = Code("busy")
    /// The manifest lacks a requested region, or limits cannot be met.
    public static let invalidOption = Code("invalid option")
    /// An input does not exist or is not readable.
    public static let unreadableInput = Code("unreadable input")
    /// The published catalogue has regions or products that the new one would not know.
    public static let orphansOwners = Code("orphans owners")
    /// No space, no permission, or another failure of the disk.
    public static let unwritableOutput = Code("unwritable output")
    /// Some regions failed (``CatalogBuildFailure``).
    public static let failedRegions = Code("failed regions")
  }

  public let code: Code
  /// The file or folder concerned.
  public let path: String?
  /// What is wrong; starts in lower case.
  public let message: String
  public let remedy: String?

  init(_ code: Code, path: String?, _ message: String, remedy: String) {
    (self.code, self.path, self.message, self.remedy) = (code, path, message, remedy)
  }
}

/// Some regions failed. Those that succeeded are kept for the next build, and the published catalogue is unchanged.
public struct CatalogBuildFailure: ToolkitError {
  /// The results of all regions.
  public let regions: [RegionReport]
  /// The error of the first region that failed.
  public let first: any Error
  public let path: String?

  public var code: CatalogBuildError.Code { .failedRegions }
  public var message: String {
    let failed = regions.count { $0.outcome == .failed }
    let what = failed == 1 ? "1 region" : "\(failed) regions"
    return "\(what) of \(regions.count) could not be built, so the catalogue is as it was"
  }
  public var remedy: String? { "mend what the regions' reports name, and build again: what is finished is kept" }
}
