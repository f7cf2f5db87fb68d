/// Files of this package, found from where its sources lie.
public enum ProjectFiles {
  /// The package's folder.
  public static let root: String = {
    // Tests/TestSupport/ProjectFiles.swift
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/")
  }()

  public static func path(_ name: String) -> String { "\(root)/\(name)" }

  /// The regions that are shipped with the package, by the names of their folders.
  public static let sampleRegions = ["continental-us", "jacksboro-fault", "rocky-mountain-np"]
}
