import Support

/// Paths in files that name other files: VRTs, lists of sources, manifests of regions.
enum RelativePaths {
  /// The folder that the relative paths in a file count from: its own, also where the file is named by a symbolic link,
  /// as GDAL has it for VRTs. `.` for the working directory.
  static func folder(of path: String) -> String {
    let isLink = (try? FileSystem.status(path, followingLinks: false))?.kind == .other
    return FileSystem.split(isLink ? FileSystem.resolvingLinks(path) : path).folder
  }

  /// The same, with a slash at its end; empty for the working directory.
  static func prefix(of path: String) -> String {
    let folder = folder(of: path)
    return folder == "." && !path.hasPrefix("./") ? "" : folder.hasSuffix("/") ? folder : folder + "/"
  }
}
