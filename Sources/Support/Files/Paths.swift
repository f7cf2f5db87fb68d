import LibC

extension FileSystem {
  /// The path from the root, without `.`, `..` and repeated slashes. Symbolic links are not followed.
  package static func absolutePath(_ path: String) -> String {
    var names: [Substring] = []
    let folder = path.hasPrefix("/") ? nil : getcwd(nil, 0)
    defer { free(folder) }
    for name in ((folder.map { SystemPath.text($0) + "/" } ?? "") + path).split(separator: "/") where name != "." {
      if name == ".." { _ = names.popLast() } else { names.append(name) }
    }
    return "/" + names.joined(separator: "/")
  }

  /// Makes a folder the one that relative paths count from.
  ///
  /// - Returns: false if that is not possible.
  package static func enter(_ folder: String) -> Bool { chdir(folder) == 0 }

  /// The file of the running program.
  package static var executablePath: String {
    #if canImport(Darwin)
      var count = UInt32(PATH_MAX)
      var path = [CChar](repeating: 0, count: Int(count))
      guard _NSGetExecutablePath(&path, &count) == 0 else { return CommandLine.arguments[0] }
      return String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #else
      return "/proc/self/exe"
    #endif
  }

  /// The folder for temporary files: TMPDIR, or /tmp.
  package static var temporaryFolder: String {
    environment("TMPDIR") ?? "/tmp"
  }

  /// A variable of the environment; nil if it is not set or empty.
  package static func environment(_ name: String) -> String? {
    getenv(name).map { SystemPath.text($0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The folder and the name of a path; `.` for a path without a folder.
  package static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = String(path[..<slash])
    return (folder.isEmpty ? "/" : folder, String(path[path.index(after: slash)...]))
  }

  /// The absolute path without symbolic links; its last component need not exist, and may be a link to what does not.
  /// A path to a folder that does not exist stays as it is.
  package static func resolvingLinks(_ path: String) -> String {
    if let real = try? realPath(path) { return real }
    var path = path
    // As many as Linux follows.
    for _ in 0..<40 {
      var target = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = readlink(path, &target, target.count)
      guard count > 0 else { break }
      let link = SystemPath.text(target.prefix(count).map { UInt8(bitPattern: $0) })
      path = link.hasPrefix("/") ? link : "\(split(path).folder)/\(link)"
    }
    let (folder, name) = split(path)
    return (try? realPath(folder)).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" } ?? path
  }

  /// The name of a path without its folder and its last extension.
  package static func stem(_ path: String) -> String {
    let name = split(path).name
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
    return String(name[..<dot])
  }
}

extension String {
  /// A path without slashes at its end.
  package var withoutSlashes: String {
    var path = self[...]
    while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
    return String(path)
  }
}
