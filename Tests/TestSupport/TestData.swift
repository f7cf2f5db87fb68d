public import Foundation

/// The optional test data (real rasters, reference tiles, malformed files), found through `MAP_TEST_DATA`.
public enum TestData {
  /// The data folder, or nil when there is none; tests that need it are skipped with ``skipMessage``.
  public static let root: URL? = {
    guard let path = ProcessInfo.processInfo.environment["MAP_TEST_DATA"], !path.isEmpty,
      FileManager.default.fileExists(atPath: path)
    else { return nil }
    return URL(fileURLWithPath: path)
  }()

  public static var isPresent: Bool { root != nil }
  public static let skipMessage = "MAP_TEST_DATA does not name a folder with the optional test data"

  /// A file or folder below the data folder. Call only from tests enabled by ``isPresent``.
  public static func url(_ path: String) -> URL { root!.appendingPathComponent(path) }
}
