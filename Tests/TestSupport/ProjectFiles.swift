/// Files of this package, found from the path of this source.
public enum ProjectFiles {
  /// The package's folder.
  public static let root: String = {
    // Tests/TestSupport/ProjectFiles.swift
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/")
  }()

  public static func path(_ name: String) -> String { "\(root)/\(name)" }

  /// The sample regions, by the names of their folders.
  public static let sampleRegions = ["continental-us", "jacksboro-fault", "rocky-mountain-np"]
}
