public enum BundleFile {
  public static func open(_ path: String) throws -> any BundleReader { try MBTilesReader(path: path) }
}
public enum TileFolderReader { public static func isTileFolder(_ path: String) -> Bool { false } }
