import Support

/// The result of building a region.
package struct RegionReport: Sendable, Codable {
  package enum Outcome: String, Sendable, Codable {
    /// The bundle was cut.
    case built
    /// The bundle was kept; its preview, tile packs or patches were made again.
    case updated
    case unchanged
    case failed
  }

  package let id: String
  package let edition: String
  package let outcome: Outcome
  /// Why a bundle was cut again; nil for the first time.
  package let reason: String?
  /// The bundle's tiles and size; 0 for a region that failed.
  package let tileCount: Int
  package let bytes: Int
  package let packCount: Int
  package let patchCount: Int
  package let seconds: Double
  /// Problems that did not prevent the build; each names its file.
  package internal(set) var warnings: [String]
  /// Why it failed.
  package let error: String?
}

/// The result of a finished build.
package struct CatalogBuildReport: Sendable, Codable {
  /// In the manifest's order.
  package let regions: [RegionReport]
  /// The catalogue's path.
  package let catalogue: String
  /// The size in bytes of all files in the catalogue.
  package let catalogBytes: Int
  /// Files that were removed from the folder.
  package let removed: [String]
  package let seconds: Double
}

/// The progress of a build.
package enum CatalogBuildProgress: Sendable {
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
package enum RegionProgress: Sendable {
  /// Its sources are read, to find out whether they have changed. Not those whose size and times are as before.
  case reading(SourceReading)
  /// Its bundle is cut.
  case cutting(CutProgress)
  /// A step begins whose length is not known.
  case making(RegionStep)
}

/// What follows a region's cut.
package enum RegionStep: String, Sendable, CaseIterable {
  /// The hashes of the bundle's file and tiles.
  case hashes
  case preview
  case packs
  case patches
}

/// How many bytes of sources were read.
package struct SourceReading: Sendable {
  package let bytesDone: Int
  package let bytesTotal: Int
  /// Time since the reading began.
  package let seconds: Double
}

/// Why a catalogue could not be built. The message names the file and the remedy.
package struct CatalogBuildError: ToolkitError {
  /// The kind of failure, for programs; new kinds may be added.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }

    /// Another build uses the same folder.
    package static let busy = Code("busy")
    /// The manifest lacks a requested region, or limits cannot be met.
    package static let invalidOption = Code("invalid option")
    /// An input does not exist or is not readable.
    package static let unreadableInput = Code("unreadable input")
    /// The published catalogue has regions or products that the new one would not know.
    package static let orphansOwners = Code("orphans owners")
    /// No space, no permission, or another failure of the disk.
    package static let unwritableOutput = Code("unwritable output")
    /// Some regions failed (``CatalogBuildFailure``).
    package static let failedRegions = Code("failed regions")
  }

  package let code: Code
  /// The file or folder concerned.
  package let path: String?
  /// What is wrong; starts in lower case.
  package let message: String
  package let remedy: String?

  init(_ code: Code, path: String?, _ message: String, remedy: String) {
    (self.code, self.path, self.message, self.remedy) = (code, path, message, remedy)
  }
}

/// Some regions failed. Those that succeeded are kept for the next build, and the published catalogue is unchanged.
package struct CatalogBuildFailure: ToolkitError {
  /// The results of all regions.
  package let regions: [RegionReport]
  /// The error of the first region that failed.
  package let first: any Error
  package let path: String?

  package var code: CatalogBuildError.Code { .failedRegions }
  package var message: String {
    let failed = regions.count { $0.outcome == .failed }
    let what = failed == 1 ? "1 region" : "\(failed) regions"
    return "\(what) of \(regions.count) could not be built, so the catalogue is as it was"
  }
  package var remedy: String? { "mend what the regions' reports name, and build again: what is finished is kept" }
}
